"""Execute the chapters with papermill, each one once.

    python scripts/run_notebooks.py                          all chapters that have changed, two at a time
    python scripts/run_notebooks.py chapters/start/pca.md    one chapter
    python scripts/run_notebooks.py chapters/start/pca.md -p seed 3
    python scripts/run_notebooks.py --profile paper          compute the stored results (make results)
    python scripts/run_notebooks.py --profile statements     judge the papers' statements by the stored results

Parameters given with ``-p`` go to ``_executed/custom`` and never into the book. With the profiles ``paper``
and ``statements`` the chapters run one after the other in the order of the book, those that read all results last; each
starts up to ``--jobs`` worker processes, and its results move to ``data/results`` when it has passed.
"""

from __future__ import annotations

import argparse
import ast
import fcntl
import json
import multiprocessing
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import notebooks
from notebooks import ChapterError, Execution

Job = tuple[Path, dict[str, Any], str, Path, bool, int]


def literal(text: str) -> Any:
    """Read a parameter value; what is no Python literal is a string."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def run_one(job: Job) -> Execution:
    source, parameters, folder, root, force, jobs = job
    timeout = None if parameters.get("profile") == "paper" else notebooks.CELL_TIMEOUT
    return notebooks.execute(source, parameters, folder=folder, root=root, force=force, timeout=timeout, jobs=jobs)


def end_with_parent() -> None:
    """End this process when its parent has ended, however that happened; the kernel then ends by itself."""

    def watch() -> None:
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def longest_first(sources: list[Path], folder: str, root: Path) -> list[Path]:
    """Order by the time of the last run, unknown ones first, so that the last worker does not start the longest."""

    def seconds(source: Path) -> float:
        record = notebooks.stored_record(notebooks.executed_path(source, folder, root))
        return -float(record.get("seconds", float("inf")))

    return sorted(sources, key=seconds)


def run_all(jobs: list[Job], workers: int, report: Callable[[str], None]) -> list[str]:
    """Run the jobs in processes and return the messages of those that failed."""
    failures = []
    # Each chapter starts its own kernel, so the workers need nothing from this process.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max(1, min(workers, len(jobs))), mp_context=context, initializer=end_with_parent) as pool:
        futures = {pool.submit(run_one, job): notebooks.title(job[0], job[3]) for job in jobs}
        for future in as_completed(futures):
            name = futures[future]
            try:
                done = future.result()
            except ChapterError as error:
                failures.append(str(error))
                report(f"FAILED          {name}")
            else:
                report(f"{'unchanged' if done.reused else 'executed '} {done.seconds:5.1f}s {name}")
    return failures


def exhibit_times(sources: list[Path], root: Path) -> list[str]:
    """Return a line for each exhibit of these chapters: how long its cells took one processor, the longest first."""
    read = {path for source in sources for path in notebooks.results_read(source, root) if path.suffix == ".json"}
    records = {path: json.loads(path.read_text(encoding="utf8")) for path in read}
    # Of what a chapter reads, it computes what it made last time; older records do not name their chapter.
    titles = {notebooks.title(source, root) for source in sources}
    taken = {
        f"{path.parent.name}/{path.stem}": record["cpu_seconds"]
        for path, record in records.items()
        if {entry.get("chapter", "") for entry in record["computed_by"]} & {*titles, ""}
    }
    ordered = sorted(taken, key=lambda name: -taken[name])
    return [f"{name}: {taken[name] / 60:.1f} min" for name in ordered]


def left_alone(sources: list[Path], root: Path) -> list[str]:
    """Return what chapters say about cells whose data are not available; such results stay as they were."""
    lines = []
    for source in sources:
        path = notebooks.executed_path(source, "paper", root)
        text = path.read_text(encoding="utf8") if path.exists() else ""
        found = re.findall(r"Not computed, because the data are not available: ([^\"<]*)\.", text)
        lines += [f"{notebooks.title(source, root)}: {line}" for line in dict.fromkeys(found)]
    return lines


def main(arguments: list[str] | None = None, root: Path = notebooks.ROOT) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chapters", nargs="*", type=Path, help="source files; all by default")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="processes that compute at the same time")
    parser.add_argument("-p", "--parameter", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"))
    parser.add_argument("--profile", choices=notebooks.PROFILES, default="smoke")
    parser.add_argument("--force", action="store_true", help="execute also what has not changed")
    options = parser.parse_args(arguments)

    parameters = {name: literal(value) for name, value in options.parameter}
    folder = "custom" if parameters else options.profile
    if options.profile != "smoke":
        parameters.setdefault("profile", options.profile)
    sources = [path.resolve() for path in options.chapters] or notebooks.executable_chapters(root)
    missing = [str(path) for path in sources if not path.is_file()]
    if missing:
        parser.error(f"no such chapter: {', '.join(missing)}")
    if not sources:
        print("no chapter has code")
        return 0

    start = time.perf_counter()
    paper, writes = parameters.get("profile") == "paper", parameters.get("profile", "smoke") != "smoke"
    ordered = sorted(sources, key=notebooks.collects_results) if writes else longest_first(sources, folder, root)
    inside = options.jobs if writes else 1
    jobs = [(source, parameters, folder, root, options.force, inside) for source in ordered]
    if paper and (lines := exhibit_times(sources, root)):
        print("What took how long the last time, on one processor:", *lines, sep="\n  ", flush=True)
    with ExitStack() as stack:
        if writes:
            (root / "_build").mkdir(exist_ok=True)
            lock = stack.enter_context((root / "_build" / "results.lock").open("a"))
            fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits
        failures = run_all(jobs, 1 if writes else options.jobs, lambda line: print(line, flush=True))
    if paper and (lines := left_alone(sources, root)):
        print("Not computed, because data are not available (see `fairpca data list`):", *lines, sep="\n  ")
    for message in failures:
        print(f"\n{message}", file=sys.stderr)
    print(f"{len(jobs) - len(failures)} of {len(jobs)} chapters are current, {time.perf_counter() - start:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())

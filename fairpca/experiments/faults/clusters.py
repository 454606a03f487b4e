"""Dask clusters that are not there, go away, lose workers, or have another version of the code."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import fairpca
from fairpca.experiments.faults.processes import (
    CELLS,
    PLAIN,
    Try,
    Victim,
    environment,
    resumed,
    stored_cells,
    undisturbed,
)

__all__ = ["lost", "never_there", "other_code"]

Random = np.random.Generator
_LOST = ("one worker", "all workers", "scheduler")


@contextlib.contextmanager
def _scheduler() -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    process = subprocess.Popen([*command, "--no-dashboard"], stderr=subprocess.PIPE, text=True, env=environment())
    try:
        assert process.stderr is not None
        address = next(line.split()[-1] for line in process.stderr if "Scheduler at:" in line)
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield process, address
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def _workers(
    address: str, count: int, folder: Path, path: str | None = None
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that no nanny starts again; `path` leads to another copy of the code."""
    more = {"VICTIM_TRACE": str(folder / "trace"), "VICTIM_SLEEP": "0.2"}
    if path is not None:
        more["PYTHONPATH"] = path
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--no-dashboard"]
    started = [
        subprocess.Popen(
            [*command, "--nthreads", "1", "--local-directory", str(folder / f"worker{number}")],
            env={**environment(), **more},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )
        for number in range(count)
    ]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


def lost(folder: Path, tries: int, random: Random, *, what: str) -> list[Try]:
    """Kill one of two workers (the other takes over), all of them, or the scheduler, after a random number of cells."""
    if what not in _LOST:
        raise ValueError(f"what={what!r} is not known; choose one of {', '.join(map(repr, _LOST))}.")
    reference = undisturbed(folder / "reference")
    found = []
    for number in range(tries):
        here = folder / str(number)
        here.mkdir()
        with _scheduler() as (scheduler, address), _workers(address, 2, here) as workers:
            victim = Victim(here, PLAIN, "--cluster", address, sleep=0.2)
            live = victim.reached(int(random.integers(1, CELLS - 1)))
            if what == "scheduler":
                scheduler.kill()
            for process in workers[: {"one worker": 1, "all workers": 2, "scheduler": 0}[what]]:
                process.kill()
            code, text = victim.wait(), victim.errors()
        problem = ""
        if what == "one worker":
            problem = "" if code == 0 and not text else f"exit code {code}: {text[-300:]}"
        elif code != 1 or "\n" in text or not text.startswith("fairpca: error: ") or address not in text:
            problem = f"exit code {code}: {text[-300:]}"
        found.append(Try(live, problem or resumed(victim.store, here, reference)))
    return found


def never_there(folder: Path, tries: int, random: Random, *, workers: bool) -> list[Try]:
    """Name a scheduler that is not there, or one without workers: one line that says so, within a minute."""
    found = []
    for number in range(tries):
        here = folder / str(number)
        here.mkdir(parents=True)
        with contextlib.ExitStack() as stack:
            address = "tcp://127.0.0.1:1" if workers else stack.enter_context(_scheduler())[1]
            victim = Victim(here, PLAIN, "--cluster", address)
            code, text = victim.wait(), victim.errors()
        held = code == 1 and text.startswith("fairpca: error: ") and address in text and "\n" not in text
        found.append(Try(True, "" if held else f"exit code {code}: {text[-300:]}"))
    return found


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    if old not in text:
        raise RuntimeError(f"{path.name} has no {old!r} to change")
    path.write_text(text.replace(old, new), encoding="utf-8")


_ALTERED: dict[str, Callable[[Path], None]] = {
    "another experiment": lambda package: _edit(
        package / "experiments" / "faults" / "victim.py", "float(draws.sum())", "float(draws.sum() + 1)"
    ),
    "another version": lambda package: _edit(package / "__init__.py", '__version__ = "', '__version__ = "99.'),
    "no package": lambda package: shutil.rmtree(package / "experiments" / "faults"),
}


def other_code(folder: Path, tries: int, random: Random, *, alter: str) -> list[Try]:
    """Let workers have a copy of the package that was changed: nothing that they compute is stored."""
    found = []
    for number in range(tries):
        here = folder / str(number)
        copy = here / "copy" / "fairpca"
        original = Path(fairpca.__file__).resolve().parent
        shutil.copytree(original, copy, ignore=shutil.ignore_patterns("__pycache__"))
        (here / "copy" / "data").symlink_to(original.parent / "data")
        _ALTERED[alter](copy)
        with _scheduler() as (_, address), _workers(address, 1, here, str(copy.parent)):
            victim = Victim(here, PLAIN, "--cluster", address)
            code, text, done = victim.wait(), victim.errors(), stored_cells(victim.store)
        held = code == 1 and done == 0 and text.startswith("fairpca: error: ") and "\n" not in text
        held = held and ("same code" in text or "same fairpca" in text)
        found.append(Try(True, "" if held else f"exit code {code}, {done} cells stored: {text[-300:]}"))
    return found

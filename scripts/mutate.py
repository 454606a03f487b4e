"""Change one thing at a time in the package and see whether the tests that belong to it notice.

    python scripts/mutate.py --count 300 --out mutants.csv
    python scripts/mutate.py fairpca/metrics --count 50

The checkout is never touched: everything happens in a copy. There all tests run once, in sources padded with statements
that do nothing: this tells which functions a test calls and how long it takes; tests that fail notice the source and
not what it computes, and are left out. Then each mutant meets the tests that call its function, the shortest first.
A run that was stopped goes on where its table ends. Run by hand; the last result is in CONTRIBUTING.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_variable] = "1"

import called  # noqa: E402
import numba  # noqa: E402
import pytest  # noqa: E402
from mutations import Mutant, mutants, padded  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ("fairpca/solvers", "fairpca/metrics", "fairpca/published", "fairpca/experiments")
# Tests that execute chapters or a whole checkout take minutes and say nothing about one function.
LEFT_OUT = ("tests/chapters", "tests/test_environment.py", "tests/scripts")
# Loaded once, before the processes of the mutants part; nothing of fairpca may be.
HEAVY = ("scipy.optimize", "scipy.linalg", "pandas", "sklearn.pipeline", "sklearn.svm", "sklearn.utils")
HEAVY += ("sklearn.utils.estimator_checks", "cvxpy", "joblib", "matplotlib.pyplot")
# A limit on CPU time does not depend on what else the machine does; what only waits is given up after so many times it.
WAITING = 5
COLUMNS = ["path", "line", "function", "change", "verdict", "by"]
OPTIONS = ["-q", "-x", "-n0", "-p", "no:cacheprovider", "--no-header"]


class Tests:
    """Which tests belong to a mutant: those that call its function, the shortest first."""

    def __init__(self, table: dict[str, dict[str, Any]]) -> None:
        self.seconds = {name: entry["seconds"] for name, entry in table.items() if entry["passed"]}
        self.called = {name: set(table[name]["called"]) for name in self.seconds}

    def of(self, mutant: Mutant, budget: float) -> list[str]:
        """Return as many as the time allows, at least one.

        What no test was seen to call (it is compiled, or runs at import) belongs to the tests that call anything in
        its file, else in its folder.
        """
        file, folder = f"{mutant.path}:", f"{Path(mutant.path).parent}/"
        name = f"{file}{mutant.function}"
        found = [test for test, names in self.called.items() if name in names] if mutant.function else []
        for start in (file, folder, "fairpca/"):
            found = found or [t for t, names in self.called.items() if any(n.startswith(start) for n in names)]
        chosen, spent = [], 0.0
        for test in sorted(found, key=lambda t: self.seconds[t]):
            spent += self.seconds[test]
            if chosen and spent > budget:
                break
            chosen.append(test)
        return chosen


def copy_tree(target: Path) -> None:
    """Copy the checkout without what is made or kept by git."""
    leave = shutil.ignore_patterns(".git", ".venv", "_build", "_executed", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, target, ignore=leave)


def in_child(
    arguments: list[str], tree: Path, log: Path, compiled: Path, out: Path | None = None, seconds: int = 0
) -> int:
    """Start pytest in a process of its own, in a copy of the tree, with a limit on its CPU time; return its number."""
    if process := os.fork():
        return process
    code = 70
    try:
        os.setsid()
        if seconds:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        with log.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.chdir(tree)
        os.environ |= {"PYTHONPATH": str(tree), "NUMBA_CACHE_DIR": str(compiled)}
        numba.config.CACHE_DIR = str(compiled)  # numba has read its environment already
        sys.path[:0] = [str(tree)]
        if out is None:
            sys.dont_write_bytecode = True
            code = int(pytest.main(arguments))
        else:
            called.run(arguments, tree, out)
            code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def ended(process: int, deadline: float) -> int | None:
    """Return the exit code of a process, -1 if its time was over, None while it runs."""
    done, status = os.waitpid(process, os.WNOHANG)
    if done:
        return os.waitstatus_to_exitcode(status)
    if time.monotonic() < deadline:
        return None
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return -1


def judge(code: int, log: str) -> tuple[str, str]:
    """Return the verdict on a mutant and the test that gave it."""
    if code == 0:
        return "survived", ""
    if code in (-1, -signal.SIGXCPU, -signal.SIGKILL):
        return "caught", "time limit"
    failed = [line for line in log.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "caught", (failed or log.split("\n")[-2:] or ["no output"])[0][:160]


class Slot:
    """One copy of the tree, with one mutant at a time."""

    def __init__(self, folder: Path, number: int) -> None:
        self.tree, self.log = folder / f"tree{number}", folder / f"log{number}"
        copy_tree(self.tree)
        self.mutant: Mutant | None = None

    def start(self, mutant: Mutant, tests: list[str], seconds: float) -> None:
        """Put the mutant in and start its tests."""
        self.mutant, self.file = mutant, self.tree / mutant.path
        self.original, self.times = self.file.read_text(encoding="utf8"), self.file.stat()
        self.file.write_text(mutant.source(self.original), encoding="utf8")
        # A caller elsewhere has a changed function compiled in, so such a mutant shares nothing with the others.
        self.compiled = self.tree.parent / f"compiled_{self.tree.name}{'_once' * ('njit' in self.original)}"
        self.process = in_child([*OPTIONS, *tests], self.tree, self.log, self.compiled, seconds=round(seconds))
        self.deadline = time.monotonic() + WAITING * seconds

    def verdict(self) -> tuple[str, str] | None:
        """Return the verdict once the tests have ended, and put the file back."""
        code = ended(self.process, self.deadline)
        if code is None:
            return None
        self.file.write_text(self.original, encoding="utf8")
        os.utime(self.file, ns=(self.times.st_atime_ns, self.times.st_mtime_ns))
        if self.compiled.name.endswith("_once"):
            shutil.rmtree(self.compiled, ignore_errors=True)
        self.mutant = None
        return judge(code, self.log.read_text(encoding="utf8", errors="replace"))


def listen(folder: Path, tests: list[str], out: Path) -> dict[str, dict[str, Any]]:
    """Run in padded sources what nobody has listened to yet, and return what each test calls."""
    tree = folder / "padded"
    copy_tree(tree)
    for file in (tree / "fairpca").rglob("*.py"):
        file.write_text(padded(file.read_text(encoding="utf8")), encoding="utf8")
    without = [f"--ignore={path}" for path in LEFT_OUT]
    options = [option for option in OPTIONS if option != "-x"]
    process = in_child([*options, *without, *tests], tree, folder / "listening", folder / "compiled", out)
    os.waitpid(process, 0)
    table = called.read(out)
    if not table:
        raise SystemExit(f"no test ran: {(folder / 'listening').read_text()[-3000:]}")
    shutil.rmtree(tree)
    for name, entry in table.items():
        if not entry["passed"]:
            print(f"left out, it does not pass in padded sources: {name}")
    return table


def sample(targets: list[str], count: int, seed: int) -> list[Mutant]:
    """Draw mutants evenly over the files, so that long files do not get them all."""
    rng = random.Random(seed)
    pools = []
    for file in sorted({file for target in targets for file in files(ROOT / target)}):
        found = list(mutants(file, ROOT))
        rng.shuffle(found)
        pools.append(found)
    rng.shuffle(pools)
    drawn: list[Mutant] = []
    while len(drawn) < count and any(pools):
        drawn += [pool.pop() for pool in pools if pool]
    return drawn[:count]


def files(path: Path) -> list[Path]:
    """Return the modules of a folder, or the one named."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*.py") if file.name != "__init__.py")


def key(row: Mutant | dict[str, str]) -> tuple[str, str, str, str]:
    """Return what tells a mutant from the others."""
    get = row.__getitem__ if isinstance(row, dict) else lambda name: str(getattr(row, name))
    return get("path"), get("line"), get("function"), get("change")


def main(arguments: list[str] | None = None) -> int:
    """Draw mutants, run those that have no verdict yet, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", default=list(TARGETS), help="files or folders of the package")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0, help="CPU time that the tests of one mutant may take")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no mutant after so many")
    parser.add_argument("--tests", nargs="*", default=["tests"], help="tests that are asked")
    parser.add_argument("--called", type=Path, help="file that keeps what tests call, from run to run")
    parser.add_argument("--heard", action="store_true", help="take that file as it is")
    parser.add_argument("--out", type=Path, default=Path("mutants.csv"))
    options = parser.parse_args(arguments)
    rows = list(csv.DictReader(options.out.open(encoding="utf8"))) if options.out.exists() else []
    known = {key(row) for row in rows}
    waiting = [m for m in sample(options.targets, options.count, options.seed) if key(m) not in known]
    for module in HEAVY:
        __import__(module)
    with tempfile.TemporaryDirectory() as scratch, options.out.open("a", newline="", encoding="utf8") as out:
        folder = Path(scratch)
        heard = (options.called or folder / "called.jsonl").resolve()
        table = called.read(heard) if options.heard else listen(folder, options.tests, heard)
        tests = Tests(table)
        slots = [Slot(folder, number) for number in range(options.jobs)]
        writer = csv.writer(out)
        if not rows:
            writer.writerow(COLUMNS)
        waiting.reverse()
        end = time.monotonic() + 60 * options.minutes
        while waiting or any(slot.mutant for slot in slots):
            if time.monotonic() > end:
                waiting.clear()
            for slot in slots:
                if slot.mutant is None and waiting:
                    mutant = waiting.pop()
                    slot.start(mutant, tests.of(mutant, options.seconds / 2), options.seconds)
                mutant = slot.mutant
                if mutant and (result := slot.verdict()):
                    writer.writerow([*key(mutant), *result])
                    out.flush()
                    print(
                        f"{len(waiting)} left; {result[0]}: {mutant.path}:{mutant.line} {mutant.change[:80]}",
                        flush=True,
                    )
            time.sleep(0.02)
    report(options.out)
    return 0


def report(path: Path) -> None:
    """Print how many were caught, by folder, and what survived."""
    rows = list(csv.DictReader(path.open(encoding="utf8")))
    total = Counter("/".join(row["path"].split("/")[:2]) for row in rows)
    caught = Counter("/".join(row["path"].split("/")[:2]) for row in rows if row["verdict"] == "caught")
    for folder, number in sorted(total.items()):
        print(f"{folder}: {caught[folder]} of {number} caught")
    for row in rows:
        if row["verdict"] == "survived":
            print(f"survived: {row['path']}:{row['line']} {row['change']}")
    print(f"{sum(caught.values())} of {len(rows)} mutants caught, {len(rows) - sum(caught.values())} survived.")


if __name__ == "__main__":
    raise SystemExit(main())

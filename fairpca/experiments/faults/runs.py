"""Runs that are killed, stopped, shared, starved of disk, or whose cells end their process."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fairpca.experiments.faults.processes import (
    CELLS,
    PLAIN,
    Try,
    Victim,
    command,
    environment,
    resumed,
    saved,
    stored_cells,
    undisturbed,
)

__all__ = ["deadly", "full_disk", "killed", "killed_while_saving", "mounts", "size_limit", "together"]

Random = np.random.Generator


def killed(
    folder: Path, tries: int, random: Random, *, what: str, sign: str, jobs: int, name: str = PLAIN
) -> list[Try]:
    """Send a signal to a run, its group or one of its workers at a random moment between its first and last cell."""
    reference = undisturbed(folder / "reference", name)
    found = []
    for number in range(tries):
        here = folder / str(number)
        victim = Victim(here, name, "--jobs", str(jobs))
        live = victim.reached(int(random.integers(1, CELLS + 1)))
        victim.process.wait(float(random.uniform(0, 0.1)))
        live = live and victim.process.poll() is None
        with contextlib.suppress(ProcessLookupError, IndexError):
            _send(victim, what, getattr(signal, sign))
        found.append(Try(live, _after(victim, here, reference, what, sign, name)))
    return found


def _send(victim: Victim, what: str, number: int) -> None:
    if what == "group":
        os.killpg(victim.process.pid, number)
    elif what == "worker":
        os.kill(victim.workers()[0], number)
    else:
        victim.process.send_signal(number)


def _after(victim: Victim, folder: Path, reference: Mapping[str, bytes], what: str, sign: str, name: str) -> str:
    code = victim.wait()
    if code is None:
        return "the run did not end"
    if not victim.group_ends():
        return "processes of the run were left"
    expected = {0, -getattr(signal, sign)} if sign != "SIGINT" else {0, 130}
    if what == "worker":
        expected = {0}
    if code not in expected:
        return f"exit code {code}: {victim.errors()[-300:]}"
    return resumed(victim.store, folder, reference, name)


def together(folder: Path, tries: int, random: Random, *, runs: int, kill: bool = False) -> list[Try]:
    """Start runs on one store at the same time; kill the first of them in the middle, if asked to."""
    reference = undisturbed(folder / "reference")
    found = []
    for number in range(tries):
        here = folder / str(number)
        store = here / "store.sqlite"
        here.mkdir()
        victims = [
            Victim(here / str(one), PLAIN, store=store, out=here / f"out{one}", direct=True, sleep=0.2)
            for one in range(runs)
        ]
        live = True
        if kill:
            live = victims[0].reached(1)
            os.killpg(victims[0].process.pid, signal.SIGKILL)
        codes = [victim.wait() for victim in victims]
        rest = range(1 if kill else 0, runs)
        every = [cell for victim in victims for cell in victim.begun()]
        problem = ""
        if any(codes[one] != 0 for one in rest):
            problem = f"exit codes {codes}"
        elif any(saved(here / f"out{one}") != reference for one in rest):
            problem = "a run gave another result"
        elif len(every) > CELLS + kill or len(set(every)) != CELLS:
            problem = f"{len(every)} computations of {CELLS} cells"
        found.append(Try(live, problem))
    return found


def deadly(folder: Path, tries: int, random: Random, *, jobs: int, number: int) -> list[Try]:
    """Compute cells of which one ends its process: it is named, and the others are computed."""
    found = []
    for attempt in range(tries):
        victim = Victim(folder / str(attempt), f"victim/deadly{number}", "--jobs", str(jobs), sleep=0.0)
        code, text, done = victim.wait(), victim.errors(), stored_cells(victim.store)
        problem = ""
        if code != 1 or done != CELLS - 1:
            problem = f"exit code {code}, {done} of {CELLS - 1} other cells stored"
        elif f"split={CELLS // 2}" not in text or text.count("failed: Cell(") != 1 or "died" not in text:
            problem = f"the cell is not named: {text[-300:]}"
        found.append(Try(True, problem))
    return found


# --------------------------------------------------------------------------------------------------------------------
# Disks


def mounts() -> bool:
    """Whether a small disk can be mounted here, in a name space of its own."""
    if shutil.which("unshare") is None:
        return False
    probe = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=64k none "$0"', "/mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


# The disk is gone when the shell ends, so all that is looked at is copied out of it.
_ON_A_SMALL_DISK = """
mount -t tmpfs -o size={size}k none "$DISK" || exit 99
"$@"
code=$?
cp -r "$DISK" "$COPY"
exit $code
"""


def full_disk(folder: Path, tries: int, random: Random, *, saving: bool) -> list[Try]:
    """Run with the store, or save the results, on a disk that is full after a random number of kilobytes."""
    reference = undisturbed(folder / "reference")
    complete = folder / "reference" / "store.sqlite"
    found = []
    for number in range(tries):
        here = folder / str(number)
        disk, copy = here / "disk", here / "copy"
        disk.mkdir(parents=True)
        size = int(random.integers(12, 80 if saving else 400))
        script = _ON_A_SMALL_DISK.format(size=size)
        before = ["env", f"DISK={disk}", f"COPY={copy}", "unshare", "-rm", "sh", "-c", script, "sh"]
        store = here / "store.sqlite" if saving else disk / "store.sqlite"
        if saving:
            shutil.copy(complete, store)
        victim = Victim(here, store=store, out=disk / "out" if saving else None, before=before, sleep=0.0)
        code, text = victim.wait(), victim.errors()
        problem = _one_line(code, text)
        if not problem and saving:
            problem = _whole_or_nothing(copy / "out", code, reference)
        elif not problem:
            problem = resumed(copy / "store.sqlite", here, reference)
        found.append(Try(code != 0, problem))
    return found


def size_limit(folder: Path, tries: int, random: Random) -> list[Try]:
    """Run with a limit on the size of a file, which the store meets after a random number of cells."""
    reference = undisturbed(folder / "reference")
    found = []
    for number in range(tries):
        here = folder / str(number)
        here.mkdir()
        limit = int(random.integers(8, 140)) * 1024
        victim = Victim(here, direct=True, sleep=0.0, largest_file=limit)
        code, text = victim.wait(), victim.errors()
        problem = _one_line(code, text) or resumed(victim.store, here, reference)
        found.append(Try(code != 0, problem))
    return found


def _one_line(code: int | None, text: str) -> str:
    """What is wrong with how a run ended that had no room: success, or one line that says so, are right."""
    if code == 0 and not text:
        return ""
    if code != 1 or not text.startswith("fairpca: error: ") or "\n" in text:
        return f"exit code {code}: {text[-300:]}"
    return ""


def _whole_or_nothing(folder: Path, code: int | None, reference: Mapping[str, bytes]) -> str:
    left = sorted(path.name for path in folder.rglob("*") if path.is_file())
    if code == 0:
        return "" if saved(folder) == reference else "saved files differ"
    return f"it failed and left {left}" if left else ""


def killed_while_saving(folder: Path, tries: int, random: Random) -> list[Try]:
    """Kill a run in the middle of writing its results over older ones: what is read is old, new, or refused."""
    reference = undisturbed(folder / "reference")
    older = undisturbed(folder / "older", shift=1)
    found = []
    for number in range(tries):
        here = folder / str(number)
        store, out = here / "store.sqlite", here / "out"
        shutil.copytree(folder / "older" / "out", out)
        shutil.copy(folder / "reference" / "store.sqlite", store)
        script = _KILLED_AT_WRITE.format(count=int(random.integers(1, 21)))
        arguments = [command()[0], "-c", script, "run", PLAIN, "--quiet", "--store", str(store)]
        arguments += ["--save", "--out", str(out)]
        finished = subprocess.run(arguments, env=environment(), capture_output=True, check=False)
        problem = _read_back(out, (older, reference)) or resumed(store, here, reference)
        if not problem and any(out.rglob(".fairpca-*")):
            problem = "temporary files are left"
        found.append(Try(finished.returncode == -signal.SIGKILL, problem))
    return found


# The system calls of a save take milliseconds, too short for a signal from outside: it kills itself before one of them.
_KILLED_AT_WRITE = """
import os, signal, sys
from fairpca import cli
from fairpca._outputs import Outputs
from fairpca.experiments.faults import victim

calls = 0
def counted(call):
    def wrapper(*arguments, **options):
        global calls
        calls += 1
        if calls == {count}:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **options)
    return wrapper

def write(self, contents, former=Outputs.write):
    for name in ("open", "write", "fsync", "replace", "link", "unlink"):
        setattr(os, name, counted(getattr(os, name)))
    return former(self, contents)

Outputs.write = write
victim.register_all()
sys.exit(cli.main(sys.argv[1:]))
"""


def _read_back(folder: Path, allowed: Sequence[Mapping[str, bytes]]) -> str:
    results = importlib.import_module("fairpca.experiments.engine.results")
    try:
        results.load_results(PLAIN, folder)
    except results.ResultsError:
        return ""
    return "" if saved(folder) in allowed else "a mixture was read"

"""The fault table of the runner: what was done to it how often, and how often it held."""

from __future__ import annotations

import functools
import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairpca
from fairpca.experiments.engine.runner import Cell, Profile, register
from fairpca.experiments.faults import clusters, files, fits, runs
from fairpca.experiments.faults.processes import Try

__all__ = ["FAULTS", "engine_digest"]

Fault = Callable[[Path, int, np.random.Generator], list[Try]]


def _kills() -> dict[tuple[str, str], tuple[int, Fault]]:
    found: dict[tuple[str, str], tuple[int, Fault]] = {}
    targets = {"the run": "process", "the run and its workers": "group", "one worker": "worker"}
    for words, what in targets.items():
        for jobs in (1, 2):
            kill = functools.partial(runs.killed, what=what, sign="SIGKILL", jobs=jobs)
            found["killed", f"kill -9 of {words}, {_processes(jobs)}"] = (1 if what == "worker" else 3, kill)
    for sign, words in (("SIGINT", "Ctrl-C (SIGINT)"), ("SIGTERM", "SIGTERM")):
        for jobs in (1, 2):
            stop = functools.partial(runs.killed, what="process", sign=sign, jobs=jobs)
            found["stopped", f"{words}, {_processes(jobs)}"] = (2, stop)
    for jobs in (1, 2):
        stop = functools.partial(runs.killed, what="process", sign="SIGINT", jobs=jobs, name="victim/stubborn")
        found["stopped", f"Ctrl-C, cells swallow it, {_processes(jobs)}"] = (2, stop)
    return found


def _processes(jobs: int) -> str:
    return "one process" if jobs == 1 else f"{jobs} processes"


def _all() -> dict[tuple[str, str], tuple[int, Fault]]:
    found = _kills()
    found["together", "two runs on one store"] = (3, functools.partial(runs.together, runs=2))
    found["together", "three runs on one store"] = (3, functools.partial(runs.together, runs=3))
    found["together", "three runs, one of them killed"] = (3, functools.partial(runs.together, runs=3, kill=True))
    deaths = ("SIGKILL", "SIGSEGV", "SIGABRT", "exit code 3")
    for number, death in enumerate(deaths):
        for jobs in (1, 2):
            fault = functools.partial(runs.deadly, jobs=jobs, number=number)
            found["deadly cell", f"a cell ends its process ({death}), {_processes(jobs)}"] = (1, fault)
    found["disk", "the disk of the store is full"] = (2, functools.partial(runs.full_disk, saving=False))
    found["disk", "the disk of the results is full"] = (2, functools.partial(runs.full_disk, saving=True))
    found["disk", "a limit on the size of files"] = (5, runs.size_limit)
    found["disk", "kill -9 while results are replaced"] = (4, runs.killed_while_saving)
    words = {"byte": "one byte changed", "bit": "one bit flipped", "truncation": "cut short", "page": "a page of zeros"}
    for change, text in words.items():
        found["damaged store", text] = (200, functools.partial(files.damaged_store, change=change))
    found["damaged store", "no store: text, noise, folder, device, other databases"] = (60, files.foreign_store)
    for suffix in (".csv", ".cells.csv.gz", ".json"):
        fault = functools.partial(files.damaged_results, suffix=suffix)
        found["damaged results", f"the {suffix} file changed or cut short"] = (30, fault)
    for what in ("one worker", "all workers", "scheduler"):
        found["cluster", f"kill -9 of {what}"] = (1, functools.partial(clusters.lost, what=what))
    found["cluster", "no scheduler at the address"] = (1, functools.partial(clusters.never_there, workers=True))
    found["cluster", "no workers"] = (1, functools.partial(clusters.never_there, workers=False))
    for alter in ("another experiment", "another version", "no package"):
        found["cluster", f"worker with {alter}"] = (1, functools.partial(clusters.other_code, alter=alter))
    for kind in fits.FITS:
        found["fit", kind] = (6, functools.partial(fits.interrupted_fits, kind=kind))
    return found


# The first number is how often a fault is made; those that start and kill processes cost seconds each.
FAULTS = _all()
# A second or two each, and one of each thing that is attacked.
_SMOKE = (("damaged store", "cut short"), ("damaged results", "the .csv file changed or cut short"), ("fit", "PCA"))


def engine_digest() -> str:
    """Digest of the sources of the runner, to tell whether they have changed since the table was made."""
    package = Path(fairpca.__file__).resolve().parent
    paths = sorted((package / "experiments" / "engine").glob("*.py"))
    paths += [package / name for name in ("_outputs.py", "_interrupts.py", "cli.py")]
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def _cells(profile: Profile) -> list[Cell]:
    if profile == "smoke":
        return [Cell(method=family, fault=fault, tries=4) for family, fault in _SMOKE]
    return [Cell(method=family, fault=fault, tries=tries) for (family, fault), (tries, _) in FAULTS.items()]


def _run_cell(*, method: str, fault: str, tries: int, cell_seed: int) -> dict[str, Any]:
    if "disk of" in fault and not runs.mounts():
        # Not counted as tried.
        return {"tried": 0, "live": 0, "held": 0, "problems": "no small disk can be mounted here", "engine": ""}
    attack = FAULTS[method, fault][1]
    with tempfile.TemporaryDirectory(prefix="fairpca-faults-") as folder:
        found = attack(Path(folder) / "here", tries, np.random.default_rng(cell_seed))
        if len(found) != tries:
            raise RuntimeError(f"{len(found)} of {tries} faults were made")
        problems = [one.problem.replace(folder, "…") for one in found if one.problem]
    return {
        "tried": tries,
        "live": sum(one.live for one in found),
        "held": tries - len(problems),
        "problems": "; ".join(dict.fromkeys(problems)),
        "engine": engine_digest(),
    }


def _tabulate(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["method", "fault", "tried", "live", "held", "engine"]]


register(
    "faults/runner",
    cells=_cells,
    run_cell=_run_cell,
    tabulate=_tabulate,
    title="Kills, interrupts, full disks, damaged files, lost clusters: tried and held",
)

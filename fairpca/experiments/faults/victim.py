"""Experiments that are killed, stopped and damaged; also a command with the arguments of ``fairpca``.

It is not imported with the other experiments, so that nobody finds these among them. Environment: VICTIM_TRACE names a
file that gets a line for each cell that begins, VICTIM_SLEEP the seconds that a cell takes, VICTIM_SHIFT what is added
to the values.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import os
import signal
import sys
import time
from typing import Any

import numpy as np
import pandas as pd

from fairpca.experiments.engine.runner import Cell, Profile, register, tidy

CELLS = 8
DEATHS = ("SIGKILL", "SIGSEGV", "SIGABRT", "exit code 3")


def cells(profile: Profile) -> list[Cell]:
    """One after the other, the same in both profiles."""
    return [Cell(method="plain", setting="", split=split) for split in range(CELLS)]


def _begin(split: int) -> None:
    trace = os.environ.get("VICTIM_TRACE")
    if trace:
        with open(trace, "a", encoding="utf-8") as file:
            file.write(f"{split}\n")


def run_cell(*, method: str, setting: str, split: int, cell_seed: int) -> dict[str, Any]:
    """Draw numbers, sleep, and return an array large enough to fill a small disk soon."""
    _begin(split)
    time.sleep(float(os.environ.get("VICTIM_SLEEP", "0.1")))
    draws = np.random.default_rng(cell_seed).normal(size=(500, 3))
    return {"value": float(draws.sum()) + float(os.environ.get("VICTIM_SHIFT", "0")), "draws": draws}


def run_stubborn(*, method: str, setting: str, split: int, cell_seed: int) -> dict[str, Any]:
    """Do what a solver does that returns its best iterate: swallow the interrupt, and return something else."""
    _begin(split)
    began = time.perf_counter()
    with contextlib.suppress(KeyboardInterrupt):
        time.sleep(float(os.environ.get("VICTIM_SLEEP", "0.1")))
    draws = np.random.default_rng(cell_seed).normal(size=(500, 3))
    whole = time.perf_counter() - began >= float(os.environ.get("VICTIM_SLEEP", "0.1"))
    return {"value": float(draws.sum()) if whole else -1.0, "draws": draws}


def run_deadly(*, method: str, setting: str, split: int, cell_seed: int) -> dict[str, Any]:
    """End the process in the cell of the middle."""
    if split == CELLS // 2:
        if setting == "SIGSEGV":
            ctypes.string_at(0)
        if setting == "exit code 3":
            os._exit(3)
        os.kill(os.getpid(), getattr(signal, setting))
    return run_cell(method=method, setting=setting, split=split, cell_seed=cell_seed)


def tabulate(frame: pd.DataFrame) -> pd.DataFrame:
    """Summarise the values."""
    return tidy(frame, ["value"])


def _deadly_cells(death: str, profile: Profile) -> list[Cell]:
    return [Cell(method="plain", setting=death, split=split) for split in range(CELLS)]


def register_all() -> None:
    """Make the victims known to this process."""
    register("victim/plain", cells=cells, run_cell=run_cell, tabulate=tabulate, title="Killed by others")
    register("victim/stubborn", cells=cells, run_cell=run_stubborn, tabulate=tabulate, title="Swallows interrupts")
    for number, death in enumerate(DEATHS):
        register(
            f"victim/deadly{number}",
            cells=functools.partial(_deadly_cells, death),
            run_cell=run_deadly,
            tabulate=tabulate,
            title="Ends its process",
        )


if __name__ == "__main__":
    # By its own name, as workers import it.
    from fairpca.experiments.faults import victim

    victim.register_all()
    # As a program this stands above the command; as a module, below it.
    sys.exit(importlib.import_module("fairpca.cli").main(sys.argv[1:]))

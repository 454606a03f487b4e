"""How long several experiments will take, shown while they run, and how long each took."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

from fairpca.experiments.engine.registry import Profile
from fairpca.experiments.engine.results import ResultsError, load_results, stored_names
from fairpca.experiments.engine.runner import status
from fairpca.experiments.engine.store import Store

__all__ = ["Plan"]


class Plan:
    """One progress bar over several experiments, on a terminal; a line for each that is finished elsewhere.

    The cells that are missing count by what such cells took when the stored results were computed; where there are
    none, by the median of the others.

    Parameters
    ----------
    names : sequence of str
        The experiments, in their order.
    profile : {"smoke", "paper"}
        Which cells.
    store : Store
        Where the finished ones are.
    jobs : int
        Number of processes, which divides what is expected.
    hidden : bool
        Show nothing.
    """

    def __init__(self, names: Sequence[str], profile: Profile, store: Store, jobs: int, *, hidden: bool) -> None:
        from joblib import effective_n_jobs

        self.names, self.profile, self.hidden = list(names), profile, hidden
        self.missing = {}
        for name in self.names:
            told = status(name, profile, store=store)
            self.missing[name] = told.total - told.done
        known = {name: seconds for name in self.names if (seconds := _seconds_a_cell(name)) is not None}
        usual = statistics.median(known.values()) if known else 1.0
        self.seconds = {name: known.get(name, usual) / effective_n_jobs(jobs) for name in self.names}
        self.took: dict[str, float] = {}
        self._began = time.perf_counter()
        self._bar: Any = None

    @property
    def left(self) -> float:
        """Seconds that the missing cells will take, by what is known."""
        return sum(self.missing[name] * self.seconds[name] for name in self.names)

    def __enter__(self) -> Plan:
        from tqdm import tqdm

        self._bar = tqdm(
            total=self.left,
            disable=self.hidden or not sys.stderr.isatty(),
            bar_format="{desc}{percentage:3.0f}%|{bar}| {elapsed} so far, about {remaining} left",
        )
        self._say("")
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def advance(self, name: str, done: int, total: int) -> None:
        """Say that a cell of an experiment is finished."""
        self.missing[name] = total - done
        self._bar.update(self.seconds[name])

    def ended(self, name: str, seconds: float) -> None:
        """Say that an experiment is finished, and the seconds that its cells took."""
        self.missing[name] = 0
        self.took[name] = seconds
        told = f"{len(self.took)}/{len(self.names)} finished"
        self._bar.set_description_str(f"{told}: ")
        self._say(f"{told}, {name} just now: ")

    def _say(self, what: str) -> None:
        """Print what is left where no bar can be drawn."""
        if not self.hidden and self._bar.disable and len(self.names) > 1 and len(self.took) < len(self.names):
            print(f"{what}about {duration(self.left)} left", file=sys.stderr, flush=True)

    def times(self) -> list[tuple[str, str]]:
        """Rows of the table of times: what the cells of each experiment took, whatever ran beside them, and all."""
        rows = [(name, duration(self.took[name])) for name in self.names if name in self.took]
        elapsed, together = time.perf_counter() - self._began, sum(self.took.values())
        everything = f"{duration(elapsed)} for {duration(together)} of computing"
        return [("experiment", "computing"), *rows, ("all", everything)]


def _seconds_a_cell(name: str) -> float | None:
    """What a cell took when the stored results were computed; None if there are none."""
    if name not in stored_names():
        return None
    try:
        told = load_results(name).provenance
    except ResultsError:
        return None
    return float(told["wall_seconds"]) / max(1, int(told["cells"]))


def duration(seconds: float) -> str:
    """Seconds in words."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"

"""Run experiments: cells in parallel, each stored when it is finished, so that a killed run goes on where it stopped.

An experiment is registered in a module of this package::

    def cells(profile):
        splits = range(10) if profile == "paper" else range(1)
        return [Cell(dataset="compas", split=split, method="pca", d=2) for split in splits]

    def run_cell(*, dataset, split, method, d, cell_seed):
        ...
        return {"pct_var": ..., "mmd2": ...}

    def tabulate(cells):
        return tidy(cells, ["pct_var", "mmd2"])

    register("<paper>/table1", cells=cells, run_cell=run_cell, tabulate=tabulate, title="Table 1")
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairpca._interrupts import HeedInterrupts
from fairpca.experiments.engine.attempts import Task
from fairpca.experiments.engine.claims import Claims
from fairpca.experiments.engine.codehash import script_sources
from fairpca.experiments.engine.frames import cells_frame, tidy
from fairpca.experiments.engine.inputs import InputError, input_digest
from fairpca.experiments.engine.origin import OriginError, origin, refuse_other_origin
from fairpca.experiments.engine.places import ClusterError, here, in_processes, on_cluster
from fairpca.experiments.engine.registry import (
    PROFILES,
    Cell,
    Experiment,
    Profile,
    cell_seed,
    get,
    in_order,
    names,
    register,
)
from fairpca.experiments.engine.results import (
    ResultsError,
    StoredResults,
    finished_cells,
    load_results,
    recompute,
    save_results,
    stored_names,
)
from fairpca.experiments.engine.store import Store, StoredCell, StoreError, default_store

__all__ = [
    "PROFILES",
    "Cell",
    "ClusterError",
    "Experiment",
    "InputError",
    "Interrupted",
    "OriginError",
    "ResultsError",
    "RunFailed",
    "Status",
    "Store",
    "StoreError",
    "StoredResults",
    "cell_seed",
    "collect",
    "default_store",
    "drop_damaged",
    "get",
    "in_order",
    "load_results",
    "names",
    "recompute",
    "register",
    "run",
    "save_results",
    "status",
    "stored_names",
    "tidy",
]


class RunFailed(RuntimeError):
    """Some cells raised; the others are stored.

    Attributes
    ----------
    failures : dict of Cell to str
        Traceback of each failed cell.
    """

    def __init__(self, name: str, failures: Mapping[Cell, str], total: int) -> None:
        self.failures = dict(failures)
        first, text = next(iter(self.failures.items()))
        super().__init__(
            f"{len(self.failures)} of {total} cells of {name!r} failed; the others are stored, and the next run tries "
            f"these again. The first was {first!r}:\n{text}"
        )


class Interrupted(KeyboardInterrupt):
    """The run was stopped by an interrupt; nothing that was computed after it is stored."""

    def __init__(self, name: str, profile: str, done: int, total: int, store: Store) -> None:
        super().__init__(
            f"Stopped {name!r} ({profile}): {done} of {total} cells are stored in {store.path}; "
            "start the same run again to go on from there."
        )


def run(
    name: str,
    profile: Profile = "smoke",
    *,
    jobs: int = 1,
    isolated: bool = False,
    store: Any = None,
    cluster: str | None = None,
    verbose: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Compute the cells of an experiment that the store does not have yet, and return its table.

    Parameters
    ----------
    name : str
        ``"<paper>/<exhibit>"``.
    profile : {"smoke", "paper"}
        Seconds, or everything as in the paper.
    jobs : int
        Number of processes; -1 takes all processors. The result does not depend on it. Runs that share a store also
        share the work: none computes a cell that another one is computing.
    isolated : bool
        Whether `jobs=1` means one other process, so that a cell that ends its process (a crash, want of memory) fails
        like one that raises; otherwise it is this process. More processes are always others.
    store : path, optional
        The SQLite file with finished cells; default: `default_store`.
    cluster : str, optional
        Address of a Dask scheduler; `jobs` and `isolated` are then ignored.
    verbose : int
        0 shows nothing; otherwise a progress bar with the time left, on a terminal only.
    progress : callable, optional
        Called with (finished, total) after each cell.

    Returns
    -------
    DataFrame
        The tidy table.

    Raises
    ------
    RunFailed
        If cells raised or ended their process. The others are finished and stored; a later run tries them again.
    ClusterError
        If there is no cluster at the address, or it loses its scheduler or all its workers.
    StoreError
        If the store cannot be used, or cells in it are damaged.
    OriginError
        If a worker has other code or other versions of packages than this process; nothing of it is stored.
    Interrupted
        After an interrupt (a ``KeyboardInterrupt``). What was finished before is stored, nothing of what came after.
    """
    from joblib import effective_n_jobs
    from tqdm import tqdm

    experiment = get(name)
    if not isinstance(jobs, int) or jobs == 0:
        raise ValueError(f"jobs is a number of processes, or -1 for all processors; got {jobs!r}.")
    grid = experiment.grid(profile)
    file = store if isinstance(store, Store) else Store(store)
    work = _Work(experiment, grid, file)
    failures: dict[Cell, str] = {}
    hidden = verbose == 0 or not sys.stderr.isatty()
    workers = min(effective_n_jobs(jobs), max(1, len(work.missing)))
    try:
        with (
            HeedInterrupts() as interrupts,
            closing(work),
            tqdm(total=len(grid), initial=work.done, desc=name, unit="cell", disable=hidden) as bar,
        ):
            while work.missing:
                tasks = work.tasks()
                if cluster:
                    attempts = on_cluster(name, tasks, cluster)
                else:
                    attempts = in_processes(tasks, workers) if isolated or workers > 1 else here(tasks)
                # Closed at once when the run ends early, so that no worker goes on.
                with closing(attempts):
                    for attempt in attempts:
                        interrupts.check()
                        cell = grid[attempt.number]
                        refuse_other_origin(name, origin(experiment.functions[experiment.label(cell)]), attempt.origin)
                        if attempt.outcome is None:
                            raise KeyboardInterrupt
                        work.store(attempt.number, attempt.outcome)
                        if attempt.outcome.status == "failed":
                            failures[cell] = attempt.outcome.error
                        bar.update()
                        if progress is not None:
                            progress(work.done, len(grid))
                if work.missing:
                    # All that is left is being computed by other runs.
                    time.sleep(_WAIT_SECONDS)
            if failures:
                raise RunFailed(name, failures, len(grid))
            return experiment.table(collect(name, profile, store=file))
    except KeyboardInterrupt:
        # Counted anew: the interrupt may have come between storing a cell and counting it.
        raise Interrupted(name, profile, _states(experiment, profile, file).count("done"), len(grid), file) from None


_WAIT_SECONDS = 0.5


class _Work:
    """The cells of a run that are not stored yet, handed out one by one, each to one of the runs on a store."""

    def __init__(self, experiment: Experiment, grid: list[Cell], store: Store) -> None:
        self.experiment, self.grid, self.file = experiment, grid, store
        self.digests = experiment.digests()
        self.keys = experiment.keys(self.digests)
        self.sources = {label: script_sources(function) for label, function in experiment.functions.items()}
        known = store.get(experiment.name, self.keys.values())
        found = {number: known.get((cell.json, self._key(number))) for number, cell in enumerate(grid)}
        self.missing = [number for number, outcome in found.items() if outcome is None or outcome.status != "done"]
        self.claims = Claims(store.path)

    def _key(self, number: int) -> str:
        return self.keys[self.experiment.label(self.grid[number])]

    def _name(self, number: int) -> tuple[str, str, str]:
        return self.experiment.name, self.grid[number].json, self._key(number)

    @property
    def done(self) -> int:
        """How many cells are finished, also those that failed in this run."""
        return len(self.grid) - len(self.missing)

    def tasks(self) -> Iterator[Task]:
        """Take the cells that no other run has, when they are asked for."""
        for number in list(self.missing):
            if not self.claims.take(*self._name(number)):
                continue
            # Another run may have finished it before it gave it back.
            name, cell, key = self._name(number)
            stored = self.file.get(name, [key], cell).get((cell, key))
            if stored is not None and stored.status == "done":
                self._finish(number)
                continue
            label = self.experiment.label(self.grid[number])
            function = self.experiment.functions[label]
            yield Task(
                number,
                name,
                function,
                dict(self.grid[number]),
                origin(function),
                self.sources[label],
                self.digests,
            )

    def store(self, number: int, outcome: StoredCell) -> None:
        """Keep what became of a cell."""
        name, cell, key = self._name(number)
        self.file.put(name, cell, key, outcome)
        self._finish(number)

    def _finish(self, number: int) -> None:
        self.claims.free(*self._name(number))
        self.missing.remove(number)

    def close(self) -> None:
        """Leave what is not finished to other runs."""
        self.claims.close()


def drop_damaged(name: str, store: Store) -> int:
    """Take damaged cells of an experiment out of the store, so that they are computed again; returns how many."""
    experiment = get(name)
    return store.drop_damaged(name, experiment.keys(experiment.digests()).values())


def collect(name: str, profile: Profile = "smoke", *, store: Any = None) -> pd.DataFrame:
    """Frame of the finished cells of a profile, in the order of its grid; missing ones are an error."""
    file = store if isinstance(store, Store) else Store(store)
    found = finished_cells(get(name), profile, file)
    return cells_frame([(cell.json, outcome.records) for cell, outcome in found])


@dataclass(frozen=True)
class Status:
    """How far an experiment is.

    Attributes
    ----------
    name, profile : str
        Which one.
    total, done, failed : int
        Cells of the grid, those stored with the current code, those that raised.
    saved : str
        Of the stored results in the repository: ``"current"``, ``"stale"`` or ``"none"``.
    """

    name: str
    profile: Profile
    total: int
    done: int
    failed: int
    saved: str


def status(name: str, profile: Profile = "paper", *, store: Any = None) -> Status:
    """Count the cells of an experiment that are done, and say whether its saved results are current."""
    experiment = get(name)
    file = store if isinstance(store, Store) else Store(store)
    states = _states(experiment, profile, file)
    saved = "none"
    if name in stored_names():
        saved = "stale" if load_results(name).stale else "current"
    return Status(name, profile, len(experiment.grid(profile)), states.count("done"), states.count("failed"), saved)


def _states(experiment: Experiment, profile: Profile, store: Store) -> list[str]:
    """Whether each stored cell of the current code is done or failed."""
    keys = experiment.keys({name: input_digest(name) for name in experiment.inputs})
    known = store.get(experiment.name, keys.values())
    found = [(cell.json, keys[experiment.label(cell)]) for cell in experiment.grid(profile)]
    return [known[key].status for key in found if key in known]

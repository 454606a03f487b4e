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
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pandas as pd

from fairpca._interrupts import HeedInterrupts
from fairpca.experiments.engine.attempts import Attempt, Task
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
    in_steps,
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
from fairpca.experiments.engine.store import Store, StoreError, default_store

__all__ = [
    "PROFILES",
    "Cell",
    "ClusterError",
    "Experiment",
    "InputError",
    "Interrupted",
    "OriginError",
    "Outcome",
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
    "in_steps",
    "load_results",
    "names",
    "recompute",
    "register",
    "run",
    "run_each",
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

    def __init__(self, names: Sequence[str], profile: str, done: int, total: int, store: Store) -> None:
        super().__init__(
            f"Stopped {', '.join(map(repr, names))} ({profile}): {done} of {total} cells are stored in {store.path}; "
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
    from tqdm import tqdm

    hidden = verbose == 0 or not sys.stderr.isatty()
    places: dict[str, Any] = {"jobs": jobs, "isolated": isolated, "store": store, "cluster": cluster}
    with tqdm(desc=name, unit="cell", disable=hidden) as bar:

        def show(_: str, done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)
            if progress is not None:
                progress(done, total)

        [outcome] = run_each([name], profile, **places, progress=show)
    if isinstance(outcome.result, Exception):
        raise outcome.result
    return outcome.result


@dataclass(frozen=True)
class Outcome:
    """What became of an experiment: its tidy table, or why there is none; and the seconds that its new cells took."""

    name: str
    result: pd.DataFrame | RunFailed | InputError
    seconds: float


def run_each(
    names: Sequence[str],
    profile: Profile = "smoke",
    *,
    jobs: int = 1,
    isolated: bool = False,
    store: Any = None,
    cluster: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Generator[Outcome, None, None]:
    """Compute several experiments at once; gives the outcome of each when its last cell is finished.

    The processes go from one experiment to the next without waiting for its last cells.

    Parameters
    ----------
    names : sequence of str
        Experiments that do not read each other's results, see `in_steps`; their cells begin in this order.
    profile, jobs, isolated, store, cluster
        As in `run`.
    progress : callable, optional
        Called with (name, finished, total) after each cell.

    Yields
    ------
    Outcome
        An experiment that failed (`RunFailed`), or whose inputs are not there (`InputError`), leaves the others alone.

    Raises
    ------
    ClusterError, StoreError, OriginError, Interrupted
        As `run` does; they concern all experiments.
    """
    if not isinstance(jobs, int) or jobs == 0:
        raise ValueError(f"jobs is a number of processes, or -1 for all processors; got {jobs!r}.")
    file = store if isinstance(store, Store) else Store(store)
    works: list[_Work] = []
    with ExitStack() as stack:
        for name in names:
            experiment = get(name)
            grid = experiment.grid(profile)
            try:
                work = _Work(experiment, grid, file, first=sum(len(work.grid) for work in works))
            except InputError as error:
                yield Outcome(name, error, 0.0)
                continue
            works.append(work)
            stack.enter_context(closing(work))
        waiting = list(works)
        try:
            with (
                HeedInterrupts() as interrupts,
                closing(_finished(works, jobs, isolated, cluster, interrupts, progress)) as finished,
            ):
                for work in finished:
                    waiting.remove(work)
                    yield Outcome(work.experiment.name, work.result(profile), work.seconds)
        except KeyboardInterrupt:
            begun = [work for work in waiting if work.done] or waiting[:1] or works[-1:]
            # Counted anew: the interrupt may have come between storing a cell and counting it.
            done = sum(_states(work.experiment, profile, file).count("done") for work in begun)
            told = [work.experiment.name for work in begun]
            raise Interrupted(told, profile, done, sum(len(work.grid) for work in begun), file) from None


def _finished(
    works: Sequence[_Work],
    jobs: int,
    isolated: bool,
    cluster: str | None,
    interrupts: HeedInterrupts,
    progress: Callable[[str, int, int], None] | None,
) -> Generator[_Work, None, None]:
    """Compute and store the cells that are missing; gives each work when none is missing any more."""
    from joblib import effective_n_jobs

    open_works = list(works)

    def ended() -> Generator[_Work, None, None]:
        for work in [work for work in open_works if not work.missing]:
            open_works.remove(work)
            yield work

    yield from ended()
    workers = min(effective_n_jobs(jobs), max(1, sum(len(work.missing) for work in works)))
    while open_works:
        tasks = chain.from_iterable(work.tasks() for work in list(open_works))
        if cluster:
            attempts = on_cluster(open_works[0].experiment.name, tasks, cluster)
        else:
            attempts = in_processes(tasks, workers) if isolated or workers > 1 else here(tasks)
        # Closed at once when the run ends early, so that no worker goes on.
        with closing(attempts):
            for attempt in attempts:
                interrupts.check()
                work = next(work for work in reversed(works) if work.first <= attempt.number)
                work.take(attempt)
                if progress is not None:
                    progress(work.experiment.name, work.done, len(work.grid))
                yield from ended()
        yield from ended()
        if open_works:
            # All that is left is being computed by other runs.
            time.sleep(_WAIT_SECONDS)


_WAIT_SECONDS = 0.5


class _Work:
    """The cells of an experiment that are not stored yet, handed out one by one, each to one of the runs on a store.

    Tasks are numbered from `first`, so that those of several experiments can be told apart.
    """

    def __init__(self, experiment: Experiment, grid: list[Cell], store: Store, first: int) -> None:
        self.experiment, self.grid, self.file, self.first = experiment, grid, store, first
        self.failures: dict[Cell, str] = {}
        self.seconds = 0.0
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
                self.first + number,
                name,
                function,
                dict(self.grid[number]),
                origin(function),
                self.sources[label],
                self.digests,
            )

    def take(self, attempt: Attempt) -> None:
        """Keep what became of a cell."""
        number = attempt.number - self.first
        cell, outcome = self.grid[number], attempt.outcome
        function = self.experiment.functions[self.experiment.label(cell)]
        refuse_other_origin(self.experiment.name, origin(function), attempt.origin)
        if outcome is None:
            raise KeyboardInterrupt
        name, text, key = self._name(number)
        self.file.put(name, text, key, outcome)
        self._finish(number)
        self.seconds += outcome.wall_seconds
        if outcome.status == "failed":
            self.failures[cell] = outcome.error

    def _finish(self, number: int) -> None:
        self.claims.free(*self._name(number))
        self.missing.remove(number)

    def result(self, profile: Profile) -> pd.DataFrame | RunFailed | InputError:
        """Return the table, or why there is none."""
        if self.failures:
            return RunFailed(self.experiment.name, self.failures, len(self.grid))
        try:
            return self.experiment.table(collect(self.experiment.name, profile, store=self.file))
        except InputError as error:
            return error

    def close(self) -> None:
        """Leave what is not finished to other runs."""
        self.claims.close()


def drop_damaged(name: str, store: Store) -> int:
    """Take damaged cells of an experiment out of the store, so that they are computed again; returns how many."""
    experiment = get(name)
    return store.drop_damaged(name, experiment.keys(experiment.digests()).values())


def collect(name: str, profile: Profile = "smoke", *, store: Any = None) -> pd.DataFrame:
    """Frame of the finished cells of a profile, in the order of its grid; missing ones are an error.

    Parameters
    ----------
    name : str
        ``<paper>/<exhibit>``.
    profile : {"smoke", "paper"}, default="smoke"
        A small part, or everything as in the papers.
    store : Store or path, optional
        Where cells are kept; by default the folder of the cache.

    Returns
    -------
    DataFrame
        A row for each record of a cell, with the key of the cell as columns.
    """
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
    """Count the cells of an experiment that are done, and say whether its saved results are current.

    Parameters
    ----------
    name : str
        ``<paper>/<exhibit>``.
    profile : {"smoke", "paper"}, default="paper"
        A small part, or everything as in the papers.
    store : Store or path, optional
        Where cells are kept; by default the folder of the cache.

    Returns
    -------
    Status
    """
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

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

import datetime
import inspect
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairpca._interrupts import HeedInterrupts
from fairpca.experiments.engine.codehash import script_sources
from fairpca.experiments.engine.frames import cells_frame, tidy
from fairpca.experiments.engine.origin import Origin, OriginError, origin, refuse_other_origin
from fairpca.experiments.engine.registry import (
    PROFILES,
    Cell,
    Experiment,
    Function,
    Profile,
    cell_seed,
    get,
    names,
    register,
)
from fairpca.experiments.engine.results import StoredResults, load_results, recompute, save_results, stored_names
from fairpca.experiments.engine.store import Store, StoredCell, StoreError, decode_value, default_store, encode_value

__all__ = [
    "PROFILES",
    "Cell",
    "Experiment",
    "Interrupted",
    "OriginError",
    "RunFailed",
    "Status",
    "Store",
    "StoreError",
    "StoredResults",
    "cell_seed",
    "collect",
    "default_store",
    "get",
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


@dataclass(frozen=True)
class Task:
    """A cell to be computed, here or in another process."""

    number: int
    experiment: str
    function: Function
    key: dict[str, Any]
    expected: Origin
    sources: dict[str, list[str]]


@dataclass(frozen=True)
class Attempt:
    """What became of a task; there is no outcome after an interrupt, and where the code is not the expected one."""

    number: int
    origin: Origin
    outcome: StoredCell | None


Attempts = Generator[Attempt, None, None]


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


def compute(function: Function, experiment: str, key: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compute one cell in this process, with its own seed; returns its records."""
    arguments = dict(key)
    if "cell_seed" in inspect.signature(function).parameters:
        arguments["cell_seed"] = cell_seed(experiment, key)
    # A cell that catches an interrupt and goes on does not return the result asked for.
    with HeedInterrupts():
        returned = function(**arguments)
    records = [dict(returned)] if isinstance(returned, Mapping) else [dict(record) for record in returned]
    # What comes back is what the store would give back, so that a fresh and a resumed run agree bit for bit.
    return [decode_value(encode_value(record)) for record in records]


def _attempt(task: Task) -> Attempt:
    """Compute one cell with one BLAS thread; an error becomes a record."""
    from threadpoolctl import threadpool_limits

    # Functions of modules are sent by name: this process runs what it finds under that name, so it says what that is.
    here = origin(task.function, task.sources)
    if not here.agrees(task.expected):
        return Attempt(task.number, here, None)
    wall, cpu = time.perf_counter(), time.process_time()
    records: list[dict[str, Any]] = []
    error = ""
    try:
        with threadpool_limits(1):
            records = compute(task.function, task.experiment, task.key)
    except KeyboardInterrupt:
        return Attempt(task.number, here, None)
    except Exception:
        error = traceback.format_exc()
    outcome = StoredCell(
        "failed" if error else "done",
        records,
        error,
        time.perf_counter() - wall,
        time.process_time() - cpu,
        datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        here.versions,
    )
    return Attempt(task.number, here, outcome)


# --------------------------------------------------------------------------------------------------------------------
# Where cells are computed


def _prepare_worker(parent: int) -> None:
    """In a worker: end soon after the run that started it (process `parent`) was killed, even before this began."""
    # Between two cells there is nothing to stop; the run itself decides whether there is a next one.
    signal.signal(signal.SIGINT, lambda number, frame: None)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _in_processes(name: str, tasks: list[Task], jobs: int) -> Attempts:
    if jobs == 1:
        for task in tasks:
            yield _attempt(task)
        return
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    work = (delayed(_attempt)(task) for task in tasks)
    start = {"initializer": _prepare_worker, "initargs": (os.getpid(),)}
    try:
        with parallel_config(backend="loky", inner_max_num_threads=1, **start):
            parallel = Parallel(jobs, batch_size=1, pre_dispatch="2*n_jobs", return_as="generator_unordered")
            attempts = parallel(work)
            try:
                # Not `yield from`: it would close joblib's generator before warnings are off.
                for attempt in attempts:  # noqa: UP028
                    yield attempt
            except GeneratorExit:
                # The run ends early, on purpose: no warning. Processes whose cells are finished would live on with the
                # code that they have loaded, even if it was refused for being old.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    attempts.close()
                get_reusable_executor(jobs, reuse=True).shutdown(kill_workers=True)
                raise
    except BrokenProcessPool as error:
        raise RuntimeError(
            f"A process that computed cells of {name!r} died, often for want of memory. "
            "The finished cells are stored; start again, with fewer jobs if it happens again."
        ) from error


def _on_cluster(name: str, tasks: list[Task], address: str) -> Attempts:
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise ImportError("A cluster needs Dask: pip install 'fairpca[scale]'.") from error
    with Client(address, timeout="20s", set_as_default=False) as client:
        futures = [client.submit(_attempt, task, pure=False) for task in tasks]
        for future in as_completed(futures, loop=client.loop):
            try:
                attempt = future.result()
            except Exception as error:
                # Errors of cells come back as records, so this one is the worker's.
                reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
                raise RuntimeError(
                    f"A worker of the cluster at {address} cannot compute cells of {name!r} ({reason}). It needs the "
                    "same fairpca, experiments and packages as this process, and enough memory. Mend that, restart the "
                    "workers, and start again; the finished cells are stored."
                ) from error
            yield attempt


# --------------------------------------------------------------------------------------------------------------------


def run(
    name: str,
    profile: Profile = "smoke",
    *,
    jobs: int = 1,
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
        Number of processes; -1 takes all processors. The result does not depend on it.
    store : path, optional
        The SQLite file with finished cells; default: `default_store`.
    cluster : str, optional
        Address of a Dask scheduler; `jobs` is then ignored.
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
        If cells raised. The others are finished and stored; a later run tries the failed ones again.
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
    known = file.get(name, experiment.hashes().values())
    missing = [
        (number, cell)
        for number, cell in enumerate(grid)
        if (found := known.get((cell.json, experiment.hash(cell)))) is None or found.status != "done"
    ]
    done = len(grid) - len(missing)
    failures: dict[Cell, str] = {}
    hidden = verbose == 0 or not sys.stderr.isatty()
    try:
        with HeedInterrupts() as interrupts:
            tasks = _tasks(experiment, missing)
            attempts = (
                _on_cluster(name, tasks, cluster)
                if cluster
                else _in_processes(name, tasks, min(effective_n_jobs(jobs), max(1, len(tasks))))
            )
            # Closed at once when the run ends early, so that no worker goes on.
            with tqdm(total=len(grid), initial=done, desc=name, unit="cell", disable=hidden) as bar, closing(attempts):
                for attempt in attempts if tasks else ():
                    interrupts.check()
                    cell = grid[attempt.number]
                    refuse_other_origin(name, origin(experiment.functions[experiment.label(cell)]), attempt.origin)
                    if attempt.outcome is None:
                        raise KeyboardInterrupt
                    file.put(name, cell.json, experiment.hash(cell), attempt.outcome)
                    done += 1
                    if attempt.outcome.status == "failed":
                        failures[cell] = attempt.outcome.error
                    bar.update()
                    if progress is not None:
                        progress(done, len(grid))
            if failures:
                raise RunFailed(name, failures, len(grid))
            return experiment.tabulate(collect(name, profile, store=file))
    except KeyboardInterrupt:
        # Counted anew: the interrupt may have come between storing a cell and counting it.
        raise Interrupted(name, profile, _states(experiment, profile, file).count("done"), len(grid), file) from None


def _tasks(experiment: Experiment, cells: list[tuple[int, Cell]]) -> list[Task]:
    sources = {label: script_sources(function) for label, function in experiment.functions.items()}
    tasks = []
    for number, cell in cells:
        label = experiment.label(cell)
        function = experiment.functions[label]
        tasks.append(Task(number, experiment.name, function, dict(cell), origin(function), sources[label]))
    return tasks


def collect(name: str, profile: Profile = "smoke", *, store: Any = None) -> pd.DataFrame:
    """Frame of the finished cells of a profile, in the order of its grid; missing ones are an error."""
    from fairpca.experiments.engine.results import finished_cells

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
    known = store.get(experiment.name, experiment.hashes().values())
    grid = experiment.grid(profile)
    return [known[cell.json, code].status for cell in grid if (cell.json, code := experiment.hash(cell)) in known]

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
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairpca.experiments.engine.frames import cells_frame, tidy
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

Task = tuple[int, str, dict[str, Any]]


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


def compute(function: Function, experiment: str, key: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compute one cell in this process, with its own seed; returns its records."""
    arguments = dict(key)
    if "cell_seed" in inspect.signature(function).parameters:
        arguments["cell_seed"] = cell_seed(experiment, key)
    returned = function(**arguments)
    records = [dict(returned)] if isinstance(returned, Mapping) else [dict(record) for record in returned]
    # What comes back is what the store would give back, so that a fresh and a resumed run agree bit for bit.
    return [decode_value(encode_value(record)) for record in records]


def _attempt(function: Function, experiment: str, task: Task) -> tuple[int, StoredCell]:
    """Compute one cell with one BLAS thread; an error becomes a record."""
    from threadpoolctl import threadpool_limits

    number, _, key = task
    wall, cpu = time.perf_counter(), time.process_time()
    records: list[dict[str, Any]] = []
    error = ""
    try:
        with threadpool_limits(1):
            records = compute(function, experiment, key)
    except Exception:
        error = traceback.format_exc()
    outcome = StoredCell(
        "failed" if error else "done",
        records,
        error,
        time.perf_counter() - wall,
        time.process_time() - cpu,
        datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    return number, outcome


# --------------------------------------------------------------------------------------------------------------------
# Where cells are computed


def _end_with_parent() -> None:
    """In a worker: end soon after the run that started it was killed, instead of waiting for work for minutes."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _in_processes(experiment: Experiment, tasks: list[Task], jobs: int) -> Iterator[tuple[int, StoredCell]]:
    if jobs == 1:
        for task in tasks:
            yield _attempt(experiment.functions[task[1]], experiment.name, task)
        return
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import BrokenProcessPool

    work = (delayed(_attempt)(experiment.functions[task[1]], experiment.name, task) for task in tasks)
    try:
        with parallel_config(backend="loky", inner_max_num_threads=1, initializer=_end_with_parent):
            yield from Parallel(jobs, batch_size=1, pre_dispatch="2*n_jobs", return_as="generator_unordered")(work)
    except BrokenProcessPool as error:
        raise RuntimeError(
            f"A process that computed cells of {experiment.name!r} died, often for want of memory. "
            "The finished cells are stored; start again, with fewer jobs if it happens again."
        ) from error


def _on_cluster(experiment: Experiment, tasks: list[Task], address: str) -> Iterator[tuple[int, StoredCell]]:
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise ImportError("A cluster needs Dask: pip install 'fairpca[scale]'.") from error
    with Client(address, timeout="20s", set_as_default=False) as client:
        futures = [
            client.submit(_attempt, experiment.functions[task[1]], experiment.name, task, pure=False) for task in tasks
        ]
        for _, result in as_completed(futures, loop=client.loop, with_results=True):
            yield result


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
        (number, experiment.label(cell), dict(cell))
        for number, cell in enumerate(grid)
        if (found := known.get((cell.json, experiment.hash(cell)))) is None or found.status != "done"
    ]
    outcomes = (
        _on_cluster(experiment, missing, cluster)
        if cluster
        else _in_processes(experiment, missing, min(effective_n_jobs(jobs), max(1, len(missing))))
    )
    failures: dict[Cell, str] = {}
    done = len(grid) - len(missing)
    hidden = verbose == 0 or not sys.stderr.isatty()
    with tqdm(total=len(grid), initial=done, desc=name, unit="cell", disable=hidden) as bar:
        if missing:
            for number, outcome in outcomes:
                cell = grid[number]
                file.put(name, cell.json, experiment.hash(cell), outcome)
                if outcome.status == "failed":
                    failures[cell] = outcome.error
                done += 1
                bar.update()
                if progress is not None:
                    progress(done, len(grid))
    if failures:
        raise RunFailed(name, failures, len(grid))
    return experiment.tabulate(collect(name, profile, store=file))


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
    known = file.get(name, experiment.hashes().values())
    grid = experiment.grid(profile)
    states = [known[cell.json, code].status for cell in grid if (cell.json, code := experiment.hash(cell)) in known]
    saved = "none"
    if name in stored_names():
        saved = "stale" if load_results(name).stale else "current"
    return Status(name, profile, len(grid), states.count("done"), states.count("failed"), saved)

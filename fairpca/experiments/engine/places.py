"""Where cells are computed: in this process, in processes of their own, or on a Dask cluster."""

from __future__ import annotations

import gc
import logging
import os
import re
import signal
import threading
import time
from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from itertools import islice
from typing import Any

from fairpca.experiments.engine import attendance
from fairpca.experiments.engine.attempts import Attempt, Task, attempt, failed_attempt

__all__ = ["ClusterError", "here", "in_processes", "on_cluster"]

Attempts = Generator[Attempt, None, None]


class ClusterError(RuntimeError):
    """The cluster cannot compute; the message says why and what to do."""


def here(tasks: Iterator[Task]) -> Attempts:
    """Compute tasks in this process."""
    for task in tasks:
        yield attempt(task)


# --------------------------------------------------------------------------------------------------------------------
# Processes


def in_processes(tasks: Iterator[Task], jobs: int) -> Attempts:
    """Compute tasks in processes; a cell that ends its process fails, and the others are computed all the same."""
    while True:
        suspects = yield from _pool(tasks, jobs)
        if not suspects:
            return
        # One of them ended its process, which took the others with it: each gets a process for itself.
        for suspect, _ in suspects:
            for task, reason in (yield from _pool(iter([suspect]), 1)):
                yield failed_attempt(task, reason)


def _pool(tasks: Iterator[Task], jobs: int) -> Generator[Attempt, None, list[tuple[Task, str]]]:
    """Compute tasks until they are finished or a process dies; returns what was in work then, and what is known."""
    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    executor = ProcessPoolExecutor(jobs, initializer=_prepare_worker, initargs=(os.getpid(),), env=_ENVIRONMENT)
    running: dict[Future[Attempt], Task] = {}
    lost: list[tuple[Task, str]] = []

    def finished(futures: list[Future[Attempt]]) -> Iterator[Attempt]:
        for future in futures:
            task = running.pop(future)
            try:
                result = future.result()
            except BrokenProcessPool as error:
                lost.append((task, _why(error)))
                continue
            yield result

    try:
        while not lost:
            for task in islice(tasks, 2 * jobs - len(running)):
                try:
                    running[executor.submit(attempt, task)] = task
                except BrokenProcessPool as error:
                    lost.append((task, _why(error)))
                    break
            if not running:
                break
            wait(running, return_when=FIRST_COMPLETED)
            yield from finished([future for future in running if future.done()])
        # What was handed out when the process died is finished too, one way or the other.
        yield from finished(list(running))
    finally:
        executor.shutdown(kill_workers=True)
    return lost


_ENVIRONMENT = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def _why(error: Exception) -> str:
    """What is known of a process that died."""
    codes = re.search(r"exit codes? of the workers? (?:is|are) \{(.*?)\}", str(error))
    if codes:
        return f"The process that computed this cell died ({codes[1]}), often for want of memory."
    return f"The process that computed this cell died: {' '.join(str(error).split())}"


def _prepare_worker(parent: int) -> None:
    """In a worker: end soon after the run that started it (process `parent`) was killed, even before this began."""
    # Between two cells there is nothing to stop; the run itself decides whether there is a next one.
    signal.signal(signal.SIGINT, lambda number, frame: None)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


# --------------------------------------------------------------------------------------------------------------------
# A cluster


def on_cluster(name: str, tasks: Iterator[Task], address: str) -> Attempts:
    """Compute tasks on a Dask cluster; one that is not there, or has lost its workers, is an error soon."""
    with _client(address) as client:
        running: dict[Any, Task] = {}
        there = attendance.Attendance(client, lambda: _lost(client, address))
        while True:
            threads = there.threads()
            for task in islice(tasks, max(0, 2 * threads - len(running))):
                running[client.submit(attempt, task, pure=False)] = task
            finished = there.finished(running)
            if not running:
                if threads:
                    return
                time.sleep(0.1)
            for future in finished:
                if future.status == "cancelled":
                    if not there.threads():
                        raise _lost(client, address)
                    raise ClusterError(
                        f"Somebody cancelled cells of {name!r} on the cluster at {address}, or its scheduler was "
                        "started anew. Start the same run again; the finished cells are stored."
                    )
                try:
                    result = there.result(future)
                except Exception as error:
                    # Errors of cells come back as records, so this one is the worker's.
                    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
                    raise ClusterError(
                        f"A worker of the cluster at {address} cannot compute cells of {name!r} ({reason}). It needs "
                        "the same fairpca, experiments and packages as this process, and enough memory. Mend that, "
                        "restart the workers, and start again; the finished cells are stored."
                    ) from error
                if result:
                    del running[future]
                    yield result[0]


def _lost(client: Any, address: str) -> ClusterError:
    if client.status != "running":
        return ClusterError(
            f"The Dask scheduler at {address} cannot be reached any more. Start it and its workers again, then the "
            "same run; the finished cells are stored."
        )
    return ClusterError(
        f"The Dask scheduler at {address} has had no workers for {attendance.PATIENCE:g} s. Start some "
        f"(dask worker {address}) in an environment with the same fairpca, then the same run; "
        "the finished cells are stored."
    )


@contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError("A cluster needs Dask: pip install 'fairpca[scale]'.") from error
    # What it has to say stands in our errors; its own messages are tracebacks. Its parts have levels of their own.
    names = ["asyncio", *(name for name in logging.root.manager.loggerDict if name.startswith("distributed"))]
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    client = None
    try:
        why = ""
        try:
            client = Client(address, timeout=attendance.PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            why = " ".join(str(error).split()) or type(error).__name__
        if client is None:
            # What is left of the client ends now: were it collected while the next one starts, both would wait for one
            # lock of Dask's. For the same reason the error is raised here, where nothing refers to it any more.
            gc.collect()
            raise ClusterError(
                f"There is no Dask scheduler at {address!r} ({why}). "
                "Give the address that the scheduler prints when it starts, such as tcp://10.0.0.1:8786."
            )
        with client.as_current():
            yield client
    finally:
        if client is not None:
            client.close(timeout=2)
            # What was under way when connections broke tells of it when it is collected: now, not in somebody's output.
            gc.collect()
        for logger, level in levels.items():
            logger.setLevel(level)

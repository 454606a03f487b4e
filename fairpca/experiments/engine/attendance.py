"""Whether a Dask cluster is still there: it can be lost at any moment, also while it is asked."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from typing import Any

__all__ = ["PATIENCE", "Attendance"]

PATIENCE = 20.0  # seconds that a cluster may be without scheduler or workers
_FETCH = 10.0  # seconds that the bytes of a finished task may be on their way
# What is raised while connections break; a scheduler or workers that are gone are noticed by their absence.
_DISTURBED: tuple[type[BaseException], ...] = (OSError, TimeoutError, CancelledError)


class Attendance:
    """Ask a cluster for what is finished, and notice when nobody is left to finish anything.

    Parameters
    ----------
    client : distributed.Client
        The way to the cluster.
    lost : callable
        Makes the error that is raised once there was no worker for `PATIENCE` seconds.
    """

    def __init__(self, client: Any, lost: Callable[[], Exception]) -> None:
        self.client, self.lost = client, lost
        self._seen = time.monotonic()

    def threads(self) -> int:
        """How many threads the workers have; none without a scheduler."""
        try:
            return sum(self.client.nthreads().values()) if self.client.status == "running" else 0
        except _DISTURBED:
            return 0

    def finished(self, futures: Iterable[Any]) -> set[Any]:
        """Wait a second at most for some of the futures; without any worker for long that is an error."""
        from distributed import wait

        found: set[Any] = set()
        if waiting := list(futures):
            with contextlib.suppress(*_DISTURBED):
                found = set(wait(waiting, timeout=1.0, return_when="FIRST_COMPLETED").done)
        if self.threads():
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > PATIENCE:
            raise self.lost()
        return found

    @staticmethod
    def result(future: Any) -> tuple[Any] | None:
        """Return what a task returned; None if that went with its worker, so that another one computes it again."""
        try:
            return (future.result(timeout=_FETCH),)
        except _DISTURBED:
            if future.status == "error":
                raise
            return None

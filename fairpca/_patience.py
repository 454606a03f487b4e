"""A line on standard error while something lasts, so that nobody wonders whether it still runs."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

__all__ = ["Patience"]

FIRST_SECONDS = 10.0


class Patience:
    """Context that says after ten seconds, and then after each doubling of the time, what is going on and since when.

    Parameters
    ----------
    what : str
        What is going on.
    hint : str
        What might be done about it, said the first time.
    """

    def __init__(self, what: str, hint: str = "") -> None:
        self._what, self._hint = what, hint
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> Patience:
        self._start = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end.set()

    def _tell(self) -> None:
        due, hint = FIRST_SECONDS, self._hint
        while not self._end.wait(max(0.0, self._start + due - time.monotonic())):
            passed = time.monotonic() - self._start
            print(f"fairpca: {self._what}, {passed:.0f} seconds so far. {hint}".rstrip(), file=sys.stderr, flush=True)
            # Code that kept the interpreter to itself may have let several of the times go by.
            while due <= passed:
                due *= 2
            hint = ""

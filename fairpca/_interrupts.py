"""Signals: an interrupt (Ctrl-C) is never lost."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class HeedInterrupts:
    """Context that cannot be left normally once an interrupt came in.

    For functions that others wrote: they may catch the ``KeyboardInterrupt`` and go on, turn it into another error, or
    lose it where Python ignores errors. What they then compute is not the result asked for. So the signal itself is
    remembered, and the end of the context raises ``KeyboardInterrupt``. The estimators need none of this.

    Only the main thread is ever interrupted; elsewhere, and where interrupts are ignored, this does nothing.
    """

    def __init__(self) -> None:
        self.seen = False
        self._before: Any = None

    def __enter__(self) -> HeedInterrupts:
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(before):
            self._before = before
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if not isinstance(error, KeyboardInterrupt):
            self.check()

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if an interrupt came in."""
        if self.seen:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        raise KeyboardInterrupt

"""Reading the next batches in a thread while the last one is computed with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from queue import Queue
from threading import Event, Thread
from typing import TypeVar

__all__ = ["read_ahead"]

_Item = TypeVar("_Item")
_BATCHES = 2  # that wait, so that memory holds two more than without


def read_ahead(items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield the items in their order, taken from `items` in a thread of its own, two ahead.

    Readers of Arrow and products of NumPy hold no lock of Python, so that both run at once. An error is raised where
    its item would have come; whoever stops early stops the thread too.
    """
    waiting: Queue[tuple[_Item | None, BaseException | None]] = Queue(_BATCHES)
    stopped = Event()

    def read() -> None:
        try:
            for item in items:
                waiting.put((item, None))
                if stopped.is_set():
                    return
            waiting.put((None, StopIteration()))
        except BaseException as error:  # whatever it is, it belongs to who asked
            waiting.put((None, error))

    reader = Thread(target=read, name="fairpca reads ahead", daemon=True)
    reader.start()
    try:
        while True:
            item, error = waiting.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        while reader.is_alive():
            while not waiting.empty():
                waiting.get_nowait()
            reader.join(0.01)

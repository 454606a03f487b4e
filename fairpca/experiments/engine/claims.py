"""Which cells a run has taken on, so that another run on the same store leaves them to it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not on Windows, where every run computes on its own
    fcntl = None  # type: ignore[assignment]


class Claims:
    """Locks of single bytes in a file beside the store, one byte a cell.

    The system frees them when the process that holds them ends, however it ends: there is nothing to clean up and
    nothing to take over. Locks belong to a process; runs in threads of one process do not see each other's.

    Parameters
    ----------
    store : Path
        The store that the runs share.
    """

    def __init__(self, store: Path) -> None:
        # Never closed before the run ends: closing any handle of the file would free all locks of this process.
        self._file: Any = store.with_name(store.name + ".claims").open("a+b") if fcntl is not None else None

    def take(self, *key: str) -> bool:
        """Take a cell; False if another run has it."""
        if self._file is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(key))
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
        return True

    def free(self, *key: str) -> None:
        """Give a cell back, after it was stored."""
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(key))

    def close(self) -> None:
        """Give everything back."""
        if self._file is not None:
            self._file.close()


def _place(key: tuple[str, ...]) -> int:
    """Place of a cell's byte: two cells that share one would only wait for each other."""
    return int.from_bytes(hashlib.sha256("\0".join(key).encode()).digest()[:6])

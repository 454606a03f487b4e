"""Run a command while no other process of this kind does: `python scripts/alone.py LOCK COMMAND…` waits for its turn.

The system frees the lock when its holder ends, however it ends.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    lock, *command = arguments
    path = Path(lock)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"another process works here ({lock}); waiting for it", file=sys.stderr, flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        return subprocess.run(command, check=False, close_fds=True).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

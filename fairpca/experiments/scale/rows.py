"""Generated rows in batches, and a process of its own to measure in."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

import fairpca

__all__ = ["Generated", "in_own_process", "resident_megabytes"]

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class Generated:
    """Frames of normal rows with unit variances, the groups apart by one in the first column; the same at every pass.

    Parameters
    ----------
    n, p, m : int
        Rows, features, groups.
    offset : float, default=0
        Added to every value.
    size : int, default=65536
        Rows of a frame.
    """

    def __init__(self, n: int, p: int, m: int = 2, *, offset: float = 0.0, size: int = 65536) -> None:
        self.n, self.p, self.m, self.offset, self.size = n, p, m, offset, size
        self.seconds = 0.0  # processor time of the last pass, which what is measured does not owe

    def __iter__(self) -> Iterator[pd.DataFrame]:
        self.seconds = 0.0
        for number in range(len(self)):
            began = process_time()
            frame = self.part(number)
            self.seconds += process_time() - began
            yield frame

    def __len__(self) -> int:
        return -(-self.n // self.size)

    def part(self, number: int) -> pd.DataFrame:
        """Return one frame; it depends on its number alone."""
        rows = min(self.size, self.n - number * self.size)
        random = np.random.default_rng([number, self.p, self.m])
        X = random.standard_normal((rows, self.p))
        groups = random.integers(0, self.m, rows)
        X[:, 0] += groups
        X += self.offset
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(self.p)], copy=False)
        frame["group"] = groups
        return frame


def resident_megabytes() -> float:
    """Return the most memory that this process has held so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # what the system counts for a process includes what it was before it started its program
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return float(line.split()[1]) / 1000.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000.0


def in_own_process(function: Callable[..., dict[str, float]], **arguments: Any) -> dict[str, float]:
    """Call a function of a module in a new process with one thread, so that its memory is its own."""
    program = (
        "import json, sys; from importlib import import_module; "
        "module, name, arguments = json.loads(sys.argv[1]); "
        "print(json.dumps(getattr(import_module(module), name)(**arguments)))"
    )
    given = json.dumps([function.__module__, function.__name__, arguments])
    root = str(Path(fairpca.__file__).resolve().parent.parent)
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", program, given],
        env={**os.environ, **_ONE_THREAD, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{function.__name__}({arguments}) failed: {done.stderr.strip()[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))

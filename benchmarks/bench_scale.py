"""What moments and an exact MMD² cost, and how exact moments are; the full run stores the tables of the book.

Processor seconds of one thread, each in a process of its own, without the time that it takes to generate the rows; wall
seconds for workers. Without ``--quick`` the results go to ``data/results/scale`` (an hour, 10^8 rows).
"""

from __future__ import annotations

import hashlib
import resource
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from timing import cpu_seconds

from fairpca import GroupMoments
from fairpca.companion import grid
from fairpca.companion import run as run_grid
from fairpca.solvers.mmd import contrast_weights, mmd2

__all__ = ["run"]

profile = "paper"  # for the runner: compute all, and write
OFFSETS = (1.0, 1e4, 1e6, 1e8)


class Generated:
    """Frames of normal rows with unit variances, the groups one apart in the first column; the same at every pass."""

    def __init__(self, n: int, p: int, m: int = 2, *, size: int = 65536) -> None:
        self.n, self.p, self.m, self.size = n, p, m, size
        self.seconds = 0.0  # processor time of the last pass, which is not part of what is measured

    def __iter__(self) -> Iterator[pd.DataFrame]:
        self.seconds = 0.0
        for number in range(len(self)):
            seconds, frame = cpu_seconds(lambda number=number: self.part(number))
            self.seconds += seconds
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
        return pd.DataFrame(X, columns=[f"x{j}" for j in range(self.p)], copy=False).assign(group=groups)


def resident_megabytes() -> float:
    """Return the most memory that this process has held so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # what the system counts for a process includes what it was before it started its program
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return float(line.split()[1]) / 1000.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000.0


def in_batches(*, n: int, p: int, m: int) -> dict[str, float]:
    """Moments of generated rows: seconds, most memory held, and the largest standardised error of the covariance."""
    rows = Generated(n, p, m, size=max(512, min(65536, 2**22 // p)))
    seconds, moments = cpu_seconds(lambda: GroupMoments.from_batches(rows, sensitive="group"))
    assert moments.n_samples == n
    pooled, seconds = moments.scatters.sum(axis=0) / n, seconds - rows.seconds
    return {
        "seconds": seconds, "generating_seconds": rows.seconds, "microseconds_a_row": 1e6 * seconds / n,
        "resident_megabytes": resident_megabytes(),
        # Entries of the covariance of normal rows have a standard error of √(1/n), √(2/n) on the diagonal.
        "standardised_error": float(np.abs(pooled - np.eye(p)).max() * np.sqrt(n / 2)),
    }  # fmt: skip


def on_workers(*, n: int, p: int, partitions: int) -> dict[str, float]:
    """Moments on a local Dask cluster of one and of two processes: wall seconds, and whether the bits are the same."""
    import dask
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    rows = Generated(n, p, size=-(-n // partitions))
    parts = [dask.delayed(rows.part, pure=False)(number) for number in range(len(rows))]
    frame = dd.from_delayed(parts, meta=Generated(1, p).part(0).iloc[:0], verify_meta=False)
    found: dict[str, float] = {}
    bits = set()
    for workers in (1, 2):
        options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            client.run(in_batches, n=1000, p=p, m=2)  # every worker loads what is needed
            GroupMoments.from_dask(frame.partitions[:1], sensitive="group")
            began = perf_counter()
            moments = GroupMoments.from_dask(frame, sensitive="group")
            found[f"seconds_{workers}"] = perf_counter() - began
            bits.add(hashlib.sha256(moments.to_bytes()).hexdigest())
    return {**found, "speed_up": found["seconds_1"] / found["seconds_2"], "same_bits": float(len(bits) == 1)}


def accuracy(*, offset: float, n: int) -> dict[str, float]:
    """Largest error of a covariance of unit size against exact arithmetic: in batches, and by Σxx' - n mm'."""
    random = np.random.default_rng(0)
    steps = random.integers(-220, 221, (n, 3))  # times 1/128: sums of products are exact integers
    X = offset + steps / 128.0
    sums = [int(s) for s in steps.sum(axis=0)]
    products = steps.astype(object).T @ steps.astype(object)
    scaled = [
        [Fraction(n * int(products[i, j]) - sums[i] * sums[j], (128 * n) ** 2) for j in range(3)] for i in range(3)
    ]
    exact = np.array(scaled, dtype=float)
    frame = pd.DataFrame(X, columns=list("abc")).assign(group=np.arange(n) % 2)
    frames = [frame.iloc[start : start + 1000] for start in range(0, n, 1000)]
    single = [part.astype(dict.fromkeys("abc", "float32")) for part in frames]
    naive = X.T @ X / n - np.multiply.outer(X.mean(axis=0), X.mean(axis=0))
    batches, rounded = (GroupMoments.from_batches(parts, sensitive="group") for parts in (frames, single))
    return {
        "error_batches": float(np.abs(batches.covariance() - exact).max()),
        "error_naive": float(np.abs(naive - exact).max()),
        "error_float32_input": float(np.abs(rounded.covariance() - exact).max()),
    }


def block_pairs(*, n: int, d: int) -> dict[str, float]:
    """Exact MMD² of normal rows by pairs of blocks: processor seconds and memory."""
    random = np.random.default_rng(n)
    Z, groups = random.standard_normal((n, d)), random.integers(0, 2, n)
    mmd2(Z[:500], contrast_weights(groups[:500], 2), 3.0)  # loads what is compiled
    began = process_time()
    value = mmd2(Z, contrast_weights(groups, 2), 3.0)
    seconds = process_time() - began
    pair = 1e9 * seconds / (n * n / 2)
    return {
        "seconds": seconds, "nanoseconds_a_pair": pair, "resident_megabytes": resident_megabytes(), "mmd2": value,
    }  # fmt: skip


MEASURES = {
    **dict.fromkeys(("rows", "columns", "groups"), in_batches),
    "workers": on_workers, "accuracy": accuracy, "block_pairs": block_pairs,
}  # fmt: skip
SIZES = ("method", "n", "p", "m", "partitions", "offset", "d")


def measured(method: str, **size: Any) -> dict[str, float]:
    """Measure one thing in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(MEASURES[method], **size).result()


def settings(quick: bool) -> dict[str, list[dict[str, Any]]]:
    """Return the sizes of each table."""
    n = 10**5 if quick else 10**6
    cost = grid(method=["rows"], n=[n] if quick else [10**5, 10**6, 10**7, 10**8], p=[20], m=[2])
    for p in (10, 100) if quick else (10, 30, 100, 300, 1000, 5000):
        cost += grid(method=["columns"], n=[max(5000, min(n, 2 * 10**9 // p**2))], p=[p], m=[2])
    cost += grid(method=["groups"], n=[n], p=[20], m=[2, 100] if quick else [2, 10, 100, 1000])
    cost += grid(method=["workers"], n=[10 * n], p=[20], partitions=[16])
    cost += grid(method=["accuracy"], n=[n // 10], offset=OFFSETS)
    pairs = (5000, 10**4) if quick else (10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6)
    mmd = grid(method=["block_pairs"], n=pairs, d=[10])
    return {"cost": cost, "mmd": mmd}


def tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    """One row a number, with the sizes as columns."""
    keys = [name for name in SIZES if name in cells]
    metrics = [name for name in cells if name not in (*keys, "cell")]
    return cells.melt(keys, metrics, var_name="metric").dropna(subset="value").reset_index(drop=True)


def run(quick: bool = False) -> pd.DataFrame:
    """Measure; the full run writes ``data/results/scale``."""
    tables = []
    for name, cells in settings(quick).items():
        if quick:
            tables.append(tabulate(pd.DataFrame([{**cell, **measured(**cell)} for cell in cells])))
        else:
            tables.append(run_grid(measured, cells, exhibit=f"scale/{name}", table=tabulate, jobs=1).table)
    if not quick:
        sys.path.append(str(Path(__file__).parents[1] / "scripts"))
        from notebooks import move_results

        move_results()
    return pd.concat(tables, ignore_index=True)

"""What moments cost: rows, columns, groups, workers; and how exact they are with large offsets.

Processor seconds of one thread, in a process of its own, without the time that it takes to generate the rows; wall
seconds for workers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd

from fairpca.experiments.engine.runner import Cell, Profile, register
from fairpca.experiments.scale.rows import Generated, in_own_process, resident_megabytes
from fairpca.scale.batches import moments_of_batches
from fairpca.scale.cluster import moments_of_dask

__all__ = ["OFFSETS", "accuracy", "in_batches", "on_workers"]

OFFSETS = (1.0, 1e4, 1e6, 1e8)
_FEATURES = 20


def in_batches(*, n: int, p: int, m: int) -> dict[str, float]:
    """Moments of generated rows: seconds, most memory held, and the largest standardised error of the covariance."""
    rows = Generated(n, p, m, size=max(512, min(65536, 2**22 // p)))
    began = process_time()
    moments = moments_of_batches(rows, sensitive="group")
    seconds = process_time() - began - rows.seconds
    assert moments.n_samples == n
    pooled = moments.scatters.sum(axis=0) / n
    return {
        "seconds": seconds,
        "generating_seconds": rows.seconds,
        "resident_megabytes": resident_megabytes(),
        "microseconds_a_row": 1e6 * seconds / n,
        # Entries of the covariance of normal rows have a standard error of √(1/n), √(2/n) on the diagonal.
        "standardised_error": float(np.abs(pooled - np.eye(p)).max() * np.sqrt(n / 2)),
    }


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
            moments_of_dask(frame.partitions[:1], sensitive="group")
            began = perf_counter()
            moments = moments_of_dask(frame, sensitive="group")
            found[f"seconds_{workers}"] = perf_counter() - began
            bits.add(hashlib.sha256(moments.to_bytes()).hexdigest())
    return {**found, "speed_up": found["seconds_1"] / found["seconds_2"], "same_bits": float(len(bits) == 1)}


def accuracy(*, offset: float, n: int) -> dict[str, float]:
    """Largest error of a covariance of unit size against exact arithmetic: in batches, and by Σxx' - n mm'."""
    random = np.random.default_rng(0)
    steps = random.integers(-220, 221, (n, 3))  # times 1/128: sums of products are exact integers
    X = offset + steps / 128.0
    exact = np.empty((3, 3))
    sums = [int(s) for s in steps.sum(axis=0)]
    products = steps.astype(object).T @ steps.astype(object)
    for i in range(3):
        for j in range(3):
            exact[i, j] = float(Fraction(n * int(products[i, j]) - sums[i] * sums[j], n * n * 128 * 128))
    frame = pd.DataFrame(X, columns=list("abc")).assign(group=np.arange(n) % 2)
    frames = [frame.iloc[start : start + 1000] for start in range(0, n, 1000)]
    moments = moments_of_batches(frames, sensitive="group")
    naive = X.T @ X / n - np.multiply.outer(X.mean(axis=0), X.mean(axis=0))
    single = moments_of_batches([f.astype(dict.fromkeys("abc", "float32")) for f in frames], sensitive="group")
    return {
        "error_batches": float(np.abs(moments.covariance() - exact).max()),
        "error_naive": float(np.abs(naive - exact).max()),
        "error_float32_input": float(np.abs(single.covariance() - exact).max()),
    }


_MEASURES: dict[str, Callable[..., dict[str, float]]] = {
    "rows": in_batches,
    "columns": in_batches,
    "groups": in_batches,
    "workers": on_workers,
    "accuracy": accuracy,
}


def cells(profile: Profile) -> Iterable[Cell]:
    """One measure a cell, each in its own process."""
    paper = profile == "paper"
    for n in (10**5, 10**6, 10**7, 10**8) if paper else (10**5, 10**7):
        yield Cell(method="rows", n=n, p=_FEATURES, m=2)
    for p in (10, 30, 100, 300, 1000, 5000) if paper else (10, 100):
        yield Cell(method="columns", n=max(5000, min(10**6, 2 * 10**9 // p**2)), p=p, m=2)
    for m in (2, 10, 100, 1000) if paper else (2, 100):
        yield Cell(method="groups", n=10**6 if paper else 10**5, p=_FEATURES, m=m)
    yield Cell(method="workers", n=10**7 if paper else 10**5, p=_FEATURES, partitions=16)
    for offset in OFFSETS:
        yield Cell(method="accuracy", n=10**5 if paper else 10**4, offset=offset)


def run_cell(*, method: str, **size: Any) -> dict[str, float]:
    """Measure one thing."""
    return in_own_process(_MEASURES[method], **size)


_SIZES = ("method", "n", "p", "m", "partitions", "offset")


def tabulate(frame: pd.DataFrame, sizes: Sequence[str] = _SIZES) -> pd.DataFrame:
    """One row a number, with the sizes as columns."""
    metrics = [name for name in frame.columns if name not in (*sizes, "cell")]
    keys = [name for name in sizes if name in frame.columns]
    return frame.melt(keys, metrics, var_name="metric").dropna(subset="value").reset_index(drop=True)


register(
    "scale/cost",
    cells=cells,
    run_cell=run_cell,
    tabulate=tabulate,
    title="Moments: cost of rows, columns, groups and workers, and accuracy",
)

"""Rows that do not fit in memory: reading, moments, other libraries, two processes; ratios in one run.

Reading alone against reading and moments, from a Parquet and a CSV file; group moments against scikit-learn's and
Dask-ML's ``IncrementalPCA`` (which know no groups and approximate) on the same batches; Dask with one process and with
two; errors at large offsets; bits with one worker and two, and with permuted partitions.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from timing import best_of_each, cpu_seconds

from fairpca import GroupMoments
from fairpca.experiments.scale.cost import OFFSETS, accuracy, in_batches, on_workers
from fairpca.experiments.scale.rows import Generated, in_own_process
from fairpca.scale.frames import ColumnChoice
from fairpca.scale.readers import file_parts

__all__ = ["run"]

_ROWS = {True: 200_000, False: 4_000_000}  # by the argument quick; in a file
_GENERATED = {True: 10_000_000, False: 100_000_000}
_FEATURES = 30


def _both_clocks(work: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds of the processors and of the clock on the wall, the least of three calls."""
    processors: list[float] = []
    (wall,) = best_of_each(lambda: processors.append(cpu_seconds(work)[0]), repeats=3)
    return min(processors[1:]), wall


def _reading(folder: Path, n: int) -> Iterator[tuple[str, float, float]]:
    """Reading a file alone, and with moments; for Parquet the product X'X too, without which there are no moments."""
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    parquet, text = folder / "rows.parquet", folder / "rows.csv"
    X = _write(parquet, n, pq.ParquetWriter)
    _write(text, max(n // 10, 1), csv.CSVWriter)

    def read(path: Path) -> None:
        for part in file_parts(path):
            for _ in part.batches(ColumnChoice.of("group", None, None)):
                pass

    def multiply() -> None:
        for _ in range(n // len(X)):
            X.T @ X

    for kind, path in (("Parquet", parquet), ("CSV", text)):
        moments = partial(GroupMoments.from_batches, path, sensitive="group")
        works: dict[str, Callable[[], Any]] = {"reading": partial(read, path), "reading and moments": moments}
        if kind == "Parquet":
            works["X'X alone"] = multiply
        alone = None
        for name, work in works.items():
            spent = _both_clocks(work)
            alone = alone or spent
            for clock, value, unit in zip(("CPU seconds", "seconds on the clock"), spent, alone, strict=True):
                yield f"{kind}: {name}, {clock}", value, value / unit
        path.unlink()


def _write(path: Path, n: int, writer: Callable[..., Any]) -> np.ndarray:
    """Write generated rows; returns the features of the first batch."""
    import pyarrow as pa

    first, out = None, None
    for frame in Generated(n, _FEATURES):
        table = pa.Table.from_pandas(frame, preserve_index=False)
        out = out or writer(path, table.schema)
        out.write_table(table)
        first = frame.drop(columns="group").to_numpy() if first is None else first
    assert out is not None and first is not None
    out.close()
    return np.ascontiguousarray(first)


def _incremental(n: int) -> Iterator[tuple[str, float]]:
    from sklearn.decomposition import IncrementalPCA

    frames = list(Generated(min(n, 400_000), _FEATURES, size=20_000))
    names = [name for name in frames[0].columns if name != "group"]
    rows = [frame[names].to_numpy() for frame in frames]
    yield "moments in batches", cpu_seconds(lambda: GroupMoments.from_batches(frames, sensitive="group"))[0]
    model = IncrementalPCA(n_components=10)
    yield "scikit-learn IncrementalPCA", cpu_seconds(lambda: [model.partial_fit(batch) for batch in rows])[0]
    try:
        from dask_ml.decomposition import IncrementalPCA as OfDask
    except ImportError as error:
        yield f"dask-ml IncrementalPCA ({error}; pip install dask-ml to measure it)", float("nan")
        return
    import dask
    import dask.array as da

    other = OfDask(n_components=10)  # takes Dask's arrays only
    parts = [da.from_array(batch, chunks=batch.shape) for batch in rows]
    with dask.config.set(scheduler="synchronous"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "invalid value encountered", RuntimeWarning)  # of its first batch
        yield "dask-ml IncrementalPCA", cpu_seconds(lambda: [other.partial_fit(part) for part in parts])[0]


def _permuted(n: int) -> float:
    """Return the largest relative difference of scatters when partitions come in another order."""
    import dask
    import dask.dataframe as dd

    rows = Generated(min(n, 200_000), 5, size=10_000)
    found = []
    for order in (np.arange(len(rows)), np.random.default_rng(0).permutation(len(rows))):
        parts = [dask.delayed(rows.part)(int(number)) for number in order]
        frame = dd.from_delayed(parts, meta=rows.part(0).iloc[:0], verify_meta=False)
        with dask.config.set(scheduler="synchronous"):
            found.append(GroupMoments.from_dask(frame, sensitive="group").scatters)
    return float(np.abs(found[0] - found[1]).max() / np.abs(found[0]).max())


def run(quick: bool = False) -> pd.DataFrame:
    """Measure and print.

    Parameters
    ----------
    quick : bool, default=False
        10^7 generated rows and a small file instead of 10^8 and 4 million.

    Returns
    -------
    DataFrame
        One row a number: what was measured, its value, and the ratio to what it is compared with.
    """
    n = _ROWS[quick]
    found: list[tuple[str, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        found += _reading(Path(folder), n)
    first = None
    for name, seconds in _incremental(n):
        first = first or seconds
        found.append((f"{name}, seconds", seconds, seconds / first))
    large = in_own_process(in_batches, n=_GENERATED[quick], p=20, m=2)
    found.append((f"moments of {_GENERATED[quick]:,} generated rows, seconds", large["seconds"], np.nan))
    found.append(("the same, megabytes resident", large["resident_megabytes"], np.nan))
    workers = in_own_process(on_workers, n=n, p=20, partitions=16)
    found.append(("Dask, two processes, seconds", workers["seconds_2"], workers["seconds_2"] / workers["seconds_1"]))
    found.append(("Dask, same bits with one and two (1: yes)", workers["same_bits"], np.nan))
    found.append(("permuted partitions, relative difference", _permuted(n), np.nan))
    for offset in OFFSETS:
        errors = accuracy(offset=offset, n=10_000)
        found.append((f"error at offset {offset:g}", errors["error_batches"], np.nan))
    for name, value, ratio in found:
        told = "not measured" if np.isnan(value) else f"{value:.4g}"
        print(f"{name}: {told}" + ("" if np.isnan(ratio) else f", ratio {ratio:.2f}"))
    return pd.DataFrame(found, columns=["measured", "value", "ratio"])

"""Compute the exact MMD² of many rows by pairs of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import fsum
from typing import Any, get_args

import numpy as np
import pandas as pd

from fairpca._options import MMDEstimator
from fairpca._validation import Groups, check_choice, check_number, check_rows, encode_groups, sorted_labels
from fairpca.scale.batches import stream, typed_labels
from fairpca.scale.frames import ColumnChoice, check_numbers, rows_of
from fairpca.scale.readers import is_csv

__all__ = ["KernelSums", "kernel_sums", "mmd_squared", "project"]

BLOCK = 32768  # rows of a block; a pair of blocks takes seconds


@dataclass(frozen=True)
class KernelSums:
    """Sums of the kernel within and between groups, from which every kind of MMD² follows.

    Attributes
    ----------
    labels : tuple
        Groups.
    counts : ndarray of shape (n_groups,)
        Their rows.
    sums : ndarray of shape (n_groups, n_groups)
        Σ k(x, y) over the rows x of one group and y of another.
    """

    labels: tuple[Any, ...]
    counts: np.ndarray
    sums: np.ndarray

    def pairwise(self, estimator: MMDEstimator = "biased") -> np.ndarray:
        """Return MMD² between every two groups, shape (n_groups, n_groups)."""
        check_choice("estimator", estimator, get_args(MMDEstimator))
        within = np.diagonal(self.sums)
        if estimator == "biased":
            within = within / self.counts**2
        elif self.counts.min() < 2:
            small = self.labels[int(np.argmin(self.counts))]
            raise ValueError(f"group {small!r} has one row; the unbiased estimator needs two in every group.")
        else:
            within = (within - self.counts) / (self.counts * (self.counts - 1.0))
        between = self.sums / np.multiply.outer(self.counts, self.counts)
        table = np.add.outer(within, within) - 2 * between
        np.fill_diagonal(table, 0.0)
        return np.maximum(table, 0.0) if estimator == "biased" else table

    def largest(self, estimator: MMDEstimator = "biased") -> float:
        """Return the largest MMD² of two groups, as :func:`fairpca.metrics.mmd_squared` does."""
        table = self.pairwise(estimator)
        return float(table[np.triu_indices(len(table), 1)].max())

    def total(self) -> float:
        """Return the sum of MMD² over all pairs of groups, which :class:`~fairpca.MBFPCA` bounds."""
        return float(np.triu(self.pairwise(), 1).sum())


def mmd_squared(
    Z: Any,
    sensitive_features: Any,
    sigma: float,
    *,
    estimator: MMDEstimator = "biased",
    n_jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> float:
    """Return MMD² between the groups as :func:`fairpca.metrics.mmd_squared` does, for more rows.

    Time grows with n², which no trick here changes; memory with n. For more than two groups the largest over pairs.

    Parameters
    ----------
    Z, sensitive_features, sigma, estimator
        As in :func:`fairpca.metrics.mmd_squared`. :func:`project` makes Z from rows that do not fit in memory.
    n_jobs : int, default=1
        Threads; the result does not depend on it.
    progress : callable, optional
        Called with (finished, total) after each pair of blocks.

    Returns
    -------
    float
    """
    sums = kernel_sums(Z, sensitive_features, sigma, n_jobs=n_jobs, progress=progress)
    if len(sums.labels) < 2:
        raise ValueError(f"sensitive_features has a single group ({sums.labels[0]!r}); MMD compares at least two.")
    return sums.largest(estimator)


def kernel_sums(
    Z: Any,
    sensitive_features: Any,
    sigma: float,
    *,
    n_jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
    block: int = BLOCK,
) -> KernelSums:
    """Return the sums of the Gaussian kernel within and between groups.

    Parameters
    ----------
    Z, sensitive_features, sigma, n_jobs, progress
        As in :func:`mmd_squared`.
    block : int, default=32768
        Rows of a block, at most. A block holds rows of one group only.

    Returns
    -------
    KernelSums
    """
    check_number("sigma", sigma, low=0, low_open=True)
    rows = check_rows(Z, "Z")
    groups = encode_groups(sensitive_features, len(rows))
    centre = rows.mean(axis=0)  # the expansion |a|² + |b|² - 2ab must not cancel
    blocks = [
        (g, np.ascontiguousarray(rows[index[start : start + block]] - centre))
        for g in range(len(groups.labels))
        for index in [groups.rows(g)]
        for start in range(0, index.size, block)
    ]
    values = _block_sums([data for _, data in blocks], float(sigma), n_jobs, progress)
    m = len(groups.labels)
    terms: list[list[list[float]]] = [[[] for _ in range(m)] for _ in range(m)]
    for (i, j), value in values.items():
        a, b = blocks[i][0], blocks[j][0]
        # Within a group each pair of different blocks stands for both of its orders.
        terms[a][b] += [value, value] if a == b and i != j else [value]
    sums = np.array([[fsum(terms[min(a, b)][max(a, b)]) for b in range(m)] for a in range(m)])
    return KernelSums(groups.labels, groups.counts, sums)


def _block_sums(
    blocks: Sequence[np.ndarray],
    sigma: float,
    n_jobs: int,
    progress: Callable[[int, int], None] | None,
) -> dict[tuple[int, int], float]:
    from fairpca.solvers.mmd.pair_sums import kernel_sum

    pairs = [(i, j) for i in range(len(blocks)) for j in range(i, len(blocks))]
    values = []
    with ThreadPoolExecutor(max(1, n_jobs)) as pool:
        for value in pool.map(lambda pair: kernel_sum(blocks[pair[0]], blocks[pair[1]], sigma), pairs):
            values.append(value)
            if progress is not None:
                progress(len(values), len(pairs))
    return dict(zip(pairs, values, strict=True))


def project(
    source: Any, model: Any, *, sensitive: str | Sequence[str], features: Sequence[str] | None = None
) -> tuple[np.ndarray, Groups]:
    """Return the projections of all rows of a source, and their groups; the rows themselves are never held together.

    Parameters
    ----------
    source, sensitive, features
        As in :meth:`fairpca.GroupMoments.from_batches`.
    model : fitted estimator
        Its ``transform`` is applied to each batch.

    Returns
    -------
    tuple of ndarray of shape (n_samples, n_components) and groups
        In the order of the source; the groups go where ``sensitive_features`` are asked for.
    """
    position: dict[Any, int] = {}
    projected, codes = [], []
    for _, X, groups, names in numbered_rows(source, ColumnChoice.of(sensitive, features, None)):
        at = np.array([position.setdefault(label, len(position)) for label in groups.labels])
        named = pd.DataFrame(X, columns=names, copy=False) if hasattr(model, "feature_names_in_") else X
        projected.append(np.asarray(model.transform(named)))
        codes.append(at[groups.codes])
    if not projected:
        raise ValueError("there is no row; check the source.")
    given = list(position)
    return np.concatenate(projected), ordered(typed_labels(given) if is_csv(source) else given, np.concatenate(codes))


def ordered(labels: Sequence[Any], codes: np.ndarray) -> Groups:
    """Return groups in sorted order; equal names are one group."""
    names = sorted_labels(dict.fromkeys(labels))
    where = {label: g for g, label in enumerate(names)}
    return Groups(tuple(names), np.array([where[label] for label in labels], dtype=np.int64)[codes])


def numbered_rows(source: Any, columns: ColumnChoice) -> Iterator[tuple[int, np.ndarray, Groups, tuple[str, ...]]]:
    """Yield (number of the first row, rows, groups, features) of each batch; what is no number is an error."""
    first = 0
    for where, frame, settled in stream(source, columns):
        n, X, groups, _ = rows_of(frame, settled, where)
        if n:
            check_numbers(X, settled, where)
            yield first, X, groups, settled.features or ()
            first += n

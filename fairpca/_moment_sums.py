"""Sums from which group moments are made: rows are added in place, groups as they turn up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from fairpca._validation import Groups, sorted_labels

__all__ = ["MomentSums"]

_SMALLEST = 1e-153  # differences below it have squares that lose digits, and soon all of them
_CHUNK_BYTES = 2**21  # a chunk that stays in the second-level cache while it is centred and multiplied


class MomentSums:
    """Counts, means and scatters of groups, updated in place (Chan, Golub & LeVeque).

    Parameters
    ----------
    n_features : int
        Columns of the rows.
    labels : iterable
        Groups that are known already.

    Attributes
    ----------
    counts, means, scatters : ndarray
        As in :class:`~fairpca.GroupMoments`; counts are integers until something with weights is added.
    """

    def __init__(self, n_features: int, labels: Iterable[Any] = ()) -> None:
        self.position = {label: g for g, label in enumerate(labels)}
        m = len(self.position)
        self.counts = np.zeros(m, dtype=np.int64)
        self.means = np.zeros((m, n_features))
        self.scatters = np.zeros((m, n_features, n_features))
        self._spread = 0.0  # of rows so near to each other that the squares of their differences underflow

    @property
    def labels(self) -> tuple[Any, ...]:
        """Groups in the order of the arrays."""
        return tuple(self.position)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Counts, means and scatters."""
        return self.counts, self.means, self.scatters

    def in_order(self) -> tuple[tuple[Any, ...], np.ndarray, np.ndarray, np.ndarray]:
        """Labels sorted, and the three arrays in their order."""
        labels = tuple(sorted_labels(self.position))
        if labels == self.labels:
            return labels, *self.arrays
        order = [self.position[label] for label in labels]
        return labels, self.counts[order], self.means[order], self.scatters[order]

    def add(self, data: np.ndarray, groups: Groups, weights: np.ndarray | None = None) -> None:
        """Add rows (n × p, any real dtype); weights must be above zero."""
        at = self._positions(groups.labels)
        if weights is not None:
            self.counts = self.counts.astype(np.float64)
        rows = max(256, _CHUNK_BYTES // (8 * max(data.shape[1], 1)))
        for g, where in enumerate(at):
            index = groups.rows(g)
            for start in range(0, index.size, rows):
                block = index[start : start + rows]
                chunk = data[block].astype(np.float64, copy=False)  # indexing has copied, so it may be changed
                with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
                    self._absorb(where, *_summed(chunk, None if weights is None else weights[block]))
        self._check_rows(data, at)

    def absorb(self, part: Any) -> None:
        """Add the moments (`labels`, `counts`, `means`, `scatters`) of other rows."""
        at = self._positions(part.labels)
        if part.counts.dtype.kind == "f":
            self.counts = self.counts.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            for g, where in enumerate(at):
                self._absorb(where, part.counts[g].item(), part.means[g], part.scatters[g])

    def check_finite(self) -> None:
        """Raise where values of different parts are too far apart for floating-point numbers."""
        bad = np.flatnonzero(~np.isfinite(self._variances()))
        if bad.size:
            raise ValueError(
                f"feature(s) {bad[:10].tolist()} vary so much between parts of the data that their squares overflow; "
                "divide them by a constant, or remove rows that are errors."
            )

    def check_range(self) -> None:
        """Raise for rows that differ, but by so little that floating-point numbers cannot hold the squares."""
        self.check_finite()
        if 0 < self._spread < _SMALLEST and self._variances().max() < _SMALLEST**2:
            raise ValueError(
                f"X varies by {self._spread:.1g} at most, and the squares of such numbers underflow; multiply X by a "
                "constant first."
            )

    def _positions(self, labels: Iterable[Any]) -> list[int]:
        known = len(self.position)
        at = [self.position.setdefault(label, len(self.position)) for label in labels]
        new = len(self.position) - known
        if new:
            grown = [(array, np.zeros((new, *array.shape[1:]), array.dtype)) for array in self.arrays]
            self.counts, self.means, self.scatters = (np.concatenate(pair) if known else pair[1] for pair in grown)
        return at

    def _absorb(self, g: int, n: float, mean: np.ndarray, scatter: np.ndarray) -> None:
        if n == 0:
            return
        before = self.counts[g].item()
        total = before + n
        delta = mean - self.means[g]
        self.scatters[g] += scatter
        if before:
            self.scatters[g] += np.multiply.outer(delta, delta * (float(before) * n / total))
        self.means[g] += delta * (n / total)
        self.counts[g] = total

    def _variances(self) -> np.ndarray:
        """Variance of each feature over all rows, without the p × p matrices."""
        total = max(float(self.counts.sum()), np.finfo(float).tiny)
        with np.errstate(over="ignore", invalid="ignore"):
            shift = self.means - self.counts / total @ self.means
            spread = np.einsum("gii->i", self.scatters) + self.counts @ shift**2
            return np.asarray(spread / total)

    def _check_rows(self, data: np.ndarray, at: list[int]) -> None:
        """Raise for values that are no numbers, or whose squares no floating-point number can hold."""
        if not len(data):
            return
        with np.errstate(over="ignore", invalid="ignore"):
            variances = self._variances()
            bad = np.flatnonzero(~np.isfinite(variances))
        if bad.size:
            columns = bad[:10].tolist()
            if not np.all(np.isfinite(data[:, bad])):
                raise ValueError(
                    f"X contains NaN or infinite values in feature(s) {columns}; clean or impute them first."
                )
            raise ValueError(
                f"feature(s) {columns} of X vary so much (up to {np.abs(data[:, bad]).max():.1g}) that their squares "
                "overflow; divide X by a constant, or remove rows that are errors."
            )
        if variances.size and variances.max() < _SMALLEST**2:
            self._spread = max(self._spread, float(np.max(np.abs(data - data[:1]))))


def _summed(chunk: np.ndarray, weights: np.ndarray | None) -> tuple[float, np.ndarray, np.ndarray]:
    """Return number (or weight), mean and scatter of a chunk of float64 rows, which is overwritten."""
    if weights is None:
        n: float = len(chunk)
        mean = chunk.mean(axis=0)
        chunk -= mean
        residue = chunk.mean(axis=0)  # rounding of the mean itself, visible for large offsets
    else:
        n = float(weights.sum())
        shares = weights / n
        mean = shares @ chunk
        chunk -= mean
        residue = shares @ chunk
    if np.any(residue):
        chunk -= residue
        mean = mean + residue
    if weights is not None:
        chunk *= np.sqrt(weights)[:, None]
    return n, mean, chunk.T @ chunk

"""Sums from which group moments are made: rows are added in place, groups as they turn up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from fairpca._validation import Groups, sorted_labels

__all__ = ["MomentSums"]

_SMALLEST = 1e-153  # differences below it have squares that lose digits, and soon all of them
_CHUNK_BYTES = 2**21  # a chunk that stays in the second-level cache while it is centred and multiplied
_FEWEST = 16  # rows of a group in a chunk, over its columns, below which its rows are better collected first
_FAR = 0.25  # squared distance of a chunk from the start of its group, in variances, that would cost digits


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

    Notes
    -----
    A group's mean is kept as the distance from that of its first rows, so that a large offset of all rows costs no
    digits.
    """

    def __init__(self, n_features: int, labels: Iterable[Any] = ()) -> None:
        self.position = {label: g for g, label in enumerate(labels)}
        m = len(self.position)
        self.counts = np.zeros(m, dtype=np.int64)
        self._starts, self._offsets = np.zeros((2, m, n_features))
        self.scatters = np.zeros((m, n_features, n_features))
        self._spread = 0.0  # of rows so near to each other that the squares of their differences underflow

    @property
    def labels(self) -> tuple[Any, ...]:
        """Groups in the order of the arrays."""
        return tuple(self.position)

    @property
    def means(self) -> np.ndarray:
        """Mean of each group."""
        return self._starts + self._offsets

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
        counts, means, scatters = (array[order] for array in self.arrays)
        return labels, counts, means, scatters

    def add(self, data: np.ndarray, groups: Groups, weights: np.ndarray | None = None) -> None:
        """Add rows (n × p, any real dtype, also sparse); weights must be above zero."""
        at = self._positions(groups.labels)
        if weights is not None:
            self.counts = self.counts.astype(np.float64)
        rows = max(256, _CHUNK_BYTES // (8 * max(data.shape[1], 1)))
        chunk = np.empty((rows, data.shape[1]))
        whole = sparse.issparse(data)  # a block of sparse rows is made dense
        taken = chunk if whole or data.dtype == chunk.dtype else np.empty(chunk.shape, data.dtype)
        near = [_Near(data.shape[1]) for _ in at]
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
            for g, index in _pieces(groups, rows, data.shape[1]):
                k = len(index)
                if whole:
                    chunk[:k] = data[index].toarray()
                else:
                    np.take(data, index, axis=0, out=taken[:k], mode="clip")
                self._add_chunk(at[g], near[g], taken[:k], chunk[:k], None if weights is None else weights[index])
            for where, sums in zip(at, near, strict=True):
                if sums.n:
                    offset = sums.total / sums.n
                    self._absorb(where, sums.n, offset, sums.squares - sums.n * np.multiply.outer(offset, offset))
        self._check_rows(data, at)

    def absorb(self, part: Any) -> None:
        """Add the moments (`labels`, `counts`, `means`, `scatters`) of other rows."""
        at = self._positions(part.labels)
        if part.counts.dtype.kind == "f":
            self.counts = self.counts.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            for g, where in enumerate(at):
                if self.counts[where] == 0:
                    self._starts[where] = part.means[g]
                offset = part.means[g] - self._starts[where]
                self._absorb(where, part.counts[g].item(), offset, part.scatters[g])

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
            old = self.counts, self._starts, self._offsets, self.scatters
            grown = [np.concatenate((array, np.zeros((new, *array.shape[1:]), array.dtype))) for array in old]
            self.counts, self._starts, self._offsets, self.scatters = grown
        return at

    def _add_chunk(self, g: int, near: _Near, taken: np.ndarray, chunk: np.ndarray, weights: np.ndarray | None) -> None:
        """Add rows of one group to the sums about its start, or to the group where they are far from that."""
        ones = np.ones(len(taken)) if weights is None else weights
        n: float = len(taken) if weights is None else float(weights.sum())
        if self.counts[g] == near.n == 0:
            start = ones @ taken / n
            self._starts[g] = start + ones @ np.subtract(taken, start) / n  # so a constant column is zero after it
        np.subtract(taken, self._starts[g], out=chunk)
        total, root = ones @ chunk, None if weights is None else np.sqrt(weights)[:, None]
        squares = _squares(chunk, root)
        if np.any(total * total > _FAR * n * np.diagonal(squares)):
            offset = total / n
            chunk -= offset
            rest = ones @ chunk / n
            self._absorb(g, n, offset + rest, _squares(chunk, root) - n * np.multiply.outer(rest, rest))
        else:
            near.n += n
            near.total += total
            near.squares += squares

    def _absorb(self, g: int, n: float, offset: np.ndarray, scatter: np.ndarray) -> None:
        if n == 0:
            return
        before = self.counts[g].item()
        total = before + n
        delta = offset - self._offsets[g]
        self.scatters[g] += scatter
        if before:
            self.scatters[g] += np.multiply.outer(delta, delta * (float(before) * n / total))
        self._offsets[g] += delta * (n / total)
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
        if not data.shape[0]:
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


class _Near:
    """Number (or weight), sum and squares of rows about the start of their group."""

    def __init__(self, n_features: int) -> None:
        self.n: float = 0
        self.total, self.squares = np.zeros(n_features), np.zeros((n_features, n_features))


def _pieces(groups: Groups, rows: int, n_features: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield a group and the numbers of some of its rows, at most `rows`, until all have been."""
    codes, m = groups.codes, len(groups.labels)
    if rows < _FEWEST * n_features * m:
        for g in range(m):
            index = groups.rows(g)
            yield from ((g, index[start : start + rows]) for start in range(0, index.size, rows))
        return
    for start in range(0, codes.size, rows):
        part = codes[start : start + rows]
        for g in range(m):
            index = np.flatnonzero(part == g)
            if index.size:
                yield g, index + start


def _squares(chunk: np.ndarray, root: np.ndarray | None) -> np.ndarray:
    weighted = chunk if root is None else chunk * root
    return weighted.T @ weighted

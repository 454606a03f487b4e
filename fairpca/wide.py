"""Rows with so many columns that no matrix of columns by columns fits: products with the rows are all that is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from fairpca._validation import encode_groups, sorted_labels

__all__ = ["WideRows"]

_BLOCK_BYTES = 2**25  # dense rows that are centred at a time


class WideRows:
    """Grouped rows that are only ever multiplied; estimators take it where they take ``GroupMoments``.

    For data with up to a hundred thousand columns, say gene expressions or word counts: memory is the rows (or one
    batch of them) and a few dozen vectors, never a matrix of columns by columns. Each product is one pass over the
    rows. Results come from an iteration, and their certificate is an estimate from residuals (``"estimate"``), while
    moments give proofs; up to about ten thousand columns :class:`~fairpca.GroupMoments` are faster, too.

    Parameters
    ----------
    X : array-like, scipy sparse matrix, or iterable of (X, sensitive_features)
        All rows, dense (also a memory map) or sparse; or batches with their groups, that can be iterated over again
        and again: a list, or a function that returns a new iterator each time it is called.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), optional
        Group of each row; only with all rows at once.

    Attributes
    ----------
    labels : tuple
        Group names.
    counts : ndarray of shape (n_groups,)
        Rows in each group.
    means : ndarray of shape (n_groups, n_features)
        Mean of each group.
    variances : ndarray of shape (n_features,)
        Population variance of each column over all rows.
    group_totals : ndarray of shape (n_groups,)
        Sum of the columns' variances within each group.
    n_passes : int
        How often the rows were read so far.
    """

    def __init__(self, X: Any, sensitive_features: Any = None) -> None:
        self.feature_names: tuple[str, ...] | None = None
        self._batches = self._source(X, sensitive_features)
        self.n_passes = 0
        self._measure()

    def _source(self, X: Any, sensitive_features: Any) -> Callable[[], Iterable[Any]]:
        if callable(X):
            return X  # type: ignore[no-any-return]
        if isinstance(X, Iterator):
            raise TypeError(
                "X is an iterator, which can be read once; the rows are read several times. Pass a list of batches, or "
                "the function that makes the iterator."
            )
        if isinstance(X, (list, tuple)) and X and isinstance(X[0], tuple):
            return lambda: X
        if isinstance(X, pd.DataFrame):
            self.feature_names = tuple(map(str, X.columns))
        rows = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
        if rows.ndim != 2:
            raise ValueError(f"X has shape {rows.shape}; it must have two dimensions, rows and features.")
        if sensitive_features is None:
            sensitive_features = np.zeros(rows.shape[0], dtype=np.int64)
        groups = encode_groups(sensitive_features, rows.shape[0])
        return lambda: [(rows, groups)]

    def _blocks(self) -> Iterator[tuple[int, Any]]:
        """Yield (group, its rows in a block), dense blocks small enough to be copied."""
        self.n_passes += 1
        seen = 0
        for X, sensitive in self._batches():
            rows = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
            groups = encode_groups(sensitive, rows.shape[0])
            step = rows.shape[0] if sparse.issparse(rows) else max(1, _BLOCK_BYTES // (8 * rows.shape[1]))
            for start in range(0, rows.shape[0], max(step, 1)):
                block, codes = rows[start : start + step], groups.codes[start : start + step]
                for code in np.unique(codes):
                    part = block[codes == code]
                    seen += part.shape[0]
                    yield self._position(groups.labels[code]), part.astype(np.float64, copy=False)
        if hasattr(self, "variances") and seen != self.n_samples:
            raise ValueError(
                f"the batches had {int(self.n_samples)} rows at first and {seen} now; they must be the same each time."
            )

    def _position(self, label: Any) -> int:
        if label not in self._where:
            if hasattr(self, "variances"):
                raise ValueError(f"group {label!r} was not in the batches at first; they must be the same each time.")
            self._where[label] = len(self._where)
        return self._where[label]

    def _measure(self) -> None:
        self._where: dict[Any, int] = {}
        counts: dict[int, int] = {}
        sums: dict[int, np.ndarray] = {}
        for g, rows in self._blocks():
            counts[g] = counts.get(g, 0) + rows.shape[0]
            sums[g] = sums.get(g, 0.0) + rows.sum(axis=0)
        if not counts:
            raise ValueError("there are no rows; give at least one batch of rows with their groups.")
        labels = sorted_labels(self._where)
        order = [self._where[label] for label in labels]
        self._where = {label: g for g, label in enumerate(labels)}
        self.labels = tuple(labels)
        self.counts = np.array([counts[g] for g in order])
        self.means = np.array([sums[g] / counts[g] for g in order])
        bad = np.flatnonzero(~np.isfinite(self.means).all(axis=0))
        if bad.size:
            raise ValueError(
                f"X contains NaN or infinite values in feature(s) {bad[:10].tolist()}; clean or impute them first."
            )
        squares = np.zeros_like(self.means)
        for g, rows in self._blocks():
            squares[g] += self._centred_squares(rows, self.means[g])
        shift = self.means - self.mean
        self.group_totals = squares.sum(axis=1) / self.counts
        self.variances = (squares.sum(axis=0) + self.counts @ shift**2) / self.n_samples

    @staticmethod
    def _centred_squares(rows: Any, mean: np.ndarray) -> np.ndarray:
        if not sparse.issparse(rows):
            return np.sum((rows - mean) ** 2, axis=0)
        stored = rows.copy()
        at = mean[stored.indices]
        stored.data = stored.data * (stored.data - 2.0 * at)  # (x - mean)² - mean²
        return np.maximum(stored.sum(axis=0) + rows.shape[0] * mean**2, 0.0)

    @property
    def n_samples(self) -> int:
        """Rows in all groups together."""
        return int(self.counts.sum())

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.means.shape[1])

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.labels)

    @property
    def weights(self) -> np.ndarray:
        """Share of the rows in each group."""
        return self.counts / self.counts.sum()

    @property
    def mean(self) -> np.ndarray:
        """Mean over all rows."""
        return self.weights @ self.means

    def group_products(self, V: np.ndarray) -> np.ndarray:
        """Covariance of each group, about its own mean, times `V`: shape (n_groups, p, k), in one pass."""
        out = np.zeros((self.n_groups, *V.shape))
        for g, rows in self._blocks():
            mean = self.means[g]
            if sparse.issparse(rows):
                code = rows @ V - mean @ V
                out[g] += rows.T @ code - np.multiply.outer(mean, code.sum(axis=0))
            else:
                centred = rows - mean
                out[g] += centred.T @ (centred @ V)
        return out / self.counts[:, None, None]

    def covariance_product(self, V: np.ndarray) -> np.ndarray:
        """Covariance of all rows, about the overall mean, times `V`: shape (p, k), in one pass."""
        shift = self.means - self.mean
        within = np.tensordot(self.weights, self.group_products(V), axes=1)
        return within + (shift.T * self.weights) @ (shift @ V)

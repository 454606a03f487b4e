"""Counts, means and second moments of groups: the only place where the number of rows matters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairpca._validation import check_choice, encode_groups

__all__ = ["Centering", "GroupMoments"]

Centering = Literal["group", "overall", "none"]

_SMALLEST = 1e-140  # differences below it have squares, and products of squares, that underflow
_CHUNK_BYTES = 2**21  # a chunk that stays in the second-level cache while it is centred and multiplied


@dataclass(frozen=True)
class GroupMoments:
    """Sufficient statistics of grouped data for every method that only needs second moments.

    Immutable and mergeable; build it with :meth:`from_data` or, for data that do not fit in
    memory, by :meth:`update` over chunks and :meth:`merge` over workers.

    Attributes
    ----------
    labels : tuple
        Group names.
    counts : ndarray of shape (n_groups,)
        Rows in each group.
    means : ndarray of shape (n_groups, n_features)
        Mean of each group.
    scatters : ndarray of shape (n_groups, n_features, n_features)
        Sum over the rows of a group of ``(x - mean)(x - mean)'``, with the group's own mean.
    feature_names : tuple of str or None
        Column names where the data had them.
    """

    labels: tuple[Any, ...]
    counts: np.ndarray
    means: np.ndarray
    scatters: np.ndarray
    feature_names: tuple[str, ...] | None = None

    @classmethod
    def from_data(cls, X: Any, sensitive_features: Any) -> GroupMoments:
        """Accumulate the moments of `X` (array or frame, n_samples × n_features) in one pass.

        Rows are taken in cache-sized chunks and shifted by a mean close to theirs before they are
        multiplied, so that large common offsets do not cancel; sums are float64 whatever comes in.
        """
        names = tuple(map(str, X.columns)) if isinstance(X, pd.DataFrame) else None
        data = np.asarray(X)
        if data.ndim != 2:
            raise ValueError(f"X has shape {data.shape}; it must have two dimensions, rows and features.")
        if not np.issubdtype(data.dtype, np.number):
            raise TypeError(f"X has dtype {data.dtype}; convert it to numbers first.")
        groups = encode_groups(sensitive_features, len(data))
        m, p = len(groups.labels), data.shape[1]
        counts = np.zeros(m, dtype=np.int64)
        means = np.zeros((m, p))
        scatters = np.zeros((m, p, p))
        rows = max(256, _CHUNK_BYTES // (8 * max(p, 1)))
        for g in range(m):
            index = groups.rows(g)
            for start in range(0, index.size, rows):
                block = index[start : start + rows]
                chunk = data[block].astype(np.float64, copy=False)  # indexing has copied, so it may be changed
                n = len(chunk)
                with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
                    mean = chunk.mean(axis=0)
                    chunk -= mean
                    residue = chunk.mean(axis=0)  # rounding of the mean itself, visible for large offsets
                    if np.any(residue):
                        chunk -= residue
                        mean = mean + residue
                    _absorb(counts, means, scatters, g, n, mean, chunk.T @ chunk)
        moments = cls(groups.labels, counts, means, scatters, names)
        _check_range(data, moments)
        return moments

    @classmethod
    def from_chunks(cls, chunks: Iterable[tuple[Any, Any]]) -> GroupMoments:
        """Accumulate pairs ``(X, sensitive_features)``; groups may be absent from some chunks."""
        total: GroupMoments | None = None
        for X, sensitive in chunks:
            total = cls.from_data(X, sensitive) if total is None else total.update(X, sensitive)
        if total is None:
            raise ValueError("there is no chunk; give at least one pair (X, sensitive_features).")
        return total

    def update(self, X: Any, sensitive_features: Any) -> GroupMoments:
        """Return the moments of the rows so far and those of a further chunk."""
        return self.merge(type(self).from_data(X, sensitive_features))

    def merge(self, other: GroupMoments) -> GroupMoments:
        """Return the moments of both sets of rows (Chan, Golub & LeVeque's pairwise update)."""
        if self.n_features != other.n_features:
            raise ValueError(
                f"cannot merge moments of {self.n_features} and {other.n_features} features; they must come from "
                "the same columns."
            )
        both = (self.feature_names, other.feature_names)
        if None not in both and both[0] != both[1]:
            raise ValueError(f"cannot merge moments of different columns: {both[0]} and {both[1]}.")
        labels = list(self.labels) + [lab for lab in other.labels if lab not in self.labels]
        try:
            labels.sort()
        except TypeError:
            labels.sort(key=lambda v: (type(v).__name__, repr(v)))
        m, p = len(labels), self.n_features
        counts = np.zeros(m, dtype=np.int64)
        means, scatters = np.zeros((m, p)), np.zeros((m, p, p))
        for part in (self, other):
            for g, label in enumerate(part.labels):
                at = labels.index(label)
                _absorb(counts, means, scatters, at, int(part.counts[g]), part.means[g], part.scatters[g])
        return replace(
            self,
            labels=tuple(labels),
            counts=counts,
            means=means,
            scatters=scatters,
            feature_names=self.feature_names or other.feature_names,
        )

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

    def covariances(self, ddof: int = 0) -> np.ndarray:
        """Covariance of each group about its own mean, shape (n_groups, p, p)."""
        return self.scatters / np.maximum(self.counts - ddof, 1)[:, None, None]

    def second_moments(self, centering: Centering = "group") -> np.ndarray:
        """Average of ``(x - c)(x - c)'`` in each group, shape (n_groups, p, p).

        Parameters
        ----------
        centering : {"group", "overall", "none"}
            Whether c is the group's own mean, the mean of all rows, or zero.
        """
        check_choice("centering", centering, ("group", "overall", "none"))
        moments = self.covariances()
        if centering == "group":
            return moments
        shift = self.means - (self.mean if centering == "overall" else 0.0)
        return moments + shift[:, :, None] * shift[:, None, :]

    def covariance(self, ddof: int = 0) -> np.ndarray:
        """Covariance of all rows together about the overall mean, shape (p, p)."""
        shift = self.means - self.mean
        total = self.scatters.sum(axis=0) + (shift * self.counts[:, None]).T @ shift
        return total / max(self.n_samples - ddof, 1)

    def transformed(self, scale: np.ndarray | None = None, basis: np.ndarray | None = None) -> GroupMoments:
        """Return the moments of ``(X / scale) @ basis`` without touching the rows again."""
        means, scatters, names = self.means, self.scatters, self.feature_names
        if scale is not None:
            means = means / scale
            scatters = scatters / (scale[:, None] * scale[None, :])
        if basis is not None:
            means, scatters, names = means @ basis, basis.T @ scatters @ basis, None
        return replace(self, means=means, scatters=scatters, feature_names=names)


def _check_range(data: np.ndarray, moments: GroupMoments) -> None:
    """Raise for values that are no numbers, or whose squares no floating-point number can hold."""
    with np.errstate(over="ignore", invalid="ignore"):
        variances = np.diagonal(moments.covariance())
        bad = np.flatnonzero(~np.isfinite(variances))
    if bad.size:
        columns = bad[:10].tolist()
        if not np.all(np.isfinite(data[:, bad])):
            raise ValueError(f"X contains NaN or infinite values in feature(s) {columns}; clean or impute them first.")
        raise ValueError(
            f"feature(s) {columns} of X vary so much (up to {np.abs(data[:, bad]).max():.1g}) that their squares "
            "overflow; divide X by a constant, or remove rows that are errors."
        )
    if variances.size and variances.max() < _SMALLEST**2 and len(data):
        spread = float(np.max(np.abs(data - data[:1])))
        if 0 < spread < _SMALLEST:
            raise ValueError(
                f"X varies by {spread:.1g} at most, and the squares of such numbers underflow; multiply X by a "
                "constant first."
            )


def _absorb(
    counts: np.ndarray,
    means: np.ndarray,
    scatters: np.ndarray,
    g: int,
    n: int,
    mean: np.ndarray,
    scatter: np.ndarray,
) -> None:
    """Merge one block's count, mean and centred scatter into group `g`, in place."""
    if n == 0:
        return
    before = counts[g]
    total = before + n
    delta = mean - means[g]
    scatters[g] += scatter
    if before:
        scatters[g] += np.multiply.outer(delta, delta * (before * n / total))
    means[g] += delta * (n / total)
    counts[g] = total

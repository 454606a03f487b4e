"""Counts, means and second moments of groups: the only place where the number of rows matters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from scipy import sparse

from fairpca._archive import archive_bytes, parse_archive
from fairpca._files import Outputs
from fairpca._moment_sums import MomentSums
from fairpca._validation import check_choice, check_given, check_weights, encode_groups, label_kinds, sorted_labels

__all__ = ["Centering", "GroupMoments"]

Centering = Literal["group", "overall", "none"]


@dataclass(frozen=True)
class GroupMoments:
    """Sufficient statistics of grouped data for every method that only needs second moments.

    Immutable and mergeable; build it with :meth:`from_data` or, for data that do not fit in
    memory, with :meth:`from_batches` (files, readers, frames one after the other), :meth:`from_dask` (a cluster),
    or by :meth:`merge` over parts that were computed anywhere. :meth:`save` and :meth:`load` keep them.

    A row of weight 2 counts as two rows. Moments are added up from batches, so weights that say how much a row matters
    are not scaled here; give them a mean of one over all rows. An estimator's ``fit`` on rows does that by itself.

    Attributes
    ----------
    labels : tuple
        Group names.
    counts : ndarray of shape (n_groups,)
        Rows in each group; with weights, their sum (float).
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
    def from_data(cls, X: Any, sensitive_features: Any, *, sample_weight: Any = None) -> GroupMoments:
        """Accumulate the moments of `X` (array or frame, n_samples × n_features) in one pass.

        Rows are taken in cache-sized chunks and shifted by a mean close to theirs before they are
        multiplied, so that large common offsets do not cancel; sums are float64 whatever comes in.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or DataFrame
            The rows.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
            Group of each row.
        sample_weight : array-like of shape (n_samples,), optional
            Not negative; a row of weight 2 is as good as two rows, one of weight 0 as none.
        """
        check_given(X, sensitive_features=sensitive_features, sample_weight=sample_weight)
        names = tuple(map(str, X.columns)) if isinstance(X, pd.DataFrame) else None
        data = X.tocsr() if sparse.issparse(X) else _as_matrix(X)
        groups = encode_groups(sensitive_features, data.shape[0])
        weights = check_weights(sample_weight, data.shape[0])
        if weights is not None and not np.all(weights):  # a group may have no row left
            data, weights, groups = data[weights > 0], weights[weights > 0], groups.of_rows(weights > 0)
        sums = MomentSums(data.shape[1], groups.labels)
        sums.add(data, groups, weights)
        sums.check_range()
        return cls(groups.labels, sums.counts, sums.means, sums.scatters, names)

    @classmethod
    def from_sums(cls, sums: MomentSums, feature_names: Sequence[str] | None = None) -> GroupMoments:
        """Return the moments of rows that were added up, groups sorted."""
        sums.check_range()
        labels, counts, means, scatters = sums.in_order()
        return cls(labels, counts, means, scatters, None if feature_names is None else tuple(feature_names))

    @classmethod
    def from_batches(
        cls,
        source: Any,
        *,
        sensitive: str | Sequence[str],
        features: Sequence[str] | None = None,
        weight: str | None = None,
        progress: Callable[[str, int], None] | None = None,
    ) -> GroupMoments:
        """Accumulate the moments of a table that does not fit in memory, one batch after the other.

        Parameters
        ----------
        source : path, list of paths, dataset, relation, lazy frame, or iterable of frames
            A Parquet or CSV file, a glob (``"data/*.parquet"``), a folder, or a list of those; a ``pyarrow`` dataset;
            anything with the Arrow stream interface, such as a DuckDB relation; a Polars lazy frame; or an iterable of
            pandas, Polars or Arrow frames. All but pandas frames need ``pip install "fairpca[scale]"``.
        sensitive : str or sequence of str
            Column(s) with the groups; several are combined. Groups are told apart by value.
        features : sequence of str, optional
            Columns to take; by default all others, which must then be numbers.
        weight : str, optional
            Column with the weights of the rows.
        progress : callable, optional
            Called after each batch with where it stood and its number of rows.

        Returns
        -------
        GroupMoments

        Raises
        ------
        ValueError
            For values that are missing or infinite (with file, row group and column), for columns that are missing or
            of another type than in the first file, and where there is no row.
        """
        from fairpca.scale.batches import moments_of_batches

        return moments_of_batches(source, sensitive=sensitive, features=features, weight=weight, progress=progress)

    @classmethod
    def from_dask(
        cls,
        data: Any,
        sensitive_features: Any = None,
        *,
        sensitive: str | Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        weight: Any = None,
    ) -> GroupMoments:
        """Accumulate the moments of a Dask frame or array: one task a partition, then a tree of merges.

        The tree follows the order of the partitions, so that the bits do not depend on the workers. No worker holds
        more than a partition, the client no more than the moments. Dask's current scheduler computes, retries and
        reports lost workers.

        Parameters
        ----------
        data : dask DataFrame or dask Array
            A frame with all columns, or an array of shape (n_samples, n_features) that is not split by columns; the
            numbers of rows of its blocks need not be known.
        sensitive_features : dask Array or Series, optional
            For an array: the group of each row, split as the rows are.
        sensitive : str or sequence of str, optional
            For a frame: column(s) with the groups.
        features : sequence of str, optional
            For a frame: columns to take; by default all others. For an array: names of its columns.
        weight : str, dask Array or Series, optional
            Weights of the rows: for a frame the name of their column.

        Returns
        -------
        GroupMoments
        """
        from fairpca.scale.cluster import moments_of_dask

        return moments_of_dask(data, sensitive_features, sensitive=sensitive, features=features, weight=weight)

    @classmethod
    def from_chunks(cls, chunks: Iterable[tuple[Any, ...]]) -> GroupMoments:
        """Accumulate ``(X, sensitive_features)`` or ``(X, sensitive_features, sample_weight)`` of chunks of rows.

        Groups may be absent from some chunks. For tables with named columns see :meth:`from_batches`.
        """
        total: GroupMoments | None = None
        for X, sensitive, *weight in chunks:
            part = cls.from_data(X, sensitive, sample_weight=weight[0] if weight else None)
            total = part if total is None else total.merge(part)
        if total is None:
            raise ValueError("there is no chunk; give at least one pair (X, sensitive_features).")
        return total

    def update(self, X: Any, sensitive_features: Any, *, sample_weight: Any = None) -> GroupMoments:
        """Return the moments of the rows so far and those of a further chunk."""
        return self.merge(type(self).from_data(X, sensitive_features, sample_weight=sample_weight))

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
        kinds = [label_kinds(part.labels) for part in (self, other)]
        if all(kinds) and not kinds[0] & kinds[1]:
            raise ValueError(
                f"cannot merge groups of different types: {' and '.join(', '.join(sorted(kind)) for kind in kinds)} "
                f"({self.labels[0]!r} and {other.labels[0]!r}); write the sensitive feature alike in all parts."
            )
        labels = tuple(sorted_labels([*self.labels, *(label for label in other.labels if label not in self.labels)]))
        sums = MomentSums(self.n_features, labels)
        for part in (self, other):
            sums.absorb(part)
        sums.check_finite()
        names = self.feature_names or other.feature_names
        return type(self)(labels, sums.counts, sums.means, sums.scatters, names)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the moments to an ``.npz`` file of plain arrays (no pickle) with a checksum."""
        Outputs({"path": path}).write({"path": self.to_bytes()})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GroupMoments:
        """Read what :meth:`save` wrote; a file that was damaged or changed since is an error."""
        with open(path, "rb") as file:
            return cls.from_bytes(file.read(), os.fspath(path))

    def to_bytes(self) -> bytes:
        """Return the content of the file that :meth:`save` writes, for other ways of transport."""
        return archive_bytes(self._header(), {name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def from_bytes(cls, content: bytes, name: str = "these bytes") -> GroupMoments:
        """Return what :meth:`to_bytes` packed; messages call it `name`."""
        header, arrays = parse_archive(content, _KIND, _ARRAYS, name)
        names = header["feature_names"]
        labels = tuple(_decoded(label) for label in header["labels"])
        counts, means, scatters = (arrays[name] for name in _ARRAYS)
        return cls(labels, counts, means, scatters, None if names is None else tuple(names))

    def _header(self) -> dict[str, Any]:
        return {
            "kind": _KIND,
            "labels": [_encoded(label) for label in self.labels],
            "feature_names": None if self.feature_names is None else list(self.feature_names),
        }

    @property
    def n_samples(self) -> float:
        """Rows in all groups together; with weights, their sum."""
        return self.counts.sum().item()  # type: ignore[no-any-return]

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
        """Covariance of each group about its own mean, shape (n_groups, p, p); zero for `ddof` rows or fewer."""
        return _average(self.scatters, self.counts[:, None, None], ddof)

    def second_moments(self, centering: Centering = "group") -> np.ndarray:
        """Average of ``(x - c)(x - c)'`` in each group, shape (n_groups, p, p).

        Parameters
        ----------
        centering : {"group", "overall", "none"}
            Whether c is the group's own mean, the mean of all rows, or zero.
        """
        check_choice("centering", centering, get_args(Centering))
        moments = self.covariances()
        if centering == "group":
            return moments
        shift = self.means - (self.mean if centering == "overall" else 0.0)
        return moments + shift[:, :, None] * shift[:, None, :]

    def covariance(self, ddof: int = 0) -> np.ndarray:
        """Covariance of all rows together about the overall mean, shape (p, p); zero for `ddof` rows or fewer."""
        shift = self.means - self.mean
        total = self.scatters.sum(axis=0) + (shift * self.counts[:, None]).T @ shift
        return _average(total, self.counts.sum(), ddof)

    def transformed(self, scale: np.ndarray | None = None, basis: np.ndarray | None = None) -> GroupMoments:
        """Return the moments of ``(X / scale) @ basis`` without touching the rows again."""
        means, scatters, names = self.means, self.scatters, self.feature_names
        if scale is not None:
            means = means / scale
            scatters = scatters / (scale[:, None] * scale[None, :])
        if basis is not None:
            means, scatters, names = means @ basis, basis.T @ scatters @ basis, None
        return replace(self, means=means, scatters=scatters, feature_names=names)


_KIND = "fairpca moments"
_ARRAYS = ("counts", "means", "scatters")


def _as_matrix(X: Any) -> np.ndarray:
    data = np.asarray(X)
    if data.dtype.kind in "bO":  # as scikit-learn takes them
        data = _as_floats(data)
    if data.ndim != 2:
        raise ValueError(f"X has shape {data.shape}; it must have two dimensions, rows and features.")
    if not np.issubdtype(data.dtype, np.number):
        raise TypeError(f"X has dtype {data.dtype}; convert it to numbers first.")
    if np.issubdtype(data.dtype, np.complexfloating):
        raise TypeError(
            f"X has dtype {data.dtype}; give real numbers, for instance real and imaginary parts as columns."
        )
    return data


def _as_floats(data: np.ndarray) -> np.ndarray:
    try:
        return data.astype(np.float64)
    except (TypeError, ValueError):
        return data  # of the type that the message names


def _average(sums: np.ndarray, counts: Any, ddof: int) -> np.ndarray:
    """Return ``sums / (counts - ddof)``, and zeros where there are no more rows than `ddof`."""
    return sums / np.where(counts > ddof, counts - ddof, np.inf)


def _encoded(label: Any) -> Any:
    if isinstance(label, tuple):
        return [_encoded(part) for part in label]
    if label is None or isinstance(label, bool | int | float | str):
        return label
    raise TypeError(
        f"the group {label!r} is of type {type(label).__name__}, which a file of moments cannot hold; name the groups "
        "by text, numbers or booleans."
    )


def _decoded(label: Any) -> Any:
    return tuple(_decoded(part) for part in label) if isinstance(label, list) else label

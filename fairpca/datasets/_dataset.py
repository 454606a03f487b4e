"""What a loader returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairpca.datasets._catalog import CATALOG

__all__ = ["Dataset", "standardise"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """One data set.

    Attributes
    ----------
    X : ndarray or DataFrame of shape (n_samples, n_features)
        The features, as published: not centred, not scaled (the splits of Lee et al. are standardised as theirs).
    y : ndarray or Series of shape (n_samples,), or None
        The label, where the authors' file has a real one.
    sensitive_features : ndarray of str, or categorical Series, of shape (n_samples,)
        The group of each row in words.  The words sort in the order of the authors' codes 0 and 1.
    feature_names : tuple of str
        Names of the columns of `X`.
    name : str
        The name that :func:`fairpca.datasets.load` takes.
    description : str
        Source, group, label, licence and known concerns.
    group_names : tuple of str
        The words of `sensitive_features` in the order of the authors' codes.
    group_code : ndarray of int of shape (n_samples,)
        The authors' code of each row, a position in `group_names`.
    """

    X: Any
    y: Any
    sensitive_features: Any
    feature_names: tuple[str, ...]
    name: str
    description: str
    group_names: tuple[str, ...]
    group_code: np.ndarray

    def __repr__(self) -> str:
        """Name and sizes, not the numbers."""
        counts = np.bincount(self.group_code, minlength=len(self.group_names))
        groups = ", ".join(f"{word}: {count}" for word, count in zip(self.group_names, counts, strict=True))
        return f"Dataset({self.name!r}, X {self.X.shape[0]} x {self.X.shape[1]}, groups {{{groups}}})"


def make_dataset(
    name: str, X: np.ndarray, y: np.ndarray | None, codes: np.ndarray, feature_names: tuple[str, ...], as_frame: bool
) -> Dataset:
    """Make a :class:`Dataset` of plain arrays and what the catalog knows."""
    entry, codes = CATALOG[name], np.asarray(codes).astype(np.int64)
    label: Any = None if y is None else np.array(y)
    if y is not None and np.array_equal(whole := label.astype(np.int64), label):
        label = whole
    features: Any = np.ascontiguousarray(X)
    sensitive: Any = np.array(entry.group_names)[codes]
    if as_frame:
        features = pd.DataFrame(features, columns=list(feature_names))
        label = None if y is None else pd.Series(label, name="label")
        sensitive = pd.Series(pd.Categorical(sensitive, categories=list(entry.group_names)), name="group")
    return Dataset(features, label, sensitive, feature_names, name, entry.description, entry.group_names, codes)


def standardise(train: np.ndarray, *others: np.ndarray, ddof: int = 0, scale: bool = True) -> list[np.ndarray]:
    """Standardise rows with the mean and the standard deviation of `train`.

    A column that is constant in `train` is only centred. It is recognised by its range: its standard deviation is zero
    but for rounding, which depends on the order of summation, and what is left of other rows would blow up by it.

    Parameters
    ----------
    train : ndarray of shape (n, p)
        Rows whose statistics are used.
    *others : ndarray of shape (m, p)
        Further rows, for instance a test part.
    ddof : int, default=0
        What the number of rows is reduced by in the variance: 0 (Vu et al., Lee et al.) or 1 (Samadi et al.).
    scale : bool, default=True
        Whether columns are divided by their deviation, or only centred, as pixels are.

    Returns
    -------
    list of ndarray
        `train` and the others, standardised.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca.datasets import standardise
    >>> train, test = standardise(np.array([[1.0, 7.0], [3.0, 7.0]]), np.array([[4.0, 8.0]]))
    >>> test.tolist()
    [[2.0, 1.0]]
    """
    mean = train.mean(axis=0)
    deviation = np.where(np.ptp(train, axis=0) > 0, train.std(axis=0, ddof=ddof), 1.0) if scale else 1.0
    return [(X - mean) / deviation for X in (train, *others)]

"""What a loader returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["Dataset"]


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
    name: str,
    description: str,
    X: np.ndarray,
    y: np.ndarray | None,
    codes: np.ndarray,
    group_names: tuple[str, ...],
    feature_names: tuple[str, ...],
    *,
    as_frame: bool,
) -> Dataset:
    """Dress plain arrays as a :class:`Dataset`."""
    codes = np.asarray(codes).astype(np.int64)
    features: Any = X
    label: Any = y
    sensitive: Any = np.array(group_names)[codes]
    if as_frame:
        features = pd.DataFrame(X, columns=list(feature_names))
        label = None if y is None else pd.Series(y, name="label")
        sensitive = pd.Series(pd.Categorical(sensitive, categories=list(group_names)), name="group")
    return Dataset(features, label, sensitive, feature_names, name, description, group_names, codes)

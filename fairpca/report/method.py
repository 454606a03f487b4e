"""What a method of dimension reduction declares, so that it can stand in a comparison."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np

from fairpca._moments import GroupMoments
from fairpca._validation import Groups, check_rows, check_rows_match, encode_groups

__all__ = ["Fitted", "Method", "Rows", "Skipped", "Steps", "fit_method"]


class Skipped(Exception):
    """A method cannot be used here; the text is a sentence that says why."""


class Rows:
    """Rows of a table with their groups and, where there is one, their label.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numbers, already scaled as they should be.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), or Groups
        Group of each row.
    y : array-like of shape (n_samples,), optional
        What classifiers predict.
    seed : int, default=0
        Of everything random in a method.
    """

    def __init__(self, X: Any, sensitive_features: Any, y: Any = None, seed: int = 0) -> None:
        self.X = check_rows(X)
        self.groups: Groups = encode_groups(sensitive_features, len(self.X))
        self.y = None if y is None else np.asarray(y)
        if self.y is not None:
            check_rows_match("y", len(self.y), len(self.X))
        self.seed = seed

    @cached_property
    def moments(self) -> GroupMoments:
        """Counts, means and second moments of the groups; methods share them."""
        return GroupMoments.from_data(self.X, self.groups)

    @cached_property
    def indicators(self) -> np.ndarray:
        """One column of 0 and 1 for each group, shape (n_samples, n_groups)."""
        return (self.groups.codes[:, None] == np.arange(len(self.groups.labels))).astype(np.float64)

    def part(self, index: Any) -> Rows:
        """Some of the rows, in the given order; all groups stay known, also those that are absent."""
        groups = Groups(self.groups.labels, self.groups.codes[index])
        return Rows(self.X[index], groups, None if self.y is None else self.y[index], self.seed)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.X)


class Steps:
    """First change the rows, then reduce them: what methods that prepare rows for PCA return.

    Parameters
    ----------
    change : callable
        ``change(X)`` returns changed rows; ``change(X, groups)`` if the method needs groups at prediction.
    reduce : object
        With ``transform(X)``, fitted on changed rows.
    """

    def __init__(self, change: Callable[..., np.ndarray], reduce: Any) -> None:
        self.change, self.reduce = change, reduce

    def transform(self, X: np.ndarray, sensitive_features: Groups | None = None) -> np.ndarray:
        """Change and reduce rows."""
        changed = self.change(X) if sensitive_features is None else self.change(X, sensitive_features)
        return np.asarray(self.reduce.transform(changed))


@dataclass(frozen=True)
class Method:
    """A method that maps rows to fewer numbers.

    Attributes
    ----------
    name : str
        Short, for tables and files: letters, digits and underscores.
    title : str
        As readers call it.
    cite : str
        Key in the book's bibliography.
    about : str
        One sentence: what it optimises.
    fit : callable
        ``fit(rows, n_components)`` returns an object with ``transform(X)``, or raises :class:`Skipped`.
    groups_at_prediction : bool
        Whether ``transform`` takes ``sensitive_features=`` of new rows as well.
    max_groups : int or None
        The largest number of groups that it is defined for.
    requires : tuple of str
        Packages that have to be installed besides this one.
    """

    name: str
    title: str
    cite: str
    about: str
    fit: Callable[[Rows, int], Any]
    groups_at_prediction: bool = False
    max_groups: int | None = None
    requires: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fitted:
    """A fitted method.

    Attributes
    ----------
    method : Method
        What was fitted.
    model : object
        With ``transform``.
    seconds : float
        Processor time of the fit.
    notes : tuple of str
        What it warned about.
    """

    method: Method
    model: Any
    seconds: float
    notes: tuple[str, ...] = ()

    def encode(self, X: np.ndarray, groups: Groups) -> np.ndarray:
        """Return the representation of rows; groups are handed on only to a method that needs them."""
        extra = {"sensitive_features": groups} if self.method.groups_at_prediction else {}
        return np.asarray(self.model.transform(X, **extra), dtype=np.float64)


def fit_method(method: Method, rows: Rows, n_components: int) -> Fitted:
    """Fit a method, or raise :class:`Skipped` with the reason.

    Parameters
    ----------
    method : Method
        What to fit.
    rows : Rows
        Training rows.
    n_components : int
        Dimension of the representation.

    Returns
    -------
    Fitted
        With the processor time; warnings are kept as notes.
    """
    missing = [package for package in method.requires if find_spec(package) is None]
    if missing:
        raise Skipped(f"{method.title} needs {', '.join(missing)}, which is not installed.")
    n_groups = len(rows.groups.labels)
    if method.max_groups is not None and n_groups > method.max_groups:
        raise Skipped(f"{method.title} is defined for {method.max_groups} groups; the data have {n_groups}.")
    if n_components > rows.X.shape[1]:
        raise Skipped(f"{n_components} components of {rows.X.shape[1]} features are no reduction.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = process_time()
        model = method.fit(rows, n_components)
        seconds = process_time() - start
    return Fitted(method, model, seconds, tuple(dict.fromkeys(str(warning.message) for warning in caught)))

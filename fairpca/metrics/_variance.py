"""How much variance a subspace keeps, and how much of a feature it contains."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairpca._moments import GroupMoments
from fairpca._validation import check_number, check_rows
from fairpca.metrics._checks import check_basis
from fairpca.solvers.spectral.units import unit_of

__all__ = ["communality", "explained_variance_percent"]


def explained_variance_percent(X: Any, V: Any) -> float:
    """Return ``100 tr(V'CV) / tr(C)`` with C the covariance of `X`: %VAR in Table 1 of Lee et al. (2022).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or GroupMoments
        The data on which the variance is measured (in Table 1: the test part). Centred by its own mean.
    V : array-like of shape (n_features, k)
        Orthonormal basis of the subspace.

    Returns
    -------
    float
        A percentage between 0 and 100.

    Examples
    --------
    >>> from fairpca import PCA
    >>> from fairpca.datasets import load, standardise
    >>> data = load("wine_quality")
    >>> (X,) = standardise(data.X, ddof=0)
    >>> V = PCA(3).fit(X).components_.T
    >>> from fairpca.metrics import explained_variance_percent
    >>> round(explained_variance_percent(X, V), 2)
    64.36
    """
    if isinstance(X, GroupMoments):
        V = check_basis(V, X.n_features)
        covariance = X.covariance()
        kept, total = float(np.sum(V * (covariance @ V))), float(np.trace(covariance))
    else:
        rows = check_rows(X)
        V = check_basis(V, rows.shape[1])
        centred = rows - rows.mean(axis=0)
        centred = centred * unit_of(centred)  # squares of extraordinary numbers vanish, or overflow
        kept, total = float(np.sum((centred @ V) ** 2)), float(np.sum(centred**2))
    if total <= 0:
        raise ValueError("all rows of X are equal, so there is no variance to explain; give data that vary.")
    return 100.0 * kept / total


def communality(V: Any, feature: int | None = None) -> np.ndarray | float:
    """Return the squared norm of each row of `V`: the communality of the features in the components.

    This is the sum of squared loadings of Section 8.3 of Lee et al. (2022), drawn in their Figures 4, 7, 11 and 15.
    It depends on the subspace only, not on the basis.

    Parameters
    ----------
    V : array-like of shape (n_features, k)
        Orthonormal basis of the subspace.
    feature : int, optional
        Position of one feature; without it all are returned.

    Returns
    -------
    ndarray of shape (n_features,) or float
        Values between 0 (orthogonal to the subspace) and 1 (contained in it).

    Examples
    --------
    >>> from fairpca import PCA
    >>> from fairpca.datasets import load, standardise
    >>> data = load("wine_quality")
    >>> (X,) = standardise(data.X, ddof=0)
    >>> V = PCA(3).fit(X).components_.T
    >>> from fairpca.metrics import communality
    >>> round(float(communality(V, 0)), 3)
    0.359
    >>> float(communality(V).sum().round(12))
    3.0
    """
    V = check_basis(V, len(np.asarray(V)))
    values = np.sum(V * V, axis=1)
    if feature is None:
        return values
    check_number("feature", feature, integer=True)
    if not 0 <= feature < len(values):
        raise ValueError(f"feature={feature} is out of range; V has {len(values)} features, numbered from 0.")
    return float(values[feature])

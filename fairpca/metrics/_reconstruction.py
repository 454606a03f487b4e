"""Reconstruction error and loss of groups (Samadi et al. 2018, Vu et al. 2022)."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pandas as pd

from fairpca._moments import Centering, GroupMoments
from fairpca._validation import (
    Groups,
    check_choice,
    check_components,
    check_number,
    check_rows,
    encode_groups,
    shown_labels,
)
from fairpca.linalg import top_eigenpairs
from fairpca.metrics._checks import by_group, check_basis
from fairpca.solvers.spectral.units import unit_of

__all__ = [
    "ab_difference",
    "average_reconstruction_error",
    "communality",
    "explained_variance_percent",
    "max_reconstruction_loss",
    "reconstruction_errors",
    "reconstruction_losses",
]


def _lost(moments: np.ndarray, V: Any, projection: Any) -> np.ndarray:
    """Return ``tr (I - P)' M (I - P)`` of each matrix M, for P = VV' of a basis `V` or a scoring matrix P.

    What is lost is multiplied out, not taken as the difference of two traces, so that small errors are accurate.
    """
    if (V is None) == (projection is None):
        raise ValueError("give either V (an orthonormal basis) or projection (a square scoring matrix), not both.")
    p = moments.shape[1]
    if V is not None:
        V = check_basis(V, p)
        left = np.eye(p) - V @ V.T
        return np.array([np.vdot(M - (M @ V) @ V.T, left) for M in moments])  # a thin V saves the square matrices
    P = np.asarray(projection, dtype=np.float64)
    if P.shape != (p, p):
        raise ValueError(f"projection has shape {P.shape}; it must be {p} × {p}.")
    left = np.eye(p) - P
    return np.einsum("gij,ij->g", moments, left @ left.T)


def _moments_about(
    X: Any, sensitive_features: Any, centering: Centering, centers: Any
) -> tuple[tuple[Any, ...], np.ndarray]:
    """Return the group labels and each group's mean of ``(x - c)(x - c)'``."""
    check_choice("centering", centering, get_args(Centering))
    if isinstance(X, GroupMoments):
        if sensitive_features is not None:
            raise ValueError("GroupMoments already know their groups; leave sensitive_features out.")
        moments = X
    else:
        rows = check_rows(X)
        moments = GroupMoments.from_data(rows, encode_groups(sensitive_features, len(rows)))
    if centers is None:
        return moments.labels, moments.second_moments(centering)
    c = np.asarray(centers, dtype=np.float64)
    if c.shape not in ((moments.n_features,), moments.means.shape):
        raise ValueError(
            f"centers has shape {c.shape}; give one point ({moments.n_features},) or one for each group "
            f"{moments.means.shape}, in the order of the labels {shown_labels(moments.labels)}."
        )
    shift = moments.means - c
    return moments.labels, moments.covariances() + shift[:, :, None] * shift[:, None, :]


def reconstruction_errors(
    X: Any,
    V: Any = None,
    sensitive_features: Any = None,
    *,
    centering: Centering = "group",
    centers: Any = None,
    projection: Any = None,
) -> pd.Series:
    """Return each group's average squared reconstruction error.

    For group A with n_A rows it is ``||A - A P||_F^2 / n_A`` with P = VV': Definition 4.2 of Samadi et al.
    (2018) divided by the group size, and the expectation of l(V, X) given the group in Definition 2.1 of
    Vu et al. (2022).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or GroupMoments
        The data.
    V : array-like of shape (n_features, k), optional
        Orthonormal basis of the subspace.
    sensitive_features : array-like of shape (n_samples,), optional
        Group of each row; to be left out for `GroupMoments`.
    centering : {"group", "overall", "none"}, default="group"
        What is subtracted from a row: its group's mean, the mean of all rows, or nothing.
    centers : array-like of shape (n_features,) or (n_groups, n_features), optional
        Points to subtract instead, for instance the training part's group means when `X` is a test part.
    projection : array-like of shape (n_features, n_features), optional
        Scoring matrix P to use instead of VV'; it need not be a projector (the published code of Vu et al.
        scores one that is not).

    Returns
    -------
    Series
        Indexed by group label.

    Examples
    --------
    >>> from fairpca import PCA
    >>> from fairpca.datasets import load, standardise
    >>> data = load("wine_quality")
    >>> (X,) = standardise(data.X, ddof=0)
    >>> V = PCA(3).fit(X).components_.T
    >>> from fairpca.metrics import reconstruction_errors
    >>> reconstruction_errors(X, V, data.sensitive_features).round(3).to_dict()
    {'red': 4.813, 'white': 3.597}
    """
    labels, moments = _moments_about(X, sensitive_features, centering, centers)
    errors = _lost(moments, V, projection)
    return by_group(np.maximum(errors, 0.0), labels, "reconstruction_error")


def reconstruction_losses(
    X: Any,
    V: Any = None,
    sensitive_features: Any = None,
    *,
    centering: Centering = "group",
    centers: Any = None,
    projection: Any = None,
    n_components: int | None = None,
) -> pd.Series:
    """Return each group's average reconstruction loss (Definition 4.3 of Samadi et al. 2018, over the group size).

    The loss is the error minus the error of the best subspace of the same dimension for that group alone.

    Parameters
    ----------
    X, V, sensitive_features, centering, centers, projection
        As in :func:`reconstruction_errors`.
    n_components : int, optional
        Dimension of the best subspace; default the number of columns of `V`. Needed with `projection`.

    Returns
    -------
    Series
        Indexed by group label. Not negative when P is a projector of rank `n_components`.

    Examples
    --------
    >>> from fairpca import PCA
    >>> from fairpca.datasets import load, standardise
    >>> data = load("wine_quality")
    >>> (X,) = standardise(data.X, ddof=0)
    >>> V = PCA(3).fit(X).components_.T
    >>> from fairpca.metrics import reconstruction_losses
    >>> reconstruction_losses(X, V, data.sensitive_features).round(3).to_dict()
    {'red': 1.762, 'white': 0.53}
    """
    labels, moments = _moments_about(X, sensitive_features, centering, centers)
    errors = _lost(moments, V, projection)
    if n_components is None:
        if V is None:
            raise ValueError("a projection matrix does not tell its target dimension; give n_components.")
        n_components = int(np.asarray(V).shape[1])
    n_components = check_components(n_components, moments.shape[1])
    best = np.array([np.trace(M) - top_eigenpairs(M, n_components)[0].sum() for M in moments])
    return by_group(errors - best, labels, "reconstruction_loss")


def max_reconstruction_loss(X: Any, V: Any = None, sensitive_features: Any = None, **options: Any) -> float:
    """Return the largest group loss: the objective (1) of Samadi et al. (2018), Definition 4.4.

    Parameters
    ----------
    X, V, sensitive_features
        As in :func:`reconstruction_losses`.
    **options
        Its other parameters: `centering`, `centers`, `projection`, `n_components`.

    Returns
    -------
    float
        The largest value of :func:`reconstruction_losses`.

    Examples
    --------
    >>> from fairpca import PCA
    >>> from fairpca.datasets import load, standardise
    >>> data = load("wine_quality")
    >>> (X,) = standardise(data.X, ddof=0)
    >>> V = PCA(3).fit(X).components_.T
    >>> from fairpca import MinMaxFairPCA
    >>> from fairpca.metrics import max_reconstruction_loss
    >>> round(max_reconstruction_loss(X, V, data.sensitive_features), 3)
    1.762
    >>> fair = MinMaxFairPCA(3).fit(X, sensitive_features=data.sensitive_features)
    >>> round(max_reconstruction_loss(X, fair.components_.T, data.sensitive_features), 3)
    0.698
    """
    return float(reconstruction_losses(X, V, sensitive_features, **options).max())


def ab_difference(errors: Any) -> float:
    """Return the largest difference between two groups' errors: ABDiff of Vu et al. (2022) for two groups.

    Parameters
    ----------
    errors : array-like of shape (n_groups,)
        What :func:`reconstruction_errors` returns. Vu et al. centre the rows of a group, in training and in
        test, by that group's mean over the training part.

    Returns
    -------
    float
        The largest error minus the smallest, never negative.

    Examples
    --------
    >>> from fairpca.metrics import ab_difference
    >>> ab_difference([11.5, 10.25])
    1.25
    """
    values = np.asarray(errors, dtype=np.float64)
    if values.ndim != 1 or values.size < 2:
        raise ValueError(f"errors has shape {values.shape}; give one error for each of at least two groups.")
    if np.isnan(values).any():
        raise ValueError(f"errors contains NaN: {values.tolist()}; give a number for each group.")
    return float(values.max() - values.min())


def average_reconstruction_error(X: Any, V: Any = None, *, center: Any = None, projection: Any = None) -> float:
    """Return the average squared reconstruction error of all rows: ARE of Vu et al. (2022).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or GroupMoments
        The data. In the paper's tables they are standardised by the training part, and not centred again.
    V : array-like of shape (n_features, k), optional
        Orthonormal basis of the subspace.
    center : array-like of shape (n_features,), optional
        Point to subtract; default none.
    projection : array-like of shape (n_features, n_features), optional
        Scoring matrix to use instead of VV'.

    Returns
    -------
    float
        Mean over all rows, so that large groups count more.

    Examples
    --------
    >>> from fairpca import PCA
    >>> from fairpca.datasets import load, standardise
    >>> data = load("wine_quality")
    >>> (X,) = standardise(data.X, ddof=0)
    >>> V = PCA(3).fit(X).components_.T
    >>> from fairpca.metrics import average_reconstruction_error
    >>> round(average_reconstruction_error(X, V), 3)
    3.92
    """
    point = np.zeros(X.n_features if isinstance(X, GroupMoments) else np.shape(X)[-1])
    if center is not None:
        point = point + np.asarray(center, dtype=np.float64)
    if isinstance(X, GroupMoments):
        errors = reconstruction_errors(X, V, centers=point, projection=projection)
        return float(X.weights @ errors.to_numpy())
    everyone = Groups((None,), np.zeros(len(X), dtype=np.int64))
    return float(reconstruction_errors(X, V, everyone, centers=point, projection=projection).iloc[0])


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

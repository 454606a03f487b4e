"""Ordinary PCA with the package's interface: the baseline that every chapter compares with."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.decomposition import PCA as _PCA

from fairpca._base import BaseFairPCA, leading_subspace
from fairpca._moments import GroupMoments
from fairpca._validation import check_components
from fairpca.solvers import SolverResult
from fairpca.wide import WideRows

__all__ = ["PCA", "SharesOfVariance", "components_for"]


def components_for(share: float, variances: np.ndarray, total: float) -> int:
    """Return the smallest number of components whose descending `variances` exceed a share of the total."""
    reached = np.cumsum(variances) / total if total > 0 else np.ones(len(variances))
    count = int(np.searchsorted(reached, share * (1 + 1e-12), side="right")) + 1  # equal but for rounding is not more
    if count > len(variances) and reached[-1] < share * (1 - 1e-12):
        raise ValueError(
            f"n_components={share:g} asks for more of the variance than the {len(variances)} components that there are "
            f"can keep, {reached[-1]:.6g}; choose a smaller share, an integer, or None for all of them."
        )
    return min(count, len(variances))


class SharesOfVariance(BaseFairPCA):
    """Base of estimators whose first components do not depend on how many follow.

    So ``n_components`` may be None (all that there are) or a share of the variance.
    """

    def _check_parameters(self) -> None:
        n = self.n_components
        if isinstance(n, (bool, np.bool_)) or not isinstance(n, (Integral, float, type(None))):
            raise TypeError(
                f"n_components={n!r} is of type {type(n).__name__}; it must be an integer, a share of the variance "
                "between 0 and 1, or None."
            )
        if isinstance(n, float) and not 0.0 < n < 1.0:
            raise ValueError(
                f"n_components={n!r} is out of range; it must be an integer, a share of the variance between 0 and 1, "
                "or None."
            )

    def _most_components(self, X: np.ndarray) -> Any:
        return self.n_components if isinstance(self.n_components, Integral) else min(X.shape)

    def _ordinary_dimension(self, moments: GroupMoments) -> int:
        p = self.n_features_in_
        most = min(p, int(moments.n_samples))
        if not isinstance(self.n_components, (float, type(None))):
            return check_components(self.n_components, p, high=most, why=f"There are {moments.n_samples:g} rows.")
        if self.n_components is None:
            return most
        covariance = self._scaled(moments).covariance()
        return components_for(self.n_components, np.linalg.eigvalsh(covariance)[::-1][:most], np.trace(covariance))


class PCA(SharesOfVariance):
    """Principal component analysis that records the groups and otherwise ignores them.

    It maximises tr V'ΣV over orthonormal V, with Σ the covariance of all rows; scikit-learn's ``PCA``
    finds the same subspace from the rows, this one also from :class:`~fairpca.GroupMoments`.

    Parameters
    ----------
    n_components : int, float or None, default=2
        Dimension of the subspace. A share between 0 and 1 means as many components as keep more than this share of the
        variance, None the smaller one of the numbers of rows and features.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows, by decreasing explained variance, largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
        Mean of all rows.
    groups_ : tuple
        Group labels seen in fit.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Sample variance along each component, and its share of the total.
    singular_values_ : ndarray of shape (n_components,)
        Of the centred rows.
    noise_variance_ : float
        Mean of the sample variances that are left out: the noise of probabilistic PCA.
    n_components_, n_samples_ : int
        Number of components, and of rows.
    result_ : SolverResult
        Status, objective (the variance left out, divided by n) and certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca import PCA
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> PCA(n_components=1).fit(X, sensitive_features=[0, 0, 1, 1]).components_
    array([[1., 0.]])
    """

    _uses_groups = False
    whiten = False

    def __init__(self, n_components: int | float | None = 2) -> None:
        self.n_components = n_components  # type: ignore[assignment]

    get_covariance, get_precision = _PCA.get_covariance, _PCA.get_precision
    score_samples, score = _PCA.score_samples, _PCA.score

    def _rotates(self) -> bool:
        return True

    def _takes_products(self) -> bool:
        return isinstance(self.n_components, Integral)

    def _check_dimension(self, moments: GroupMoments) -> int:
        return self._ordinary_dimension(moments)

    def _solve_moments(self, moments: GroupMoments, n_components: int) -> SolverResult:
        return leading_subspace(moments, n_components)

    def _store(
        self, result: SolverResult, moments: GroupMoments | WideRows, covariance: np.ndarray | None = None
    ) -> Self:
        super()._store(result, moments, covariance)
        n, k = moments.n_samples, len(self.components_)
        self.n_components_, self.n_samples_ = k, n
        self.singular_values_ = np.sqrt((n - 1) * self.explained_variance_)
        left = min(int(n), self.n_features_in_) - k
        self.noise_variance_ = max(result.objective, 0.0) * n / (n - 1) / left if left > 0 else 0.0
        return self

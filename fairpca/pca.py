"""Ordinary PCA with the package's interface: the baseline that every chapter compares with."""

from __future__ import annotations

from fairpca._base import BaseFairPCA, leading_subspace
from fairpca._moments import GroupMoments
from fairpca._validation import check_components
from fairpca.solvers import SolverResult

__all__ = ["PCA"]


class PCA(BaseFairPCA):
    """Principal component analysis that records the groups and otherwise ignores them.

    It maximises tr V'ΣV over orthonormal V, with Σ the covariance of all rows; scikit-learn's ``PCA``
    finds the same subspace from the rows, this one also from :class:`~fairpca.GroupMoments`.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the subspace.

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

    def __init__(self, n_components: int = 2) -> None:
        self.n_components = n_components

    def _rotates(self) -> bool:
        return True

    def _solve_moments(self, moments: GroupMoments, n_components: int) -> SolverResult:
        return leading_subspace(moments, check_components(n_components, moments.n_features))

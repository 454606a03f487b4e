"""The frontier of two groups' errors, for the estimators whose solutions lie on it."""

from __future__ import annotations

from typing import Any

from fairpca._moments import GroupMoments
from fairpca._threads import one_blas_thread
from fairpca._validation import check_components, shown_labels
from fairpca.solvers.frontier import Frontier, solve_frontier

__all__ = ["FrontierMixin"]


class FrontierMixin:
    """Adds :meth:`frontier` to an estimator that solves from second moments."""

    def frontier(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, tol: float = 1e-4, max_points: int = 5000
    ) -> Frontier:
        """Return all non-dominated pairs of two groups' reconstruction errors, and of their losses.

        The estimator is not fitted; of its parameters only the dimension and the centring count.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), DataFrame or GroupMoments
            As in ``fit``.
        y : array-like of shape (n_samples,), optional
            Ignored.
        sensitive_features : array-like of shape (n_samples,), optional
            Group of each row, two groups; not for GroupMoments, which know theirs.
        tol : float
            Largest distance of any non-dominated pair from the path, relative to the path's extent.
        max_points : int
            Most points to compute.

        Returns
        -------
        Frontier
            Points with their subspaces, the proven distance, and scores for other methods' pairs.
        """
        if isinstance(X, GroupMoments):
            if sensitive_features is not None:
                raise ValueError("GroupMoments already know their groups; leave sensitive_features out.")
            moments = X
        else:
            if sensitive_features is None:
                raise ValueError("frontier needs sensitive_features, the group of each row.")
            moments = GroupMoments.from_data(X, sensitive_features)
        if moments.n_groups != 2:
            raise ValueError(
                f"a frontier is of two groups and the data have {moments.n_groups}, "
                f"{shown_labels(moments.labels)}; merge "
                "groups or choose two."
            )
        p = moments.n_features
        why = "The whole space has one pair of errors, (0, 0)."
        d = check_components(self.n_components, p, high=p - 1, why=why)  # type: ignore[attr-defined]
        matrices = moments.second_moments(self.centering)  # type: ignore[attr-defined]
        with one_blas_thread(moments):
            return solve_frontier(matrices, d, tol=tol, max_points=max_points, groups=moments.labels)

"""The contract that all estimators of the package share."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from fairpca._linalg import fix_signs, top_eigenpairs
from fairpca._moments import GroupMoments
from fairpca._validation import Groups, check_components, encode_groups
from fairpca.solvers._result import SolverResult

__all__ = ["BaseFairPCA"]


class BaseFairPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """Fit a subspace that treats groups alike; transform needs no groups.

    A subclass sets its parameters in ``__init__`` and implements :meth:`_check_parameters` and one of
    :meth:`_solve_moments` (second moments are enough) or :meth:`_solve_rows` (with ``_needs_rows = True``).
    """

    _needs_rows = False
    _uses_groups = True  # False: groups are only recorded, so their absence is no reason to warn
    n_components: int

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:
        """Find the subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), DataFrame or GroupMoments
            The data, or (where the method needs no more) their group moments.
        y : array-like of shape (n_samples,), optional
            Ignored unless the estimator says otherwise.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            Group of each row, any dtype; several columns mean their combinations. Without it the
            result is ordinary PCA, with a warning.

        Returns
        -------
        self
        """
        self._check_parameters()
        if isinstance(X, GroupMoments):
            moments = self._accept_moments(X, sensitive_features)
            if moments.n_groups < 2:
                self._warn_single_group(moments.labels)
                return self._fit_ordinary(moments)
            self._warn_tiny_groups(moments.labels, moments.counts)
            return self._store(self._solve_moments(moments, self._check_dimension(moments)), moments)

        if self._needs_rows:
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        else:
            X = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
        if sensitive_features is None:
            if self._uses_groups:
                warnings.warn(
                    f"{type(self).__name__}.fit got no sensitive_features: the result is ordinary PCA and mitigates "
                    "nothing. Pass the group of each row as sensitive_features=….",
                    UserWarning,
                    stacklevel=2,
                )
            groups = Groups((None,), np.zeros(len(X), dtype=np.int64))
            return self._fit_ordinary(GroupMoments.from_data(X, groups))
        groups = encode_groups(sensitive_features, len(X))
        moments = GroupMoments.from_data(X, groups)
        if moments.n_groups < 2:
            self._warn_single_group(moments.labels)
            return self._fit_ordinary(moments)
        dimension = self._check_dimension(moments)
        if self._needs_rows:
            return self._store(self._solve_rows(X, groups, y, dimension), moments)
        self._warn_tiny_groups(moments.labels, moments.counts)
        return self._store(self._solve_moments(moments, dimension), moments)

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise for constructor parameters that are wrong whatever the data."""

    def _check_dimension(self, moments: GroupMoments) -> int:
        """Return the number of components; a subclass may narrow the range."""
        return check_components(self.n_components, moments.n_features)

    def _solve_moments(self, moments: GroupMoments, n_components: int) -> SolverResult:
        """Solve from second moments (two groups at least)."""
        raise NotImplementedError(f"{type(self).__name__} needs the rows, not only their moments.")

    def _solve_rows(self, X: np.ndarray, groups: Groups, y: Any, n_components: int) -> SolverResult:
        """Solve from the rows (two groups at least)."""
        raise NotImplementedError(f"{type(self).__name__} solves from moments.")

    def _accept_moments(self, moments: GroupMoments, sensitive_features: Any) -> GroupMoments:
        if self._needs_rows:
            raise TypeError(
                f"{type(self).__name__} compares whole distributions and needs the rows; pass X and "
                "sensitive_features instead of GroupMoments."
            )
        if sensitive_features is not None:
            raise ValueError("GroupMoments already know their groups; leave sensitive_features out.")
        self.n_features_in_ = moments.n_features
        if moments.feature_names is not None:
            self.feature_names_in_ = np.asarray(moments.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return moments

    def _warn_single_group(self, labels: tuple[Any, ...]) -> None:
        if not self._uses_groups:
            return
        warnings.warn(
            f"sensitive_features has a single group ({labels[0]!r}), so there is nothing to balance: the result is "
            "ordinary PCA. Check the column, or the split that produced this part of the data.",
            UserWarning,
            stacklevel=3,
        )

    def _warn_tiny_groups(self, labels: tuple[Any, ...], counts: np.ndarray) -> None:
        tiny = [labels[i] for i in np.flatnonzero(counts == 1)]
        if tiny and self._uses_groups:
            warnings.warn(
                f"group(s) {tiny!r} have one sample each, so they have no variance of their own; merge them with "
                "another group or drop them.",
                UserWarning,
                stacklevel=3,
            )

    def _fit_ordinary(self, moments: GroupMoments) -> Self:
        k = check_components(self.n_components, moments.n_features)
        start = perf_counter()
        covariance = moments.covariance()
        w, V = top_eigenpairs(covariance, k)
        objective = float(np.trace(covariance) - w.sum())
        result = SolverResult(
            V, "optimal", objective, lower_bound=objective, gap=0.0, n_iter=1, seconds=perf_counter() - start
        )
        return self._store(result, moments)

    def _store(self, result: SolverResult, moments: GroupMoments) -> Self:
        """Set the fitted attributes from the solver's result."""
        covariance = self._covariance_of_all(moments)
        V = result.V
        compressed = V.T @ covariance @ V
        if np.allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-8):
            # The problem fixes the span only; principal axes inside it make the basis unique.
            _, R = np.linalg.eigh((compressed + compressed.T) / 2)
            V = V @ R[:, ::-1]
            compressed = R[:, ::-1].T @ compressed @ R[:, ::-1]
        self.components_ = fix_signs(np.ascontiguousarray(V.T))
        self.mean_ = moments.mean
        self.groups_ = moments.labels
        self.explained_variance_ = np.clip(np.diagonal(compressed), 0.0, None).copy()
        total = float(np.trace(covariance))
        ratio = self.explained_variance_ / total if total > 0 else np.zeros_like(self.explained_variance_)
        self.explained_variance_ratio_ = ratio
        self.result_ = result
        self.n_iter_ = max(int(result.n_iter), 1)
        if result.status == "max_iter":
            limit = f"stopped at its iteration limit (gap {result.gap:.2e}); raise max_iter or loosen tol"
            detail = result.extra.get("message", limit)
            warnings.warn(f"{type(self).__name__}: {detail}.", ConvergenceWarning, stacklevel=3)
        elif result.status in ("infeasible", "interrupted"):
            detail = result.extra.get("message", "no feasible subspace was found")
            warnings.warn(f"{type(self).__name__}: {detail}.", ConvergenceWarning, stacklevel=3)
        return self

    def _covariance_of_all(self, moments: GroupMoments) -> np.ndarray:
        """Sample covariance of all rows; a subclass that stores many results may keep it."""
        return moments.covariance(ddof=1)

    def transform(self, X: Any) -> np.ndarray:
        """Project: ``(X - mean_) @ components_.T``, shape (n_samples, n_components)."""
        check_is_fitted(self, "components_")
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        return (X - self.mean_) @ self.components_.T

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Map projections back: ``X @ components_ + mean_``, shape (n_samples, n_features)."""
        check_is_fitted(self, "components_")
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.components_):
            raise ValueError(
                f"X has shape {X.shape}; inverse_transform takes what transform returns, with "
                f"{len(self.components_)} columns."
            )
        return X @ self.components_ + self.mean_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

"""The contract that all estimators of the package share."""

from __future__ import annotations

import warnings
from abc import ABCMeta
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from fairpca._moments import GroupMoments
from fairpca._options import Options, check_choices
from fairpca._partial_fit import PartialFitMixin, check_two_rows, fitting, one_group
from fairpca._row_space import RowSpace
from fairpca._threads import one_blas_thread
from fairpca._validation import (
    Groups,
    check_components,
    check_given,
    check_mask,
    counting_weights,
    few_groups,
    shown_labels,
)
from fairpca.linalg import fix_signs, top_eigenpairs
from fairpca.solvers import SolverResult
from fairpca.solvers.erasure import solve_mean_fair_wide
from fairpca.solvers.frontier import Frontier, solve_frontier
from fairpca.wide import WideRows

__all__ = ["BaseFairPCA", "FrontierMixin", "leading_subspace"]

_BLOCK_BYTES = 2**20  # rows that are centred at a time
_WIDE = 2000  # features of sparse rows from which on products with them are taken, and not their moments


def leading_subspace(moments: GroupMoments, k: int) -> SolverResult:
    """Solve ordinary PCA of all rows: maximise tr V'ΣV over orthonormal V."""
    start = perf_counter()
    covariance = moments.covariance()
    w, V = top_eigenpairs(covariance, k)
    left_out = float(np.trace(covariance) - w.sum())
    return SolverResult(
        V, "optimal", left_out, bound=left_out, certificate="proof", n_iter=1, seconds=perf_counter() - start
    )


class BaseFairPCA(PartialFitMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """Fit a subspace that treats groups alike; transform needs no groups.

    While `fit`, `partial_fit`, `path` or `frontier` runs on fewer than 400 features, BLAS has one thread in the whole
    process, other Python threads included, because more threads make small matrices slower.

    A subclass sets its parameters in ``__init__`` and implements one of ``_solve_moments`` (second moments are
    enough) or ``_solve_rows`` (with ``_needs_rows = True``). Words that a parameter may take are declared by its
    annotation, ``Literal[...]``, and checked from there; ``_check_parameters`` is for the rest.
    """

    _needs_rows = False
    _uses_groups = True  # False: groups are only recorded, so their absence is no reason to warn
    _options_class: ClassVar[type[Options]] = Options  # of the parameter `options`, where there is one
    n_components: int

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Find the subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), DataFrame, GroupMoments or WideRows
            The data, or (where the method needs no more) their group moments or products. Where the
            method takes products, rows may be sparse: of more than 2000 features (and without weights) they are
            multiplied, else their moments are taken, a block at a time.
        y : array-like of shape (n_samples,), optional
            Ignored unless the estimator says otherwise.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            Group of each row, any dtype; several columns mean their combinations. Without it the
            result is ordinary PCA, with a warning. Numbers that are not integers are refused, and more than 50 groups
            or (above ten) one for every 20 rows, unless all columns are categoricals of pandas.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, not negative: a row of weight 2 counts as two rows. Weights that sum to less than the
            number of rows cannot count rows, so only their ratios matter: they are scaled to a mean of one (over the
            rows whose weight is not zero).

        Returns
        -------
        self
        """
        self._check_all_parameters()
        with fitting(self, X):
            self._forget()
            if isinstance(X, WideRows):
                return self._fit_wide(X, sensitive_features, sample_weight)
            if isinstance(X, GroupMoments):
                self._accept_moments(X, sensitive_features, sample_weight)
                check_two_rows(X)
                return self._fit_moments(X)
            sparse_too = "csr" if self._takes_products() else False
            check_given(X, sensitive_features=sensitive_features, y=y, sample_weight=sample_weight)
            if self._needs_rows:
                X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
            else:
                kinds = (np.float64, np.float32)
                X = validate_data(self, X, dtype=kinds, accept_sparse=sparse_too, ensure_min_samples=2)
            if not sparse.issparse(X):
                X = self._in_row_space(X)
            elif X.shape[1] > _WIDE and sample_weight is None:
                rows = WideRows(X, sensitive_features)
                if sensitive_features is not None:
                    return self._fit_wide(rows, None, None)
                self._warn_no_groups()
                return self._fit_ordinary_wide(rows)
            sample_weight = counting_weights(sample_weight, X.shape[0])
            if sensitive_features is None:
                self._warn_no_groups()
                return self._fit_ordinary(GroupMoments.from_data(X, one_group(X), sample_weight=sample_weight))
            groups = few_groups(sensitive_features, X.shape[0])
            moments = GroupMoments.from_data(X, groups, sample_weight=sample_weight)
            if not self._needs_rows or self._has_one_group(moments):
                return self._fit_moments(moments)
            if sample_weight is not None:
                raise ValueError(
                    f"{type(self).__name__} compares the distributions of the rows as they are and takes no "
                    "sample_weight; leave it out, or repeat rows."
                )
            return self._store(self._solve_rows(X, groups, y, moments), moments)

    def _fit_moments(self, moments: GroupMoments) -> Self:
        if self._has_one_group(moments):
            self._warn_single_group(moments.labels)
            return self._fit_ordinary(moments)
        self._warn_tiny_groups(moments.labels, moments.counts)
        return self._store(self._solve_moments(self._scaled(moments), self._check_dimension(moments)), moments)

    def _fit_wide(self, rows: WideRows, sensitive_features: Any, sample_weight: Any) -> Self:
        if sensitive_features is not None or sample_weight is not None:
            raise ValueError("WideRows already know their groups and take no weights; pass them alone.")
        self._note_features(rows)
        if not self._uses_groups:
            return self._fit_ordinary_wide(rows)
        if rows.n_groups < 2:
            self._warn_single_group(rows.labels)
            return self._fit_ordinary_wide(rows)
        return self._store(self._solve_wide(rows, check_components(self.n_components, rows.n_features)), rows)

    def _fit_ordinary_wide(self, rows: WideRows) -> Self:
        d = check_components(self.n_components, rows.n_features)
        return self._store(solve_mean_fair_wide(rows, None, d), rows)

    def _solve_wide(self, rows: WideRows, n_components: int) -> SolverResult:
        """Solve from products with the rows (two groups at least)."""
        raise TypeError(
            f"{type(self).__name__} needs the rows or their moments; WideRows are for PCA, MeanFairPCA and "
            "MinMaxFairPCA."
        )

    def path(self, X: Any, y: Any = None, *, sensitive_features: Any = None, **grid: Iterable[Any]) -> list[Self]:
        """Fit a grid of parameters; what fits have in common is computed once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), DataFrame or GroupMoments
            As in :meth:`fit`.
        y : array-like of shape (n_samples,), optional
            As in :meth:`fit`.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            Group of each row; not for GroupMoments, which know theirs.
        **grid : iterable
            Values of parameters, for instance ``n_components=range(1, 21)`` or ``alpha=[0.1, 0.2], lam=[0, 0.5]``.

        Returns
        -------
        list of estimators
            Fitted copies of this estimator, one for each combination; the last name changes fastest.
        """
        known = self.get_params(deep=False)
        unknown = [name for name in grid if name not in known]
        if unknown or not grid:
            raise ValueError(
                f"path got {', '.join(map(repr, unknown)) or 'no grid'}; give values for some of the parameters "
                f"{', '.join(known)}, for instance n_components=range(1, 5)."
            )
        if sensitive_features is None and not isinstance(X, GroupMoments):
            raise ValueError("path needs sensitive_features, the group of each row.")
        models = [
            clone(self).set_params(**dict(zip(grid, values, strict=True)))
            for values in product(*map(list, grid.values()))
        ]
        for model in models:
            if "random_state" in known and "random_state" not in grid:
                # A clone has a copy of a random stream; the models of a grid consume the one that was given.
                model.set_params(random_state=self.random_state)
            model._check_all_parameters()
        if not models:
            return []
        if self._needs_rows:
            return [model.fit(X, y, sensitive_features=sensitive_features) for model in models]
        with one_blas_thread(X):
            space = None
            if isinstance(X, GroupMoments):
                moments = X
            else:
                check_given(X, sensitive_features=sensitive_features, y=y)
                rows = validate_data(models[0], X, dtype=(np.float64, np.float32), ensure_min_samples=2)
                groups = few_groups(sensitive_features, len(rows))
                if all(model._rotates() for model in models):
                    space = RowSpace.of(rows, max(model._most_components(rows) for model in models))
                    rows = rows if space is None else space.rows
                moments = PartialFitMixin._moments_of(models[0], rows, y, groups, None)
                sensitive_features = None
            for model in models:
                model._accept_moments(moments, sensitive_features)
            check_two_rows(moments)
            if models[0]._has_one_group(moments):
                raise ValueError(f"path needs two groups or more; the data have one, {moments.labels[0]!r}.")
            self._warn_tiny_groups(moments.labels, moments.counts)
            covariance = moments.covariance(ddof=1)
            results = self._solve_path(models, moments)
            for model, result in zip(models, results, strict=True):
                model._store(result, moments, covariance)
                if space is not None:
                    space.lift(model)
            return models

    def _solve_path(self, models: Sequence[Self], moments: GroupMoments) -> Iterable[SolverResult]:
        """Solve for copies of this estimator with other parameters; a subclass may share work between them."""
        return [model._solve_moments(model._scaled(moments), model._check_dimension(moments)) for model in models]

    def _rotates(self) -> bool:
        """Whether a rotation of the features rotates the solution and changes nothing else."""
        return False

    def _in_row_space(self, X: np.ndarray) -> np.ndarray:
        """Return the rows, or their coordinates where they are fewer than the features and that does not matter."""
        space = RowSpace.of(X, self._most_components(X)) if self._rotates() else None
        if space is None:
            return X
        self._row_space = space
        return space.rows

    def _most_components(self, X: np.ndarray) -> Any:
        """How many components the rows may need, where that is a number."""
        return self.n_components

    def _check_all_parameters(self) -> None:
        check_choices(self)
        self._options  # noqa: B018  (checks what was given)
        self._check_parameters()

    @property
    def _options(self) -> Any:
        """The rare switches, checked."""
        return self._options_class.of(getattr(self, "options", None))

    def _check_parameters(self) -> None:
        """Raise for constructor parameters that are out of range whatever the data."""

    def _has_one_group(self, moments: GroupMoments) -> bool:
        """Whether there is nothing to compare."""
        return moments.n_groups < 2

    def _check_dimension(self, moments: GroupMoments) -> int:
        """Return the number of components; a subclass may narrow the range."""
        return check_components(self.n_components, moments.n_features)

    def _column_scale(self, moments: GroupMoments) -> np.ndarray | None:
        """What the columns are divided by before anything is computed; None takes them as they are."""
        return None

    def _scaled(self, moments: GroupMoments) -> GroupMoments:
        scale = self._column_scale(moments)
        return moments if scale is None else moments.transformed(scale)

    def _solve_moments(self, moments: GroupMoments, n_components: int) -> SolverResult:
        """Solve from second moments (two groups at least) of the scaled columns."""
        raise NotImplementedError(f"{type(self).__name__} needs the rows, not only their moments.")

    def _solve_rows(self, X: np.ndarray, groups: Groups, y: Any, moments: GroupMoments) -> SolverResult:
        """Solve from the rows (two groups at least); `moments` are theirs."""
        raise NotImplementedError(f"{type(self).__name__} solves from moments.")

    def _warn_single_group(self, labels: tuple[Any, ...]) -> None:
        if not self._uses_groups:
            return
        warnings.warn(
            f"sensitive_features has a single group ({labels[0]!r}), so there is nothing to balance: the result is "
            "ordinary PCA. Check the column, or the split that produced this part of the data.",
            UserWarning,
            stacklevel=4,
        )

    def _warn_tiny_groups(self, labels: tuple[Any, ...], counts: np.ndarray) -> None:
        tiny = [labels[i] for i in np.flatnonzero(counts == 1)]
        if tiny and self._uses_groups and counts.dtype.kind in "iu":  # weights are no numbers of rows
            warnings.warn(
                f"group(s) {shown_labels(tiny)} have one sample each, so they have no variance of their own; merge "
                "them with another group or drop them.",
                UserWarning,
                stacklevel=4,
            )

    def _fit_ordinary(self, moments: GroupMoments) -> Self:
        return self._store(leading_subspace(self._scaled(moments), self._ordinary_dimension(moments)), moments)

    def _ordinary_dimension(self, moments: GroupMoments) -> int:
        """Return the number of components of ordinary PCA."""
        return check_components(self.n_components, moments.n_features)

    def _store(
        self, result: SolverResult, moments: GroupMoments | WideRows, covariance: np.ndarray | None = None
    ) -> Self:
        """Set the fitted attributes from the solver's result; `covariance` of all rows where it is known already."""
        V, scale = result.V, None
        if isinstance(moments, WideRows):
            sample = moments.n_samples / max(moments.n_samples - 1, 1)
            compressed = sample * (V.T @ moments.covariance_product(V))
            total = sample * float(moments.variances.sum())
        else:
            scale = self._column_scale(moments)
            if scale is not None:
                covariance = moments.transformed(scale).covariance(ddof=1)
            elif covariance is None:
                covariance = moments.covariance(ddof=1)
            compressed = V.T @ covariance @ V
            total = float(np.trace(covariance))
        if result.basis == "orthonormal":
            # The problem fixes the span only; principal axes inside it make the basis unique.
            _, R = np.linalg.eigh((compressed + compressed.T) / 2)
            V = V @ R[:, ::-1]
            variances = np.diagonal(R[:, ::-1].T @ compressed @ R[:, ::-1])
        else:  # columns of an affine map keep their directions; only their order is free
            variances = np.diagonal(compressed)
            order = np.arange(len(variances)) if result.basis == "ordered" else np.argsort(-variances, kind="stable")
            V, variances = V[:, order], variances[order]
        self.components_ = fix_signs(np.ascontiguousarray(V.T))
        self.result_ = replace(result, V=self.components_.T)
        self.mean_ = self._centre(moments)
        if scale is not None:
            self.scale_ = scale
        elif hasattr(self, "scale_"):  # of an earlier fit with other parameters
            del self.scale_
        self.groups_ = moments.labels
        self.explained_variance_ = np.clip(variances, 0.0, None).copy()
        ratio = self.explained_variance_ / total if total > 0 else np.zeros_like(self.explained_variance_)
        self.explained_variance_ratio_ = ratio
        self.n_iter_ = max(int(result.n_iter), 1)
        if result.status in ("max_iter", "not_found", "infeasible"):
            limit = f"stopped at its iteration limit (gap {result.gap:.2e}); raise max_iter or loosen tol"
            detail = result.extra.get("message", limit)
            warnings.warn(f"{type(self).__name__}: {detail}.", ConvergenceWarning, stacklevel=3)
        return self

    def _centre(self, moments: GroupMoments | WideRows) -> np.ndarray:
        """What ``transform`` subtracts: the mean of all rows, or nothing with ``centering="none"``."""
        none = getattr(self, "centering", "overall") == "none"
        return np.zeros(moments.n_features) if none else moments.mean

    def transform(self, X: Any) -> np.ndarray:
        """Project: ``((X - mean_) / scale_) @ components_.T``, shape (n_samples, n_components).

        Estimators without ``scale_`` take the columns as they are.
        """
        check_is_fitted(self, "components_")
        check_mask("X", X)
        X = validate_data(self, X, dtype=(np.float64, np.float32), accept_sparse="csr", reset=False)
        A = (self.components_ / self.scale_ if hasattr(self, "scale_") else self.components_).T
        if sparse.issparse(X):
            return X @ A - self.mean_ @ A
        out = np.empty((len(X), A.shape[1]), X.dtype)
        rows = max(1, _BLOCK_BYTES // (8 * X.shape[1]))
        for start in range(0, len(X), rows):  # no copy of all rows
            out[start : start + rows] = (X[start : start + rows] - self.mean_) @ A
        return out

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Map projections back: ``(X @ components_) * scale_ + mean_``, shape (n_samples, n_features).

        Estimators with a ``decoder_`` of their own take that in the place of ``components_``.
        """
        check_is_fitted(self, "components_")
        X = check_array(X, dtype=(np.float64, np.float32), input_name="X")
        if X.shape[1] != len(self.components_):
            raise ValueError(
                f"X has shape {X.shape}; inverse_transform takes what transform returns, with "
                f"{len(self.components_)} columns."
            )
        back = X @ getattr(self, "decoder_", self.components_)
        return ((back * self.scale_ if hasattr(self, "scale_") else back) + self.mean_).astype(X.dtype, copy=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = self._takes_products()
        return tags

    def _takes_products(self) -> bool:
        """Whether products with the rows are enough, so that sparse rows stay sparse."""
        return False

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


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

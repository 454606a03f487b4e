"""The estimator MeanFairPCA: codes in which no linear function tells the groups apart."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from fairpca._moments import GroupMoments
from fairpca._partial_fit import SensitiveColumnsMixin, fitting
from fairpca._sensitive import (
    Columns,
    Compared,
    Fairness,
    Sensitive,
    compared_groups,
    compared_numbers,
    compared_wide,
    distinct_groups,
    joint_moments,
)
from fairpca._validation import check_components, check_given, check_number, counting_weights, few_groups
from fairpca.pca import SharesOfVariance, components_for
from fairpca.solvers import SolverResult
from fairpca.solvers.erasure import Projection, solve_mean_fair, solve_mean_fair_wide
from fairpca.wide import WideRows

__all__ = ["MeanFairPCA"]

_CONSTANT = 1e-9  # standard deviation of a coordinate over the means that are taken off it


class MeanFairPCA(SensitiveColumnsMixin, SharesOfVariance):
    r"""PCA whose codes have the same mean in all groups, so that no linear function of them tells groups apart.

    With C the covariances of the features with the sensitive variables (membership of each group, or numbers), it
    minimises the reconstruction error

    .. math:: E\|x-BAx\|^2\quad\text{subject to}\quad A\,C=0

    over matrices A (d × p, the code) and B (p × d), exactly and in closed form, from second moments.

    Parameters
    ----------
    n_components : int, float or None, default=2
        Dimension d of the code; at most n_features less the number of excluded directions (number of groups minus
        one). With ``match="mean"`` also a share between 0 and 1: as many components as keep more than this share of
        the variance; or None: as many as there are.
    projection : {"orthogonal", "oblique"}, default="orthogonal"
        ``"orthogonal"``: A' = B with orthonormal columns, which is fair PCA of Kleindessner et al. (2023), and
        ``FPCA(constraints="mean")`` for two groups. ``"oblique"``: the best A and B of all. That is PCA of rows after
        linear erasure (:class:`~fairpca.LinearEraser`), and reconstructs at least as well.
    match : {"mean", "mean+covariance"}, default="mean"
        With ``"mean+covariance"`` (orthogonal only) PCA takes its components from the `n_candidates` directions in
        which the groups' covariances differ least.
    fairness : {"dp", "eop"}, default="dp"
        ``"dp"`` (demographic parity) compares all rows, ``"eop"`` (equal opportunity) those whose outcome `y` is the
        larger of its two values. Means, variances and errors are those of all rows in both.
    sensitive : {"groups", "numeric"}, default="groups"
        Whether `sensitive_features` name groups, or are numbers (ages, scores, shares) with which the code must be
        uncorrelated. Numbers and groups together: give dummy columns of the groups as numbers.
    columns : {"combined", "each"}, default="combined"
        What several sensitive columns mean: groups are their combinations, or each column divides the rows by itself
        (fewer directions are excluded, and combinations may differ).
    n_candidates : int or float, default=0.5
        With ``match="mean+covariance"``: how many directions, or which share of those that match the means. Fewer
        match the covariances better and explain less.
    ddof : 0 or 1, default=0
        With ``match="mean+covariance"``: the covariances of a group of n rows are divided by n − ddof. The authors'
        program takes 1, which moves the answer where groups are small.
    tol, max_iter : float, default=1e-6, and int, default=500
        With :class:`~fairpca.WideRows` only, where the solution comes from an iteration: relative residual, and most
        steps for the oblique code. Moments are solved directly.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        A, by decreasing variance of the code, largest entry of each row positive. Orthonormal rows unless oblique.
    decoder_ : ndarray of shape (n_components, n_features)
        B', orthonormal rows; the same as ``components_`` unless oblique.
    mean_ : ndarray of shape (n_features,)
        Mean of all rows.
    groups_ : tuple
        Group labels; names or positions of the columns for numbers.
    excluded_ : ndarray of shape (n_excluded, n_features)
        Orthonormal rows that span C: what the code does not see.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Sample variance of each coordinate of the code, and its share of the total. Coordinates of the oblique code are
        uncorrelated and their variances are those of the reconstruction.
    result_ : SolverResult
        `objective` is the mean squared error of reconstruction, `bound` its proven lower bound.

    Notes
    -----
    The covariance with the groups is zero on the rows of `fit`; on others it is what sampling makes of it. A nonlinear
    classifier may still find the group. ``path`` and :class:`~fairpca.GroupMoments` work as in every estimator; for
    "eop" the moments' last sensitive column is the outcome, for "numeric" say which columns of the moments are
    sensitive: ``fit(moments, sensitive_features=["age"])``.

    References
    ----------
    M. Kleindessner, M. Donini, C. Russell, M. B. Zafar: Efficient fair PCA for fair representation learning. AISTATS
    2023. N. Belrose et al.: LEACE: Perfect linear concept erasure in closed form. NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca import MeanFairPCA
    >>> X = np.array([[3.0, 1.0, 0.0], [1.0, -1.0, 0.5], [-1.0, 1.0, 0.5], [-3.0, -1.0, 0.0]])
    >>> sex = ["f", "f", "m", "m"]
    >>> code = MeanFairPCA(n_components=1).fit(X, sensitive_features=sex).transform(X)
    >>> np.abs(np.round(code.ravel(), 12)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        n_components: int | float | None = 2,
        *,
        projection: Projection = "orthogonal",
        match: Literal["mean", "mean+covariance"] = "mean",
        fairness: Fairness = "dp",
        sensitive: Sensitive = "groups",
        columns: Columns = "combined",
        n_candidates: int | float = 0.5,
        ddof: int = 0,
        tol: float = 1e-6,
        max_iter: int = 500,
    ) -> None:
        self.n_components = n_components  # type: ignore[assignment]
        self.projection = projection
        self.match = match
        self.fairness = fairness
        self.sensitive = sensitive
        self.columns = columns
        self.n_candidates = n_candidates
        self.ddof = ddof
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("ddof", self.ddof, low=0, high=1, integer=True)
        check_number("n_candidates", self.n_candidates, low=0.0, low_open=True)
        check_number("tol", self.tol, low=0.0, low_open=True, high=1e-2)
        check_number("max_iter", self.max_iter, low=1, integer=True)
        if self.match == "mean+covariance":
            if isinstance(self.n_components, (float, type(None))):
                raise ValueError(
                    f'n_components={self.n_components!r} goes with match="mean" only, because with covariances the '
                    "components depend on how many there are; give an integer."
                )
            if self.projection == "oblique":
                raise ValueError(
                    'match="mean+covariance" keeps directions of the data as they are, so it goes with '
                    'projection="orthogonal" only; choose one of the two.'
                )
            if self.sensitive == "numeric":
                raise ValueError(
                    'match="mean+covariance" compares the covariances of groups, and sensitive="numeric" has none; '
                    'use match="mean", or cut the numbers into groups.'
                )

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Find the code.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), DataFrame, GroupMoments or WideRows
            The data, their group moments, or (for very many features) their products.
        y : array-like of shape (n_samples,), optional
            Outcome with two values, the larger is the positive one; needed by ``fairness="eop"``, else ignored.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            Group of each row, any dtype, or numbers with ``sensitive="numeric"``. With moments and "numeric": names or
            positions of the moments' columns that are sensitive. Without it the result is ordinary PCA, with a warning.
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
            self._sensitive_positions = ()
            if isinstance(X, (GroupMoments, WideRows)) or sparse.issparse(X) or sensitive_features is None:
                return super().fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)
            check_given(X, sensitive_features=sensitive_features, y=y, sample_weight=sample_weight)
            if self.sensitive == "groups":
                groups = self._groups(X, y, few_groups(sensitive_features, len(X)))
                return super().fit(X, sensitive_features=groups, sample_weight=sample_weight)
            self._forget()
            X = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
            X = self._in_row_space(X)
            sample_weight = counting_weights(sample_weight, len(X))
            return self._fit_moments(self._moments_of(X, y, sensitive_features, sample_weight))

    def path(self, X: Any, y: Any = None, *, sensitive_features: Any = None, **grid: Any) -> list[Self]:
        """Fit a grid of parameters from moments that are taken once.

        Parameters
        ----------
        X, y, sensitive_features : array-like
            As in :meth:`fit`.
        **grid : iterable
            Values of parameters, for instance ``n_components=range(1, 21)``; not of `sensitive` and `fairness`, which
            decide what moments are taken.

        Returns
        -------
        list of MeanFairPCA
            Fitted copies of this estimator, one for each combination; the last name changes fastest.
        """
        self._check_all_parameters()
        fixed = [name for name in ("sensitive", "fairness") if name in grid]
        if fixed:
            raise ValueError(f"{' and '.join(fixed)} cannot vary within one path; make one path for each value.")
        if isinstance(X, GroupMoments) or sensitive_features is None:
            return super().path(X, y, sensitive_features=sensitive_features, **grid)
        check_given(X, sensitive_features=sensitive_features, y=y)
        if self.sensitive == "groups":
            groups = self._groups(X, y, few_groups(sensitive_features, len(X)))
            return super().path(X, y, sensitive_features=groups, **grid)
        names = getattr(X, "columns", None)
        moments, positions = joint_moments(np.asarray(X), sensitive_features, y, self.fairness, names=names)
        return super().path(moments, sensitive_features=positions, **grid)

    def _has_one_group(self, moments: GroupMoments) -> bool:
        if self._sensitive_positions:
            return False
        if self.fairness == "eop" and all(isinstance(label, tuple) for label in moments.labels):
            return len({label[:-1] for label in moments.labels}) < 2
        return super()._has_one_group(moments)

    def _check_dimension(self, moments: GroupMoments) -> int:
        features = self._features(moments)
        if not isinstance(self.n_components, (float, type(None))):
            return check_components(self.n_components, features.n_features)
        most = min(self.n_features_in_, int(features.n_samples), features.n_features)
        most -= self._compared(moments).cross.n_directions
        if self.n_components is None or most < 1:
            return max(most, 1)
        covariance = features.covariance()
        A = self._solve_moments(moments, most).V
        kept = A.T @ covariance @ A
        variances = np.linalg.eigvalsh(kept) if self.projection == "orthogonal" else np.sort(np.diagonal(kept))
        return components_for(self.n_components, variances[::-1], float(np.trace(covariance)))

    def _compared(self, moments: GroupMoments) -> Compared:
        if self.sensitive == "numeric":
            return compared_numbers(moments, self._sensitive_positions, self.fairness)
        return compared_groups(moments, self.columns, self.fairness)

    def _takes_products(self) -> bool:
        return (self.match, self.fairness, self.sensitive) == ("mean", "dp", "groups")

    def _rotates(self) -> bool:
        return True

    def _solve_moments(self, moments: GroupMoments, n_components: int) -> SolverResult:
        compared = self._compared(moments)
        matched = compared.matched(self.ddof) if self.match == "mean+covariance" else None
        return solve_mean_fair(
            compared.cross, n_components, projection=self.projection, matched=matched, n_candidates=self.n_candidates
        )

    def _solve_wide(self, rows: WideRows, n_components: int) -> SolverResult:
        if (self.match, self.fairness, self.sensitive) != ("mean", "dp", "groups"):
            raise ValueError(
                'MeanFairPCA takes WideRows with match="mean", fairness="dp" and sensitive="groups" only; use '
                "GroupMoments for the rest."
            )
        directions = compared_wide(rows, self.columns)
        return solve_mean_fair_wide(
            rows, directions, n_components, projection=self.projection, tol=self.tol, max_iter=self.max_iter
        )

    def _store(
        self, result: SolverResult, moments: GroupMoments | WideRows, covariance: np.ndarray | None = None
    ) -> Self:
        features = self._features(moments) if isinstance(moments, GroupMoments) else moments
        super()._store(result, features, covariance if features is moments else None)
        decoder = result.extra.get("decoder")
        if decoder is None or result.basis == "orthonormal":
            self.decoder_ = self.components_
        else:  # components_ may have other signs, and another order in a tie; A B = I says which
            self.decoder_ = np.ascontiguousarray(np.rint(self.components_ @ decoder) @ decoder.T)
        self.excluded_ = result.extra.get("excluded", np.zeros((features.n_features, 0))).T
        self.groups_ = self._group_names(moments)
        if isinstance(features, GroupMoments):
            self._warn_constant_components(features)
        return self

    def _warn_constant_components(self, features: GroupMoments) -> None:
        """A coordinate that is constant but for rounding may show the group once somebody scales it."""
        squares = self.components_**2
        of_means = _CONSTANT**2 * squares @ features.mean**2
        of_moments = 16 * np.finfo(np.float64).eps * squares @ np.diagonal(features.covariance())
        constant = np.flatnonzero(self.explained_variance_ <= np.maximum(of_means, of_moments))
        if constant.size and len(self.excluded_):
            warnings.warn(
                f"component(s) {constant.tolist()} have no variance beyond rounding, and rounding may depend on the "
                "group: scaled to unit variance they can give it away. Without what is excluded the data vary in "
                f"{constant[0]} direction(s) only; "
                + (f"choose n_components={constant[0]} or less." if constant[0] else "no code says anything more."),
                UserWarning,
                stacklevel=5,
            )

    def _group_names(self, moments: GroupMoments | WideRows) -> tuple[Any, ...]:
        if self._sensitive_positions:
            names = moments.feature_names
            return tuple(j if names is None else names[j] for j in self._sensitive_positions)
        if self.fairness == "eop" and len(self.excluded_):
            return distinct_groups(moments.labels)
        return moments.labels

"""The transformer LinearEraser: rows of the same shape, in which no linear function finds the group."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fairpca._moments import GroupMoments
from fairpca._options import check_choices
from fairpca._partial_fit import SensitiveColumnsMixin, fitting
from fairpca._row_space import RowSpace
from fairpca._sensitive import (
    Columns,
    Sensitive,
    compared_groups,
    compared_numbers,
    group_shifts,
    regression_on_numbers,
)
from fairpca._validation import check_given, check_rows, check_rows_match, encode_groups, few_groups, shown_labels
from fairpca.solvers.erasure import erase_linearly

__all__ = ["LinearEraser"]


class LinearEraser(SensitiveColumnsMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Change rows as little as possible so that no linear function of them says anything about the groups.

    ``method="leace"`` solves, in closed form from second moments,

    .. math:: \min_P E\|x-Px\|^2\quad\text{subject to}\quad\operatorname{Cov}(Px,z)=0

    (Belrose et al. 2023, Theorem 4.3; z says which group, or is a number). In words: regress z on x, and take off what
    the prediction says about x. No linear classifier on the result does better than a constant on the rows of `fit`.

    Parameters
    ----------
    method : {"leace", "oracle"}, default="leace"
        ``"oracle"`` takes off what z itself says about x, which changes rows even less but needs z in `transform`
        too. With groups that moves each group's mean to the mean of all.
    sensitive : {"groups", "numeric"}, default="groups"
        Whether `sensitive_features` name groups or are numbers.
    columns : {"combined", "each"}, default="combined"
        Whether several sensitive columns mean their combinations, or each column by itself.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Mean of all rows, which stays.
    predictor_, removed_ : ndarray of shape (n_directions, n_features)
        With "leace": ``transform`` is ``X - ((X - mean_) @ predictor_.T) @ removed_``.
    shifts_ : ndarray of shape (n_groups, n_features)
        With "oracle" and groups: what is taken off the rows of each group.
    coefficients_ : ndarray of shape (n_sensitive, n_features)
        With "oracle" and numbers: regression coefficients of the features on the sensitive columns.
    groups_ : tuple
        Group labels; names or positions of the columns for numbers.

    Notes
    -----
    Only covariances vanish: a nonlinear classifier may still find the group, and new rows have what sampling makes of
    it. Features are judged by correlations, so units do not matter, and a difference of means counts however small
    it is, unless it is rounding.

    References
    ----------
    N. Belrose, D. Schneider-Joseph, S. Ravfogel, R. Cotterell, E. Raff, S. Biderman: LEACE: Perfect linear concept
    erasure in closed form. NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca import LinearEraser
    >>> X = np.array([[3.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-3.0, -1.0]])
    >>> sex = np.array(["f", "f", "m", "m"])
    >>> Z = LinearEraser().fit(X, sensitive_features=sex).transform(X)
    >>> np.abs(np.round(Z[sex == "f"].mean(axis=0) - Z[sex == "m"].mean(axis=0), 12)).tolist()
    [0.0, 0.0]
    """

    _needs_rows = False
    _uses_groups = True

    def __init__(
        self,
        *,
        method: Literal["leace", "oracle"] = "leace",
        sensitive: Sensitive = "groups",
        columns: Columns = "combined",
    ) -> None:
        self.method = method
        self.sensitive = sensitive
        self.columns = columns

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Find what has to be taken off.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), DataFrame or GroupMoments
            The data, or their group moments.
        y : ignored
            There because pipelines pass it.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            Group of each row, any dtype, or numbers with ``sensitive="numeric"``. With moments and "numeric": names or
            positions of the moments' columns that are sensitive. Without it rows are left as they are, with a warning.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, not negative: a row of weight 2 counts as two rows. Only their ratios matter.

        Returns
        -------
        self
        """
        self._check_all_parameters()
        with fitting(self, X):
            self._forget()
            self._sensitive_positions = ()
            if isinstance(X, GroupMoments):
                return self._fit_moments(self._accept_moments(X, sensitive_features, sample_weight))
            check_given(X, sensitive_features=sensitive_features, sample_weight=sample_weight)
            X = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
            if sensitive_features is not None and self.sensitive == "groups":
                sensitive_features = few_groups(sensitive_features, len(X))
            space = RowSpace.of(X, 0)
            if space is not None:
                self._row_space, X = space, space.rows
            moments = self._moments_of(X, y, sensitive_features, sample_weight)
            if sensitive_features is None:
                self._warn_no_groups()
                return self._fit_ordinary(moments)
            return self._fit_moments(moments)

    def _check_all_parameters(self) -> None:
        check_choices(self)

    def _fit_ordinary(self, moments: GroupMoments) -> Self:
        self._clear()
        self.mean_ = moments.mean
        self.groups_: tuple[Any, ...] = ()
        self.predictor_ = self.removed_ = np.zeros((0, moments.n_features))
        return self

    def _fit_moments(self, moments: GroupMoments) -> Self:
        self._clear()
        positions = self._sensitive_positions
        if not positions and moments.n_groups < 2:
            warnings.warn(
                f"sensitive_features has a single group ({moments.labels[0]!r}), so there is nothing to erase. Check "
                "the column, or the split that produced this part of the data.",
                UserWarning,
                stacklevel=3,
            )
        self.mean_ = self._features(moments).mean
        names = moments.feature_names
        named: tuple[Any, ...] = tuple(j if names is None else names[j] for j in positions)
        self.groups_ = named if positions else moments.labels
        if self.method == "leace":
            found = (
                compared_numbers(moments, positions, "dp")
                if positions
                else compared_groups(moments, self.columns, "dp")
            )
            erasure = erase_linearly(found.cross)
            self.predictor_, self.removed_ = erasure.predictor.T.copy(), erasure.removed.T.copy()
        elif positions:
            self.coefficients_ = regression_on_numbers(moments, positions)
            self._sensitive_mean = moments.mean[list(positions)]
        else:
            self.shifts_ = group_shifts(moments, self.columns)
        return self

    def _clear(self) -> None:
        """Drop what an earlier fit with another method left."""
        for name in ("predictor_", "removed_", "shifts_", "coefficients_"):
            self.__dict__.pop(name, None)

    def _warn_no_groups(self) -> None:
        warnings.warn(
            "LinearEraser.fit got no sensitive_features: rows stay as they are and nothing is mitigated. Pass the "
            "group of each row as sensitive_features=….",
            UserWarning,
            stacklevel=3,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return "mean_" in vars(self)

    def fit_transform(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Find what has to be taken off, and take it off.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : ignored
            There because pipelines pass it.
        sensitive_features : array-like, optional
            As in `fit`; ``method="oracle"`` transforms with them too.
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        fitted = self.fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        return fitted.transform(X, sensitive_features)

    def get_metadata_routing(self) -> Any:
        """Say what `fit` and `transform` request.

        Returns
        -------
        MetadataRequest
            Where "leace" is fitted with groups, `transform` requests none unless asked to: it makes no use of them.
        """
        request = super().get_metadata_routing()
        # One request for both would otherwise be needed, since a pipeline fits with fit_transform.
        if self.method == "leace" and not request.transform.requests.get("sensitive_features"):
            request.transform.requests.pop("sensitive_features", None)
        return request

    def transform(self, X: Any, sensitive_features: Any = None) -> np.ndarray:
        """Take off what was found.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, from `fit` or new.
        sensitive_features : array-like, optional
            Needed by ``method="oracle"``, else not used.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        check_given(X, sensitive_features=sensitive_features)
        rows = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        if hasattr(self, "predictor_"):
            return rows - ((rows - self.mean_) @ self.predictor_.T) @ self.removed_
        if sensitive_features is None:
            raise ValueError(
                'LinearEraser(method="oracle") takes off what the sensitive features say, so transform needs '
                'sensitive_features too; method="leace" does without.'
            )
        if self.sensitive == "numeric":
            numbers = np.asarray(sensitive_features, dtype=np.float64)
            numbers = check_rows(numbers[:, None] if numbers.ndim == 1 else numbers, "sensitive_features")
            check_rows_match("sensitive_features", len(numbers), len(rows))
            if numbers.shape[1] != len(self.coefficients_):
                raise ValueError(
                    f"sensitive_features has {numbers.shape[1]} columns; fit had {len(self.coefficients_)}. Give the "
                    "same columns in the same order."
                )
            return rows - (numbers - self._sensitive_mean) @ self.coefficients_
        groups = encode_groups(sensitive_features, len(rows))
        unknown = [label for label in groups.labels if label not in self.groups_]
        if unknown:
            raise ValueError(
                f"group(s) {shown_labels(unknown)} were not seen in fit, which had {shown_labels(self.groups_)}; drop "
                "these rows, or fit with rows of all groups."
            )
        at = np.array([self.groups_.index(label) for label in groups.labels])
        return rows - self.shifts_[at[groups.codes]]

    @property
    def projection_(self) -> np.ndarray:
        """The matrix P of "leace", shape (n_features, n_features)."""
        check_is_fitted(self)
        return np.eye(self.n_features_in_) - self.removed_.T @ self.predictor_

"""Estimators that need moments only take their rows in batches."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from fairpca._moments import GroupMoments
from fairpca._sensitive import Fairness, Sensitive, joint_moments, positions_of, with_outcome, without_columns
from fairpca._threads import one_blas_thread
from fairpca._validation import Groups, check_given, few_groups

__all__ = ["PartialFitMixin", "SensitiveColumnsMixin", "check_two_rows", "fitting", "one_group"]

_OF_THE_INPUT = ("n_features_in_", "feature_names_in_")  # known before anything is solved


@contextlib.contextmanager
def fitting(model: Any, X: Any) -> Iterator[None]:
    """Restore the attributes of `model` if the block does not come to its end (an error, Ctrl-C).

    Within the block BLAS has one thread where `X` leads to small matrices, and a block that leaves a ``_row_space``
    has worked in its coordinates.
    """
    before = dict(vars(model))
    try:
        with one_blas_thread(X):
            yield
            space = model.__dict__.pop("_row_space", None)
            if space is not None:
                space.lift(model)
    except BaseException:
        model.__dict__ = before
        raise


def one_group(X: np.ndarray) -> Groups:
    """Return the group of rows of which no group was said."""
    return Groups((None,), np.zeros(X.shape[0], dtype=np.int64))


def check_two_rows(moments: GroupMoments) -> None:
    """Raise for moments of fewer than two rows, where weights count as rows."""
    if moments.n_samples < 2:
        what = "sample(s)" if moments.counts.dtype.kind in "iu" else "as the sum of weights, which count rows,"
        raise ValueError(
            f"there are {moments.n_samples:g} {what} so far, and a minimum of 2 is required. Add rows (with "
            "partial_fit, pass solve=False until there are two), or give weights with a mean of one."
        )


class PartialFitMixin:
    """``partial_fit``: batches of rows become moments, which are solved at its end or in ``solve``."""

    # What the estimators define.
    _needs_rows: bool
    _uses_groups: bool
    _check_all_parameters: Any
    _fit_moments: Any
    _fit_ordinary: Any

    def _forget(self) -> None:
        """Drop what was collected."""
        self.__dict__.pop("_collected", None)

    def _accept_moments(
        self, moments: GroupMoments, sensitive_features: Any, sample_weight: Any = None
    ) -> GroupMoments:
        if self._needs_rows:
            raise TypeError(
                f"{type(self).__name__} compares whole distributions and needs the rows; pass X and "
                "sensitive_features instead of GroupMoments."
            )
        if sensitive_features is not None:
            raise ValueError("GroupMoments already know their groups; leave sensitive_features out.")
        if sample_weight is not None:
            raise ValueError("GroupMoments already know their weights; leave sample_weight out.")
        self._note_features(moments)
        return moments

    def _note_features(self, moments: Any) -> None:
        self.n_features_in_ = moments.n_features
        if moments.feature_names is not None:
            self.feature_names_in_ = np.asarray(moments.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    @available_if(lambda self: not self._needs_rows)
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        solve: bool = True,
    ) -> Self:
        """Add a batch of rows and solve for all rows so far.

        Only moments are kept, so the result is that of :meth:`fit` on all rows together, whatever the batches. Where
        solving after each batch costs too much, or the first batches lack groups, pass ``solve=False`` and call
        :meth:`solve` after the last one; until then the model is not fitted. A batch stays collected where solving
        raises an error. A model that was fitted by :meth:`fit` keeps no
        moments, so this starts anew then.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), DataFrame or GroupMoments
            The batch, or its moments.
        y : array-like of shape (n_samples,), optional
            As in :meth:`fit`.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            Group of each row of the batch.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows of the batch: a row of weight 2 counts as two rows. They are not scaled, since a batch
            does not know the others.
        solve : bool, default=True
            Whether to solve now.

        Returns
        -------
        self
        """
        self._check_all_parameters()
        with fitting(self, X):
            before: GroupMoments | None = self.__dict__.get("_collected")
            if isinstance(X, GroupMoments):
                batch = X
                if before is None:
                    self._accept_moments(X, sensitive_features, sample_weight)
            else:
                check_given(X, sensitive_features=sensitive_features, y=y, sample_weight=sample_weight)
                X = validate_data(self, X, dtype=(np.float64, np.float32), reset=before is None)
                if sensitive_features is None and before is None:
                    self._warn_no_groups()
                batch = self._moments_of(X, y, sensitive_features, sample_weight)
            self._collected = batch if before is None else before.merge(batch)
            for name in [name for name in vars(self) if name.endswith("_") and name not in _OF_THE_INPUT]:
                delattr(self, name)
            return self.solve() if solve else self

    def _moments_of(self, X: np.ndarray, y: Any, sensitive_features: Any, sample_weight: Any) -> GroupMoments:
        """Return the moments of a batch of rows."""
        groups = one_group(X) if sensitive_features is None else few_groups(sensitive_features, len(X), whole=False)
        names = getattr(self, "feature_names_in_", None)
        moments = GroupMoments.from_data(X, groups, sample_weight=sample_weight)
        return moments if names is None else replace(moments, feature_names=tuple(map(str, names)))

    @available_if(lambda self: not self._needs_rows)
    def solve(self) -> Self:
        """Solve for the rows that :meth:`partial_fit` collected.

        Returns
        -------
        self
        """
        moments: GroupMoments | None = self.__dict__.get("_collected")
        if moments is None:
            raise NotFittedError(f"{type(self).__name__} has collected no rows; call partial_fit first.")
        check_two_rows(moments)
        with fitting(self, moments):
            return self._fit_ordinary(moments) if moments.labels == (None,) else self._fit_moments(moments)

    def __sklearn_is_fitted__(self) -> bool:
        return "components_" in vars(self)

    def _warn_no_groups(self) -> None:
        if self._uses_groups:
            warnings.warn(
                f"{type(self).__name__}.fit got no sensitive_features: the result is ordinary PCA and mitigates "
                "nothing. Pass the group of each row as sensitive_features=….",
                UserWarning,
                stacklevel=3,
            )


class SensitiveColumnsMixin(PartialFitMixin):
    """Takes sensitive features as groups or as numbers, which become columns of the moments behind the features."""

    sensitive: Sensitive
    fairness: Fairness = "dp"
    _sensitive_positions: tuple[int, ...] = ()  # columns of the moments that are not features

    def _moments_of(self, X: np.ndarray, y: Any, sensitive_features: Any, sample_weight: Any) -> GroupMoments:
        if sensitive_features is None or self.sensitive == "groups":
            return super()._moments_of(X, y, self._groups(X, y, sensitive_features), sample_weight)
        names = getattr(self, "feature_names_in_", None)
        moments, self._sensitive_positions = joint_moments(
            X, sensitive_features, y, self.fairness, names=names, sample_weight=sample_weight
        )
        return moments

    def _groups(self, X: Any, y: Any, sensitive_features: Any) -> Any:
        """Return the groups that are compared: with the outcome, where that counts."""
        if self.fairness == "dp" or sensitive_features is None:
            return sensitive_features
        return with_outcome(sensitive_features, y, len(X))

    def _accept_moments(
        self, moments: GroupMoments, sensitive_features: Any, sample_weight: Any = None
    ) -> GroupMoments:
        if self.sensitive == "numeric":
            self._sensitive_positions, sensitive_features = positions_of(moments, sensitive_features), None
        super()._accept_moments(self._features(moments), sensitive_features, sample_weight)
        return moments

    def _features(self, moments: GroupMoments) -> GroupMoments:
        """Moments of the features alone."""
        return without_columns(moments, self._sensitive_positions)

"""Scorers for ``GridSearchCV`` and ``cross_validate``: how a projection treats groups, on held-out rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from fairpca._validation import Groups, check_choice, check_given, encode_groups, shown_labels

__all__ = ["GroupScorer"]


class GroupScorer(BaseEstimator):
    """A scorer that takes ``sensitive_features``; with metadata routing it asks for them by itself.

    Parameters
    ----------
    what : {"worst_group_error", "group_gap", "recovery_auc"}
        The largest error of a group, the largest difference between two groups' errors (both as shares of the variance
        of the held-out rows), or the AUC with which a cross-fitted logistic classifier finds the group (0.5: guessing;
        of more than two groups the mean of each against all others). Scores are negative: the larger, the better.

    Examples
    --------
    >>> import numpy as np, sklearn
    >>> from sklearn.model_selection import GridSearchCV
    >>> from fairpca import MinMaxFairPCA
    >>> from fairpca.report import GroupScorer
    >>> rng = np.random.default_rng(0)
    >>> X, sex = rng.normal(size=(100, 4)), np.tile(["f", "m"], 50)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     model = MinMaxFairPCA().set_fit_request(sensitive_features=True)
    ...     scorer = GroupScorer("worst_group_error")
    ...     search = GridSearchCV(model, {"n_components": [1, 3]}, scoring=scorer, cv=3)
    ...     search = search.fit(X, sensitive_features=sex)
    >>> search.best_params_
    {'n_components': 3}
    """

    # What scikit-learn reads to know that the scorer wants the groups.
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sensitive_features": True}

    def __init__(self, what: str) -> None:
        self.what = what

    def score(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> float:
        """Declare what is asked for; the scorer is called as a function."""
        raise TypeError("A GroupScorer is called: scorer(estimator, X, sensitive_features=…).")

    def __call__(self, estimator: Any, X: Any, y: Any = None, *, sensitive_features: Any = None) -> float:
        """Score a fitted projection, or a Pipeline that ends with one."""
        check_choice("what", self.what, ("worst_group_error", "group_gap", "recovery_auc"))
        if sensitive_features is None:
            raise ValueError(
                f"{self.what} got no sensitive_features. Switch metadata routing on (sklearn.set_config("
                "enable_metadata_routing=True)) and pass sensitive_features to fit of the search, or to cross_validate "
                "in params."
            )
        check_given(X, sensitive_features=sensitive_features)
        last = estimator
        if isinstance(estimator, Pipeline):
            X, last = estimator[:-1].transform(X) if len(estimator) > 1 else X, estimator[-1]
        rows, projected = (np.asarray(part, dtype=np.float64) for part in (X, last.transform(X)))
        groups = encode_groups(sensitive_features, len(rows))
        if self.what == "group_gap" and len(groups.labels) < 2:
            raise ValueError(
                f"group_gap needs two groups among the rows that are scored, and got "
                f"{shown_labels(groups.labels)}; use fewer "
                "folds, or folds that hold all groups."
            )
        if self.what == "recovery_auc":
            return -_recovery(projected, groups)
        if not hasattr(last, "inverse_transform"):
            raise TypeError(
                f"{type(last).__name__} has no inverse_transform, so its errors are unknown; end the Pipeline with a "
                "projection."
            )
        back = np.asarray(last.inverse_transform(projected), dtype=np.float64)
        total = float(np.sum(rows.var(axis=0)))
        if total <= 0:
            raise ValueError("The held-out rows are all equal, so there is no error to speak of; use fewer folds.")
        squares = np.sum((rows - back) ** 2, axis=1) / total
        errors = np.array([squares[groups.rows(g)].mean() for g in range(len(groups.labels))])
        return float(-errors.max() if self.what == "worst_group_error" else errors.min() - errors.max())


def _recovery(Z: np.ndarray, groups: Groups) -> float:
    """Mean over the groups of the AUC against all others; with two groups, that of the second."""
    Z = StandardScaler().fit_transform(Z)
    few = int(groups.counts.min())
    if few < 2 or len(groups.labels) < 2:
        raise ValueError("recovery_auc needs two groups with two held-out rows each; use fewer folds, or merge groups.")
    folds = StratifiedKFold(min(3, few), shuffle=True, random_state=0)
    wanted = range(1, 2) if len(groups.labels) == 2 else range(len(groups.labels))
    areas = []
    for g in wanted:
        member = groups.codes == g
        probe = LogisticRegression(class_weight="balanced")
        scores = cross_val_predict(probe, Z, member, cv=folds, method="decision_function")
        areas.append(roc_auc_score(member, scores))
    return float(np.mean(areas))

"""What classifiers on a representation do to groups."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from fairpca.report.measures._dependence import area_under_curve, scaled
from fairpca.report.measures._yardstick import Yardstick

__all__ = ["decisions"]

_ENOUGH = 5  # positives that a group must have for a true-positive rate


def decisions(yard: Yardstick, Z_train: np.ndarray, Z_test: np.ndarray) -> dict[str, float]:
    """Return accuracy and AUC on held-out rows, and the groups' differences in selection and true-positive rates.

    Two classifiers, learnt from the training rows' representations: logistic regression on standardised coordinates,
    and boosted trees. Nothing is returned where there is no label of two classes; of its classes the later one in
    sorted order is the positive one.
    """
    if yard.positive is None:
        return {}
    y_train, y_test = yard.positive
    Z_test, Z_train = scaled(Z_test, Z_train), scaled(Z_train, Z_train)
    classifiers: dict[str, Any] = {"logistic": LogisticRegression(max_iter=300)}
    if yard.settings.tree_rounds:
        classifiers["trees"] = HistGradientBoostingClassifier(
            max_iter=yard.settings.tree_rounds, max_leaf_nodes=8, min_samples_leaf=10, early_stopping=False
        )
    found: dict[str, float] = {}
    for name, classifier in classifiers.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            classifier.fit(Z_train, y_train)
        scores = classifier.predict_proba(Z_test)[:, 1]
        found |= {f"{key}:{name}": value for key, value in _scores(yard, scores, y_test).items()}
    return found


def _scores(yard: Yardstick, scores: np.ndarray, y: np.ndarray) -> dict[str, float]:
    chosen, members = scores >= 0.5, yard.test.indicators > 0
    selection = [chosen[rows].mean() for rows in members.T if rows.any()]
    hits = [chosen[rows & y].mean() for rows in members.T if np.sum(rows & y) >= _ENOUGH]
    found = {
        "accuracy": 100.0 * float(np.mean(chosen == y)),
        "auc": area_under_curve(scores, y),
        "selection_gap": float(np.ptp(selection)),
    }
    return found | ({"tpr_gap": float(np.ptp(hits))} if len(hits) > 1 else {})

"""Features that give the group, or the target, away: by cross-validated balanced accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairpca.tables.roles import Decision, numbers_of, words_of

STRONG = 0.8  # share of the way from guessing to certainty from which on a feature is named in a warning
ENOUGH_ROWS = 10  # of a group; what gives smaller ones away cannot be checked
_ROWS = 20_000  # more do not change what is found
_FOLDS, _PIECES, _EXACT, _MOST = 5, 32, 64, 300


def proxies(frame: pd.DataFrame, decisions: Sequence[Decision], labels: np.ndarray) -> dict[str, float]:
    """Return with which balanced accuracy each feature alone predicts the label of new rows, the best first.

    Rows are predicted by the label that is likeliest among the other parts' rows with the same level, each label
    weighing the same; a number is cut into up to 32 pieces with as many rows each, unless it has few values. A level
    that the other parts do not have counts as a guess. Labels of fewer than ten rows are left out.
    """
    frame, codes = _rows(frame, labels)
    n_groups = codes.max(initial=-1) + 1
    if n_groups < 2:
        return {}
    folds = _folds(codes)
    found = {}
    for decision in _features(decisions):
        if decision.role == "number":
            levels = _pieces(numbers_of(frame[decision.column]))
        else:
            levels = pd.factorize(words_of(frame[decision.column]))[0]
        counts = np.zeros((_FOLDS, levels.max() + 1, n_groups))
        np.add.at(counts, (folds, levels, codes), 1.0)
        known = counts.sum(axis=0) - counts
        likely = known / known.sum(axis=1, keepdims=True)
        best = likely == likely.max(axis=2, keepdims=True)  # a level without rows: all are equally likely
        right = (counts * best / best.sum(axis=2, keepdims=True)).sum(axis=(0, 1))
        found[decision.column] = float(np.mean(right / np.bincount(codes)))
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def joint_proxy(
    frame: pd.DataFrame, decisions: Sequence[Decision], labels: np.ndarray, alone: dict[str, float]
) -> float:
    """Return with which balanced accuracy all features together predict the label of new rows, by boosted trees.

    Of very many features the 300 that predict it best alone are taken.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import TargetEncoder

    frame, codes = _rows(frame, labels)
    if codes.max(initial=-1) < 1:
        return float("nan")
    chosen = [d for d in _features(decisions) if d.column in list(alone)[:_MOST]]
    columns: dict[str, Any] = {
        d.column: numbers_of(frame[d.column]) if d.role == "number" else words_of(frame[d.column]) for d in chosen
    }
    words = [d.column for d in chosen if d.role != "number"]
    # Random parts of the target encoding are fixed, so that a report can be made again.
    encoder = ColumnTransformer([("words", TargetEncoder(random_state=0), words)], remainder="passthrough")
    trees = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=15, min_samples_leaf=10, early_stopping=False, random_state=0
    )
    model = make_pipeline(encoder, trees) if words else trees
    parts = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    known = cross_val_predict(model, pd.DataFrame(columns), codes, cv=parts, method="predict_proba")
    # Each group weighs the same: a row is given to the group that is likelier than its share by the largest factor.
    return float(balanced_accuracy_score(codes, (known / np.bincount(codes)).argmax(axis=1)))


def strong(accuracy: float, n_groups: int) -> bool:
    """Whether a balanced accuracy is far from guessing."""
    return (accuracy - 1.0 / n_groups) >= STRONG * (1.0 - 1.0 / n_groups)


def _features(decisions: Sequence[Decision]) -> list[Decision]:
    return [d for d in decisions if d.role in ("number", "pair", "category")]


def _rows(frame: pd.DataFrame, labels: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the rows whose label is not rare, not too many of them, and the number of their label."""
    names, codes, counts = np.unique(labels.astype(str), return_inverse=True, return_counts=True)
    rows = np.flatnonzero((counts >= ENOUGH_ROWS)[codes])
    if len(rows) > _ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, _ROWS, replace=False))
        counts = np.bincount(codes[rows], minlength=len(names))
        rows = rows[(counts >= ENOUGH_ROWS)[codes[rows]]]
    return frame.iloc[rows], pd.factorize(codes[rows])[0]


def _folds(codes: np.ndarray) -> np.ndarray:
    """Return the part of each row, with every label spread over all parts."""
    rng = np.random.default_rng(0)
    folds = np.empty(len(codes), dtype=np.int64)
    for code in range(codes.max() + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        folds[rows] = np.arange(len(rows)) % _FOLDS
    return folds


def _pieces(values: np.ndarray) -> np.ndarray:
    """Number the values of a column, or its quantiles where it has many; a missing value is a level too."""
    distinct, levels = np.unique(values, return_inverse=True)
    if len(distinct) <= min(_EXACT, len(values) // 5):
        return np.asarray(levels)
    known = values[~np.isnan(values)]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, min(_PIECES, max(2, len(known) // 5)) + 1)[1:-1]))
    return np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="right"))

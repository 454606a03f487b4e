"""Features that are the group in disguise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairpca.own_data._decisions import Decision, numbers_of, words_of

NEAR = 0.97  # balanced accuracy from which a single column counts as a copy of the group
_ROWS = 20_000  # more do not change what is found


def copies_of_the_group(
    frame: pd.DataFrame, decisions: Sequence[Decision], labels: np.ndarray
) -> list[tuple[str, float]]:
    """Return columns that alone tell the group of (nearly) every row, with their balanced accuracy.

    Words tell it by the most likely group of each level, numbers by cutting their range into at most two pieces a
    group. Each group weighs the same, so that a rare one is not overlooked.
    """
    codes, groups = pd.factorize(labels)
    if len(groups) < 2:
        return []
    if len(frame) > _ROWS:
        chosen = np.random.default_rng(0).choice(len(frame), _ROWS, replace=False)
        frame, codes = frame.iloc[chosen], codes[chosen]
    found = []
    for decision in decisions:
        if decision.role in ("pair", "category"):
            levels = pd.factorize(words_of(frame[decision.column]))[0]
        elif decision.role == "number":
            levels = _pieces(frame[decision.column], codes, 2 * len(groups))
        else:
            continue
        table = np.zeros((levels.max() + 1, len(groups)))
        np.add.at(table, (levels, codes), 1.0)
        counts = table.sum(axis=0)
        share = float((table / np.where(counts > 0, counts, 1)).max(axis=1).sum() / max((counts > 0).sum(), 1))
        if share >= NEAR and len(table) <= max(20, 2 * len(groups)) and counts.min() >= 5:
            found.append((decision.column, share))
    return found


def _pieces(column: pd.Series, codes: np.ndarray, n_pieces: int) -> np.ndarray:
    from sklearn.tree import DecisionTreeClassifier

    values = np.nan_to_num(numbers_of(column))[:, None]
    tree = DecisionTreeClassifier(max_leaf_nodes=max(2, n_pieces), class_weight="balanced", random_state=0)
    return pd.factorize(tree.fit(values, codes).apply(values))[0]

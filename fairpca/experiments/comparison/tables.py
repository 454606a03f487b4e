"""The twelve tables of the comparison, split several times, standardised by their training rows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from fairpca.datasets import load, standardise
from fairpca.report import Rows

__all__ = ["DIMENSIONS", "LARGEST", "TABLES", "dimensions", "split_rows", "whole"]

# Ten of the papers' data sets, one that is in none of them, and one of scikit-learn's. Where the papers have several
# versions of a table, one stands for all.
TABLES = (
    "compas",
    "german",
    "adult",
    "default_credit",
    "taiwan_credit",
    "wine_quality",
    "skillcraft",
    "letter",
    "magic",
    "statlog",
    "crime",
    "diabetes",
)
LARGEST = 1500  # rows of one split, drawn anew for each from a larger table
TRAIN = 2 / 3
DIMENSIONS = (2, 5, 10)
# Ranks of the standardised features where it is less than their number: more components than that explain all.
_RANKS = {"compas": 9, "german": 45, "adult": 84, "diabetes": 8, "magic": 10, "wine_quality": 11}


def dimensions(name: str) -> list[int]:
    """Numbers of components that reduce anything: fewer than the features of the table have rank."""
    return [d for d in DIMENSIONS if d < _RANKS.get(name, LARGEST)]


@lru_cache(maxsize=4)
def whole(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return features, groups and label (None, or two classes) of a whole table.

    `diabetes` is scikit-learn's (Efron et al. 2004): groups are sex by age (up to 50 years or more), which are then no
    features; the label says whether the disease progressed more than in the median patient. The table does not say
    which sex its codes 1 and 2 are.
    """
    if name == "diabetes":
        from sklearn.datasets import load_diabetes

        data = load_diabetes(scaled=False)
        older = np.where(data.data[:, 0] > 50, "over 50", "up to 50")
        groups = np.char.add(np.char.add("sex ", data.data[:, 1].astype(int).astype(str)), np.char.add(", ", older))
        return data.data[:, 2:], groups, data.target > np.median(data.target)
    found: Any = load(name)
    two = found.y is not None and len(np.unique(found.y)) == 2
    return np.asarray(found.X, dtype=np.float64), np.asarray(found.sensitive_features), found.y if two else None


@lru_cache(maxsize=2)
def split_rows(name: str, split: int) -> tuple[Rows, Rows]:
    """Return training and held-out rows of one split; every group is in both in its share.

    Columns are standardised by the training rows; those that are constant there are left out.
    """
    X, groups, y = whole(name)
    rng = np.random.default_rng([split, len(X)])
    drawn = rng.permutation(len(X))[:LARGEST]
    test = np.zeros(len(drawn), dtype=bool)
    for label in np.unique(groups):
        members = np.flatnonzero(groups[drawn] == label)
        test[members[round(TRAIN * len(members)) :]] = True
    parts = drawn[~test], drawn[test]
    varies = np.ptp(X[parts[0]], axis=0) > 0
    scaled = standardise(X[parts[0]][:, varies], X[parts[1]][:, varies])
    train, held = (
        Rows(Z, groups[part], None if y is None else y[part], seed=split) for Z, part in zip(scaled, parts, strict=True)
    )
    return train, held

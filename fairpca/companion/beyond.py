"""The tables on which the methods meet: splits, samples, and how rows are prepared."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from fairpca._validation import encode_groups
from fairpca.datasets import load, standardise
from fairpca.report import MEASURES, Rows, Settings, Split
from fairpca.report.statistics import paired_differences
from fairpca.tables import column_limits

__all__ = [
    "FAMILIES",
    "FAMILY",
    "differences",
    "discriminant",
    "population",
    "prepared",
    "prices",
    "sample",
    "shared_split",
    "split_rows",
    "table_rows",
]

FAMILIES = {
    "no groups": ("pca",),
    "equal errors": (
        "minmax_loss", "minmax_error", "minmax_variance", "minmax_nash", "rfpca",
    ),
    "equal means": (
        "fpca_mean", "mean_orthogonal", "mean_oblique", "leace", "inlp",
    ),
    "equal distributions": (
        "fpca_both", "mean_covariance", "mbfpca_1e2", "mbfpca_1e3",
    ),
    "group of new rows": (
        "correlation_remover", "gaussian_repair", "group_standardised",
    ),
}
FAMILY = {name: family for family, names in FAMILIES.items() for name in names}


@lru_cache(maxsize=4)
def table_rows(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return features, groups, and a label of two classes or None."""
    if name == "diabetes":  # of scikit-learn; groups are sex by age
        data = load_diabetes(scaled=False)
        age, sex = data.data[:, 0], data.data[:, 1].astype(int).astype(str)
        older = np.where(age > 50, "over 50", "up to 50")
        groups = np.char.add(np.char.add("sex ", sex), np.char.add(", ", older))
        return data.data[:, 2:], groups, data.target > np.median(data.target)
    data = load(name)
    two = data.y is not None and len(np.unique(data.y)) == 2
    X, groups = np.asarray(data.X, dtype=float), np.asarray(data.sensitive_features)
    return X, groups, data.y if two else None


@lru_cache(maxsize=2)
def split_rows(name: str, split: int) -> tuple[Rows, Rows]:
    """Draw at most 1500 rows; two thirds of each group train, one third is held out."""
    X, groups, y = table_rows(name)
    rng = np.random.default_rng([split, len(X)])
    drawn = rng.permutation(len(X))[:1500]
    held = np.zeros(len(drawn), dtype=bool)
    for label in np.unique(groups):
        members = np.flatnonzero(groups[drawn] == label)
        held[members[round(2 / 3 * len(members)) :]] = True
    train, test = drawn[~held], drawn[held]
    varies = np.ptp(X[train], axis=0) > 0
    scaled = standardise(X[train][:, varies], X[test][:, varies])
    labels = [None if y is None else y[part] for part in (train, test)]
    first = Rows(scaled[0], groups[train], labels[0], seed=split)
    return first, Rows(scaled[1], groups[test], labels[1], seed=split)


@lru_cache(maxsize=4)
def shared_split(name: str, split: int, d: int) -> Split:
    """Return what all methods on one split are measured against."""
    settings = Settings(kernel_rows=500, permutations=200, folds=3, tree_rounds=30)
    return Split(*split_rows(name, split), d, settings, seed=split)


def differences(cells: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    """Return each difference from PCA, and on which side of zero its interval lies."""
    parts = []
    for measure in measures:
        part = paired_differences(cells, measure, against="pca").assign(measure=measure)
        below, above = part["high"] < 0, part["low"] > 0
        low = MEASURES[measure].better == "low"
        part["better"], part["worse"] = (below, above) if low else (above, below)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def prices(cells: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    """Average the differences from PCA, and count those beyond their interval."""
    return differences(cells, measures).groupby(["method", "measure"]).agg(
        difference=("difference", "mean"), better=("better", "sum"),
        worse=("worse", "sum"), settings=("better", "size"),
    )


@lru_cache(maxsize=5)
def population(name: str, largest: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and group (0 or 1) of a table, of a large one so many rows."""
    data = load(name)
    rows = np.random.default_rng(len(data.X)).permutation(len(data.X))[:largest]
    X = np.asarray(data.X, dtype=float)[rows]
    groups = encode_groups(np.asarray(data.sensitive_features)[rows])
    return X[:, np.ptp(X, axis=0) > 0], groups.codes


def sample(group: np.ndarray, sizes: tuple[int, int], rng: Any) -> np.ndarray:
    """Draw rows of both groups with replacement, fewer of the smaller group."""
    order = np.argsort(np.bincount(group), kind="stable")
    pairs = zip(order, sorted(sizes), strict=True)
    return np.concatenate([rng.choice(np.flatnonzero(group == g), n) for g, n in pairs])


def prepared(
    train: np.ndarray, *others: np.ndarray, scale: str = "standardise"
) -> list[np.ndarray]:
    """Clip outliers and scale columns as the commands do, by the training rows."""
    limits = column_limits(train)
    known = np.clip(train, *limits)
    mean, spread = known.mean(axis=0), np.ones(known.shape[1])
    if scale != "none":
        deviation, extent = known.std(axis=0), np.ptp(known, axis=0)
        spread = deviation if scale == "standardise" else extent
        varies = spread > 1e-12 * np.maximum(np.abs(mean), 1e-300)
        spread = np.where(varies, spread, 1.0)
    clipped = (known, *(np.clip(rows, *limits) for rows in others))
    return [(rows - mean) / spread for rows in clipped]


def discriminant(Z_train: np.ndarray, group: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Score rows by the linear discriminant of group 1 against group 0."""
    centre, spread = Z_train.mean(axis=0), Z_train.std(axis=0)
    constant = spread <= 1e-10 * max(float(spread.max(initial=0)), 1e-300)
    spread = np.where(constant, np.inf, spread)
    known, rows = (Z_train - centre) / spread, (Z - centre) / spread
    first, second = (known[group == g] for g in (0, 1))
    within = np.atleast_2d(np.cov(first.T, ddof=0) + np.cov(second.T, ddof=0)) / 2
    ridge = 1e-3 * max(float(np.trace(within)) / len(within), 1e-12)
    apart = second.mean(axis=0) - first.mean(axis=0)
    return np.asarray(rows @ np.linalg.solve(within + ridge * np.eye(len(within)), apart))

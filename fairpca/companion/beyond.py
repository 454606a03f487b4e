"""The tables on which the methods meet: splits, samples, and prepared rows."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
from scipy.stats import t as student
from sklearn.datasets import load_diabetes

from fairpca._validation import encode_groups
from fairpca.datasets import load, standardise
from fairpca.report import MEASURES, Rows, Settings, Split

__all__ = [
    "FAMILIES",
    "FAMILY",
    "differences",
    "paired_differences",
    "population",
    "prices",
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
    """Draw at most 1500 rows; a third of each group is held out."""
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


def paired_differences(
    cells: pd.DataFrame, measure: str, against: str
) -> pd.DataFrame:
    """Return each method's mean difference from one method, over the same splits.

    Training parts of random splits overlap, so that the usual interval is too short.
    The variance of the mean is taken as (1/n + n_test/n_train) s² with n - 1 degrees
    of freedom (Nadeau and Bengio 2003); a third of the rows of a split is held out.
    """
    keys = ["dataset", "d"]
    wide = cells.pivot_table(
        index=[*keys, "split"], columns="method", values=measure, sort=False
    )
    apart = wide.sub(wide[against], axis=0).drop(columns=against)
    each = apart.groupby(level=keys, sort=False)
    n, mean = each.count(), each.mean()
    half = np.sqrt(1 / n.clip(lower=1) + 0.5) * each.std()
    half = half * student.ppf(0.975, np.maximum(n - 1, 1))
    found = {"difference": mean, "low": mean - half, "high": mean + half, "n": n}
    table = pd.concat(found, axis=1)
    table = table.stack("method", future_stack=True)  # noqa: PD013
    return table.dropna().reset_index()


def differences(cells: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    """Return each difference from PCA, and the side of zero of its interval."""
    parts = []
    for measure in measures:
        part = paired_differences(cells, measure, against="pca")
        part = part.assign(measure=measure)
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

"""Tables that stand for a population: samples are drawn from them, and what is true of new rows is known."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np

from fairpca._validation import Groups, encode_groups
from fairpca.datasets import load
from fairpca.tables import column_limits

__all__ = ["TABLES", "Scale", "population", "prepared", "sample"]

Scale = Literal["standardise", "min-max", "none"]  # the second is no option of the commands, but what many do

# Two groups each; measurements, money, games, letters and wine: from nearly normal to very skewed columns.
TABLES = ("default_credit", "letter", "magic", "skillcraft", "wine_quality")


@lru_cache(maxsize=5)
def population(dataset: str, largest: int = 2000) -> tuple[np.ndarray, Groups]:
    """Rows and groups of a table, of a large one as many rows as said, drawn once."""
    found = load(dataset)
    rows = np.random.default_rng(len(found.X)).permutation(len(found.X))[:largest]
    X = np.asarray(found.X, dtype=np.float64)[rows]
    varies = np.ptp(X, axis=0) > 0
    return X[:, varies], encode_groups(np.asarray(found.sensitive_features)[rows])


def sample(groups: Groups, sizes: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Draw independent rows of the population, so many of each group; the smaller group is the smaller one there."""
    order = np.argsort(groups.counts, kind="stable")
    return np.concatenate([rng.choice(groups.rows(int(g)), n) for g, n in zip(order, sorted(sizes), strict=True)])


def prepared(train: np.ndarray, *others: np.ndarray, scale: Scale = "standardise") -> list[np.ndarray]:
    """Return training rows and others as the commands prepare them, by `train`: outliers clipped, then scaled."""
    limits = column_limits(train)
    known = np.clip(train, *limits)
    mean, spread = known.mean(axis=0), np.ones(known.shape[1])
    if scale != "none":
        spread = known.std(axis=0) if scale == "standardise" else np.ptp(known, axis=0)
        spread = np.where(spread > 1e-12 * np.maximum(np.abs(mean), 1e-300), spread, 1.0)
    return [(rows - mean) / spread for rows in (known, *(np.clip(rows, *limits) for rows in others))]

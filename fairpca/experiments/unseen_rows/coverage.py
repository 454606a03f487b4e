"""How often intervals for new rows hold the truth: samples of a table, whose whole is the truth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from fairpca._validation import Groups
from fairpca.experiments.engine.runner import Cell, Profile, register, tidy
from fairpca.experiments.unseen_rows.population import TABLES, population, prepared, sample
from fairpca.report.intervals import Interval, auc_interval, difference_interval, gap_interval, mean_interval
from fairpca.report.method import Rows, fit_method
from fairpca.report.methods import get_method

__all__ = ["BLOCK", "RATIO", "SIZES", "run_block"]

SIZES = (20, 50, 200)  # rows of the smaller group
RATIO = 4  # rows of the larger group for each of them
BLOCK = 50  # samples a cell
_BLOCKS = 20
_METHODS = ("pca", "minmax_loss")
_PARTS, _COMPONENTS = 5, 2
_QUANTITIES = ("small", "large", "difference", "gap", "recovery")


def run_block(*, dataset: str, method: str, setting: str, split: int) -> dict[str, Any]:
    """Draw samples, cross-fit, and see whether each interval holds what is true of the whole table.

    Returns
    -------
    dict
        For each quantity the number of samples whose interval held it, and their mean width.
    """
    X, groups = population(dataset)
    size = int(setting.removeprefix("n="))
    rng = np.random.default_rng([split, size, len(X)])
    held = dict.fromkeys(_QUANTITIES, 0)
    width = dict.fromkeys(_QUANTITIES, 0.0)
    for _ in range(BLOCK):
        rows = sample(groups, (size, RATIO * size), rng)
        for name, (interval, truth) in _intervals(X, groups, rows, method, rng).items():
            held[name] += bool(interval.low <= truth <= interval.high)
            width[name] += (interval.high - interval.low) / BLOCK
    return {
        **{f"coverage_{name}": 100.0 * held[name] / BLOCK for name in _QUANTITIES},
        **{f"width_{name}": float(f"{width[name]:.5g}") for name in _QUANTITIES},
    }


def _intervals(
    X: np.ndarray, groups: Groups, rows: np.ndarray, method: str, rng: np.random.Generator
) -> dict[str, tuple[Interval, float]]:
    """Return each interval from a sample, with what is true of the models of the cross-fitting."""
    codes = groups.codes[rows]
    parts = np.empty(len(rows), dtype=int)
    for g in (0, 1):
        members = rng.permutation(np.flatnonzero(codes == g))
        parts[members] = np.arange(len(members)) % _PARTS
    errors, scores = np.empty(len(rows)), np.empty(len(rows))
    true_errors, true_areas = np.zeros((_PARTS, 2)), np.zeros(_PARTS)
    for part in range(_PARTS):
        mask = parts == part
        train, every = prepared(X[rows[~mask]], X)
        known = Rows(train, Groups(groups.labels, codes[~mask]))
        fitted = fit_method(get_method(method), known, _COMPONENTS)
        Z_train, Z = fitted.encode(known.X, known.groups), fitted.encode(every, groups)
        squares = _squared_errors(Z_train, known.X, Z, every)
        direction = _discriminant(Z_train, codes[~mask])
        told = Z @ direction
        errors[mask], scores[mask] = squares[rows[mask]], told[rows[mask]]
        true_errors[part] = [squares[groups.rows(g)].mean() for g in (0, 1)]
        true_areas[part] = _area(told[groups.rows(1)], told[groups.rows(0)])
    of = [(errors[codes == g], parts[codes == g]) for g in (0, 1)]
    # Each part weighs as many rows as it has of the group; that of the areas as many as it has.
    truth = [float(np.average(true_errors[:, g], weights=np.bincount(of[g][1], minlength=_PARTS))) for g in (0, 1)]
    area = float(np.average(true_areas, weights=np.bincount(parts, minlength=_PARTS)))
    small = int(np.argmin(np.bincount(codes)))
    large = 1 - small
    return {
        "small": (mean_interval(*of[small]), truth[small]),
        "large": (mean_interval(*of[large]), truth[large]),
        "difference": (difference_interval(*of[small], *of[large]), truth[small] - truth[large]),
        "gap": (gap_interval([v for v, _ in of], [p for _, p in of]), abs(truth[0] - truth[1])),
        "recovery": (auc_interval(scores, codes == 1, parts), area),
    }


def _squared_errors(Z_train: np.ndarray, train: np.ndarray, Z: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Squared error of each row, decoded by least squares on the training rows."""
    z, x = Z_train.mean(axis=0), train.mean(axis=0)
    B = np.linalg.lstsq(Z_train - z, train - x, rcond=1e-10)[0]
    return np.asarray(np.sum((rows - x - (Z - z) @ B) ** 2, axis=1))


def _discriminant(Z: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Fisher's linear discriminant of the groups."""
    within = np.mean([np.cov(Z[codes == g].T, ddof=0).reshape(Z.shape[1], -1) for g in (0, 1)], axis=0)
    ridge = 1e-9 * max(float(np.trace(within)), 1e-300)
    return np.linalg.solve(
        within + ridge * np.eye(len(within)), Z[codes == 1].mean(axis=0) - Z[codes == 0].mean(axis=0)
    )


def _area(a: np.ndarray, b: np.ndarray) -> float:
    ordered = np.sort(b)
    below, up_to = np.searchsorted(ordered, a, "left"), np.searchsorted(ordered, a, "right")
    return float(np.mean((below + up_to) / (2.0 * len(b))))


def _cells(profile: Profile) -> Iterable[Cell]:
    if profile == "smoke":
        return [Cell(dataset="wine_quality", method="pca", setting="n=20", split=0)]
    return [
        Cell(dataset=dataset, method=method, setting=f"n={size}", split=split)
        for dataset in TABLES
        for method in _METHODS
        for size in SIZES
        for split in range(_BLOCKS)
    ]


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    metrics = [f"{kind}_{name}" for kind in ("coverage", "width") for name in _QUANTITIES]
    return tidy(cells, metrics, by=("dataset", "method", "setting"), protocol="stated")


register(
    "unseen_rows/coverage",
    cells=_cells,
    run_cell=run_block,
    tabulate=_tabulate,
    title="How often 95 % intervals for new rows hold the truth: 1000 samples of five tables",
)

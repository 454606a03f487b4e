"""How often intervals for new rows hold the truth: samples of a table, whose whole is the truth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from fairpca._validation import Groups
from fairpca.experiments.engine.runner import Cell, Profile, register, tidy
from fairpca.experiments.unseen_rows.population import TABLES, Scale, population, prepared, sample
from fairpca.report.intervals import Interval, auc_interval, difference_interval, gap_interval, mean_interval
from fairpca.report.measures import Decoder
from fairpca.report.methods import Method, Rows, fit_method, get_method

__all__ = ["BLOCK", "RATIO", "RIVALS", "run_block"]

RATIO = 4  # rows of the larger group for each of the smaller one
BLOCK = 50  # samples a cell
_POPULATION = 1000
_PARTS, _COMPONENTS = 5, 2
_QUANTITIES = ("small", "large", "difference", "gap", "recovery")
RIVALS = ("student", "percentile", "bca", "bootstrap-t")  # what one would otherwise take for a group's error
_RESAMPLES = 999
_SETTINGS = {  # with their number of blocks; columns are standardised where nothing is said
    ("pca", "n=20"): 20,
    ("pca", "n=50"): 20,
    ("pca", "n=200"): 20,
    ("pca", "n=20, min-max"): 8,
    ("pca", "n=20, none"): 8,
    ("minmax_loss", "n=20"): 8,
}


def run_block(*, dataset: str, method: str, setting: str, split: int) -> dict[str, Any]:
    """Draw samples, cross-fit, and see whether each interval holds what is true of the whole table.

    Returns
    -------
    dict
        For each quantity the share of samples, in %, whose interval held the truth, the share whose interval was
        wholly below it, and the median width; for the groups' errors also the shares that `RIVALS` held.
    """
    X, groups = population(dataset, _POPULATION)
    size, scale = _read(setting)
    rng, chosen = np.random.default_rng([split, size, len(X)]), get_method(method)
    resampling = np.random.default_rng([split, size, len(X), 1])
    found: dict[str, list[tuple[bool, bool, float]]] = {name: [] for name in _QUANTITIES}
    usual: dict[str, list[bool]] = {f"{name}:{rival}": [] for name in ("small", "large") for rival in RIVALS}
    for _ in range(BLOCK):
        rows = sample(groups, (size, RATIO * size), rng)
        intervals, values = _intervals(X, groups, rows, chosen, scale, rng)
        for name, (interval, truth) in intervals.items():
            held = interval.low <= truth <= interval.high
            found[name].append((held, interval.high < truth, interval.high - interval.low))
        for name, measured in values.items():
            for rival, (low, high) in _usual_intervals(measured, resampling).items():
                usual[f"{name}:{rival}"].append(bool(low <= intervals[name][1] <= high))
    kinds: dict[str, Any] = {f"coverage_{name}": float(100.0 * np.mean(held)) for name, held in usual.items()}
    for name, samples in found.items():
        held, below, _ = np.mean(samples, axis=0)
        kinds |= {f"coverage_{name}": float(100.0 * held), f"below_{name}": float(100.0 * below)}
        kinds[f"width_{name}"] = float(f"{np.median([width for *_, width in samples]):.5g}")
    return kinds


def _usual_intervals(values: np.ndarray, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """Return 95 % intervals for a mean as they are usually made, from one group's values alone."""
    n, mean, error = len(values), float(values.mean()), float(stats.sem(values))
    reach = error * float(stats.t.ppf(0.975, n - 1))
    found = {"student": (mean - reach, mean + reach)}
    for method in ("percentile", "bca"):
        result = stats.bootstrap((values,), np.mean, n_resamples=_RESAMPLES, method=method, rng=rng)
        found[method] = result.confidence_interval
    drawn = values[rng.integers(n, size=(_RESAMPLES, n))]
    studentised = (drawn.mean(axis=1) - mean) / np.maximum(stats.sem(drawn, axis=1), 1e-9 * error)
    low, high = np.quantile(studentised, (0.025, 0.975))
    return found | {"bootstrap-t": (mean - high * error, mean - low * error)}


def _read(setting: str) -> tuple[int, Scale]:
    """Rows of the smaller group and scaling of the columns, as in "n=20, none"."""
    size, _, told = setting.removeprefix("n=").partition(", ")
    scales: dict[str, Scale] = {"": "standardise", "min-max": "min-max", "none": "none"}
    return int(size), scales[told]


def _intervals(
    X: np.ndarray, groups: Groups, rows: np.ndarray, method: Method, scale: Scale, rng: np.random.Generator
) -> tuple[dict[str, tuple[Interval, float]], dict[str, np.ndarray]]:
    """Return each interval from a sample, with what is true of the cross-fitted models, and what was measured."""
    codes = groups.codes[rows]
    parts = np.empty(len(rows), dtype=int)
    for g in (0, 1):
        members = rng.permutation(np.flatnonzero(codes == g))
        parts[members] = np.arange(len(members)) % _PARTS
    errors, scores = np.empty(len(rows)), np.empty(len(rows))
    true_errors, true_areas = np.zeros((_PARTS, 2)), np.zeros(_PARTS)
    for part in range(_PARTS):
        mask = parts == part
        train, every = prepared(X[rows[~mask]], X, scale=scale)
        known = Rows(train, Groups(groups.labels, codes[~mask]))
        fitted = fit_method(method, known, _COMPONENTS)
        Z_train, Z = fitted.encode(known.X, known.groups), fitted.encode(every, groups)
        squares = 100.0 * np.sum((every - Decoder(Z_train, known.X)(Z)) ** 2, axis=1) / np.sum(known.X.var(axis=0))
        told = _group_scores(Z_train, codes[~mask], Z)
        errors[mask], scores[mask] = squares[rows[mask]], told[rows[mask]]
        true_errors[part] = [squares[groups.rows(g)].mean() for g in (0, 1)]
        true_areas[part] = _area(told[groups.rows(1)], told[groups.rows(0)])
    values, where = ([v[codes == g] for g in (0, 1)] for v in (errors, parts))
    # Each part weighs as many rows as it has of the group; that of the areas as many as it has.
    truth = [float(np.average(true_errors[:, g], weights=np.bincount(where[g], minlength=_PARTS))) for g in (0, 1)]
    area = float(np.average(true_areas, weights=np.bincount(parts, minlength=_PARTS)))
    small = int(np.argmin(np.bincount(codes)))
    large = 1 - small
    means = [mean_interval(values[g], where[g], others=[values[1 - g]]) for g in (0, 1)]
    difference = difference_interval(values[small], where[small], values[large], where[large])
    intervals = {
        "small": (means[small], truth[small]),
        "large": (means[large], truth[large]),
        "difference": (difference, truth[small] - truth[large]),
        "gap": (gap_interval(values, where), abs(truth[0] - truth[1])),
        "recovery": (auc_interval(scores, codes == 1, parts, dimensions=_COMPONENTS), area),
    }
    return intervals, {"small": values[small], "large": values[large]}


def _area(a: np.ndarray, b: np.ndarray) -> float:
    ordered = np.sort(b)
    below, up_to = np.searchsorted(ordered, a, "left"), np.searchsorted(ordered, a, "right")
    return float(np.mean((below + up_to) / (2.0 * len(b))))


def _group_scores(Z_train: np.ndarray, codes: np.ndarray, Z_test: np.ndarray) -> np.ndarray:
    """Scores of the linear discriminant of the second group against the first, learned from the training rows."""
    centre, spread = Z_train.mean(axis=0), Z_train.std(axis=0)
    spread = np.where(spread > 1e-10 * max(float(spread.max(initial=0.0)), 1e-300), spread, np.inf)
    Z, held = (Z_train - centre) / spread, (Z_test - centre) / spread
    within = np.zeros((Z.shape[1], Z.shape[1]))
    for g in (0, 1):
        rows = Z[codes == g]
        within += np.cov(rows.T, ddof=0).reshape(within.shape) / 2.0
    difference = Z[codes == 1].mean(axis=0) - Z[codes == 0].mean(axis=0)
    ridge = 1e-3 * max(float(np.trace(within)) / len(within), 1e-12)
    return np.asarray(held @ np.linalg.solve(within + ridge * np.eye(len(within)), difference))


def _cells(profile: Profile) -> Iterable[Cell]:
    if profile == "smoke":
        return [Cell(dataset="wine_quality", method="pca", setting="n=20", split=0)]
    return [
        Cell(dataset=dataset, method=method, setting=setting, split=split)
        for dataset in TABLES
        for (method, setting), blocks in _SETTINGS.items()
        for split in range(blocks)
    ]


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    metrics = [f"{kind}_{name}" for kind in ("coverage", "below", "width") for name in _QUANTITIES]
    metrics += [f"coverage_{name}:{rival}" for name in ("small", "large") for rival in RIVALS]
    return tidy(cells, metrics, by=("dataset", "method", "setting"), protocol="stated")


register(
    "unseen_rows/coverage",
    cells=_cells,
    run_cell=run_block,
    tabulate=_tabulate,
    title="How often 95 % intervals for new rows hold the truth: samples of five tables",
)

"""Figures 2 and 3 of Lee et al. (2022): variance, MMD² and running time on synthetic data 2 of growing dimension.

"As printed" is what the authors' program did: their own files, in which each group has a random matrix of its own,
not standardised, d = 5, the code's bandwidth, the first training row lost to FPCA. "As stated" is the text: one random
matrix, standardised, the median distance, all rows; the data are drawn by our generator.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from time import process_time
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from fairpca import FPCA, MBFPCA, PCA, GroupMoments
from fairpca.datasets import load
from fairpca.experiments.engine.runner import Cell, Profile, register
from fairpca.experiments.lee2022.fpca import FPCA_METHODS
from fairpca.metrics import explained_variance_percent, median_bandwidth, mmd_squared
from fairpca.synthetic import lee_synthetic2

__all__ = ["DIMENSION", "WIDTHS", "as_drawn", "parts", "run_scaling", "run_split"]

DIMENSION = 5  # of the authors' stored loading matrices; the text does not say
WIDTHS = tuple(range(20, 101, 10))
RULES: dict[str, Literal["code", "median"]] = {"printed": "code", "stated": "median"}
STATISTICS = {"min": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "max": 1.0}

Part = tuple[np.ndarray, np.ndarray]


def parts(p: int, split: int, protocol: str) -> tuple[Part, Part]:
    """Return training part and test part, each as rows and groups."""
    if protocol == "printed":
        train, test = load("synthetic2", p=p, split=split)
        return (train.X, train.group_code), (test.X, test.group_code)
    # One sample for all splits of a dimension, as in the paper; 168 and 72 rows of each group.
    X, groups = lee_synthetic2(p, protocol="stated", random_state=p)
    order = np.concatenate([240 * g + np.random.default_rng([p, split, g]).permutation(240) for g in (0, 1)]).reshape(
        2, 240
    )
    rows, others = order[:, :168].ravel(), order[:, 168:].ravel()
    mean, scale = X[rows].mean(axis=0), X[rows].std(axis=0)
    X = (X - mean) / scale
    return (X[rows], groups[rows]), (X[others], groups[others])


def run_split(*, dataset: str, p: int, split: int, method: str, setting: str, d: int, protocol: str) -> dict[str, Any]:
    """Compute one method on one split."""
    (X, groups), (X_test, groups_test) = parts(p, split, protocol)
    reference = PCA(d).fit(X, sensitive_features=groups).components_.T
    sigma = median_bandwidth(X @ reference, RULES[protocol])
    start = process_time()
    V = reference if method == "pca" else _fit(method, setting, X, groups, d, protocol)
    seconds = process_time() - start
    return {
        "pct_var": explained_variance_percent(X_test, V),
        "mmd2": mmd_squared(X_test @ V, groups_test, sigma=sigma),
        "train_pct_var": explained_variance_percent(X, V),
        "train_mmd2": mmd_squared(X @ V, groups, sigma=sigma),
        "seconds": seconds if method != "pca" else float("nan"),
    }


def _fit(method: str, setting: str, X: np.ndarray, groups: np.ndarray, d: int, protocol: str) -> np.ndarray:
    if method == "fpca":
        rows = slice(1, None) if protocol == "printed" else slice(None)
        model = FPCA(d, delta=0.0, **FPCA_METHODS["fpca"])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*hardly determined", UserWarning)
            return model.fit(X[rows], sensitive_features=groups[rows]).components_.T
    tau = float(setting.removeprefix("tau="))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the MMD² of the training part is recorded
        model = MBFPCA(d, tau=tau, bandwidth=RULES[protocol], random_state=0)
        return model.fit(X, sensitive_features=groups).components_.T


def _cells(profile: Profile) -> Iterable[Cell]:
    widths, splits = (WIDTHS, range(10)) if profile == "paper" else ((20,), range(1))
    settings = {
        "printed": [("pca", ""), ("fpca", "delta=0"), *(("mbfpca", f"tau={t}") for t in _TAUS)],
        "stated": [("pca", ""), ("fpca", "delta=0"), ("mbfpca", "tau=1e-5")],
    }
    return [
        Cell(dataset="synthetic2", p=p, split=split, method=method, setting=setting, d=DIMENSION, protocol=protocol)
        for protocol, chosen in settings.items()
        if protocol == "stated" or profile == "paper"
        for p in widths
        for method, setting in chosen
        for split in splits
    ]


_TAUS = ("1", "1e-1", "1e-2", "1e-3", "1e-4", "1e-5", "1e-6", "1e-7")


def _summary(values: np.ndarray) -> dict[str, float]:
    quantiles = {name: float(np.quantile(values, level)) for name, level in STATISTICS.items()}
    return {**quantiles, "mean": float(np.mean(values)), "n": len(values)}


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    keys = ["dataset", "p", "method", "setting", "d", "protocol"]
    rows = []
    for group, part in cells.groupby(keys, sort=False):
        for metric in ("pct_var", "mmd2", "seconds", "train_mmd2"):
            values = part[metric].to_numpy(dtype=float)
            if not np.isnan(values).any():
                rows.append({**dict(zip(keys, group, strict=True)), "metric": metric, **_summary(values)})
    return pd.DataFrame(rows)


def as_drawn(cells: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Give values the dimensions that the published plotting script gives them.

    The script lays out each 10 × 9 table of results dimension by dimension, but repeats the labels 20, 30, …, 100 row
    by row, so that every box holds values of all dimensions.

    Parameters
    ----------
    cells : DataFrame
        Columns ``p, split`` and the metric, of one method and setting.
    metric : str
        Which column.

    Returns
    -------
    DataFrame
        Columns ``p`` (as drawn) and the metric, in the script's order.
    """
    ordered = cells.sort_values(["p", "split"])
    widths = sorted(set(ordered["p"]))
    labels = np.tile(widths, len(ordered) // len(widths))
    return pd.DataFrame({"p": labels, metric: ordered[metric].to_numpy()})


# --------------------------------------------------------------------------------------------------------------------
# Times up to p = 1000


def run_scaling(*, dataset: str, p: int, method: str, setting: str, d: int) -> dict[str, Any]:
    """Measure the processor time of one fit, on one draw of the stated data."""
    X, groups = lee_synthetic2(p, protocol="stated", random_state=p)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    extra: dict[str, float] = {}
    if method == "fpca_cvxpy":
        from fairpca.solvers.fpca import solve_fpca_cvxpy

        problem = FPCA(d, delta=0.0, **FPCA_METHODS["fpca"]).problem(GroupMoments.from_data(X, groups))
        start = process_time()
        outcome = solve_fpca_cvxpy(problem, backend="clarabel", form="printed" if setting == "printed" else "rotated")
        extra["objective"] = float(outcome.value)
    else:
        start = process_time()
        V = _fit(method, setting, X, groups, d, "stated")
        extra["pct_var"] = explained_variance_percent(X, V)
    return {"seconds": process_time() - start, **extra}


_SCALING = {
    ("fpca", "delta=0"): (20, 50, 100, 200, 500, 1000),
    ("fpca_cvxpy", "rotated"): (10, 15, 20, 30),
    ("fpca_cvxpy", "printed"): (10, 15, 20),
    ("mbfpca", "tau=1e-3"): (20, 50, 100, 200, 500, 1000),
    ("mbfpca", "tau=1e-5"): (20, 50, 100, 200, 500, 1000),
}


def _scaling_cells(profile: Profile) -> Iterable[Cell]:
    return [
        Cell(dataset="synthetic2", p=p, method=method, setting=setting, d=DIMENSION)
        for (method, setting), widths in _SCALING.items()
        for p in (widths if profile == "paper" else widths[:1])
    ]


def _tabulate_scaling(cells: pd.DataFrame) -> pd.DataFrame:
    return (
        cells[["dataset", "p", "method", "setting", "d", "seconds"]]
        .rename(columns={"seconds": "value"})
        .assign(metric="seconds", protocol="stated")
    )


register(
    "lee2022/synthetic2",
    cells=_cells,
    run_cell=run_split,
    tabulate=_tabulate,
    title="Figures 2 and 3: synthetic data 2, as the program did it and as the text states it",
)
register(
    "lee2022/scaling",
    cells=_scaling_cells,
    run_cell=run_scaling,
    tabulate=_tabulate_scaling,
    title="Figure 3 extended: running times up to 1000 features",
)

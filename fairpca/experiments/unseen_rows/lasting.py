"""How far a balance on the training rows lasts: every method on samples of five tables, then on the whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from fairpca._validation import Groups
from fairpca.experiments.comparison.methods import for_each_method
from fairpca.experiments.engine.runner import Cell, Profile, register, tidy
from fairpca.experiments.unseen_rows.population import TABLES, population, prepared, sample
from fairpca.report.measures import Settings, Split, evaluate
from fairpca.report.methods import Method, Rows, Skipped, fit_method, known_methods

__all__ = ["SIZES", "run_sample"]

SIZES = (30, 300)  # training rows of the smaller group; the larger has three times as many
_SPLITS, _COMPONENTS, _NEW = 3, 2, 1000
_SETTINGS = Settings(kernel_rows=300, permutations=0, folds=3, tree_rounds=0)
_WANTED = ("error_gap", "loss_gap", "mmd2", "linear_auc")


def run_sample(*, dataset: str, setting: str, split: int, method: str, fit: Any, **declared: Any) -> dict[str, Any]:
    """Fit a method to a sample, and measure it on the sample itself and on new rows."""
    X, groups = population(dataset)
    size = int(setting.removeprefix("n="))
    rng = np.random.default_rng([split, size, len(X)])
    rows = sample(groups, (size, 3 * size), rng)
    new = rng.permutation(np.setdiff1d(np.arange(len(X)), rows))[:_NEW]
    train, test = (
        Rows(Z, Groups(groups.labels, groups.codes[index]), seed=split)
        for Z, index in zip(prepared(X[rows], X[new]), (rows, new), strict=True)
    )
    try:
        fitted = fit_method(Method(method, method, "", "", fit, **declared), train, _COMPONENTS)
    except Skipped as skipped:
        return {"skipped": str(skipped)}
    found: dict[str, Any] = {}
    for name, held in (("training", train), ("new", test)):
        values = evaluate(fitted, Split(train, held, _COMPONENTS, _SETTINGS, seed=split))
        found |= {f"{metric}_{name}": float(f"{values[metric]:.5g}") for metric in _WANTED if metric in values}
    return found


def _cells(profile: Profile) -> Iterable[Cell]:
    names = list(known_methods())
    if profile == "smoke":
        return [
            Cell(dataset="wine_quality", method=name, setting="n=30", split=0) for name in names if "mbf" not in name
        ]
    return [
        Cell(dataset=dataset, method=name, setting=f"n={size}", split=split)
        for dataset in TABLES
        for name in names
        for size in SIZES
        for split in range(_SPLITS)
    ]


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    metrics = [f"{name}_{rows}" for name in _WANTED for rows in ("training", "new")]
    metrics = [name for name in metrics if name in cells.columns and cells[name].notna().any()]
    table = tidy(cells, metrics, by=("dataset", "method", "setting"), protocol="stated")
    return table[table["n"] > 0]


register(
    "unseen_rows/lasting",
    cells=_cells,
    run_cell=for_each_method(run_sample),
    tabulate=_tabulate,
    title="Balance on the training rows and on new rows: all methods, samples of five tables",
)

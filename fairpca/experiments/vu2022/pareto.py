"""Figures 2, 5 and 6 of Vu et al. (2022): error against gap for every hyper-parameter, on all rows, k = 3.

"As printed" repeats the program: five seeds, which change the random starts of RFPCA only. "As stated" has the exact
solvers; its RFPCA sweeps the same grid, CFPCA-Mean has the constraint of its paper, and PCA is one more point.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from fairpca.datasets import load, standardise
from fairpca.experiments.engine.runner import Cell, Profile, register, tidy
from fairpca.experiments.vu2022 import methods
from fairpca.experiments.vu2022.protocol import Method, Rows, errors, words

__all__ = ["COMPONENTS", "DATASETS", "run_fairpca", "run_mean", "run_pca", "run_rfpca"]

# Figure 2, 5, 6.
DATASETS = ("default_credit", "biodeg", "german_credit")
COMPONENTS, _SEEDS = 3, 5


def _points(compared: Method, dataset: str, split: int, d: int) -> list[dict[str, Any]]:
    data = load(dataset)
    rows = Rows(standardise(np.asarray(data.X, dtype=np.float64))[0], data.group_code)
    moments = rows.moments
    models = compared.fit(rows, d, np.random.RandomState(split))
    return [
        {"setting": words(setting), **errors(model, moments, moments, moments.means)}
        for setting, model in zip(compared.settings, models, strict=True)
    ]


def run_rfpca(*, dataset: str, split: int, method: str, d: int, protocol: str) -> list[dict[str, Any]]:
    """Return error and gap of RFPCA for each of its 18 settings."""
    return _points(methods.rfpca(protocol), dataset, split, d)


def run_fairpca(*, dataset: str, split: int, method: str, d: int, protocol: str) -> list[dict[str, Any]]:
    """Return error and gap of FairPCA for each of its 18 step sizes, or of its optimum."""
    return _points(methods.fairpca(protocol), dataset, split, d)


def run_mean(*, dataset: str, split: int, method: str, d: int, protocol: str) -> list[dict[str, Any]]:
    """Return error and gap of CFPCA with the mean constraint for each delta."""
    return _points(methods.cfpca_mean(protocol), dataset, split, d)


def run_pca(*, dataset: str, split: int, method: str, d: int, protocol: str) -> list[dict[str, Any]]:
    """Return error and gap of ordinary PCA."""
    return _points(methods.pca(), dataset, split, d)


def _cells(profile: Profile) -> Iterable[Cell]:
    datasets = DATASETS if profile == "paper" else DATASETS[:1]
    seeds = _SEEDS if profile == "paper" else 1
    cells = []
    for dataset in datasets:
        cells += [
            Cell(dataset=dataset, split=split, method="rfpca", d=COMPONENTS, protocol="printed")
            for split in range(seeds)
        ]
        for method, protocol in (
            ("fairpca", "printed"),
            ("cfpca_mean", "printed"),
            ("rfpca", "stated"),
            ("fairpca", "stated"),
            ("cfpca_mean", "stated"),
            ("pca", "stated"),
        ):
            cells.append(Cell(dataset=dataset, split=0, method=method, d=COMPONENTS, protocol=protocol))
    return cells


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    parts = [
        tidy(part, ("are", "abdiff", "error_0", "error_1"), protocol=str(protocol))
        for protocol, part in cells.groupby("protocol", sort=False)
    ]
    return pd.concat(parts, ignore_index=True)


register(
    "vu2022/pareto",
    cells=_cells,
    run_cell={"rfpca": run_rfpca, "fairpca": run_fairpca, "cfpca_mean": run_mean, "pca": run_pca},
    tabulate=_tabulate,
    title="Figures 2, 5 and 6: error against gap over all hyper-parameters",
)

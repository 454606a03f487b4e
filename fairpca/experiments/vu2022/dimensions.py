"""Figures 3 and 7 to 16 of Vu et al. (2022): errors of both groups against the dimension k.

Half of each group trains, five splits, one setting a method: alpha = 0.15 and lambda = 0.5 for RFPCA, eta = 0.1 for
FairPCA. "As stated" replaces the iterations by the exact solvers; ordinary PCA needs neither.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from fairpca.datasets import load
from fairpca.experiments.engine.runner import Cell, Profile, register, tidy
from fairpca.experiments.vu2022 import methods
from fairpca.experiments.vu2022.protocol import Method, run_split

__all__ = ["ETA", "FIGURES", "RFPCA_SETTING", "SHARE", "run_fairpca", "run_pca", "run_rfpca"]

# Number of the figure by data set and part, and the dimensions drawn.
FIGURES = {
    ("biodeg", "test"): 3,
    ("default_credit", "train"): 7,
    ("default_credit", "test"): 8,
    ("e_coli", "test"): 9,
    ("e_coli", "train"): 10,
    ("magic", "train"): 11,
    ("magic", "test"): 12,
    ("steel", "train"): 13,
    ("steel", "test"): 14,
    ("wine_quality", "train"): 15,
    ("wine_quality", "test"): 16,
}
_DIMENSIONS = {"biodeg": 20, "default_credit": 20, "e_coli": 6, "magic": 8, "steel": 20, "wine_quality": 10}
_SPLITS = 5
SHARE = 0.5
RFPCA_SETTING = {"alpha": (0.15,), "lam": (0.5,)}
ETA = 0.1
_ERRORS = ("error_0", "error_1", "are", "abdiff")


def _errors(compared: Method, dataset: str, split: int, d: int) -> dict[str, float]:
    data = load(dataset)
    X = np.asarray(data.X, dtype=np.float64)
    outcome = run_split(X, data.group_code, compared, k=d, seed=split, share=SHARE)
    inside = {f"{name}:train": outcome.inside[name] for name in _ERRORS}
    return inside | {f"{name}:test": outcome.outside[name] for name in _ERRORS}


def run_rfpca(*, dataset: str, split: int, method: str, d: int, protocol: str) -> dict[str, Any]:
    """Return the errors of RFPCA, in and out of sample."""
    return _errors(replace(methods.rfpca(protocol), grid=RFPCA_SETTING), dataset, split, d)


def run_fairpca(*, dataset: str, split: int, method: str, d: int, protocol: str) -> dict[str, Any]:
    """Return the errors of FairPCA, in and out of sample."""
    compared = methods.fairpca(protocol)
    if protocol == "printed":
        compared = replace(compared, grid=methods.step_sizes(ETA))
    return _errors(compared, dataset, split, d)


def run_pca(*, dataset: str, split: int, method: str, d: int, protocol: str) -> dict[str, Any]:
    """Return the errors of ordinary PCA, in and out of sample."""
    return _errors(methods.pca(), dataset, split, d)


def _cells(profile: Profile) -> Iterable[Cell]:
    datasets = _DIMENSIONS if profile == "paper" else {"e_coli": 4}
    splits = _SPLITS if profile == "paper" else 1
    return [
        Cell(dataset=dataset, split=split, method=method, d=d, protocol=protocol)
        for dataset, largest in datasets.items()
        for method, protocol in (
            ("pca", "stated"),
            ("rfpca", "stated"),
            ("fairpca", "stated"),
            ("rfpca", "printed"),
            ("fairpca", "printed"),
        )
        for d in range(2, largest + 1, 2)
        for split in range(splits)
    ]


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for protocol, rows in cells.groupby("protocol", sort=False):
        for part in ("train", "test"):
            named = rows.rename(columns={f"{name}:{part}": name for name in _ERRORS})
            table = tidy(named, _ERRORS, protocol=str(protocol))
            table.insert(3, "part", part)
            parts.append(table)
    return pd.concat(parts, ignore_index=True)


register(
    "vu2022/dimensions",
    cells=_cells,
    run_cell={"pca": run_pca, "rfpca": run_rfpca, "fairpca": run_fairpca},
    tabulate=_tabulate,
    title="Figures 3 and 7 to 16: group errors against the dimension",
)

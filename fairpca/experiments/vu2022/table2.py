"""Table 2 of Vu et al. (2022): size, dimension and groups of the data sets, counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from fairpca.datasets import load
from fairpca.experiments.engine.runner import Cell, Profile, register
from fairpca.experiments.vu2022.tables import DATASETS, FACES

__all__ = ["LARGE", "SMALL", "run_counts"]

# The standard deviations below and above which the text removes columns.
SMALL, LARGE = 1e-5, 1000.0


def run_counts(*, dataset: str) -> dict[str, Any]:
    """Count rows, columns and groups, and the columns that the text's rule on standard deviations would remove."""
    data = load(dataset, random_state=0) if dataset == FACES else load(dataset)
    X = np.asarray(data.X, dtype=np.float64)
    std = X.std(axis=0)
    sizes = np.bincount(data.group_code, minlength=2)
    return {
        "n_samples": len(X),
        "n_features": X.shape[1],
        "n_group_0": int(sizes[0]),
        "n_group_1": int(sizes[1]),
        "n_small_sd": int(np.sum(std <= SMALL)),
        "n_large_sd": int(np.sum(std >= LARGE)),
    }


def _cells(profile: Profile) -> Iterable[Cell]:
    datasets = (*DATASETS, FACES) if profile == "paper" else ("energy", "e_coli")
    return [Cell(dataset=dataset) for dataset in datasets]


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    metrics = [name for name in cells.columns if name.startswith("n_")]
    table = cells.melt(id_vars=["dataset"], value_vars=metrics, var_name="metric", value_name="value")
    return table.assign(protocol="printed")[["dataset", "metric", "protocol", "value"]]


register("vu2022/table2", cells=_cells, run_cell=run_counts, tabulate=_tabulate, title="Table 2: size of the data sets")

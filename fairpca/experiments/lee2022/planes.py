"""Planes of Lee et al. (2022) beside those that the authors stored: Figure 1 and the nine biplots.

Nothing is fitted here: the cells read the stored cells of ``lee2022/table1`` and ``lee2022/fig1``, which come first.
Two planes are compared by their largest principal angle, which knows neither basis nor sign, and by the variance that
each explains.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from fairpca.experiments.engine.runner import Cell, Profile, load_results, register

from fairpca.companion import published
from fairpca.datasets import load
from fairpca.experiments.lee2022.communality import BIPLOT_SPLIT, BIPLOTS, table1_cells
from fairpca.linalg import principal_angles
from fairpca.metrics import explained_variance_percent

__all__ = ["FIGURE_1", "our_plane", "run_plane"]

# The one plane of Figure 1 that is among the authors' files.
FIGURE_1 = ("synthetic1", "fpca", "delta=0")


def our_plane(dataset: str, method: str, setting: str) -> np.ndarray:
    """Return the plane by the paper's algorithm, shape (p, 2), as stored with Figure 1 or with Table 1."""
    if dataset == FIGURE_1[0]:
        cells = load_results("lee2022/fig1").cells
        mask = (cells["setting"] == "n=5000") & (cells["method"] == method)
    else:
        cells = table1_cells()
        mask = (cells["dataset"] == dataset) & (cells["method"] == method) & (cells["setting"] == setting)
        mask &= (cells["d"] == 2) & (cells["split"] == BIPLOT_SPLIT)
    return np.asarray(cells.loc[mask, "V"].iloc[0], dtype=np.float64).T


def run_plane(*, dataset: str, method: str, setting: str) -> dict[str, Any]:
    """Compare our plane with the authors': the largest principal angle, and the variance of both on the same rows."""
    ours, theirs = our_plane(dataset, method, setting), published.load_loadings("lee2022", dataset, method, setting)
    rows = load(dataset) if dataset == FIGURE_1[0] else load(dataset, split=BIPLOT_SPLIT)[0]
    return {
        "d": 2,
        "angle": float(np.rad2deg(principal_angles(theirs, ours).max())),
        "train_pct_var": explained_variance_percent(rows.X, ours),
        "train_pct_var_theirs": explained_variance_percent(rows.X, theirs),
    }


def _cells(profile: Profile) -> Iterable[Cell]:
    wanted = [FIGURE_1, *BIPLOTS.values()] if profile == "paper" else [BIPLOTS[12]]
    return [Cell(dataset=dataset, method=method, setting=setting) for dataset, method, setting in wanted]


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    metrics = ["angle", "train_pct_var", "train_pct_var_theirs"]
    table = cells.melt(id_vars=["dataset", "method", "setting", "d"], value_vars=metrics, var_name="metric")
    return table.assign(protocol="printed")


register(
    "lee2022/planes",
    cells=_cells,
    run_cell=run_plane,
    tabulate=_tabulate,
    title="Planes of Figure 1 and of the biplots beside the authors' own",
    inputs=("lee2022/table1", "lee2022/fig1", "published/lee2022/loadings"),
)

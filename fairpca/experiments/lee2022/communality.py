"""Figures 4, 7, 11, 15 of Lee et al. (2022), and their nine biplots, from the loadings stored with Table 1.

Nothing is fitted here: the cells read the stored cells of ``lee2022/table1``, which come first. What answers print is
MBF-PCA by the paper's algorithm; the package's solver (`mbfpca_ours`) stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from fairpca.experiments.engine.runner import Cell, Profile, load_results, register
from fairpca.experiments.engine.verdicts import Verdict, judge, register_claims

from fairpca.companion import published
from fairpca.datasets import load
from fairpca.linalg import fix_signs

__all__ = [
    "ATTRIBUTES",
    "BIPLOTS",
    "BIPLOT_SPLIT",
    "FIGURES",
    "biplot_loadings",
    "drawn_features",
    "run_communality",
    "table1_cells",
]

ATTRIBUTES = {"compas": "race", "german": "age", "adult": "sex"}
FIGURES = {"compas": 7, "german": 11, "adult": 15}
BIPLOT_SPLIT = 5
# The paper's figures: plain PCA, FPCA with delta = 0, MBF-PCA with tau = 1e-6, all with two components.
_BIPLOT_METHODS = (("pca", ""), ("fpca", "delta=0"), ("mbfpca", "tau=1e-6"))
BIPLOTS = {
    first + step: (dataset, method, setting)
    for dataset, first in (("compas", 8), ("german", 12), ("adult", 16))
    for step, (method, setting) in enumerate(_BIPLOT_METHODS)
}
# The figures' series, and MBF-PCA by the package's solver.
_SERIES = (("pca", ""), ("fpca", "delta=0"), ("mbfpca", "tau=1e-3"), ("mbfpca", "tau=1e-6"))
_OURS = (("mbfpca_ours", "tau=1e-3"), ("mbfpca_ours", "tau=1e-6"))
# Median of MBF-PCA, read in the picture of Figure 4.
_DRAWN_MEDIAN = 0.025
_DRAWN_FEATURES = 10
_LEVELS = {"min": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "max": 1.0}


def table1_cells() -> pd.DataFrame:
    """Return the stored cells of Table 1, with the loadings in column ``V``."""
    frame = load_results("lee2022/table1").cells
    return frame.assign(setting=frame["setting"].fillna(""))


def _values(dataset: str, method: str, setting: str, d: int) -> np.ndarray:
    cells = table1_cells()
    mask = (cells["dataset"] == dataset) & (cells["method"] == method)
    mask &= (cells["setting"] == setting) & (cells["d"] == d)
    return cells.loc[mask, "communality"].to_numpy(dtype=float)


def run_communality(*, dataset: str, method: str, setting: str, d: int) -> dict[str, Any]:
    """Summarise the communality of the protected attribute over the ten splits."""
    values = _values(dataset, method, setting, d)
    return {
        **{name: float(np.quantile(values, level)) for name, level in _LEVELS.items()},
        "mean": float(values.mean()),
        "n": len(values),
    }


def biplot_loadings(figure: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the loadings, shape (p, 2), and the feature names of one of the paper's biplots.

    A subspace has no columns of its own. They are taken to be the principal axes of the training data inside the
    subspace, so that the first explains the most; the largest entry of each is positive.
    """
    dataset, method, setting = BIPLOTS[figure]
    cells = table1_cells()
    mask = (cells["dataset"] == dataset) & (cells["method"] == method) & (cells["setting"] == setting)
    mask &= (cells["d"] == 2) & (cells["split"] == BIPLOT_SPLIT)
    V = np.asarray(cells.loc[mask, "V"].iloc[0], dtype=np.float64).T
    train, _ = load(dataset, split=BIPLOT_SPLIT)
    axes = np.linalg.svd(train.X @ V - (train.X @ V).mean(axis=0), full_matrices=False)[2]
    return fix_signs(axes @ V.T).T, tuple(train.feature_names)


def drawn_features(V: np.ndarray, protected: int, n: int = _DRAWN_FEATURES) -> list[int]:
    """Return the features of a biplot: the `n` of largest communality, and the protected one in any case."""
    order = [int(j) for j in np.argsort(-np.sum(V * V, axis=1), kind="stable")[:n]]
    return order if protected in order else [*order, protected]


def _cells(profile: Profile) -> Iterable[Cell]:
    return [
        Cell(dataset=dataset, method=method, setting=setting, d=d)
        for dataset in (ATTRIBUTES if profile == "paper" else ("german",))
        for d in (2, 10)
        for method, setting in (*_SERIES, *_OURS)
    ]


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    keys = ["dataset", "method", "setting", "d"]
    table = cells[[*keys, *_LEVELS, "mean", "n"]].copy()
    table.insert(len(keys), "metric", "communality")
    table.insert(len(keys) + 1, "protocol", "printed")
    return table


# --------------------------------------------------------------------------------------------------------------------
# What the paper says about Figure 4


def judge_figure(*, id: str) -> dict[str, str]:
    """Judge one statement about Figure 4 from the stored numbers; about the other figures the paper states nothing."""
    return {"fig4-tau": _judge_tau, "fig4-least": _judge_much_lower}[id](id).findings()


def _judge_tau(id: str) -> Verdict:
    """Compare the median in the picture with those of the authors' stored loadings."""
    stored = published.load("lee2022", "communality_stored")
    stored = stored[(stored["dataset"] == "german") & (stored["method"] == "mbfpca") & (stored["d"] == 10)]
    theirs = stored.set_index("setting")["median"].astype(float)
    nearest = (theirs - _DRAWN_MEDIAN).abs().idxmin()
    listed = ", ".join(f"{value:.3f} for {setting}" for setting, value in theirs.items())
    text = f"drawn {_DRAWN_MEDIAN}; the authors' stored loadings: {listed}"
    return judge(id, text, nearest == "tau=1e-3", reason=f"The picture shows {nearest}.")


def _judge_much_lower(id: str) -> Verdict:
    """Judge Figure 4 by its words: "much smaller" is taken as half of the lower of the others at most."""
    others = min(float(np.median(_values("german", m, s, 10))) for m, s in _SERIES[:2])
    value = {setting: float(np.median(_values("german", m, setting, 10))) for m, setting in _SERIES[2:]}
    text = "; ".join(f"{setting}: {number:.3f} against {others:.3f}" for setting, number in value.items())
    much = {setting: number < others / 2 for setting, number in value.items()}
    reason = f"Not less than half at {', '.join(setting for setting, good in much.items() if not good)}."
    return judge(id, text, all(number < others for number in value.values()), *much.values(), reason=reason)


def _claims(profile: Profile) -> Iterable[Cell]:
    return [Cell(id=id) for id in ("fig4-least", "fig4-tau")]


register(
    "lee2022/communality",
    cells=_cells,
    run_cell=run_communality,
    tabulate=_tabulate,
    title="Figures 4, 7, 11, 15: communality of the protected attribute",
    inputs=("lee2022/table1",),
)
register_claims(
    "lee2022/claims_communality",
    judge_figure,
    "What the paper says about Figure 4 (after lee2022/table1)",
    cells=_claims,
    inputs=("lee2022/table1", "published/lee2022/communality_stored"),
)

"""Figures 4, 7, 11, 15 of Lee et al. (2022), and their nine biplots, from the loadings stored with Table 1.

Nothing is fitted here: the cells read the stored cells of ``lee2022/table1``, which come first.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairpca._linalg import fix_signs
from fairpca._resources import data_path
from fairpca.datasets import load
from fairpca.experiments._frames import cells_frame, read_cells
from fairpca.experiments.lee2022_table1 import PROTECTED
from fairpca.experiments.runner import Cell, Profile, register

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
_SERIES = (("pca", ""), ("fpca", "delta=0"), ("mbfpca", "tau=1e-3"), ("mbfpca", "tau=1e-6"))
# Median of MBF-PCA, read in the picture of Figure 4.
_DRAWN_MEDIAN = 0.025
_LEVELS = {"min": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "max": 1.0}


def table1_cells() -> pd.DataFrame:
    """Return the stored cells of Table 1, with the loadings in column ``V``."""
    path = Path(data_path("results")) / "lee2022" / "table1.cells.csv.gz"
    frame = cells_frame(read_cells(path.read_bytes()))
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


def drawn_features(V: np.ndarray, protected: int, n: int = 10) -> list[int]:
    """Return the features of a biplot: the `n` of largest communality, and the protected one in any case."""
    order = [int(j) for j in np.argsort(-np.sum(V * V, axis=1), kind="stable")[:n]]
    return order if protected in order else [*order, protected]


def _cells(profile: Profile) -> Iterable[Cell]:
    return [
        Cell(dataset=dataset, method=method, setting=setting, d=d)
        for dataset in (ATTRIBUTES if profile == "paper" else ("german",))
        for d in (2, 10)
        for method, setting in _SERIES
    ]


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    keys = ["dataset", "method", "setting", "d"]
    table = cells[[*keys, *_LEVELS, "mean", "n"]].copy()
    table.insert(len(keys), "metric", "communality")
    table.insert(len(keys) + 1, "protocol", "printed")
    return table


# --------------------------------------------------------------------------------------------------------------------
# What the paper says about these figures


def judge(*, id: str) -> dict[str, str]:
    """Judge one statement about Figures 4 and 7 to 18 from the stored numbers."""
    exhibit = int(id.removeprefix("fig").partition("-")[0])
    if id == "fig4-tau":
        return _judge_tau()
    if exhibit in BIPLOTS:
        return _judge_biplot(exhibit)
    if exhibit == 4:
        return _judge_lowest("german", (10,))
    return _judge_lowest({figure: dataset for dataset, figure in FIGURES.items()}[exhibit], (2, 10))


def _judge_tau() -> dict[str, str]:
    """Compare the median in the picture with those of the authors' stored loadings."""
    stored = pd.read_csv(Path(data_path("published")) / "lee2022" / "communality_stored.csv", keep_default_na=False)
    stored = stored[(stored["dataset"] == "german") & (stored["method"] == "mbfpca") & (stored["d"] == 10)]
    theirs = stored.set_index("setting")["median"].astype(float)
    nearest = (theirs - _DRAWN_MEDIAN).abs().idxmin()
    listed = ", ".join(f"{value:.3f} for {setting}" for setting, value in theirs.items())
    return {
        "ours": f"drawn {_DRAWN_MEDIAN}; the authors' stored loadings: {listed}",
        "verdict": "holds" if nearest == "tau=1e-3" else "fails",
        "reason": "" if nearest == "tau=1e-3" else f"The picture shows {nearest}.",
    }


def _judge_lowest(dataset: str, dimensions: tuple[int, ...]) -> dict[str, str]:
    said, outcome = [], []
    for d in dimensions:
        others = min(float(np.median(_values(dataset, m, s, d))) for m, s in _SERIES[:2])
        for method, setting in _SERIES[2:]:
            value = float(np.median(_values(dataset, method, setting, d)))
            outcome.append(value < others)
            said.append(f"d={d}, {setting}: {value:.3f} against {others:.3f}")
    count = sum(outcome)
    verdict = "holds" if count == len(outcome) else "holds in part" if count else "fails"
    higher = [text.partition(":")[0] for text, lower in zip(said, outcome, strict=True) if not lower]
    return {
        "ours": "; ".join(said),
        "verdict": verdict,
        "reason": f"Medians over ten splits; not below the lower of PCA and FPCA at {'; '.join(higher)}."
        if higher
        else "",
    }


def _judge_biplot(figure: int) -> dict[str, str]:
    dataset, _, _ = BIPLOTS[figure]
    V, _ = biplot_loadings(figure)
    protected = PROTECTED[dataset]
    drawn = drawn_features(V, protected)
    sizes = np.sum(V * V, axis=1)
    place = int(np.sum(sizes > sizes[protected])) + 1
    rank = f"communality {sizes[protected]:.4f}, place {place} of {len(V)}"
    said = f"{len(drawn)} features; {ATTRIBUTES[dataset]} has {rank}"
    complete = len(set(drawn)) == min(len(V), 10 + (place > 10)) and protected in drawn
    return {
        "ours": said,
        "verdict": "holds" if complete else "fails",
        "reason": "",
    }


def _claims(profile: Profile) -> Iterable[Cell]:
    ids = ["fig4-least", "fig4-tau", "fig7-compas", "fig11-german", "fig15-adult"]
    return [Cell(id=id) for id in [*ids, *(f"fig{figure}-biplot" for figure in BIPLOTS)]]


def _tabulate_claims(cells: pd.DataFrame) -> pd.DataFrame:
    return cells[["id", "ours", "verdict", "reason"]]


register(
    "lee2022/communality",
    cells=_cells,
    run_cell=run_communality,
    tabulate=_tabulate,
    title="Figures 4, 7, 11, 15: communality of the protected attribute (after lee2022/table1)",
)
register(
    "lee2022/claims_communality",
    cells=_claims,
    run_cell=judge,
    tabulate=_tabulate_claims,
    title="What the paper says about Figures 4 and 7 to 18 (after lee2022/table1)",
)

"""What Lee et al. (2022) say about their synthetic data (Figure 1), judged by the stored results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from fairpca._resources import data_path
from fairpca.datasets import load
from fairpca.experiments.runner import Cell, Profile, register

_TAU = 1e-5


def _table(stem: str) -> pd.DataFrame:
    path = Path(data_path("results")) / "lee2022" / f"{stem}.csv"
    return pd.read_csv(path, keep_default_na=False, na_values=[""]).fillna({"setting": "", "method": ""})


def _verdict(*parts: bool) -> str:
    return "holds" if all(parts) else "holds in part" if any(parts) else "fails"


def judge_figure_1(*, id: str) -> dict[str, str]:
    """Judge one statement about Figure 1."""
    table = _table("fig1")
    large = table[table["setting"] == "n=5000"].set_index(["method", "metric"])["mean"]
    small = table[table["setting"] == "n=150"].set_index(["method", "metric"])
    value = {method: float(large[method, "mmd2"]) for method in ("pca", "fpca", "mbfpca")}
    share = {method: float(large[method, "pct_var"]) for method in value}
    if id == "fig1-same-moments":
        data = load("synthetic1")
        parts = [data.X[data.group_code == g] for g in (0, 1)]
        C = [np.cov(part.T) for part in parts]
        gap = float(np.linalg.norm(parts[0].mean(axis=0) - parts[1].mean(axis=0)))
        ratio = float(np.linalg.norm(C[0] - C[1], 2) / np.linalg.norm(C[0], 2))
        # A tenth is several times the sampling error of 5000 points.
        return {
            "ours": f"means {gap:.3f} apart, covariances {ratio:.1%}; MMD² of PCA's plane {value['pca']:.3f}",
            "verdict": _verdict(gap < 0.1 and ratio < 0.1, value["pca"] > 100 * _TAU),
            "reason": "",
        }
    if id == "fig1-size":
        counts = np.bincount(load("synthetic1").group_code)
        draws = int(small["n"].to_dict()["sphere", "any_feasible"])
        feasible = round(draws * float(small["mean"].to_dict()["sphere", "any_feasible"]))
        return {
            "ours": f"{counts[0]} and {counts[1]} in the published file",
            "verdict": _verdict(bool(np.all(counts == 150))),
            "reason": f"With 150, tau = 1e-5 can be met in {feasible} of {draws} draws.",
        }
    if id == "fig1-pca":
        return {"ours": f"MMD² {value['pca']:.3f}", "verdict": _verdict(value["pca"] > 100 * _TAU), "reason": ""}
    if id == "fig1-fpca":
        similar, different = abs(share["fpca"] - share["pca"]) < 10, value["fpca"] > 10 * _TAU
        return {
            "ours": f"variance {share['fpca']:.1f} % against {share['pca']:.1f} %, MMD² {value['fpca']:.4f}",
            "verdict": _verdict(similar, different),
            "reason": ""
            if similar
            else "The groups stay different, but the sampling error of the means turns FPCA's plane away from PCA's.",
        }
    return {
        "ours": f"MMD² {value['mbfpca']:.1e}; FPCA {value['fpca']:.1e}, PCA {value['pca']:.1e}",
        "verdict": _verdict(value["mbfpca"] <= _TAU, min(value["fpca"], value["pca"]) > _TAU),
        "reason": "",
    }


def _figure_1(profile: Profile) -> Iterable[Cell]:
    return [Cell(id=f"fig1-{name}") for name in ("same-moments", "size", "pca", "fpca", "mbf")]


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    return cells[["id", "ours", "verdict", "reason"]]


register(
    "lee2022/claims_fig1",
    cells=_figure_1,
    run_cell=judge_figure_1,
    tabulate=_tabulate,
    title="What the paper says about Figure 1 (after lee2022/fig1)",
)

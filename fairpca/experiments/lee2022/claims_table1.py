"""What Lee et al. (2022) say about Figure 6, judged by the stored results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from fairpca.experiments.engine.runner import load_results
from fairpca.experiments.engine.verdicts import Verdict, as_records, judge, judge_theorem, register_claims

__all__ = ["run_claims"]

Get = Callable[..., float]


def _means() -> Get:
    table = load_results("lee2022/table1").table.fillna({"setting": ""})
    mean = table.set_index(["protocol", "dataset", "d", "method", "setting", "metric"])["mean"]

    def get(dataset: str, d: int, method: str, setting: str, metric: str, protocol: str = "printed") -> float:
        return float(mean[protocol, dataset, d, method, setting, metric])

    return get


def _figure_6(get: Get) -> Iterator[Verdict]:
    fair, other = (get("german", 10, *of, "pct_var") for of in (("mbfpca", "tau=1e-3"), ("fpca", "delta=0")))
    level = [get("german", 10, *of, "mmd2") for of in (("mbfpca", "tau=1e-3"), ("fpca", "delta=0"))]
    text = f"German credit, d = 10: {other:.2f} % against {fair:.2f} % at MMD² {level[1]:.4f} and {level[0]:.4f}"
    yield judge("fpca-low-variance", text, fair > other and abs(level[0] - level[1]) < 0.005)
    table = load_results("lee2022/fig6").table
    fpca = table[table["method"] == "fpca"].set_index(["metric", "index"])["mean"]
    variance, eigenvalue = fpca["pct_var"], fpca["eigenvalue"]
    rank = int((eigenvalue > 1e-3).sum())
    later, kept = float(variance[10:rank].sum()), float(variance[:10].sum())
    yield judge("fig6-leakage", f"{later:.1f} % beyond the tenth, {kept:.1f} % in the first ten", later > 0.5 * kept)
    rises = int((np.diff(variance[:rank]) > 0).sum())
    yield judge("fig6-order", f"variance rises at {rises} of {rank - 1} steps down the eigenvalues", rises > 0)
    yield _projection()


def _projection() -> Verdict:
    cells = load_results("lee2022/table1").cells
    chosen = cells[(cells["method"] == "mbfpca") & (cells["dataset"] == "german") & (cells["d"] == 10)]
    # Orthonormal columns to rounding: V'V = I makes (VV')² = VV', so that nothing lies between one and zero.
    wrong = sum(float(np.abs(V @ V.T - np.eye(len(V))).max()) >= 1e-8 for V in chosen["V"])
    return judge_theorem(
        "fig6-mbf",
        f"{len(chosen) - wrong} of {len(chosen)} stored loadings are orthonormal to 8 digits",
        violations=wrong,
        attempts=len(chosen),
        kind="loadings stored with Table 1",
        proof="lee2022/fpca",
        reason="Loadings are not orthonormal.",
    )


def run_claims(*, method: str) -> list[dict[str, Any]]:
    """Judge the statements about Figure 6; the others are judged on the pages of Table 1."""
    return as_records(_figure_6(_means()))


register_claims(
    "lee2022/claims_table1",
    run_claims,
    "Verdicts on the statements about Figure 6",
    inputs=("lee2022/table1", "lee2022/fig6", "published/lee2022/claims"),
)

"""What Lee et al. (2022) say about their synthetic data (Figures 1 to 3), judged by the stored results.

A statement about the speed of a method is judged with the solver that the paper had for it: for FPCA a general solver
of semidefinite programs (MOSEK in the authors' files, Clarabel here), for MBF-PCA Algorithm 1. What a better solver of
the same problem does is a note.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from fairpca.experiments.engine.runner import Cell, Profile, load_results
from fairpca.experiments.engine.verdicts import Verdict, judge, register_claims

from fairpca import published
from fairpca.datasets import load
from fairpca.synthetic import lee_synthetic2

__all__ = ["fpca_seconds", "growth", "published_seconds"]

# Powers of the dimension: what explodes, and what scales well.
EXPLODES, SCALES = 3.5, 1.5


def _table(stem: str) -> pd.DataFrame:
    return load_results(f"lee2022/{stem}").table.fillna({"setting": "", "method": ""})


def _stated(id: str) -> float:
    return float(str(published.load_claims("lee2022").set_index("id")["value"][id]))


# --------------------------------------------------------------------------------------------------------------------
# Figures 2 and 3

# Median of the variance of MBF-PCA in Figure 2, read in the picture.
_DRAWN_MEDIAN = 27.0


def _series(metric: str, statistic: str, protocol: str, method: str, setting: str) -> pd.Series:
    table = _table("synthetic2")
    mask = (table["metric"] == metric) & (table["protocol"] == protocol)
    mask &= (table["method"] == method) & (table["setting"] == setting)
    return table[mask].set_index("p")[statistic].astype(float)


def judge_figures_2_and_3(*, id: str) -> dict[str, str]:
    """Judge one statement about Figures 2 and 3."""
    judges = {
        "fig2-size": _sizes,
        "fig2-size-supplement": _sizes,
        "fig2-base": _base_features,
        "fig2-pairs": _pairs,
        "fig2-tau": _drawn_tolerance,
        "fig2-variance": _compare_methods,
        "fig2-fairness": _compare_methods,
        "fig3-fpca-explodes": _fpca_explodes,
        "fig3-mbf-scales": _mbf_scales,
        "fig3-infeasible": _infeasible,
    }
    return judges[id](id).findings()


def _sizes(id: str) -> Verdict:
    counts = np.bincount(load("synthetic2", p=20).group_code)
    reason = "The text of the paper and its supplement differ; the files follow the text."
    return judge(id, f"{counts[0]} and {counts[1]}", bool(np.all(counts == _stated(id))), reason=reason)


def _pairs(id: str) -> Verdict:
    widths = published.load("lee2022", "fig2_fig3_stored")["p"].nunique()
    text = f"{widths} dimensions with two groups each, hence {widths} pairs of distributions"
    return judge(id, text, widths == _stated(id), reason=f"It is the number of distributions, 2 · {widths}.")


def _base_features(id: str) -> Verdict:
    """Estimate the first dimension: the variance of a random combination of features is their total variance."""
    found, drawn = 0.0, 0.0
    for p in (80, 90, 100):
        for total, (X, groups) in (
            ("found", (load("synthetic2", p=p).X, load("synthetic2", p=p).group_code)),
            ("drawn", lee_synthetic2(p, protocol="printed", random_state=p)),
        ):
            variance = sum(float(X[groups == g].var(axis=0).sum()) for g in np.unique(groups))
            found, drawn = (found + variance, drawn) if total == "found" else (found, drawn + variance)
    ratio = found / drawn
    text = f"the files' total variance is {ratio:.2f} of that of draws which start in {_stated(id):.0f} dimensions"
    # The variance is proportional to the dimension; a tenth is several times its sampling error.
    return judge(id, text, abs(ratio - 1) < 0.1, reason=f"It belongs to about {ratio * _stated(id):.0f} dimensions.")


def published_seconds(method: str, setting: str) -> dict[int, float]:
    """Return the authors' mean times on synthetic data 2 by p."""
    rows = _published(method, "seconds").query("setting == @setting")
    return {int(p): float(value) for p, value in zip(rows["p"], rows["mean"], strict=True)}


def _published(method: str, metric: str) -> pd.DataFrame:
    table = published.load("lee2022", "fig2_fig3_stored")
    return table[(table["method"] == method) & (table["metric"] == metric)]


def _drawn_tolerance(id: str) -> Verdict:
    # The boxes in print hold all dimensions, so that the median of medians is what can be compared.
    middle = _published("mbfpca", "pct_var").groupby("setting")["median"].median()
    stated = f"tau={_stated(id):.0e}".replace("e-0", "e-")
    drawn = str((middle - _DRAWN_MEDIAN).abs().idxmin())
    listed = ", ".join(f"{middle[name]:.1f} at {name}" for name in dict.fromkeys((drawn, stated)))
    text = f"drawn about {_DRAWN_MEDIAN:.0f} %; the authors' results: {listed}"
    reason = f"Of the {len(middle)} tolerances in the authors' files the one drawn is nearest to {drawn}."
    return judge(id, text, drawn == stated, reason=reason)


def _compare_methods(id: str) -> Verdict:
    metric = "pct_var" if id == "fig2-variance" else "mmd2"
    said, outcome = [], []
    for name, protocol, method, setting in (
        ("as drawn, tau=1e-3", "printed", "mbfpca", "tau=1e-3"),
        ("tau=1e-5", "printed", "mbfpca", "tau=1e-5"),
        ("tau=1e-5, our solver", "printed", "mbfpca_ours", "tau=1e-5"),
        ("as stated, one matrix, tau=1e-5, our solver", "stated", "mbfpca_ours", "tau=1e-5"),
    ):
        mbf = _series(metric, "median", protocol, method, setting)
        fpca = _series(metric, "median", protocol, "fpca", "delta=0")
        # Similar fairness: at most twice the other's discrepancy.
        good = mbf > fpca if metric == "pct_var" else mbf <= 2.0 * fpca
        others = ", ".join(f"p={p}" for p in good.index[~good])
        said.append(f"{name}: {int(good.sum())} of {len(good)}" + (f" (not {others})" if others else ""))
        outcome.append(bool(good.all()))
    what = "more variance" if metric == "pct_var" else "at most twice FPCA's MMD²"
    reason = "It depends on the data and the tolerance; the dimensions are given."
    return judge(id, f"{what} (medians, dimensions): {'; '.join(said)}", *outcome, reason=reason)


def growth(times: dict[int, float]) -> float:
    """Return the power of p at which times (or sizes) grow, by least squares on logarithms."""
    return float(np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0])


def fpca_seconds() -> tuple[dict[int, float], dict[int, float]]:
    """Return the stored times of FPCA's program by p: this package's solver, and a general one in its faster form."""
    rows = _table("scaling")
    seconds: dict[str, dict[int, float]] = {"fpca": {}, "fpca_cvxpy": {}}
    for method, p, value in zip(rows["method"], rows["p"], rows["value"], strict=True):
        if method in seconds:
            seconds[method][int(p)] = min(float(value), seconds[method].get(int(p), np.inf))
    return seconds["fpca"], dict(sorted(seconds["fpca_cvxpy"].items()))


def _fpca_explodes(id: str) -> Verdict:
    ours, general = fpca_seconds()
    theirs = published_seconds("fpca", "delta=0")
    series = {"MOSEK in the authors' files": theirs, "Clarabel": general, "this package": ours}
    said = []
    for name, times in series.items():
        low, high = min(times), max(times)
        said.append(
            f"{name} {times[low]:.2g} s (p={low}) to {times[high]:.2g} s (p={high}), like p^{growth(times):.1f}"
        )
    # What explodes grows faster than the cubes of the matrices' sizes.
    explodes = [growth(times) > EXPLODES for times in (theirs, general)]
    note = "A property of general solvers of semidefinite programs, not of the program."
    return judge(id, "; ".join(said), *explodes, reason="Not every general solver does.", note=note)


def _mbf_scales(id: str) -> Verdict:
    rows = _table("scaling")
    mask = (rows["method"] == "mbfpca_ours") & (rows["setting"] == "tau=1e-5")
    ours = {int(p): float(t) for p, t in zip(rows.loc[mask, "p"], rows.loc[mask, "value"], strict=True)}
    theirs = published_seconds("mbfpca", "tau=1e-5")
    series = _series("seconds", "mean", "printed", "mbfpca", "tau=1e-5")
    again = dict(zip(series.index.astype(int).tolist(), series.tolist(), strict=True))
    low, high = min(ours), max(ours)
    text = (
        f"the authors' times for p={min(theirs)} to {max(theirs)} like p^{growth(theirs):.1f}, their algorithm here "
        f"like p^{growth(again):.1f}; our solver {ours[low]:.2g} s (p={low}) to {ours[high]:.2g} s (p={high}), like "
        f"p^{growth(ours):.1f}"
    ).replace("-", "−")
    scales = [growth(times) < SCALES for times in (theirs, again)]
    return judge(id, text, *scales, reason="The times grow faster than the features.")


def _infeasible(id: str) -> Verdict:
    ours, general = fpca_seconds()
    largest = max(ours)
    needed = {
        name: times[max(times)] * (largest / max(times)) ** growth(times) / 86400
        for name, times in (("MOSEK", published_seconds("fpca", "delta=0")), ("Clarabel", general))
    }
    listed = " and ".join(f"{name} about {days:,.0f} days" for name, days in needed.items())
    text = f"by the growth of their times {listed} at p={largest}; this package's solver {ours[largest]:.0f} s"
    note = "A specialised solver needs neither the memory nor the time of a general one."
    return judge(id, text, *(days > 1 for days in needed.values()), reason="A general solver ends in a day.", note=note)


def _cells_2_3(profile: Profile) -> Iterable[Cell]:
    ids = ("fig2-size", "fig2-size-supplement", "fig2-base", "fig2-pairs", "fig2-tau", "fig2-variance", "fig2-fairness")
    return [Cell(id=id) for id in (*ids, "fig3-fpca-explodes", "fig3-mbf-scales", "fig3-infeasible")]


register_claims(
    "lee2022/claims_fig2_fig3",
    judge_figures_2_and_3,
    "What the paper says about Figures 2 and 3",
    cells=_cells_2_3,
    inputs=(
        "lee2022/synthetic2",
        "lee2022/scaling",
        "published/lee2022/claims",
        "published/lee2022/fig2_fig3_stored",
    ),
)

"""Verdicts on what Vu et al. (2022) say about their figures and tables, from the stored results of this package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from fairpca import published
from fairpca.experiments.runner import Cell, load_results, register, stored_names
from fairpca.experiments.vu2022.dimensions import FIGURES
from fairpca.experiments.vu2022.tables import FACES

__all__ = ["run_claims"]

Verdict = tuple[str, str, str, str]
_SLACK = 1e-6


def _judge(name: str, good: bool, ours: str, reason: str = "", otherwise: str = "fails") -> Verdict:
    return name, ours, "holds" if good else otherwise, "" if good else reason


def _figure_1() -> Iterator[Verdict]:
    table: Any = load_results("vu2022/toy").table
    angle = table[(table["metric"] == "angle") & (table["protocol"] == "stated")].set_index(["method", "setting"])
    pca, fair = (float(angle.loc[(method, ""), "value"]) for method in ("pca", "fairpca"))
    sweep = angle.loc["rfpca", "value"]
    sweep.index = sweep.index.str.removeprefix("lam=").astype(float)
    sweep = sweep.sort_index()
    rises = bool(np.all(np.diff(sweep) >= -1e-9))
    ours = f"{sweep.iloc[0]:.2f} to {sweep.iloc[-1]:.2f} degrees, rising; PCA {pca:.2f}, FairPCA {fair:.2f}"
    yield _judge("fig1-spectrum", rises and abs(sweep.iloc[-1] - fair) < 1, ours, "The angle does not rise.")
    yield _judge("fig1-no-penalty", abs(sweep.iloc[0] - pca) < 1e-6, f"{sweep.iloc[0]:.4f} against {pca:.4f} degrees")
    reason = "RFPCA equalises the groups' errors, Samadi et al. their losses: close directions here, not the same."
    ours = f"{sweep.iloc[-1]:.2f} against {fair:.2f} degrees"
    yield _judge("fig1-heavy-penalty", abs(sweep.iloc[-1] - fair) < 1e-3, ours, reason, "holds in part")


def _dominated(rows: Any, by: Any) -> int:
    """Count the points of `rows` that some point of `by` is better than in both criteria (not worse in either)."""
    a, b = by["are"].to_numpy(), by["abdiff"].to_numpy()
    return sum(
        bool(np.any((a <= x + _SLACK) & (b <= y + _SLACK) & ((a < x - _SLACK) | (b < y - _SLACK))))
        for x, y in zip(rows["are"], rows["abdiff"], strict=True)
    )


def _trade_offs() -> Iterator[Verdict]:
    table: Any = load_results("vu2022/pareto").table
    points = table[table["protocol"] == "printed"].pivot_table(
        index=["dataset", "method", "setting"], columns="metric", values="mean"
    )
    for name, dataset in (
        ("fig2-pareto", "default_credit"),
        ("fig5-dominates", "biodeg"),
        ("fig6-dominates", "german_credit"),
    ):
        part = points.loc[dataset].reset_index()
        own, others = part[part["method"] == "rfpca"], part[part["method"] != "rfpca"]
        beaten, lost = _dominated(others, own), _dominated(own, others)
        ours = f"RFPCA's points dominate {beaten} of {len(others)} others; {lost} of {len(own)} of them are dominated"
        good = lost == 0 and beaten > 0 if name == "fig2-pareto" else beaten > 0
        yield _judge(name, good, ours, "Some of RFPCA's points are dominated.", "holds in part")


def _dimensions() -> Iterator[Verdict]:
    table: Any = load_results("vu2022/dimensions").table
    for (dataset, part), number in FIGURES.items():
        rows = table[(table["dataset"] == dataset) & (table["part"] == part)]
        rows = rows[(rows["protocol"] == "printed") | (rows["method"] == "pca")]
        errors = rows.pivot_table(index="d", columns=["metric", "method"], values="mean")
        gap = (errors["error_0"] - errors["error_1"]).abs()
        wins = int((gap["rfpca"] <= gap.min(axis=1) + _SLACK).sum())
        below = int((gap["rfpca"] <= gap["pca"] + _SLACK).sum())
        ours = f"smallest gap at {wins} of {len(gap)} k; not above PCA's at {below}"
        name = "fig3-smaller-gap" if number == 3 else f"fig{number}-groups"
        reason = "At the other numbers of components another method has the smaller gap."
        yield _judge(name, wins == len(gap), ours, reason, "holds in part" if 2 * wins >= len(gap) else "fails")


def _radius() -> Iterator[Verdict]:
    table: Any = load_results("vu2022/radius").table
    improves, worsens = [], []
    for _, rows in table[table["metric"] == "sum"].groupby("setting", sort=False):
        mean = rows.set_index("alpha")["mean"]
        improves.append((mean.iloc[0], mean.min(), mean.idxmin()))
        worsens.append((mean.min(), mean.iloc[-1]))
    text = "; ".join(f"{a:.3f} to {b:.3f} at alpha = {where:.1f}" for a, b, where in improves)
    yield _judge("fig4-improves", all(b < a for a, b, _ in improves), text, "The sum does not fall.")
    text = "; ".join(f"{a:.3f} to {b:.3f} at alpha = 10" for a, b in worsens)
    yield _judge("fig4-saturates", all(b > a for a, b in worsens), text, "The sum does not rise again.")


def _wide(table: Any, exhibit: str, protocol: str, metric: str) -> Any:
    rows = table[(table["exhibit"] == exhibit) & (table["protocol"] == protocol) & (table["metric"] == metric)]
    wide = rows[rows["dataset"] != FACES].pivot_table(index="dataset", columns="method", values="mean")
    return wide.drop(columns="pca", errors="ignore")


def _tables() -> Iterator[Verdict]:
    """Judge the counts of the text on the fourteen tables, with our numbers as printed."""
    table: Any = load_results("vu2022/tables").table
    if set(table.loc[table["protocol"] == "printed", "method"]) < {"rfpca", "fairpca", "cfpca_mean", "cfpca_both"}:
        return  # a comparison needs all four
    gap, error = _wide(table, "table1", "printed", "abdiff"), _wide(table, "table1", "printed", "are")
    paper: Any = published.load("vu2022", "table1").pivot_table(
        index="dataset", columns=["metric", "method"], values="value"
    )
    for name, metric, ours in (("text-abdiff-wins", "abdiff", gap), ("text-are-wins", "are", error)):
        best = paper[metric].idxmin(axis=1) == "rfpca"
        printed, printed_here = int(best.sum()), int(best.drop(index=FACES).sum())
        wins = int((ours.idxmin(axis=1) == "rfpca").sum())
        stated = {"text-abdiff-wins": 11, "text-are-wins": 9}[name]
        text = f"{wins} of {len(ours)} without the faces; the printed numbers themselves: {printed} of 15"
        reason = "Our numbers by the printed protocol have another count."
        near = "holds in part" if abs(wins - printed_here) <= 2 else "fails"
        yield _judge(name, printed == stated and wins == printed_here, text, reason, near)
    both = [(paper[m].idxmin(axis=1) == "rfpca") for m in ("abdiff", "are")]
    ours_both = int(((gap.idxmin(axis=1) == "rfpca") & (error.idxmin(axis=1) == "rfpca")).sum())
    printed, printed_here = int((both[0] & both[1]).sum()), int((both[0] & both[1]).drop(index=FACES).sum())
    text = f"{ours_both} of {len(gap)} without the faces; the printed numbers themselves: {printed} of 15"
    reason = "Our numbers by the printed protocol have another count."
    yield _judge("text-both-wins", printed == 5 and ours_both == printed_here, text, reason, "holds in part")
    excess = pd.concat([gap["rfpca"] / gap.min(axis=1), error["rfpca"] / error.min(axis=1)], axis=1) - 1
    largest = excess.max()
    text = f"largest excess over the best: {100 * largest[0]:.0f} % in the gap, {100 * largest[1]:.0f} % in the error"
    reason = "On some sets the best method's gap is much smaller."
    yield _judge("text-small-gaps", bool((largest < 0.1).all()), text, reason, "holds in part")
    gap, error = _wide(table, "table3", "printed", "abdiff"), _wide(table, "table3", "printed", "are")
    for name, ours, method, stated in (
        ("text-in-abdiff", gap, "rfpca", 14),
        ("text-in-are", error, "rfpca", 7),
        ("text-in-are-fairpca", error, "fairpca", 7),
    ):
        wins = int((ours.idxmin(axis=1) == method).sum())
        text = f"{wins} of {len(ours)}"
        yield _judge(name, wins == stated, text, "Our table has another count.", "holds in part")
    separable = _wide(table, "table4", "printed", "delta_f_lin")
    one = int(separable.idxmin(axis=1).str.startswith("cfpca").sum())
    rest = separable[["rfpca", "fairpca"]].min(axis=1)
    two = int((separable[["cfpca_mean", "cfpca_both"]].max(axis=1) < rest).sum())
    yield _judge("text-flin", one == len(separable), f"{one} of {len(separable)}", "Not on every set.", "holds in part")
    reason = "On the other sets one of the two versions is above RFPCA or FairPCA, in the printed table too."
    yield _judge("text-flin-both", two == len(separable), f"{two} of {len(separable)}", reason, "holds in part")
    faces = table[(table["dataset"] == FACES) & table["method"].str.startswith("cfpca")]
    if len(faces):
        reason = "The authors' solver did not finish; a first-order method does."
        yield _judge("cfpca-lfw", False, f"a certified result for {int(faces['n'].max())} samples", reason)


def _protocol() -> Iterator[Verdict]:
    table: Any = load_results("vu2022/table2").table
    counts = table.pivot_table(index="dataset", columns="metric", values="value")
    size, pixels = (int(counts.loc[FACES, name]) for name in ("n_samples", "n_features"))
    text = f"{size} images of {pixels} pixels, made so here"
    yield _judge("lfw-size", (size, pixels) == (4000, 576), text, "Other sizes.")
    kept = int((counts["n_large_sd"] > 0).sum())
    text = (
        f"{kept} data sets keep such columns ({int(counts['n_large_sd'].sum())} columns), and the printed d counts them"
    )
    yield _judge("protocol-features", kept == 0, text, "The columns are in the files and in the printed dimensions.")
    yield "protocol-splits", "10 seeds", "holds", ""
    reason = "The program starts from ordinary PCA as well, 21 starts in all."
    yield "protocol-restarts", "21 starts of 1000 iterations", "holds in part", reason


_PARTS = {
    "vu2022/toy": _figure_1,
    "vu2022/pareto": _trade_offs,
    "vu2022/dimensions": _dimensions,
    "vu2022/radius": _radius,
    "vu2022/tables": _tables,
    "vu2022/table2": _protocol,
}


def run_claims(*, method: str) -> list[dict[str, Any]]:
    """Judge every statement on figures and tables whose results are stored."""
    names = ("id", "ours", "verdict", "reason")
    available = set(stored_names())
    parts = [judge() for source, judge in _PARTS.items() if source in available]
    return [dict(zip(names, verdict, strict=True)) for part in parts for verdict in part]


register(
    "vu2022/claims",
    cells=lambda profile: [Cell(method="claims")],
    run_cell=run_claims,
    tabulate=lambda cells: cells[["id", "ours", "verdict", "reason"]].fillna("").reset_index(drop=True),
    title="Verdicts on the statements about figures and tables",
)

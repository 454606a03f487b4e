"""Five computed sentences: what a report found, and what it cannot say."""

from __future__ import annotations

from typing import Any

__all__ = ["answers"]


def answers(study: Any) -> list[str]:
    """Return the largest gap under PCA, who does better, its price, what decisions show, and what cannot be said.

    Parameters
    ----------
    study : Analysis
        What was computed.

    Returns
    -------
    list of str
    """
    comparison, dimension = study.comparison, study.dimension
    frame = comparison.frame[comparison.frame["n_components"] == dimension]
    rows: dict[tuple[str, str], Any] = {(str(row.method), str(row.metric)): row for row in frame.itertuples()}
    base = "pca" if ("pca", "error_gap") in rows else str(frame["method"].iloc[0])
    title = comparison.titles.get
    better = [
        method
        for method in dict.fromkeys(frame["method"])
        if method != base and rows[method, "error_gap"].high < rows[base, "error_gap"].low
    ]
    return [
        _gap(rows, base, title(base, base), dimension, list(comparison.groups)),
        _better(rows, base, better, title),
        _price(rows, base, better, title),
        _decisions(study, rows, base, title(base, base)),
        _limits(study),
    ]


def _between(row: Any, factor: float = 1.0) -> str:
    if row.low != row.low:
        return "without an interval, because a group is too small"
    return f"interval {factor * row.low:.1f} to {factor * row.high:.1f}"


def _gap(rows: Any, base: str, title: str, dimension: int, groups: list[str]) -> str:
    errors = {group: rows[base, f"error:{group}"].estimate for group in groups}
    worst, best = max(errors, key=lambda g: errors[g]), min(errors, key=lambda g: errors[g])
    gap = rows[base, "error_gap"]
    text = (
        f"With {title} and {dimension} components, rows of the group {worst!r} are described worst: their error on "
        f"new rows is {errors[worst]:.1f} % of the variance, that of {best!r} {errors[best]:.1f} %. The largest gap "
        f"between two groups is {gap.estimate:.1f} points ({_between(gap)})."
    )
    return text + (" The interval reaches zero, so the groups may not differ." if gap.low == 0 else "")


def _better(rows: Any, base: str, better: list[str], title: Any) -> str:
    if not better:
        return f"No method has a gap whose interval lies wholly below that of {title(base, base)}."
    shown = ", ".join(
        f"{title(m, m)} {rows[m, 'error_gap'].estimate:.1f} ({_between(rows[m, 'error_gap'])})" for m in better
    )
    return f"Methods whose gap has an interval wholly below that of {title(base, base)}: {shown}."


def _price(rows: Any, base: str, better: list[str], title: Any) -> str:
    kept = rows[base, "variance"].estimate
    others = better or [method for method, metric in rows if metric == "variance" and method != base]
    if not others:
        return f"{title(base, base)} keeps {kept:.1f} % of the variance; no other method was compared."
    cost = {m: kept - rows[m, "variance"].estimate for m in others}
    least, most = min(cost, key=lambda m: cost[m]), max(cost, key=lambda m: cost[m])
    shown = [f"{title(m, m)} keeps {_more_or_less(cost[m])}" for m in (least, most)]
    who = "the methods with a smaller gap" if better else "the other methods"
    return f"{title(base, base)} keeps {kept:.1f} % of the variance of new rows. Of {who}, {shown[0]}" + (
        f", and {shown[1]}." if most != least else "."
    )


def _more_or_less(cost: float) -> str:
    return "as much" if abs(cost) < 0.05 else f"{abs(cost):.1f} points {'less' if cost > 0 else 'more'}"


def _decisions(study: Any, rows: Any, base: str, title: str) -> str:
    comparison, name = study.comparison, "base_selection_gap:logistic"
    if (base, name) not in rows:
        return "No target with two values was given, so nothing is said about decisions."
    gap, rates = rows[base, name], comparison.decisions
    rates = rates[(rates["method"] == base) & (rates["n_components"] == study.dimension)]
    rates = rates[(rates["classifier"] == "logistic") & (rates["threshold"] == "base rate")].set_index("group")
    if gap.estimate != gap.estimate:
        return f"So few rows are positive ({comparison.positive}) that nobody is selected; decisions are not compared."
    of = rates["selection_rate"]
    beyond = "more than" if gap.estimate > gap.chance else "no more than"
    return (
        f"If as many rows are selected as are positive ({comparison.positive}: {comparison.base_rate:.1%}), a "
        f"classifier on {title} selects {of.max():.1%} of the group {of.idxmax()!r} and {of.min():.1%} of "
        f"{of.idxmin()!r}. The gap is {100 * gap.estimate:.1f} points ({_between(gap, factor=100)}), {beyond} chance "
        f"alone gives ({100 * gap.chance:.1f} points in 1 of 20 random groupings)."
    )


def _limits(study: Any) -> str:
    left = len(set(study.prepared.labels)) - len(study.comparison.groups)
    few = "" if not left else f" {left} groups are too small to be compared."
    return (
        "It cannot be said why groups differ, whether rows that were collected in another way behave alike, or what "
        f"a difference means for one person.{few}"
    )

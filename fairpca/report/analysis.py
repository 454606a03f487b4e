"""Everything that a report on one table shows, computed once; each method gives one table or picture of it."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairpca
from fairpca.report.comparison import ENOUGH_POSITIVES, ENOUGH_SELECTED, Comparison, compare
from fairpca.report.measures import Settings, get_measure
from fairpca.report.methods import known_methods
from fairpca.report.page import Html, figure_html, folded, join, listed, table_html, tag
from fairpca.report.whole_table import (
    chosen_dimensions,
    crossed_groups,
    errors_by_dimension,
    group_loadings,
    price_of_small_groups,
)
from fairpca.tables import Prepared, Rules, as_table, prepare, read_table
from fairpca.tables.roles import words_of
from fairpca.tables.writing import plain, versions

__all__ = ["Analysis", "analyse", "answers", "report_schema"]

SCHEMA = 1
FEW_ROWS = 50  # of a group, of which little can be said
_QUICK = Settings(kernel_rows=600, permutations=100, folds=3, tree_rounds=30)


def report_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of ``report.json`` and of :meth:`Analysis.as_dict`.

    Returns
    -------
    dict
        The schema, as ``json.load`` gives it.

    Examples
    --------
    >>> from fairpca.report import report_schema
    >>> sorted(report_schema()["properties"]["data"]["properties"])[:3]
    ['columns', 'groups', 'joint_proxy']
    """
    text = files("fairpca.report").joinpath("report.schema.json").read_text(encoding="utf8")
    found: dict[str, Any] = json.loads(text)
    return found


@dataclass(frozen=True)
class Analysis:
    """What a report says about one table.

    Attributes
    ----------
    prepared : Prepared
        The table, and what was decided about its columns.
    comparison : Comparison
        Methods and dimensions on new rows.
    by_dimension : DataFrame
        ``n_components, group, method, error``: errors of PCA and of the min-max method on all rows.
    loadings : DataFrame
        ``component, feature, loading, carried, difference``: what PCA's components are made of, how much each feature
        contributes to the difference of two groups' means along them, and which groups these are: those with the
        highest and the lowest mean.
    crossed : DataFrame
        ``by``, ``group``, ``rows``, ``error, % of the variance``, ``enough rows``: rows and PCA's error for the groups
        of each sensitive column and for their combinations; empty for a single one.
    small_groups : list of str
        What small groups cost all others.
    joint_proxy : float
        Balanced accuracy with which all features together predict the group of new rows.
    arguments : mapping
        What the report was asked for.
    """

    prepared: Prepared
    comparison: Comparison
    by_dimension: pd.DataFrame
    loadings: pd.DataFrame
    crossed: pd.DataFrame
    small_groups: Sequence[str]
    joint_proxy: float
    arguments: Mapping[str, Any]

    # -----------------------------------------------------------------------------------------------------------------
    # What a reader sees first

    @property
    def dimension(self) -> int:
        """The largest dimension that was compared; the report is about it."""
        return int(self.comparison.frame["n_components"].max())

    def title(self) -> Html:
        """Name the table, the day and the columns."""
        p, c = self.prepared, self.comparison
        target = "" if p.target is None else f", target {p.target.name}{c.about_positive()}"
        line = f"{date.today():%Y-%m-%d}, {len(p.frame):,} rows, groups by {' and '.join(p.groups.columns)}{target}"
        return join([tag("h1", f"Report on {Path(p.source).name}"), tag("p", line)])

    def answers(self) -> Html:
        """Answer the question of the report in five computed sentences."""
        return tag("ol", *(tag("li", line) for line in answers(self)), class_="answers")

    def remarks(self) -> Html:
        """Say what a reader has to know before anything else: what was checked, with what result, and what was not."""
        lines = [*self.prepared.warnings, *self.small_groups, *self.comparison.notes]
        titles = {name: method.title for name, method in known_methods().items()}
        for name, reason in self.comparison.skipped.items():
            method, comma, dimension = name.partition(", ")
            lines.append(f"{titles.get(method, method)}{comma}{dimension} left out: {reason}")
        return join(listed([*dict.fromkeys(lines), *self._checked()]))

    def _checked(self) -> list[str]:
        p, groups = self.prepared, len(self.comparison.groups)
        known = p.proxies
        lines = []
        if known:
            best = ", ".join(f"{name!r} {share:.0%}" for name, share in list(known.items())[:3])
            lines.append(
                f"Checked: {len(known)} features alone and together as proxies of the group, by cross-validated "
                f"balanced accuracy (guessing: {1 / groups:.0%}). Together they predict the group with "
                f"{self.joint_proxy:.0%}; the strongest alone are {best}."
            )
        lines.append(
            "Not checked, because a table cannot show it: whether groups and target were recorded rightly, how the "
            "rows were chosen, columns that were left out, and patterns in the features, such as the last digit of a "
            "number, that give the group away but that boosted trees do not find. "
            "Every row counts once, so the numbers hold for the rows of the file. Survey weights are not used, and a "
            "column of weights is a feature unless --drop leaves it out."
        )
        return lines

    # -----------------------------------------------------------------------------------------------------------------
    # Tables

    def groups(self) -> Html:
        """Rows of each group, and how many of them are positive."""
        counts = self.prepared.labels.value_counts().sort_index()
        table = pd.DataFrame({"group": counts.index, "rows": counts.to_numpy()})
        table["% of the rows"] = 100 * counts.to_numpy() / counts.sum()
        known = self.comparison.decisions
        if len(known):
            one = known.drop_duplicates("group").set_index("group")
            positives = one["positives"].reindex(table["group"])
            table["base rate, %"] = 100 * positives.to_numpy() / table["rows"]
            table["positives"] = pd.Series([None if math.isnan(n) else int(n) for n in positives], dtype=object)
        return table_html(table, f"Groups{self.comparison.about_positive()}", 1)

    def methods(self) -> Html:
        """All methods on new rows."""
        names = ["variance", "worst_error", "error_gap", "loss_gap", "mmd2", "linear_auc", "kernel_auc"]
        level = f"{self.comparison.level:.0%} intervals below the estimates"
        return table_html(self._table(names), f"Methods on new rows, {self.dimension} components; {level}", 2)

    def outcomes(self) -> Html:
        """What classifiers on the projections decide."""
        c = self.comparison
        if not len(c.decisions):
            return tag(
                "p", "No target with two values was given, so no decisions are compared (options --target, --positive)."
            )
        rate = c.base_rate or 0.0
        names = ["accuracy:logistic", "auc:logistic", "base_selection_gap:logistic", "base_tpr_gap:logistic"]
        caption = (
            f"Decisions of a logistic classifier on {self.dimension} components, new rows{c.about_positive()}. As many "
            f"rows are selected as are positive ({rate:.1%}); accuracy alone is at the threshold 0.5, where one "
            f"decision for all rows is right for {max(rate, 1 - rate):.1%}. Below the estimates: {c.level:.0%} "
            "intervals, and what 95 % of random groupings stay below (chance)"
        )
        return join([table_html(self._table(names), caption, 2), self.selection("pca")])

    def selection(self, method: str) -> Html:
        """Who is selected with one method: selection and true-positive rate of each group at both thresholds."""
        c = self.comparison
        rows = _logistic(c, method, self.dimension)
        if rows.empty:
            return Html()
        table = pd.DataFrame()
        for threshold, part in rows.groupby("threshold", sort=False):
            if table.empty:
                table = part[["group", "rows", "positives"]].reset_index(drop=True)
                table["base rate, %"] = 100 * table["positives"] / table["rows"]
            head = "" if threshold == "base rate" else " at 0.5"
            nobody = part["selected"].max() < ENOUGH_SELECTED
            table[f"selected{head}, %"] = [
                f"only {n} rows" if nobody and n else "nobody selected" if nobody else f"{100 * rate:.1f}"
                for n, rate in zip(part["selected"], part["selection_rate"], strict=True)
            ]
            table[f"TPR{head}, %"] = [
                "–" if nobody or math.isnan(rate) else f"{100 * rate:.1f}" for rate in part["tpr"]
            ]
        caption = (
            f"Who is selected with {c.titles.get(method, method)}{c.about_positive()}; as many rows as "
            "are positive, or those with a probability from 0.5 on. A true-positive rate (TPR) needs "
            f"{ENOUGH_POSITIVES} positives"
        )
        return table_html(table, caption, 1)

    def selections(self) -> Html:
        """Who is selected with each method, classifier and threshold."""
        c = self.comparison
        if not len(c.decisions):
            return Html()
        table = c.decisions[c.decisions["n_components"] == self.dimension].drop(columns=["n_components", "hits"])
        table = table.assign(method=[c.titles.get(m, m) for m in table["method"]])
        return folded("Who is selected, all methods", table_html(table, f"All decisions{c.about_positive()}"))

    def intervals(self) -> Html:
        """Intervals for new rows."""
        frame = self.comparison.frame
        rows = frame[frame["low"].notna()].copy()
        rows["metric"] = [_title(metric) for metric in rows["metric"]]
        rows["method"] = [self.comparison.titles.get(m, m) for m in rows["method"]]
        caption = (
            f"{self.comparison.level:.0%} intervals for new rows (errors in % of the variance)"
            f"{self.comparison.about_positive()}"
        )
        table = table_html(rows.rename(columns={"n_components": "components", "n": "rows"}), caption)
        return folded("All intervals", table)

    def carriers(self, count: int = 12) -> Html:
        """The features that carry the group into PCA's components."""
        table = self.loadings.reindex(self.loadings["carried"].abs().sort_values(ascending=False).index).head(count)
        caption = "Features that carry the difference of the groups' means into PCA's components"
        return folded("Features that carry the group", table_html(table, caption))

    def proxies(self, count: int = 20) -> Html:
        """The features that predict the group best."""
        rows = list(self.prepared.proxies.items())[:count]
        table = pd.DataFrame([*rows, ("all together", self.joint_proxy)], columns=["feature", "balanced accuracy"])
        caption = "How well features predict the group of new rows (cross-validated; each group weighs the same)"
        return folded("Proxies of the group", table_html(table, caption))

    def intersections(self) -> Html:
        """Combinations of the sensitive columns; nothing where there is one."""
        if self.crossed.empty:
            return Html()
        caption = "Combinations of the sensitive columns, PCA on all rows"
        return folded("Combinations of groups", table_html(self.crossed, caption))

    def columns(self) -> Html:
        """Say what became of each column, and how the table was read."""
        rows = [(d.column, d.role, d.why) for d in self.prepared.decisions]
        table = table_html(pd.DataFrame(rows, columns=["column", "role", "what was done, and why"]), "Columns")
        return folded("What became of each column", *(tag("p", note) for note in self.prepared.notes), table)

    def certificates(self) -> Html:
        """How each fit ended, and what its certificate is worth."""
        found = self.comparison.statuses.copy()
        found["method"] = [self.comparison.titles.get(m, m) for m in found["method"]]
        by = ["method", "n_components", "components", "status", "certificate"]
        table = found.groupby(by, sort=False, as_index=False).agg(
            fits=("part", "size"), gap=("gap", "max"), seconds=("seconds", "sum")
        )
        return folded("How the fits ended", table_html(table.rename(columns={"n_components": "asked for"}), "Fits", 4))

    def origin(self) -> Html:
        """Give the command, the file and the versions that the numbers depend on."""
        p = self.prepared
        facts = {"file": p.source, "SHA-256": p.digest, "rows read": str(p.n_rows_read), **versions()}
        table = table_html(pd.DataFrame(facts.items(), columns=["what", "value"]), "File and versions")
        return join([tag("pre", self.command()), folded("File and versions", table)])

    def command(self) -> str:
        """Return what makes this report again: the line that was typed, or a call of :func:`analyse`."""
        given = {name: value for name, value in self.arguments.items() if name != "command"}
        call = ", ".join(f"{name}={value!r}" for name, value in given.items())
        return str(self.arguments["command"] or f"fairpca.report.analyse({call})")

    def _table(self, metrics: Sequence[str]) -> pd.DataFrame:
        """Return one row a method; estimates have their interval and their value by chance below them."""
        by, methods = _by_method(self)
        chances = {method: by[method, "mmd2_chance"].estimate for method in methods if (method, "mmd2_chance") in by}
        table = {"method": [self.comparison.titles.get(m, m) for m in methods]}
        for metric in metrics:
            if any((method, metric) in by for method in methods):
                by_chance = chances if metric == "mmd2" else {}
                table[get_measure(metric).title] = [_estimate(by.get((m, metric)), by_chance.get(m)) for m in methods]
        return pd.DataFrame(table, dtype=object)  # text columns of pandas would forget what is HTML

    # -----------------------------------------------------------------------------------------------------------------
    # Pictures

    def plot_groups(self) -> Html:
        """Draw PCA's first two components by group."""
        from fairpca.plotting import plot_projection

        X = np.asarray(self.prepared.features())
        labels = self.prepared.labels.to_numpy()
        groups, said = self._largest()
        shown = np.random.default_rng(0).permutation(np.flatnonzero(np.isin(labels, groups)))[:1500]
        Z = fairpca.PCA(n_components=min(2, X.shape[1])).fit(X, sensitive_features=labels).transform(X)
        if Z.shape[1] < 2:
            return tag("p", "There is a single feature, so there is nothing to draw.")
        ax = plot_projection(Z[shown], labels[shown])
        return figure_html(
            ax,
            "A point a row, its first two principal components.",
            f"PCA: a point a row, by group.{said}",
        )

    def _largest(self) -> tuple[list[str], str]:
        """Return the groups that a picture can show, and what its caption says of that."""
        sizes = self.prepared.labels.value_counts()
        return list(sizes.index[:8]), " The eight largest groups are shown." if len(sizes) > 8 else ""

    def plot_tradeoff(self, y: str = "error_gap", n_components: int | None = None) -> Html:
        """Draw variance against a difference between groups."""
        title = get_measure(y).title
        text = f"Variance kept against {title} on new rows, a point a method"
        ax = self.comparison.plot(y=y, n_components=n_components)
        return figure_html(ax, f"{text}.", f"{text}; bars: intervals.")

    def plot_dimensions(self) -> Html:
        """Draw each group's error by dimension."""
        from fairpca.plotting import plot_group_curves

        frame = self.by_dimension.rename(columns={"n_components": "d", "error": "value"})
        groups, said = self._largest()
        frame = frame[frame["group"].isin(groups)]
        ax = plot_group_curves(frame, method="method", ylabel="error, % of the variance")
        return figure_html(
            ax,
            "Curves of the groups' errors over the dimension.",
            f"Error of each group by dimension, all rows.{said}",
        )

    # -----------------------------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Return every number of the report, in types that JSON knows, as :func:`report_schema` says."""
        p = self.prepared
        return {
            "schema": SCHEMA,
            "answers": answers(self),
            "command": self.command(),
            "data": {
                "source": p.source,
                "sha256": p.digest,
                "rows_read": p.n_rows_read,
                "rows": len(p.frame),
                "sensitive": list(p.groups.columns),
                "target": None if p.target is None else str(p.target.name),
                "proxies": {**p.proxies},
                "joint_proxy": plain(self.joint_proxy),
                "groups": {str(label): int(count) for label, count in p.labels.value_counts().sort_index().items()},
                "columns": [{"column": d.column, "role": d.role, "why": d.why} for d in p.decisions],
                "notes": [*p.notes],
                "warnings": [*p.warnings, *self.small_groups],
            },
            "comparison": self.comparison.as_dict(),
            "by_dimension": plain(self.by_dimension.to_dict(orient="records")),
            "loadings": plain(self.loadings.to_dict(orient="records")),
            "intersections": plain(self.crossed.to_dict(orient="records")),
        }


def analyse(
    data: Any,
    sensitive: Sequence[str],
    target: str | None = None,
    *,
    positive: Any = None,
    components: Sequence[int] | None = None,
    methods: Sequence[str] | None = None,
    parts: int = 5,
    level: float = 0.95,
    seed: int = 0,
    rules: Mapping[str, Any] | None = None,
    reading: Mapping[str, Any] | None = None,
    missing_groups: str = "error",
    cut: Mapping[str, Sequence[float]] | None = None,
    merge_below: int = 0,
    command: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Analysis:
    """Compute everything that a report shows.

    Parameters
    ----------
    data : str, Path, frame or Table
        Name of a table's file, or a table in memory (pandas, Polars, pyarrow).
    sensitive : sequence of str
        Columns that say the group.
    target : str, optional
        Column that is to be predicted.
    positive : object, optional
        Its value that is a positive decision; default the later one of two in sorted order.
    components : sequence of int, optional
        Dimensions that are compared; default two, and as many as PCA needs for half of the variance (ten at most).
    methods, parts, level, seed
        As in :func:`fairpca.report.compare`.
    rules, reading : mapping, optional
        Fields of :class:`fairpca.tables.Rules` and options of :func:`fairpca.tables.read_table`.
    missing_groups, cut, merge_below
        As in :func:`fairpca.tables.prepare`.
    command : str, optional
        What the report calls the command that made it; default the call of this function.
    progress : callable, optional
        ``progress(done, total)`` after each fit.

    Returns
    -------
    Analysis
    """
    prepared = prepare(
        read_table(data, **dict(reading or {})) if isinstance(data, (str, Path)) else as_table(data),
        sensitive,
        target,
        _rules(rules or {}),
        missing_groups=missing_groups,  # type: ignore[arg-type]
        cut=cut,
        merge_below=merge_below,
    )
    X, labels = np.asarray(prepared.features()), prepared.labels.to_numpy()
    dimensions = chosen_dimensions(X) if components is None else [int(d) for d in components]
    labelled = None if prepared.target is None else words_of(prepared.target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what fits warn about stands with their statuses
        comparison = compare(
            prepared.frame,
            labels,
            labelled,
            positive=positive,
            n_components=dimensions,
            methods=methods,
            preparation=prepared.transformer(),
            n_parts=parts,
            level=level,
            settings=_QUICK,
            random_state=seed,
            progress=progress,
        )
        axes = None
        if X.shape[1] > len(X):  # in coordinates of the space that the rows span, all distances are the same
            axes, triangle = np.linalg.qr(X.T)
            X = triangle.T
        moments = fairpca.GroupMoments.from_data(X, labels)
        names = [str(name) for name in prepared.features().columns]
        found = Analysis(
            prepared,
            comparison,
            errors_by_dimension(moments),
            group_loadings(moments, names, max(dimensions), axes),
            crossed_groups(X, prepared, max(dimensions)),
            price_of_small_groups(X, labels, max(dimensions)),
            prepared.joint_proxy(),
            {
                "data": str(data) if isinstance(data, (str, Path)) else "TABLE",
                "sensitive": list(sensitive),
                "target": target,
                "positive": positive,
                "components": dimensions,
                "methods": methods,
                "parts": parts,
                "level": level,
                "seed": seed,
                "rules": dict(rules or {}),
                "reading": dict(reading or {}),
                "missing_groups": missing_groups,
                "cut": dict(cut or {}),
                "merge_below": merge_below,
                "command": command,
            },
        )
    return found


def _title(metric: str) -> str:
    _, colon, group = metric.partition(":")
    known = get_measure(metric)
    return known.title if known.name == metric else f"{known.title}{colon}{' ' if colon else ''}{group}"


def _estimate(row: Any, chance: float | None = None) -> Html:
    """Write an estimate, and below it its interval and its value by chance."""
    if row is None or math.isnan(row.estimate):
        return Html("–")
    digits = 1 if get_measure(row.metric).unit == "%" else 3
    below = [] if math.isnan(row.low) else [f"{row.low:.{digits}f} to {row.high:.{digits}f}"]
    chance = row.chance if chance is None else chance
    below += [] if math.isnan(chance) else [f"chance {chance:.{digits}f}"]
    return join([f"{row.estimate:.{digits}f}", *(tag("span", line, class_="interval") for line in below)])


def _rules(given: Mapping[str, Any]) -> Rules:
    """Read rules as a notebook has them, with lists for tuples."""
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return Rules(**fields)


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
    rows, methods = _by_method(study)
    base, title = "pca" if "pca" in methods else methods[0], study.comparison.titles.get
    better = [m for m in methods if m != base and rows[m, "error_gap"].high < rows[base, "error_gap"].low]
    return [
        _gap(rows, base, title(base, base), study.dimension, study.comparison.groups),
        _better(rows, base, better, title),
        _price(rows, base, better, title),
        _decisions(study, rows, base, title(base, base)),
        _limits(study),
    ]


def _by_method(study: Any) -> tuple[dict[tuple[str, str], Any], list[str]]:
    """Return the estimates in the report's dimension by method and measure, and the methods."""
    frame = study.comparison.frame
    rows = list(frame[frame["n_components"] == study.dimension].itertuples())
    return {(str(row.method), str(row.metric)): row for row in rows}, list(dict.fromkeys(str(r.method) for r in rows))


def _logistic(comparison: Comparison, method: str, n_components: int) -> pd.DataFrame:
    """Return who is selected by a logistic classifier; empty without a target."""
    rows = comparison.decisions
    if rows.empty:
        return rows
    of = {"method": method, "n_components": n_components, "classifier": "logistic"}
    return rows[(rows[list(of)] == list(of.values())).all(axis=1)]


def _between(row: Any, factor: float = 1.0) -> str:
    if row.low != row.low:
        return "without an interval, because a group is too small"
    return f"interval {factor * row.low:.1f} to {factor * row.high:.1f}"


def _gap(rows: Any, base: str, title: str, dimension: int, groups: Mapping[str, int]) -> str:
    errors = {group: rows[base, f"error:{group}"].estimate for group in groups}
    worst, best = max(errors, key=lambda g: errors[g]), min(errors, key=lambda g: errors[g])
    gap = rows[base, "error_gap"]
    text = (
        f"With {title} and {dimension} components, rows of the group {worst!r}{_few(groups[worst])} are described "
        f"worst: their error on new rows is {errors[worst]:.1f} % of the variance, that of "
        f"{best!r}{_few(groups[best])} {errors[best]:.1f} %. The largest gap between two groups is "
        f"{gap.estimate:.1f} points ({_between(gap)})."
    )
    return text + (" The interval reaches zero, so the groups may not differ." if gap.low == 0 else "")


def _few(count: int) -> str:
    return f" (only {count} rows)" if count < FEW_ROWS else ""


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
    gap, rates = rows[base, name], _logistic(comparison, base, study.dimension)
    rates = rates[rates["threshold"] == "base rate"].set_index("group")
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
    few = "" if not left else f" Too small to be compared: {left} of the groups."
    if study.prepared.strong_proxies:
        features = " or ".join(map(repr, study.prepared.strong_proxies[:3]))
        few += f" {features} alone predicts the group of nearly every row; without it the numbers may be others."
    return (
        "It cannot be said why groups differ, whether rows that were collected in another way behave alike, or what "
        f"a difference means for one person.{few}"
    )

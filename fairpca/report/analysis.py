"""Everything that a report on one table shows, computed once; each method gives one table or picture of it."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairpca
from fairpca._row_space import RowSpace
from fairpca._validation import encode_groups
from fairpca.own_data import Prepared, Rules, plain, prepare, read_table, versions
from fairpca.report.command import command
from fairpca.report.comparison import Comparison, compare
from fairpca.report.measures import Settings, declared
from fairpca.report.page import close, figure_html, listed, table_html
from fairpca.report.whole_table import chosen_dimensions, crossed_groups, errors_by_dimension, group_loadings

__all__ = ["Analysis", "Piece", "analyse", "report_schema"]

SCHEMA = 1
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
    ['columns', 'groups', 'notes']
    """
    text = files("fairpca.report").joinpath("report.schema.json").read_text(encoding="utf8")
    found: dict[str, Any] = json.loads(text)
    return found


class Piece:
    """A table or picture as a notebook and a page show it."""

    def __init__(self, html: str) -> None:
        self._html = html

    def _repr_html_(self) -> str:
        return self._html


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
    arguments : mapping
        What the report was asked for.
    """

    prepared: Prepared
    comparison: Comparison
    by_dimension: pd.DataFrame
    loadings: pd.DataFrame
    crossed: pd.DataFrame
    arguments: Mapping[str, Any]

    # -----------------------------------------------------------------------------------------------------------------
    # Tables

    def about(self) -> Piece:
        """Rows, columns, groups."""
        p = self.prepared
        facts = {
            "file": p.source,
            "SHA-256": p.digest,
            "rows read": p.n_rows_read,
            "rows used": len(p.frame),
            "columns that are features": p.frame.shape[1],
            "groups by": " and ".join(p.groups.columns),
            "target": "none" if p.target is None else str(p.target.name),
        }
        return Piece(table_html(pd.DataFrame(facts.items(), columns=["what", "value"]).astype(str), "The table"))

    def group_sizes(self) -> Piece:
        """Rows of each group."""
        counts = self.prepared.labels.value_counts().sort_index()
        table = pd.DataFrame(
            {"group": counts.index, "rows": counts.to_numpy(), "%": 100 * counts.to_numpy() / counts.sum()}
        )
        return Piece(table_html(table, "Groups", 1))

    def decisions(self) -> Piece:
        """What became of each column."""
        rows = [(d.column, d.role, d.why) for d in self.prepared.decisions]
        return Piece(table_html(pd.DataFrame(rows, columns=["column", "role", "what was done, and why"]), "Columns"))

    def remarks(self) -> Piece:
        """What a reader has to know before anything else."""
        lines = [*self.prepared.warnings, *self.comparison.notes, *self.prepared.notes]
        lines += [f"{name} left out: {reason}" for name, reason in self.comparison.skipped.items()]
        return Piece("".join(listed(lines)) or "<p>Nothing unusual was found when the table was read.</p>")

    def methods(self, n_components: int | None = None) -> Piece:
        """All methods on new rows."""
        return self._of(
            ["variance", "worst_error", "error_gap", "loss_gap", "mmd2", "mmd2_chance", "linear_auc", "kernel_auc"],
            "Methods on new rows",
            n_components,
        )

    def outcomes(self, n_components: int | None = None) -> Piece:
        """What classifiers on the projections decide."""
        names = [
            f"{name}:{kind}"
            for kind in ("logistic", "trees")
            for name in ("accuracy", "auc", "selection_gap", "tpr_gap")
        ]
        if not set(names) & set(self.comparison.frame["metric"]):
            return Piece("<p>No target with two values was given, so no decisions are compared (option --target).</p>")
        return self._of(names, "Decisions from the projections, on new rows", n_components)

    def intervals(self) -> Piece:
        """Intervals for new rows."""
        frame = self.comparison.frame
        rows = frame[frame["low"].notna()].copy()
        rows["metric"] = [_title(metric) for metric in rows["metric"]]
        rows["method"] = [self.comparison.titles.get(m, m) for m in rows["method"]]
        caption = f"{self.comparison.level:.0%} intervals for new rows (errors in % of the variance)"
        table = table_html(rows.rename(columns={"n_components": "components", "n": "rows"}), caption)
        return Piece(table)

    def carriers(self, count: int = 12) -> Piece:
        """The features that carry the group into PCA's components."""
        table = self.loadings.reindex(self.loadings["carried"].abs().sort_values(ascending=False).index).head(count)
        return Piece(table_html(table, "Features that carry the difference of the groups' means into PCA's components"))

    def intersections(self) -> Piece:
        """Combinations of the sensitive columns."""
        if self.crossed.empty:
            return Piece("<p>One sensitive column was given; with several, their combinations stand here.</p>")
        return Piece(table_html(self.crossed, "Combinations of the sensitive columns, PCA on all rows"))

    def certificates(self) -> Piece:
        """How each fit ended, and what its certificate is worth."""
        found = self.comparison.statuses.copy()
        found["method"] = [self.comparison.titles.get(m, m) for m in found["method"]]
        by = ["method", "n_components", "components", "status", "certificate"]
        table = found.groupby(by, sort=False, as_index=False).agg(
            fits=("part", "size"), gap=("gap", "max"), seconds=("seconds", "sum")
        )
        return Piece(table_html(table.rename(columns={"n_components": "asked for"}), "Fits", 4))

    def versions(self) -> Piece:
        """Versions that the numbers depend on."""
        return Piece(table_html(pd.DataFrame(versions().items(), columns=["package", "version"]), "Versions"))

    def command(self) -> str:
        """Return the command that makes this report again."""
        return command(self.arguments)

    def _of(self, metrics: Sequence[str], caption: str, n_components: int | None) -> Piece:
        dimension = max(self.comparison.frame["n_components"]) if n_components is None else n_components
        table = self.comparison.table(dimension, metrics)
        table.columns = pd.Index([declared(name).title for name in table.columns])
        table.insert(0, "method", [self.comparison.titles.get(name, name) for name in table.index])
        return Piece(table_html(table, f"{caption}, {dimension} components"))

    # -----------------------------------------------------------------------------------------------------------------
    # Pictures

    def plot_groups(self) -> Piece:
        """Draw PCA's first two components by group."""
        from fairpca.plotting import plot_projection

        X = np.asarray(self.prepared.features())
        labels = self.prepared.labels.to_numpy()
        shown = np.random.default_rng(0).permutation(len(X))[:1500]
        Z = fairpca.PCA(n_components=min(2, X.shape[1])).fit(X, sensitive_features=labels).transform(X)
        if Z.shape[1] < 2:
            return Piece("<p>There is a single feature, so there is nothing to draw.</p>")
        ax = plot_projection(Z[shown], labels[shown])
        return _drawn(ax, "A point a row, its first two principal components.", "PCA: a point a row, by group.")

    def plot_tradeoff(self, y: str = "error_gap", n_components: int | None = None) -> Piece:
        """Draw variance against a difference between groups."""
        title = declared(y).title
        text = f"Variance kept against {title} on new rows, a point a method"
        return _drawn(self.comparison.plot(y=y, n_components=n_components), f"{text}.", f"{text}; bars: intervals.")

    def plot_dimensions(self) -> Piece:
        """Draw each group's error by dimension."""
        from fairpca.plotting import plot_group_curves

        frame = self.by_dimension.rename(columns={"n_components": "d", "error": "value"})
        ax = plot_group_curves(frame, method="method", ylabel="error, % of the variance")
        return _drawn(
            ax, "Curves of the groups' errors over the dimension.", "Error of each group by dimension, all rows."
        )

    # -----------------------------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Return every number of the report, in types that JSON knows, as :func:`report_schema` says."""
        p = self.prepared
        return {
            "schema": SCHEMA,
            "command": self.command(),
            "data": {
                "source": p.source,
                "sha256": p.digest,
                "rows_read": p.n_rows_read,
                "rows": len(p.frame),
                "sensitive": list(p.groups.columns),
                "target": None if p.target is None else str(p.target.name),
                "groups": {str(label): int(count) for label, count in p.labels.value_counts().sort_index().items()},
                "columns": [{"column": d.column, "role": d.role, "why": d.why} for d in p.decisions],
                "notes": [*p.notes],
                "warnings": [*p.warnings],
            },
            "comparison": self.comparison.as_dict(),
            "by_dimension": plain(self.by_dimension.to_dict(orient="records")),
            "loadings": plain(self.loadings.to_dict(orient="records")),
            "intersections": plain(self.crossed.to_dict(orient="records")),
        }

    def save_json(self, path: str | Path) -> None:
        """Write every number of the report."""
        Path(path).write_text(json.dumps(self.as_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf8")


def analyse(
    data: Any,
    sensitive: Sequence[str],
    target: str | None = None,
    *,
    components: Sequence[int] | None = None,
    methods: Sequence[str] | None = None,
    parts: int = 5,
    level: float = 0.95,
    seed: int = 0,
    rules: Mapping[str, Any] | None = None,
    reading: Mapping[str, Any] | None = None,
    missing_groups: str = "error",
    cut: Mapping[str, Sequence[float]] | None = None,
    progress: str | None = None,
) -> Analysis:
    """Compute everything that a report shows.

    Parameters
    ----------
    data : str
        Name of a table's file.
    sensitive : sequence of str
        Columns that say the group.
    target : str, optional
        Column that is to be predicted.
    components : sequence of int, optional
        Dimensions that are compared; default two, and as many as PCA needs for half of the variance (ten at most).
    methods, parts, level, seed
        As in :func:`fairpca.report.compare`.
    rules, reading : mapping, optional
        Fields of :class:`fairpca.own_data.Rules` and options of :func:`fairpca.own_data.read_table`.
    missing_groups, cut
        As in :func:`fairpca.own_data.prepare`.
    progress : str, optional
        File that is told how many fits are done, for a progress bar elsewhere.

    Returns
    -------
    Analysis
    """
    prepared = prepare(
        read_table(data, **dict(reading or {})),
        sensitive,
        target,
        _rules(rules or {}),
        missing_groups=missing_groups,  # type: ignore[arg-type]
        cut=cut,
    )
    X, labels = np.asarray(prepared.features()), prepared.labels.to_numpy()
    dimensions = chosen_dimensions(X) if components is None else [int(d) for d in components]
    answers = None if prepared.target is None else prepared.target.to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what fits warn about stands with their statuses
        comparison = compare(
            prepared.frame,
            labels,
            answers,
            n_components=dimensions,
            methods=methods,
            preparation=prepared.transformer(),
            n_parts=parts,
            level=level,
            settings=_QUICK,
            random_state=seed,
            progress=None if progress is None else _told(progress),
        )
        groups, space = encode_groups(labels), RowSpace.of(X, 10)
        moments = fairpca.GroupMoments.from_data(X if space is None else space.rows, groups)
        names = [str(name) for name in prepared.features().columns]
        found = Analysis(
            prepared,
            comparison,
            errors_by_dimension(moments),
            group_loadings(X, groups, names, max(dimensions)),
            crossed_groups(X, prepared, max(dimensions)),
            {
                "data": str(data),
                "sensitive": list(sensitive),
                "target": target,
                "components": dimensions,
                "methods": methods,
                "parts": parts,
                "level": level,
                "seed": seed,
                "rules": dict(rules or {}),
                "reading": dict(reading or {}),
                "missing_groups": missing_groups,
                "cut": dict(cut or {}),
            },
        )
    return found


def _title(metric: str) -> str:
    if metric == "recovery":
        return "AUC of the group"
    _, colon, group = metric.partition(":")
    return f"{declared(metric).title}{colon}{' ' if colon else ''}{group}"


def _rules(given: Mapping[str, Any]) -> Rules:
    """Read rules as a notebook has them, with lists for tuples."""
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return Rules(**fields)


def _told(path: str) -> Any:
    def progress(done: int, total: int) -> None:
        temporary = f"{path}.new"
        Path(temporary).write_text(f"{done} {total}")
        os.replace(temporary, path)

    return progress


def _drawn(ax: Any, alt: str, caption: str) -> Piece:
    html = figure_html(ax.figure, alt, caption)
    close(ax.figure)
    return Piece(html)

"""Methods and dimensions compared on somebody's rows, by cross-fitting, with intervals for new rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from fairpca._validation import Groups, check_given, check_number, check_rows_match, encode_groups
from fairpca.report.cells import Cell, measured_cell, parts_of, prepared_part
from fairpca.report.intervals import (
    Interval,
    auc_interval,
    gap_by_chance,
    gap_interval,
    mean_interval,
    rate_gap_interval,
)
from fairpca.report.measures import Settings, Split, get_measure
from fairpca.report.methods import Method, Skipped, get_method, known_methods

__all__ = ["FAST_METHODS", "Comparison", "compare"]

# Without the kernel methods, whose time grows with the square of the number of rows.
FAST_METHODS = ("pca", "minmax_loss", "minmax_error", "rfpca", "mean_orthogonal", "mean_oblique", "leace")
SMALLEST_GROUP = 10  # rows below which a group is in no comparison
ENOUGH_POSITIVES = 20  # of a group, for a true positive rate
ENOUGH_SELECTED = 5  # in some group; below, nobody counts as selected


@dataclass(frozen=True)
class Comparison:
    """What came out of a comparison.

    Attributes
    ----------
    values : DataFrame
        One row a number: ``method, n_components, part, metric, value``; `part` of the cross-fitting.
    frame : DataFrame
        One row a method, dimension and metric: ``method, n_components, metric, estimate, low, high, chance, n``.
        Errors, their gap, the recovery of the group and the gaps of decisions are of all held-out rows together, with
        an interval; others are means over the parts, of whose means for each group `worst_loss` and `loss_gap` are
        made. `chance` is what a gap of decisions exceeds in 5 % of random
        groupings.
    statuses : DataFrame
        One row a fit: ``method, n_components, part, components, status, certificate, gap, seconds, note``. `components`
        is what the method has, which may be more than the `n_components` that it was asked for. `status`, `certificate`
        and `gap` are those of its :class:`~fairpca.SolverResult`, empty and NaN for a method without one; `seconds` is
        the processor time, `note` what it warned about.
    skipped : dict of str to str
        Methods that could not be used, and why.
    groups : dict of str to int
        Rows of each group that were compared.
    notes : tuple of str
        What a reader has to know, such as groups that are too small.
    level : float
        Of the intervals.
    titles : dict of str to str
        For each name in the columns ``method``, what readers call the method.
    decisions : DataFrame
        One row a method, dimension, classifier, threshold and group: ``method, n_components, classifier, threshold,
        group, rows, positives, selected, hits, selection_rate, tpr``, of all held-out rows together. The threshold is
        ``0.5``, or ``base rate``: as many rows are selected as are positive. Empty without a label.
    positive : str or None
        What the positive class of the label is called.
    base_rate : float or None
        Share of the rows that are positive.
    """

    values: pd.DataFrame
    frame: pd.DataFrame
    statuses: pd.DataFrame
    skipped: Mapping[str, str]
    groups: Mapping[str, int]
    notes: tuple[str, ...]
    level: float
    titles: Mapping[str, str] = field(default_factory=dict)
    decisions: pd.DataFrame = field(default_factory=pd.DataFrame)
    positive: str | None = None
    base_rate: float | None = None

    def about_positive(self) -> str:
        """Return what a caption says of the positive class; nothing without a label."""
        return "" if self.positive is None else f" (positive: {self.positive}, {self.base_rate:.1%} of the rows)"

    def _dimensions(self) -> list[int]:
        return sorted(set(self.frame["n_components"]))

    def _rows(self, n_components: int | None) -> pd.DataFrame:
        known = self._dimensions()
        dimension = known[-1] if n_components is None else n_components
        if dimension not in known:
            raise ValueError(
                f"n_components={n_components} was not compared; the dimensions are {', '.join(map(str, known))}."
            )
        return self.frame[self.frame["n_components"] == dimension]

    def table(self, n_components: int | None = None, metrics: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the estimates, one row a method; default the largest dimension and the measures that all have."""
        rows = self._rows(n_components)
        wide = rows.pivot_table(index="method", columns="metric", values="estimate")
        order = list(dict.fromkeys(rows["method"]))
        known = list(dict.fromkeys(rows["metric"]))
        columns = known if metrics is None else [metric for metric in metrics if metric in known]
        return wide.reindex(index=order, columns=columns)

    def plot(self, x: str = "variance", y: str = "error_gap", n_components: int | None = None, ax: Any = None) -> Any:
        """Draw one measure against another, a point a method, with the interval of `y` where there is one.

        Parameters
        ----------
        x, y : str
            Metrics of `frame`.
        n_components : int, optional
            Dimension; default the largest.
        ax : Axes, optional
            Where to draw.
        """
        from fairpca.plotting import method_style, new_axes

        ax = new_axes(ax)
        rows = self._rows(n_components).set_index(["method", "metric"])
        missing = [name for name in (x, y) if name not in rows.index.get_level_values("metric")]
        if missing:
            known = ", ".join(dict.fromkeys(rows.index.get_level_values("metric")))
            raise ValueError(f"there is no measure {missing[0]!r}; there are {known}.")
        looks: list[Any] = []
        for number, method in enumerate(dict.fromkeys(rows.index.get_level_values("method"))):
            if (method, x) not in rows.index or (method, y) not in rows.index:
                continue
            at, up = rows.loc[(method, x)], rows.loc[(method, y)]
            style = method_style(method, number)
            if not np.isnan(up["low"]):
                ax.plot([at["estimate"]] * 2, [up["low"], up["high"]], color=style.color, linewidth=1, alpha=0.6)
            look = {"color": style.color, "fillstyle": "none" if style in looks else "full", "linestyle": "none"}
            looks.append(style)  # kinds of one method have one look: the second is hollow
            ax.plot(at["estimate"], up["estimate"], style.marker, label=self.titles.get(method, method), **look)
        for axis, name in ((ax.set_xlabel, x), (ax.set_ylabel, y)):
            measure = get_measure(name)
            axis(f"{measure.title}{f' ({measure.unit})' if measure.unit else ''}, new rows")
        ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))  # beside the points, not on them
        return ax

    def as_dict(self) -> dict[str, Any]:
        """Return everything in types that JSON knows; ``None`` is what could not be estimated."""
        from fairpca.tables.writing import plain, versions

        return {
            "level": self.level,
            "groups": dict(self.groups),
            "notes": list(self.notes),
            "skipped": dict(self.skipped),
            "methods": dict(self.titles),
            "positive": self.positive,
            "base_rate": self.base_rate,
            "decisions": plain(self.decisions.to_dict(orient="records")),
            "results": plain(self.frame.to_dict(orient="records")),
            "statuses": plain(self.statuses.to_dict(orient="records")),
            "versions": versions(),
        }

    def summary(self) -> list[str]:
        """Return what most readers look at, in lines: a table for each dimension, intervals of gaps, notes."""
        wanted = ["variance", "worst_error", "error_gap", "loss_gap", "mmd2", "linear_auc", "kernel_auc"]
        about, lines = self.about_positive(), []
        if about:
            wanted += ["accuracy:logistic", "base_selection_gap:logistic", "base_tpr_gap:logistic"]
        for dimension in self._dimensions():
            lines.append(f"\n{dimension} components, new rows{about and f', decisions{about}'}:")
            table = self.table(dimension, wanted).rename_axis(columns=None)
            table = table.rename(columns={name: get_measure(name).title for name in table.columns})
            lines.append(table.to_string(float_format=lambda value: f"{value:.3g}"))
        lines += self._intervals("error_gap", "the gap between the groups' errors on new rows, % of the variance")
        if about:
            what = "the gap between the groups' selection rates when as many are selected as are positive"
            lines += self._intervals("base_selection_gap:logistic", f"{what}, decisions{about}")
        return lines + [*self.notes, *(f"{name} left out: {reason}" for name, reason in self.skipped.items())]

    def _intervals(self, metric: str, what: str) -> list[str]:
        lines = [f"\n{self.level:.0%} intervals for {what}:"]
        row: Any
        for row in self.frame[(self.frame["metric"] == metric) & self.frame["low"].notna()].itertuples():
            chance = "" if row.chance != row.chance else f"; random groups stay below {row.chance:.3g} in 95 % of cases"
            estimate = f"{row.estimate:.3g} [{row.low:.3g}, {row.high:.3g}]"
            lines.append(f"  {row.method}, {row.n_components} components: {estimate}{chance}")
        return lines

    def json_text(self) -> str:
        """Return all numbers as JSON."""
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False) + "\n"


def compare(
    X: Any,
    sensitive_features: Any,
    y: Any = None,
    *,
    positive: Any = None,
    n_components: int | Sequence[int] = 2,
    methods: Sequence[str] | None = None,
    preparation: Any = None,
    n_parts: int = 5,
    level: float = 0.95,
    settings: Settings | None = None,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Fit methods to all parts of the rows but one, and measure them on that part.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Rows. They are standardised by the training part, unless `preparation` says otherwise.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row.
    y : array-like of shape (n_samples,), optional
        A label, for what decisions on the projections do to the groups; of two classes unless `positive` is given.
    positive : object, optional
        The value of `y` that is a positive decision; default the later one of two in sorted order.
    n_components : int or sequence of int, default=2
        Dimensions.
    methods : sequence of str, optional
        Names as in ``known_methods()``; default those of :data:`FAST_METHODS` that are installed. ``["all"]`` takes
        every one.
    preparation : transformer, optional
        Fitted anew to each training part, such as :func:`fairpca.tables.column_transformer`.
    n_parts : int, default=5
        Parts of the cross-fitting.
    level : float, default=0.95
        Of the intervals.
    settings : Settings, optional
        How much work an evaluation may do.
    random_state : int, default=0
        Of the parts and of everything random.
    progress : callable, optional
        ``progress(done, total)`` after each fit.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca.report import compare
    >>> rng = np.random.default_rng(0)
    >>> X, sex = rng.normal(size=(200, 5)), np.repeat(["f", "m"], 100)
    >>> found = compare(X, sex, methods=["pca", "minmax_loss"])
    >>> sorted(set(found.frame["method"]))
    ['minmax_loss', 'pca']
    """
    check_number("n_parts", n_parts, low=2, high=50, integer=True)
    check_number("level", level, low=0.5, high=1.0, high_open=True)
    dimensions = [n_components] if isinstance(n_components, (int, np.integer)) else list(n_components)
    for dimension in dimensions:
        check_number("n_components", dimension, low=1, integer=True)
    if not dimensions:
        raise ValueError("n_components is empty; give at least one dimension.")
    check_given(X, sensitive_features=sensitive_features, y=y)
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    groups = encode_groups(sensitive_features, len(frame))
    if y is not None:
        check_rows_match("y", len(y), len(frame))
        if pd.isna(np.asarray(y)).any():
            raise ValueError("y has missing values; drop these rows, or leave y out.")
    kept, notes = _large_enough(groups, max(SMALLEST_GROUP, 2 * n_parts))
    frame, labels = frame[kept], [_word(groups.labels[code]) for code in groups.codes[kept]]
    target = None if y is None else np.asarray(y)[kept]
    groups = encode_groups(pd.Series(labels, dtype=object))
    n_classes = 0 if target is None else len(pd.unique(target))
    name = None
    if target is not None and (n_classes == 2 or (positive is not None and n_classes > 2)):
        target, name = _positive(target, positive)
        if positive is None:
            notes.append(f"the positive class is {str(name)!r}, the later one in sorted order (--positive changes it)")
    elif target is not None:
        notes.append(
            f"the target has {n_classes} values, not two, so no decisions are compared"
            + ("; --positive VALUE compares one of them with all others" if n_classes > 2 else "")
        )
        target = None
    chosen = _chosen(methods)
    skipped: dict[str, str] = {}
    parts = parts_of(groups, target, n_parts, random_state)
    cells: list[Cell] = []
    done, total = 0, len(chosen) * len(dimensions) * n_parts
    # Threads of BLAS and OpenMP wait for each other by spinning, on a busy machine much longer than they compute.
    with threadpool_limits(1):
        for part in range(n_parts):
            train, test, rotated = prepared_part(frame, groups, target, parts == part, preparation, random_state)
            for dimension in dimensions:
                split = Split(train, test, dimension, settings, random_state)
                for method in chosen:
                    try:
                        cells.append(measured_cell(split, method, part, rotated))
                    except Skipped as reason:
                        key = method.name if len(dimensions) == 1 else f"{method.name}, {dimension} components"
                        skipped[key] = str(reason)
                    done += 1
                    if progress is not None:
                        progress(done, total)
    if not cells:
        raise ValueError("No method could be used: " + " ".join(dict.fromkeys(skipped.values())))
    pooled = _pooled(cells, groups, level, random_state)
    return Comparison(
        pd.DataFrame(
            {
                "method": cell.method,
                "n_components": cell.n_components,
                "part": cell.part,
                "metric": metric,
                "value": value,
            }
            for cell in cells
            for metric, value in cell.measured.numbers.items()
        ),
        pd.DataFrame([row for one in pooled for row in one.rows()], columns=_COLUMNS),
        pd.DataFrame([cell.status for cell in cells]),
        skipped,
        {str(label): int(count) for label, count in zip(groups.labels, groups.counts, strict=True)},
        tuple(notes),
        level,
        {method.name: method.title for method in chosen},
        pd.DataFrame([row for one in pooled for row in one.decisions()]),
        None if name is None else str(name),
        None if target is None else float(np.mean(target)),
    )


def _word(label: Any) -> str:
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _large_enough(groups: Groups, smallest: int) -> tuple[np.ndarray, list[str]]:
    """Rows of groups of which something can be said, and what is said of the others."""
    small = np.flatnonzero(groups.counts < smallest)
    notes = []
    if small.size:
        shown = ", ".join(f"{_word(groups.labels[g])!r} ({groups.counts[g]} rows)" for g in small[:5])
        rest = f" and {small.size - 5} more" if small.size > 5 else ""
        notes.append(f"groups of fewer than {smallest} rows are left out, of them nothing can be said: {shown}{rest}")
    if len(groups.labels) - small.size < 2:
        raise ValueError(
            f"{len(groups.labels) - small.size} of {len(groups.labels)} groups have {smallest} rows or more; a "
            "comparison needs two such groups. Merge groups, or choose another sensitive column."
        )
    unsure = [g for g in np.flatnonzero(groups.counts < 50) if g not in small]
    if unsure:
        shown = ", ".join(f"{_word(groups.labels[g])!r} ({groups.counts[g]})" for g in unsure[:5])
        notes.append(f"groups of fewer than 50 rows, of which little can be said: {shown}")
    return ~np.isin(groups.codes, small), notes


def _chosen(names: Sequence[str] | None) -> list[Method]:
    if isinstance(names, str):
        raise TypeError(f"methods={names!r} is one word; give a list of names, for instance ['pca', {names!r}].")
    if names is not None and list(names) == ["all"]:
        return list(known_methods().values())
    return [get_method(name) for name in dict.fromkeys(FAST_METHODS if names is None else names)]


@dataclass(frozen=True)
class _Pooled:
    """All cells of one method in one dimension: every row once, measured by a model that was fitted without it."""

    cells: Sequence[Cell]
    labels: tuple[str, ...]
    level: float
    seed: int

    def of(self, value: Callable[[Cell], Any]) -> np.ndarray:
        """Join what the cells know of their rows."""
        return np.concatenate([value(cell) for cell in self.cells])

    def rows(self) -> list[dict[str, Any]]:
        """Estimates: means over the parts, with intervals where there is a theory for them."""
        known = {name: (interval, _NAN) for name, interval in (self._errors() | self._recovery()).items()}
        known |= self._gaps()
        rows: dict[str, dict[str, Any]] = {}
        for metric in dict.fromkeys([*(m for cell in self.cells for m in cell.measured.numbers), *known]):
            found = [cell.measured.numbers[metric] for cell in self.cells if metric in cell.measured.numbers]
            mean = float(np.mean(found)) if found else _NAN
            interval, chance = known.get(metric, (Interval(mean, _NAN, _NAN, len(self.of(_codes))), _NAN))
            rows[metric] = {**self.head(), "metric": metric, **asdict(interval), "chance": chance}
        for kind in ("error", "loss"):  # of the groups' estimates: extremes within a part are larger by chance alone
            each = [row["estimate"] for metric, row in rows.items() if metric.startswith(f"{kind}:")]
            if each:
                rows[f"worst_{kind}"]["estimate"], rows[f"{kind}_gap"]["estimate"] = max(each), max(each) - min(each)
        return list(rows.values())

    def head(self) -> dict[str, Any]:
        """What all rows of a table begin with."""
        return {"method": self.cells[0].method, "n_components": self.cells[0].n_components}

    def _errors(self) -> dict[str, Interval]:
        squares, codes = self.of(lambda cell: cell.measured.errors), self.of(_codes)
        numbers = self.of(lambda cell: np.full(len(cell.codes), cell.part))
        of = [(squares[codes == g], numbers[codes == g]) for g in range(len(self.labels))]
        intervals = {}
        for g, label in enumerate(self.labels):
            others = [v for other, (v, _) in enumerate(of) if other != g]
            intervals[f"error:{label}"] = mean_interval(*of[g], self.level, others=others)
        intervals["error_gap"] = gap_interval([v for v, _ in of], [p for _, p in of], self.level)
        return intervals

    def _recovery(self) -> dict[str, Interval]:
        """Of more than two groups the mean of the areas; the mean of the ends is an interval that is long enough."""
        targets = self.of(lambda cell: cell.measured.recovery.targets)
        folds = self.of(lambda cell: cell.measured.recovery.folds + 1000 * cell.part)
        found = {}
        for kind in ("linear", "kernel"):
            scores = self.of(lambda cell, kind=kind: getattr(cell.measured.recovery, kind))  # type: ignore[misc]
            dimensions = self.cells[0].measured.components
            each = [
                auc_interval(scores[:, j], targets[:, j], folds, self.level, dimensions=dimensions)
                for j in range(targets.shape[1])
            ]
            ends = np.mean([(one.estimate, one.low, one.high) for one in each], axis=0)
            estimate, low, high = map(float, ends)
            found[f"{kind}_auc"] = Interval(estimate, low, high, min(one.n for one in each))
        return found

    # -----------------------------------------------------------------------------------------------------------------
    # Decisions

    def decisions(self) -> list[dict[str, Any]]:
        """Who is selected: one row a classifier, threshold and group."""
        if self.cells[0].positive is None:
            return []
        codes, positive = self.of(_codes), self.of(lambda cell: cell.positive)
        rows = []
        for kind in self.cells[0].measured.probabilities:
            likely = self.of(lambda cell, kind=kind: cell.measured.probabilities[kind]) >= 0.5  # type: ignore[misc]
            best = self.of(lambda cell, kind=kind: cell.by_base_rate[kind])  # type: ignore[misc]
            for threshold, chosen in (("base rate", best), ("0.5", likely)):
                for g, label in enumerate(self.labels):
                    of, hit = codes == g, (codes == g) & positive
                    positives, hits = int(hit.sum()), int(chosen[hit].sum())
                    tpr = hits / positives if positives >= ENOUGH_POSITIVES else _NAN
                    facts = (kind, threshold, label, int(of.sum()), positives, int(chosen[of].sum()), hits)
                    values = (*self.head().values(), *facts, float(chosen[of].mean()), tpr)
                    rows.append(dict(zip(_DECISIONS, values, strict=True)))
        return rows

    def _gaps(self) -> dict[str, tuple[Interval, float]]:
        """Return the groups' differences with their intervals and values by chance; NaN where nobody is selected."""
        found = {}
        decisions = pd.DataFrame(self.decisions(), columns=_DECISIONS)
        for (kind, threshold), rows in decisions.groupby(["classifier", "threshold"], sort=False):
            nobody = rows["selected"].max() < ENOUGH_SELECTED
            known = rows[rows["positives"] >= ENOUGH_POSITIVES]
            for name, of, some, every in (
                ("selection_gap", rows, "selected", "rows"),
                ("tpr_gap", known, "hits", "positives"),
            ):
                counts = of[some].to_numpy(), of[every].to_numpy()
                interval, chance = Interval(_NAN, _NAN, _NAN, len(self.of(_codes))), _NAN
                if len(of) > 1 and not nobody:
                    interval, chance = rate_gap_interval(*counts, self.level), gap_by_chance(*counts, self.seed)
                prefix = "base_" if threshold == "base rate" else ""
                found[f"{prefix}{name}:{kind}"] = interval, chance
        return found


_NAN = float("nan")
_COLUMNS = ("method", "n_components", "metric", "estimate", "low", "high", "chance", "n")
_DECISIONS = (
    "method", "n_components", "classifier", "threshold", "group", "rows", "positives", "selected", "hits",
    "selection_rate", "tpr",
)  # fmt: skip


_codes = attrgetter("codes")


def _pooled(cells: Sequence[Cell], groups: Groups, level: float, seed: int) -> list[_Pooled]:
    keys = dict.fromkeys((cell.n_components, cell.method) for cell in cells)
    return [
        _Pooled([c for c in cells if (c.n_components, c.method) == key], groups.labels, level, seed)
        for key in sorted(keys, key=lambda key: key[0])
    ]


def _positive(y: np.ndarray, positive: Any) -> tuple[np.ndarray, Any]:
    """Return which rows are positive, and what that class is called; by default the later one in sorted order."""
    classes = list(pd.unique(y))
    if positive is None:
        positive = sorted(classes)[-1]
    named = [value for value in classes if value == positive or str(value) == str(positive)]
    if not named:
        shown = ", ".join(map(repr, sorted(map(str, classes))[:10]))
        raise ValueError(f"positive={positive!r} is not a value of the target; its values are {shown}.")
    return np.asarray(y == named[0]), named[0]

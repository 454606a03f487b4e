"""Methods and dimensions compared on somebody's rows, by cross-fitting, with intervals for new rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from fairpca._validation import Groups, check_given, check_number, check_rows_match, encode_groups
from fairpca.report.cells import Cell, Part, measured_cell, parts_of
from fairpca.report.intervals import Interval, auc_interval, gap_interval, mean_interval
from fairpca.report.measures import Settings, declared
from fairpca.report.method import Method, Skipped
from fairpca.report.methods import get_method, known_methods

__all__ = ["FAST_METHODS", "Comparison", "compare"]

# Without the kernel methods, whose time grows with the square of the number of rows.
FAST_METHODS = ("pca", "minmax_loss", "minmax_error", "rfpca", "mean_orthogonal", "mean_oblique", "leace")
# What a rotation of the features changes nothing in; only such methods are compared in coordinates of few rows.
_ROTATING = (*FAST_METHODS, "minmax_variance", "minmax_nash", "fpca_mean", "fpca_both")
SMALLEST_GROUP = 10  # rows below which a group is in no comparison


@dataclass(frozen=True)
class Comparison:
    """What came out of a comparison.

    Attributes
    ----------
    values : DataFrame
        One row a number: ``method, n_components, part, metric, value``; `part` of the cross-fitting.
    frame : DataFrame
        One row a method, dimension and metric: ``method, n_components, metric, estimate, low, high, n``. The estimate
        is the mean over the parts; intervals are given for errors, their gap and the linear recovery of the group.
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
    """

    values: pd.DataFrame
    frame: pd.DataFrame
    statuses: pd.DataFrame
    skipped: Mapping[str, str]
    groups: Mapping[str, int]
    notes: tuple[str, ...]
    level: float
    titles: Mapping[str, str] = field(default_factory=dict)

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
        columns = list(dict.fromkeys(rows["metric"])) if metrics is None else [m for m in metrics if m in wide]
        return wide.loc[order, columns]

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
        from fairpca.plotting import group_style, new_axes

        ax = new_axes(ax)
        rows = self._rows(n_components).set_index(["method", "metric"])
        missing = [name for name in (x, y) if name not in rows.index.get_level_values("metric")]
        if missing:
            known = ", ".join(dict.fromkeys(rows.index.get_level_values("metric")))
            raise ValueError(f"there is no measure {missing[0]!r}; there are {known}.")
        for number, method in enumerate(dict.fromkeys(rows.index.get_level_values("method"))):
            if (method, x) not in rows.index or (method, y) not in rows.index:
                continue
            at, up = rows.loc[(method, x)], rows.loc[(method, y)]
            style = group_style(number)
            if not np.isnan(up["low"]):
                ax.plot([at["estimate"]] * 2, [up["low"], up["high"]], color=style.color, linewidth=1, alpha=0.6)
            name = self.titles.get(method, method)
            ax.plot(at["estimate"], up["estimate"], style.marker, color=style.color, label=name, linestyle="none")
        for axis, name in ((ax.set_xlabel, x), (ax.set_ylabel, y)):
            measure = declared(name)
            axis(f"{measure.title}{f' ({measure.unit})' if measure.unit else ''}, new rows")
        ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))  # beside the points, not on them
        return ax

    def as_dict(self) -> dict[str, Any]:
        """Return everything in types that JSON knows; ``None`` is what could not be estimated."""
        from fairpca.own_data import plain, versions

        return {
            "level": self.level,
            "groups": dict(self.groups),
            "notes": list(self.notes),
            "skipped": dict(self.skipped),
            "methods": dict(self.titles),
            "results": plain(self.frame.to_dict(orient="records")),
            "statuses": plain(self.statuses.to_dict(orient="records")),
            "versions": versions(),
        }

    def to_json(self, path: str | Path) -> None:
        """Write all numbers to a file."""
        from fairpca._outputs import Outputs

        text = json.dumps(self.as_dict(), indent=1, ensure_ascii=False) + "\n"
        Outputs({"path": path}).write({"path": text.encode()})

    def to_html(self, path: str | Path, title: str = "Comparison of methods") -> None:
        """Write one self-contained page with the tables and the picture."""
        from fairpca._outputs import Outputs
        from fairpca.report.page import comparison_page

        Outputs({"path": path}).write({"path": comparison_page(self, title).encode()})


def compare(
    X: Any,
    sensitive_features: Any,
    y: Any = None,
    *,
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
        A label of two classes, for what decisions on the projections do to the groups.
    n_components : int or sequence of int, default=2
        Dimensions.
    methods : sequence of str, optional
        Names as in ``known_methods()``; default those of :data:`FAST_METHODS` that are installed. ``["all"]`` takes
        every one.
    preparation : transformer, optional
        Fitted anew to each training part, such as :func:`fairpca.own_data.column_transformer`.
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
    if target is not None and len(pd.unique(target)) != 2:
        notes.append(f"the target has {len(pd.unique(target))} values, not two, so no decisions are compared")
        target = None
    chosen, skipped = _chosen(methods)
    parts = parts_of(groups, target, n_parts, random_state)
    rotated = max(dimensions) if all(method.name in _ROTATING for method in chosen) else None
    prepared = [
        Part(frame, groups, target, parts, number, preparation, settings, random_state, rotated)
        for number in range(n_parts)
    ]
    cells: list[Cell] = []
    total = len(chosen) * len(dimensions) * n_parts
    # Threads of BLAS and OpenMP wait for each other by spinning, on a busy machine much longer than they compute.
    with threadpool_limits(1):
        for number, (part, dimension, method) in enumerate(
            ((p, d, m) for p in prepared for d in dimensions for m in chosen), start=1
        ):
            try:
                cells.append(measured_cell(part, method, dimension))
            except Skipped as reason:
                skipped[method.name if len(dimensions) == 1 else f"{method.name}, {dimension} components"] = str(reason)
            if progress is not None:
                progress(number, total)
    if not cells:
        raise ValueError("No method could be used: " + " ".join(dict.fromkeys(skipped.values())))
    return Comparison(
        pd.concat([cell.values() for cell in cells], ignore_index=True),
        _summary(cells, groups, level),
        pd.DataFrame([cell.status() for cell in cells]),
        skipped,
        {str(label): int(count) for label, count in zip(groups.labels, groups.counts, strict=True)},
        tuple(notes),
        level,
        {method.name: method.title for method in chosen},
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


def _chosen(names: Sequence[str] | None) -> tuple[list[Method], dict[str, str]]:
    known = known_methods()
    if names is None:
        return [known[name] for name in FAST_METHODS if name in known], {}
    if isinstance(names, str):
        raise TypeError(f"methods={names!r} is one word; give a list of names, for instance ['pca', {names!r}].")
    if list(names) == ["all"]:
        return list(known.values()), {}
    return [get_method(name) for name in dict.fromkeys(names)], {}


def _summary(cells: Sequence[Cell], groups: Groups, level: float) -> pd.DataFrame:
    """Means over the parts, with intervals where there is a theory for them."""
    rows = []
    keys = dict.fromkeys((cell.n_components, cell.method) for cell in cells)
    for dimension, method in sorted(keys, key=lambda key: key[0]):
        mine = [cell for cell in cells if (cell.n_components, cell.method) == (dimension, method)]
        metrics = dict.fromkeys(metric for cell in mine for metric in cell.measures)
        squares, codes, numbers = (
            np.concatenate([getattr(c, k) for c in mine]) for k in ("errors", "codes", "numbers")
        )
        intervals = {}
        of = [(squares[codes == g], numbers[codes == g]) for g in range(len(groups.labels))]
        for g, label in enumerate(groups.labels):
            others = [v for other, (v, _) in enumerate(of) if other != g]
            intervals[f"error:{label}"] = mean_interval(*of[g], level, others=others)
        intervals["error_gap"] = gap_interval([v for v, _ in of], [p for _, p in of], level)
        if len(groups.labels) == 2:
            scores = np.concatenate([cell.scores for cell in mine])
            intervals["recovery"] = auc_interval(scores, codes == 1, numbers, level, dimensions=dimension)
        for metric in [*metrics, *(name for name in intervals if name not in metrics)]:
            found = [cell.measures[metric] for cell in mine if metric in cell.measures]
            unknown = Interval(float(np.mean(found)) if found else float("nan"), float("nan"), float("nan"), len(codes))
            interval = intervals.get(metric, unknown)
            rows.append(
                {
                    "method": method,
                    "n_components": dimension,
                    "metric": metric,
                    "estimate": interval.estimate,
                    "low": interval.low,
                    "high": interval.high,
                    "n": interval.n,
                }
            )
    return pd.DataFrame(rows)

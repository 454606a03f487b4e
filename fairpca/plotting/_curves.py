"""Curves over the dimension, boxes, spectra, convergence, trade-offs, and our numbers beside the printed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairpca.plotting._style import METHOD_STYLE, PALETTE, group_style, method_style, new_axes

__all__ = [
    "plot_boxes",
    "plot_convergence",
    "plot_group_curves",
    "plot_spectrum",
    "plot_tradeoff",
    "plot_verdicts",
]

_VERDICTS = {
    "equal": (METHOD_STYLE["minmax"].color, "o"),
    "equal, inferred": (METHOD_STYLE["minmax"].color, "^"),
    "close": (PALETTE[0], "s"),
    "differs": (METHOD_STYLE["rfpca"].color, "X"),
}
_OTHER_VERDICT = ("#777777", "D")


def _columns(frame: pd.DataFrame, wanted: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise ValueError(f"the table has no column {missing}; it has {list(frame.columns)}.")


def _labelled(ax: Any, xlabel: str, ylabel: str, *, legend: bool = True) -> Any:
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if legend:
        ax.legend()
    return ax


def plot_group_curves(
    table: pd.DataFrame,
    ax: Any = None,
    *,
    x: str = "d",
    y: str = "value",
    group: str = "group",
    method: str | None = None,
    spread: str | None = None,
    xlabel: str = "target dimension",
    ylabel: str = "average reconstruction error",
) -> Any:
    """Draw a number over the dimension for each group, and method by method if there are several.

    Parameters
    ----------
    table : DataFrame
        Tidy: one row a number.
    ax : Axes, optional
        Where to draw.
    x, y, group : str
        Columns with the dimension, the number and the group.
    method : str, optional
        Column with the method. Methods then have the colours, and groups differ by marker and line.
    spread : str, optional
        Column with a standard deviation, drawn as a band.
    xlabel, ylabel : str
        Labels of the axes.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairpca.plotting import plot_group_curves
    >>> table = pd.DataFrame({'d': [1, 2, 1, 2], 'group': ['f', 'f', 'm', 'm'], 'value': [4.0, 2.5, 3.0, 2.0]})
    >>> ax = plot_group_curves(table)
    >>> ax.get_xlabel()
    'target dimension'
    """
    wanted = [x, y, group] + [c for c in (method, spread) if c is not None]
    _columns(table, wanted)
    ax = new_axes(ax)
    groups = list(dict.fromkeys(table[group]))
    methods = list(dict.fromkeys(table[method])) if method is not None else [None]
    for i, m in enumerate(methods):
        for g, label in enumerate(groups):
            part = table[table[group] == label]
            if method is not None:
                part = part[part[method] == m]
            part = part.sort_values(x)
            own = group_style(g)
            color = own.color if method is None else method_style(str(m), i).color
            name = str(label) if method is None else f"{m}, {label}"
            look = vars(own) | {"color": color, "markerfacecolor": "white" if g % 2 else color}
            ax.plot(part[x], part[y], **look, label=name)
            if spread is not None:
                low, high = part[y] - part[spread], part[y] + part[spread]
                ax.fill_between(part[x], low, high, color=color, alpha=0.15, linewidth=0)
    return _labelled(ax, xlabel, ylabel)


def plot_boxes(
    table: pd.DataFrame,
    ax: Any = None,
    *,
    x: str = "setting",
    y: str = "value",
    hue: str | None = None,
    points: bool = True,
    xlabel: str | None = None,
    ylabel: str | None = None,
) -> Any:
    """Draw box plots of a number for each setting, side by side for each method.

    Boxes span the quartiles, whiskers reach the last value within 1.5 box lengths; every value is also drawn as
    a point, because a box of ten values hides more than it shows.

    Parameters
    ----------
    table : DataFrame
        Tidy: one row a number.
    ax : Axes, optional
        Where to draw.
    x, y : str
        Columns with the setting (in order of appearance) and the number.
    hue : str, optional
        Column with the method.
    points : bool, default=True
        Whether to draw the values themselves.
    xlabel, ylabel : str, optional
        Labels; default the column names.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairpca.plotting import plot_boxes
    >>> table = pd.DataFrame({'setting': ['a', 'a', 'a', 'b', 'b', 'b'], 'value': [1, 2, 4, 2, 3, 3]})
    >>> ax = plot_boxes(table, ylabel='error')
    >>> ax.get_ylabel()
    'error'
    """
    _columns(table, [x, y] + ([hue] if hue is not None else []))
    ax = new_axes(ax)
    settings = list(dict.fromkeys(table[x]))
    methods = list(dict.fromkeys(table[hue])) if hue is not None else [None]
    width = 0.8 / len(methods)
    for i, m in enumerate(methods):
        style = method_style(str(m), i)
        centres = np.arange(len(settings)) + (i - (len(methods) - 1) / 2) * width
        chosen = [table[(table[x] == s) & ((table[hue] == m) if hue is not None else True)][y] for s in settings]
        values = [part.dropna().to_numpy() for part in chosen]
        boxes = ax.boxplot(
            values,
            positions=centres,
            widths=0.85 * width,
            patch_artist=True,
            showfliers=not points,
            manage_ticks=False,
            medianprops={"color": "black", "linewidth": 1.6},
        )
        for box in boxes["boxes"]:
            box.set(facecolor=style.color, alpha=0.45, edgecolor="black", linewidth=0.8)
        if points:
            for centre, part in zip(centres, values, strict=True):
                # Spread evenly (golden ratio), so that equal values do not hide each other.
                sideways = np.modf(np.arange(part.size) * 0.618)[0] - 0.5
                ax.scatter(
                    centre + 0.5 * width * sideways,
                    part,
                    s=10,
                    color=style.color,
                    marker=style.marker,
                    zorder=3,
                    linewidths=0,
                )
        if m is not None:
            ax.scatter([], [], s=30, color=style.color, marker=style.marker, label=str(m))
    ax.set_xticks(np.arange(len(settings)), [str(s) for s in settings])
    ax.set_xlim(-0.6, len(settings) - 0.4)
    return _labelled(ax, x if xlabel is None else xlabel, y if ylabel is None else ylabel, legend=hue is not None)


def plot_spectrum(
    spectra: Mapping[str, Any], ax: Any = None, *, cut: int | None = None, log: bool = False, ylabel: str = "eigenvalue"
) -> Any:
    """Draw eigenvalues in descending order, one curve a matrix.

    Parameters
    ----------
    spectra : mapping from str to array-like
        Eigenvalues by name; they are sorted here.
    ax : Axes, optional
        Where to draw.
    cut : int, optional
        Target dimension, marked by a vertical line behind that many eigenvalues.
    log : bool, default=False
        Logarithmic values.
    ylabel : str
        Label of the values.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> from fairpca import PCA
    >>> from fairpca.datasets import load, standardise
    >>> data = load("wine_quality")
    >>> (X,) = standardise(data.X, ddof=0)
    >>> V = PCA(3).fit(X).components_.T
    >>> import numpy as np
    >>> from fairpca.plotting import plot_spectrum
    >>> ax = plot_spectrum({'all rows': np.linalg.eigvalsh(X.T @ X / len(X))}, cut=3)
    >>> ax.get_ylabel()
    'eigenvalue'
    """
    ax = new_axes(ax)
    for i, (name, values) in enumerate(spectra.items()):
        w = np.sort(np.asarray(values, dtype=np.float64).ravel())[::-1]
        style = group_style(i)
        ax.plot(np.arange(1, w.size + 1), w, **vars(style), label=name)
    if cut is not None:
        ax.axvline(cut + 0.5, color="#555555", linewidth=1.0, linestyle=":", label=f"first {cut}")
    if log:
        ax.set_yscale("log")
    return _labelled(ax, "position", ylabel)


def plot_convergence(
    histories: Mapping[str, Any],
    ax: Any = None,
    *,
    reference: float | None = None,
    xlabel: str = "iteration",
    ylabel: str | None = None,
) -> Any:
    """Draw how solvers approach their optimum, on a logarithmic scale.

    Parameters
    ----------
    histories : mapping from str to array-like of shape (n,) or pair of arrays
        Values by name: objectives, gaps or anything that falls; a pair gives the horizontal positions too.
    ax : Axes, optional
        Where to draw.
    reference : float, optional
        Optimal value: what is drawn is the relative excess over it. Excesses below rounding are drawn at 1e-16.
    xlabel, ylabel : str
        Labels of the axes.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> from fairpca.plotting import plot_convergence
    >>> ax = plot_convergence({'halving': [1.5, 1.25, 1.125], 'at once': [3.0, 1.0]}, reference=1.0)
    >>> ax.get_yscale()
    'log'
    """
    ax = new_axes(ax)
    for i, (name, history) in enumerate(histories.items()):
        if isinstance(history, tuple):
            steps, values = (np.asarray(part, dtype=np.float64) for part in history)
        else:
            values = np.asarray(history, dtype=np.float64)
            steps = np.arange(1, values.size + 1, dtype=np.float64)
        if reference is not None:
            values = np.maximum((values - reference) / max(abs(reference), np.finfo(float).tiny), 1e-16)
        style = method_style(name, i)
        every = max(1, values.size // 12)
        ax.plot(steps, values, **vars(style), markevery=every, label=name)
    ax.set_yscale("log")
    return _labelled(ax, xlabel, ylabel or ("value" if reference is None else "relative excess over the optimum"))


def plot_tradeoff(
    table: pd.DataFrame,
    ax: Any = None,
    *,
    x: str = "ARE",
    y: str = "ABDiff",
    method: str = "method",
    connect: bool = False,
    log_x: bool = False,
) -> Any:
    """Scatter two criteria that one wants small, each method with its own marker and colour.

    Parameters
    ----------
    table : DataFrame
        One row for each fitted setting.
    ax : Axes, optional
        Where to draw.
    x, y, method : str
        Columns.
    connect : bool, default=False
        Join each method's points that no other point of it dominates (its Pareto front) by a line.
    log_x : bool, default=False
        Logarithmic horizontal axis, as in Figures 2, 5 and 6 of Vu et al. (2022).

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairpca.plotting import plot_tradeoff
    >>> table = pd.DataFrame({'method': ['PCA', 'fair', 'fair'], 'ARE': [3.0, 3.1, 3.4], 'ABDiff': [1.2, 0.6, 0.1]})
    >>> ax = plot_tradeoff(table, connect=True)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('ARE', 'ABDiff')
    """
    _columns(table, [x, y, method])
    ax = new_axes(ax)
    for i, name in enumerate(dict.fromkeys(table[method])):
        part = table[table[method] == name]
        style = method_style(str(name), i)
        ax.scatter(part[x], part[y], s=34, color=style.color, marker=style.marker, alpha=0.8, label=str(name))
        if connect:
            front = part.sort_values([x, y])
            front = front[front[y] < front[y].cummin().shift(fill_value=np.inf)]
            ax.plot(front[x], front[y], color=style.color, linestyle=style.linestyle, linewidth=1.0)
    if log_x:
        ax.set_xscale("log")
        if table[x].max() < 10 * table[x].min():  # within a decade the powers of ten say nothing
            from matplotlib.ticker import MaxNLocator, NullLocator

            ax.xaxis.set_major_locator(MaxNLocator(6))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.xaxis.set_major_formatter("{x:g}")
    return _labelled(ax, x, y)


def plot_verdicts(
    table: pd.DataFrame,
    ax: Any = None,
    *,
    label: str = "label",
    ours: str = "ours",
    printed: str = "printed",
    verdict: str = "verdict",
    spread: str | None = None,
) -> Any:
    """Draw our numbers beside the printed ones, one line each, marked by the verdict.

    Parameters
    ----------
    table : DataFrame
        One row for each number.
    ax : Axes, optional
        Where to draw.
    label, ours, printed, verdict : str
        Columns with the name of the line, our number, the printed number, and the verdict (`equal`, `close`,
        `differs`; anything else, such as "not yet", is grey).
    spread : str, optional
        Column with the half-width of a bar around our number.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairpca.plotting import plot_verdicts
    >>> table = pd.DataFrame({'label': ['a', 'b'], 'ours': [1.0, 2.2], 'printed': [1.0, 2.0]})
    >>> table['verdict'] = ['equal', 'differs']
    >>> ax = plot_verdicts(table)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b']
    """
    _columns(table, [label, ours, printed, verdict] + ([spread] if spread is not None else []))
    ax = new_axes(ax)
    rows = np.arange(len(table))[::-1]
    ax.scatter(table[printed], rows, marker="|", s=220, color="black", linewidths=1.6, label="printed", zorder=2)
    for name in dict.fromkeys(table[verdict]):
        color, marker = _VERDICTS.get(str(name), _OTHER_VERDICT)
        inside = (table[verdict] == name).to_numpy()
        error = table[spread].to_numpy()[inside] if spread is not None else None
        ax.errorbar(
            table[ours].to_numpy()[inside],
            rows[inside],
            xerr=error,
            fmt=marker,
            color=color,
            markersize=6,
            capsize=2,
            label=f"ours, {name}",
            zorder=3,
        )
    ax.set_yticks(rows, [str(v) for v in table[label]])
    ax.set_ylim(-0.7, len(table) - 0.3)
    ax.legend()
    return ax

"""Curves of the groups over the dimension."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fairpca.plotting._style import group_style, method_style, new_axes

__all__ = ["plot_group_curves"]


def plot_group_curves(
    table: pd.DataFrame,
    ax: Any = None,
    *,
    x: str = "d",
    y: str = "value",
    group: str = "group",
    method: str | None = None,
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
    missing = [name for name in (x, y, group, method) if name is not None and name not in table.columns]
    if missing:
        raise ValueError(f"the table has no column {missing}; it has {list(table.columns)}.")
    ax = new_axes(ax)
    keys = [group] if method is None else [method, group]
    order = {key: {value: i for i, value in enumerate(dict.fromkeys(table[key]))} for key in keys}
    for key, part in table.groupby(keys, sort=False):
        own = group_style(order[group][key[-1]])
        color = own.color if method is None else method_style(str(key[0]), order[method][key[0]]).color
        look = vars(own) | {"color": color, "markerfacecolor": "white" if order[group][key[-1]] % 2 else color}
        part = part.sort_values(x)
        ax.plot(part[x], part[y], **look, label=", ".join(map(str, key)))
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend()
    return ax

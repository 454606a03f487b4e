"""The one style of all figures, static and live: what a group looks like, and what a method looks like."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.display import HTML

__all__ = [
    "METHOD_STYLE",
    "PALETTE",
    "WIDTH",
    "GroupStyle",
    "group_style",
    "live_data",
    "method_style",
    "new_axes",
    "pyplot",
    "use_style",
]

# Groups, and series that are not methods: blues and ambers, of which Okabe & Ito's blue and orange come first.
PALETTE = ("#0072B2", "#E69F00", "#56B4E9", "#8A5A00", "#A0A0A0", "#6A7FDB", "#F0E442", "#0B2E4F")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
LINESTYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (7, 3)))
WIDTH = 7.0  # inches: the text width of the book

_SETTINGS = {
    # An opaque white ground keeps dark text readable whatever the colour of the page.
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.transparent": False,
    "figure.figsize": (WIDTH, 4.2),
    "figure.dpi": 150,
    "savefig.dpi": 150,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "legend.fontsize": 9,
    "legend.frameon": True,
    "legend.framealpha": 0.9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "image.cmap": "cividis",
}


@dataclass(frozen=True)
class GroupStyle:
    """The look of a group or method in every figure: colour, marker and line, each distinct on its own."""

    color: str
    marker: str
    linestyle: Any


# Methods: black, greens, reds and purples, none of which a group has. Variants of a method share its look.
METHOD_STYLE = {
    "pca": GroupStyle("#222222", "o", "--"),
    "minmax": GroupStyle("#009E73", "s", "-"),
    "rfpca": GroupStyle("#D55E00", "^", "-."),
    "fpca": GroupStyle("#E78AC3", "v", ":"),
    "mbfpca": GroupStyle("#7B3294", "D", (0, (5, 1))),
    "mean": GroupStyle("#7FC97F", "P", (0, (3, 1, 1, 1))),
    "eraser": GroupStyle("#9C6B98", "X", (0, (1, 1))),
}
# What a name contains decides, in this order: "CFPCA-Mean" is FPCA, and "MeanFairPCA" is not FairPCA.
_NAMED = {
    "mbf": "mbfpca",
    "rfpca": "rfpca",
    "fpca": "fpca",
    "mean": "mean",
    "eras": "eraser",
    "leace": "eraser",
    "minmax": "minmax",
    "fairpca": "minmax",
    "pca": "pca",
}


def group_style(index: int) -> GroupStyle:
    """Return the look of the group at a position in the sorted labels; after eight the looks recombine.

    Parameters
    ----------
    index : int
        Position, counted from 0.

    Returns
    -------
    GroupStyle

    Examples
    --------
    >>> from fairpca.plotting import group_style
    >>> group_style(0).marker, group_style(1).marker
    ('o', '^')
    """
    turn = index // len(PALETTE)
    return GroupStyle(
        PALETTE[index % len(PALETTE)],
        MARKERS[(index + turn) % len(MARKERS)],
        LINESTYLES[(index + turn) % len(LINESTYLES)],
    )


def method_style(name: str, position: int = 0) -> GroupStyle:
    """Return the look of a method by its name, the same in all figures.

    Parameters
    ----------
    name : str
        Any name that contains the method's, for instance "MBF-PCA, our solver" or "cfpca_mean".
    position : int, default=0
        For names that contain none of them: the look is ``group_style(position)``.

    Returns
    -------
    GroupStyle

    Examples
    --------
    >>> from fairpca.plotting import method_style
    >>> method_style("MBF-PCA, our solver") == method_style("mbfpca")
    True
    """
    plain = re.sub(r"[^a-z]", "", name.lower())
    known = next((method for part, method in _NAMED.items() if part in plain), None)
    return group_style(position) if known is None else METHOD_STYLE[known]


def pyplot() -> Any:
    """Return ``matplotlib.pyplot``, or raise an error that names the extra."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib, which is not installed; run: pip install 'fairpca[plot]'"
        ) from error
    return plt


def use_style() -> None:
    """Set the style for all figures from here on: the first call of every chapter."""
    from cycler import cycler

    settings: dict[str, Any] = dict(_SETTINGS)
    settings["axes.prop_cycle"] = cycler(color=PALETTE)
    pyplot().rcParams.update(settings)


def new_axes(ax: Any = None, **subplot: Any) -> Any:
    """Return `ax`, or the Axes of a new figure in the style of the book (other figures keep theirs).

    Parameters
    ----------
    ax : Axes, optional
        Returned as it is if given.
    **subplot
        Keywords for ``figure.add_subplot``, for instance ``projection="3d"``.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from fairpca.plotting import new_axes
    >>> ax = new_axes()
    >>> new_axes(ax) is ax
    True
    """
    if ax is not None:
        return ax
    plt = pyplot()
    with plt.rc_context(_SETTINGS):
        return plt.figure().add_subplot(**subplot)


def live_data(name: str, data: Any) -> HTML:
    """Return an invisible part of the page that a live figure reads.

    Parameters
    ----------
    name : str
        What the figure's directive calls its ``source``; letters, digits and hyphens.
    data : object
        Anything that JSON can say; arrays are turned into lists. NaN is written as null.

    Returns
    -------
    IPython.display.HTML
        To be displayed by the last line of a cell.

    Examples
    --------
    >>> from fairpca.plotting import live_data
    >>> type(live_data('errors', {'d': [1, 2], 'error': [4.0, float('nan')]})).__name__
    'HTML'
    """
    from IPython.display import HTML

    if not name or not all(sign.isalnum() or sign == "-" for sign in name):
        raise ValueError(f"name={name!r}: use letters, digits and hyphens only.")
    plain = json.loads(json.dumps(data, default=lambda array: array.tolist()), parse_constant=lambda _: None)
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # "</" would end the element in which the text stands.
    text = text.replace("</", "<\\/")
    return HTML(f'<script type="application/json" id="{name}">{text}</script>')

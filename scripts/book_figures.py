"""The matplotlib backend of the book: each figure as vector graphics, once for a desktop and once for a phone.

The kernel that executes a chapter gets this module as its backend, so chapters know nothing of it. ``plt.show()``
displays one output with two pictures: the figure as it was drawn, and the same figure laid out anew for a narrow
screen: one panel below the other, in 3.7 inches, no letter smaller than `SMALLEST` points. On a phone of 390 pixels
such letters are nine pixels high. ``_ext/phone_figures.py`` puts both on the page.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas
from matplotlib.layout_engine import PlaceHolderLayoutEngine
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedFormatter, MaxNLocator

# What matplotlib asks a backend for.
__all__ = ["FigureCanvas", "show"]

PHONE = "application/vnd.fairpca.phone+svg"
WIDTH = 3.7  # inches
LOWEST = 2.3  # inches: the least height of a panel
SMALLEST = 7.4  # points
MANY = 400  # marks from which on a picture inside the picture is lighter than paths
RASTER = 150  # dots an inch of what is drawn as pixels
LETTERS = 42  # of a title in the width of the phone


def show(*_: Any, **__: Any) -> None:
    """Display all open figures and close them."""
    from IPython.display import display

    for number in plt.get_fignums():
        display(pictures(plt.figure(number)), raw=True)
    plt.close("all")


def pictures(figure: Any) -> dict[str, str]:
    """Return the figure for a desktop and, where it fits one column, for a phone; it is left in the second form."""
    lighten(figure)
    found = {"text/plain": "<Figure>", "image/svg+xml": drawn(figure)}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="constrained_layout not applied")
        try:
            for_phone(figure)
            return found | {PHONE: drawn(figure)}
        except UserWarning:  # it does not fit into one column; a phone shows the figure as it is
            return found


def drawn(figure: Any) -> str:
    """Return a figure as SVG, the same text whenever it is drawn."""
    text = io.StringIO()
    with rc_context({"svg.hashsalt": "fairpca", "svg.fonttype": "path"}):
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(text, format="svg", dpi=RASTER, bbox_inches="tight", pad_inches=0.05, metadata=nothing)
    return text.getvalue()


def lighten(figure: Any) -> None:
    """Turn clouds of many marks into pixels; lines, axes and letters stay sharp."""
    for ax in figure.axes:
        clouds = [marks for marks in ax.collections if max(len(marks.get_offsets()), len(marks.get_paths())) > MANY]
        for part in clouds if ax.name == "rectilinear" else [ax] * bool(clouds):  # in space only the whole can be
            part.set_rasterized(True)
        for line in ax.lines:
            if line.get_marker() not in ("", " ", "None", None) and len(line.get_xdata()) > MANY:
                line.set_rasterized(True)


def for_phone(figure: Any) -> None:
    """Lay a figure out for a narrow screen."""
    bars = [ax for ax in figure.axes if ax.get_label() == "<colorbar>"]
    engine = figure.get_layout_engine()
    free = engine is None or isinstance(engine, PlaceHolderLayoutEngine)  # the second is what `tight_layout` leaves
    rigid = bool(bars) and free  # such a bar does not move with its panel
    if free and not rigid:
        figure.set_layout_engine("constrained")
    panels = [ax for ax in figure.axes if ax.get_subplotspec() is not None and ax not in bars]
    rows = _rows(figure, panels)
    height = figure.get_figheight()
    if rigid or all(not ax.axison for ax in panels):  # pictures in a grid stay a grid
        figure.set_size_inches(WIDTH, height * WIDTH / figure.get_figwidth() + 0.3)
    else:
        heights = [max(LOWEST, ax.get_subplotspec().get_position(figure).height * height) for ax, *_ in _flat(rows)]
        _label_all(rows)
        grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
        for place, same in zip(grid, _flat(rows), strict=True):
            for ax in same:
                ax.set_subplotspec(place)
        figure.set_size_inches(WIDTH, sum(heights) + 0.25 * len(heights))
    for text in figure.findobj(Text):
        text.set_fontsize(max(text.get_fontsize(), SMALLEST))
    for ax in figure.axes:
        ax.tick_params(labelsize=max(SMALLEST, 8.0))
        _wrap(ax)
    # A layout costs as much as a picture: one to place the legends, one to thin the ticks, not one for each panel.
    figure.draw_without_rendering()
    for ax in panels:
        _legend_outside(figure, ax)
    for legend in list(figure.legends):
        _legend_below(figure, legend)
    figure.draw_without_rendering()
    for ax in panels:
        _thin_ticks(ax)
        _clear_texts(ax)
        _part_labels(ax)


def _rows(figure: Any, panels: list[Any]) -> list[list[list[Any]]]:
    """Return the panels as rows of places; axes that lie on each other share a place."""
    places: dict[tuple[float, float], list[Any]] = {}
    for ax in panels:
        box = ax.get_subplotspec().get_position(figure)
        places.setdefault((-round(box.y1, 3), round(box.x0, 3)), []).append(ax)
    rows: dict[float, list[list[Any]]] = {}
    for (top, _), same in sorted(places.items()):
        rows.setdefault(top, []).append(same)
    return list(rows.values())


def _flat(rows: list[list[list[Any]]]) -> Iterator[list[Any]]:
    for row in rows:
        yield from row


def _label_all(rows: list[list[list[Any]]]) -> None:
    """Give panels that leaned on a neighbour for their labels labels of their own."""
    if max(map(len, rows)) == 1:
        return
    titles = [place[0].get_title() for place in rows[0]]
    for row in rows:
        first = row[0][0]
        for (ax, *_), title in zip(row, titles, strict=False):
            ax.set_title(ax.get_title() or title)
        for (ax, *_), below in zip(row, _below(row, rows), strict=True):
            if ax.name != "rectilinear" or not ax.axison:
                continue
            if first.get_shared_y_axes().joined(ax, first) and not ax.get_ylabel():
                ax.set_ylabel(first.get_ylabel())
            if not ax.get_xlabel() and below.get_shared_x_axes().joined(ax, below):
                ax.set_xlabel(below.get_xlabel())
            ax.tick_params(labelleft=ax.yaxis.get_visible(), labelbottom=ax.xaxis.get_visible())
            ax.yaxis.get_offset_text().set_visible(True)


def _below(row: list[list[Any]], rows: list[list[list[Any]]]) -> Iterator[Any]:
    """Yield for each panel of a row the lowest one of its column, which carries the label."""
    for number, (ax, *_) in enumerate(row):
        yield rows[-1][number][0] if number < len(rows[-1]) else ax


def _wrap(ax: Any) -> None:
    """Break titles and labels that are longer than the screen is wide."""
    for text in (ax.title, ax.xaxis.label):
        text.set_text("\n".join(textwrap.wrap(text.get_text(), LETTERS, break_long_words=False)))
    room = (
        max(18, int(14 * ax.get_subplotspec().get_position(ax.figure).height * ax.figure.get_figheight()))
        if (ax.get_subplotspec() is not None)
        else LETTERS
    )
    ax.yaxis.label.set_text("\n".join(textwrap.wrap(ax.get_ylabel(), room, break_long_words=False)))


def _legend_outside(figure: Any, ax: Any) -> None:
    """Move a legend that is wide, long or outside already below its panel, in as many columns as fit."""
    legend = ax.get_legend()
    if legend is None:
        return
    box, frame = legend.get_window_extent(), ax.get_window_extent()
    inside = box.x0 >= frame.x0 - 2 and box.x1 <= frame.x1 + 2 and box.y0 >= frame.y0 - 2 and box.y1 <= frame.y1 + 2
    if inside and box.width * box.height < 0.2 * frame.width * frame.height and not _covers(ax, box):
        return
    handles, labels = legend.legend_handles, [text.get_text() for text in legend.get_texts()]
    labels = ["\n".join(textwrap.wrap(label, LETTERS)) for label in labels]
    title, size = legend.get_title().get_text(), max(SMALLEST, legend.get_texts()[0].get_fontsize())
    room = -(0.2 + 0.2 * ax.get_xlabel().count("\n") + 0.22 * bool(ax.get_xlabel())) * figure.dpi / frame.height
    for columns in (3, 2, 1):
        legend = ax.legend(
            handles, labels, title=title, fontsize=size, ncols=columns, columnspacing=1.0, handletextpad=0.5,
            loc="upper center", bbox_to_anchor=(0.5, room), frameon=False,
        )  # fmt: skip
        if legend.get_window_extent().width <= 0.95 * figure.bbox.width:
            break


def _covers(ax: Any, box: Any) -> bool:
    """Tell whether a legend lies on a line or on marks."""
    lines = (line.get_transform().transform_path(line.get_path()) for line in ax.lines)
    marks = [part.get_offset_transform().transform(part.get_offsets()) for part in ax.collections]
    return any(path.intersects_bbox(box, filled=False) for path in lines) or any(box.count_contains(m) for m in marks)


def _legend_below(figure: Any, legend: Any) -> None:
    """Give the legend of the whole figure as many columns as fit below it."""
    handles, labels = legend.legend_handles, [text.get_text() for text in legend.get_texts()]
    legend.remove()
    for columns in (3, 2, 1):
        made = figure.legend(
            handles, labels, loc="outside lower center", ncols=columns, fontsize=SMALLEST, frameon=False
        )
        if columns == 1 or made.get_window_extent().width <= 0.95 * figure.bbox.width:
            return
        made.remove()


def _clear_texts(ax: Any) -> None:
    """Leave out the numbers in the cells of a picture where they run into each other; its colours stay."""
    if ax.images and len(ax.texts) > 1:
        boxes = [text.get_window_extent() for text in ax.texts]
        if any(a.overlaps(b) for a, b in pairwise(boxes)):
            for text in ax.texts:
                text.set_visible(False)


def _part_labels(ax: Any) -> None:
    """Push labels with leader lines apart where the narrow figure made them meet; each moves as little as it must."""
    labels = [text for text in ax.texts if isinstance(text, Annotation) and text.arrow_patch and text.get_text()]
    boxes = [Text.get_window_extent(text) for text in labels]  # an annotation's own extent has the line in it
    if not any(a.overlaps(b) for a, b in combinations(boxes, 2)):
        return
    frame = ax.get_window_extent()
    half = np.array([(box.width + 3, box.height + 1) for box in boxes]) / 2
    centres = np.array([((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2) for box in boxes])
    for _ in range(300):
        before = centres.copy()
        for i, j in combinations(range(len(labels)), 2):
            away = centres[j] - centres[i]
            overlap = half[i] + half[j] - np.abs(away)
            if np.all(overlap > 0):
                axis = int(np.argmin(overlap))
                move = 0.55 * overlap[axis] * (1.0 if away[axis] >= 0 else -1.0)
                centres[i, axis] -= move
                centres[j, axis] += move
        centres = np.clip(centres, (frame.x0, frame.y0) + half, (frame.x1, frame.y1) - half)
        if np.abs(centres - before).max() < 0.1:
            break
    for text, place in zip(labels, ax.transData.inverted().transform(centres), strict=True):
        text.set_position(tuple(place))


def _thin_ticks(ax: Any) -> None:
    """Turn names below an axis that run into each other, and leave out numbers that do."""
    if ax.name != "rectilinear" or not ax.axison:
        return
    shown = [label for label in ax.get_xticklabels() if label.get_text() and label.get_visible()]
    boxes = [label.get_window_extent() for label in shown]
    if all(a.x1 + 2 <= b.x0 for a, b in pairwise(boxes)):
        return
    numbers = all(not any(c.isalpha() for c in label.get_text()) or "$" in label.get_text() for label in shown)
    if not numbers:
        close = min(abs(b.x0 + b.x1 - a.x0 - a.x1) / 2 for a, b in pairwise(boxes)) < 2 * boxes[0].height
        ax.tick_params(axis="x", labelrotation=90 if close else 60)
        ax.set_xticks(ax.get_xticks(), [" ".join(label.get_text().split()) for label in ax.get_xticklabels()])
    elif isinstance(ax.xaxis.get_major_formatter(), FixedFormatter) or ax.get_xscale() != "linear":
        for label in shown[1::2]:
            label.set_visible(False)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(5))

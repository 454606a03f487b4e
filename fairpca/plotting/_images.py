"""Faces as a grid of images, and a function of a plane drawn on the sphere of its normals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fairpca._validation import check_number, check_rows
from fairpca.plotting._style import method_style, new_axes

__all__ = ["plot_faces", "plot_plane_map"]


def plot_faces(
    images: Any,
    shape: tuple[int, int],
    ax: Any = None,
    *,
    n_columns: int = 8,
    titles: Sequence[str] | None = None,
    row_titles: Sequence[str] | None = None,
    limits: tuple[float, float] | str = "each",
) -> Any:
    """Draw images (faces, or components of faces) in a grid, as one picture in one Axes.

    Parameters
    ----------
    images : array-like of shape (n_images, height * width)
        One image a row.
    shape : tuple of int
        Height and width.
    ax : Axes, optional
        Where to draw.
    n_columns : int, default=8
        Images side by side.
    titles : sequence of str, optional
        A title over each image.
    row_titles : sequence of str, optional
        A title left of each row.
    limits : "each" or pair of float, default="each"
        Values drawn black and white: each image its own, or the same for all.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca.plotting import plot_faces
    >>> images = np.random.default_rng(0).uniform(size=(4, 6 * 5))
    >>> ax = plot_faces(images, (6, 5), n_columns=2)
    >>> ax.axison
    False
    """
    rows = check_rows(images, "images")
    height, width = shape
    if rows.shape[1] != height * width:
        raise ValueError(f"an image has {rows.shape[1]} pixels, which is not {height} × {width}; check the shape.")
    check_number("n_columns", n_columns, low=1, integer=True)
    across = min(n_columns, len(rows))
    down = -(-len(rows) // across)
    gap = max(1, width // 12)
    head = max(gap, height // 6) if titles is not None else gap
    canvas = np.ones((down * (height + head), across * (width + gap) - gap))
    ax = new_axes(ax)
    for i, row in enumerate(rows):
        low, high = (row.min(), row.max()) if isinstance(limits, str) else limits
        top, left = (i // across) * (height + head) + head, (i % across) * (width + gap)
        span = high - low if high > low else 1.0
        canvas[top : top + height, left : left + width] = np.clip((row.reshape(shape) - low) / span, 0, 1)
        if titles is not None:
            ax.text(left + width / 2, top - 1, str(titles[i]), ha="center", va="bottom", fontsize=8)
    if row_titles is not None:
        for r, title in enumerate(row_titles):
            middle = r * (height + head) + head + height / 2
            ax.text(-gap, middle, str(title), ha="right", va="center", fontsize=9)
    ax.imshow(canvas, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    ax.set_axis_off()
    return ax


def plot_plane_map(
    value: Callable[[np.ndarray], np.ndarray],
    ax: Any = None,
    *,
    marks: Mapping[str, Any] | None = None,
    label: str = "value",
    log: bool = False,
    resolution: int = 90,
    pole: Any = (0.0, 0.0, 1.0),
    contours: Sequence[float] = (),
) -> Any:
    """Draw a function of a plane in three dimensions over all planes at once.

    A plane through the origin is the same as its normal up to sign, so all planes are half a sphere; it is drawn
    as a disk by Lambert's projection, which keeps areas. Opposite points of the rim are the same plane.

    Parameters
    ----------
    value : callable
        Takes unit normals, shape (m, 3), returns m numbers.
    ax : Axes, optional
        Where to draw.
    marks : mapping from str to array-like of shape (3,), optional
        Normals of planes to mark, by name.
    label : str
        What the colours mean.
    log : bool, default=False
        Logarithmic colours.
    resolution : int, default=90
        Points along a radius; the value is computed about 6 × resolution² times.
    pole : array-like of shape (3,), default=(0, 0, 1)
        Normal that is drawn in the middle.
    contours : sequence of float
        Values whose level lines are drawn in black.

    Returns
    -------
    Axes
        Where it was drawn; its figure also gets a colour bar.

    Examples
    --------
    >>> from fairpca.plotting import plot_plane_map
    >>> ax = plot_plane_map(lambda normals: normals[:, 0] ** 2, marks={'best': [1, 0, 0]}, resolution=20)
    >>> len(ax.figure.axes)
    2
    """
    check_number("resolution", resolution, low=4, integer=True)
    frame = _frame(np.asarray(pole, dtype=np.float64))
    ax = new_axes(ax)
    radius = np.linspace(0.0, 1.0, resolution)
    angle = np.linspace(0.0, 2 * np.pi, 6 * resolution + 1)
    R, T = np.meshgrid(radius, angle, indexing="ij")
    x, y = R * np.cos(T), R * np.sin(T)
    normals = _to_sphere(x.ravel(), y.ravel()) @ frame
    values = np.asarray(value(normals), dtype=np.float64).reshape(R.shape)
    norm = None
    if log:
        from matplotlib.colors import LogNorm

        norm = LogNorm()
    picture = ax.pcolormesh(x, y, values, shading="gouraud", norm=norm, cmap="cividis", rasterized=True)
    ax.figure.colorbar(picture, ax=ax, label=label, shrink=0.85)
    if len(contours):
        ax.contour(x, y, values, levels=sorted(contours), colors="black", linewidths=0.9)
    for i, (name, normal) in enumerate((marks or {}).items()):
        u = frame @ np.asarray(normal, dtype=np.float64)
        px, py = _to_disk(u / np.linalg.norm(u))
        style = method_style(name, i + 1)
        ax.plot(
            px, py, linestyle="none", marker=style.marker, color=style.color, markersize=9,
            markeredgecolor="black", clip_on=False, label=name,
        )  # fmt: skip
    ax.plot(np.cos(angle), np.sin(angle), color="black", linewidth=0.8)
    ax.set_aspect("equal")
    ax.set_axis_off()
    if marks:
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.02), ncols=min(len(marks), 3))
    return ax


def _frame(pole: np.ndarray) -> np.ndarray:
    """Return a rotation whose third row is the pole."""
    if pole.shape != (3,) or not np.linalg.norm(pole) > 0:
        raise ValueError(f"pole has shape {pole.shape}; give three numbers, not all zero.")
    third = pole / np.linalg.norm(pole)
    helper = np.eye(3)[int(np.argmin(np.abs(third)))]
    first = np.cross(helper, third)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(third, first), third])


def _to_sphere(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Map the unit disk to the upper half sphere, keeping areas (Lambert)."""
    square = x * x + y * y
    scale = np.sqrt(np.maximum(2.0 - square, 0.0))
    return np.column_stack((x * scale, y * scale, 1.0 - square))


def _to_disk(u: np.ndarray) -> tuple[float, float]:
    """Map a unit normal to the disk; the sign that points up is chosen."""
    if u[2] < 0:
        u = -u
    scale = 1.0 / np.sqrt(1.0 + u[2])
    return float(u[0] * scale), float(u[1] * scale)

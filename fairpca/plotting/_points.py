"""Projected groups, and the features behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairpca._validation import check_rows, check_rows_match, encode_groups
from fairpca.plotting._style import METHOD_STYLE, PALETTE, group_style, new_axes

__all__ = ["plot_biplot", "plot_projection"]


_LABEL_POINTS = 8  # size of the labels of a biplot


def plot_projection(
    Z: Any,
    sensitive_features: Any,
    ax: Any = None,
    *,
    names: Mapping[Any, str] | None = None,
    max_points: int | None = 2000,
    random_state: int = 0,
    size: float = 14.0,
) -> Any:
    """Scatter projected data, each group with its own marker and colour.

    Parameters
    ----------
    Z : array-like of shape (n_samples, 2 or 3)
        Projected data; three columns give a figure in space.
    sensitive_features : array-like of shape (n_samples,)
        Group of each row.
    ax : Axes, optional
        Where to draw; for three columns one with ``projection="3d"``.
    names : mapping, optional
        Names of groups for the legend.
    max_points : int or None, default=2000
        Larger groups are thinned to this many points, drawn at random with `random_state`.
    random_state : int, default=0
        Seed of the thinning.
    size : float, default=14
        Area of a marker in square points.

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
    >>> from fairpca.plotting import plot_projection
    >>> ax = plot_projection(X @ V[:, :2], data.sensitive_features)
    >>> ax.get_xlabel()
    'component 1'
    """
    points = check_rows(Z, "Z")
    if points.shape[1] not in (2, 3):
        raise ValueError(f"Z has {points.shape[1]} columns; two or three can be drawn.")
    groups = encode_groups(sensitive_features, len(points))
    space = points.shape[1] == 3
    ax = new_axes(ax, projection="3d") if space else new_axes(ax)
    rng = np.random.default_rng(random_state)
    for g, label in enumerate(groups.labels):
        rows = groups.rows(g)
        if max_points is not None and rows.size > max_points:
            rows = np.sort(rng.choice(rows, max_points, replace=False))
        style = group_style(g)
        ax.scatter(
            *points[rows].T,
            s=size,
            c=style.color,
            marker=style.marker,
            alpha=0.6,
            linewidths=0,
            label=str((names or {}).get(label, label)),
        )
    ax.set_xlabel("component 1")
    ax.set_ylabel("component 2")
    if space:
        ax.set_zlabel("component 3")
    # A legend shows its marks large enough to be told apart, however small the points are.
    ax.legend(title="group", markerscale=max(1.0, (30.0 / size) ** 0.5))
    return ax


def plot_biplot(
    loadings: Any,
    feature_names: Sequence[str],
    ax: Any = None,
    *,
    highlight: Sequence[int] = (),
    n_features: int | None = 10,
    limit: float | None = None,
) -> Any:
    """Draw features as arrows with their loadings on two components, labels pushed apart (Figures 8-10 of Lee et al.).

    Parameters
    ----------
    loadings : array-like of shape (n_all_features, 2)
        Two columns of the basis V.
    feature_names : sequence of str
        Names of all features.
    ax : Axes, optional
        Where to draw.
    highlight : sequence of int
        Positions of features drawn in any case and emphasised: the protected attribute.
    n_features : int or None, default=10
        How many features to draw, those of largest communality; None draws all.
    limit : float, optional
        Half-width of the axes; default what the arrows and labels need.

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
    >>> from fairpca.plotting import plot_biplot
    >>> ax = plot_biplot(V[:, :2], data.feature_names, n_features=5)
    >>> ax.get_ylabel()
    'component 2'
    """
    V = check_rows(loadings, "loadings")
    if V.shape[1] != 2:
        raise ValueError(f"loadings has {V.shape[1]} columns; a biplot shows two components.")
    check_rows_match("feature_names", len(feature_names), len(V))
    order = np.argsort(-np.sum(V * V, axis=1), kind="stable")
    chosen = list(order if n_features is None else order[:n_features])
    chosen += [h for h in highlight if h not in chosen]
    ax = new_axes(ax)
    texts = [str(feature_names[j]) for j in chosen]
    half = _half_sizes(texts, ax)
    reach = limit if limit is not None else _reach(V[chosen], half)
    ax.set_xlim(-reach, reach)
    ax.set_ylim(-reach, reach)
    places = _spread_labels(V[chosen] / reach, half) * reach
    for j, place in zip(chosen, places, strict=True):
        strong = j in highlight
        color = METHOD_STYLE["rfpca"].color if strong else PALETTE[0]
        ax.annotate(
            "",
            xy=tuple(V[j]),
            xytext=(0, 0),
            arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 2.0 if strong else 1.2, "shrinkB": 0},
        )
        ax.annotate(
            str(feature_names[j]),
            xy=tuple(V[j]),
            xytext=tuple(place),
            ha="center",
            va="center",
            fontsize=_LABEL_POINTS,
            fontweight="bold" if strong else "normal",
            color=color if strong else "black",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
            arrowprops={"arrowstyle": "-", "color": "#999999", "linewidth": 0.5},
        )
    ax.axhline(0, color="#999999", linewidth=0.8)
    ax.axvline(0, color="#999999", linewidth=0.8)
    ax.set_aspect("equal")
    ax.set_xlabel("component 1")
    ax.set_ylabel("component 2")
    return ax


def _half_sizes(texts: Sequence[str], ax: Any) -> np.ndarray:
    """Return half of each label's width and height, as shares of half the side of the (square) axes."""
    box, figure = ax.get_position(), ax.figure
    side = 72.0 * min(box.width * figure.get_figwidth(), box.height * figure.get_figheight())
    widths = np.array([0.62 * _LABEL_POINTS * max(len(text), 3) for text in texts])
    return np.column_stack((widths, np.full(len(texts), 1.5 * _LABEL_POINTS))) / side


def _reach(tips: np.ndarray, half: np.ndarray) -> float:
    """Return the half-width of axes in which every label fits beyond the tip of its arrow."""
    room = np.clip(1.0 - 2.0 * half - 0.06, 0.5, None)
    return max(float(np.max(np.abs(tips) / room)), 1e-12)


def _spread_labels(tips: np.ndarray, half: np.ndarray, rounds: int = 500) -> np.ndarray:
    """Return places for label centres, in axes units of [-1, 1], so that their boxes do not overlap.

    Labels start just beyond the tips. Boxes push each other apart along the axis of least overlap, and off the
    tips of other arrows; a label that leaves the axes is put back.
    """
    norms = np.linalg.norm(tips, axis=1, keepdims=True)
    outward = np.divide(tips, norms, out=np.tile([1.0, 0.0], (len(tips), 1)), where=norms > 1e-9)
    places = tips + outward * (half + 0.03)
    for turn in range(rounds):
        moved = False
        for i in range(len(tips)):
            for j in range(i + 1, len(tips)):
                push = _push(places[j] - places[i], half[i] + half[j] + 0.01)
                if push is not None:
                    places[j] += 0.55 * push
                    places[i] -= 0.55 * push
                    moved = True
            for j in range(len(tips) if turn < rounds // 2 else 0):  # the end belongs to the labels alone
                push = _push(places[i] - tips[j], half[i] + 0.01)
                if i != j and push is not None:
                    places[i] += 0.5 * push
                    moved = True
        places = np.clip(places, -0.99 + half, 0.99 - half)
        if not moved:
            break
    return places


def _push(delta: np.ndarray, room: np.ndarray) -> np.ndarray | None:
    """Return the shortest move along an axis that brings a box `room` away, or None if it is already."""
    overlap = room - np.abs(delta)
    if np.any(overlap <= 0):
        return None
    axis = int(np.argmin(overlap))
    move = np.zeros(2)
    move[axis] = overlap[axis] * (1.0 if delta[axis] >= 0 else -1.0)
    return move

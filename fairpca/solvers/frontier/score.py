"""How much of a frontier a set of pairs reaches."""

from __future__ import annotations

import numpy as np

__all__ = ["dominated", "missed_share"]


def missed_share(frontier: np.ndarray, found: np.ndarray) -> float:
    """Return the share of the area that a frontier dominates and the pairs found do not.

    The area is that between the frontier and its nadir, the worse of its ends for each group. Between its points the
    frontier is taken as the chords, which it never exceeds, so the share is too small if anything.

    Parameters
    ----------
    frontier : ndarray of shape (n, 2)
        Points of the frontier in order, both coordinates to be minimised.
    found : ndarray of shape (k, 2)
        Pairs that a search found.

    Returns
    -------
    float
        Between 0 and 1; 0 for a frontier without area.
    """
    if found.ndim != 2 or found.shape[1] != 2:
        raise ValueError(f"the pairs have shape {found.shape}; give one row of two errors for each.")
    nadir = frontier.max(axis=0)
    width, height = nadir - frontier.min(axis=0)
    if width <= 0 or height <= 0:  # a single point, or a line along an axis
        return 0.0
    order = np.argsort(frontier[:, 0], kind="stable")
    x, y = frontier[order].T
    whole = float(np.trapezoid(nadir[1] - y, x))
    inside = found[np.all(found < nadir, axis=1)]
    area, lowest = 0.0, nadir[1]
    for s0, s1 in sorted(map(tuple, np.maximum(inside, frontier.min(axis=0)))):
        if s1 < lowest:
            area += (nadir[0] - s0) * (lowest - s1)
            lowest = s1
    return float(np.clip(1.0 - area / whole, 0.0, 1.0))


def dominated(t: np.ndarray, frontier: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Return by how much both errors of each pair could fall together and the pair still be reachable at best.

    It is the distance along (1, 1) to the frontier's tangents, too large by the distance of these from the frontier.

    Parameters
    ----------
    t : ndarray of shape (n,)
        Weights of the points.
    frontier : ndarray of shape (n, 2)
        Points of the frontier.
    found : ndarray of shape (k, 2)
        Pairs that a search found.

    Returns
    -------
    ndarray of shape (k,)
        Never negative.
    """
    normals = np.column_stack((t, 1 - t))
    values = np.einsum("ij,ij->i", normals, frontier)
    return np.maximum((found @ normals.T - values).min(axis=1), 0.0)

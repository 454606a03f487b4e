"""The exact frontier of two groups: errors that no subspace lowers for one group without raising the other's.

The pairs (s_0, s_1) of reconstruction errors that d-dimensional subspaces reach have a convex hull K whose boundary
they cover. A pair is not dominated exactly if it lies on the part of that boundary with a normal (t, 1 - t),
0 <= t <= 1, so its subspaces are top-d eigenspaces of t M_0 + (1 - t) M_1, or mixtures inside a tie. Losses are errors
less the groups' own least errors, so both have the same subspaces.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from fairpca._validation import check_number
from fairpca.solvers.rfpca import Boundary, SupportPoint, make_boundary
from fairpca.solvers.spectral import in_units, mix_to_zero, safe_unit, zero_between

__all__ = ["Frontier", "dominated", "missed_share", "solve_frontier"]

_UNIT = float(np.finfo(float).eps)
_NARROW = 64 * _UNIT  # cells of weights narrower than this are not split any more


@dataclass(frozen=True)
class Frontier:
    """Non-dominated pairs of errors, from the second group's own optimum (t = 0) to the first one's (t = 1).

    Attributes
    ----------
    t : ndarray of shape (n,)
        Weights of the first group's moment, ascending; two equal ones are the ends of a tie, and everything between
        them is on the frontier.
    errors, losses : ndarray of shape (n, 2)
        Errors, and what they exceed the group's own least error by.
    distance : float
        Proven: no non-dominated pair is farther than this from the segments between consecutive points. Every point
        itself is on the frontier, up to rounding.
    scale : float
        Larger extent of the frontier, which `distance` is to be compared with.
    groups : tuple
        Labels of the two groups.
    """

    t: np.ndarray
    errors: np.ndarray
    losses: np.ndarray
    distance: float
    scale: float
    groups: tuple[Any, ...] = (0, 1)
    _points: Sequence[SupportPoint] = field(default=(), repr=False)
    _boundary: Boundary | None = field(default=None, repr=False)
    _unit: float = field(default=1.0, repr=False)  # what the moments of the boundary were multiplied by

    def __len__(self) -> int:
        return len(self.t)

    def subspace(self, index: int) -> np.ndarray:
        """Return an orthonormal basis, shape (p, d), of the subspace of point `index`."""
        return self._points[index].V

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Return a basis and the two errors at weight `t`; inside a tie the end that the first group prefers."""
        check_number("t", t, low=0, high=1)
        assert self._boundary is not None
        support = self._boundary.at(float(t))
        point = support.left if t == 1 else support.right
        return point.V, np.array([point.s0, point.s1]) / self._unit

    def with_error(self, error: float, group: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the subspace of the frontier where a group's error is `error`, and both errors.

        Parameters
        ----------
        error : float
            Between the ends of the frontier.
        group : {0, 1}
            Position in `groups`.
        """
        values = self.errors[:, group] * (1 if group else -1)  # ascending along the path
        wanted = error * (1 if group else -1)
        low, high = sorted(self.errors[[0, -1], group])
        assert self._boundary is not None
        boundary = self._boundary
        rounding = 16 * _UNIT * sum(boundary.traces) / self._unit
        margin = 1e-9 * self.scale + rounding
        if not low - margin <= error <= high + margin:
            raise ValueError(
                f"error={error!r} of group {self.groups[group]!r} is not on the frontier; it reaches from {low:.6g} to "
                f"{high:.6g}."
            )
        i = int(np.clip(np.searchsorted(values, wanted), 1, len(self) - 1))
        ends = [self._points[i - 1], self._points[i]]
        error *= self._unit
        near = (1e-12 * self.scale + rounding) * self._unit

        def miss(point: SupportPoint) -> float:
            return (point.s0, point.s1)[group] - error

        if min(abs(miss(point)) for point in ends) > near and ends[0].t < ends[1].t:
            # Narrow the bracket; where the error jumps, a tie is left.
            zero_between(lambda t: miss(_narrow(boundary, ends, t, miss)), ends[0].t, ends[1].t)
        closest = min(ends, key=lambda point: abs(miss(point)))
        if abs(miss(closest)) <= near:
            return closest.V, np.array([closest.s0, closest.s1]) / self._unit
        V = mix_to_zero(ends[0].V, ends[1].V, lambda V: _error(boundary, V, group) - error, zero=near)
        return V, np.array([_error(boundary, V, 0), _error(boundary, V, 1)]) / self._unit

    def missed(self, errors: Any) -> float:
        """Return the share of the frontier's dominated area that these pairs of errors do not dominate.

        0 is the whole frontier; its two ends alone, or pairs that are all dominated by far, are near 1.
        """
        given = np.asarray(errors, dtype=np.float64)
        return missed_share(in_units(self.errors, self._unit), in_units(given, self._unit))

    def dominated(self, errors: Any) -> np.ndarray:
        """Return, for each pair of errors, how far it lies inside: 0 on the frontier, in units of `scale`."""
        return dominated(self.t, self.errors, np.asarray(errors, dtype=np.float64)) / (self.scale or 1.0)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a point: the weight, errors and losses of the groups."""
        columns = {"t": self.t}
        for kind, values in (("error", self.errors), ("loss", self.losses)):
            columns |= {f"{kind} of {group}": values[:, g] for g, group in enumerate(self.groups)}
        return pd.DataFrame(columns)


def _narrow(boundary: Boundary, ends: list[SupportPoint], t: float, miss: Any) -> SupportPoint:
    """Evaluate at `t` and keep the tightest two points with different signs in `ends`."""
    if t in (ends[0].t, ends[1].t):
        return ends[0] if t == ends[0].t else ends[1]
    support = boundary.at(t)
    for point in (support.left, support.right):
        if ends[0].t <= point.t <= ends[1].t:
            ends[0 if miss(point) * miss(ends[0]) > 0 else 1] = point
    return support.right


def _error(boundary: Boundary, V: np.ndarray, group: int) -> float:
    return boundary.traces[group] - float(np.vdot(V, boundary.moments[group] @ V))


def solve_frontier(
    moments: np.ndarray,
    n_components: int,
    *,
    tol: float = 1e-4,
    max_points: int = 5000,
    groups: tuple[Any, ...] = (0, 1),
) -> Frontier:
    """Find all non-dominated pairs of errors of two groups.

    Parameters
    ----------
    moments : ndarray of shape (2, p, p)
        Second moments of the groups.
    n_components : int
        Dimension d of the subspaces, 1 <= d < p.
    tol : float
        Points are added until no non-dominated pair is farther from the path than this share of the path's extent.
    max_points : int
        Most points (eigen-decompositions) to take.
    groups : tuple
        Labels of the two groups.

    Returns
    -------
    Frontier

    Notes
    -----
    Between two points, the frontier lies in the triangle of their chord and their tangents, and the height of that
    triangle is what is still unknown. The cell with the highest triangle is split at the weight whose normal is the
    chord's, which finds ties exactly.
    """
    moments = np.asarray(moments, dtype=np.float64)
    if moments.ndim != 3 or len(moments) != 2 or moments.shape[1] != moments.shape[2]:
        raise ValueError(
            f"moments has shape {moments.shape}; a frontier is of two groups: (2, n_features, n_features)."
        )
    if not np.isfinite(moments).all():
        raise ValueError("moments contain NaN or infinite values; clean or impute the data first.")
    p = moments.shape[1]
    check_number("n_components", n_components, low=1, high=p - 1, integer=True)
    check_number("tol", tol, low=0, low_open=True)
    check_number("max_points", max_points, low=2, integer=True)
    unit = safe_unit(np.trace(moments, axis1=1, axis2=2))
    moments = in_units(moments, unit)
    boundary = make_boundary(moments, int(n_components))
    first, last = boundary.at(0.0).right, boundary.at(1.0).left
    scale = max(first.s0 - last.s0, last.s1 - first.s1, 0.0)
    points = [first, last]
    allowed = max(tol * scale, 16 * _UNIT * sum(boundary.traces))
    heap: list[tuple[float, int, SupportPoint, SupportPoint]] = []
    order = count()
    done = 0.0

    def push(a: SupportPoint, b: SupportPoint) -> None:
        nonlocal done
        height = _height(a, b)
        if height <= allowed or b.t - a.t <= _NARROW:
            done = max(done, min(height, _extent(a, b)))
        else:
            heapq.heappush(heap, (-height, next(order), a, b))  # points themselves cannot be compared

    push(first, last)
    while heap and len(points) < max_points:
        _, _, a, b = heapq.heappop(heap)
        support = boundary.at(_between(a, b))
        if not a.t < support.t < b.t:
            done = max(done, _extent(a, b))
            continue
        points.append(support.left)
        push(a, support.left)
        if support.tied:
            points.append(support.right)
        push(support.right, b)
    distance = max([done, *(-height for height, *_ in heap)])
    ends = {0.0: first, 1.0: last}
    points = sorted({id(point): point for point in points}.values(), key=lambda point: (point.t, point.s1))
    deficits = boundary.deficits([boundary.at(t) for t in sorted({point.t for point in points} | set(ends))])
    if deficits is not None:
        distance += float(deficits.max())
    errors = np.array([(point.s0, point.s1) for point in points])
    least = np.array([last.s0, first.s1])
    weights = np.array([point.t for point in points])
    losses = (errors - least) / unit
    distance, scale = float(distance) / unit, float(scale) / unit
    return Frontier(weights, errors / unit, losses, distance, scale, groups, tuple(points), boundary, unit)


def _extent(a: SupportPoint, b: SupportPoint) -> float:
    return float(np.hypot(b.s0 - a.s0, b.s1 - a.s1))


def _height(a: SupportPoint, b: SupportPoint) -> float:
    """Return the height of the triangle between chord and tangents: how far the frontier may lie from the chord."""
    length = _extent(a, b)
    if length == 0.0 or b.t <= a.t:
        return 0.0
    slack = max(b.t * (a.s0 - b.s0) + (1 - b.t) * (a.s1 - b.s1), 0.0)
    along = slack / (b.t - a.t)  # the tangents meet at a + along (-(1 - t), t)
    along = min(along, length / np.hypot(1 - a.t, a.t))
    d0, d1 = b.s0 - a.s0, b.s1 - a.s1
    return float(along * abs(-(1 - a.t) * d1 - a.t * d0) / length)


def _between(a: SupportPoint, b: SupportPoint) -> float:
    """Return the weight whose normal is the chord's, or the middle."""
    d0, d1 = b.s0 - a.s0, b.s1 - a.s1
    t = d1 / (d1 - d0) if d1 != d0 else np.nan
    width = b.t - a.t
    return t if a.t + 1e-6 * width < t < b.t - 1e-6 * width else a.t + 0.5 * width


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

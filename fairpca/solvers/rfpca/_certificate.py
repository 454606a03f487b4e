"""Proof of optimality for two-group RFPCA: triangles that cover the arc on which the optimum must lie.

Consecutive support points a, b of the convex set K = conv{s(V)} and the intersection q of their tangents form a
triangle that contains all of the boundary between them.  J_0 and J_1 are concave, so their mixtures take
their minimum over the triangle at a vertex, which bounds F = max(J_0, J_1) from below:

    max over mu in [0, 1] of min over v in {a, q, b} of mu J_0(v) + (1 - mu) J_1(v) <= F on the triangle.

The weights t = 0 and t = 1 must be among the breakpoints: then q stays in the positive quadrant, where the J are
defined and concave.  Without them the bound is wrong.
Where only a proven support line is known and no point on it, a polygon takes the place of the triangles.
On a (nearly) flat piece, F along the chord is known exactly from its ends and one zero of J_0 - J_1, and the
triangle's thickness is charged at its worst.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np

from fairpca.linalg import geodesic, orthonormal
from fairpca.solvers.result import CONTRADICTION, consistent_bound
from fairpca.solvers.rfpca._boundary import SAME_TIE, Boundary, Support, SupportPoint
from fairpca.solvers.rfpca._cells import Line, bound_cell, polygon_bound
from fairpca.solvers.rfpca.objective import TwoGroupObjective
from fairpca.solvers.spectral import zero_between

__all__ = ["RadiusCertificate", "certify", "equalised", "lower_bound", "search_interval"]

_UNIT = float(np.finfo(float).eps)
_SMALL = 1e-11  # miss of a support value, relative to the traces, up to which the point itself is used


def search_interval(objective: TwoGroupObjective) -> tuple[float, float]:
    """Return the interval of t that contains the weight of every optimal plane.

    Parameters
    ----------
    objective : TwoGroupObjective
        The objective.

    Returns
    -------
    tuple of float
        ``min(0, p_0 - lam)`` and ``max(1, p_0 + lam)``.
    """
    p0, lam = objective.shares[0], objective.lam
    return min(0.0, p0 - lam), max(1.0, p0 + lam)


@dataclass(slots=True)
class RadiusCertificate:
    """What branch and bound proved.

    Attributes
    ----------
    best : SupportPoint
        Best plane found.
    objective, bound : float
        Its value and the proven lower bound.
    """

    best: SupportPoint
    objective: float
    bound: float


@dataclass(slots=True)
class _Cell:
    """A part of the boundary between two support points; a face of one t when both have the same t."""

    a: SupportPoint
    b: SupportPoint
    bound: float
    zero: tuple[float, float] | None  # where F on the chord is least, if inside
    depth: int = 0


def _cells_between(supports: list[Support]) -> list[tuple[SupportPoint, SupportPoint]]:
    pairs = [(s.left, s.right) for s in supports if s.tied]
    pairs += [(one.right, other.left) for one, other in pairwise(supports)]
    return pairs


def _floor(boundary: Boundary) -> tuple[float, float]:
    """Return the least possible s_0 and s_1 (supports at t = 1 and t = 0)."""
    one, zero = boundary.at(1.0), boundary.at(0.0)
    return min(one.left.s0, one.right.s0), min(zero.left.s1, zero.right.s1)


def _known_supports(boundary: Boundary, objective: TwoGroupObjective) -> list[Support]:
    """Return known supports that cover the search interval, 0 and 1 among them; the ends may lie farther out."""
    boundary.at(0.0)
    boundary.at(1.0)
    low, high = search_interval(objective)
    if not any(t <= low + SAME_TIE * max(1.0, abs(low)) for t in boundary.supports):
        boundary.at(low)
    if not any(t >= high - SAME_TIE * max(1.0, abs(high)) for t in boundary.supports):
        boundary.at(high)
    weights = sorted(boundary.supports)
    first = max((t for t in weights if t <= low), default=weights[0])
    last = min((t for t in weights if t >= high), default=weights[-1])
    return [boundary.supports[t] for t in weights if first <= t <= last]


def lower_bound(boundary: Boundary, objective: TwoGroupObjective) -> float:
    """Return the lower bound that the support points known so far prove (Theorem C of the book's `exact` chapter).

    Support points that miss their support value a little are allowed: with rho the largest miss, K moved by
    rho (1, 1) and joined with the points has them as exact support points, and J grows by at most a known amount on
    the way there. Of those that miss it by more only the proven tangent is used, not the point; the triangle between
    the neighbours then becomes a polygon with a vertex more.
    """
    supports = _known_supports(boundary, objective)
    floor = _floor(boundary)
    deficits = boundary.deficits(supports)
    if deficits is None:
        return min(bound_cell(objective, a, b, floor, np.inf)[0] for a, b in _cells_between(supports))
    exact = deficits <= max(_SMALL * sum(boundary.traces), float(deficits.min()))
    rho = float(deficits[exact].max())
    reach = [max(s.t * e.s0 + (1 - s.t) * e.s1 for e in (s.left, s.right)) for s in supports]
    tangents = [Line(s.t, value - float(miss)) for s, value, miss in zip(supports, reach, deficits, strict=True)]
    floor = (_least(tangents, 1.0), _least(tangents, 0.0))
    # No error is negative: without this a weak tangent at 0 or 1 lets the polygon leave the quadrant, and moving its
    # vertices back would cut off a part of the boundary.
    tangents = [Line(t, max(value, 0.0) if min(abs(t), abs(t - 1)) <= SAME_TIE else value) for t, value in tangents]
    if rho > 0:
        supports = _reassigned(supports)
    bound = np.inf
    known: list[Support] = []  # the last support whose point counts, and the tangents since
    between: list[Line] = []
    for support, tangent, counts in zip(supports, tangents, exact, strict=True):
        if not counts:
            between.append(tangent)
            continue
        if between or not known:
            bound = min(bound, polygon_bound(objective, known[-1] if known else None, between, support, floor))
        else:
            bound = min(bound, bound_cell(objective, known[-1].right, support.left, floor, np.inf)[0])
        if support.tied:
            bound = min(bound, bound_cell(objective, support.left, support.right, floor, np.inf)[0])
        known, between = [support], []
    if between:
        bound = min(bound, polygon_bound(objective, known[-1], between, None, floor))
    if rho > 0:
        bound -= objective.increase(max(floor[0] - rho, 0.0), max(floor[1] - rho, 0.0), rho, rho)
    return bound


def _least(tangents: list[Line], t: float) -> float:
    # A face met twice is kept under one of its two weights, which differ by rounding.
    return max(min(tangents, key=lambda tangent: abs(tangent.t - t)).value, 0.0)


def _reassigned(supports: list[Support]) -> list[Support]:
    """Give each t the known point that is best for it, so that all points support the hull of all."""
    points = [point for s in supports for point in ((s.left, s.right) if s.tied else (s.left,))]
    S = np.array([(point.s0, point.s1) for point in points])
    result = []
    for s in supports:
        values = s.t * S[:, 0] + (1 - s.t) * S[:, 1]
        best = int(np.argmin(values))
        own = s.t * s.left.s0 + (1 - s.t) * s.left.s1
        if values[best] < own:
            found = points[best]
            point = SupportPoint(s.t, found.s0, found.s1, found.plane, found.basis)
            result.append(Support(s.t, point, point, None))
        else:
            result.append(s)
    return result


def certify(
    boundary: Boundary,
    objective: TwoGroupObjective,
    best: SupportPoint,
    *,
    tol: float,
    max_evaluations: int,
    polish: Callable[[float], SupportPoint],
) -> RadiusCertificate:
    """Refine the cover until the lower bound reaches the best value, improving `best` on the way.

    Parameters
    ----------
    boundary : Boundary
        The curve; support points already on it are used.
    objective : TwoGroupObjective
        J_0 and J_1.
    best : SupportPoint
        A feasible plane.
    tol : float
        Relative gap to reach.
    max_evaluations : int
        Support points that may be added.
    polish : callable
        ``polish(t)`` runs a local search from weight t and returns its plane.
    """
    start = boundary.evaluations
    least = objective.value(best.s0, best.s1)
    floor = _floor(boundary)
    ground = 8 * _UNIT * objective.value(*boundary.traces)

    def consider(point: SupportPoint) -> bool:
        nonlocal best, least
        value = objective.value(point.s0, point.s1)
        if value < least:
            best, least = point, value
            return True
        return False

    def build() -> list[tuple[float, int, _Cell]]:
        supports = _known_supports(boundary, objective)
        for s in supports:
            consider(s.left)
            if s.tied:
                consider(s.right)
        heap: list[tuple[float, int, _Cell]] = []
        for a, b in _cells_between(supports):
            push(heap, a, b, 0)
        return heap

    counter = 0

    def push(heap: list[tuple[float, int, _Cell]], a: SupportPoint, b: SupportPoint, depth: int) -> None:
        nonlocal counter
        counter += 1
        bound, zero = bound_cell(objective, a, b, floor, least)
        heapq.heappush(heap, (bound, counter, _Cell(a, b, bound, zero, depth)))

    heap = build()
    finished = np.inf  # least bound among cells that cannot be refined any further
    while heap:
        bound, _, cell = heap[0]
        slack = max(tol * least, ground)
        if bound >= least - slack or boundary.evaluations - start >= max_evaluations:
            break
        if cell.zero is not None and objective.value(*cell.zero) < least - 0.5 * slack:
            mixed = equalised(boundary, objective, cell.a, cell.b)
            cell.zero = None
            if consider(mixed):
                continue
        t = _split(cell, best.t, least - bound, slack)
        heapq.heappop(heap)
        if t is None:
            finished = min(finished, bound)
            continue
        before = least
        support = boundary.at(t)
        if not cell.a.t < support.t < cell.b.t:
            finished = min(finished, bound)
            continue
        improved = consider(support.left)
        improved = (support.tied and consider(support.right)) or improved
        if improved and before - least > slack:
            consider(polish(t))
            heap = build()
            continue
        push(heap, cell.a, support.left, cell.depth + 1)
        if support.tied:
            push(heap, support.left, support.right, 0)
        push(heap, support.right, cell.b, cell.depth + 1)
    bound = min(heap[0][0] if heap else np.inf, finished)
    if boundary.proves_bounds:
        bound = min(bound, lower_bound(boundary, objective))
    return RadiusCertificate(
        best, least, consistent_bound(least, bound, CONTRADICTION * objective.size(*boundary.traces))
    )


def equalised(boundary: Boundary, objective: TwoGroupObjective, a: SupportPoint, b: SupportPoint) -> SupportPoint:
    """Rotate from a's plane to b's to where J_0 = J_1 (inside a tied space this stays on the face)."""
    one, other = a.plane, b.plane
    rows = max(len(one), len(other))  # a basis may have grown in between
    if len(one) != len(other):
        one, other = (np.pad(plane, ((0, rows - len(plane)), (0, 0))) for plane in (one, other))
    path = geodesic(one, other)

    def difference(u: float) -> float:
        J0, J1 = objective.values(*boundary.errors(path(u)))
        return J0 - J1

    if difference(0.0) * difference(1.0) < 0:
        V = orthonormal(path(zero_between(difference)))
        mixed = SupportPoint(a.t, *boundary.errors(V), V, a.basis)
    else:  # one end is a root up to rounding
        mixed = a
    return min((mixed, a, b), key=lambda point: objective.value(point.s0, point.s1))


def _split(cell: _Cell, best_t: float, gap: float, slack: float) -> float | None:
    """Return the weight at which to split, or ``None`` if the cell is too narrow.

    Next to a smooth optimum a triangle's error falls with the square of its width and the widths may grow
    geometrically away from it; elsewhere the chord's normal is best, because it finds flat pieces exactly.
    """
    low, high = cell.a.t, cell.b.t
    width = high - low
    if width <= 8 * _UNIT * max(1.0, abs(low), abs(high)):
        return None
    if cell.depth % 3 != 2:
        near = low - best_t if best_t <= low else best_t - high if best_t >= high else None
        if near is not None:
            outwards = 1.0 if best_t <= low else -1.0
            if near <= 1e-3 * slack / max(gap, slack) * width:
                step = width * min(0.5, 0.4 * sqrt(slack / gap))
            elif width > 3 * near:
                step = sqrt(near * (near + width)) - near
            else:
                step = 0.0
            t = (low if outwards > 0 else high) + outwards * step
            if low < t < high and step > 0:
                return t
    d0, d1 = cell.b.s0 - cell.a.s0, cell.b.s1 - cell.a.s1
    if d1 != d0:
        t = d1 / (d1 - d0)
        if low + 1e-9 * width < t < high - 1e-9 * width:
            return t
    middle = 0.5 * (low + high)
    return middle if low < middle < high else None

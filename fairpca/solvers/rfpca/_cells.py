"""Lower bounds of the RFPCA objective on the pieces that cover the boundary: triangles, polygons and flat pieces."""

from __future__ import annotations

from itertools import pairwise
from math import hypot
from typing import NamedTuple

import numpy as np

from fairpca.solvers.rfpca._boundary import Support, SupportPoint
from fairpca.solvers.rfpca.objective import TwoGroupObjective

__all__ = ["Line", "bound_cell", "polygon_bound"]

_UNIT = float(np.finfo(float).eps)


def _tangent_intersection(a: SupportPoint, b: SupportPoint, floor: tuple[float, float]) -> tuple[float, float]:
    """Return q; rounding is allowed for, and cut where geometry forbids it."""
    slack = b.t * (a.s0 - b.s0) + (1 - b.t) * (a.s1 - b.s1)
    rounding = 4 * _UNIT * (abs(b.t) * (a.s0 + b.s0) + abs(1 - b.t) * (a.s1 + b.s1))
    along = (max(slack, 0.0) + rounding) / (b.t - a.t)
    along = min(along, hypot(b.s0 - a.s0, b.s1 - a.s1) / hypot(1 - a.t, a.t))
    return max(a.s0 - (1 - a.t) * along, floor[0]), max(a.s1 + a.t * along, floor[1])


def _mixture_bound(vertices: list[tuple[float, float]]) -> float:
    """Return max over mu of the least mu J_0 + (1 - mu) J_1 over the vertices' (J_0, J_1)."""
    best = max(min(J[0] for J in vertices), min(J[1] for J in vertices))
    count = len(vertices)
    for i in range(count):
        Di = vertices[i][0] - vertices[i][1]
        for j in range(i):
            Dj = vertices[j][0] - vertices[j][1]
            if Di != Dj:
                mu = (vertices[j][1] - vertices[i][1]) / (Di - Dj)
                if 0 < mu < 1:
                    best = max(best, min(mu * J[0] + (1 - mu) * J[1] for J in vertices))
    return best


def _chord_zero(objective: TwoGroupObjective, a: SupportPoint, b: SupportPoint) -> tuple[float, float]:
    """Return a point of the chord where J_0 = J_1, given that the sign changes between its ends."""
    low, high = 0.0, 1.0
    d0, d1 = b.s0 - a.s0, b.s1 - a.s1
    J = objective.values(a.s0, a.s1)
    positive = J[0] > J[1]
    for _ in range(60):
        u = 0.5 * (low + high)
        J = objective.values(a.s0 + u * d0, a.s1 + u * d1)
        if (J[0] > J[1]) == positive:
            low = u
        else:
            high = u
    return a.s0 + low * d0, a.s1 + low * d1


def bound_cell(
    objective: TwoGroupObjective, a: SupportPoint, b: SupportPoint, floor: tuple[float, float], needed: float
) -> tuple[float, tuple[float, float] | None]:
    """Return the cell's lower bound and, where the chord decides it, the chord's best inner point."""
    Ja, Jb = objective.values(a.s0, a.s1), objective.values(b.s0, b.s1)
    face = a.t == b.t
    if not face:
        q = _tangent_intersection(a, b, floor)
        bound = _mixture_bound([Ja, Jb, objective.values(*q)])
        if bound >= needed:
            return bound, None
    Fa, Fb = max(Ja), max(Jb)
    changes = (Ja[0] - Ja[1]) * (Jb[0] - Jb[1]) < 0
    if not changes and not face:
        return bound, None
    zero = _chord_zero(objective, a, b) if changes else None
    Fz = objective.value(*zero) if zero is not None else min(Fa, Fb)
    chord = min(Fa, Fb, Fz)
    inner = zero if Fz < min(Fa, Fb) else None
    if face:
        return chord, inner
    # Distance of q from the chord: every point of the triangle is at most that far from a point of the chord.
    d0, d1 = b.s0 - a.s0, b.s1 - a.s1
    length = d0 * d0 + d1 * d1
    u = min(max(((q[0] - a.s0) * d0 + (q[1] - a.s1) * d1) / length, 0.0), 1.0) if length > 0 else 0.0
    away0, away1 = abs(a.s0 + u * d0 - q[0]), abs(a.s1 + u * d1 - q[1])
    thickness = objective.increase(min(a.s0, b.s0, q[0]), min(a.s1, b.s1, q[1]), away0, away1)
    if chord - thickness > bound:
        return chord - thickness, inner
    return bound, None


class Line(NamedTuple):
    """The half-plane t s_0 + (1 - t) s_1 >= value, which contains K."""

    t: float
    value: float

    def meet(self, other: Line) -> tuple[float, float]:
        """Return the intersection with another line."""
        step = (other.value - self.value) / (other.t - self.t)  # s_0 - s_1 there
        s1 = self.value - self.t * step
        return s1 + step, s1


def polygon_bound(
    objective: TwoGroupObjective,
    start: Support | None,
    between: list[Line],
    stop: Support | None,
    floor: tuple[float, float],
) -> float:
    """Return the bound for the arc between two support points with proven tangents, but no points, between them.

    Without a support at one end, that end is an end of the search interval: outwards along the last tangent both J
    are non-decreasing, so its last vertex stands for all of it.
    """
    ends = [None if s is None else s.right if s is start else s.left for s in (start, stop)]
    lines = [Line(e.t, e.t * e.s0 + (1 - e.t) * e.s1) if e is not None else None for e in ends]
    chain: list[Line] = []
    for line in [lines[0], *between, lines[1]]:
        if line is None:
            continue
        while len(chain) > 1:  # a tangent that the two beside it make redundant
            s0, s1 = chain[-2].meet(line)
            if chain[-1].t * s0 + (1 - chain[-1].t) * s1 < chain[-1].value:
                break
            chain.pop()
        chain.append(line)
    vertices = [(e.s0, e.s1) for e in ends if e is not None]
    vertices += [line.meet(other) for line, other in pairwise(chain)]
    vertices = [(max(s0, floor[0]), max(s1, floor[1])) for s0, s1 in vertices]
    return _mixture_bound([objective.values(*vertex) for vertex in vertices])

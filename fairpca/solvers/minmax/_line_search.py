"""Maximise ``phi(t) = t a0 + (1 - t) a1 - (sum of the d largest eigenvalues of t S0 + (1 - t) S1)`` on [0, 1].

phi is concave and its slope at t is the difference ``D = l0 - l1`` of the losses ``l_g = a_g - tr V'S_gV`` of a top
space V. The maximiser comes with a V of rank d exactly: where D jumps over zero the d-th eigenvalue is tied, and
turning the space inside the tie makes D vanish.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from fairpca.solvers.spectral.pencil import mix_to_zero

__all__ = ["LineOptimum", "maximise_on_line"]

_EPS = float(np.finfo(float).eps)


class _Point(NamedTuple):
    """phi at one t, with the slopes on both sides (they differ only in a tie) and the spaces that give them."""

    t: float
    phi: float
    slope_left: float
    slope_right: float
    V_left: np.ndarray
    V_right: np.ndarray
    gap: float  # between eigenvalues d and d + 1
    turn: float  # difference of the slopes of these two eigenvalues
    coupling: float  # their off-diagonal element
    curvature: float  # of all other pairs
    stop: int  # eigenvalues up to the end of the tie
    values: np.ndarray  # all eigenvalues, ascending
    vectors: np.ndarray


@dataclass(frozen=True)
class LineOptimum:
    """Maximiser of phi: `V` in working coordinates, the decompositions that were made, and the points visited."""

    t: float
    phi: float
    V: np.ndarray
    sums: np.ndarray  # tr V'S_gV
    stop: int  # eigenvalues up to the end of the tie across number d
    values: np.ndarray  # ascending eigenvalues at t
    vectors: np.ndarray
    n_points: int
    visited: list[tuple[float, float, float]]  # (t, phi, D)


class _Line:
    def __init__(self, S0: np.ndarray, S1: np.ndarray, a0: float, a1: float, d: int) -> None:
        self.S1, self.delta = S1, S0 - S1
        self.a0, self.a1, self.d = a0, a1, d
        self.size = max(abs(a0), abs(a1)) or max(float(np.trace(S0)), float(np.trace(S1)))
        self.visited: list[tuple[float, float, float]] = []
        self.n_points = 0

    def at(self, t: float, ascending: tuple[np.ndarray, np.ndarray] | None = None) -> _Point:
        self.n_points += ascending is None
        w, Y = np.linalg.eigh(self.S1 + t * self.delta) if ascending is None else ascending
        r = len(w) - self.d  # first of the d largest, in ascending order
        images = self.delta @ Y[:, r - 1 :]
        C = Y.T @ images
        diagonal = C.ravel()[(r - 1) * (self.d + 1) :: self.d + 2]  # of rows r-1, r, ...
        total = float(diagonal[1:].sum())
        phi = t * self.a0 + (1.0 - t) * self.a1 - float(w[r:].sum())
        slope = self.a0 - self.a1 - total
        gap = float(w[r] - w[r - 1])
        level = 8 * _EPS * max(abs(float(w[-1])), abs(float(w[0])))
        if gap <= level:
            return self._tied(t, phi, w, Y, r, level)
        coupling = float(C[r - 1, 1])
        pairs = C[:r, 1:]
        curvature = 2.0 * float((pairs * pairs / (w[r:] - w[:r, None])).sum()) - 2.0 * coupling * coupling / gap
        turn = float(diagonal[1] - diagonal[0])
        V = Y[:, r:]
        self.visited.append((t, phi, slope))
        return _Point(t, phi, slope, slope, V, V, gap, turn, coupling, max(curvature, 0.0), self.d, w, Y)

    def _tied(self, t: float, phi: float, w: np.ndarray, Y: np.ndarray, r: int, level: float) -> _Point:
        """Choose inside the tie the spaces that the limits from the left and from the right would give."""
        start = int(np.searchsorted(w, w[r] - level))
        stop = int(np.searchsorted(w, w[r] + level, side="right"))
        Z = Y[:, start:stop]
        k, R = np.linalg.eigh(Z.T @ self.delta @ Z)
        free = stop - r
        upper = Y[:, stop:]
        fixed = float(np.einsum("ij,ij->", upper, self.delta @ upper))
        right = np.concatenate((Z @ R[:, -free:], upper), axis=1)
        left = np.concatenate((Z @ R[:, :free], upper), axis=1)
        slope_right = self.a0 - self.a1 - fixed - float(k[-free:].sum())
        slope_left = self.a0 - self.a1 - fixed - float(k[:free].sum())
        lower = Y[:, :start]
        C = lower.T @ self.delta @ upper
        curvature = 2.0 * float((C * C / (w[stop:] - w[:start, None])).sum()) if C.size else 0.0
        self.visited.append((t, phi, slope_right))
        return _Point(t, phi, slope_left, slope_right, left, right, 0.0, 0.0, 0.0, curvature, len(w) - start, w, Y)

    def balance(self, V: np.ndarray) -> float:
        return self.a0 - self.a1 - float(np.einsum("ij,ij->", V, self.delta @ V))


def _model_root(x: _Point, slope: float, low: float, high: float) -> float | None:
    """Root in (low, high) of the slope's model around x: Newton's line, with the crossing pair taken exactly.

    None when the model has no root there.

    The pair of eigenvalues next to the cut is a 2 x 2 problem whose larger root is known in closed form, so a near
    crossing, where plain Newton overshoots, costs no more decompositions than a smooth stretch.
    """
    g, e, a = x.gap, x.turn, x.coupling
    four_a2 = 4.0 * a * a

    def model(s: float) -> tuple[float, float]:
        u = g + s * e
        r = sqrt(u * u + four_a2 * s * s)
        if r == 0.0:
            return slope - s * x.curvature, -x.curvature
        value = slope - 0.5 * ((u * e + four_a2 * s) / r - e) - s * x.curvature
        return value, -0.5 * four_a2 * g * g / (r * r * r) - x.curvature

    left, right = low - x.t, high - x.t
    if model(right)[0] >= 0 if slope > 0 else model(left)[0] <= 0:
        return None
    s, previous = 0.0, right - left
    for _ in range(80):
        value, derivative = model(s)
        if value > 0:
            left = s
        elif value < 0:
            right = s
        else:
            break
        step = -value / derivative if derivative < 0 else previous
        trial = s + step
        if not left < trial < right or abs(step) > 0.5 * previous:
            trial = 0.5 * (left + right)
        previous, s = abs(trial - s), trial
        if previous <= max(1e-10, 1e-2 * abs(s)) * abs(s):  # the model itself is no better far from x
            break
    return x.t + s


def _tangents_meet(low: _Point, high: _Point) -> float:
    rise = high.phi - low.phi + low.slope_right * low.t - high.slope_left * high.t
    return rise / (low.slope_right - high.slope_left)


def maximise_on_line(
    S0: np.ndarray,
    S1: np.ndarray,
    a0: float,
    a1: float,
    d: int,
    *,
    start: float | None = None,
    ends: tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None,
    max_iter: int = 100,
) -> LineOptimum:
    """Find the maximum of phi on [0, 1] and a rank-d space that certifies it.

    Parameters
    ----------
    S0, S1 : ndarray of shape (q, q)
        Symmetric matrices, q > d.
    a0, a1 : float
        What the groups' sums are compared with: own optima (loss), traces (error) or nothing (variance).
    d : int
        Dimension.
    start : float, optional
        First t to try.
    ends : pair of (values, vectors), optional
        Ascending eigen-decompositions of S1 and S0, when they are known already.
    max_iter : int
        Decompositions allowed.

    Returns
    -------
    LineOptimum
        With `phi` the largest value visited, hence a lower bound of the optimum whatever happens.
    """
    line = _Line(S0, S1, a0, a1, d)
    zero = 16 * _EPS * max(line.size, _EPS)
    low = line.at(0.0, ends[0] if ends else None)
    if low.slope_right <= zero:
        return _finish(line, low, low.V_right, S0, S1)
    high = line.at(1.0, ends[1] if ends else None)
    if high.slope_left >= -zero:
        return _finish(line, high, high.V_left, S0, S1)
    t = _tangents_meet(low, high) if start is None else start
    least = np.inf
    slow = 0
    for step in range(max_iter):
        if not low.t < t < high.t:
            t = 0.5 * (low.t + high.t)
        x = line.at(t)
        if x.slope_right <= zero and x.slope_left >= -zero:
            if x.slope_left - x.slope_right <= zero:
                return _finish(line, x, x.V_right, S0, S1)
            return _finish(line, x, mix_to_zero(x.V_right, x.V_left, line.balance, zero=zero), S0, S1)
        if x.slope_right > 0:
            low, slope = x, x.slope_right
        else:
            high, slope = x, x.slope_left
        width = high.t - low.t
        if width <= 64 * _EPS:
            break
        slow = slow + 1 if abs(slope) > 0.5 * least else 0
        least = min(least, abs(slope))
        # Where the model is wrong (several pairs nearly cross) tangents find a kink, and halving a smooth top. Halving
        # in the second half of the steps closes the bracket whatever happens: fifty steps bring it to rounding.
        if 2 * step > max_iter or slow % 4 == 3:
            t = 0.5 * (low.t + high.t)
        elif slow % 4 == 2:
            t = _tangents_meet(low, high)
        else:
            root = _model_root(x, slope, low.t, high.t)
            t = _tangents_meet(low, high) if root is None else root
            if abs(t - x.t) < 32 * _EPS:  # the root is next door: step over it, so that the bracket closes
                t = x.t + np.copysign(32 * _EPS, slope)
    best = low if low.phi >= high.phi else high
    try:
        V = mix_to_zero(low.V_right, high.V_left, line.balance)  # the slope may still jump between them
    except ValueError:  # both are on one side: that is rounding
        V = min(low.V_right, high.V_left, key=lambda V: abs(line.balance(V)))
    return _finish(line, best, V, S0, S1)


def _finish(line: _Line, x: _Point, V: np.ndarray, S0: np.ndarray, S1: np.ndarray) -> LineOptimum:
    s1 = float(np.einsum("ij,ij->", V, S1 @ V))
    s0 = float(np.einsum("ij,ij->", V, S0 @ V))  # by itself: the other group's unit may be far larger
    return LineOptimum(x.t, x.phi, V, np.array([s0, s1]), x.stop, x.values, x.vectors, line.n_points, line.visited)

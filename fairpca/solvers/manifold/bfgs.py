"""Limited-memory Riemannian BFGS with cautious updates and a weak-Wolfe line search, for orthonormal frames."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from pymanopt import manifolds

from fairpca.solvers.manifold._memory import SecantPairs

__all__ = ["Grassmann", "limited_rbfgs"]

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]

_CAUTION = 1e-6  # a pair is kept only if <s, y> > this * min(1, |gradient|) * <s, s>
_SHORTEST = 1e-10  # length of a step at which to stop
_TRIALS = 20  # evaluations for each step that is allowed


class Grassmann(manifolds.Grassmann):
    """Subspaces of dimension p of n-space, by orthonormal bases, with the polar retraction.

    pymanopt's own operations also work on stacks of frames, for which they go through loops and tensor products that
    cost more than the arithmetic where frames are small.
    """

    def projection(self, point: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the part of a vector that is horizontal at `point`."""
        return vector - point @ (point.T @ vector)

    def transport_rows(self, point: np.ndarray, rows: np.ndarray) -> None:
        """Project transposed vectors, shape (m, p, n), to the horizontal space at `point`, in place."""
        m, p, n = rows.shape
        flat: Any = rows.reshape(m * p, n)
        flat -= (flat @ point) @ point.T


def limited_rbfgs(
    function: Function,
    manifold: Any,
    x: np.ndarray,
    tolerance: float,
    max_steps: int,
    *,
    precondition: Callable[[np.ndarray, np.ndarray], np.ndarray] = lambda point, vector: vector,
    callback: Callable[[int, np.ndarray], bool] = lambda iteration, point: False,
    memory: int = 30,
    max_stalled: int = 8,
    min_decrease: float = 1e-13,
) -> np.ndarray:
    """Minimise a function of orthonormal frames.

    The secant pairs are carried along by the manifold's vector transport (Huang, Gallivan & Absil 2015); a pair is
    kept only if ``<s, y> > 1e-6 * min(1, |grad|) * <s, s>`` (Li & Fukushima 2001), so that the quasi-Newton operator
    stays positive definite on functions that are not convex.

    Parameters
    ----------
    function : callable
        Returns value and Euclidean gradient at a frame.
    manifold : Grassmann, or another manifold of frames with the metric of the embedding
        Has ``retraction``, ``projection`` to the tangent space, ``transport_rows`` and ``typical_dist``.
    x : ndarray of shape (p, d)
        Start, with orthonormal columns.
    tolerance : float
        Norm of the gradient below which to stop.
    max_steps : int
        Largest number of steps, and a twentieth of that of evaluations.
    precondition : callable, optional
        ``precondition(point, vector)``: the initial inverse Hessian, which is scaled by the newest pair.
    callback : callable, optional
        ``callback(iteration, point)`` after each accepted step; a true value stops the run.
    memory : int, default=30
        Number of secant pairs.
    max_stalled : int, default=8
        Stop after this many steps in a row that lower the value by less than `min_decrease` relatively.
    min_decrease : float, default=1e-13
        Relative decrease of the value that counts as progress.

    Returns
    -------
    ndarray of shape (p, d)
        The last point, never worse than the start.
    """
    pairs = SecantPairs(memory)
    cost, slope_matrix = function(x)
    gradient = manifold.projection(x, slope_matrix)
    evaluations, iteration, length = 1, 0, np.inf
    recent: deque[float] = deque(maxlen=max_stalled + 1)
    while True:
        recent.append(cost)
        norm = _norm(gradient)
        stalled = len(recent) > max_stalled and recent[0] - cost <= min_decrease * max(1.0, abs(cost))
        spent = iteration >= max_steps or evaluations >= _TRIALS * max_steps
        if stalled or spent or norm < tolerance or length < _SHORTEST:
            return x
        direction, slope, step = -gradient, 0.0, 1.0
        if len(pairs):
            direction = -pairs.apply(gradient, partial(precondition, x))
            slope = float(np.vdot(gradient, direction))
        fresh = slope >= 0
        if fresh:
            pairs.clear()
            direction = -precondition(x, gradient)
            slope = float(np.vdot(gradient, direction))
            if slope >= 0:  # a preconditioner that is not positive definite here is not used
                direction, slope = -gradient, -float(np.vdot(gradient, gradient))
            step = min(1.0, 0.1 * manifold.typical_dist / _norm(direction))  # nothing is known of the curvature
        found = _weak_wolfe(function, manifold, x, cost, direction, slope, step)
        evaluations += found.evaluations
        if found.point is None:
            if fresh:
                return x
            pairs.clear()  # the curvature was misleading: once more along the preconditioned gradient
            continue
        length = found.step * _norm(direction)
        pairs.move(manifold, found.point)
        s = found.step * manifold.projection(found.point, direction)
        y = found.gradient - manifold.projection(found.point, gradient)
        if np.vdot(s, y) > _CAUTION * min(1.0, norm) * np.vdot(s, s):
            pairs.append(s, y)
        x, cost, gradient = found.point, found.cost, found.gradient
        iteration += 1
        if callback(iteration, x):
            return x


def _norm(vector: np.ndarray) -> float:
    return float(np.sqrt(np.vdot(vector, vector)))


_SUFFICIENT = 1e-4  # share of the promised decrease that must be realised
_CURVATURE = 0.9  # the slope must have flattened to this share
_MAX_TRIALS = 30


class _Accepted(NamedTuple):
    """Outcome of a line search: `point` is None when no decrease was found."""

    evaluations: int
    point: Any = None
    cost: float = np.inf
    gradient: Any = None
    step: float = 0.0


def _interpolated(low: float, high: float, cost_low: float, slope_low: float, cost_high: float) -> float:
    """Return the minimiser of the parabola through both ends, kept away from them."""
    width = high - low
    bend = cost_high - cost_low - slope_low * width
    share = -0.5 * slope_low * width / bend if bend > 0 and np.isfinite(bend) else 0.5
    return low + width * min(max(share, 0.1), 0.9)


def _weak_wolfe(
    function: Function, manifold: Any, x: np.ndarray, cost: float, direction: Any, slope: float, step: float
) -> _Accepted:
    """Find a step with sufficient decrease and a flattened slope (bracketing of Lewis & Overton 2013).

    The slope at a trial point is measured along the transported direction. When the bracket collapses the best
    point with sufficient decrease so far is returned.
    """
    best = _Accepted(0)
    low, cost_low, slope_low = 0.0, cost, slope
    high, cost_high = np.inf, np.nan
    for evaluations in range(1, _MAX_TRIALS + 1):
        point = manifold.retraction(x, step * direction)
        trial, slope_matrix = function(point)
        if not (trial < cost and trial <= cost + _SUFFICIENT * step * slope):  # also when it is NaN
            high, cost_high = step, trial
        else:
            gradient = manifold.projection(point, slope_matrix)
            new_slope = float(np.vdot(gradient, manifold.projection(point, direction)))
            found = _Accepted(evaluations, point, trial, gradient, step)
            if new_slope >= _CURVATURE * slope:
                return found
            best = found if trial <= best.cost else best
            low, cost_low, slope_low = step, trial, new_slope
        if np.isinf(high):
            step = 2.0 * step if low < 4 else 4.0 * step
            if step > 1e10:
                break
        else:
            step = _interpolated(low, high, cost_low, slope_low, cost_high)
            if high - low < 1e-14 * high:
                break
    return best._replace(evaluations=evaluations)

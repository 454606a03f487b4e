"""Line search for the weak Wolfe conditions along a retraction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["LineSearch", "weak_wolfe"]

_SUFFICIENT = 1e-4  # share of the promised decrease that must be realised
_CURVATURE = 0.9  # the slope must have flattened to this share
_MAX_TRIALS = 30


@dataclass
class LineSearch:
    """Outcome: `point` is None when no decrease was found."""

    point: Any = None
    cost: float = float("nan")
    gradient: Any = None
    step: float = 0.0
    evaluations: int = 0


def _interpolated(low: float, high: float, cost_low: float, slope_low: float, cost_high: float) -> float:
    """Return the minimiser of the parabola through both ends, kept away from them."""
    width = high - low
    bend = cost_high - cost_low - slope_low * width
    share = -0.5 * slope_low * width / bend if bend > 0 and np.isfinite(bend) else 0.5
    return low + width * min(max(share, 0.1), 0.9)


def weak_wolfe(
    cost_at: Callable[[Any], float],
    gradient_at: Callable[[Any], Any],
    manifold: Any,
    x: Any,
    cost: float,
    direction: Any,
    slope: float,
    step: float,
) -> LineSearch:
    """Find a step with sufficient decrease and a flattened slope (bracketing of Lewis & Overton 2013).

    The slope at a trial point is measured along the transported direction. When the bracket collapses the best
    point with sufficient decrease so far is returned.
    """
    best = LineSearch()
    low, cost_low, slope_low = 0.0, cost, slope
    high, cost_high = np.inf, np.nan
    evaluations = 0
    while evaluations < _MAX_TRIALS:
        point = manifold.retraction(x, step * direction)
        trial = float(cost_at(point))
        evaluations += 1
        if not (trial < cost and trial <= cost + _SUFFICIENT * step * slope):  # also when it is NaN
            high, cost_high = step, trial
        else:
            gradient = gradient_at(point)
            new_slope = float(manifold.inner_product(point, gradient, manifold.transport(x, point, direction)))
            if new_slope >= _CURVATURE * slope:
                return LineSearch(point, trial, gradient, step, evaluations)
            if best.point is None or trial <= best.cost:
                best = LineSearch(point, trial, gradient, step)
            low, cost_low, slope_low = step, trial, new_slope
        if np.isinf(high):
            step = 2.0 * step if low < 4 else 4.0 * step
            if step > 1e10:
                break
        else:
            step = _interpolated(low, high, cost_low, slope_low, cost_high)
            if high - low < 1e-14 * high:
                break
    best.evaluations = evaluations
    return best

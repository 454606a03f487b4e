"""Limited-memory cautious Riemannian BFGS as a pymanopt optimizer (pymanopt itself has none)."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from pymanopt import manifolds
from pymanopt.optimizers.optimizer import Optimizer, OptimizerResult
from pymanopt.tools import printer

from fairpca.solvers.manifold._memory import FlatMemory, ListMemory

__all__ = ["Grassmann", "LineSearch", "RiemannianBFGS", "weak_wolfe"]

Callback = Callable[[int, Any, float, float], "bool | None"]


class RiemannianBFGS(Optimizer):
    """Limited-memory Riemannian BFGS with cautious updates and a weak-Wolfe line search.

    The secant pairs are carried along by the manifold's vector transport (Huang, Gallivan & Absil 2015); a pair is
    kept only if ``<s, y> > caution * min(1, |grad|) * <s, s>`` (Li & Fukushima 2001), so that the quasi-Newton
    operator stays positive definite on functions that are not convex. ``problem.preconditioner`` serves as the
    initial inverse Hessian.

    Parameters
    ----------
    memory : int, default=30
        Number of secant pairs.
    caution : float, default=1e-6
        Threshold of the cautious update.
    scale_initial : bool, default=True
        Scale the initial inverse Hessian by ``<s, y> / <y, P y>`` of the newest pair. Switch it off when the
        preconditioner carries its own scale.
    max_stalled : int, default=8
        Stop after this many steps in a row that lower the cost by less than `min_decrease` relatively.
    min_decrease : float, default=1e-13
        Relative decrease of the cost that counts as progress.
    flat_memory : bool, default=False
        Keep the pairs in two arrays and use matrix products. It needs points that are arrays, a transport that
        broadcasts over a leading axis and the Euclidean metric of the embedding: true of ``Stiefel``, ``Grassmann``
        and ``Euclidean`` (with ``k = 1``); the Grassmannian in `fairpca.solvers.manifold.bfgs` carries all
        pairs along in place.
    callback : callable, optional
        ``callback(iteration, point, cost, gradient_norm)`` after each accepted step; a true value stops the run.
    **kwargs
        ``max_time``, ``max_iterations``, ``min_gradient_norm``, ``min_step_size``, ``max_cost_evaluations``,
        ``verbosity`` and ``log_verbosity`` of :class:`pymanopt.optimizers.optimizer.Optimizer`.

    Attributes
    ----------
    gradient_evaluations : int
        Gradients computed in the last run.
    """

    def __init__(
        self,
        memory: int = 30,
        caution: float = 1e-6,
        scale_initial: bool = True,
        max_stalled: int = 8,
        min_decrease: float = 1e-13,
        flat_memory: bool = False,
        callback: Callback | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if memory < 1:
            raise ValueError(f"memory={memory} is out of range; keep at least one pair.")
        self._memory = memory
        self._caution = caution
        self._scale_initial = scale_initial
        self._max_stalled = max_stalled
        self._min_decrease = min_decrease
        self._flat_memory = flat_memory
        self._callback = callback
        self.gradient_evaluations = 0

    def run(self, problem: Any, *, initial_point: Any = None, **kwargs: Any) -> OptimizerResult:
        """Minimise ``problem.cost`` over ``problem.manifold``.

        Parameters
        ----------
        problem : pymanopt.Problem
            Cost, gradient, manifold and, optionally, a preconditioner.
        initial_point : array or sequence of arrays, optional
            Start; a random point otherwise.

        Returns
        -------
        OptimizerResult
            Last point (never worse than the start), cost, counts, reason for stopping and the log.
        """
        manifold = problem.manifold
        x = manifold.random_point() if initial_point is None else initial_point
        start_time = time.time()
        self.gradient_evaluations = 0
        columns = self._column_printer()
        self._initialize_log(
            optimizer_parameters={
                "memory": self._memory,
                "caution": self._caution,
                "scale_initial": self._scale_initial,
                "max_stalled": self._max_stalled,
                "min_decrease": self._min_decrease,
            }
        )
        pairs: FlatMemory | ListMemory
        pairs = FlatMemory(self._memory) if self._flat_memory else ListMemory(self._memory)

        def gradient_at(point: Any) -> Any:
            self.gradient_evaluations += 1
            return problem.riemannian_gradient(point)

        cost = problem.cost(x)
        evaluations = 1
        grad = gradient_at(x)
        norm = manifold.norm(x, grad)
        step = np.nan
        recent: deque[float] = deque(maxlen=self._max_stalled + 1)
        iteration = 0
        columns.print_header()
        while True:
            columns.print_row([iteration, cost, norm])
            self._add_log_entry(iteration=iteration, point=x, cost=cost, gradient_norm=norm)
            recent.append(cost)
            reason = self._reason(start_time, iteration, norm, step, evaluations, recent)
            if reason:
                break
            direction, slope, fresh = self._direction(problem, pairs, x, grad)
            first_step = self._first_step(manifold, x, direction) if fresh else 1.0
            found = weak_wolfe(problem.cost, gradient_at, manifold, x, cost, direction, slope, first_step)
            evaluations += found.evaluations
            if found.point is None:
                if fresh:
                    reason = f"Terminated - line search found no decrease after {iteration} iterations."
                    break
                pairs.clear()  # the curvature was misleading: once more along the preconditioned gradient
                continue
            step = found.step * manifold.norm(x, direction)
            new_grad = gradient_at(found.point) if found.gradient is None else found.gradient
            pairs.move(manifold, x, found.point)
            s = found.step * manifold.transport(x, found.point, direction)
            y = new_grad - manifold.transport(x, found.point, grad)
            curvature = manifold.inner_product(found.point, s, y)
            if curvature > self._caution * min(1.0, norm) * manifold.inner_product(found.point, s, s):
                pairs.append(s, y, curvature)
            x, cost, grad = found.point, found.cost, new_grad
            norm = manifold.norm(x, grad)
            iteration += 1
            if self._callback is not None and self._callback(iteration, x, cost, norm):
                reason = f"Terminated - stopped by the callback after {iteration} iterations."
                break
        if self._verbosity >= 1:
            print(reason, end="\n\n")
        return self._return_result(
            start_time=start_time,
            point=x,
            cost=cost,
            iterations=iteration,
            stopping_criterion=reason,
            cost_evaluations=evaluations,
            step_size=step,
            gradient_norm=norm,
        )

    def _column_printer(self) -> printer.VoidPrinter:
        if self._verbosity >= 1:
            print("Optimizing...")
        if self._verbosity < 2:
            return printer.VoidPrinter()
        width = int(np.log10(max(self._max_iterations, 1))) + 1
        return printer.ColumnPrinter(columns=[("Iteration", f"{width}d"), ("Cost", "+.16e"), ("Gradient norm", ".8e")])

    def _reason(
        self, start_time: float, iteration: int, norm: float, step: float, evaluations: int, recent: deque[float]
    ) -> str | None:
        reason = self._check_stopping_criterion(
            start_time=start_time,
            iteration=iteration,
            gradient_norm=norm,
            step_size=step,
            cost_evaluations=evaluations,
        )
        stalled = len(recent) > self._max_stalled
        if reason is None and stalled and recent[0] - recent[-1] <= self._min_decrease * max(1.0, abs(recent[-1])):
            reason = f"Terminated - cost stalled for {self._max_stalled} steps after {iteration} iterations."
        return reason

    def _direction(self, problem: Any, pairs: Any, x: Any, grad: Any) -> tuple[Any, float, bool]:
        """Return descent direction, its slope, and whether it is the preconditioned gradient itself."""
        manifold = problem.manifold

        def precondition(vector: Any) -> Any:
            return problem.preconditioner(x, vector)

        if len(pairs):
            direction = -pairs.apply(manifold, x, grad, precondition, self._scale_initial)
            slope = manifold.inner_product(x, grad, direction)
            if slope < 0:
                return direction, slope, False
            pairs.clear()
        direction = -precondition(grad)
        slope = manifold.inner_product(x, grad, direction)
        if slope >= 0:  # a preconditioner that is not positive definite here is not used
            direction, slope = -grad, -manifold.inner_product(x, grad, grad)
        return direction, slope, True

    def _first_step(self, manifold: Any, x: Any, direction: Any) -> float:
        """Without curvature information the first step has a length of a tenth of the manifold's scale at most."""
        length = manifold.norm(x, direction)
        if not self._scale_initial:
            return float(min(1.0, manifold.typical_dist / length))
        return float(min(1.0, 0.1 * manifold.typical_dist / length))


class Grassmann(manifolds.Grassmann):
    """Subspaces of dimension p of n-space, by orthonormal bases, with the polar retraction.

    pymanopt's own operations also work on stacks of frames, for which they go through loops and tensor products that
    cost more than the arithmetic where frames are small.
    """

    def inner_product(self, point: np.ndarray, tangent_vector_a: np.ndarray, tangent_vector_b: np.ndarray) -> float:
        """Return the sum of products of the entries."""
        return float(np.vdot(tangent_vector_a, tangent_vector_b))

    def norm(self, point: np.ndarray, tangent_vector: np.ndarray) -> float:
        """Return the Frobenius norm."""
        return float(np.sqrt(np.vdot(tangent_vector, tangent_vector)))

    def projection(self, point: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the part of a vector that is horizontal at `point`."""
        return vector - point @ (point.T @ vector)

    to_tangent_space = projection

    def transport_rows(self, point: np.ndarray, rows: np.ndarray) -> None:
        """Project transposed vectors, shape (m, p, n), to the horizontal space at `point`, in place."""
        m, p, n = rows.shape
        flat: Any = rows.reshape(m * p, n)
        flat -= (flat @ point) @ point.T


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

"""One penalised subproblem, min f(V) + ρ h(V) over the Grassmannian, Eq. (9) of Lee et al."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymanopt

from fairpca.solvers.manifold.bfgs import RiemannianBFGS
from fairpca.solvers.manifold.frames import Grassmann
from fairpca.solvers.mbf._preconditioner import GaussNewton
from fairpca.solvers.mbf._problem import Evaluation, MBFProblem

__all__ = ["minimise", "minimise_mmd"]

_FEW, _MANY, _LARGE_RHO = 64, 256, 100.0  # frequencies of the preconditioner, and the penalty from which more pay
_REFRESH = 25  # accepted steps between two factorisations of the preconditioner


def _pymanopt_problem(
    problem: MBFProblem, manifold: Any, weight: float, rho: float, bend: float, target: float, preconditioner: Any
) -> Any:
    """Return the cost of :func:`minimise` for pymanopt; value and gradient share one kernel call."""

    def force(h: float) -> float:
        return max(rho + bend * (h - target), 0.0)

    @pymanopt.function.numpy(manifold)
    def cost(V: np.ndarray) -> float:
        e = problem.evaluate(V)
        fairness = rho * e.h if bend == 0 else 0.5 * (force(e.h) ** 2 - rho**2) / bend
        return fairness - weight * e.variance

    @pymanopt.function.numpy(manifold)
    def gradient(V: np.ndarray) -> np.ndarray:
        e = problem.evaluate(V)
        return force(e.h) * e.h_slope - weight * e.variance_slope

    return pymanopt.Problem(manifold, cost, euclidean_gradient=gradient, preconditioner=preconditioner)


def minimise(
    problem: MBFProblem,
    V: np.ndarray,
    rho: float,
    *,
    tol: float | None = None,
    max_steps: int = 200,
    gauss_newton: bool = True,
    weight: float = 1.0,
    bend: float = 0.0,
    target: float = 0.0,
    enough: float = 0.0,
) -> Evaluation:
    """Minimise ``weight * f + rho * h`` or an augmented Lagrangian from V by L-RBFGS; return the last point.

    Parameters
    ----------
    problem : MBFProblem
        Supplies f, h and their gradients, and keeps the record.
    V : ndarray of shape (q, d)
        Start.
    rho : float
        Penalty ρ.
    tol : float, optional
        Norm of the gradient at which to stop; by default the problem's own times the larger of 1 and √ρ.
    max_steps : int
        Cap on the accepted steps.
    gauss_newton : bool
        Whether to precondition.
    weight : float
        Factor of f; 0 minimises the MMD alone.
    bend, target : float
        With a positive `bend`, ``rho * h`` gives way to ``(max(rho + bend * (h - target), 0)² - rho²) / (2 bend)``,
        the augmented Lagrangian of the *inequality* h <= target with multiplier `rho`: it never rewards a larger h.
    enough : float
        Value of h at which to stop.

    Returns
    -------
    Evaluation
        Values at the last point.
    """
    manifold = Grassmann(*V.shape)
    if V.shape[0] == V.shape[1]:
        return problem.evaluate(V)  # the whole space is a single point of the Grassmannian
    n_features = _MANY if rho >= _LARGE_RHO and V.shape[1] > 2 else _FEW
    preconditioner = GaussNewton(problem, rho, V.shape[1], n_features) if gauss_newton else None

    def accepted(iteration: int, point: np.ndarray, cost: float, norm: float) -> bool:
        problem.spend()
        if preconditioner is not None and iteration % _REFRESH == 0:
            preconditioner.refresh(point)
        return enough > 0 and problem.evaluate(point).h <= enough

    optimizer = RiemannianBFGS(
        memory=25,
        flat_memory=True,
        max_stalled=6,
        min_decrease=1e-11,
        callback=accepted,
        verbosity=0,
        max_iterations=max_steps,
        min_gradient_norm=problem.tol * max(1.0, np.sqrt(rho)) if tol is None else tol,
        max_cost_evaluations=20 * max_steps,
        max_time=np.inf,
    )
    result = optimizer.run(
        _pymanopt_problem(problem, manifold, weight, rho, bend, target, preconditioner),
        initial_point=np.array(V, copy=True),
    )
    return problem.evaluate(result.point)


def minimise_mmd(problem: MBFProblem, V: np.ndarray) -> Evaluation:
    """Minimise h alone from V (scaled so that its value at V is one) until it meets the tolerance."""
    start = problem.evaluate(V)
    if start.h <= problem.tau:
        return start
    return minimise(problem, V, 1.0 / start.h, weight=0.0, enough=problem.tau, max_steps=300, tol=1e-7)

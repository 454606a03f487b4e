"""One penalised subproblem, min f(V) + ρ h(V) over the Grassmannian, Eq. (9) of Lee et al."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymanopt
from pymanopt.manifolds import Grassmann

from fairpca.solvers.manifold.bfgs import RiemannianBFGS
from fairpca.solvers.mbf._preconditioner import GaussNewton
from fairpca.solvers.mbf._problem import Evaluation, MBFProblem

__all__ = ["minimise", "minimise_mmd"]

_FEW, _MANY, _LARGE_RHO = 64, 256, 100.0  # frequencies of the preconditioner, and the penalty from which more pay
_REFRESH = 25  # accepted steps between two factorisations of the preconditioner


def _pymanopt_problem(
    problem: MBFProblem, manifold: Any, weight: float, rho: float, bend: float, target: float, preconditioner: Any
) -> Any:
    """Return weight * f + rho * h + bend / 2 * (h - target)² for pymanopt; value and gradient share one kernel call."""

    @pymanopt.function.numpy(manifold)
    def cost(V: np.ndarray) -> float:
        e = problem.evaluate(V)
        return rho * e.h + 0.5 * bend * (e.h - target) ** 2 - weight * e.variance

    @pymanopt.function.numpy(manifold)
    def gradient(V: np.ndarray) -> np.ndarray:
        e = problem.evaluate(V)
        return (rho + bend * (e.h - target)) * e.h_slope - weight * e.variance_slope

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
) -> Evaluation:
    """Minimise ``weight * f + rho * h + bend / 2 * (h - target)²`` from V by L-RBFGS; return the last point.

    Parameters
    ----------
    problem : MBFProblem
        Supplies f, h and their gradients, and keeps the record.
    V : ndarray of shape (q, d)
        Start.
    rho : float
        Penalty ρ.
    tol : float, optional
        Norm of the gradient, divided by the larger of 1 and the square root of ρ, at which to stop
        (the problem's own by default).
    max_steps : int
        Cap on the accepted steps.
    gauss_newton : bool
        Whether to precondition.
    weight : float
        Factor of f; 0 minimises the MMD alone.
    bend, target : float
        Quadratic term of an augmented Lagrangian; 0 for the plain penalty.
    """
    manifold = Grassmann(*V.shape)
    if V.shape[0] == V.shape[1]:
        return problem.evaluate(V)  # the whole space is a single point of the Grassmannian
    n_features = _MANY if rho >= _LARGE_RHO and V.shape[1] > 2 else _FEW
    preconditioner = GaussNewton(problem, rho, V.shape[1], n_features) if gauss_newton else None

    def accepted(iteration: int, point: np.ndarray, cost: float, norm: float) -> None:
        problem.spend()
        if preconditioner is not None and iteration % _REFRESH == 0:
            preconditioner.refresh(point)

    optimizer = RiemannianBFGS(
        memory=25,
        flat_memory=True,
        max_stalled=6,
        min_decrease=1e-11,
        callback=accepted,
        verbosity=0,
        max_iterations=max_steps,
        min_gradient_norm=(problem.tol if tol is None else tol) * max(1.0, np.sqrt(rho)),
        max_cost_evaluations=20 * max_steps,
        max_time=np.inf,
    )
    result = optimizer.run(
        _pymanopt_problem(problem, manifold, weight, rho, bend, target, preconditioner),
        initial_point=np.array(V, copy=True),
    )
    return problem.evaluate(result.point)


def minimise_mmd(problem: MBFProblem, V: np.ndarray, max_steps: int = 300) -> Evaluation:
    """Minimise h alone from V (scaled so that the starting value is one)."""
    start = problem.evaluate(V)
    return minimise(problem, V, 1.0 / max(start.h, 1e-300), weight=0.0, max_steps=max_steps, tol=1e-7)

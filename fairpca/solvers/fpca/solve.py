"""Solve one instance of FPCA: choose the method, certify, round, report."""

from __future__ import annotations

from time import perf_counter
from typing import Any, Literal, get_args

import numpy as np

from fairpca._validation import check_choice, check_number
from fairpca.solvers.fpca._rounding import Rounded, describe, meet_mean_constraint, projector, round_to_subspace
from fairpca.solvers.fpca.cvxpy import Backend, Form, solve_fpca_cvxpy
from fairpca.solvers.fpca.mean import solve_mean_only
from fairpca.solvers.fpca.problem import FPCAProblem
from fairpca.solvers.fpca.splitting import solve_splitting
from fairpca.solvers.result import SolverResult, consistent_bound

__all__ = ["FPCARounding", "FPCASolver", "solve_fpca"]

FPCARounding = Literal["plain", "fair"]
FPCASolver = Literal["splitting", "cvxpy"]
_FEASIBLE = float(np.finfo(float).eps) ** 0.5  # worth of a mean constraint that P meets up to rounding: its root
_ROUNDING = 1e-13  # of the variance: a gap below it is no gap where next to nothing can be kept


def solve_fpca(
    problem: FPCAProblem,
    *,
    solver: FPCASolver = "splitting",
    tol: float = 1e-7,
    max_iter: int = 5000,
    time_limit: float | None = None,
    tie_tol: float = 1e-6,
    rounding: FPCARounding = "plain",
    backend: Backend = "clarabel",
    form: Form = "rotated",
) -> SolverResult:
    """Solve the semidefinite program of FPCA and round its solution to a subspace.

    The problem is (14) of Lee et al. (2022) or one of its two variants; see
    :class:`~fairpca.solvers.fpca.problem.FPCAProblem`. It is a maximisation: `objective` is its value at the
    relaxed solution P (not at V), and `bound` of the result is the proven *upper* bound.

    Parameters
    ----------
    problem : FPCAProblem
        From :func:`~fairpca.solvers.fpca.problem.fpca_problem`.
    solver : {"splitting", "cvxpy"}, default="splitting"
        The package's own solver, or the program handed to CVXPY as a referee.
    tol : float, default=1e-7
        Certified gap relative to max(|objective|, |bound|, <S, P>); ``status`` is ``"optimal"`` only if it is met, or
        the gap is rounding of the variance.
    max_iter : int, default=5000
        Iterations of the splitting.
    time_limit : float, optional
        Seconds after which the splitting begins no further iterations; the best point and bound so far are returned.
    tie_tol : float, default=1e-6
        Eigenvalues of P this close to the d-th count as tied with it; the tie goes to explained variance.
    rounding : {"plain", "fair"}, default="plain"
        ``"plain"``: eigenvectors of P, as published, which for δ > 0 may violate the mean constraint.
        ``"fair"``: the V closest to that which meets it.
    backend : {"clarabel", "scs"}, default="clarabel"
        Used by ``solver="cvxpy"``.
    form : {"printed", "rotated"}, default="rotated"
        Used by ``solver="cvxpy"``: as printed, or after the exact reduction.

    Returns
    -------
    SolverResult
        `extra` holds ``P, spectrum, rank, eigengap, tied, well_defined, t, mean_gap`` (‖V'f‖), ``covariance_gap``
        (‖V'QV‖), ``spread`` (λ_max − λ_min of V'QV), ``kept`` (<S, VV'>), ``kappa``, ``relative_gap``, ``method``. From
        the splitting also ``dual``, which proves the bound: the arguments of
        :func:`~fairpca.solvers.fpca.upper_bound` after the problem.
    """
    check_choice("solver", solver, get_args(FPCASolver))
    check_choice("rounding", rounding, get_args(FPCARounding))
    check_number("tol", tol, low=0.0, low_open=True)
    check_number("max_iter", max_iter, low=1, integer=True)
    check_number("tie_tol", tie_tol, low=0.0)
    if time_limit is not None:
        check_number("time_limit", time_limit, low=0.0, low_open=True)
    start = perf_counter()
    more: dict[str, Any] = {}
    V: np.ndarray | None = None
    history: dict[str, np.ndarray] = {}
    if solver == "cvxpy":
        referee = solve_fpca_cvxpy(problem, backend=backend, form=form)
        P, lower, upper, n_iter, method = referee.P, referee.objective, referee.upper, referee.n_iter, "cvxpy"
        more["solver_status"] = referee.status
    else:
        special = _special_case(problem)
        if special is not None:
            P, lower, upper, n_iter, method, V = special
        else:
            deadline = np.inf if time_limit is None else start + time_limit
            outcome = solve_splitting(problem, tol=tol, max_iter=int(max_iter), deadline=deadline)
            if outcome.relative_gap > tol and outcome.n_iter < max_iter:
                more["message"] = "stopped at its time limit; raise time_limit"
            P, lower, upper, n_iter, method = outcome.P, outcome.lower, outcome.upper, outcome.n_iter, "splitting"
            history, more["dual"] = outcome.history, outcome.dual
    upper += problem.elimination_error
    rounded = round_to_subspace(P, problem.S, problem.n_components, tie_tol=tie_tol) if V is None else projector(V)
    if rounding == "fair" and _exceeds_level(problem, rounded.V):
        V = meet_mean_constraint(P, problem.f, problem.n_components, problem.mean_level)
        rounded = Rounded(V, rounded.spectrum, rounded.eigengap, rounded.tied)
    size = float(np.trace(problem.S)) + problem.mu * (problem.c1 + problem.c2)
    upper = -consistent_bound(-lower, -upper, _FEASIBLE * size)
    gap = upper - lower
    scale = max(abs(upper), abs(lower), abs(float(np.vdot(problem.S, P))))
    relative = gap / scale if scale > 0 else gap
    extra = describe(problem, P, rounded) | {
        "kappa": problem.kappa,
        "relative_gap": relative,
        "method": method,
        **more,
    }
    certified = bool(relative <= tol or gap <= _ROUNDING * float(np.trace(problem.S)))
    return SolverResult(
        rounded.V,
        "optimal" if certified else ("converged" if solver == "cvxpy" else "max_iter"),
        lower,
        bound=upper,
        sense="max",
        certificate="proof",
        n_iter=n_iter,
        seconds=perf_counter() - start,
        history=history,
        extra=extra,
    )


def _exceeds_level(problem: FPCAProblem, V: np.ndarray) -> bool:
    quadratic = problem.constrains_mean and problem.mean_form == "quadratic"
    return bool(quadratic and np.linalg.norm(V.T @ problem.f) ** 2 > problem.mean_level)


def _special_case(
    problem: FPCAProblem,
) -> tuple[np.ndarray, float, float, int, str, np.ndarray | None] | None:
    """Return (P, objective, bound, iterations, method, V with P = VV' if known) where no iteration is needed."""
    p, d = problem.n_features, problem.n_components
    room = p - 1 if problem.eliminates_mean else p
    if problem.trace == "equal" and d == room:
        P = np.eye(p)
        if d < p:
            P -= np.multiply.outer(problem.f, problem.f) / (problem.f @ problem.f)
        value = problem.objective(P)
        return P, value, value, 0, "only feasible point", None
    penalised = problem.mu * (problem.c1 + problem.c2) > 1e-14 * np.abs(problem.S).max()
    dual_block = problem.constrains_mean and problem.mean_form == "operator" and not problem.eliminates_mean
    if penalised or dual_block:
        return None
    level = problem.mean_level if problem.constrains_mean else 0.0
    solution = solve_mean_only(problem.S, problem.f, d, level=level)
    P = solution.V @ solution.V.T
    # The bound leaves the penalty out, so it is valid whatever is left of it.
    return P, problem.objective(P), solution.upper, solution.n_iter, "mean only", solution.V

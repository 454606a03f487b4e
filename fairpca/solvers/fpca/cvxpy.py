"""The semidefinite programs of FPCA written out for CVXPY: the referee of the package's own solver."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from fairpca._validation import check_choice
from fairpca.linalg import project_fantope, symmetrise
from fairpca.solvers.fpca.problem import FPCAProblem, Reduction
from fairpca.solvers.fpca.splitting import upper_bound

__all__ = ["Backend", "Form", "RefereeOutcome", "solve_fpca_cvxpy"]

Backend = Literal["clarabel", "scs"]
Form = Literal["printed", "rotated"]


@dataclass(frozen=True)
class RefereeOutcome:
    """What the third-party solver found.

    Attributes
    ----------
    P : ndarray of shape (p, p)
        Its solution, moved to the feasible set exactly (solvers leave residues of their tolerance).
    objective : float
        Value at that P.
    upper : float
        Bound proven from its dual solution; ``nan`` for the printed form, whose multiplier of <ff', P> = 0 need not
        exist.
    value : float
        Optimal value as the solver itself reports it.
    status : str
        As the solver reports it.
    n_iter : int
    """

    P: np.ndarray
    objective: float
    upper: float
    value: float
    status: str
    n_iter: int


def solve_fpca_cvxpy(
    problem: FPCAProblem,
    *,
    backend: Backend = "clarabel",
    form: Form = "rotated",
    **options: Any,
) -> RefereeOutcome:
    """Solve `problem` with Clarabel or SCS through CVXPY.

    Parameters
    ----------
    problem : FPCAProblem
        Its ``penalty`` and ``mean_form`` say which of the published programs is meant.
    backend : {"clarabel", "scs"}
    form : {"printed", "rotated"}
        ``"printed"``: (14) of Lee et al. (2022) as it stands, or the program in the code of Lee et al. (two slack
        variables), or that of Olfat & Aswani and Vu et al. (matrix inequalities with an inverse, and a third one for
        the mean). ``"rotated"``: the same program after f is eliminated and the basis rotated to the eigenvectors
        of Q, without which both solvers fail or stall beyond about twenty features.
    **options
        Passed to the solver, for instance ``eps=1e-7`` for SCS.

    Returns
    -------
    RefereeOutcome
    """
    check_choice("backend", backend, get_args(Backend))
    check_choice("form", form, get_args(Form))
    try:
        import cvxpy as cp
    except ImportError as error:
        raise ImportError(
            "solver='cvxpy' needs CVXPY; install the extra fairpca[sdp], or use solver='splitting'."
        ) from error
    # P, and so V, is only as accurate as the square root of the gap; Clarabel's default of 1e-8 shows in V.
    tight = backend == "clarabel" and form == "rotated"
    defaults = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11} if tight else {}
    build = _printed if form == "printed" else _rotated
    program, P_of, dual_of = build(cp, problem)
    try:
        with warnings.catch_warnings():
            # The status says the same, and the certificate says how much it matters.
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            value = float(program.solve(solver=backend.upper(), **(defaults | options)))
    except cp.SolverError as error:
        raise RuntimeError(
            f"{backend} failed on the {form} form ({error}). Try form='rotated', backend='scs', or solver='splitting'."
        ) from error
    P = P_of()
    if P is None:
        raise RuntimeError(
            f"{backend} found no solution of the {form} form (status {program.status!r}). Try form='rotated' or "
            "solver='splitting'."
        )
    P = _feasible(problem, P)
    upper = float("nan") if dual_of is None else dual_of()
    stats = program.solver_stats
    value *= 1.0 if form == "printed" else problem.reduce().scale
    return RefereeOutcome(P, problem.objective(P), upper, value, str(program.status), int(stats.num_iters or 0))


def _psd_root(A: np.ndarray) -> np.ndarray:
    """Return a symmetric square root; A is singular by construction, so there is no Cholesky factor."""
    w, U = np.linalg.eigh(A)
    return (U * np.sqrt(np.clip(w, 0.0, None))) @ U.T


def _inverse(A: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(A)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "form='printed' of this variant holds the inverse of a matrix that is singular here (the groups' "
            "covariances are equal, or nearly so); use form='rotated', or solver='splitting'."
        ) from error


def _block(cp: Any, t: Any, MP: Any, p: int) -> Any:
    return cp.bmat([[t * np.eye(p), MP.T], [MP, np.eye(p)]])


def _trace(cp: Any, problem: FPCAProblem, P: Any) -> Any:
    d = problem.n_components
    return cp.trace(P) == d if problem.trace == "equal" else cp.trace(P) <= d


def _printed(cp: Any, problem: FPCAProblem) -> tuple[Any, Any, None]:
    p, eye = problem.n_features, np.eye(problem.n_features)
    P = cp.Variable((p, p), symmetric=True)
    constraints = [P >> 0, eye - P >> 0, _trace(cp, problem, P)]
    value = cp.trace(problem.S @ P)
    shifted = [problem.Q + problem.c1 * eye, problem.c2 * eye - problem.Q]
    if problem.mu > 0:
        if problem.mean_form == "operator":  # Olfat & Aswani's inequalities hold the inverse of the shifted matrix
            t = [cp.Variable(nonneg=True), cp.Variable(nonneg=True)]
            t0 = cp.Variable(nonneg=True)
            constraints += [cp.bmat([[ti * eye, P], [P, _inverse(A)]]) >> 0 for ti, A in zip(t, shifted, strict=True)]
            constraints += [ti <= t0 for ti in t]
            value = value - problem.mu * t0
        elif problem.penalty == "max":
            t0 = cp.Variable(nonneg=True)
            constraints += [_block(cp, t0, _psd_root(A) @ P, p) >> 0 for A in shifted]
            value = value - problem.mu * t0
        else:
            t = [cp.Variable(nonneg=True), cp.Variable(nonneg=True)]
            constraints += [_block(cp, ti, _psd_root(A) @ P, p) >> 0 for ti, A in zip(t, shifted, strict=True)]
            value = value - problem.mu * (t[0] + t[1])
    if problem.constrains_mean:
        F = np.multiply.outer(problem.f, problem.f)
        if problem.mean_form == "operator":
            s = cp.Variable(nonneg=True)
            constraints += [
                cp.bmat([[s * eye, (F @ P).T], [F @ P, s * eye]]) >> 0,
                s <= problem.mean_level,
            ]
        elif problem.mean_level == 0:
            constraints.append(cp.trace(F @ P) == 0)
        else:
            constraints.append(cp.trace(F @ P) <= problem.mean_level)
    return cp.Problem(cp.Maximize(value), constraints), lambda: P.value, None


def _rotated(cp: Any, problem: FPCAProblem) -> tuple[Any, Any, Any]:
    reduced: Reduction = problem.reduce()
    q = len(reduced.S)
    X = cp.Variable((q, q), symmetric=True)
    constraints = [X >> 0, np.eye(q) - X >> 0, _trace(cp, problem, X)]
    value = cp.trace(reduced.S @ X)
    blocks: list[Any] = []
    if reduced.kappa > 0:
        t = [cp.Variable(nonneg=True)] * 2 if problem.penalty == "max" else [cp.Variable(nonneg=True) for _ in "12"]
        roots = [np.diag(reduced.D1), np.diag(reduced.D2)]
        blocks = [_block(cp, ti, D @ X, q) >> 0 for ti, D in zip(t, roots, strict=True)]
        constraints += blocks
        value = value - reduced.kappa * (t[0] if problem.penalty == "max" else t[0] + t[1])
    mean: Any = None
    if reduced.fh is not None and reduced.bound < 1.0:
        if problem.mean_form == "quadratic":
            mean = reduced.fh @ X @ reduced.fh <= reduced.bound
        else:
            mean = cp.SOC(cp.Constant(reduced.bound), X @ reduced.fh)
        constraints.append(mean)

    def dual() -> float:
        # The block below the diagonal of each multiplier is −Y/2; signs depend on CVXPY's convention.
        corners = [np.asarray(block.dual_value)[q:, :q] for block in blocks] or [np.zeros((q, q))] * 2
        nu, y = 0.0, np.zeros(q)
        if mean is not None and problem.mean_form == "quadratic":
            nu = abs(float(np.squeeze(mean.dual_value)))
        elif mean is not None:
            y = np.ravel(mean.dual_value[1])
        return min(
            upper_bound(problem, a * corners[0], a * corners[1], nu, b * y) for a in (2.0, -2.0) for b in (1.0, -1.0)
        )

    def restored() -> np.ndarray | None:
        return None if X.value is None else reduced.restore(X.value)

    return cp.Problem(cp.Maximize(value), constraints), restored, dual


def _feasible(problem: FPCAProblem, P: np.ndarray) -> np.ndarray:
    """Return the nearest point that satisfies every constraint (the mean constraint by mixing)."""
    reduced = problem.reduce()
    d = problem.n_components
    X = symmetrise(reduced.B.T @ P @ reduced.B)
    w, U = np.linalg.eigh(X)
    inside = np.clip(w, 0.0, 1.0)
    X = (U * inside) @ U.T
    if problem.trace == "equal" or inside.sum() > d:
        X = project_fantope(X, d)
    return reduced.restore(reduced.meet_mean(X, d, problem.mean_form))

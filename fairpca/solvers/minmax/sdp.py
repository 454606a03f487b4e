"""Algorithm 1 of Samadi et al. (2018): semidefinite relaxation, then a linear programme that lowers the rank."""

from __future__ import annotations

import warnings
from contextlib import suppress
from time import perf_counter
from typing import Literal

import numpy as np

from fairpca._validation import check_choice, check_number
from fairpca.linalg import clip_to_trace, symmetrise, top_eigenpairs
from fairpca.solvers.minmax._problem import (
    Objective,
    affine_map,
    basis_kind,
    certified_status,
    check_problem,
    only_varying,
    oriented,
    references,
    refuse_nash,
    round_by_lp,
    solve_for_varying,
    trivial_result,
)
from fairpca.solvers.result import CONTRADICTION, SolverResult, consistent_bound
from fairpca.solvers.spectral.units import in_units, result_in_units, safe_unit

__all__ = ["solve_minmax_sdp"]

SDPRounding = Literal["lp", "none"]
_ACCURACY = 1e-6  # relative accuracy that an interior-point method gives safely
_SNAP = 1e-9  # rise of the loss, relative to the traces, at which fractional eigenvalues are made whole
_NEGLIGIBLE = 1e-7  # eigenvalues of P below this are its inaccuracy


def solve_minmax_sdp(
    moments: np.ndarray,
    n_components: int,
    *,
    objective: Objective = "loss",
    rounding: SDPRounding = "lp",
    tol: float = 1e-9,
    max_iter: int = 200,
) -> SolverResult:
    r"""Solve the relaxation (4) with CVXPY and Clarabel, and round it.

    .. math:: \min z \quad\text{s.t.}\quad z \ge \alpha_g - \langle C_g, P\rangle,\;
              \operatorname{tr} P \le d,\; 0 \preceq P \preceq I .

    With ``rounding="lp"`` the eigenvalues of P, its eigenvectors held fixed, are replaced by an extreme solution of
    the linear programme (5)-(9): at most two of them are fractional for two groups (Theorem 5.1, dimension at most
    d + 1), at most k for k groups (Theorem 5.2, at most d + k - 1). The loss does not rise. The map returned is the
    paper's affine projection, :math:`\lambda^* = 1 - \sqrt{1 - \bar\lambda}`.

    Parameters
    ----------
    moments : ndarray of shape (n_groups, p, p)
        Second moment of each group.
    n_components : int
        d.
    objective : {"loss", "error", "variance"}
        As in :func:`fairpca.solvers.minmax.solve_minmax`.
    rounding : {"lp", "none"}
        "none" keeps the eigenvalues of P, except those below 1e-7.
    tol : float
        Asked of the interior-point method; the status is "optimal" when the certified relative gap is at most this
        or 1e-6, whichever is larger, because such methods promise no more.
    max_iter : int
        Interior-point iterations.

    Returns
    -------
    SolverResult
        ``bound`` is the exact dual value at the programme's multipliers. ``extra``: ``eigenvalues`` and
        ``basis`` of the rounded P, ``vertex`` (its eigenvalues as the linear programme gives them, before fractions
        that only mirror the inaccuracy of P are made whole), ``relaxation`` (value at the unrounded P),
        ``extra_dimensions``, ``weights``, ``losses``, ``errors``, ``best_sums``.
    """
    started = perf_counter()
    moments, d = check_problem(moments, n_components, objective)
    refuse_nash(objective, "sdp")
    check_choice("rounding", rounding, ("lp", "none"))
    check_number("tol", tol, low=0, low_open=True)
    check_number("max_iter", max_iter, low=1, integer=True)
    p = moments.shape[1]
    if d == p:
        return trivial_result(moments, objective, perf_counter() - started)
    varying = only_varying(objective, moments)
    if varying is not None:

        def solve(some: np.ndarray) -> SolverResult:
            return solve_minmax_sdp(some, d, objective=objective, rounding=rounding, tol=tol, max_iter=max_iter)

        return solve_for_varying(moments, d, varying, solve)
    unit = safe_unit(np.trace(moments, axis1=1, axis2=2))
    moments = in_units(moments, unit)
    best = np.array([top_eigenpairs(C, d)[0].sum() for C in moments])
    traces = np.trace(moments, axis1=1, axis2=2)
    compared = references(objective, traces, best)
    scale = float(max(traces.max(), np.finfo(float).tiny))
    P, weights, n_iter = _relaxation(moments / scale, compared / scale, d, tol, max_iter)
    w, U = np.linalg.eigh(symmetrise(P))
    lam, U = clip_to_trace(w, d)[::-1], U[:, ::-1]  # feasible to the last digit
    sums = np.einsum("ij,gik,kj->gj", U, moments, U, optimize=True)
    relaxation = float((compared - sums @ lam).max())
    lam = round_by_lp(sums, compared, d) if rounding == "lp" else np.where(lam > _NEGLIGIBLE, lam, 0.0)
    vertex = lam
    if rounding == "lp":
        whole = np.zeros(p)
        whole[np.argsort(-lam, kind="stable")[:d]] = 1.0
        if (compared - sums @ whole).max() <= (compared - sums @ lam).max() + _SNAP * scale:
            lam = whole  # the fractions were no more than the inaccuracy of P
    order = np.argsort(-lam, kind="stable")
    order = order[lam[order] > 0]
    lam, U = lam[order], U[:, order]
    total = sums[:, order] @ lam
    value = float((compared - total).max())
    dual = float(weights @ compared - top_eigenpairs(np.tensordot(weights, moments, 1), d)[0].sum())
    bound = consistent_bound(value, dual, CONTRADICTION * scale)
    extra = {
        "weights": weights,
        "losses": best - total,
        "errors": traces - total,
        "variances": total,
        "best_sums": best,
        "eigenvalues": lam,
        "basis": U,
        "extra_dimensions": len(lam) - d,
        "relaxation": relaxation,
        "vertex": vertex,
    }
    result = SolverResult(
        affine_map(U, lam),
        certified_status(value, bound, max(tol, _ACCURACY), 1e-9 * scale),
        certificate="proof",
        basis=basis_kind(lam),
        n_iter=n_iter,
        seconds=perf_counter() - started,
        extra=extra,
        **oriented(objective, value, bound),
    )
    return result_in_units(result, unit)


def _relaxation(
    C: np.ndarray, references: np.ndarray, d: int, tol: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return P, the multipliers of the groups' constraints (they sum to one) and the iterations."""
    try:
        import cvxpy as cp
    except ImportError as missing:
        raise ImportError(
            "solver='sdp' needs CVXPY and Clarabel; install them with `pip install fairpca[sdp]`, or use "
            "solver='dual', which solves the same problem without them."
        ) from missing

    p = C.shape[1]
    P, z = cp.Variable((p, p), symmetric=True), cp.Variable()
    groups = [z >= a - cp.sum(cp.multiply(A, P)) for A, a in zip(C, references, strict=True)]
    problem = cp.Problem(cp.Minimize(z), [*groups, cp.trace(P) <= d, P >> 0, np.eye(p) - P >> 0])
    accuracy = max(min(tol, 1e-8), 1e-9)
    settings = {"tol_gap_abs": accuracy, "tol_gap_rel": accuracy, "tol_feas": accuracy, "max_iter": max_iter}
    with warnings.catch_warnings():
        # "Solution may be inaccurate": how accurate it is, the duality gap computed afterwards says.
        warnings.simplefilter("ignore", UserWarning)
        with suppress(cp.SolverError):  # the status says so
            problem.solve(solver=cp.CLARABEL, **settings)
    if P.value is None:
        raise RuntimeError(
            f"Clarabel ended with status {problem.status!r} and no solution; raise max_iter or use solver='dual'."
        )
    weights = np.maximum([float(np.ravel(c.dual_value)[0]) for c in groups], 0.0)
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(C), 1.0 / len(C))
    return P.value, weights, int(problem.solver_stats.num_iters or 0)

"""What all min-max solvers check, and how they judge a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal, get_args

import numpy as np

from fairpca._validation import check_choice, check_components, check_number
from fairpca.linalg import symmetrise, top_eigenpairs
from fairpca.solvers.result import SolverResult, Status

__all__ = [
    "ROUNDING",
    "Objective",
    "affine_map",
    "basis_kind",
    "certified_status",
    "check_problem",
    "criterion_value",
    "eigenvalues_of",
    "has_variance",
    "only_varying",
    "oriented",
    "references",
    "refuse_nash",
    "round_by_lp",
    "solve_for_varying",
    "trivial_result",
]

Objective = Literal["loss", "error", "variance", "nash"]

ROUNDING = 1e-14  # of a sum of eigenvalues, relative to the trace
_NO_VARIANCE = (64 * float(np.finfo(float).eps)) ** 2  # share of the largest trace that is rounding of a constant


def has_variance(traces: np.ndarray) -> np.ndarray:
    """Which groups vary at all: a constant group has the same geometric mean, zero, whatever is kept."""
    return traces > _NO_VARIANCE * traces.max()


def references(objective: str, traces: np.ndarray, best: np.ndarray) -> np.ndarray:
    """What the variances that groups keep are subtracted from: own optima, traces, or nothing."""
    return {"loss": best, "error": traces, "variance": np.zeros(len(traces))}[objective]


def criterion_value(objective: Objective, variances: np.ndarray, best: np.ndarray, traces: np.ndarray) -> float:
    """Return the value of a criterion where groups keep the given variances.

    Parameters
    ----------
    objective : {"loss", "error", "variance", "nash"}
        Largest loss or error (to be minimised); least variance or geometric mean of the variances of the groups that
        vary (to be maximised).
    variances : ndarray of shape (m,)
        What each group keeps, <C_g, P>.
    best, traces : ndarray of shape (m,)
        What each group could keep at most in as many dimensions, and has in all.

    Returns
    -------
    float
        For "variance" and "nash" 0 if no group varies.
    """
    check_choice("objective", objective, get_args(Objective))
    if objective in ("variance", "nash"):
        kept = np.maximum(variances[has_variance(traces)], 0.0)
        if objective == "variance" or kept.size == 0:
            return float(kept.min()) if kept.size else 0.0
        with np.errstate(divide="ignore"):
            return float(np.exp(np.log(kept).mean()))
    return float((references(objective, traces, best) - variances).max())


def oriented(objective: str, cost: float, bound: float) -> dict[str, Any]:
    """Turn a cost that was minimised, and its lower bound, into the criterion's value, bound and sense."""
    if objective == "variance":
        return {"objective": 0.0 - cost, "bound": 0.0 - bound, "sense": "max"}
    if objective == "nash":
        return {"objective": float(np.exp(-cost)), "bound": float(np.exp(-bound)), "sense": "max"}
    return {"objective": cost, "bound": bound, "sense": "min"}


def check_problem(moments: np.ndarray, n_components: int, objective: str) -> tuple[np.ndarray, int]:
    """Return the moments as float64 and the dimension, or raise with what is wrong."""
    moments = np.asarray(moments, dtype=np.float64)
    if moments.ndim != 3 or moments.shape[1] != moments.shape[2] or len(moments) < 2:
        raise ValueError(
            f"moments has shape {moments.shape}; it must be (n_groups, n_features, n_features) with two groups or more."
        )
    if not np.isfinite(moments.sum()):
        raise ValueError("moments contain NaN or infinite values; clean or impute the data first.")
    check_choice("objective", objective, get_args(Objective))
    return moments, check_components(n_components, moments.shape[1])


def refuse_nash(objective: str, solver: str) -> None:
    """Raise for a solver of linear programmes over the groups, which the geometric mean is not."""
    if objective == "nash":
        raise ValueError(f"solver={solver!r} minimises a largest loss and cannot do objective='nash'; use 'dual'.")


def certified_status(cost: float, bound: float, tol: float, floor: float, unit: float | None = None) -> Status:
    """Return ``"optimal"`` when the gap is at most `tol` of the cost (or `unit`) or at most `floor`, by rounding."""
    return "optimal" if cost - bound <= max(tol * (abs(cost) if unit is None else unit), floor) else "max_iter"


def deadline_of(time_limit: float | None, started: float) -> float:
    """Return the time of ``perf_counter`` at which a limit ends; an error if it is no positive number."""
    if time_limit is None:
        return np.inf
    check_number("time_limit", time_limit, low=0, low_open=True)
    return started + time_limit


def told_of_limit(result: SolverResult, deadline: float) -> SolverResult:
    """Say in a result that is not optimal that its time was over."""
    if result.status == "optimal" or perf_counter() <= deadline:
        return result
    return replace(result, extra={**result.extra, "message": "stopped at its time limit; raise time_limit"})


def trivial_result(moments: np.ndarray, objective: Objective = "loss", seconds: float = 0.0) -> SolverResult:
    """Return the solution for ``n_components == n_features``: everything is kept and nothing is lost."""
    m, p = moments.shape[:2]
    traces = np.trace(moments, axis1=1, axis2=2)
    value = criterion_value(objective, traces, traces, traces)
    extra = {
        "weights": np.full(m, 1.0 / m),
        "losses": np.zeros(m),
        "errors": np.zeros(m),
        "variances": traces,
        "best_sums": traces,
        "extra_dimensions": 0,
        "large_solves": 0,
    }
    return SolverResult(
        np.eye(p),
        "optimal",
        value,
        bound=value,
        sense="max" if objective in ("variance", "nash") else "min",
        certificate="proof",
        seconds=seconds,
        extra=extra,
    )


def only_varying(objective: str, moments: np.ndarray) -> np.ndarray | None:
    """Return the groups that the criterion looks at, or None where these are all."""
    if objective not in ("variance", "nash"):
        return None
    varying = np.flatnonzero(has_variance(np.trace(moments, axis1=1, axis2=2)))
    return None if len(varying) in (0, len(moments)) else varying


def solve_for_varying(
    moments: np.ndarray, d: int, varying: np.ndarray, solve: Callable[[np.ndarray], SolverResult]
) -> SolverResult:
    """Solve for some groups and report on all; a single one is taken twice, which changes nothing."""
    used = varying if len(varying) > 1 else np.repeat(varying, 2)
    result = solve(moments[used])
    U = result.extra.get("basis", result.V)
    lam = result.extra.get("eigenvalues", np.ones(U.shape[1]))
    kept = np.einsum("ij,gij,j->g", U, moments @ U, lam)
    best = np.array([top_eigenpairs(C, d)[0].sum() for C in moments])
    weights = np.zeros(len(moments))
    np.add.at(weights, used, result.extra["weights"])
    reported = {
        "weights": weights,
        "losses": best - kept,
        "errors": np.trace(moments, axis1=1, axis2=2) - kept,
        "variances": kept,
        "best_sums": best,
    }
    return replace(result, extra={**result.extra, **reported})


def affine_map(basis: np.ndarray, eigenvalues: np.ndarray) -> np.ndarray:
    r"""Return the map V of the paper's affine projection for ``P = sum_j lambda_j u_j u_j'``.

    The paper shrinks direction j by :math:`\lambda^*_j = 1 - \sqrt{1 - \lambda_j}` (Algorithm 1, step 5) and embeds
    x by the coordinates :math:`\sqrt{\lambda^*_j}\, u_j'x`. The columns of V are
    :math:`\sqrt{\lambda^*_j}\, u_j`, so that ``V'x`` is the embedding, ``VV'`` is :math:`P^*`, and the loss of
    ``x -> VV'x`` is :math:`\alpha_g - \langle C_g, P\rangle`, because :math:`2\lambda^* - \lambda^{*2} = \lambda`.
    Directions with eigenvalue one are kept as they are.
    """
    shrunk = 1.0 - np.sqrt(1.0 - np.clip(eigenvalues, 0.0, 1.0))
    return basis * np.sqrt(shrunk)


def basis_kind(eigenvalues: np.ndarray) -> Literal["orthonormal", "affine"]:
    """Say whether the affine map is a projection, so that its columns may be turned among themselves."""
    return "orthonormal" if np.all(1.0 - eigenvalues <= 1e-16) else "affine"


def eigenvalues_of(P: np.ndarray, tol: float = 1e-12) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues of P above `tol`, descending and at most one, and their eigenvectors."""
    w, U = np.linalg.eigh(symmetrise(P))
    keep = w > tol
    return np.clip(w[keep][::-1], 0.0, 1.0), U[:, keep][:, ::-1]


def round_by_lp(sums: np.ndarray, references: np.ndarray, n_components: int) -> np.ndarray:
    """Solve the linear programme (5)-(9) to an extreme point and return its eigenvalues.

    Parameters
    ----------
    sums : ndarray of shape (m, n)
        ``<C_g, u_j u_j'>`` for each group g and eigenvector j of P.
    references : ndarray of shape (m,)
        Constants of the groups' constraints.
    n_components : int
        Bound of the sum of the eigenvalues.

    Returns
    -------
    ndarray of shape (n,)
        At most m of them lie strictly between 0 and 1, because a vertex has as many tight constraints as variables
        (Theorems 5.1 and 5.2). A simplex method is used: an interior-point method would end inside a face.
    """
    from scipy.optimize import linprog

    m, n = sums.shape
    scale = max(float(np.abs(sums).max()), np.finfo(float).tiny)
    A = np.zeros((m + 1, n + 1))
    A[:m, :n] = -sums / scale
    A[:m, n] = -1.0
    A[m, :n] = 1.0
    b = np.append(-references / scale, float(n_components))
    cost = np.append(np.zeros(n), 1.0)
    bounds = [(0.0, 1.0)] * n + [(None, None)]
    fine = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    # HiGHS gives programmes up whose columns are equal but for rounding; with its own tolerances it solves them.
    for options in (fine, fine | {"presolve": False}, {}, {"presolve": False}):
        answer = linprog(cost, A_ub=A, b_ub=b, bounds=bounds, method="highs-ds", options=options)
        if answer.status == 0:
            break
    else:
        raise RuntimeError(f"the linear programme (5)-(9) was not solved: {answer.message}")
    lam = np.clip(answer.x[:n], 0.0, 1.0)
    lam = np.where(lam > 1.0 - 1e-9, 1.0, np.where(lam < 1e-9, 0.0, lam))
    inner = (lam > 0.0) & (lam < 1.0)
    lam[inner] -= max(lam.sum() - n_components, 0.0) / max(int(inner.sum()), 1)  # what the programme's tolerance allows
    return lam

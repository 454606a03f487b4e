"""Criteria of the variances themselves look at the groups that vary; the others can keep none and decide nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fairpca.linalg import top_eigenpairs
from fairpca.solvers.minmax._problem import has_variance
from fairpca.solvers.result import SolverResult

__all__ = ["only_varying", "solve_for_varying"]


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

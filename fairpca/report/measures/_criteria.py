"""Every method judged by every other method's objective, against a certified optimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np

from fairpca._moments import GroupMoments
from fairpca.linalg import top_eigenpairs
from fairpca.solvers.minmax import Objective, criterion_value, solve_minmax
from fairpca.solvers.rfpca import GroupObjective, ambiguity_radii, solve_rfpca

__all__ = ["Criterion", "certified_criteria"]

LAM, ALPHA = 0.5, 0.15  # of Vu et al.'s objective, the estimator's defaults


@dataclass(frozen=True)
class Criterion:
    """An objective to be minimised over projections, with the proven bound that nothing goes below.

    Attributes
    ----------
    value : callable
        ``value(P)`` for a projection P, in the units of variance.
    bound : float
        Lower bound on it in as many dimensions as are compared, proven by the solver.
    """

    value: Callable[[np.ndarray], float]
    bound: float


def certified_criteria(moments: GroupMoments, n_components: int) -> dict[str, Criterion]:
    """Return the objectives that the package solves with a proof, for rows with these moments."""
    d = n_components
    within, about_mean, whole = moments.second_moments("group"), moments.second_moments("overall"), moments.covariance()
    largest = float(np.trace(whole) - top_eigenpairs(whole, d)[0].sum())
    found = {"variance": Criterion(lambda P: float(_left(whole[None], P)[0]), largest)}
    traces = np.trace(within, axis1=1, axis2=2)
    best = np.array([top_eigenpairs(M, d)[0].sum() for M in within])
    for objective in get_args(Objective):
        result = solve_minmax(within, d, objective=objective)
        if result.certificate == "proof":
            sign = 1.0 if result.sense == "min" else -1.0

            def value(P: np.ndarray, objective: Objective = objective, sign: float = sign) -> float:
                return sign * criterion_value(objective, traces - _left(within, P), best, traces)

            found[objective if objective != "variance" else "least_variance"] = Criterion(value, sign * result.bound)
    if moments.n_groups == 2 and d < moments.n_features:
        eps = ambiguity_radii(ALPHA, moments.counts)
        robust = solve_rfpca(about_mean, moments.weights, d, LAM, eps)
        objective_of = GroupObjective(moments.weights, LAM, eps)
        if robust.certificate == "proof":
            found["rfpca"] = Criterion(lambda P: float(objective_of.values(_left(about_mean, P)).max()), robust.bound)
    return found


def _left(moments: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Return tr (I - P) M (I - P)' of each matrix."""
    left = np.eye(len(P)) - P
    return np.einsum("gij,ij->g", moments, left.T @ left)

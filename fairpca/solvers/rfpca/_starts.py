"""Planes from which the descent for three and more groups begins: exact solutions of simpler problems.

Every J is concave in the errors, so its tangents lie above it. Minimising the largest tangent over the Fantope is a
convex problem in P, of the kind that min-max fair PCA solves; where its solution is a projection, the objective falls,
by steps as long as the problem has them. Where it is not, its leading eigenvectors are a place to start from.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from fairpca.solvers.minmax import solve_fantope_minmax
from fairpca.solvers.rfpca.exact import solve_rfpca
from fairpca.solvers.rfpca.objective import GroupObjective, RFPCAVariant, reconstruction_errors

__all__ = ["pair_planes", "tangent_planes"]

_LARGEST = 150  # features up to which the convex problem is solved as a whole
_PAIRS = 20  # of groups whose tangents are taken, those with the largest values
_ROUNDS = 5  # of tangents
_EXACT_PAIRS = 6  # of groups whose two-group problem is solved


def tangent_planes(moments: np.ndarray, objective: GroupObjective, V: np.ndarray) -> Iterator[np.ndarray]:
    """Yield planes that minimise the largest tangent at the plane before, beginning with `V`, while that helps."""
    p, d = V.shape
    traces = np.trace(moments, axis1=1, axis2=2)
    errors = reconstruction_errors(moments, V)
    value = float(objective.values(errors).max())
    if p > _LARGEST or not moments.any():
        return
    for _ in range(_ROUNDS):
        J = objective.values(errors)
        used = np.argsort(-J, kind="stable")[:_PAIRS]
        slopes = objective.slopes(errors, 1e-14 * float(traces.max()), used)
        constants = J[used] + slopes @ (traces - errors)
        point, _steps = solve_fantope_minmax(np.tensordot(slopes, moments, axes=1), constants, d)
        V = point.ones
        if V.shape[1] < d:
            R = np.linalg.eigh(point.block)[1]
            V = np.concatenate((V, point.fractional @ R[:, ::-1][:, : d - V.shape[1]]), axis=1)
        yield V
        errors = reconstruction_errors(moments, V)
        before, value = value, float(objective.values(errors).max())
        if not value < before:
            return


def pair_planes(
    moments: np.ndarray,
    shares: np.ndarray,
    d: int,
    lam: float,
    eps: np.ndarray,
    variant: RFPCAVariant,
    errors: np.ndarray,
) -> Iterator[np.ndarray]:
    """Yield the exact solutions for two of the groups alone; of many groups those whose `errors` differ the most."""
    pairs = sorted(combinations(range(len(moments)), 2), key=lambda pair: -abs(errors[pair[0]] - errors[pair[1]]))
    for pair in pairs[:_EXACT_PAIRS]:
        both = list(pair)
        share = float(shares[both].sum())
        if moments[both].any():
            yield solve_rfpca(
                moments[both], shares[both] / share, d, lam / share, eps[both], variant=variant, certified=False
            ).V

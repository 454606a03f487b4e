"""RFPCA for any number of groups (Theorem B.2 of Vu et al. 2022) by majorise-minimise, with a lower bound.

With three groups or more the boundary of conv{s(V)} need not consist of planes, so unlike for two groups the plane
found is in general not certified; the bound says how far from optimal it can be at most.

*Bound.* Every J is a sum of concave functions of one s_b each, so on the box of possible errors it lies above its
chords; min over the Fantope of the largest chord is a convex problem in the errors alone, solved in its dual by
Kelley's method (each step is one eigen-decomposition and proves a bound).  A known plane then shrinks the box: errors
at which a chord exceeds its value cannot be optimal, and on a smaller box the chords are closer to the J.
*Descent.* Around V every J is replaced by its linearisation on the Grassmannian plus a quadratic; minimising the
largest of these majorants is a small quadratic programme over the simplex, whose step is accepted when the
objective falls.  The objective never increases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from time import perf_counter

import numpy as np
from scipy.optimize import nnls

from fairpca.linalg import orthonormal, top_eigenpairs
from fairpca.solvers.minmax import solve_fantope_minmax
from fairpca.solvers.result import CONTRADICTION, SolverResult, Status, consistent_bound
from fairpca.solvers.rfpca._relaxation import ChordRelaxation
from fairpca.solvers.rfpca.exact import solve_rfpca
from fairpca.solvers.rfpca.objective import (
    GroupObjective,
    RFPCAVariant,
    check_problem,
    penalty_used,
    reconstruction_errors,
    sizes,
)
from fairpca.solvers.rfpca.subgradient import random_starts
from fairpca.solvers.spectral import in_units, result_in_units, unit_of

__all__ = ["pair_planes", "solve_rfpca_groups", "tangent_planes"]

_ROUNDS = 6  # of shrinking the box of errors and bounding again
_RANDOM = 12  # planes to start from, the same ones every time
_TRIED, _KEPT = 40, 4  # starts that are tried with a few steps, and of these the best, with all
_FIRST_STEPS = 20
_NEAR = 100  # of the largest J whose linearisations a step takes; the others count when it is tried
_DROP = 1e-12  # relative size of a step below which the descent has arrived


def solve_rfpca_groups(
    moments: np.ndarray,
    shares: np.ndarray,
    n_components: int,
    lam: float,
    eps: np.ndarray,
    *,
    variant: RFPCAVariant = "corrected",
    tol: float = 1e-9,
    max_iter: int = 1000,
    starts: Iterable[np.ndarray] = (),
    time_limit: float | None = None,
) -> SolverResult:
    """Minimise Theorem B.2's objective over d-dimensional subspaces, locally, by majorise-minimise.

    Parameters
    ----------
    moments : ndarray of shape (m, p, p)
        Second moments of m >= 2 groups.
    shares, eps : ndarray of shape (m,)
        Group shares and radii.
    n_components : int
        Dimension d of the subspace, 1 <= d < p.
    lam : float
        Penalty on the largest gap, zero or larger.
    variant : {"corrected", "printed", "vu2022_code"}
        As for :func:`~fairpca.solvers.rfpca.solve_rfpca`; "vu2022_code" for two groups only.
    tol : float
        The descent stops when five steps in a row lower the objective by less than a hundredth of `tol` (relative).
    max_iter : int
        Steps of each descent.
    starts : iterable of ndarray of shape (p, d)
        Further planes to start from, besides ordinary PCA, the groups' own PCA, the planes met while bounding, the
        exact solutions for pairs of groups, those of the problem with tangents in the place of the J, and random ones.
    time_limit : float, optional
        Seconds after which every part of the search ends with what it has; the bound is proven even then.

    Returns
    -------
    SolverResult
        ``bound`` is proven; the status is "optimal" if it reaches the objective up to `tol`. Else, "converged" or
        "max_iter", optimality is not proved: the optimum may be lower, by at most `gap`.
        ``history["objective"]`` belongs to the best start;
        ``extra`` has the ``errors`` of the groups and the ``values`` of all J.
    """
    begin = perf_counter()
    moments, shares, eps = check_problem(moments, shares, n_components, lam, eps)
    unit = unit_of(sizes(moments, eps))
    moments, eps = in_units(moments, unit), in_units(eps, unit)
    d, lam = n_components, penalty_used(variant, moments, shares, eps, n_components, lam)
    objective = GroupObjective(shares, lam, eps, variant)

    def score(V: np.ndarray) -> float:
        return float(objective.values(reconstruction_errors(moments, V)).max())

    deadline = np.inf if time_limit is None else begin + time_limit
    relaxation = ChordRelaxation(moments, d, objective, deadline)
    relaxation.solve()
    ordinary = top_eigenpairs(np.tensordot(shares, moments, axes=1), d)[1]
    candidates = sorted(relaxation.planes, key=score, reverse=True) + [ordinary, *starts]
    known = reconstruction_errors(moments, ordinary)
    candidates += _until(deadline, pair_planes(moments, shares, d, lam, eps, variant, known))
    candidates += _until(deadline, tangent_planes(moments, objective, min(candidates, key=score)))
    candidates += list(random_starts(moments.shape[1], d, _RANDOM, 0))
    candidates = candidates[-_TRIED:]
    # A few steps from each show which basins are deep; many candidates lie in one.
    first = (_descend(moments, objective, V, tol, min(_FIRST_STEPS, max_iter))[0] for V in candidates)
    stepped = list(_until(deadline, first))
    candidates = stepped + candidates[len(stepped) :]
    scores = [score(V) for V in candidates]
    best: tuple[float, np.ndarray, list[float], bool] | None = None
    for index in np.argsort(scores, kind="stable")[:_KEPT]:
        if best is not None and perf_counter() > deadline:
            break
        V, history, arrived = _descend(moments, objective, candidates[index], tol, max_iter, deadline)
        if best is None or history[-1] < best[0]:
            best = (history[-1], V, history, arrived)
    assert best is not None
    value, V, history, arrived = best
    # Tangents at the end of the descent see over what stopped it.
    for trial in tangent_planes(moments, objective, V) if perf_counter() < deadline else ():
        if score(trial) < value:
            trial, further, arrived = _descend(moments, objective, trial, tol, max_iter, deadline)
            value, V, history = further[-1], trial, history + further
    for _ in range(_ROUNDS):
        if perf_counter() > deadline or value - relaxation.bound <= tol * abs(value) or not relaxation.tighten(value):
            break
        relaxation.planes.append(V)  # so that some mixture of planes lies in the box
        relaxation.solve()
    bound = relaxation.bound if moments.any() else value  # without any variance all planes are the same
    errors = reconstruction_errors(moments, V)
    size = (1.0 + 2.0 * lam) * float(((np.sqrt(np.trace(moments, axis1=1, axis2=2)) + np.sqrt(eps)) ** 2).sum())
    bound = consistent_bound(value, bound, CONTRADICTION * size)
    status: Status = "optimal" if value - bound <= tol * abs(value) else "converged" if arrived else "max_iter"
    result = SolverResult(
        V,
        status,
        value,
        bound=bound,
        certificate="proof",
        n_iter=len(history) - 1,
        seconds=perf_counter() - begin,
        history={"objective": np.array(history)},
        extra={"lam": lam, "errors": errors, "values": objective.values(errors)},
    )
    return result_in_units(result, unit)


def _until(deadline: float, planes: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield planes while there is time."""
    while perf_counter() < deadline and (plane := next(planes, None)) is not None:
        yield plane


def _descend(
    moments: np.ndarray,
    objective: GroupObjective,
    V: np.ndarray,
    tol: float,
    max_iter: int,
    deadline: float = np.inf,
) -> tuple[np.ndarray, list[float], bool]:
    """Run the majorise-minimise descent from V; return the plane, the objective's values and whether it arrived."""
    traces = np.trace(moments, axis1=1, axis2=2)
    floor = 1e-14 * traces
    errors = reconstruction_errors(moments, V)
    history = [float(objective.values(errors).max())]
    curvature = objective.largest_weight(np.linalg.norm(moments, axis=(1, 2)))
    if curvature == 0.0:  # nothing varies, or nothing counts
        return V, history, True
    small = 0
    for _ in range(max_iter):
        if perf_counter() > deadline:
            break
        J = objective.values(errors)
        images = moments @ V
        tangents = images - V @ (V.T @ images)  # descent directions of each s_b, up to the factor 2
        near = np.argsort(-J, kind="stable")[:_NEAR]
        near = np.sort(near[J.max() - J[near] <= 0.5 * abs(J.max())])
        slopes = objective.slopes(errors, floor.max(), near)
        G = 2 * np.tensordot(slopes, tangents, axes=1).reshape(len(near), -1)
        accepted = False
        while curvature < 1e30:
            weights = _simplex_qp(G @ G.T / curvature, J[near] - J.max())
            step = (weights @ G).reshape(V.shape) / curvature
            if np.linalg.norm(step) <= _DROP:
                return V, history, True
            trial = orthonormal(V + step)
            trial_errors = reconstruction_errors(moments, trial)
            value = float(objective.values(trial_errors).max())
            if value < history[-1]:
                accepted = True
                break
            curvature *= 2
        if not accepted:
            return V, history, True
        small = small + 1 if history[-1] - value <= 0.01 * tol * abs(value) else 0
        V, errors = trial, trial_errors
        history.append(value)
        curvature *= 0.6
        if small >= 5:
            return V, history, True
    return V, history, False


def _simplex_qp(Q: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Minimise w'Qw / 2 - f'w over the simplex, by non-negative least squares with the sum as a heavy row."""
    n = len(f)
    if n == 1:
        return np.ones(1)
    scale = max(float(np.trace(Q)) / n, float(np.abs(f).max()))
    if scale == 0.0:
        return np.full(n, 1 / n)
    root = np.linalg.cholesky(Q / scale + 1e-12 * np.eye(n)).T
    target = np.linalg.solve(root.T, f / scale)
    heavy = 1e4
    w, _ = nnls(np.vstack((root, heavy * np.ones(n))), np.append(target, heavy))
    return w / w.sum() if w.sum() > 0 else np.full(n, 1 / n)


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

"""Exact two-group RFPCA: the global minimum of Vu et al.'s problem (6a), with a proof of optimality.

The objective depends on V only through s = (s_0, s_1), and its minimum lies on the boundary of conv{s(V)}, all of
which is reached by top-d eigenspaces of t M_0 + (1 - t) M_1 (rotated inside tied spaces), with
t in [min(0, p_0 - lam), max(1, p_0 + lam)].  So the search is along one curve.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from time import perf_counter

import numpy as np

from fairpca.solvers.result import SolverResult, Status
from fairpca.solvers.rfpca._boundary import Boundary, PencilBoundary, Support, SupportPoint
from fairpca.solvers.rfpca._certificate import RadiusCertificate, certify, equalised, search_interval
from fairpca.solvers.rfpca.objective import RFPCAVariant, TwoGroupObjective, check_problem, penalty_used, sizes
from fairpca.solvers.spectral import in_units, result_in_units, safe_unit

__all__ = ["make_boundary", "solve_rfpca", "solve_rfpca_path"]

_IDLE = 20  # steps of the local search without a better point after which none will come
_EQUAL = 1e-13  # relative difference of J_0 and J_1 that counts as none
_DENSE_UP_TO = 150  # features; above it a shared basis is cheaper than full eigen-decompositions
_WHOLE_UP_TO = 1000  # features up to which a proof that fails in the basis is tried with whole decompositions
_SCOUTED_STEPS = 8  # of a search with rough points, which need not end at a root exactly
_UNIT = float(np.finfo(float).eps)


def make_boundary(moments: np.ndarray, n_components: int) -> Boundary:
    """Return the curve on which :func:`solve_rfpca` searches, for two groups' second moments.

    Its method ``at(t)`` gives the support point with normal (t, 1 - t): the planes of largest ``tr V'M_tV``.

    Parameters
    ----------
    moments : ndarray of shape (2, p, p)
        Second moments of the two groups.
    n_components : int
        Dimension d of the subspace, 1 <= d < p.

    Returns
    -------
    Boundary
        With whole decompositions up to 150 features, with a shared basis above.
    """
    kind = Boundary if moments.shape[1] <= _DENSE_UP_TO else PencilBoundary
    return kind(moments, n_components)


def solve_rfpca(
    moments: np.ndarray,
    shares: np.ndarray,
    n_components: int,
    lam: float,
    eps: np.ndarray,
    *,
    variant: RFPCAVariant = "corrected",
    tol: float = 1e-9,
    max_iter: int = 1000,
    certified: bool = True,
    boundary: Boundary | None = None,
) -> SolverResult:
    """Minimise max(J_0, J_1) over all d-dimensional subspaces (Vu et al., problem (6a)), exactly.

    Parameters
    ----------
    moments : ndarray of shape (2, p, p)
        Second moments of the two groups; they may be singular.
    shares : ndarray of shape (2,)
        Share of the rows in each group.
    n_components : int
        Dimension d of the subspace, 1 <= d < p.
    lam : float
        Penalty on the gap between the groups, zero or larger.
    eps : ndarray of shape (2,)
        Radii of the ambiguity set.
    variant : {"corrected", "printed", "vu2022_code"}
        The true worst case for every lam; formula (6c) as printed; or that with the published code's penalty
        (:func:`~fairpca.solvers.rfpca.published_lam`).
    tol : float
        Relative gap between objective and lower bound at which the solution is called optimal.
    max_iter : int
        Limit on the support points (eigen-decompositions) that the search may add, and again that the proof may add.
    certified : bool
        Whether to prove optimality; without it the lower bound is not computed and the status is at best "converged".
    boundary : Boundary, optional
        Support points of the same `moments` and `n_components` from an earlier call, to be reused and extended.

    Returns
    -------
    SolverResult
        ``V`` of shape (p, d), the value, the proven lower bound; ``extra`` has the weight ``t`` of M_0, the groups'
        ``errors`` (s_0, s_1) and ``values`` (J_0, J_1).
        ``n_iter`` counts the support points that this call computed.
        The status is "optimal" if the relative gap is at most `tol`, or the gap at most eight units of rounding of the
        objective at the groups' traces, below which values cannot be told apart; else "converged", or "max_iter".
        ``gap`` is what was proved in any case.

    Notes
    -----
    Above 150 features eigenvectors come from a shared basis and have a relative residual of 1e-7.
    That error enters the objective squared, and the lower bound with a proven allowance: a Cholesky factor or a
    Frobenius norm bounds what is outside the basis, so the bound rests on no estimate, only on floating-point
    arithmetic.
    Far from the optimum less accurate eigenvectors do; of them only the proven tangent is used.
    Up to 1000 features a proof that fails in the basis is tried with whole decompositions.
    """
    start = perf_counter()
    moments, shares, eps = check_problem(moments, shares, n_components, lam, eps)
    _check_two(moments)
    unit = safe_unit(sizes(moments, eps)) if boundary is None else 1.0
    moments, eps = in_units(moments, unit), in_units(eps, unit)
    lam = penalty_used(variant, moments, shares, eps, n_components, lam)
    boundary = make_boundary(moments, n_components) if boundary is None else boundary
    result = _solve(boundary, _objective(shares, lam, eps, variant), tol, max_iter, certified)
    return replace(result_in_units(result, unit), seconds=perf_counter() - start)


def _check_two(moments: np.ndarray) -> None:
    if len(moments) != 2:
        raise ValueError(
            f"the exact solver is for two groups; got {len(moments)}. Use solve_rfpca_groups or "
            "solve_rfpca_subgradient."
        )


def _objective(shares: np.ndarray, lam: float, eps: np.ndarray, variant: RFPCAVariant) -> TwoGroupObjective:
    return TwoGroupObjective((float(shares[0]), float(shares[1])), float(lam), (float(eps[0]), float(eps[1])), variant)


def _solve(
    boundary: Boundary, objective: TwoGroupObjective, tol: float, max_iter: int, certified: bool
) -> SolverResult:
    start = perf_counter()
    before = boundary.evaluations
    begin = _starting_weight(boundary, objective)
    if isinstance(boundary, PencilBoundary):
        steps = min(max_iter, _SCOUTED_STEPS)
        begin = boundary.scout(begin, lambda t: _local_search(boundary, objective, t, steps).t)
    best = _local_search(boundary, objective, begin, max_iter)
    value, bound = objective.value(best.s0, best.s1), float("nan")
    status: Status = "converged"
    if certified:
        ground = 8 * _UNIT * objective.value(*boundary.traces)

        def proved(proof: RadiusCertificate) -> bool:
            return proof.objective - proof.bound <= max(tol * proof.objective, ground)

        proof = _prove(boundary, objective, best, tol, max_iter)
        if not proved(proof) and boundary.sharpen():
            proof = _prove(boundary, objective, proof.best, tol, max_iter)
        if not proved(proof) and isinstance(boundary, PencilBoundary) and boundary.p <= _WHOLE_UP_TO:
            # Ties of many eigenvalues, or errors of zero: the basis cannot show them, whole decompositions can.
            again = _solve(boundary.whole, objective, tol, max_iter, certified)
            evaluations = boundary.evaluations - before + again.n_iter
            return replace(again, n_iter=evaluations, seconds=perf_counter() - start)
        best, value, bound = proof.best, proof.objective, proof.bound
        if proved(proof):
            status = "optimal"
        elif boundary.evaluations - before >= max_iter:
            status = "max_iter"
    return SolverResult(
        best.V,
        status,
        value,
        bound=bound,
        certificate="proof",
        n_iter=boundary.evaluations - before,
        seconds=perf_counter() - start,
        extra={
            "t": best.t,
            "lam": objective.lam,
            "errors": np.array([best.s0, best.s1]),
            "values": np.array(objective.values(best.s0, best.s1)),
        },
    )


def _prove(
    boundary: Boundary, objective: TwoGroupObjective, best: SupportPoint, tol: float, max_iter: int
) -> RadiusCertificate:
    """Run the certificate; far from the optimum rough support points will do."""

    def polish(t: float) -> SupportPoint:
        boundary.coarse = False
        found = _local_search(boundary, objective, t, max_iter)
        boundary.coarse = True
        return found

    boundary.coarse = True
    proof = certify(boundary, objective, best, tol=tol, max_evaluations=max_iter, polish=polish)
    boundary.coarse = False
    return proof


def solve_rfpca_path(
    moments: np.ndarray,
    shares: np.ndarray,
    n_components: int,
    settings: Iterable[tuple[float, np.ndarray]],
    *,
    variant: RFPCAVariant = "corrected",
    tol: float = 1e-9,
    max_iter: int = 1000,
    certified: bool = True,
) -> list[SolverResult]:
    """Solve for every ``(lam, eps)`` of `settings`, all on one curve of support points.

    The curve does not depend on penalty or radii, so later settings start from all that earlier ones computed.

    Parameters
    ----------
    moments, shares, n_components, variant, tol, certified
        As in :func:`solve_rfpca`.
    settings : iterable of (float, ndarray of shape (2,))
        Pairs ``(lam, eps)`` of a penalty and the groups' radii.
    max_iter : int
        As in :func:`solve_rfpca`, for each setting.

    Returns
    -------
    list of SolverResult
        In the order of `settings`.
    """
    settings = list(settings)
    if not settings:
        return []
    moments, _, _ = check_problem(moments, shares, n_components, *settings[0])
    _check_two(moments)
    unit = safe_unit(sizes(moments, np.max([eps for _, eps in settings], axis=0)))
    moments = in_units(moments, unit)
    objectives = []
    for lam, eps in settings:
        eps = in_units(eps, unit)
        _, shares, eps = check_problem(moments[:, :2, :2], shares, 1, lam, eps)  # the moments once, the rest for each
        lam = penalty_used(variant, moments, shares, eps, n_components, lam)
        objectives.append(_objective(shares, lam, eps, variant))
    boundary = make_boundary(moments, n_components)
    if certified:  # the widest interval once, instead of two new ends for every lam
        boundary.coarse = True
        for t in search_interval(max(objectives, key=lambda objective: objective.lam)):
            boundary.at(t)
        boundary.coarse = False
    results = [_solve(boundary, objective, tol, max_iter, certified) for objective in objectives]
    return [result_in_units(result, unit) for result in results]


def _starting_weight(boundary: Boundary, objective: TwoGroupObjective) -> float:
    """Return the weight of the best plane known so far, or that of ordinary PCA."""
    low, high = search_interval(objective)
    known = [support for support in boundary.supports.values() if low <= support.t <= high]
    if not known:
        return objective.shares[0]
    return min(known, key=lambda s: min(objective.value(e.s0, e.s1) for e in (s.left, s.right))).t


def _known_between(boundary: Boundary, one: float, other: float) -> Support | None:
    """Return the known support nearest to `one` on the way to `other`."""
    low, high = min(one, other), max(one, other)
    between = [support for support in boundary.usable() if low < support.t < high]
    return min(between, key=lambda support: abs(support.t - one)) if between else None


def _difference(objective: TwoGroupObjective, point: SupportPoint) -> float:
    J0, J1 = objective.values(point.s0, point.s1)
    return J0 - J1


def _local_search(boundary: Boundary, objective: TwoGroupObjective, t: float, max_iter: int) -> SupportPoint:
    """Follow the active J's tangent weights to a fixed point, or to where J_0 = J_1 once the active one changes.

    The step t <- tau_a(s(t)) never increases J_a, because the concave J_a lies below its tangent and the new
    point minimises that tangent; two steps with the same a are extrapolated by the secant.
    """
    low, high = search_interval(objective)
    t = min(max(t, low), high)
    support = boundary.at(t)
    best = _better(objective, support)
    last: tuple[int, float, float] | None = None  # active index, t, t - tau
    idle = 0
    for _ in range(max_iter):
        if support.tied and _changes(objective, support.left, support.right):
            return _best_of(objective, best, equalised(boundary, objective, support.left, support.right))
        point = _better(objective, support)
        if _balanced(objective, point):
            return _best_of(objective, best, point)
        active = 0 if objective.lam == 0 or _difference(objective, point) >= 0 else 1
        tau = min(max(objective.support(active, point.s0, point.s1), low), high)
        miss = t - tau
        if abs(miss) <= 1e-10 * max(1.0, abs(t)):
            return best
        step = tau
        if last is not None and last[0] == active and last[2] != miss:
            secant = t - miss * (t - last[1]) / (miss - last[2])
            if abs(secant - tau) < 0.5 * abs(miss) and low <= secant <= high:
                step = secant
        last = (active, t, miss)
        following = _known_between(boundary, t, step)
        if following is None or not _arc_changes(objective, support, following):
            following = boundary.at(step)
        if _arc_changes(objective, support, following):
            root = _equalise(boundary, objective, support, following, max_iter)
            return _best_of(objective, best, root)
        candidate = _better(objective, following)
        if objective.value(candidate.s0, candidate.s1) < objective.value(best.s0, best.s1):
            best, idle = candidate, 0
        elif abs(step - t) <= 1e-9 * max(1.0, abs(t)):
            return best
        else:  # where errors are zero, the tangents' weights are rounding
            idle += 1
            if idle == _IDLE:
                return best
        t, support = step, following
    return best


def _better(objective: TwoGroupObjective, support: Support) -> SupportPoint:
    return _best_of(objective, support.left, support.right) if support.tied else support.left


def _best_of(objective: TwoGroupObjective, one: SupportPoint, other: SupportPoint) -> SupportPoint:
    return other if objective.value(other.s0, other.s1) < objective.value(one.s0, one.s1) else one


def _changes(objective: TwoGroupObjective, one: SupportPoint, other: SupportPoint) -> bool:
    return _difference(objective, one) * _difference(objective, other) < 0


def _balanced(objective: TwoGroupObjective, point: SupportPoint) -> bool:
    """Whether J_0 = J_1 and the weight lies between the two tangents', which makes the point stationary."""
    J0, J1 = objective.values(point.s0, point.s1)
    if objective.lam == 0 or abs(J0 - J1) > _EQUAL * abs(J0):
        return False
    return objective.support(1, point.s0, point.s1) <= point.t <= objective.support(0, point.s0, point.s1)


def _arc_changes(objective: TwoGroupObjective, one: Support, other: Support) -> bool:
    """Whether the active J changes on the arc from `one` to `other`, so that there is a root to find."""
    ends = (one.right, other.left) if other.t > one.t else (one.left, other.right)
    return objective.lam > 0 and _changes(objective, *ends)


def _equalise(
    boundary: Boundary, objective: TwoGroupObjective, one: Support, other: Support, max_iter: int
) -> SupportPoint:
    """Find J_0 = J_1 between two supports: Newton with the known speed, else the chord's normal, else bisection.

    Where eigenvalues (nearly) cross, J_0 - J_1 jumps; the planes on both sides are then rotated into each other.
    """
    a, b = (one, other) if one.t < other.t else (other, one)
    sign = 1.0 if _difference(objective, a.right) > 0 else -1.0
    at_a, at_b = a.right, b.left
    current, before = (b, a) if other is b else (a, b)
    kind = 0
    for _ in range(max_iter):
        width = b.t - a.t
        if width <= 1e-11 * max(1.0, abs(a.t), abs(b.t)):
            break
        before, current = current, boundary.at(_trial(objective, a, b, current, before, kind))
        left, right = _difference(objective, current.left) * sign, _difference(objective, current.right) * sign
        if left > 0 > right:
            return equalised(boundary, objective, current.left, current.right)
        point = current.left
        J = objective.values(point.s0, point.s1)
        if abs(left) <= _EQUAL * abs(J[0]):
            return point
        size = abs(_difference(objective, before.left))
        if left > 0:
            a, at_a = current, current.right
        else:
            b, at_b = current, current.left
        good = abs(left) < 0.25 * size or b.t - a.t < 0.5 * width
        kind = 0 if good else (kind + 1) % 3
    return equalised(boundary, objective, at_a, at_b)


def _trial(
    objective: TwoGroupObjective,
    a: Support,
    b: Support,
    current: Support,
    before: Support,
    kind: int,
) -> float:
    """Return the next weight inside (a.t, b.t): by Newton or secant, the chord's normal, or the middle."""
    low, high = a.t, b.t
    t = 0.5 * (low + high)
    if kind == 0:
        point = current.left
        gap = _difference(objective, point)
        slope = np.nan
        if current.speed is not None:
            g0, g1 = objective.slopes(0, point.s0, point.s1), objective.slopes(1, point.s0, point.s1)
            slope = (g0[1] - g1[1]) * current.t - (g0[0] - g1[0]) * (1 - current.t)
            slope *= current.speed()
        elif current.t != before.t:
            slope = (gap - _difference(objective, before.left)) / (current.t - before.t)
        guess = current.t - gap / slope if slope != 0 else np.nan
        if not low < guess < high:
            one, other = _difference(objective, a.right), _difference(objective, b.left)
            guess = low + (high - low) * one / (one - other)
        if low < guess < high:
            t = float(guess)
    elif kind == 1:
        d0, d1 = b.left.s0 - a.right.s0, b.left.s1 - a.right.s1
        guess = d1 / (d1 - d0) if d0 != d1 else t
        if low < guess < high:
            t = guess
    return t

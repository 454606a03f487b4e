"""One direction at a time: each the best addition to those before it (after Matakos et al. 2025)."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from scipy.optimize import minimize

from fairpca._validation import check_number
from fairpca.linalg import orthonormal, top_eigenpairs
from fairpca.solvers.minmax._criteria import Criterion, GeometricMean, Small, WorstGroup
from fairpca.solvers.minmax._line_search import maximise_on_line
from fairpca.solvers.minmax._problem import (
    ROUNDING,
    Objective,
    certified_status,
    check_problem,
    deadline_of,
    has_variance,
    oriented,
    references,
    told_of_limit,
)
from fairpca.solvers.minmax.dual import TwoGroups, dense_limit
from fairpca.solvers.result import CONTRADICTION, SolverResult, consistent_bound
from fairpca.solvers.spectral.pencil import Pencil
from fairpca.solvers.spectral.units import in_units, result_in_units, safe_unit

__all__ = ["solve_minmax_nested"]

_NEIGHBOURS = 6  # directions beside the fractional ones in which a single one is looked for
_STARTS = 4  # of that search, beside the eigenvectors
_CARRIED = 20  # vectors with which the basis of the next direction begins


def solve_minmax_nested(
    moments: np.ndarray,
    n_components: int,
    *,
    objective: Objective = "loss",
    tol: float = 1e-9,
    time_limit: float | None = None,
) -> SolverResult:
    r"""Choose d orthonormal directions greedily: each optimises the criterion of all chosen so far.

    Given the first j - 1 directions, the j-th is a problem with one dimension in their orthogonal complement, solved
    as :func:`~fairpca.solvers.minmax.solve_minmax` does it: with N a basis of the complement and :math:`k_g` what is
    kept already, the groups keep :math:`k_g + x'N'C_gNx`. So every axis means something by itself, and leaving out
    the last ones leaves a solution. For the error this is the rule of Matakos et al. (2025).

    With two groups each direction is exact. With more, the relaxation may need several directions at once; then one
    direction is looked for in the space of its solution, and the status is "converged" where it does not reach the
    bound.

    Parameters
    ----------
    moments : ndarray of shape (n_groups, p, p)
        Second moment of each group.
    n_components : int
        d.
    objective : {"loss", "error", "variance", "nash"}
        As in :func:`~fairpca.solvers.minmax.solve_minmax`.
    tol : float
        Relative gap of every step for status "optimal".
    time_limit : float, optional
        Seconds after which the directions that are left are chosen with few steps each.

    Returns
    -------
    SolverResult
        ``V`` in the order of choice. ``objective`` is the criterion of all d directions, ``bound`` what no other last
        direction can beat; ``history`` has ``value`` and ``bound`` of every step.
    """
    started = perf_counter()
    moments, d = check_problem(moments, n_components, objective)
    check_number("tol", tol, low=0, low_open=True)
    deadline = deadline_of(time_limit, started)
    unit = safe_unit(np.trace(moments, axis1=1, axis2=2))
    moments = in_units(moments, unit)
    m, p = moments.shape[:2]
    traces = np.trace(moments, axis1=1, axis2=2)
    own = np.cumsum(np.linalg.eigvalsh(moments)[:, ::-1], axis=1)[:, :d]
    counted = has_variance(traces) if objective in ("variance", "nash") else np.ones(m, dtype=bool)
    if not counted.any():
        counted[:] = True
    if objective == "nash" and not has_variance(traces).any():
        objective = "variance"  # zero too, whatever is kept
    mean = objective == "nash"
    V, rest = np.empty((p, 0)), np.eye(p)
    kept, n_iter, status = np.zeros(m), 0, "optimal"
    steps: list[dict[str, float]] = []
    weights = np.full(m, 1.0 / m)
    wide = m == 2 and not mean and counted.all() and p > dense_limit(moments, 1)
    shared = _SharedBasis(moments, deadline) if wide else None
    for j in range(d):
        compared = references(objective, traces, own[:, j]) if not mean else np.zeros(m)
        criterion = GeometricMean() if mean else WorstGroup((compared - kept)[counted])
        if shared is not None and isinstance(criterion, WorstGroup):
            x, found, bound, n = shared.direction(criterion, tol)
            A, x = moments, x - V @ (V.T @ x)
            if np.linalg.norm(x) > 0.9:
                x /= np.linalg.norm(x)
                V = np.column_stack((V, x))
                shared.leave_out(x)
            else:  # nothing varies any more, so that the directions before are as good as others
                shared, rest = None, np.linalg.qr(V, mode="complete")[0][:, j:]
        if shared is None:
            # The trace of a projection on one direction is one, so what is kept already may stand on the diagonal.
            S = rest.T @ moments @ rest
            A = S[counted] + (kept[counted][:, None, None] * np.eye(p - j) if mean else 0.0)
            x, found, bound, n = _direction(A, criterion, deadline)
            V = np.column_stack((V, rest @ x))
            rest = rest @ _complement(x)
        n_iter += n
        weights = np.zeros(m)
        weights[counted] = found.weights / found.weights.sum()
        kept = np.einsum("pk,gpq,qk->g", V, moments, V, optimize=True)
        variances = np.einsum("i,gij,j->g", x, A, x)
        value = criterion.cost(variances)
        bound = consistent_bound(value, bound, CONTRADICTION * criterion.size(variances, traces[counted]))
        floor = ROUNDING if mean else ROUNDING * float(traces.max())
        step = certified_status(value, bound, tol, floor, criterion.unit(value))
        if step != "optimal":
            status = "max_iter" if status == "max_iter" or perf_counter() > deadline else "converged"
        found_here = oriented("nash" if mean else objective, value, bound)
        steps.append({name: found_here[name] for name in ("objective", "bound")})
    extra = {
        "weights": weights,
        "losses": own[:, d - 1] - kept,
        "errors": traces - kept,
        "variances": kept,
        "best_sums": own[:, d - 1],
        "extra_dimensions": 0,
    }
    result = SolverResult(
        V,
        status,  # type: ignore[arg-type]
        certificate="proof",
        basis="ordered",
        n_iter=n_iter,
        seconds=perf_counter() - started,
        history={
            "value": np.array([step["objective"] for step in steps]),
            "bound": np.array([step["bound"] for step in steps]),
        },
        extra=extra,
        **found_here,
    )
    return told_of_limit(result_in_units(result, unit), deadline)


class _SharedBasis(TwoGroups):
    """Two groups with many features: the next direction, in a basis that begins with what the last one left.

    Directions that are chosen become zero in the matrices, and others keep what they have.
    """

    def __init__(self, moments: np.ndarray, deadline: float) -> None:
        self._rest, self._deadline = moments.copy(), deadline
        super().__init__(self._pencil(None), "error", 100)
        self.pencil.refine([(0.5, 0.5)], 1, tol=1e-3)

    def _pencil(self, block: np.ndarray | None) -> Pencil:
        pencil = Pencil(self._rest, dense_limit=0, block=block)
        pencil.deadline = self._deadline
        return pencil

    def references(self, d: int) -> tuple[float, float]:
        return self._compared

    def direction(self, criterion: WorstGroup, tol: float) -> tuple[np.ndarray, Small, float, int]:
        """Return what :func:`_direction` does."""
        a = criterion.references
        self._compared = float(a[0]), float(a[1])
        optimum, bound = self.optimise(1, tol)
        self._weights = np.array([optimum.t, 1.0 - optimum.t])
        found = Small(None, optimum.sums, self._weights, self.pencil.n_small)  # type: ignore[arg-type]
        return self.pencil.lift(optimum.V)[:, 0], found, bound, self.pencil.n_small

    def leave_out(self, x: np.ndarray) -> None:
        """Make the unit vector `x` a null vector of both matrices."""
        S = self.pencil.combine(self._weights)
        block = self.pencil.lift(top_eigenpairs(S, min(_CARRIED, len(S)))[1])
        for M in self._rest:
            y = M @ x
            y -= 0.5 * (x @ y) * x
            M -= np.multiply.outer(x, y)
            M -= np.multiply.outer(y, x)
        self.pencil, self._version = self._pencil(block - np.multiply.outer(x, x @ block)), -1


def _direction(A: np.ndarray, criterion: Criterion, deadline: float) -> tuple[np.ndarray, Small, float, int]:
    """Return the best unit vector found, the relaxation's solution, its bound and the decompositions."""
    q = A.shape[1]
    if len(A) == 1 or q == 1:
        x = np.ones(1) if q == 1 else top_eigenpairs(A[0], 1)[1][:, 0]
        kept = np.einsum("i,gij,j->g", x, A, x)
        found = Small(None, kept, np.ones(len(A)), 1)  # type: ignore[arg-type]
        return x, found, criterion.cost(kept), 1
    if len(A) == 2 and isinstance(criterion, WorstGroup):
        a = criterion.references
        optimum = maximise_on_line(A[0], A[1], float(a[0]), float(a[1]), 1)
        found = Small(None, optimum.sums, np.array([optimum.t, 1.0 - optimum.t]), optimum.n_points)  # type: ignore[arg-type]
        return optimum.V[:, 0], found, optimum.phi, optimum.n_points
    found = criterion.solve(A, 1, None, deadline)
    point = found.point
    bound = criterion.dual(found.weights, float(np.linalg.eigvalsh(np.tensordot(found.weights, A, 1))[-1]))
    if point.fractional.shape[1] == 0:
        return point.ones[:, 0], found, bound, found.steps
    return _single(A, criterion, found, deadline), found, bound, found.steps


def _single(A: np.ndarray, criterion: Criterion, found: Small, deadline: float) -> np.ndarray:
    """Look for one direction near a fractional solution: eigenvectors and mixtures, each improved locally."""
    point = found.point
    p, R = np.linalg.eigh(point.block)
    space = np.column_stack((point.fractional @ R, point.zeros[:, :_NEIGHBOURS]))
    B = space.T @ A @ space
    size = float(np.abs(B).max()) or 1.0
    rng = np.random.default_rng(0)
    r = len(p)
    starts = [*np.eye(space.shape[1])[:r]]
    starts += [np.append(np.sqrt(p) * rng.choice((-1.0, 1.0), r), np.zeros(space.shape[1] - r)) for _ in range(_STARTS)]

    def cost(y: np.ndarray) -> float:
        return criterion.cost(np.einsum("i,gij,j->g", y, B, y))

    best = min(starts, key=cost)
    for start in starts:
        if perf_counter() > deadline:
            break
        y = _improved(B / size, criterion, start, size)
        if cost(y) < cost(best):
            best = y
    return orthonormal((space @ best)[:, None])[:, 0]


def _improved(B: np.ndarray, criterion: Criterion, y: np.ndarray, size: float) -> np.ndarray:
    """Sequential quadratic programming on the sphere, with the worst group as an extra variable."""
    sphere = {"type": "eq", "fun": lambda v: v[: len(y)] @ v[: len(y)] - 1.0}
    if isinstance(criterion, GeometricMean):

        def logarithms(v: np.ndarray) -> float:
            return -float(np.log(np.maximum(np.einsum("i,gij,j->g", v, B, v), 1e-300)).mean())

        found = minimize(logarithms, y, method="SLSQP", constraints=[sphere], options={"maxiter": 200}).x
    else:
        a = criterion.references / size

        def slack(v: np.ndarray) -> np.ndarray:
            return v[-1] - a + np.einsum("i,gij,j->g", v[:-1], B, v[:-1])

        start = np.append(y, -slack(np.append(y, 0.0)).min())
        below = {"type": "ineq", "fun": slack}
        options = {"maxiter": 200, "ftol": 1e-14}
        found = minimize(
            lambda v: v[-1], start, method="SLSQP", constraints=[sphere, below], options=options, jac=_last
        ).x[:-1]
    length = float(np.linalg.norm(found))
    return found / length if np.isfinite(length) and length > 0 else y


def _last(v: np.ndarray) -> np.ndarray:
    return np.append(np.zeros(len(v) - 1), 1.0)


def _complement(x: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of what is orthogonal to the unit vector `x`."""
    return np.linalg.qr(x[:, None], mode="complete")[0][:, 1:]

"""The default schedule for MBF-PCA: continuation in the penalty and in the rank, and several starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairpca.linalg import orthonormal
from fairpca.solvers.mbf._problem import Evaluation, MBFProblem
from fairpca.solvers.mbf._subproblem import minimise, minimise_mmd

__all__ = ["PathEnd", "append_direction", "escape_point", "penalty_path", "rank_continuation", "solve_continuation"]

_LOWER, _AIM = 0.98, 0.99  # accept MMD² in [0.98 τ, τ]; the secant aims between
_FACTOR = 4.0  # between penalties of the path
_RHO_RANGE = 1e12  # largest ratio of penalties tried
_NEGLIGIBLE = 1e-4  # share of the first penalty below which the unconstrained optimum counts as reached
_SECANT_STEPS, _MULTIPLIER_STEPS = 4, 8
_TILT = 0.2  # radians by which a new direction leaves the space without variance
_SMALL_TAU = 1e-5  # from here on the plain path rarely arrives, and the rank is continued instead


@dataclass(frozen=True)
class PathEnd:
    """Where a penalty path ended: the point, its penalty, whether it got to the tolerance, whether it settled there."""

    at: Evaluation
    rho: float
    feasible: bool
    settled: bool


def _stalled(values: list[float], rho: float, steps: int) -> bool:
    """Whether so many increases of a penalty that matters together lowered the MMD² by less than 3 percent."""
    return len(values) > steps and rho * values[-1] > 1.0 and values[-1] > 0.97 * values[-1 - steps]


def penalty_path(problem: MBFProblem, V: np.ndarray, rho: float, tau: float, *, lower: float = _LOWER) -> PathEnd:
    """Follow the minimisers of f + ρh until h lies in [lower * τ, τ].

    The penalty grows by factors of four until h <= τ (or falls while the first points are feasible), then a
    safeguarded secant in (log ρ, log h) closes in; each subproblem starts from the nearer end of the bracket.
    Where the minimisers jump over the tolerance, as they do when the frontier of variance against MMD² is not
    concave, an augmented Lagrangian finds the constrained optimum that no penalty alone has for a minimiser.
    """
    e = minimise(problem, V, rho)
    problem.log("penalty", rho, e)
    above: tuple[float, Evaluation] | None = None
    below: tuple[float, Evaluation] | None = None
    if e.h > tau:
        above, values, first = (rho, e), [e.h], rho
        while e.h > tau:
            if _stalled(values, rho, 2) or rho > first * _RHO_RANGE:
                return PathEnd(e, rho, False, False)
            rho *= _FACTOR
            e = minimise(problem, e.V, rho)
            problem.log("penalty", rho, e)
            values.append(e.h)
            if e.h > tau:
                above = (rho, e)
        below = (rho, e)
    else:
        below, first = (rho, e), rho
        while e.h <= tau:
            if lower * tau <= e.h or rho < _NEGLIGIBLE * first:
                return PathEnd(e, rho, True, True)
            below = (rho, e)
            rho /= _FACTOR
            e = minimise(problem, e.V, rho)
            problem.log("penalty", rho, e)
        above = (rho, e)
    return _close_in(problem, above, below, tau, lower)


def _close_in(
    problem: MBFProblem, above: tuple[float, Evaluation], below: tuple[float, Evaluation], tau: float, lower: float
) -> PathEnd:
    target = np.log(_AIM * tau) if lower == _LOWER else np.log(0.5 * (lower + 1) * tau)
    for _ in range(_SECANT_STEPS):
        if below[1].h >= lower * tau:
            return PathEnd(below[1], below[0], True, True)
        left, right = np.log(above[0]), np.log(below[0])
        high, low = np.log(above[1].h), np.log(max(below[1].h, 1e-300))
        share = float(np.clip((high - target) / (high - low), 0.05, 0.95))
        rho = float(np.exp(left + share * (right - left)))
        nearer = below if target - low < high - target else above
        e = minimise(problem, nearer[1].V, rho)
        problem.log("secant", rho, e)
        if e.h > tau:
            above = (rho, e)
        else:
            below = (rho, e)
    if below[1].h >= lower * tau:
        return PathEnd(below[1], below[0], True, True)
    return _multiplier_method(problem, above, below, tau, lower)


def _multiplier_method(
    problem: MBFProblem, above: tuple[float, Evaluation], below: tuple[float, Evaluation], tau: float, lower: float
) -> PathEnd:
    """Solve with h = target by an augmented Lagrangian, from the end of the bracket with the larger variance."""
    target = 0.5 * (lower + 1.0) * tau
    rho, e = above
    bend = 4.0 * rho / target
    for _ in range(_MULTIPLIER_STEPS):
        before = abs(e.h - target)
        e = minimise(problem, e.V, rho, bend=bend, target=target)
        rho = max(rho + bend * (e.h - target), 1e-3 * rho)
        problem.log("multiplier", rho, e)
        if lower * tau <= e.h <= tau:
            break
        if abs(e.h - target) > 0.25 * before:
            bend *= 4.0
    inside = e.h <= tau
    if inside and e.variance >= below[1].variance:
        return PathEnd(e, rho, True, e.h >= lower * tau)
    return PathEnd(below[1], below[0], True, False)


def append_direction(problem: MBFProblem, V: np.ndarray, rho: float) -> np.ndarray | None:
    """Return V with one more column along which f + ρh falls to second order, or None if there is none.

    The new column is a direction without variance, tilted towards the lowest eigenvector of A(V) on the
    complement: [V, u] is stationary when V is, and that eigenvalue is its curvature. Without such a direction
    in the data the eigenvector itself is taken.
    """
    A = problem.curvature_matrix(V, rho)
    complement = np.linalg.svd(V, full_matrices=True)[0][:, V.shape[1] :]
    values, vectors = np.linalg.eigh(complement.T @ A @ complement)
    w = complement @ vectors[:, 0]
    free = problem.free_directions(V)
    if free.shape[1] == 0:
        return np.column_stack((V, w))
    if values[0] >= -1e-12:
        return None
    w = w - free[:, 0] * (free[:, 0] @ w)
    return orthonormal(np.column_stack((V, np.cos(_TILT) * free[:, 0] + np.sin(_TILT) * w / np.linalg.norm(w))))


def rank_continuation(problem: MBFProblem, V: np.ndarray, rho: float, tau: float) -> PathEnd:
    """Solve with the columns of V, then append one column at a time up to the full dimension."""
    d = problem.n_components
    lower = _LOWER if V.shape[1] == d else 0.8
    end = penalty_path(problem, V, rho, tau, lower=lower)
    while end.at.V.shape[1] < d:
        longer = append_direction(problem, end.at.V, end.rho)
        if longer is None:
            break  # no direction is worth its unfairness: the record holds V padded without variance
        end = penalty_path(problem, longer, end.rho, tau, lower=_LOWER if longer.shape[1] == d else 0.8)
    return end


def relax_and_tighten(problem: MBFProblem, V: np.ndarray, rho: float, tau: float, factor: float = 10.0) -> PathEnd:
    """Continue the rank at a looser tolerance, where basins are wide, then tighten by doubling the penalty."""
    end = rank_continuation(problem, V, rho, factor * tau)
    if end.at.V.shape[1] < problem.n_components:
        return penalty_path(problem, end.at.V, end.rho, tau)
    e, rho, above = end.at, end.rho, end
    values = [e.h]
    while e.h > tau:
        if _stalled(values, rho, 4):
            return PathEnd(e, rho, False, False)
        above = PathEnd(e, rho, False, False)
        rho *= 2.0
        e = minimise(problem, e.V, rho)
        problem.log("tighten", rho, e)
        values.append(e.h)
    if above is end and end.at.h <= tau:
        return penalty_path(problem, e.V, rho, tau)
    return _close_in(problem, (above.rho, above.at), (rho, e), tau, _LOWER)


def escape_point(problem: MBFProblem, rho: float) -> np.ndarray:
    """Return PCA, moved off the stationary point that it is when the dimension reaches the rank.

    Then every column without variance is useless and no gradient leaves the row space: the top eigenvector of
    V'A(V)V is turned towards a direction without variance, if there is one outside V.
    """
    V = problem.pca(problem.n_components)
    if problem.n_components < problem.rank or problem.size == problem.n_components:
        return V
    A = problem.curvature_matrix(V, rho)
    rows = slice(0, min(problem.rank, problem.n_components))
    _, vectors = np.linalg.eigh(A[rows, rows])
    v = np.zeros(problem.size)
    v[rows] = vectors[:, -1]
    u = problem.free_directions(V)[:, 0]
    rest = V - np.outer(v, v @ V)
    basis = np.linalg.svd(rest)[0][:, : problem.n_components - 1]
    return orthonormal(np.column_stack((basis, np.cos(_TILT) * v + np.sin(_TILT) * u)))


def _first_penalty(problem: MBFProblem, V: np.ndarray) -> float:
    return 1.0 / max(problem.evaluate(V).h, 1e-12)


def _strategies(problem: MBFProblem, rng: np.random.Generator) -> list[tuple[str, Callable[[], PathEnd]]]:
    """Return the starts in the order in which `n_starts` takes them."""
    d, tau = problem.n_components, problem.tau
    axes = problem.pca(problem.size)

    def path() -> PathEnd:
        rho = _first_penalty(problem, problem.pca(d))
        return penalty_path(problem, escape_point(problem, rho), rho, tau)

    def relaxed(columns: list[int], factor: float) -> Callable[[], PathEnd]:
        V = axes[:, columns]
        return lambda: relax_and_tighten(problem, V, _first_penalty(problem, V), tau, factor)

    def ranked(columns: list[int]) -> Callable[[], PathEnd]:
        V = axes[:, columns]
        return lambda: rank_continuation(problem, V, _first_penalty(problem, V), tau)

    def random() -> PathEnd:
        V = problem.random(rng)
        return penalty_path(problem, V, _first_penalty(problem, V), tau)

    r = problem.rank
    if d == 1 or d >= r:
        named: list[tuple[str, Callable[[], PathEnd]]] = [("path", path)]
    elif tau > _SMALL_TAU:
        named = [("path", path), ("rank 1", ranked([0])), ("relax", relaxed([0], 10.0))]
    elif d == 2:
        named = [("path", path), ("rank 1", ranked([0]))]
    else:
        named = [("relax", relaxed([0], 10.0)), ("relax 2", relaxed([0, 1], 10.0)), ("rank 1", ranked([0]))]
        named += [("relax 100", relaxed([0], 100.0)), ("path", path)]
    if 1 < d < r:
        named += [(f"axis {j + 1}", ranked([j])) for j in range(1, r)]
    return named + [("random", random)] * 100


def solve_continuation(
    problem: MBFProblem, n_starts: int, random_state: int, start: np.ndarray | None = None
) -> tuple[bool, int]:
    """Run the starts and leave the best feasible subspace in ``problem.record``.

    Starts are taken until `n_starts` of them have ended feasibly; while none has, up to `n_starts` plus four
    are tried, and then the MMD alone is minimised from further points, to say how small it gets.

    Returns
    -------
    settled : bool
        Whether the path that led to the best subspace ended with h in [0.98 τ, τ], at a jump of h, or at the
        unconstrained optimum.
    used : int
        Number of starts.
    """
    rng = np.random.default_rng(random_state)
    record = problem.record
    settled, best, used, good = False, -np.inf, 0, 0
    strategies = _strategies(problem, rng)
    if start is not None:
        strategies.insert(
            0, ("given", lambda: penalty_path(problem, start, _first_penalty(problem, start), problem.tau))
        )
    for name, run in strategies:
        if good >= n_starts or (used >= n_starts + 4):
            break
        used += 1
        end = run()
        problem.log(f"end {name}", end.rho, end.at)
        good += end.feasible
        if record.feasible is not None and record.feasible.variance > best + 1e-12:
            best, settled = record.feasible.variance, end.settled
    if record.feasible is None:
        settled = _least_unfair(problem, rng)
    return settled, used


def _least_unfair(problem: MBFProblem, rng: np.random.Generator) -> bool:
    """Minimise h alone from several points; if that meets the tolerance, go on from there."""
    record = problem.record
    starts = [record.fairest.V] if record.fairest is not None else []
    starts += [problem.random(rng) for _ in range(5)]
    for V in starts:
        e = minimise_mmd(problem, V)
        problem.log("least MMD²", np.inf, e)
        if e.h <= problem.tau:
            return penalty_path(problem, e.V, 1.0 / max(e.h, 1e-12), problem.tau).settled
    return False

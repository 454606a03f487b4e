"""The default search for MBF-PCA: from several starts a penalty path, then a climb along the constraint."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairpca.linalg import orthonormal
from fairpca.solvers.mbf._problem import STATIONARY, Evaluation, MBFProblem
from fairpca.solvers.mbf._subproblem import minimise, minimise_mmd

__all__ = ["End", "along_constraint", "penalty_path", "solve_continuation"]

_FACTOR = 4.0  # between penalties of the path
_LOOSE = 1e-3  # gradient norm at which a subproblem of the path ends, for each square root of the penalty
_LOWER, _AIM = 0.998, 0.999  # a climb ends with MMD² in [0.998 τ, τ] and aims between
_STIFFNESS = 10.0  # second derivative of the augmented term in log h, in units of the multiplier
_LEAST = 1e-3  # share of the variance that a first multiplier lets log h cost, at least
_ROUNDS = 15  # of the multiplier method
_HOPE = 2e-3  # share of the variance by which the first round of a climb may underestimate its end
_GAIN = 5e-4  # expected gain of another start, as a share of the variance (.05 points), that is not worth it
_TRACE = 1e-2  # norm up to which components without variance are taken for traces of the search
_FEWEST, _MOST = 4, 12  # starts, where their number is not given
_TRIED, _TAKEN = 200, 3  # subspaces that are looked at before none is called feasible, and of these the fairest


class End(NamedTuple):
    """Where a start ended, and what it is worth: the variance or, above the tolerance, -h / τ, below any variance.

    A climb that was given up is worth the estimate on which it was.
    """

    at: Evaluation
    value: float


def _trapped(problem: MBFProblem, rho: float, e: Evaluation) -> bool:
    """Whether a local minimiser of f + ρh costs more than ρτ, hence more than any feasible point whatsoever.

    It is then a local minimum of h above the tolerance, and a larger penalty only holds it there.
    """
    return rho * (e.h - problem.tau) > e.variance


def penalty_path(problem: MBFProblem, V: np.ndarray, rho: float) -> Evaluation | None:
    """Follow the minimisers of f + ρh, ρ growing by factors of four, until h <= 4τ; None if they are trapped.

    Subproblems are solved loosely, each from the last one's end.

    Parameters
    ----------
    problem : MBFProblem
        The problem.
    V : ndarray of shape (q, d)
        Start.
    rho : float
        The first penalty, larger than zero.

    Returns
    -------
    Evaluation or None
        Values at the last minimiser.
    """
    while True:
        e = minimise(problem, V, rho, tol=_LOOSE * max(1.0, np.sqrt(rho)))
        problem.log("penalty", rho, e)
        if e.h <= _FACTOR * problem.tau:
            return e
        if _trapped(problem, rho, e):
            return None
        V, rho = e.V, _FACTOR * rho


def _end(e: Evaluation, tau: float) -> End:
    return End(e, e.variance if e.h <= tau else -e.h / tau)


def along_constraint(problem: MBFProblem, V: np.ndarray, worth: float = -np.inf) -> End | None:
    """Climb from V to a stationary point of the variance with h = τ, by an augmented Lagrangian; None if trapped.

    The multiplier method needs no concave frontier of variance against MMD²: where the minimisers of f + ρh jump
    over the tolerance, it finds the constrained optimum that no penalty alone has for a minimiser.

    Parameters
    ----------
    problem : MBFProblem
        The problem.
    V : ndarray of shape (q, d)
        Start.
    worth : float
        Share of the variance below which the end is of no interest: the climb stops once the Lagrangian, which
        estimates the end well after the first round, falls below.

    Returns
    -------
    End or None
        `at` is where the climb ended; `value` is the share of the variance there, -h / τ if h exceeds τ, and the
        estimate if the climb was stopped for its `worth`.
    """
    target = _AIM * problem.tau
    e = problem.evaluate(V)
    multiplier = max(e.multiplier, _LEAST / target)
    bend, accuracy = _STIFFNESS * multiplier / target, 0.1
    for _ in range(_ROUNDS):
        before = abs(e.h - target)
        e = minimise(problem, e.V, multiplier, bend=bend, target=target, tol=accuracy * e.scale)
        multiplier = max(multiplier + bend * (e.h - target), 1e-3 * multiplier)
        problem.log("constraint", multiplier, e)
        if _LOWER * problem.tau <= e.h <= problem.tau and e.kkt_residual <= STATIONARY:
            break
        if _trapped(problem, multiplier, e):
            return None
        estimate = e.variance + multiplier * (target - e.h)
        if estimate < worth:
            return End(e, estimate)
        if abs(e.h - target) > 0.25 * before:
            bend *= _FACTOR
        accuracy = max(0.1 * accuracy, 0.3 * STATIONARY)
    return _end(e, problem.tau)


def _from_above(problem: MBFProblem, V: np.ndarray, rho: float, worth: float) -> End | None:
    """Follow the penalty path of V and climb; None if that is trapped."""
    reached = penalty_path(problem, V, rho)
    return None if reached is None else along_constraint(problem, reached.V, worth)


def _from_below(problem: MBFProblem, rng: np.random.Generator, worth: float) -> End:
    """Minimise h alone, from near the directions without variance, and climb if that meets the tolerance."""
    reached = minimise_mmd(problem, problem.nearly_null(rng))
    problem.log("least MMD²", np.inf, reached)
    climbed = along_constraint(problem, reached.V, worth) if reached.h <= problem.tau else None
    return climbed or _end(reached, problem.tau)


def _last_resort(problem: MBFProblem, rng: np.random.Generator) -> list[End]:
    """Minimise h from the fairest of many subspaces, and climb where that meets the tolerance.

    With rows far from the others h has many local minima; a look is one value of h, without its gradient.
    """
    looked = [(problem.discrepancy(V), i, V) for i, V in enumerate(problem.spread_out(rng, _TRIED))]
    ends = []
    for _, _, V in sorted(looked, key=lambda look: look[:2])[:_TAKEN]:
        reached = minimise_mmd(problem, V)
        problem.log("last resort", np.inf, reached)
        climbed = along_constraint(problem, reached.V) if reached.h <= problem.tau else None
        ends.append(climbed or _end(reached, problem.tau))
    return ends


def _without_traces(problem: MBFProblem, e: Evaluation) -> Evaluation:
    """Return e without the traces of directions without variance that an inexact solution is left with."""
    V = e.V.copy()
    V[problem.rank :] = 0.0
    if not 0 < np.linalg.norm(e.V[problem.rank :]) < _TRACE:
        return e
    clean = problem.evaluate(orthonormal(V))
    return clean if clean.h <= problem.tau and clean.kkt_residual <= STATIONARY else e


def solve_continuation(
    problem: MBFProblem, n_starts: int | None, random_state: int, start: np.ndarray | None = None
) -> tuple[Evaluation, int]:
    """Search from several starts, the first of them PCA, for the best stationary point with h <= τ.

    A start follows its penalty path. Where that is trapped, this start and all later ones come from the fair side:
    they minimise h alone until it meets the tolerance, beginning near the directions without variance if there are
    any. Either way the climb along the constraint follows.

    Parameters
    ----------
    problem : MBFProblem
        The problem; its record keeps the best feasible and the least unfair point seen.
    n_starts : int, optional
        Number of starts. None: until another start can be expected to gain less than .05 points of variance, four
        at least and twelve at most, and all twelve while none is feasible. If the values of n starts are a sample,
        the next one is the largest with probability 1/(n + 1), and exceeds the others by about as much as the
        largest now exceeds the second: the expected gain is estimated by that gap over n. Where no point met the
        tolerance, h is minimised from the fairest three of 200 further subspaces too.
    random_state : int
        Seed of the random starts.
    start : ndarray of shape (q, d), optional
        First start, instead of PCA.

    Returns
    -------
    best : Evaluation
        The best end; the one with the smallest h if no start ended with h <= τ.
    used : int
        Number of starts, 0 if PCA is feasible, and hence optimal.
    """
    rng = np.random.default_rng(random_state)
    best = problem.evaluate(problem.pca())
    if best.h <= problem.tau:
        return best, 0
    rho = 1.0 / best.h
    ends: list[End] = []
    paths = True
    while len(ends) < (_MOST if n_starts is None else n_starts):
        worth = max((end.value for end in ends), default=-np.inf) - _HOPE
        V = problem.random(rng) if ends else problem.tilted_pca(rng) if start is None else start
        end = _from_above(problem, V, rho, worth) if paths else None
        if end is None:
            paths = False
            end = _from_below(problem, rng, worth)
        problem.log("end", np.nan, end.at)
        ends.append(end)
        if n_starts is None and len(ends) >= _FEWEST:
            second, largest = sorted(end.value for end in ends)[-2:]
            if largest >= 0 and largest - second <= _GAIN * len(ends):
                break
    if problem.record.feasible is None:
        ends += _last_resort(problem, rng)
    best = max(ends, key=lambda end: end.value).at
    seen = problem.record.feasible
    if seen is not None and (best.h > problem.tau or seen.variance > best.variance + _GAIN):
        climbed = along_constraint(problem, seen.V)  # a start passed by a better point than any at which one ended
        best = climbed.at if climbed is not None and climbed.value >= seen.variance - _GAIN else seen
    return _without_traces(problem, best), len(ends)

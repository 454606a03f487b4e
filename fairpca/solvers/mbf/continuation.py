"""The default search for MBF-PCA: from several starts a penalty path, then a climb along the constraint."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import numpy as np

from fairpca.linalg import orthonormal
from fairpca.solvers.mbf._problem import STATIONARY, Evaluation, MBFProblem
from fairpca.solvers.mbf._scouts import Scout, same_subspace, scouts_pay, send_scouts
from fairpca.solvers.mbf._subproblem import minimise, minimise_mmd

__all__ = ["Candidate", "along_constraint", "penalty_path", "solve_continuation"]

_FACTOR = 4.0  # between penalties of the path
_LOOSE = 1e-3  # gradient norm at which a subproblem of the path ends, for each square root of the penalty
_LOWER, _AIM = 0.998, 0.999  # a climb ends with MMD² in [0.998 τ, τ] and aims between
_STIFFNESS = 10.0  # second derivative of the augmented term in log h, in units of the multiplier
_LEAST = 1e-3  # share of the variance that a first multiplier lets log h cost, at least
_ROUNDS = 15  # of the multiplier method
_UNDERESTIMATE = 2e-3  # share of the variance by which the first round of a climb may underestimate its end
_GAIN = 5e-4  # share of the variance (.05 points) by which a point that a start passed has to exceed all ends
_EQUAL = 1e-4  # share of the variance up to which two ends count as one optimum
_TRACE = 1e-2  # norm up to which components without variance are taken for traces of the search
_FEWEST, _FEWEST_SCOUTED, _NONE_FEASIBLE, _MOST = 6, 8, 5, 12  # starts, where their number is not given
_SQUADS = 4  # of scouts, at most
_TRIED, _FAIREST = 200, 3  # subspaces that are looked at before none is called feasible, and of these the fairest


class Candidate(NamedTuple):
    """Where a start ended, and what it is worth: the variance or, above the tolerance, -h / τ, below any variance.

    A climb that was given up is worth the estimate on which it was.
    """

    at: Evaluation
    value: float


def _in_infeasible_minimum(problem: MBFProblem, rho: float, e: Evaluation) -> bool:
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
        if _in_infeasible_minimum(problem, rho, e):
            problem.record.infeasible_minimum = True
            return None
        V, rho = e.V, _FACTOR * rho


def _end(e: Evaluation, tau: float) -> Candidate:
    return Candidate(e, e.variance if e.h <= tau else -e.h / tau)


def along_constraint(problem: MBFProblem, V: np.ndarray, worth: float = -np.inf) -> Candidate | None:
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
    Candidate or None
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
        if _in_infeasible_minimum(problem, multiplier, e):
            return None
        estimate = e.variance + multiplier * (target - e.h)
        if estimate < worth:
            return Candidate(e, estimate)
        if abs(e.h - target) > 0.25 * before:
            bend *= _FACTOR
        accuracy = max(0.1 * accuracy, 0.3 * STATIONARY)
    return _end(e, problem.tau)


def _from(problem: MBFProblem, V: np.ndarray, rho: float, worth: float = -np.inf) -> Candidate:
    """Follow the penalty path of V and climb; where that is trapped or ρ is infinite, minimise h alone first."""
    if np.isfinite(rho):
        reached = penalty_path(problem, V, rho)
        climbed = None if reached is None else along_constraint(problem, reached.V, worth)
        if climbed is not None:
            return climbed
    fairest = minimise_mmd(problem, V)
    problem.log("least MMD²", np.inf, fairest)
    climbed = along_constraint(problem, fairest.V, worth) if fairest.h <= problem.tau else None
    return climbed or _end(fairest, problem.tau)


def _last_resort(problem: MBFProblem, rng: np.random.Generator) -> list[Candidate]:
    """Minimise h from the fairest of many subspaces, and climb where that meets the tolerance.

    With rows far from the others h has many local minima; a look is one value of h, without its gradient.
    """
    looked = [(problem.discrepancy(V), i, V) for i, V in enumerate(problem.spread_out(rng, _TRIED))]
    return [_from(problem, V, np.inf) for _, _, V in sorted(looked, key=lambda look: look[:2])[:_FAIREST]]


def _without_traces(problem: MBFProblem, e: Evaluation) -> Evaluation:
    """Return e without the traces of directions without variance that an inexact solution is left with."""
    V = e.V.copy()
    V[problem.rank :] = 0.0
    if not 0 < np.linalg.norm(e.V[problem.rank :]) < _TRACE:
        return e
    clean = problem.evaluate(orthonormal(V))
    return clean if clean.h <= problem.tau and clean.kkt_residual <= STATIONARY else e


def _explored(problem: MBFProblem, rng: np.random.Generator) -> list[Scout]:
    """Send squads of scouts until two of all scouts ended in the most promising place, four squads at most."""
    scouts: list[Scout] = []
    for _ in range(_SQUADS):
        scouts += send_scouts(problem, rng)
        best = max(scouts, key=lambda scout: scout.worth)
        if _times(best.V, scouts) >= (2 if best.worth >= 0 else _FAIREST):
            break
    return sorted(scouts, key=lambda scout: -scout.worth)


def _times(V: np.ndarray, scouts: list[Scout]) -> int:
    """Return how many scouts ended in one subspace."""
    return sum(same_subspace(V, scout.V) for scout in scouts)


def _places(
    problem: MBFProblem, rng: np.random.Generator, first: np.ndarray, rho: float, scouts: list[Scout]
) -> Iterator[tuple[np.ndarray, float]]:
    """Yield where starts begin, with their first penalty: `first`, the distinct ends of scouts, and random subspaces.
    After two ends of scouts comes a random start, unless no scout met the tolerance.

    Scouts are sent, and entered in the list, when the second start is asked for. Every other random start has no
    penalty and minimises h alone, from near the directions without variance if there are any; once a path was trapped,
    all of them do.
    """
    yield first, rho
    if scouts_pay(problem):
        scouts += _explored(problem, rng)
    taken: list[np.ndarray] = []
    for scout in scouts:
        if not any(same_subspace(scout.V, V) for V in taken):
            taken.append(scout.V)
            yield scout.V, scout.rho if scout.worth >= 0 else np.inf
            if len(taken) % 2 == 0 and scouts[0].worth >= 0:
                yield _random_place(problem, rng, len(taken) % 4 == 0, rho)
    for i in count():
        yield _random_place(problem, rng, i % 2 == 1, rho)


def _random_place(problem: MBFProblem, rng: np.random.Generator, above: bool, rho: float) -> tuple[np.ndarray, float]:
    V = problem.random(rng) if above else problem.nearly_null(rng)
    return V, rho if above and not problem.record.infeasible_minimum else np.inf


def _settled(ends: list[Candidate], scouts: list[Scout]) -> bool:
    """Whether another start is not worth its cost.

    The chance that the next start ends in an optimum not seen before is about the share of optima that were reached
    once among all starts (Good and Turing). Worse optima are of no interest, so that the best one has to be reached
    twice, by starts or by scouts.
    """
    best = max(ends, key=lambda end: end.value)
    if best.value < 0:
        return len(ends) >= (_NONE_FEASIBLE if scouts else _MOST)
    reached = sum(end.value > best.value - _EQUAL for end in ends)
    twice = max(reached, _times(best.at.V, scouts)) > 1
    return len(ends) >= _MOST or (twice and len(ends) >= (_FEWEST_SCOUTED if scouts else _FEWEST))


def solve_continuation(
    problem: MBFProblem, n_starts: int | None, random_state: int, start: np.ndarray | None = None
) -> tuple[Evaluation, int]:
    """Search from several starts, the first of them PCA, for the best stationary point with h <= τ.

    A start follows its penalty path; where that is trapped, it minimises h alone until that meets the tolerance. Either
    way the climb along the constraint follows. Where the kernel is cheap, scouts find the places to start from; else,
    and after these, starts are random, and every other one minimises h first.

    Parameters
    ----------
    problem : MBFProblem
        The problem; its record keeps the best feasible and the least unfair point seen.
    n_starts : int, optional
        Number of starts; where none met the tolerance and there are scouts, five at least.
        None: until the best optimum has been reached twice, six starts at least (eight if there are
        scouts, of which two in one place count) and twelve at most, see `_settled`; where none is feasible,
        twelve, and h is minimised from the fairest three of 200 further subspaces too (five, and nothing more, if there
        are scouts).
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
    first = problem.tilted_pca(rng) if start is None else start
    ends: list[Candidate] = []
    scouts: list[Scout] = []
    for V, rho in _places(problem, rng, first, 1.0 / best.h, scouts):
        worth = max((end.value for end in ends), default=-np.inf) - _UNDERESTIMATE
        ends.append(_from(problem, V, rho, worth))
        problem.log("end", np.nan, ends[-1].at)
        met = max(end.value for end in ends) >= 0
        # Where nothing met the tolerance and starts are cheap, a few more are tried than were asked for.
        asked = n_starts is not None and len(ends) >= (n_starts if met or not scouts else max(n_starts, _NONE_FEASIBLE))
        if asked or (n_starts is None and _settled(ends, scouts)):
            break
    if problem.record.feasible is None and not scouts:
        ends += _last_resort(problem, rng)
    best = max(ends, key=lambda end: end.value).at
    seen = problem.record.feasible
    if seen is not None and (best.h > problem.tau or seen.variance > best.variance + _GAIN):
        climbed = along_constraint(problem, seen.V)  # a start passed by a better point than any at which one ended
        best = climbed.at if climbed is not None and climbed.value >= seen.variance - _GAIN else seen
    return _without_traces(problem, best), len(ends)

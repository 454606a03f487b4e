"""Exact small Nash programme: the point of a Fantope with the largest product of the groups' variances.

    max  sum_g log <S_g, P>   subject to   0 <= P <= I,   tr P = d.

Because ``log v = min over w > 0 of w v - log w - 1``, every choice of positive weights proves a bound,

    sum_g log <S_g, P> <= (sum of the d largest eigenvalues of S_w) - sum_g log w_g - m,   S_w = sum_g w_g S_g,

least on the ray of w where the eigenvalues sum to m. The dual is minimised in the logarithms of the weights along
the central path of the Fantope's barrier; there it is smooth and convex, and has no constraint. At the optimum
``w_g = 1 / <S_g, P>``, and the bound is the linearisation of the objective at P.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from fairpca.solvers.minmax._central import CentralPath, readings
from fairpca.solvers.minmax._newton_polish import (
    FacePoint,
    FaceProblem,
    TiedBlock,
    face_point,
    reduce_rank,
    response,
)

__all__ = ["solve_fantope_nash"]

_FIRST_POLISH, _LAST = 1e-5, 1e-12  # of the barrier's weight, relative to the mean leading eigenvalue
_LONGEST = 3.0  # change of a weight's logarithm in one Newton step


class _Candidate:
    """A point of the Fantope with weights, and the gap between the objective and the bound of the weights."""

    def __init__(self, logs: np.ndarray, problem: FaceProblem, point: FacePoint) -> None:
        self.logs, self.problem, self.point = logs, problem, point

    @classmethod
    def at(cls, S: np.ndarray, d: int, logs: np.ndarray, n_ones: int, r: int, guess: np.ndarray | None) -> _Candidate:
        # In matrices divided by the variances the problem looks like min-max: all groups reach one, none can gain.
        one = np.ones(len(S))
        problem = FaceProblem(np.exp(logs)[:, None, None] * S, one, one, d)
        return cls(logs, problem, face_point(problem, one / len(S), n_ones, r, guess))

    def reduced(self, tol: float) -> _Candidate:
        """Lower the rank, every variance held."""
        return _Candidate(self.logs, self.problem, reduce_rank(self.problem, self.point, tol=tol))

    @property
    def gap(self) -> float:
        """Upper bound less objective; infinite where a group keeps nothing."""
        m = len(self.logs)
        reached = 1.0 - self.point.losses  # w_g <S_g, P>
        if reached.min() <= 0.0:
            return np.inf
        # The sum of the d largest eigenvalues of S_w / m is 1 - lower_bound; written so that nothing cancels.
        return float(m * np.log1p(-self.point.lower_bound) - np.log(reached).sum())


def solve_fantope_nash(
    S: np.ndarray,
    d: int,
    *,
    tol: float = 1e-14,
    start: np.ndarray | None = None,
    max_iter: int = 400,
    deadline: float = np.inf,
) -> tuple[FacePoint, np.ndarray, int]:
    """Maximise ``sum_g log <S_g, P>`` over ``0 <= P <= I, tr P = d``.

    Parameters
    ----------
    S : ndarray of shape (m, q, q)
        Symmetric positive semidefinite matrices, none of them zero, ``q > d``.
    d : int
        Trace.
    tol : float
        Gap of the objective, divided by the number of groups, at which to stop.
    start : ndarray of shape (m,), optional
        Weights to begin with.
    max_iter : int
        Newton steps in all.
    deadline : float
        Time of ``perf_counter`` after which no further step is made.

    Returns
    -------
    (FacePoint, ndarray of shape (m,), int)
        Primal point of lowest rank; its `losses` are ``1 - w_g <S_g, P>`` with the weights w, which come next; Newton
        steps taken.
    """
    m, q = len(S), S.shape[1]
    units = np.linalg.eigvalsh(S)[:, q - d :].sum(axis=1)
    S = S / units[:, None, None]
    logs = -np.log(np.trace(S, axis1=1, axis2=2) * d / q) if start is None else np.log(start * units)
    path = CentralPath(S, d)
    mu = m / d * (1.0 if start is None else 1e-2)
    best: _Candidate | None = None
    n_iter = 0
    while True:
        for _ in range(60):
            x = path.at(np.exp(logs), mu)
            n_iter += 1
            weights = np.exp(logs)
            reached = weights * x.sums
            gradient = reached - 1.0
            scaled = x.root * weights[:, None]
            H = scaled @ scaled.T + np.diag(reached)
            step = -np.linalg.solve(H, gradient)
            decrement = float(np.sqrt(max(-gradient @ step, 0.0) / mu))
            over = n_iter >= max_iter or perf_counter() > deadline
            if decrement < 0.05 or over:
                break
            step *= min(1.0, _LONGEST / float(np.abs(step).max()))
            logs = logs + (step if decrement < 0.25 else _damped(path, logs, step, x.value, float(gradient @ step), mu))
        small = mu * d / m
        if small <= _FIRST_POLISH or over:
            guess = x.moved(weights * step if decrement < 1.0 else 0.0 * step)
            for n_ones, r in readings(x.occupation, d):
                candidate = _polish(S, d, logs, n_ones, r, guess, m * tol)
                if best is None or candidate.gap < best.gap:
                    best = candidate
                if best.gap <= m * tol:
                    break
        if best is not None and (best.gap <= m * tol or small <= _LAST or over):
            break
        mu *= 0.1
    return best.point, np.exp(best.logs) / units, n_iter


def _damped(path: CentralPath, logs: np.ndarray, step: np.ndarray, value: float, slope: float, mu: float) -> np.ndarray:
    """Shorten a Newton step until the smoothed dual falls enough (Armijo)."""
    value -= logs.sum()
    share = 1.0
    for _ in range(40):
        if path.value(np.exp(logs + share * step), mu) - (logs + share * step).sum() <= value + 0.1 * share * slope:
            break
        share *= 0.5
    return share * step


def _polish(
    S: np.ndarray, d: int, logs: np.ndarray, n_ones: int, r: int, guess: np.ndarray, tol: float, max_iter: int = 8
) -> _Candidate:
    """Newton's method on the optimality conditions with the structure of P held fixed; then the lowest rank.

    Unknowns are the changes of the weights' logarithms, of the block and of the tied eigenvalue; equations:
    ``w_g <S_g, P> = 1``, a tied block, the trace.
    """
    best = x = _Candidate.at(S, d, logs, n_ones, r, guess)
    misses = 0
    for _ in range(max_iter):
        if best.gap <= 0.1 * tol or misses == 2:
            break
        change, block = _newton(x.problem.S, x.point)
        logs = logs + np.clip(change, -_LONGEST, _LONGEST)
        x = _Candidate.at(S, d, logs, n_ones, r, block)
        misses = 0 if x.gap < 0.5 * best.gap else misses + 1
        if x.gap < best.gap:
            best = x
    return best.reduced(max(tol, 1e-13))


def _newton(T: np.ndarray, x: FacePoint) -> tuple[np.ndarray, np.ndarray | None]:
    tied, m = TiedBlock(T, x), len(T)
    size = tied.size
    n = m + size + (size > 0)  # logarithms, block, tied eigenvalue
    A, b = np.zeros((n, n)), np.zeros(n)
    # The spectrum of the point belongs to the mean of T, so the response to a sum of them is divided by m.
    A[:m, :m] = response(T, x, tied.UF, tied.F) / m + np.diag(1.0 - x.losses)
    b[:m] = x.losses
    if size:
        A[:m, m : m + size] = tied.inside
        A[m : m + size, :m], A[m : m + size, -1] = tied.inside.T, -tied.unit
        b[m : m + size] = -tied.inside.sum(axis=0)
        A[-1, m : m + size] = tied.unit
    change = np.linalg.lstsq(A, b, rcond=1e-13)[0]
    return change[:m], tied.moved(change[m : m + size])

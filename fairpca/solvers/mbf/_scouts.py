"""Cheap descents from many random subspaces at once, which find the places where starts are worth their cost."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from fairpca.solvers.mbf._problem import MBFProblem
from fairpca.solvers.mmd.kernel import WeightedRows

__all__ = ["Scout", "same_subspace", "scouts_pay", "send_scouts"]

_COUNT, _ROWS = 70, 100  # scouts of a squad, and rows up to which there are that many; beyond, their cost is the same
_FEWEST, _LARGEST = 6, 100  # scouts and unknowns for which they pay
_STEPS, _PATIENCE = 120, 15  # evaluations of a scout, and those between two changes of its penalty
_FACTOR = 4.0  # by which a penalty changes at most
_STUCK = 0.95  # share of the penalised cost that is left after those where a scout above the tolerance is trapped
_NEAR, _STILL = 0.1, 1e-4  # distance of h / τ from 1 and gain in worth below which a scout has arrived
_SAME = 0.02  # sum of squared sines up to which two subspaces count as one
_SLACK = 0.1  # share of its variance that a scout may be expected to gain by the climb, at most


class Scout(NamedTuple):
    """Where a scout ended, its penalty, and the variance that a climb from there is expected to end with.

    Where it was trapped above the tolerance, `worth` is -h / τ.
    """

    V: np.ndarray
    rho: float
    worth: float


@dataclass
class _Squad:
    """State of all scouts: points, penalties, h, variance and their gradients, inverse Hessians, lengths of steps."""

    V: np.ndarray
    rho: np.ndarray
    h: np.ndarray
    kept: np.ndarray
    h_slope: np.ndarray
    kept_slope: np.ndarray
    H: np.ndarray
    length: np.ndarray
    before: np.ndarray  # worth when the penalty was last changed

    @property
    def slope(self) -> np.ndarray:
        return self.rho[:, None, None] * self.h_slope - self.kept_slope

    def worth(self, tau: float) -> np.ndarray:
        """Return the variance that is left at h = τ by the first order."""
        return self.kept - self.rho * (self.h - tau)

    def part(self, chosen: np.ndarray) -> _Squad:
        return _Squad(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def scouts(self, tau: float) -> list[Scout]:
        gain = np.minimum(self.rho * (tau - self.h), _SLACK * self.kept)
        worth = np.where(self.h <= _FACTOR * tau, self.kept + gain, -self.h / tau)
        return [Scout(V, float(rho), float(w)) for V, rho, w in zip(self.V, self.rho, worth, strict=True)]


def _horizontal(V: np.ndarray, slope: np.ndarray) -> np.ndarray:
    return slope - V @ (V.transpose(0, 2, 1) @ slope)


def _dot(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.einsum("bij,bij->b", A, B)


def same_subspace(V: np.ndarray, W: np.ndarray) -> bool:
    """Whether two orthonormal bases span nearly the same subspace."""
    return bool(V.shape[1] - np.sum((V.T @ W) ** 2) <= _SAME)


def _count(problem: MBFProblem) -> int:
    rows = max(len(term.X) if isinstance(term, WeightedRows) else _ROWS**2 for term in problem.terms)
    return int(_COUNT * min(1.0, (_ROWS / rows) ** 2))


def scouts_pay(problem: MBFProblem) -> bool:
    """Whether the exact kernel of all rows costs so little that a start is mostly overhead, which scouts share."""
    q, d = problem.size, problem.n_components
    return _count(problem) >= _FEWEST and q > d and q * d <= _LARGEST


def _evaluate(problem: MBFProblem, V: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return h, the variance, and their horizontal gradients at each point."""
    h, slope = np.zeros(len(V)), np.zeros_like(V)
    for term in problem.terms:
        assert isinstance(term, WeightedRows)
        value, gradient = term.values_and_gradients(V, problem.sigma)
        h, slope = h + value, slope + gradient
    weighted = problem.spectrum[:, None] * V
    return np.maximum(h, 0.0), _dot(V, weighted), _horizontal(V, slope), _horizontal(V, 2.0 * weighted)


def _step(problem: MBFProblem, squad: _Squad) -> None:
    """Take one quasi-Newton step of each scout, or shorten its step where the penalised cost would not fall."""
    V, slope, length = squad.V, squad.slope, squad.length[:, None, None]
    count, q, d = V.shape
    steepest = slope * (-0.1 / np.maximum(np.sqrt(_dot(slope, slope)), 1e-300))[:, None, None]
    D = _horizontal(V, -(squad.H @ slope.reshape(count, q * d, 1)).reshape(V.shape))
    D = np.where((_dot(D, slope) < 0)[:, None, None], D, steepest)
    D *= np.minimum(1.0, 0.5 / np.maximum(np.sqrt(_dot(D, D)), 1e-300))[:, None, None]
    Q, R = np.linalg.qr(V + length * D)
    new = Q * np.where(np.einsum("bii->bi", R) < 0, -1.0, 1.0)[:, None, :]
    h, kept, h_slope, kept_slope = _evaluate(problem, new)
    change = squad.rho * (h - squad.h) - (kept - squad.kept)
    good = change <= 1e-4 * squad.length * _dot(D, slope)
    s = _horizontal(new, length * D).reshape(count, -1)
    y = (squad.rho[:, None, None] * h_slope - kept_slope - _horizontal(new, slope)).reshape(count, -1)
    sy = np.einsum("bi,bi->b", s, y)
    bent = good & (sy > 1e-12 * np.einsum("bi,bi->b", s, s))
    S, Y, sy, H = s[bent], y[bent], sy[bent], squad.H[bent]
    HY = np.einsum("bij,bj->bi", H, Y)
    twice = (1.0 + np.einsum("bi,bi->b", Y, HY) / sy)[:, None, None] * S[:, :, None] * S[:, None, :]
    cross = HY[:, :, None] * S[:, None, :]
    squad.H[bent] = H + (twice - cross - cross.transpose(0, 2, 1)) / sy[:, None, None]
    squad.length = np.where(good, 1.0, 0.3 * squad.length)
    for name, value in (("V", new), ("h", h), ("kept", kept), ("h_slope", h_slope), ("kept_slope", kept_slope)):
        getattr(squad, name)[good] = value[good]


def send_scouts(problem: MBFProblem, rng: np.random.Generator) -> list[Scout]:
    """Return where a squad of scouts ended.

    A scout descends on f + ρh from a random subspace by BFGS steps, which all scouts take together. Its ρ begins
    anywhere between the first penalty of the path, where the variance decides, and 1/τ, where h does; then it follows
    the ratio of h to τ. A scout is called back where it is trapped above the tolerance, and where it has
    arrived.

    Parameters
    ----------
    problem : MBFProblem
        The problem, see :func:`scouts_pay`.
    rng : Generator
        Source of the random subspaces and penalties.

    Returns
    -------
    list of Scout
    """
    count, size, tau = _count(problem), problem.size * problem.n_components, problem.tau
    low = 1.0 / problem.evaluate(problem.pca()).h
    rho = low * (1.0 / (low * tau)) ** rng.random(count)
    V = np.array([problem.random(rng) for _ in range(count)])
    squad = _Squad(
        V, rho, *_evaluate(problem, V), np.zeros((count, size, size)), np.ones(count), np.full(count, -np.inf)
    )
    squad.H[:] = np.eye(size) * (0.1 / np.maximum(np.sqrt(_dot(squad.slope, squad.slope)), 1e-300))[:, None, None]
    back: list[Scout] = []
    for step in range(1, _STEPS + 1):
        _step(problem, squad)
        problem.spend()
        if step % _PATIENCE == 0:
            worth, ratio = squad.worth(tau), squad.h / tau
            stuck = (worth < 0) & (worth < _STUCK * squad.before)
            ended = (np.abs(ratio - 1) < _NEAR) & (worth < squad.before + _STILL)
            squad.rho *= np.clip(ratio, 1 / _FACTOR, _FACTOR)
            squad.before = squad.worth(tau)
            back += squad.part(stuck | ended).scouts(tau)
            squad = squad.part(~(stuck | ended))
            if not len(squad.V):
                break
    return back + squad.scouts(tau)

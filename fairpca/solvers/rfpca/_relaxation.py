"""Lower bounds for RFPCA with any number of groups: chords of the concave J over a box of errors."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from scipy.optimize import OptimizeResult, linprog

from fairpca.solvers.rfpca.objective import GroupObjective, reconstruction_errors

__all__ = ["ChordRelaxation"]

_CHORDS = 60  # that a linear programme begins with; many groups have hundreds of pairs, and a few of them matter


class ChordRelaxation:
    """Lower bounds from chords of the concave J over a box of errors, minimised over conv{s(V)}.

    Parameters
    ----------
    moments : ndarray of shape (m, p, p)
        Second moments.
    d : int
        Dimension of the subspace.
    objective : GroupObjective
        The J of all pairs.
    deadline : float
        Time of ``perf_counter`` after which no further step begins; what is proven by then stands.

    Attributes
    ----------
    low, high : ndarray of shape (m,)
        Box that contains the errors of every optimal plane.
    planes : list of ndarray
        Planes met so far.
    bound : float
        Best bound proven so far.
    """

    def __init__(self, moments: np.ndarray, d: int, objective: GroupObjective, deadline: float = np.inf) -> None:
        self.moments, self.d, self.objective, self.deadline = moments, d, objective, deadline
        self.traces = np.trace(moments, axis1=1, axis2=2)
        self.planes: list[np.ndarray] = []
        self.bound = -np.inf
        m = len(moments)
        self.low, self.high = np.empty(m), np.empty(m)
        for b, M in enumerate(moments):
            w, U = np.linalg.eigh(M)
            self.low[b], self.high[b] = max(w[: len(w) - d].sum(), 0.0), w[d:].sum()
            self.planes.append(U[:, len(w) - d :])
        self._normals = np.empty((0, m))
        self._offsets = np.empty(0)
        self._errors: list[np.ndarray] = []
        self._used = np.array([], dtype=int)  # chords that the linear programmes know

    def chords(self) -> tuple[np.ndarray, np.ndarray]:
        """Return constants and slopes of the affine functions that lie below every J on the box."""
        return self.objective.chords(self.low, self.high)

    def solve(self, *, tol: float = 1e-9, max_cuts: int = 60) -> float:
        """Minimise the largest chord over conv{s(V)} within the box; raise and return `bound`.

        The dual in the weights of the chords is maximised by Kelley's method: planes found so far span an inner
        approximation of conv{s(V)}, whose multipliers are the next weights, whose top eigenspace is the next plane.
        """
        constants, slopes = self.chords()
        m, pairs = len(self.low), len(constants)
        centre, reach = np.array([]), -np.inf  # multipliers of the best bound in this box
        for _ in range(max_cuts):
            if perf_counter() > self.deadline:
                break
            solution = self._mixture(constants, slopes, tol)
            if solution.status != 0 or solution.x[-1] - reach <= tol * abs(solution.x[-1]):
                break
            multipliers = np.zeros(pairs + 2 * m)
            known = np.append(self._used, np.arange(pairs, pairs + 2 * m))
            multipliers[known] = np.maximum(-solution.ineqlin.marginals, 0.0)
            if multipliers[:pairs].sum() <= 0:
                break
            multipliers /= multipliers[:pairs].sum()
            # Halfway back to the best multipliers so far: Kelley's method jumps about without it.
            for share in (0.5, 1.0) if centre.size else (1.0,):
                trial = multipliers if share == 1 else share * multipliers + (1 - share) * centre
                w, above, below = trial[:pairs], trial[pairs : pairs + m], trial[pairs + m :]
                # Weak duality: any such multipliers prove a bound, whatever the linear programme's accuracy.
                value = float(w @ constants - above @ self.high + below @ self.low)
                value += self._cut(w @ slopes + above - below)
                if value > reach:
                    centre, reach = trial, value
                    break
            self.bound = max(self.bound, reach)
        return self.bound

    def _mixture(self, constants: np.ndarray, slopes: np.ndarray, tol: float) -> OptimizeResult:
        """Minimise the largest chord over mixtures of the planes met, within the box.

        Of many chords only the largest are in the linear programme, and those that its solution violates join them.
        """
        S = self._all_errors()
        n, m = S.shape
        if not self._used.size:
            largest = (constants + S @ slopes.T).max(axis=0)
            self._used = np.sort(np.argsort(-largest, kind="stable")[:_CHORDS])
        while True:
            used = self._used
            rows = np.vstack(
                (
                    np.hstack((slopes[used] @ S.T, -np.ones((len(used), 1)))),
                    np.hstack((S.T, np.zeros((m, 1)))),
                    np.hstack((-S.T, np.zeros((m, 1)))),
                )
            )
            solution = linprog(
                np.append(np.zeros(n), 1.0),
                A_ub=rows,
                b_ub=np.concatenate((-constants[used], self.high, -self.low)),
                A_eq=np.append(np.ones(n), 0.0)[None, :],
                b_eq=np.ones(1),
                bounds=[(0, None)] * n + [(None, None)],
                method="highs",
            )
            if solution.status != 0 or len(used) == len(constants) or perf_counter() > self.deadline:
                return solution
            beyond = constants + slopes @ (solution.x[:n] @ S) - solution.x[-1]
            beyond[used] = 0.0
            worst = np.argsort(-beyond, kind="stable")[: _CHORDS // 2]
            worst = worst[beyond[worst] > tol * abs(solution.x[-1])]
            if not worst.size:
                return solution
            self._used = np.sort(np.append(used, worst))

    def _all_errors(self) -> np.ndarray:
        """Return s(V) of every plane met, shape (n_planes, m)."""
        for V in self.planes[len(self._errors) :]:
            self._errors.append(reconstruction_errors(self.moments, V))
        return np.array(self._errors)

    def _cut(self, normal: np.ndarray) -> float:
        """Add the supporting half-space with this normal; return the least <normal, s> over all planes."""
        w, U = np.linalg.eigh(np.tensordot(normal, self.moments, axes=1))
        support = float(normal @ self.traces - w[len(w) - self.d :].sum())
        self.planes.append(U[:, len(w) - self.d :])
        self._normals = np.vstack((self._normals, normal))
        self._offsets = np.append(self._offsets, support)
        return support

    def tighten(self, upper: float) -> bool:
        """Shrink the box to the errors at which no chord exceeds `upper`; return whether it shrank notably.

        The chords that no linear programme has met are left out, which makes the box larger and not wrong.
        """
        constants, slopes = (chords[self._used] for chords in self.chords())
        m = len(self.low)
        rows = np.vstack((slopes, -self._normals))
        limits = np.concatenate((upper - constants, -self._offsets))
        before = self.high - self.low
        margin = 1e-9 * self.traces  # room for the linear programmes' tolerance
        low, high = self.low.copy(), self.high.copy()
        box = list(zip(self.low, self.high, strict=True))
        for b in range(m):
            if perf_counter() > self.deadline:
                break
            for sign in (1.0, -1.0):
                solution = linprog(sign * np.eye(m)[b], A_ub=rows, b_ub=limits, bounds=box, method="highs")
                if solution.status != 0:
                    continue
                if sign > 0:
                    low[b] = max(low[b], solution.x[b] - margin[b])
                else:
                    high[b] = min(high[b], solution.x[b] + margin[b])
        self.low, self.high = low, np.maximum(high, low)
        return bool(np.any(self.high - self.low < 0.9 * before))

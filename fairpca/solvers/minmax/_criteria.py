"""The criteria as costs on a Fantope: what the bundle needs to know of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairpca.solvers.minmax._fantope import solve_fantope_minmax
from fairpca.solvers.minmax._nash import solve_fantope_nash
from fairpca.solvers.minmax._newton_polish import FacePoint
from fairpca.solvers.minmax._problem import ROUNDING

__all__ = ["Criterion", "GeometricMean", "Small", "WorstGroup", "simplex_minimum"]


class Small(NamedTuple):
    """Solution in the working matrices: where P is, what groups keep, and the weights that prove it."""

    point: FacePoint
    variances: np.ndarray
    weights: np.ndarray
    steps: int


class WorstGroup:
    """Largest ``references - variances``: loss, error, or (with references of zero) the least variance.

    Like :class:`GeometricMean` it is a convex function of the variances that groups keep, to be minimised.
    """

    kinked = True

    def __init__(self, references: np.ndarray) -> None:
        self.references = references

    def solve(self, S: np.ndarray, d: int, start: np.ndarray | None, deadline: float = np.inf) -> Small:
        """Minimise over the Fantope of the working matrices."""
        point, steps = solve_fantope_minmax(S, self.references, d, start=start, deadline=deadline)
        return Small(point, self.references - point.losses, point.weights, steps)

    def cost(self, variances: np.ndarray) -> float:
        """Return the value where groups keep these variances: the largest difference."""
        return float((self.references - variances).max())

    def dual(self, weights: np.ndarray, top_sum: float) -> float:
        """Return the lower bound that weights prove, given the sum of the d largest eigenvalues of their matrix."""
        return float(weights @ self.references) - top_sum

    def unit(self, cost: float) -> float:
        """Return what a relative gap is relative to: the cost itself."""
        return abs(cost)

    def floor(self, variances: np.ndarray, traces: np.ndarray) -> float:
        """Return the gap that rounding of the data leaves in the groups that decide.

        These reach the cost, up to rounding of their own.
        """
        differences = self.references - variances
        return float(ROUNDING * traces[differences + ROUNDING * traces >= differences.max()].max())

    def size(self, variances: np.ndarray, traces: np.ndarray) -> float:
        """Return the size of the numbers whose rounding enters the cost: the largest trace."""
        return float(traces.max())

    def scale(self, size: float) -> float:
        """Return what a gain of the model is relative to, where the multipliers' matrix has this size."""
        return size

    def multipliers(self, variances: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the groups' weights in the Lagrangian: those of the last step."""
        return weights

    def step(self, variances: np.ndarray, K: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the groups' shares in the step that the quadratic model asks for, and the gain that it promises.

        K are the inner products of the groups' gradients in the metric of the curvatures. The dual of the model is
        minimised over the simplex.
        """
        gains = variances - self.references
        gains -= gains.min()
        shares = simplex_minimum(K, gains, weights)
        return shares, float(shares @ gains + shares @ K @ shares)

    def newton(self, variances: np.ndarray, K: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray | None, int]:
        """Return the shares that make the groups with a weight equal, to second order, if there are any.

        Curvatures may be negative. Also returned is how many negative ones the criterion itself holds down: with fewer
        the step may lead to a saddle.
        """
        tight = np.flatnonzero(weights)
        K, n = K[np.ix_(tight, tight)], len(tight)
        held = int(np.count_nonzero(np.linalg.eigvalsh(K[1:, 1:] - K[:1, 1:] - K[1:, :1] + K[0, 0]) < 0))
        size = float(np.abs(K).max()) or 1.0
        A = np.ones((n + 1, n + 1))
        A[:n, :n], A[n, n] = 2.0 * K / size, 0.0
        gains = (variances - self.references)[tight]
        solved = np.linalg.lstsq(A, np.append((gains.min() - gains) / size, 1.0), rcond=1e-14)[0][:n]
        if solved.min() < 0:
            return None, held
        shares = np.zeros(len(weights))
        shares[tight] = solved
        return shares, held


class GeometricMean:
    """Minus the mean logarithm of the variances, none of them zero; differences of it are relative ones."""

    kinked = False

    def solve(self, S: np.ndarray, d: int, start: np.ndarray | None, deadline: float = np.inf) -> Small:
        """Minimise over the Fantope of the working matrices."""
        point, weights, steps = solve_fantope_nash(S, d, start=start, deadline=deadline)
        return Small(point, (1.0 - point.losses) / weights, weights, steps)

    def cost(self, variances: np.ndarray) -> float:
        """Return minus the mean logarithm."""
        return float(-np.log(variances).mean()) if variances.min() > 0 else np.inf

    def dual(self, weights: np.ndarray, top_sum: float) -> float:
        """Return the bound on the ray of the weights."""
        return float(np.log(weights).mean() - np.log(top_sum / len(weights)))

    def unit(self, cost: float) -> float:
        """Return one: the cost is a logarithm."""
        return 1.0

    def floor(self, variances: np.ndarray, traces: np.ndarray) -> float:
        """Return a rounding of the logarithms."""
        return ROUNDING

    def size(self, variances: np.ndarray, traces: np.ndarray) -> float:
        """Return the largest ratio of a trace to what is kept of it, because the cost is a logarithm."""
        return float((traces / variances).max()) if variances.min() > 0 else np.inf

    def scale(self, size: float) -> float:
        """Return one: the cost is a logarithm."""
        return 1.0

    def multipliers(self, variances: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the slopes of the mean logarithm."""
        return 1.0 / (len(variances) * variances)

    def step(self, variances: np.ndarray, K: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Take Newton's step, the curvature of the logarithm included."""
        bent = np.eye(len(K)) + 2.0 * len(K) * (weights**2)[:, None] * K
        shares = np.linalg.solve(bent, weights)
        return shares, float(weights @ K @ shares)

    def newton(self, variances: np.ndarray, K: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray | None, int]:
        """Take the same step; `K` may have negative curvatures."""
        slopes = self.multipliers(variances, weights)
        units = np.outer(slopes, slopes) * (2.0 * len(K))
        held = int(np.count_nonzero(np.linalg.eigvalsh(np.eye(len(K)) + units * K) < 0))
        return self.step(variances, K, slopes)[0], held


Criterion = WorstGroup | GeometricMean


def simplex_minimum(K: np.ndarray, slopes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Minimise ``w'Kw + slopes'w`` over the simplex by active sets, from weights whose zeros are a first guess.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        Positive semidefinite.
    slopes : ndarray of shape (m,)
        Not negative, the least of them zero.
    weights : ndarray of shape (m,)
        Not negative, not all zero.

    Returns
    -------
    ndarray of shape (m,)
        On the simplex.
    """
    m = len(K)
    w, free = weights / weights.sum(), weights > 0
    size = float(np.abs(K).max()) or 1.0
    K, slopes = K / size, slopes / size
    K[np.diag_indices(m)] += 1e-13 * np.diagonal(K) + 1e-26  # in each group's own unit
    for _ in range(10 * m):  # every active set is met once; the limit is for rounding
        i = np.flatnonzero(free)
        A = np.ones((len(i) + 1, len(i) + 1))
        A[:-1, :-1], A[-1, -1] = 2.0 * K[np.ix_(i, i)], 0.0
        trial = np.linalg.solve(A, np.append(-slopes[i], 1.0))
        x, level = trial[:-1], trial[-1]
        if x.min() >= 0:
            w[i] = x
            rest = 2.0 * K @ w + slopes + level
            rest[i] = 0.0
            if rest.min() >= -1e-13 * max(1.0, abs(level)):
                break
            free[int(np.argmin(rest))] = True
        else:
            falling = i[x < 0]
            steps = w[falling] / (w[falling] - x[x < 0])
            w[i] += steps.min() * (x - w[i])
            gone = falling[int(np.argmin(steps))]
            w[gone], free[gone] = 0.0, False
    w = np.maximum(w, 0.0)
    return w / w.sum()

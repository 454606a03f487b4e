"""The criteria as costs on a Fantope: what the bundle needs to know of each."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from fairpca.solvers.minmax._fantope import solve_fantope_minmax
from fairpca.solvers.minmax._nash import solve_fantope_nash
from fairpca.solvers.minmax._polish import FacePoint
from fairpca.solvers.minmax._problem import ROUNDING

__all__ = ["Criterion", "GeometricMean", "Small", "WorstGroup"]


class Small(NamedTuple):
    """Solution in the working matrices: where P is, what groups keep, and the weights that prove it."""

    point: FacePoint
    variances: np.ndarray
    weights: np.ndarray
    steps: int


class Criterion(Protocol):
    """A convex function of the variances that groups keep, to be minimised."""

    def solve(self, S: np.ndarray, d: int, start: np.ndarray | None, deadline: float = np.inf) -> Small:
        """Minimise over the Fantope of the working matrices."""

    def cost(self, variances: np.ndarray) -> float:
        """Return the value where groups keep these variances."""

    def dual(self, weights: np.ndarray, top_sum: float) -> float:
        """Return the lower bound that weights prove, given the sum of the d largest eigenvalues of their matrix."""

    def unit(self, cost: float) -> float:
        """Return what a relative gap is relative to."""

    def floor(self, variances: np.ndarray, traces: np.ndarray) -> float:
        """Return the gap that rounding of the data leaves."""


class WorstGroup:
    """Largest ``references - variances``: loss, error, or (with references of zero) the least variance."""

    def __init__(self, references: np.ndarray) -> None:
        self.references = references

    def solve(self, S: np.ndarray, d: int, start: np.ndarray | None, deadline: float = np.inf) -> Small:
        """Minimise over the Fantope of the working matrices."""
        point, steps = solve_fantope_minmax(S, self.references, d, start=start, deadline=deadline)
        return Small(point, self.references - point.losses, point.weights, steps)

    def cost(self, variances: np.ndarray) -> float:
        """Return the largest difference."""
        return float((self.references - variances).max())

    def dual(self, weights: np.ndarray, top_sum: float) -> float:
        """Return the weighted references less the sum."""
        return float(weights @ self.references) - top_sum

    def unit(self, cost: float) -> float:
        """Return the cost itself."""
        return abs(cost)

    def floor(self, variances: np.ndarray, traces: np.ndarray) -> float:
        """Return the rounding of the groups that decide: those that reach the cost, up to rounding of their own."""
        differences = self.references - variances
        return float(ROUNDING * traces[differences + ROUNDING * traces >= differences.max()].max())


class GeometricMean:
    """Minus the mean logarithm of the variances, none of them zero; differences of it are relative ones."""

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

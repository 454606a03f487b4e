"""MBF-PCA as a smooth problem on the Grassmannian of the row space, with the record of what has been found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from fairpca.linalg import orthonormal
from fairpca.solvers.mmd.approx import FourierRows
from fairpca.solvers.mmd.kernel import WeightedRows

__all__ = ["STATIONARY", "Budget", "Evaluation", "MBFProblem", "Record", "Term", "row_space"]

STATIONARY = 1e-3  # relative KKT residual up to which a point counts as stationary
_TILT, _NEARLY = 0.3, 0.02  # radians from PCA, and from the directions without variance
_RANK_TOLERANCE = 1e-10  # eigenvalues of the covariance below this share of the largest count as zero


Term = WeightedRows | FourierRows  # one squared MMD of the constraint: exact, or a stated approximation


class Budget(Exception):
    """Raised inside the search when the iteration budget is spent."""


@dataclass(frozen=True)
class Evaluation:
    """Values at one point: share of the variance kept, its gradient, MMD² and its gradient."""

    V: np.ndarray
    variance: float
    variance_slope: np.ndarray
    h: float
    h_slope: np.ndarray

    def _horizontal(self, slope: np.ndarray) -> np.ndarray:
        return slope - self.V @ (self.V.T @ slope)

    @property
    def scale(self) -> float:
        """Norm of the variance's gradient along the Grassmannian, or a thousandth of the whole one if larger.

        The second is for points near PCA, where the first vanishes.
        """
        whole = float(np.linalg.norm(self.variance_slope))
        return max(float(np.linalg.norm(self._horizontal(self.variance_slope))), 1e-3 * whole, 1e-300)

    @property
    def multiplier(self) -> float:
        """Least-squares Lagrange multiplier of h <= τ, not negative."""
        slope = self._horizontal(self.h_slope)
        return max(float(np.vdot(slope, self.variance_slope)), 0.0) / max(float(np.vdot(slope, slope)), 1e-300)

    @property
    def kkt_residual(self) -> float:
        """Norm of the Lagrangian's gradient along the Grassmannian, relative to `scale`."""
        if not np.any(self.variance_slope):  # nothing but directions without variance
            return 0.0
        rest = self._horizontal(self.variance_slope - self.multiplier * self.h_slope)
        return float(np.linalg.norm(rest)) / self.scale


def row_space(covariance: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return a basis of the row space (principal axes first), its spectrum, and the rank.

    After the principal axes come ``min(n_components, p - rank)`` directions without variance: an exact solution
    may use that many of them, never more.

    Parameters
    ----------
    covariance : ndarray of shape (p, p)
        Covariance of all rows.
    n_components : int
        Dimension d of the subspace.

    Returns
    -------
    tuple of ndarray of shape (p, q), ndarray of shape (q,) and int
        Orthonormal basis, variances along it (descending, zero after the first `rank`), and the rank: the number of
        eigenvalues above 1e-10 times the largest. q is ``rank + min(n_components, p - rank)``.
    """
    w, Q = np.linalg.eigh(covariance)
    w, Q = np.clip(w[::-1], 0.0, None), Q[:, ::-1]
    rank = int(np.sum(w > _RANK_TOLERANCE * max(w[0], np.finfo(float).tiny)))
    size = rank + min(n_components, len(w) - rank)
    spectrum = w[:size].copy()
    spectrum[rank:] = 0.0
    return Q[:, :size], spectrum, rank


@dataclass
class Record:
    """Best feasible and least unfair subspaces over every point that the search evaluated."""

    tau: float
    feasible: Evaluation | None = None
    fairest: Evaluation | None = None
    n_evaluations: int = 0
    n_iter: int = 0
    infeasible_minimum: bool = False  # whether a penalty path ended in a local minimum of h above the tolerance
    history: list[tuple[int, float, float, float]] = field(default_factory=list)

    def see(self, e: Evaluation) -> None:
        """Take note of a point."""
        if self.fairest is None or e.h < self.fairest.h:
            self.fairest = e
        if e.h <= self.tau and (self.feasible is None or e.variance > self.feasible.variance):
            self.feasible = e


class MBFProblem:
    """Maximise the share of variance tr V'ΣV / tr Σ subject to h(V) <= τ, Eq. (8) of Lee et al. with a tolerance.

    Parameters
    ----------
    spectrum : ndarray of shape (q,)
        Variances along the working coordinates (principal axes, then directions without variance).
    rank : int
        Number of positive variances.
    terms : sequence of Term
        Squared MMDs in working coordinates; h is their sum.
    sigma : float
        Bandwidth σ.
    n_components : int
        Dimension d of the subspace.
    tau : float
        Tolerance τ.
    tol : float
        Tolerance of the subproblems' gradients.
    max_iter : int
        Budget of inner iterations, over all subproblems together.
    n_threads : int
        Threads of the kernel.
    verbose : int
        Whether to print each subproblem.
    deadline : float
        Time of ``perf_counter`` at which the budget is spent, too.
    """

    def __init__(
        self,
        spectrum: np.ndarray,
        rank: int,
        terms: Sequence[Term],
        sigma: float,
        n_components: int,
        tau: float,
        tol: float = 1e-6,
        max_iter: int = 50000,
        n_threads: int = 1,
        verbose: int = 0,
        deadline: float = np.inf,
    ) -> None:
        self.spectrum = spectrum / spectrum.sum()
        self.rank = rank
        self.terms = terms
        self.sigma = sigma
        self.n_components = n_components
        self.tau = tau
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads
        self.verbose = verbose
        self.deadline = deadline
        self.record = Record(tau)
        self.started = perf_counter()
        self._last: Evaluation | None = None

    @property
    def size(self) -> int:
        """Dimension q of the working space."""
        return len(self.spectrum)

    def evaluate(self, V: np.ndarray) -> Evaluation:
        """Return values and gradients at V (the last point is remembered) and enter the point in the record."""
        if self._last is not None and self._last.V is V:
            return self._last
        h, slope = 0.0, np.zeros_like(V)
        for term in self.terms:
            value, gradient = term.value_and_gradient(V, self.sigma, self.n_threads)
            h += value
            slope += gradient
        weighted = self.spectrum[:, None] * V
        self._last = Evaluation(V, float(np.vdot(V, weighted)), 2.0 * weighted, max(h, 0.0), slope)
        self.record.n_evaluations += 1
        self.record.see(self._last)
        return self._last

    def spend(self) -> None:
        """Count one inner iteration against the budget."""
        self.record.n_iter += 1
        if self.record.n_iter >= self.max_iter or perf_counter() > self.deadline:
            raise Budget

    def log(self, what: str, rho: float, e: Evaluation) -> None:
        """Enter a solved subproblem in the history and, on request, print it."""
        record = self.record
        record.history.append((record.n_evaluations, rho, e.h, e.variance))
        if self.verbose:
            best = "none yet" if record.feasible is None else f"{100 * record.feasible.variance:.4f} %"
            print(
                f"[MBFPCA] {perf_counter() - self.started:7.2f} s  {what:<12} rho {rho:9.3e}  "
                f"MMD² {e.h:9.3e}  variance {100 * e.variance:8.4f} %  best feasible {best}"
            )

    def pca(self) -> np.ndarray:
        """Return the first principal axes."""
        return np.eye(self.size, self.n_components)

    def tilted_pca(self, rng: np.random.Generator) -> np.ndarray:
        """Return PCA, tilted towards directions without variance at random.

        No gradient ever leaves the row space: a search that starts in it cannot use these directions.
        """
        V = self.pca()
        V[self.rank :] += np.tan(_TILT) * self._null_part(rng)
        return orthonormal(V)

    def nearly_null(self, rng: np.random.Generator) -> np.ndarray:
        """Return a random subspace close to the directions without variance, as far as there are any."""
        V = np.sin(_NEARLY) * self.random(rng)
        V[self.rank :] = np.cos(_NEARLY) * self._null_part(rng)
        return orthonormal(V)

    def _null_part(self, rng: np.random.Generator) -> np.ndarray:
        n_null, d = self.size - self.rank, self.n_components
        return orthonormal(rng.standard_normal((d, d)))[:n_null]

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Return a random subspace."""
        return orthonormal(rng.standard_normal((self.size, self.n_components)))

    def spread_out(self, rng: np.random.Generator, count: int) -> list[np.ndarray]:
        """Return subspaces that leave no large gap: all directions of a plane at equal angles, else random ones."""
        if (self.size, self.n_components) != (2, 1):
            return [self.random(rng) for _ in range(count)]
        angles = np.pi * np.arange(count) / count
        return list(np.stack((np.cos(angles), np.sin(angles)), axis=1)[:, :, None])

    def discrepancy(self, V: np.ndarray) -> float:
        """Return h(V) alone, which is not entered in the record."""
        return sum(term.value(V, self.sigma, self.n_threads) for term in self.terms)

    def summary(self) -> dict[str, Any]:
        """Return the history as arrays."""
        columns = np.array(self.record.history, dtype=float).reshape(-1, 4).T
        return dict(zip(("evaluations", "rho", "mmd2", "variance"), columns, strict=True))

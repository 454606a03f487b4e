"""MBF-PCA as a smooth problem on the Grassmannian of the row space, with the record of what has been found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from fairpca.linalg import orthonormal

__all__ = ["Budget", "Evaluation", "MBFProblem", "Record", "Term", "row_space"]

_RANK_TOLERANCE = 1e-10  # eigenvalues of the covariance below this share of the largest count as zero


class Term(Protocol):
    """One squared MMD of the constraint (exact or a stated approximation)."""

    def value(self, V: np.ndarray, sigma: float, n_threads: int = 1) -> float:
        """Return h(V)."""

    def value_and_gradient(self, V: np.ndarray, sigma: float, n_threads: int = 1) -> tuple[float, np.ndarray]:
        """Return h(V) and its Euclidean gradient."""

    def laplacian(self, V: np.ndarray, sigma: float) -> np.ndarray:
        """Return X'LX at V, for which the gradient is -(2/σ²) X'LX V."""

    def jacobian(self, V: np.ndarray, directions: np.ndarray, sigma: float) -> np.ndarray:
        """Return the rows a_w of the rank-one derivatives a_w w' of the Fourier features."""


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


def row_space(covariance: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return a basis of the row space (principal axes first), its spectrum, and the rank.

    After the principal axes come ``min(n_components, p - rank)`` directions without variance: an exact solution
    may use that many of them, never more.
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
    history: list[tuple[int, float, float, float]] = field(default_factory=list)

    def see(self, e: Evaluation) -> None:
        """Take note of an admissible subspace of full dimension."""
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
        whole = self.completed(V)
        if whole is V:
            self.record.see(self._last)
        elif whole is not None:  # directions without variance change neither the variance nor h
            self.record.see(Evaluation(whole, self._last.variance, np.empty(0), self._last.h, np.empty(0)))
        return self._last

    def spend(self) -> None:
        """Count one inner iteration against the budget."""
        self.record.n_iter += 1
        if self.record.n_iter >= self.max_iter:
            raise Budget

    def completed(self, V: np.ndarray) -> np.ndarray | None:
        """Return V padded to full dimension with directions without variance, or None if there are too few."""
        missing = self.n_components - V.shape[1]
        if missing == 0:
            return V
        free = self.free_directions(V)
        if free.shape[1] < missing:
            return None
        return np.column_stack((V, free[:, :missing]))

    def free_directions(self, V: np.ndarray) -> np.ndarray:
        """Return an orthonormal basis of the directions without variance that are orthogonal to V."""
        n_null = self.size - self.rank
        if n_null == 0:
            return np.zeros((self.size, 0))
        part = V[self.rank :]
        if not np.any(part):
            coordinates = np.eye(n_null)
        else:
            U, singular, _ = np.linalg.svd(part, full_matrices=True)
            coordinates = U[:, int(np.sum(singular > 1e-12)) :]
        return np.vstack((np.zeros((self.rank, coordinates.shape[1])), coordinates))

    def curvature_matrix(self, V: np.ndarray, rho: float) -> np.ndarray:
        """Return A(V) = -2Σ - (2ρ/σ²) X'LX, for which the gradient of f + ρh is A(V) V."""
        A = np.diag(-2.0 * self.spectrum)
        for term in self.terms:
            A -= (2.0 * rho / self.sigma**2) * term.laplacian(V, self.sigma)
        return A

    def log(self, what: str, rho: float, e: Evaluation) -> None:
        """Enter a solved subproblem in the history and, on request, print it."""
        record = self.record
        record.history.append((record.n_evaluations, rho, e.h, e.variance))
        if self.verbose:
            best = "none yet" if record.feasible is None else f"{100 * record.feasible.variance:.4f} %"
            print(
                f"[MBFPCA] {perf_counter() - self.started:7.2f} s  {what:<12} rank {e.V.shape[1]:<3d} rho {rho:9.3e}  "
                f"MMD² {e.h:9.3e}  variance {100 * e.variance:8.4f} %  best feasible {best}"
            )

    def pca(self, k: int) -> np.ndarray:
        """Return the first k principal axes."""
        return np.eye(self.size, k)

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Return a random subspace."""
        return orthonormal(rng.standard_normal((self.size, self.n_components)))

    def summary(self) -> dict[str, Any]:
        """Return the history as arrays."""
        columns = np.array(self.record.history, dtype=float).reshape(-1, 4).T
        return dict(zip(("evaluations", "rho", "mmd2", "variance"), columns, strict=True))

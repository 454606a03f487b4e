"""Gauss-Newton preconditioner for f + ρh from random Fourier features: approximate, so that h need not be."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fairpca.solvers.mbf._problem import MBFProblem
from fairpca.solvers.mmd.approx import gaussian_frequencies

__all__ = ["GaussNewton"]


class GaussNewton:
    """Inverse of B = (2ρ/F) J'J + δI, with h ≈ mean over F frequencies w of |Σ_i c_i exp(i w'V'x_i)|².

    The rows of J are the rank-one matrices a_w w', so that J'J acts at the cost of two thin products and J J' is
    an entrywise product of two small Gram matrices: B is inverted by Woodbury's formula, or directly where the
    unknowns are fewer than the features. δ is twice the mean eigenvalue of Σ / tr Σ.

    Parameters
    ----------
    problem : MBFProblem
        The problem.
    rho : float
        Penalty ρ.
    d : int
        Number of columns of the points.
    n_features : int, default=64
        Number of frequencies F.
    """

    def __init__(self, problem: MBFProblem, rho: float, d: int, n_features: int = 64) -> None:
        self._problem = problem
        self._weight = 2.0 * rho / n_features
        self._delta = 2.0 / problem.size
        self._frequencies = gaussian_frequencies(n_features, d, 0) / problem.sigma
        self._factor: Any = None

    def refresh(self, V: np.ndarray) -> None:
        """Rebuild the matrix at a new point."""
        problem = self._problem
        directions = V @ self._frequencies.T
        rows = np.concatenate([term.jacobian(V, directions, problem.sigma) for term in problem.terms])
        self._rows = rows
        self._waves = np.tile(self._frequencies, (len(rows) // len(self._frequencies), 1))
        n_rows, (q, d) = len(rows), V.shape
        self._direct = q * d <= n_rows
        if self._direct:
            J = (rows[:, :, None] * self._waves[:, None, :]).reshape(n_rows, q * d)
            B = self._weight * (J.T @ J)
            B[np.diag_indices_from(B)] += self._delta
        else:
            B = (rows @ rows.T) * (self._waves @ self._waves.T)
            B[np.diag_indices_from(B)] += self._delta / self._weight
        self._factor = cho_factor(B, check_finite=False, overwrite_a=True)

    def __call__(self, V: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the horizontal part of B⁻¹ times a horizontal vector."""
        if self._factor is None:
            self.refresh(V)
        if self._direct:
            solved = cho_solve(self._factor, vector.ravel(), check_finite=False).reshape(vector.shape)
        else:
            image = np.einsum("ij,ij->i", self._rows @ vector, self._waves)
            multiplier = cho_solve(self._factor, image, check_finite=False)
            solved = (vector - self._rows.T @ (multiplier[:, None] * self._waves)) / self._delta
        return solved - V @ (V.T @ solved)

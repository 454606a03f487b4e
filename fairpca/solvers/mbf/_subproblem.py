"""One penalised subproblem, min f(V) + ρ h(V) over the Grassmannian, Eq. (9) of Lee et al."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fairpca.solvers.manifold.bfgs import Grassmann, limited_rbfgs
from fairpca.solvers.mbf._problem import Evaluation, MBFProblem
from fairpca.solvers.mmd.approx import gaussian_frequencies

__all__ = ["GaussNewton", "minimise", "minimise_mmd"]

_FEW, _MANY, _LARGE_RHO = 64, 256, 100.0  # frequencies of the preconditioner, and the penalty from which more pay
_REFRESH = 25  # accepted steps between two factorisations of the preconditioner


def minimise(
    problem: MBFProblem,
    V: np.ndarray,
    rho: float,
    *,
    tol: float | None = None,
    max_steps: int = 200,
    gauss_newton: bool = True,
    weight: float = 1.0,
    bend: float = 0.0,
    target: float = 0.0,
    enough: float = 0.0,
) -> Evaluation:
    """Minimise ``weight * f + rho * h`` or an augmented Lagrangian from V by L-RBFGS; return the last point.

    Parameters
    ----------
    problem : MBFProblem
        Supplies f, h and their gradients, and keeps the record.
    V : ndarray of shape (q, d)
        Start.
    rho : float
        Penalty ρ.
    tol : float, optional
        Norm of the gradient at which to stop; by default the problem's own times the larger of 1 and √ρ.
    max_steps : int
        Cap on the accepted steps.
    gauss_newton : bool
        Whether to precondition.
    weight : float
        Factor of f; 0 minimises the MMD alone.
    bend, target : float
        With a positive `bend`, ``rho * h`` gives way to ``(max(rho + bend * (h - target), 0)² - rho²) / (2 bend)``,
        the augmented Lagrangian of the *inequality* h <= target with multiplier `rho`: it never rewards a larger h.
    enough : float
        Value of h at which to stop.

    Returns
    -------
    Evaluation
        Values at the last point.
    """
    if V.shape[0] == V.shape[1]:
        return problem.evaluate(V)  # the whole space is a single point of the Grassmannian
    n_features = _MANY if rho >= _LARGE_RHO and V.shape[1] > 2 else _FEW
    preconditioner = GaussNewton(problem, rho, V.shape[1], n_features) if gauss_newton else None

    def function(point: np.ndarray) -> tuple[float, np.ndarray]:
        e = problem.evaluate(point)
        force = max(rho + bend * (e.h - target), 0.0)
        fairness = rho * e.h if bend == 0 else 0.5 * (force**2 - rho**2) / bend
        return fairness - weight * e.variance, force * e.h_slope - weight * e.variance_slope

    def accepted(iteration: int, point: np.ndarray) -> bool:
        problem.spend()
        if preconditioner is not None and iteration % _REFRESH == 0:
            preconditioner.refresh(point)
        return enough > 0 and problem.evaluate(point).h <= enough

    end = limited_rbfgs(
        function,
        Grassmann(*V.shape),
        np.array(V, copy=True),
        problem.tol * max(1.0, np.sqrt(rho)) if tol is None else tol,
        max_steps,
        callback=accepted,
        memory=25,
        max_stalled=6,
        min_decrease=1e-11,
        **({} if preconditioner is None else {"precondition": preconditioner}),
    )
    return problem.evaluate(end)


def minimise_mmd(problem: MBFProblem, V: np.ndarray) -> Evaluation:
    """Minimise h alone from V (scaled so that its value at V is one) until it meets the tolerance."""
    start = problem.evaluate(V)
    if start.h <= problem.tau:
        return start
    return minimise(problem, V, 1.0 / start.h, weight=0.0, enough=problem.tau, max_steps=300, tol=1e-7)


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

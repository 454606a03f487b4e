"""FPCA with the mean constraint alone: a closed form or a one-dimensional dual, always with a projector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh_tridiagonal, eigvalsh_tridiagonal, hessenberg

from fairpca.linalg import geodesic, orthonormal, symmetrise, top_eigenpairs
from fairpca.solvers.spectral import avoiding_eigenpairs, zero_between

__all__ = ["MeanOnlySolution", "solve_mean_only"]


@dataclass(frozen=True)
class MeanOnlySolution:
    """Orthonormal V of shape (p, d), the multiplier ν, the dual bound, and the eigenproblems solved."""

    V: np.ndarray
    multiplier: float
    objective: float
    upper: float
    n_iter: int


def solve_mean_only(S: np.ndarray, f: np.ndarray, n_components: int, *, level: float = 0.0) -> MeanOnlySolution:
    r"""Maximise :math:`\langle S,VV^\top\rangle` over orthonormal V with :math:`\|V^\top f\|^2\le` `level`, exactly.

    This is (13) of Lee et al. (2022) without its covariance constraint. For level 0 the answer is PCA in the
    complement of f. Otherwise :math:`g(\nu)=\Sigma^\downarrow_d(S-\nu\hat f\hat f^\top)+\nu b` is convex and its
    minimiser gives the answer; the semidefinite relaxation is always tight (Theorem F3), so V is optimal for the
    relaxation too. Where the minimiser is a crossing of eigenvalues, V is rotated inside the tied eigenspace
    until the constraint holds with equality.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Symmetric.
    f : ndarray of shape (p,)
        Difference of the groups' means; zero means that there is no constraint.
    n_components : int
        d, at most p, and at most p − 1 where the constraint excludes the whole space.
    level : float, default=0.0
        δ².

    Returns
    -------
    MeanOnlySolution
        `upper` is g at the minimiser, a proven upper bound.
    """
    S = symmetrise(np.asarray(S, dtype=np.float64))
    length = float(np.linalg.norm(f))
    d = n_components
    if length == 0 or level / length**2 >= 1.0:
        w, V = top_eigenpairs(S, d)
        return MeanOnlySolution(V, 0.0, float(w.sum()), float(w.sum()), 1)
    b = level / length**2
    fh = f / length
    if d >= len(f):
        raise ValueError(
            f"n_components={d} with n_features={len(f)} leaves no subspace that avoids f; choose at most {len(f) - 1}."
        )
    if b < 1e-24:
        w, V = avoiding_eigenpairs(S, fh[:, None], d)
        return MeanOnlySolution(V, float("inf"), float(w.sum()), float(w.sum()), 1)
    return _by_dual(S, fh, d, b)


class _Tridiagonal:
    """S in an orthonormal basis that begins with f̂ and in which S is tridiagonal.

    There S − ν f̂f̂' differs from S in its first entry only, so that a step of the dual costs O(pd) and not O(p³).
    """

    def __init__(self, S: np.ndarray, fh: np.ndarray) -> None:
        Q = np.linalg.qr(fh[:, None], mode="complete")[0]
        T, within = hessenberg(Q.T @ S @ Q, calc_q=True, check_finite=False)
        self.basis = Q @ within  # Hessenberg's reduction leaves the first vector, ±f̂, as it is
        self.diagonal, self.beside = np.diagonal(T).copy(), np.diagonal(T, -1).copy()

    def norm(self) -> float:
        """Return the largest absolute eigenvalue of S."""
        return float(np.abs(eigvalsh_tridiagonal(self.diagonal, self.beside, check_finite=False)).max())

    def top_eigenpairs(self, nu: float, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the `d` largest eigenvalues of S − ν f̂f̂', descending, and their vectors in this basis."""
        diagonal = self.diagonal.copy()
        diagonal[0] -= nu
        p = len(diagonal)
        chosen = {"select": "i", "select_range": (p - d, p - 1), "lapack_driver": "stebz"}
        try:
            w, V = eigh_tridiagonal(diagonal, self.beside, **chosen, check_finite=False)
        except np.linalg.LinAlgError:  # a tie across the cut, for which bisection finds no d-th eigenvalue
            w, V = eigh_tridiagonal(diagonal, self.beside, check_finite=False)
        return w[: -d - 1 : -1], V[:, : -d - 1 : -1]


def _by_dual(S: np.ndarray, fh: np.ndarray, d: int, b: float) -> MeanOnlySolution:
    reduced = _Tridiagonal(S, fh)
    n_iter = 0

    def at(nu: float) -> tuple[float, np.ndarray, float]:
        nonlocal n_iter
        n_iter += 1
        w, V = reduced.top_eigenpairs(nu, d)
        return float(np.sum(V[0] ** 2)) - b, V, float(w.sum()) + nu * b

    def solution(V: np.ndarray, nu: float, dual: float) -> MeanOnlySolution:
        V = orthonormal(reduced.basis @ V)
        return MeanOnlySolution(V, nu, float(np.vdot(V, S @ V)), dual, n_iter)

    excess, V, dual = at(0.0)
    if excess <= 0.0:
        return solution(V, 0.0, dual)
    low, at_low, V_low = 0.0, excess, V
    high = max(reduced.norm(), 1e-300)
    at_high, V_high, dual = at(high)
    while at_high > 0.0:
        low, at_low, V_low = high, at_high, V_high
        high *= 4.0
        at_high, V_high, dual = at(high)
    nu, excess, V = high, at_high, V_high
    weight_low, weight_high = at_low, at_high  # Illinois: halve a weight whose end has not moved
    for step in range(200):
        if abs(excess) <= 1e-13 * b or high - low <= 4e-16 * high:
            break
        nu = low + (high - low) * weight_low / (weight_low - weight_high)
        # Bisect now and then: at a crossing the secant would creep along a jump.
        if step % 4 == 3 or not low < nu < high:
            nu = 0.5 * (low + high)
        excess, V, dual = at(nu)
        if excess > 0.0:
            low, V_low, weight_low = nu, V, excess
            weight_high *= 0.5
        else:
            high, V_high, weight_high = nu, V, excess
            weight_low *= 0.5
    if abs(excess) > 1e-12 * b:
        path = geodesic(V_low, V_high)

        def along(u: float) -> float:
            return float(np.sum(path(u)[0] ** 2)) - b

        ends = along(0.0), along(1.0)
        V = path(zero_between(along)) if ends[0] > 0.0 > ends[1] else V_high
    return solution(V, nu, dual)

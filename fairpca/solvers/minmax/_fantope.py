"""Exact small semidefinite programme: the best point of a Fantope for the worst of several linear losses.

The relaxation (4) of Samadi et al. with any number of groups,

    min z   subject to   z >= a_g - <S_g, P> for all g,   0 <= P <= I,   tr P = d,

is solved along the central path of its dual. The dual has one variable for each group, so a Newton step costs one
eigen-decomposition and m rotations of q x q matrices, whatever the q (q + 1) / 2 entries of P.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fairpca.solvers.minmax._polish import FacePoint, face_point, polish, reduce_rank

__all__ = ["solve_fantope_minmax"]


_FIRST_POLISH, _LAST = 1e-5, 1e-9  # below the last, rounding of the eigenvalues blurs the fractional block


def _occupation(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p and 1 - p that solve ``1/(1 - p) - 1/p = x``, both without cancellation."""
    root = np.sqrt(x * x + 4.0)
    size = 4.0 / (root + np.abs(x))  # root - |x|
    small, large = 2.0 / (root + np.abs(x) + 2.0), 2.0 / (size + 2.0)
    return np.where(x > 0, large, small), np.where(x > 0, small, large)


def _level(w: np.ndarray, d: int, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Find the shift theta for which the occupations of ``(w - theta) / mu`` sum to `d`."""
    q = len(w)
    low, high = w[0] - mu * q * q, w[-1] + mu * q * q  # sums q - 1/q or more, and 1/q or less
    theta = float(np.clip(0.5 * (w[q - d] + w[q - d - 1]), low, high))
    for _ in range(200):
        p, rest = _occupation((w - theta) / mu)
        excess = float(p.sum()) - d if d <= q / 2 else (q - d) - float(rest.sum())
        if excess > 0:
            low = theta
        else:
            high = theta
        slope = float((1.0 / (1.0 / p**2 + 1.0 / rest**2)).sum()) / mu
        trial = theta + excess / slope
        if not low < trial < high:
            trial = 0.5 * (low + high)
        if abs(trial - theta) <= 1e-15 * max(abs(theta), mu) or abs(excess) <= 1e-15 * d:
            break
        theta = trial
    return p, rest


class _Path:
    """Value, gradient and Hessian of the dual with logarithmic barriers on P, I - P and the constraints."""

    def __init__(self, S: np.ndarray, a: np.ndarray, d: int) -> None:
        self.S, self.a, self.d = S, a, d

    def at(self, weights: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        w, U = np.linalg.eigh(np.tensordot(weights, self.S, 1))
        p, rest = _level(w, self.d, mu)
        B = U.T @ (self.S @ U)
        diagonals = np.diagonal(B, axis1=1, axis2=2)
        losses = self.a - diagonals @ p
        # Divided differences of p: no subtraction of eigenvalues, so ties are no special case.
        D = 1.0 / (mu * (1.0 / np.multiply.outer(p, p) + 1.0 / np.multiply.outer(rest, rest)))
        flat = B.reshape(len(B), -1)
        inner = (flat * D.ravel()) @ flat.T
        own = np.diagonal(D)
        mixed = diagonals @ own
        curvature = inner - np.multiply.outer(mixed, mixed) / own.sum()
        return losses, curvature, w, U, p


def _newton(curvature: np.ndarray, gradient: np.ndarray, weights: np.ndarray, mu: float) -> tuple[np.ndarray, float]:
    """Newton step along the simplex, and its decrement, in variables scaled by the weights.

    There the barrier's Hessian is mu times the identity, so no eigenvalue lies below mu except by rounding.
    """
    m = len(weights)
    N = np.linalg.svd(weights[None, :])[2][1:].T  # scaled directions whose weighted sum vanishes
    K = curvature * np.multiply.outer(weights, weights) + mu * np.eye(m)
    values, R = np.linalg.eigh(N.T @ K @ N)
    values = np.maximum(values, mu)
    T = N @ R
    slope = T.T @ (weights * gradient)
    step = weights * (T @ (slope / values))
    return step, float(np.sqrt(np.sum(slope * slope / values) / mu))


def solve_fantope_minmax(
    S: np.ndarray,
    a: np.ndarray,
    d: int,
    *,
    tol: float = 1e-14,
    start: np.ndarray | None = None,
    max_iter: int = 400,
) -> tuple[FacePoint, int]:
    """Minimise ``max_g a_g - <S_g, P>`` over ``0 <= P <= I, tr P = d``.

    Parameters
    ----------
    S : ndarray of shape (m, q, q)
        Symmetric matrices, ``q > d``.
    a : ndarray of shape (m,)
        Constants.
    d : int
        Trace.
    tol : float
        Gap at which to stop, relative to half the largest spread of a matrix's eigenvalues times d.
    start : ndarray of shape (m,), optional
        Weights to begin with; they are moved off the boundary.
    max_iter : int
        Newton steps in all.

    Returns
    -------
    (FacePoint, int)
        Primal point and dual weights, of lowest rank, whose values are exact, and the Newton steps taken.
    """
    m = len(S)
    # A multiple of the identity only shifts the losses. Without it nearly isotropic matrices are like any others.
    ends = np.linalg.eigvalsh(S)[:, [0, -1]]
    size = float(np.abs(ends).max())
    centre = ends.mean(axis=1)
    scale = max(float(np.ptp(ends, axis=1).max()) / 2, 1e-14 * size) or 1.0
    S = (S - centre[:, None, None] * np.eye(S.shape[1])) / scale
    a = (a - centre * d) / scale
    path = _Path(S, a, d)
    weights = np.full(m, 1.0 / m) if start is None else 0.9 * start / start.sum() + 0.1 / m
    mu = 1.0 if start is None else 1e-2
    best: FacePoint | None = None
    wanted = max(tol * d, 1e-15 * size / scale)  # the second is rounding of what was given
    n_iter = 0
    while True:
        for _ in range(50):
            losses, curvature, _w, U, p = path.at(weights, mu)
            n_iter += 1
            gradient = losses + mu / weights
            step, decrement = _newton(curvature, gradient, weights, mu)
            if decrement < 0.05 or n_iter >= max_iter:
                break
            weights = weights + (step if decrement < 0.25 else step / (1.0 + decrement))
            weights = weights / weights.sum()
        if mu <= _FIRST_POLISH or n_iter >= max_iter:
            for point in _candidates(S, a, d, weights, U, p, wanted):
                if best is None or point.gap < best.gap:
                    best = point
                if best.gap <= wanted:
                    break
        if best is not None and (best.gap <= wanted or mu <= _LAST or n_iter >= max_iter):
            break
        mu *= 0.1
    x = best
    spectrum = x.spectrum * scale + float(x.weights @ centre)
    return replace(x, spectrum=spectrum, losses=x.losses * scale, lower_bound=x.lower_bound * scale), n_iter


def _candidates(
    S: np.ndarray, a: np.ndarray, d: int, weights: np.ndarray, U: np.ndarray, p: np.ndarray, tol: float
) -> Iterator[FacePoint]:
    """Read the structure off a point of the central path with several thresholds, and polish each reading."""
    guess = (U * p) @ U.T
    seen = set()
    readings = [
        (int(np.sum(p > 1 - threshold)), int(np.sum((p >= threshold) & (p <= 1 - threshold))))
        for threshold in (1e-2, 1e-3, 1e-4, 1e-1, 1e-5)
    ]
    for n_ones, r in [*readings, (d, 0)]:
        if (n_ones, r) in seen or n_ones > d or n_ones + r < d:
            continue
        seen.add((n_ones, r))
        point = polish(S, a, d, face_point(S, a, d, weights, n_ones, r, guess), tol=tol)
        yield reduce_rank(S, a, d, point, tol=tol)

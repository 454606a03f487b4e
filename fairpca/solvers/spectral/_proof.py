"""Proofs about eigenvalues of a large matrix of which only a basis is known: a bound, not an estimate.

With A = Q'MQ, E the part of MQ outside the basis Q and C the compression of M to the complement of Q, completing the
square gives

    M <= diag(A + E'E / (sigma - c), sigma I)    for all sigma > c >= lambda_max(C).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf

__all__ = ["complement_below", "reduced_sum_bound"]


def complement_below(M: np.ndarray, Q: np.ndarray, lift: float, bound: float) -> bool:
    """Whether a Cholesky factor proves that `M` has no eigenvalue above `bound` in the complement of the basis `Q`.

    Any multiple of QQ' vanishes there; `lift` should be well above the norm of M.
    """
    shifted = np.asfortranarray((-M).T)  # M is symmetric; only the lower triangle is used
    shifted[np.diag_indices(len(M))] += bound
    shifted = dsyrk(lift, Q, beta=1.0, c=shifted, lower=1, overwrite_c=1)
    return bool(dpotrf(shifted, lower=1, overwrite_a=1)[1] == 0)


def reduced_sum_bound(
    A: np.ndarray, spill: np.ndarray, d: int, w: np.ndarray, Y: np.ndarray, outside: float, rounding: float
) -> float:
    """Return an upper bound on the sum of the `d` largest eigenvalues of M; infinite if `outside` is too large.

    Parameters
    ----------
    A, spill : ndarray of shape (q, q)
        Q'MQ and E'E.
    d : int
        How many.
    w, Y : ndarray
        Leading Ritz pairs, ascending, from this basis or when it was smaller.
    outside : float
        Bound on the largest eigenvalue of M in the complement of the basis.
    rounding : float
        How far squared residuals from `spill` may be off, relative to the squared norm.
    """
    theta = float(w[-d])
    if outside >= theta:
        return np.inf
    q = len(A)
    top = np.zeros((q, d))
    top[: len(Y)] = Y[:, -d:]
    below = max(float(w[-d - 1]) if len(w) > d else theta, outside)
    norm = max(abs(float(w[-1])), abs(float(w[0])))
    # The compression of M to what is orthogonal to the plane has no eigenvalue above `middle`, if a Cholesky factor
    # exists; then only the plane's own residuals count, divided by their distance to the rest.
    for share in (0.95, 0.5):
        middle = theta - share * (theta - below)
        if theta - middle <= 1e-6 * theta:
            break
        shifted = -A - spill / (middle - outside) + (10.0 * norm * top) @ top.T
        shifted[np.diag_indices(q)] += middle
        if dpotrf(shifted.T, lower=1, overwrite_a=1)[1] == 0:
            image = A @ top
            inside = top.T @ image
            within = image - top @ inside  # a difference of squares would leave the rounding of the squares
            residuals = max(float(np.vdot(top, spill @ top)), 0.0) + float(np.vdot(within, within))
            slack = d * rounding * norm**2
            return float(np.trace(inside)) + (residuals + slack) / (theta - middle)
    majorant = eigh(A + spill / (theta - outside), eigvals_only=True, subset_by_index=(q - d, q - 1))
    return float(np.maximum(majorant, theta).sum())

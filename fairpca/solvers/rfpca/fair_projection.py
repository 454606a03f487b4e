"""When does a plane with equal reconstruction errors exist (Definition 2.1 of Vu et al. 2022), and which one is it.

Their Proposition 2.2 says: if and only if rank(M_0 - M_1) <= d.  That is sufficient but not necessary
(M_0 = diag(2, 1), M_1 = diag(1, 2), d = 1 has the plane (1, 1)/sqrt(2) although the rank is 2).
The right condition, because tr[(I - P)(M_0 - M_1)] takes every value between its extremes on the connected
Grassmannian: the p - d smallest eigenvalues of M_0 - M_1 sum to at most 0 and the p - d largest to at least 0.
"""

from __future__ import annotations

import numpy as np

from fairpca.linalg import geodesic, orthonormal
from fairpca.solvers.spectral import zero_between

__all__ = ["fair_projection", "fair_projection_exists", "gap_range"]


def gap_range(M0: np.ndarray, M1: np.ndarray, n_components: int) -> tuple[float, float]:
    """Return the least and the largest s_0(V) - s_1(V) over all d-dimensional subspaces.

    Parameters
    ----------
    M0, M1 : ndarray of shape (p, p)
        Second moments of the groups.
    n_components : int
        Dimension d of the subspace, 1 <= d < p.

    Returns
    -------
    tuple of float
        The least, then the largest.
    """
    w, _ = _spectrum(M0, M1, n_components)
    return float(w[: len(w) - n_components].sum()), float(w[n_components:].sum())


def fair_projection_exists(M0: np.ndarray, M1: np.ndarray, n_components: int) -> bool:
    """Whether some d-dimensional subspace has equal reconstruction errors in both groups.

    Parameters
    ----------
    M0, M1 : ndarray of shape (p, p)
        Second moments of the groups.
    n_components : int
        Dimension d of the subspace, 1 <= d < p.

    Returns
    -------
    bool
        True if the p - d smallest eigenvalues of ``M0 - M1`` sum to at most zero and the p - d largest to at least zero
        (up to rounding).
    """
    w, _ = _spectrum(M0, M1, n_components)
    low, high = gap_range(M0, M1, n_components)
    rounding = 4 * len(w) * np.finfo(float).eps * (np.linalg.norm(M0) + np.linalg.norm(M1))
    return bool(low <= rounding and high >= -rounding)


def fair_projection(M0: np.ndarray, M1: np.ndarray, n_components: int) -> np.ndarray:
    """Return an orthonormal V of shape (p, n_components) with equal reconstruction errors in both groups.

    It rotates from the plane with the least gap to the one with the largest, along all principal angles at once,
    and stops where the gap is zero.

    Parameters
    ----------
    M0, M1 : ndarray of shape (p, p)
        Second moments of the groups.
    n_components : int
        Dimension d of the subspace, 1 <= d < p.

    Returns
    -------
    ndarray of shape (p, n_components)

    Raises
    ------
    ValueError
        If there is none; the message gives the range of gaps that is possible.
    """
    if not fair_projection_exists(M0, M1, n_components):
        low, high = gap_range(M0, M1, n_components)
        raise ValueError(
            f"no {n_components}-dimensional subspace has equal errors: the gap s_0 - s_1 lies between {low:.6g} and "
            f"{high:.6g} for all of them. Choose another n_components, or penalise the gap instead (RFPCA)."
        )
    w, U = _spectrum(M0, M1, n_components)
    p = len(w)
    trace = float(w.sum())
    path = geodesic(U[:, p - n_components :], U[:, :n_components])
    difference = M0 - M1

    def gap(u: float) -> float:
        V = path(u)
        return trace - float(np.vdot(V, difference @ V))

    at_0, at_1 = gap(0.0), gap(1.0)
    if at_0 * at_1 >= 0:  # one end is fair up to rounding
        return path(0.0 if abs(at_0) <= abs(at_1) else 1.0)
    return orthonormal(path(zero_between(gap)))


def _spectrum(M0: np.ndarray, M1: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    M0, M1 = np.asarray(M0, dtype=np.float64), np.asarray(M1, dtype=np.float64)
    if M0.ndim != 2 or M0.shape[0] != M0.shape[1] or M0.shape != M1.shape:
        raise ValueError(f"M0 and M1 have shapes {M0.shape} and {M1.shape}; they must be square and of equal size.")
    if not 1 <= n_components < len(M0):
        raise ValueError(
            f"n_components={n_components} is out of range; with {len(M0)} features it must lie between 1 and "
            f"{len(M0) - 1}."
        )
    return np.linalg.eigh((M0 - M1 + (M0 - M1).T) / 2)

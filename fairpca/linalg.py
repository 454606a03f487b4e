"""The few pieces of linear algebra that all solvers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh

__all__ = [
    "fix_signs",
    "geodesic",
    "orthonormal",
    "principal_angles",
    "project_fantope",
    "subspace_distance",
    "top_eigenpairs",
]


def symmetrise(A: np.ndarray) -> np.ndarray:
    """Return ``(A + A.T) / 2``.

    Parameters
    ----------
    A : ndarray of shape (p, p)
        Any square matrix.

    Returns
    -------
    ndarray of shape (p, p)
    """
    return (A + A.T) * 0.5


def top_eigenpairs(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the `k` algebraically largest eigenvalues (descending) of symmetric `A` and their vectors.

    Parameters
    ----------
    A : ndarray of shape (p, p)
        Symmetric matrix.
    k : int
        How many, between 1 and p.

    Returns
    -------
    tuple of ndarray of shape (k,) and (p, k)
        Eigenvalues, and orthonormal eigenvectors as columns.
    """
    p = A.shape[0]
    if k < p // 5:
        w, V = eigh(A, subset_by_index=(p - k, p - 1), check_finite=False)
    if k >= p // 5 or len(w) < k:  # LAPACK may return fewer than asked for when eigenvalues agree to rounding
        w, V = np.linalg.eigh(A)
        w, V = w[p - k :], V[:, p - k :]
    return w[::-1].copy(), V[:, ::-1].copy()


def orthonormal(Y: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the columns of `Y` by QR, with the diagonal of R positive.

    The positive diagonal makes the map continuous, which a plain QR is not.

    Parameters
    ----------
    Y : ndarray of shape (p, d)
        Linearly independent columns, d at most p.

    Returns
    -------
    ndarray of shape (p, d)
    """
    Q, R = np.linalg.qr(Y)
    signs = np.sign(np.diagonal(R))
    signs[signs == 0] = 1.0
    return Q * signs


def principal_angles(V: Any, W: Any) -> np.ndarray:
    """Return the principal angles (radians, ascending) between the spans of orthonormal `V` and `W`.

    Small angles come from the sine, large ones from the cosine, so all have full accuracy
    (Bjorck & Golub 1973).

    Parameters
    ----------
    V, W : array-like of shape (p, d) and (p, e)
        Orthonormal bases, as columns; an estimator's is ``components_.T``.

    Returns
    -------
    ndarray of shape (min(d, e),)

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca.metrics import principal_angles
    >>> V = np.eye(3)[:, :2]
    >>> W = np.array([[1.0, 0.0], [0.0, 0.6], [0.0, 0.8]])
    >>> np.degrees(principal_angles(V, W)).round(2).tolist()
    [0.0, 53.13]
    """
    V, W = _columns(V, "the first basis"), _columns(W, "the second basis")
    if V.shape[0] != W.shape[0]:
        raise ValueError(f"the bases live in different spaces: {V.shape[0]} and {W.shape[0]} rows.")
    if V.shape[1] < W.shape[1]:
        V, W = W, V
    C = V.T @ W
    cosines = np.clip(np.linalg.svd(C, compute_uv=False), 0.0, 1.0)
    sines = np.clip(np.linalg.svd(W - V @ C, compute_uv=False), 0.0, 1.0)[::-1]
    return np.where(cosines**2 > 0.5, np.arcsin(sines), np.arccos(cosines))


def _columns(V: Any, name: str) -> np.ndarray:
    basis = np.asarray(V)
    if basis.ndim != 2 or basis.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} has shape {basis.shape} and dtype {basis.dtype}; give a matrix of numbers with a column for each "
            "direction."
        )
    deviation = float(np.abs(basis.T @ basis - np.eye(basis.shape[1])).max(initial=0.0))
    if not deviation <= 1e-6:  # NaN is no basis either
        raise ValueError(f"{name} is not orthonormal (V'V differs from I by {deviation:.1e}); orthonormalise it first.")
    return basis


def subspace_distance(V: Any, W: Any) -> float:
    """Return the sine of the largest principal angle between two subspaces of equal dimension.

    Parameters
    ----------
    V, W : array-like of shape (p, d)
        Orthonormal bases, as columns; an estimator's is ``components_.T``.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca.metrics import subspace_distance
    >>> V = np.eye(3)[:, :2]
    >>> W = np.array([[1.0, 0.0], [0.0, 0.6], [0.0, 0.8]])
    >>> round(subspace_distance(V, W), 12)
    0.8
    """
    V, W = _columns(V, "the first basis"), _columns(W, "the second basis")
    if V.shape[1] != W.shape[1]:
        raise ValueError(f"the subspaces have different dimensions: {V.shape[1]} and {W.shape[1]}.")
    return float(np.sin(principal_angles(V, W)[-1])) if V.shape[1] else 0.0


def geodesic(V0: np.ndarray, V1: np.ndarray) -> Callable[[float], np.ndarray]:
    """Return ``u -> V(u)``, orthonormal, spanning V0 at 0 and V1 at 1, rotating all principal angles at once.

    This stays inside any space that contains both ends, so tied eigenspaces are mixed without
    leaving the set of maximisers (theory of the exact solvers, key lemma).

    Parameters
    ----------
    V0, V1 : ndarray of shape (p, d)
        Orthonormal bases, as columns.

    Returns
    -------
    callable
        Takes a float, returns an ndarray of shape (p, d).
    """
    A, cosines, Bt = np.linalg.svd(V0.T @ V1)
    P0, P1 = V0 @ A, V1 @ Bt.T
    N = P1 - P0 * cosines
    sines = np.linalg.norm(N, axis=0)
    moving = sines > 1e-14
    N[:, moving] /= sines[moving]
    N[:, ~moving] = 0.0
    angles = np.arctan2(sines, cosines)

    def at(u: float) -> np.ndarray:
        return P0 * np.cos(u * angles) + N * np.sin(u * angles)

    return at


def project_fantope(A: np.ndarray, d: float) -> np.ndarray:
    """Project symmetric `A` on the Fantope {0 <= P <= I, tr P = d} in the Frobenius norm, exactly.

    Parameters
    ----------
    A : ndarray of shape (p, p)
        Symmetric matrix.
    d : float
        The trace, between 0 and p.

    Returns
    -------
    ndarray of shape (p, p)
        The nearest matrix of the Fantope.
    """
    w, U = np.linalg.eigh(A)
    return (U * clip_to_trace(w, d)) @ U.T


def clip_to_trace(w: np.ndarray, d: float) -> np.ndarray:
    """Return ``clip(w - theta, 0, 1)`` with the theta for which the sum is `d` (0 <= d <= len(w))."""
    if not 0 <= d <= w.size:
        raise ValueError(f"the trace must lie between 0 and {w.size}; got {d}.")
    ordered = np.sort(w)[::-1].tolist()
    theta, value, rising, above = (ordered[0] if ordered else 0.0), 0.0, 0, 0
    while above < len(ordered):  # theta falls past each w, where that begins to count, and w - 1, where it is one
        begins = rising < len(ordered) and ordered[rising] >= ordered[above] - 1.0
        knot = ordered[rising] if begins else ordered[above] - 1.0
        if value + (rising - above) * (theta - knot) >= d and rising > above:
            theta -= (d - value) / (rising - above)
            break
        value += (rising - above) * (theta - knot)
        theta, rising, above = knot, rising + begins, above + (not begins)
    clipped = (w - theta).clip(0.0, 1.0)
    inner = (clipped > 0.0) & (clipped < 1.0)
    if np.any(inner):  # sums over entries far outside [0, 1] have rounded theta
        clipped = (w - (theta + (clipped.sum() - d) / inner.sum())).clip(0.0, 1.0)
    return clipped


def fix_signs(components: np.ndarray) -> np.ndarray:
    """Flip rows so that each row's entry of largest magnitude (the first, in a tie) is positive.

    Parameters
    ----------
    components : ndarray of shape (k, p)
        Components as rows. Entries within a relative 1e-8 of the largest count as tied.

    Returns
    -------
    ndarray of shape (k, p)
    """
    if components.size == 0:
        return components
    size = np.abs(components)
    # Entries within rounding of the largest count as tied, so that the choice does not depend on the BLAS.
    leader = np.argmax(size >= size.max(axis=1, keepdims=True) * (1 - 1e-8), axis=1)
    signs = np.sign(components[np.arange(len(components)), leader])
    signs[signs == 0] = 1.0
    return components * signs[:, None]

"""Leading eigenvectors in the complement of given directions, without a basis of that complement."""

from __future__ import annotations

import numpy as np

from fairpca.linalg import symmetrise, top_eigenpairs

__all__ = ["avoiding_eigenpairs"]


def avoiding_eigenpairs(S: np.ndarray, Q: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Maximise :math:`\operatorname{tr}V^\top SV` over orthonormal V with :math:`Q^\top V=0`.

    S is deflated by Q on both sides, and the span of Q is moved below all eigenvalues; one decomposition of size p.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Symmetric.
    Q : ndarray of shape (p, r)
        Orthonormal columns; none are allowed.
    d : int
        At most p - r.

    Returns
    -------
    values : ndarray of shape (d,)
        Eigenvalues of the compression of S to the complement, descending.
    V : ndarray of shape (p, d)
        Orthonormal, and orthogonal to Q to rounding.
    """
    if Q.shape[1] == 0:
        return top_eigenpairs(S, d)
    image = S @ Q
    cross = image - 0.5 * Q @ (Q.T @ image)
    half = cross @ Q.T
    size = float(np.abs(S).sum(axis=0).max()) or 1.0  # no squares, which may underflow
    deflated = symmetrise(S) - half - half.T - (2.0 * size * Q) @ Q.T
    values, V = top_eigenpairs(symmetrise(deflated), d)
    V = V - Q @ (Q.T @ V)
    return values, np.linalg.qr(V)[0]

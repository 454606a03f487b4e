"""MMD² between projected groups and its gradient: exact, in O(n) memory, for any number of threads the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairpca.solvers.mmd._blocks import block_products, padded
from fairpca.solvers.mmd._loops import slopes_of, values_and_gradients, weighted_coordinates
from fairpca.solvers.mmd._plain import SCALE

__all__ = [
    "WeightedRows",
    "contrast_weights",
    "kernel_bytes",
    "kernel_products",
    "merge_duplicates",
    "mmd2",
    "total_mmd2",
]


def kernel_bytes(n_rows: int, n_components: int, n_weights: int = 1) -> int:
    """Return the bytes that one gradient needs besides the data (arrays of length n_rows, no n × n matrix).

    Parameters
    ----------
    n_rows, n_components : int
        Number of rows, and dimension of their projections.
    n_weights : int, default=1
        Vectors of weights: one less than there are groups.

    Returns
    -------
    int
    """
    vectors = n_weights * (n_components + 1)
    return 8 * n_rows * (2 * n_components + 1 + 3 * vectors + n_components)


def _coordinates(X: np.ndarray, V: np.ndarray, sigma: float) -> np.ndarray:
    """Return the projections as padded columns u, scaled so that K_ij = 2**-|u_i - u_j|²."""
    U = padded(len(X), V.shape[1])
    np.matmul((V * (SCALE / sigma)).T, X.T, out=U[:, : len(X)])
    return U


def kernel_products(Z: np.ndarray, W: np.ndarray, sigma: float, n_threads: int = 1) -> np.ndarray:
    """Return ``W @ K`` with K_ij = exp(-|z_i - z_j|² / 2σ²), without forming K.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Projected rows.
    W : ndarray of shape (r, n)
        Vectors to multiply.
    sigma : float
        Bandwidth σ.
    n_threads : int, default=1
        Threads to share the pairs of blocks; the result is the same to the last bit for any number.

    Returns
    -------
    ndarray of shape (r, n)
    """
    n, d = Z.shape
    U, weights = padded(n, d), padded(n, len(W))
    U[:, :n] = Z.T * (SCALE / sigma)
    weights[:, :n] = W
    return block_products(U, weights, n, n_threads)[:, :n]


def contrast_weights(codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Return signed weights C, shape (n_groups - 1, n), with Σ_t c_t'Kc_t the sum of MMD² over pairs of groups.

    For two groups this is the single vector with 1/m on the first and -1/n on the second: c'Kc is the biased
    (V-statistic) MMD² of Lemma 1 of Lee et al. For more groups the sum over pairs is an extension.

    Parameters
    ----------
    codes : ndarray of int of shape (n,)
        Group of each row, from 0 to n_groups - 1; every group has a row.
    n_groups : int
        Number of groups.

    Returns
    -------
    ndarray of shape (n_groups - 1, n)
        Each vector sums to zero.
    """
    counts = np.bincount(codes, minlength=n_groups)
    # Helmert contrasts: orthonormal, orthogonal to the ones, so that their Gram matrix is I - 11'/G.
    contrasts = np.zeros((n_groups, n_groups - 1))
    for t in range(n_groups - 1):
        contrasts[: t + 1, t] = 1.0
        contrasts[t + 1, t] = -(t + 1.0)
        contrasts[:, t] *= np.sqrt(n_groups / ((t + 1.0) * (t + 2.0)))
    return np.ascontiguousarray((contrasts / counts[:, None])[codes].T)


def merge_duplicates(X: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge identical rows of `X`, summing their weights, and drop rows whose weights cancel: exact, and smaller.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Rows.
    C : ndarray of shape (r, n)
        Their signed weights.

    Returns
    -------
    tuple of ndarray of shape (k, p) and (r, k)
        The rows that are left, k at most n, and their weights. If rows were merged, they are in sorted order.
    """
    rows, inverse = np.unique(X, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    if len(rows) == len(X):
        merged, weights = X, C
    else:
        merged = rows
        weights = np.array([np.bincount(inverse, weights=c, minlength=len(rows)) for c in C])
    size = np.abs(weights).max(axis=0)
    keep = size > 1e-14 * size.max()
    return np.ascontiguousarray(merged[keep]), np.ascontiguousarray(weights[:, keep])


def mmd2(Z: np.ndarray, C: np.ndarray, sigma: float, n_threads: int = 1) -> float:
    """Return Σ_t c_t'Kc_t for projected rows `Z` (n × d) and signed weights `C` (r × n).

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Projected rows.
    C : ndarray of shape (r, n)
        Signed weights, see :func:`contrast_weights`.
    sigma, n_threads
        As in :func:`kernel_products`.

    Returns
    -------
    float
        Rounding may leave a value just below zero.
    """
    return float(np.sum(kernel_products(Z, C, sigma, n_threads) * C))


@dataclass(frozen=True)
class WeightedRows:
    """One term of the constraint: rows with signed weights; MMD² of their projections and its gradient.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Rows (identical ones merged).
    C : ndarray of shape (r, n)
        Signed weights, see :func:`contrast_weights`.
    """

    X: np.ndarray
    C: np.ndarray

    @classmethod
    def from_groups(cls, X: np.ndarray, codes: np.ndarray, n_groups: int | None = None) -> WeightedRows:
        """Build the term that compares the groups of `codes` on the rows of `X`."""
        groups = int(codes.max()) + 1 if n_groups is None else n_groups
        return cls(*merge_duplicates(X, contrast_weights(codes, groups)))

    def value(self, V: np.ndarray, sigma: float, n_threads: int = 1) -> float:
        """Return h(V)."""
        return mmd2(self.X @ V, self.C, sigma, n_threads)

    def value_and_gradient(self, V: np.ndarray, sigma: float, n_threads: int = 1) -> tuple[float, np.ndarray]:
        """Return h(V) and its Euclidean gradient (p × d).

        With s = Kc: dh/dZ = -(2/σ²) c ∘ (Z ∘ s - K(c ∘ Z)), and the gradient is X' dh/dZ (section G of the
        supplement of Lee et al., with V'X where it prints VX).
        """
        n, d = len(self.X), V.shape[1]
        r = len(self.C)
        U = _coordinates(self.X, V, sigma)
        W = padded(n, r, d + 1)
        weighted_coordinates(U, self.C, W)
        products = block_products(U, W.reshape(r * (d + 1), -1), n, n_threads).reshape(W.shape)
        slope = np.empty((d, n))
        value = slopes_of(U, self.C, products, slope)
        return value, (slope @ self.X).T * (-2.0 / (sigma * SCALE))

    def values_and_gradients(self, V: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
        """Return h and its gradient at every basis of the stack V (b × p × d), without Python between them.

        For rows that fit into one block of the kernel, about a thousand.
        """
        n, (count, p, d) = len(self.X), V.shape
        U, squares, W = padded(n, d), padded(n), padded(n, len(self.C), d + 1)
        values, slopes = np.empty(count), np.empty((count, p, d))
        tasks = np.zeros((1, 2), dtype=np.int64)
        values_and_gradients(self.X, self.C, V, SCALE / sigma, tasks, U, squares, W, values, slopes)
        return values, slopes * (-2.0 / (sigma * SCALE))

    def laplacian(self, V: np.ndarray, sigma: float) -> np.ndarray:
        """Return X'LX (p × p) with L = Σ_t diag(c_t ∘ Kc_t) - diag(c_t) K diag(c_t): the gradient is -(2/σ²) X'LXV."""
        Z = self.X @ V
        total = np.zeros((self.X.shape[1], self.X.shape[1]))
        for c in self.C:
            weighted = c * self.X.T
            products = kernel_products(Z, np.vstack((c, weighted)), sigma)
            total += (weighted * products[0]) @ self.X - products[1:] @ weighted.T
        return (total + total.T) / 2

    def jacobian(self, V: np.ndarray, directions: np.ndarray, sigma: float) -> np.ndarray:
        """Return the derivatives X'(c ∘ sin) and X'(c ∘ cos) along each column of `directions` = VW', stacked."""
        angle = self.X @ directions
        sine, cosine = np.sin(angle), np.cos(angle)
        return np.concatenate(
            [part for c in self.C for part in (sine.T @ (c[:, None] * self.X), cosine.T @ (c[:, None] * self.X))]
        )


def total_mmd2(terms: Sequence[WeightedRows], V: np.ndarray, sigma: float, n_threads: int = 1) -> float:
    """Return the sum of the terms' MMD² at V.

    Parameters
    ----------
    terms : sequence of WeightedRows
        One for each comparison of groups.
    V : ndarray of shape (p, d)
        Basis of the subspace.
    sigma, n_threads
        As in :func:`kernel_products`.

    Returns
    -------
    float
    """
    return sum(term.value(V, sigma, n_threads) for term in terms)

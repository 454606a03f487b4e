"""Loops over a Gaussian kernel matrix by NumPy, a pair of blocks at a time; arguments as in the compiled ones."""

from __future__ import annotations

import numpy as np

__all__ = ["FAR", "SCALE", "TILE", "run_pairs", "slopes_of", "values_and_gradients", "weighted_coordinates"]

SCALE = float(np.sqrt(0.5 * np.log2(np.e)))  # exp(-r²/2σ²) = 2**-(r * SCALE / σ)²
TILE = 4  # rows whose distances to a strip of columns are computed together
FAR = 1e5  # |u|² beyond which the rounding of |a|² + |b|² - 2ab would be seen


def _kernel_values(A: np.ndarray, B: np.ndarray, far: bool) -> np.ndarray:
    """Return 2**-|a_i - b_j|² for the columns of two blocks."""
    if len(A) <= 3 or far:
        E = np.zeros((A.shape[1], B.shape[1]))
        for a, b in zip(A, B, strict=True):
            difference = a[:, None] - b
            E -= difference * difference
    else:
        E = 2.0 * (A.T @ B)
        E -= np.einsum("ki,ki->i", A, A)[:, None]
        E -= np.einsum("ki,ki->i", B, B)
    return np.exp2(E, out=E)


def run_pairs(
    U: np.ndarray, squares: np.ndarray, far: bool, W: np.ndarray, Y: np.ndarray, tasks: np.ndarray, size: int
) -> None:
    """Work through pairs of blocks (a, b), a <= b, each pair once and in both directions."""
    for first, second in tasks.tolist():
        a, b = slice(first * size, (first + 1) * size), slice(second * size, (second + 1) * size)
        E = _kernel_values(U[:, a], U[:, b], far)
        if first == second:
            np.fill_diagonal(E, 0.0)  # the diagonal is added at the end
        else:
            Y[:, a] += W[:, b] @ E.T
        Y[:, b] += W[:, a] @ E


def weighted_coordinates(U: np.ndarray, C: np.ndarray, W: np.ndarray) -> None:
    """Fill W (r, d + 1, padded) with the weights and, below them, the weights times each coordinate."""
    n = C.shape[1]
    W[:, 0, :n] = C
    W[:, 1:, :n] = C[:, None, :] * U[:, :n]


def slopes_of(U: np.ndarray, C: np.ndarray, products: np.ndarray, slope: np.ndarray) -> float:
    """Fill slope (d, n) with Σ_t c_t ∘ (u ∘ s_t - K(c_t ∘ u)) and return Σ_t c_t's_t."""
    n = C.shape[1]
    s = products[:, 0, :n]
    slope[:] = np.einsum("tn,tkn->kn", C, U[:, :n] * s[:, None, :] - products[:, 1:, :n])
    return float(np.vdot(C, s))


def values_and_gradients(
    X: np.ndarray,
    C: np.ndarray,
    V: np.ndarray,
    unit: float,
    tasks: np.ndarray,
    U: np.ndarray,
    squares: np.ndarray,
    W: np.ndarray,
    values: np.ndarray,
    slopes: np.ndarray,
) -> None:
    """Fill value and gradient for every basis in V (b, p, d); U, squares and W are padded space to work in."""
    n, flat = len(X), (W.shape[0] * W.shape[1], W.shape[2])
    slope = np.empty((V.shape[2], n))
    for b, basis in enumerate(V):
        U[:, :n] = unit * (X @ basis).T
        squares[:] = np.einsum("ki,ki->i", U, U)
        weighted_coordinates(U, C, W)
        products = W.copy()
        run_pairs(U, squares, bool(squares.max() > FAR), W.reshape(flat), products.reshape(flat), tasks, U.shape[1])
        values[b] = slopes_of(U, C, products, slope)
        slopes[b] = (slope @ X).T

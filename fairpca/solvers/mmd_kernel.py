"""MMD² between projected groups and its gradient: exact, in O(n) memory, for any number of threads the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit

from fairpca.solvers._exp2 import CONTRACT, exp2_negative

__all__ = [
    "WeightedRows",
    "contrast_weights",
    "kernel_bytes",
    "kernel_products",
    "merge_duplicates",
    "mmd2",
    "total_mmd2",
]

_TILE = 4  # rows whose distances to a strip of columns are computed together
_STRIP = 1024  # columns of a strip: the four rows of kernel values stay in the first-level cache
_BLOCK = 1024  # rows of a block; pairs of blocks are the unit of work that threads share
_THREADING_PAYS = 3000  # rows below which the hand-over between threads costs more than it saves

_SCALE = float(np.sqrt(0.5 * np.log2(np.e)))  # exp(-r²/2σ²) = 2**-(r * _SCALE / σ)²

# Row sums may be reassociated (that is what lets LLVM vectorise them); infinities and NaN keep their meaning.
_REDUCE = {"contract", "reassoc", "nsz"}


@njit(nogil=True, cache=True, inline="always", fastmath=CONTRACT)
def _add_products(U, rows, start, stop, k, step, e0, e1, e2, e3):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Add 2 u_i·u_j over the dimensions k..k+step (1 to 4), four at a time where there are four."""
    m = stop - start
    a = U[k, start:stop]
    a0, a1, a2, a3 = 2 * U[k, rows], 2 * U[k, rows + 1], 2 * U[k, rows + 2], 2 * U[k, rows + 3]
    if step == 1:
        for j in range(m):
            x = a[j]
            e0[j] = e0[j] + a0 * x
            e1[j] = e1[j] + a1 * x
            e2[j] = e2[j] + a2 * x
            e3[j] = e3[j] + a3 * x
        return
    b = U[k + 1, start:stop]
    b0, b1, b2, b3 = 2 * U[k + 1, rows], 2 * U[k + 1, rows + 1], 2 * U[k + 1, rows + 2], 2 * U[k + 1, rows + 3]
    if step < 4:
        for j in range(m):
            x, y = a[j], b[j]
            e0[j] = e0[j] + a0 * x + b0 * y
            e1[j] = e1[j] + a1 * x + b1 * y
            e2[j] = e2[j] + a2 * x + b2 * y
            e3[j] = e3[j] + a3 * x + b3 * y
        return
    f, g = U[k + 2, start:stop], U[k + 3, start:stop]
    f0, f1, f2, f3 = 2 * U[k + 2, rows], 2 * U[k + 2, rows + 1], 2 * U[k + 2, rows + 2], 2 * U[k + 2, rows + 3]
    g0, g1, g2, g3 = 2 * U[k + 3, rows], 2 * U[k + 3, rows + 1], 2 * U[k + 3, rows + 2], 2 * U[k + 3, rows + 3]
    for j in range(m):
        x, y, z, w = a[j], b[j], f[j], g[j]
        e0[j] = (e0[j] + a0 * x + b0 * y) + (f0 * z + g0 * w)
        e1[j] = (e1[j] + a1 * x + b1 * y) + (f1 * z + g1 * w)
        e2[j] = (e2[j] + a2 * x + b2 * y) + (f2 * z + g2 * w)
        e3[j] = (e3[j] + a3 * x + b3 * y) + (f3 * z + g3 * w)


@njit(nogil=True, cache=True, fastmath=CONTRACT)
def _kernel_values(U, squares, rows, start, stop, E):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Fill E with 2**-|u_i - u_j|² for the tile's four rows and the columns start..stop.

    Up to three dimensions the differences are squared; beyond, |a|² + |b|² - 2ab needs half the operations, and
    its rounding (a few units of the last place of |u|², which is of order one) is far below what h resolves.
    """
    d = U.shape[0]
    m = stop - start
    e0, e1, e2, e3 = E[0, :m], E[1, :m], E[2, :m], E[3, :m]
    if d <= 3:
        for k in range(d):
            a = U[k, start:stop]
            a0, a1, a2, a3 = U[k, rows], U[k, rows + 1], U[k, rows + 2], U[k, rows + 3]
            if k == 0:
                for j in range(m):
                    x = a[j]
                    e0[j] = -(x - a0) * (x - a0)
                    e1[j] = -(x - a1) * (x - a1)
                    e2[j] = -(x - a2) * (x - a2)
                    e3[j] = -(x - a3) * (x - a3)
            else:
                for j in range(m):
                    x = a[j]
                    e0[j] = e0[j] - (x - a0) * (x - a0)
                    e1[j] = e1[j] - (x - a1) * (x - a1)
                    e2[j] = e2[j] - (x - a2) * (x - a2)
                    e3[j] = e3[j] - (x - a3) * (x - a3)
    else:
        norms = squares[start:stop]
        n0, n1, n2, n3 = squares[rows], squares[rows + 1], squares[rows + 2], squares[rows + 3]
        a, b, f = U[0, start:stop], U[1, start:stop], U[2, start:stop]
        a0, a1, a2, a3 = 2 * U[0, rows], 2 * U[0, rows + 1], 2 * U[0, rows + 2], 2 * U[0, rows + 3]
        b0, b1, b2, b3 = 2 * U[1, rows], 2 * U[1, rows + 1], 2 * U[1, rows + 2], 2 * U[1, rows + 3]
        f0, f1, f2, f3 = 2 * U[2, rows], 2 * U[2, rows + 1], 2 * U[2, rows + 2], 2 * U[2, rows + 3]
        for j in range(m):
            s, x, y, z = norms[j], a[j], b[j], f[j]
            e0[j] = (a0 * x - n0) + (b0 * y - s) + f0 * z
            e1[j] = (a1 * x - n1) + (b1 * y - s) + f1 * z
            e2[j] = (a2 * x - n2) + (b2 * y - s) + f2 * z
            e3[j] = (a3 * x - n3) + (b3 * y - s) + f3 * z
        k = 3
        while k < d:
            step = 4 if d - k >= 4 else min(2, d - k)
            _add_products(U, rows, start, stop, k, step, e0, e1, e2, e3)
            k += step
    for r in range(4):
        e = E[r, :m]
        for j in range(m):
            e[j] = exp2_negative(e[j])


@njit(nogil=True, cache=True, fastmath=_REDUCE)
def _products(W, Y, rows, start, stop, E):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Add the tile's kernel values times W, in both directions, to Y."""
    m = stop - start
    e0, e1, e2, e3 = E[0, :m], E[1, :m], E[2, :m], E[3, :m]
    n_vectors = W.shape[0]
    k = 0
    while k + 1 < n_vectors:
        w, v = W[k, start:stop], W[k + 1, start:stop]
        y, z = Y[k, start:stop], Y[k + 1, start:stop]
        w0, w1, w2, w3 = W[k, rows], W[k, rows + 1], W[k, rows + 2], W[k, rows + 3]
        v0, v1, v2, v3 = W[k + 1, rows], W[k + 1, rows + 1], W[k + 1, rows + 2], W[k + 1, rows + 3]
        s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = 0.0
        for j in range(m):
            p, q, r, s = e0[j], e1[j], e2[j], e3[j]
            a, b = w[j], v[j]
            s0 += p * a
            s1 += q * a
            s2 += r * a
            s3 += s * a
            t0 += p * b
            t1 += q * b
            t2 += r * b
            t3 += s * b
            y[j] += p * w0 + q * w1 + r * w2 + s * w3
            z[j] += p * v0 + q * v1 + r * v2 + s * v3
        Y[k, rows] += s0
        Y[k, rows + 1] += s1
        Y[k, rows + 2] += s2
        Y[k, rows + 3] += s3
        Y[k + 1, rows] += t0
        Y[k + 1, rows + 1] += t1
        Y[k + 1, rows + 2] += t2
        Y[k + 1, rows + 3] += t3
        k += 2
    if k < n_vectors:
        w, y = W[k, start:stop], Y[k, start:stop]
        w0, w1, w2, w3 = W[k, rows], W[k, rows + 1], W[k, rows + 2], W[k, rows + 3]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(m):
            p, q, r, s = e0[j], e1[j], e2[j], e3[j]
            a = w[j]
            s0 += p * a
            s1 += q * a
            s2 += r * a
            s3 += s * a
            y[j] += p * w0 + q * w1 + r * w2 + s * w3
        Y[k, rows] += s0
        Y[k, rows + 1] += s1
        Y[k, rows + 2] += s2
        Y[k, rows + 3] += s3


@njit(nogil=True, cache=True)
def _run_pairs(U, squares, W, Y, tasks, size):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Work through pairs of blocks (a, b), a <= b, each pair once and in both directions."""
    E = np.empty((_TILE, _STRIP))
    for t in range(tasks.shape[0]):
        first, second = tasks[t, 0] * size, tasks[t, 1] * size
        for rows in range(first, first + size, _TILE):
            begin = rows if first == second else second
            for start in range(begin, second + size, _STRIP):
                stop = min(start + _STRIP, second + size)
                _kernel_values(U, squares, rows, start, stop, E)
                if start == rows and first == second:
                    for i in range(_TILE):  # inside the tile each pair counts once; the diagonal is added at the end
                        for j in range(i + 1):
                            E[i, j] = 0.0
                _products(W, Y, rows, start, stop, E)


@njit(nogil=True, cache=True, fastmath=CONTRACT)
def _weighted_coordinates(U, C, W):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Fill W (r, d + 1, padded) with the weights and, below them, the weights times each coordinate."""
    n = C.shape[1]
    for t in range(C.shape[0]):
        for i in range(n):
            W[t, 0, i] = C[t, i]
        for k in range(U.shape[0]):
            for i in range(n):
                W[t, k + 1, i] = C[t, i] * U[k, i]


@njit(nogil=True, cache=True, fastmath=CONTRACT)
def _slope(U, C, products, slope):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Fill slope (d, n) with Σ_t c_t ∘ (u ∘ s_t - K(c_t ∘ u)) and return Σ_t c_t's_t."""
    n = C.shape[1]
    value = 0.0
    slope[:] = 0.0
    for t in range(C.shape[0]):
        for i in range(n):
            value += C[t, i] * products[t, 0, i]
        for k in range(U.shape[0]):
            for i in range(n):
                slope[k, i] += C[t, i] * (U[k, i] * products[t, 0, i] - products[t, k + 1, i])
    return value


@lru_cache(maxsize=8)
def _schedule(n_blocks: int) -> tuple[np.ndarray, ...]:
    """Return rounds of disjoint pairs of blocks (a round-robin tournament), the first with the diagonal blocks.

    Within a round no two tasks touch the same block, so threads need no locks, and each block receives its
    contributions in the order of the rounds: the sums do not depend on the number of threads.
    """
    rounds = [np.column_stack((np.arange(n_blocks), np.arange(n_blocks)))]
    if n_blocks == 1:
        return tuple(rounds)
    ring = list(range(1, n_blocks))
    for _ in range(n_blocks - 1):
        circle = [0, *ring]
        pairs = [sorted((circle[i], circle[-1 - i])) for i in range(n_blocks // 2)]
        rounds.append(np.array(sorted(pairs)))
        ring = ring[1:] + ring[:1]
    return tuple(rounds)


def _layout(n: int) -> tuple[int, int]:
    """Return number and size of the blocks that cover n rows (number 1 or even, size a multiple of 8)."""
    n_blocks = 1 if n <= _BLOCK else 2 * -(-n // (2 * _BLOCK))
    size = -(-n // n_blocks)
    return n_blocks, max(8, -(-size // 8) * 8)


def kernel_bytes(n_rows: int, n_components: int, n_weights: int = 1) -> int:
    """Return the bytes that one gradient needs besides the data (arrays of length n_rows, no n × n matrix)."""
    vectors = n_weights * (n_components + 1)
    return 8 * n_rows * (2 * n_components + 1 + 3 * vectors + n_components)


def _padded(n: int, *shape: int) -> np.ndarray:
    """Return zeros with the last axis long enough for whole blocks; the padding carries no weight."""
    n_blocks, size = _layout(n)
    return np.zeros((*shape, n_blocks * size))


def _products_of_blocks(U: np.ndarray, W: np.ndarray, n: int, n_threads: int) -> np.ndarray:
    """Return W K for padded, scaled coordinates U (d × padded) and vectors W (r × padded)."""
    n_blocks, size = _layout(n)
    squares = np.einsum("ij,ij->j", U, U)
    Y = W.copy()  # the diagonal of K is one
    rounds = _schedule(n_blocks)
    if n_threads == 1 or n < _THREADING_PAYS:
        for tasks in rounds:
            _run_pairs(U, squares, W, Y, tasks, size)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            for tasks in rounds:
                list(pool.map(lambda task: _run_pairs(U, squares, W, Y, task[None], size), tasks))
    return Y


def _coordinates(X: np.ndarray, V: np.ndarray, sigma: float) -> np.ndarray:
    """Return the projections as padded columns u, scaled so that K_ij = 2**-|u_i - u_j|²."""
    U = _padded(len(X), V.shape[1])
    np.matmul((V * (_SCALE / sigma)).T, X.T, out=U[:, : len(X)])
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
    U, weights = _padded(n, d), _padded(n, len(W))
    U[:, :n] = Z.T * (_SCALE / sigma)
    weights[:, :n] = W
    return _products_of_blocks(U, weights, n, n_threads)[:, :n]


def contrast_weights(codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Return signed weights C, shape (n_groups - 1, n), with Σ_t c_t'Kc_t the sum of MMD² over pairs of groups.

    For two groups this is the single vector with 1/m on the first and -1/n on the second: c'Kc is the biased
    (V-statistic) MMD² of Lemma 1 of Lee et al. For more groups the sum over pairs is an extension.
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
    """Merge identical rows of `X`, summing their weights, and drop rows whose weights cancel: exact, and smaller."""
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
    """Return Σ_t c_t'Kc_t for projected rows `Z` (n × d) and signed weights `C` (r × n)."""
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
        W = _padded(n, r, d + 1)
        _weighted_coordinates(U, self.C, W)
        products = _products_of_blocks(U, W.reshape(r * (d + 1), -1), n, n_threads).reshape(W.shape)
        slope = np.empty((d, n))
        value = _slope(U, self.C, products, slope)
        return value, (slope @ self.X).T * (-2.0 / (sigma * _SCALE))

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
    """Return the sum of the terms' MMD² at V."""
    return sum(term.value(V, sigma, n_threads) for term in terms)

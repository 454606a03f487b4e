"""Compiled loops over a Gaussian kernel matrix; :mod:`fairpca.solvers.mmd._plain` does the same with NumPy."""

from __future__ import annotations

import numpy as np
from numba import njit

from fairpca.solvers.mmd._exp2 import CONTRACT, exp2_negative
from fairpca.solvers.mmd._plain import FAR, TILE

__all__ = ["run_pairs", "slopes_of", "values_and_gradients", "weighted_coordinates"]

_STRIP = 1024  # columns of a strip: the four rows of kernel values stay in the first-level cache

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
def _kernel_values(U, squares, far, rows, start, stop, E):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Fill E with 2**-|u_i - u_j|² for the tile's four rows and the columns start..stop.

    Up to three dimensions, and where rows are `far` apart, the differences are squared; else |a|² + |b|² - 2ab needs
    half the operations, and its rounding (a few units of the last place of |u|²) is far below what h resolves.
    """
    d = U.shape[0]
    m = stop - start
    e0, e1, e2, e3 = E[0, :m], E[1, :m], E[2, :m], E[3, :m]
    if d <= 3 or far:
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
def run_pairs(U, squares, far, W, Y, tasks, size):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Work through pairs of blocks (a, b), a <= b, each pair once and in both directions."""
    E = np.empty((TILE, _STRIP))
    for t in range(tasks.shape[0]):
        first, second = tasks[t, 0] * size, tasks[t, 1] * size
        for rows in range(first, first + size, TILE):
            begin = rows if first == second else second
            for start in range(begin, second + size, _STRIP):
                stop = min(start + _STRIP, second + size)
                _kernel_values(U, squares, far, rows, start, stop, E)
                if start == rows and first == second:
                    for i in range(TILE):  # inside the tile each pair counts once; the diagonal is added at the end
                        for j in range(i + 1):
                            E[i, j] = 0.0
                _products(W, Y, rows, start, stop, E)


@njit(nogil=True, cache=True, fastmath=CONTRACT)
def weighted_coordinates(U, C, W):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Fill W (r, d + 1, padded) with the weights and, below them, the weights times each coordinate."""
    n = C.shape[1]
    for t in range(C.shape[0]):
        for i in range(n):
            W[t, 0, i] = C[t, i]
        for k in range(U.shape[0]):
            for i in range(n):
                W[t, k + 1, i] = C[t, i] * U[k, i]


@njit(nogil=True, cache=True, fastmath=CONTRACT)
def slopes_of(U, C, products, slope):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
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


@njit(nogil=True, cache=True)
def values_and_gradients(X, C, V, unit, tasks, U, squares, W, values, slopes):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Fill value and gradient for every basis in V (b, p, d); U, squares and W are padded space to work in."""
    n, (count, p, d) = len(X), V.shape
    slope = np.empty((d, n))
    for b in range(count):
        for k in range(d):
            for i in range(n):
                total = 0.0
                for j in range(p):
                    total += X[i, j] * V[b, j, k]
                U[k, i] = unit * total
        squares[:] = 0.0
        for k in range(d):
            squares += U[k] * U[k]
        weighted_coordinates(U, C, W)
        products = W.copy()
        flat = (W.shape[0] * W.shape[1], W.shape[2])
        run_pairs(U, squares, squares.max() > FAR, W.reshape(flat), products.reshape(flat), tasks, U.shape[1])
        values[b] = slopes_of(U, C, products, slope)
        for j in range(p):
            for k in range(d):
                total = 0.0
                for i in range(n):
                    total += slope[k, i] * X[i, j]
                slopes[b, j, k] = total

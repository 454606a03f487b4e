"""Compiled Algorithm 1 for small p; imported only when it is used, because it needs numba."""

from __future__ import annotations

import numpy as np
import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack  # noqa: F401  (compiled code would import them, and run Python code for that)
from numba import njit

__all__ = ["descend"]


@njit(cache=True)
def _evaluate(
    rows: np.ndarray,
    moments: np.ndarray,
    traces: np.ndarray,
    radii: np.ndarray,
    weights: np.ndarray,
    printed: bool,
    images: np.ndarray,
    errors: np.ndarray,
    floors: np.ndarray,
) -> tuple[int, float]:
    """Fill `images` (M_b V, transposed) and `errors`; return the active pair and its value."""
    m, p = moments.shape[0], moments.shape[1]
    d = rows.shape[0]
    for b in range(m):
        kept = 0.0
        for c in range(d):
            target = images[b, c]
            for i in range(p):
                target[i] = 0.0
            for j in range(p):
                x = rows[c, j]
                source = moments[b, j]
                for i in range(p):
                    target[i] += x * source[i]
            for i in range(p):
                kept += rows[c, i] * target[i]
        errors[b] = max(traces[b] - kept, floors[b])
    active, top = 0, -np.inf
    for pair in range(weights.shape[0]):
        value = 0.0
        for b in range(m):
            r = np.sqrt(errors[b])
            w = weights[pair, b]
            if w >= 0:
                value += w * (r + radii[b]) ** 2
            elif printed:
                value += w * (r - radii[b]) ** 2
            else:
                value += w * max(r - radii[b], 0.0) ** 2
        if value > top:
            active, top = pair, value
    return active, top


@njit(cache=True)
def _orthonormalise(rows: np.ndarray, gram: np.ndarray, polar: bool) -> None:
    """Replace the rows by orthonormal ones of the same span: QR with positive diagonal, or the polar factor."""
    d, p = rows.shape
    for _ in range(3):
        largest = 0.0
        for a in range(d):
            for b in range(a + 1):
                total = 0.0
                for i in range(p):
                    total += rows[a, i] * rows[b, i]
                gram[a, b] = total
                gram[b, a] = total
            largest = max(largest, gram[a, a])
        if polar:
            w, E = np.linalg.eigh(gram)
            inverse = (E / np.sqrt(w)) @ E.T
            rows[:] = inverse @ rows
        else:
            for a in range(d):  # Cholesky in place, then forward substitution
                for b in range(a + 1):
                    total = gram[a, b]
                    for c in range(b):
                        total -= gram[a, c] * gram[b, c]
                    gram[a, b] = np.sqrt(total) if a == b else total / gram[b, b]
                for b in range(a):
                    for i in range(p):
                        rows[a, i] -= gram[a, b] * rows[b, i]
                for i in range(p):
                    rows[a, i] /= gram[a, a]
        if largest < 100.0:  # well conditioned: one pass leaves only rounding
            break


@njit(cache=True)
def descend(
    rows: np.ndarray,
    best: np.ndarray,
    least: np.ndarray,
    objective: np.ndarray,
    norms: np.ndarray,
    actives: np.ndarray,
    first: int,
    stop: int,
    moments: np.ndarray,
    traces: np.ndarray,
    radii: np.ndarray,
    weights: np.ndarray,
    printed: bool,
    step: float,
    polar: bool,
    floors: np.ndarray,
    longest: float,
) -> None:
    """Run iterations `first` to ``stop - 1`` of Algorithm 1 in V from one start, with the basis in `rows`.

    Everything is written into the arguments: `rows` and `best` (d, p), `least` (1,), the objective at the max_iter + 1
    iterates, the norms of the Riemannian subgradients and the active pairs. Nothing is returned, because numba runs
    Python code to return an array, and a signal handler that raises there crashes the interpreter.
    """
    d, p = rows.shape
    m = moments.shape[0]
    images = np.empty((m, d, p))
    errors = np.empty(m)
    gram = np.empty((d, d))
    inner = np.empty((d, d))
    slope = np.empty((d, p))
    coefficients = np.empty(m)
    for iteration in range(first, stop):
        active, value = _evaluate(rows, moments, traces, radii, weights, printed, images, errors, floors)
        objective[iteration] = value
        actives[iteration] = active
        if value < least[0]:
            least[0] = value
            best[:] = rows
        if iteration == norms.size:
            break
        for b in range(m):
            w = weights[active, b]
            ratio = radii[b] / np.sqrt(errors[b]) if radii[b] > 0 else 0.0
            if w >= 0:
                coefficients[b] = 2.0 * w * (1.0 + ratio)
            elif printed:
                coefficients[b] = 2.0 * w * (1.0 - ratio)
            else:
                coefficients[b] = 2.0 * w * max(1.0 - ratio, 0.0)
        for c in range(d):
            for i in range(p):
                total = 0.0
                for b in range(m):
                    total += coefficients[b] * images[b, c, i]
                slope[c, i] = total
        for a in range(d):
            for c in range(d):
                total = 0.0
                for i in range(p):
                    total += rows[a, i] * slope[c, i]
                inner[a, c] = total
        square = 0.0
        for c in range(d):
            for a in range(d):
                x = inner[a, c]
                for i in range(p):
                    slope[c, i] -= x * rows[a, i]
            for i in range(p):
                square += slope[c, i] ** 2
        norm = np.sqrt(square)
        norms[iteration] = norm
        size = step if step * norm <= longest else longest / norm
        for c in range(d):
            for i in range(p):
                rows[c, i] += size * slope[c, i]
        _orthonormalise(rows, gram, polar)

"""Sum of the Gaussian kernel between two blocks of rows: the unit from which exact MMD² of many rows is made."""

from __future__ import annotations

import numpy as np
from numba import njit

from fairpca.solvers.mmd._blocks import _REDUCE, _STRIP, _TILE, _kernel_values, squared_lengths
from fairpca.solvers.mmd._exp2 import SCALE

__all__ = ["kernel_sum"]


@njit(nogil=True, cache=True, fastmath=_REDUCE)
def _sum_tile(E, w, rows, start, stop):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Return the sum of the tile's kernel values times the weights of both sides."""
    m = stop - start
    e0, e1, e2, e3 = E[0, :m], E[1, :m], E[2, :m], E[3, :m]
    v = w[start:stop]
    w0, w1, w2, w3 = w[rows], w[rows + 1], w[rows + 2], w[rows + 3]
    total = 0.0
    for j in range(m):
        total += (e0[j] * w0 + e1[j] * w1 + e2[j] * w2 + e3[j] * w3) * v[j]
    return total


@njit(nogil=True, cache=True)
def _sum_rows(U, squares, far, w, n_first, totals):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Fill one total for each tile of the first block against the whole second block."""
    E = np.empty((_TILE, _STRIP))
    for tile in range(n_first // _TILE):
        rows = tile * _TILE
        subtotal = 0.0
        for start in range(n_first, U.shape[1], _STRIP):
            stop = min(start + _STRIP, U.shape[1])
            _kernel_values(U, squares, far, rows, start, stop, E)
            subtotal += _sum_tile(E, w, rows, start, stop)
        totals[tile] = subtotal


def kernel_sum(first: np.ndarray, second: np.ndarray, sigma: float) -> float:
    """Return Σ exp(-|a - b|² / 2σ²) over the rows a of one block and b of another.

    Parameters
    ----------
    first, second : ndarray of shape (n, d) and (m, d)
        Rows, centred alike so that distances do not cancel.
    sigma : float
        Bandwidth σ.

    Returns
    -------
    float
        In O((n + m) d) memory.
    """
    n, m = len(first), len(second)
    if n == 0 or m == 0:
        return 0.0
    n_padded = -(-n // _TILE) * _TILE
    U, w = np.zeros((first.shape[1], n_padded + m)), np.zeros(n_padded + m)
    U[:, :n], U[:, n_padded:] = first.T, second.T
    U *= SCALE / sigma
    w[:n], w[n_padded:] = 1.0, 1.0
    totals = np.empty(n_padded // _TILE)
    _sum_rows(U, *squared_lengths(U), w, n_padded, totals)
    return float(totals.sum())

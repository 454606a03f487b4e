"""Sum of the Gaussian kernel between two blocks of rows: the unit from which exact MMD² of many rows is made."""

from __future__ import annotations

import numpy as np

from fairpca.solvers.mmd._blocks import squared_lengths
from fairpca.solvers.mmd._loops import sum_rows
from fairpca.solvers.mmd._plain import SCALE, TILE

__all__ = ["kernel_sum"]


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
    n_padded = -(-n // TILE) * TILE
    U, w = np.zeros((first.shape[1], n_padded + m)), np.zeros(n_padded + m)
    U[:, :n], U[:, n_padded:] = first.T, second.T
    U *= SCALE / sigma
    w[:n], w[n_padded:] = 1.0, 1.0
    totals = np.empty(n_padded // TILE)
    sum_rows(U, *squared_lengths(U), w, n_padded, totals)
    return float(totals.sum())

"""Last digits and lowest rank of a solution of the Fantope min-max problem.

Near the optimum the eigenvalues of P fall into ones, zeros and a small fractional block, whose space is tied in
``S_w = sum_g w_g S_g``. With this structure known the optimality conditions are smooth equations, and Newton's
method on them gives what a central path cannot: full accuracy.

Matrices and constants come in units in which the widest half range of a matrix's eigenvalues is one: thresholds are
absolute. The eigenvalues of ``S_w`` are no measure, because at the optimum they may all be tied near zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairpca.linalg import symmetrise

__all__ = ["FacePoint", "face_point", "polish", "rank_bound", "reduce_rank"]


@dataclass(frozen=True)
class FacePoint:
    """``P = U1 U1' + UF F UF'`` with 0 < F < I, weights w, and the values that they certify."""

    weights: np.ndarray
    ones: np.ndarray  # U1, q x n1
    fractional: np.ndarray  # UF, q x r
    block: np.ndarray  # F, r x r
    zeros: np.ndarray  # the other eigenvectors of S_w
    spectrum: np.ndarray  # eigenvalues of S_w for (ones, fractional, zeros)
    losses: np.ndarray
    lower_bound: float

    @property
    def gap(self) -> float:
        """Largest loss less the dual value."""
        return float(self.losses.max()) - self.lower_bound


def rank_bound(n_groups: int) -> int:
    """Largest number of extra dimensions that the optimum may need with `n_groups` groups.

    ``floor(sqrt(2 k + 1/4) - 3/2)`` (Tantipongpipat et al. 2019, from Pataki 1998): none for two groups.
    """
    return int(np.floor(np.sqrt(2 * n_groups + 0.25) - 1.5 + 1e-12))


def _fit_block(block: np.ndarray, trace: int) -> np.ndarray:
    """Give a symmetric block the exact trace, inside 0 <= F <= I."""
    r = len(block)
    if r == 0:
        return block
    p, R = np.linalg.eigh(symmetrise(block))
    p = np.clip(p, 0.0, 1.0)
    for _ in range(50):
        miss = trace - p.sum()
        room = 1.0 - p if miss > 0 else p
        if abs(miss) < 1e-15 or room.sum() == 0:
            break
        p = np.clip(p + miss * room / room.sum(), 0.0, 1.0)
    return (R * p) @ R.T


def face_point(
    S: np.ndarray, a: np.ndarray, d: int, weights: np.ndarray, n_ones: int, r: int, guess: np.ndarray | None
) -> FacePoint:
    """Take the eigenspaces of ``S_w`` as ones, fractional block and zeros, in the order of its eigenvalues.

    `guess` is a q x q matrix whose compression to the fractional space starts the block.
    """
    w, U = np.linalg.eigh(np.tensordot(weights, S, 1))
    w, U = w[::-1], U[:, ::-1]
    ones, UF, zeros = U[:, :n_ones], U[:, n_ones : n_ones + r], U[:, n_ones + r :]
    block = np.zeros((0, 0)) if guess is None or r == 0 else _fit_block(UF.T @ guess @ UF, d - n_ones)
    sums = np.array([np.einsum("ij,ij->", ones, A @ ones) + np.einsum("ij,ji->", UF.T @ A @ UF, block) for A in S])
    return FacePoint(weights, ones, UF, block, zeros, w, a - sums, float(weights @ a - w[:d].sum()))


def _svec(r: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    i, j = np.triu_indices(r)
    return i, j, np.where(i == j, 1.0, np.sqrt(2.0))


def polish(S: np.ndarray, a: np.ndarray, d: int, point: FacePoint, *, tol: float, max_iter: int = 8) -> FacePoint:
    """Newton's method on the optimality conditions with the point's structure held fixed.

    Unknowns are the changes of the weights of tight groups, of the block, of the tied eigenvalue and of the common
    loss; equations: equal tight losses, a tied block, the trace, weights that sum to one. Returns the best point met.
    """
    best, x = point, point
    for _ in range(max_iter):
        if best.gap <= tol:
            break
        # Without a tie all is a smooth problem in the weights; which groups are tight then need not be guessed.
        step = (_simplex_step(S, x), None) if x.fractional.shape[1] == 0 else _newton_step(S, x)
        if step is None:
            break
        weights, guess = step
        x = face_point(S, a, d, weights, x.ones.shape[1], x.fractional.shape[1], guess)
        if x.gap < best.gap:
            best = x
    return best


def _simplex_step(S: np.ndarray, x: FacePoint) -> np.ndarray:
    """Maximise the dual's quadratic model over the simplex, at a point whose top space is unique, by active sets."""
    n1 = x.ones.shape[1]
    gaps = np.maximum(x.spectrum[:n1, None] - x.spectrum[None, n1:], 1e-14)
    B = x.ones.T @ S @ x.zeros
    m = len(S)
    K = (B * (2.0 / gaps)).reshape(m, -1) @ B.reshape(m, -1).T
    # A proximal term, far below what the losses differ by: where the dual is linear the model needs a curvature.
    K[np.diag_indices(m)] += max(1e-6 * float(np.ptp(x.losses)), 1e-12 * float(np.trace(K)), 1e-18)
    gradient = x.losses - x.losses.max() + K @ x.weights
    free = np.ones(m, dtype=bool)
    weights = x.weights
    for _ in range(4 * m):
        n = int(free.sum())
        A = np.zeros((n + 1, n + 1))
        A[:n, :n], A[:n, n], A[n, :n] = K[np.ix_(free, free)], 1.0, 1.0
        size = max(float(np.abs(A[:n, :n]).max()), np.finfo(float).tiny)
        A[:n, :n] /= size  # balanced: the curvature may be tiny beside the ones
        solved = np.linalg.lstsq(A, np.append(gradient[free] / size, 1.0), rcond=1e-14)[0]
        trial = np.zeros(m)
        trial[free] = solved[:n]
        if n > 1 and trial.min() < 0:
            free[int(np.argmin(trial))] = False
            continue
        if trial.max() <= 0:
            break
        weights = np.maximum(trial, 0.0) / np.maximum(trial, 0.0).sum()
        slope = gradient - K @ weights - size * solved[n]
        slope[free] = 0.0
        if slope.max() <= 1e-15:
            break
        free[int(np.argmax(slope))] = True
    return weights


def _newton_step(S: np.ndarray, x: FacePoint) -> tuple[np.ndarray, np.ndarray | None] | None:
    slack = x.losses.max() - x.losses
    tight = np.flatnonzero((x.weights > slack) | (slack == 0))
    m, n1, r = len(tight), x.ones.shape[1], x.fractional.shape[1]
    F, R = np.linalg.eigh(x.block) if r else (np.zeros(0), np.zeros((0, 0)))
    UF = x.fractional @ R
    w1, wF, w0 = x.spectrum[:n1], x.spectrum[n1 : n1 + r], x.spectrum[n1 + r :]
    T = S[tight]
    # How the losses answer to weights: rotations between the three spaces (pairs inside the tie are X's business).
    curvature = np.zeros((m, m))
    tie = float(wF.mean()) if r else 0.0
    for left, right, p_gap, w_gap in (
        (x.ones, x.zeros, np.ones((n1, len(w0))), w1[:, None] - w0[None, :]),
        (x.ones, UF, 1.0 - np.tile(F, (n1, 1)), w1[:, None] - np.full((1, r), tie)),
        (UF, x.zeros, np.tile(F[:, None], (1, len(w0))), np.full((r, 1), tie) - w0[None, :]),
    ):
        if left.shape[1] == 0 or right.shape[1] == 0:
            continue
        B = left.T @ T @ right
        weight = 2.0 * p_gap / np.maximum(w_gap, 1e-14)
        curvature += (B * weight).reshape(m, -1) @ B.reshape(m, -1).T
    i, j, root2 = _svec(r)
    size = len(i)
    inside = (UF.T @ T @ UF)[:, i, j] * root2 if r else np.zeros((m, 0))
    unit = np.where(i == j, 1.0, 0.0)
    n = m + size + 2  # weights, block, tied eigenvalue, common loss
    A, b = np.zeros((n, n)), np.zeros(n)
    A[:m, :m], A[:m, m : m + size], A[:m, -1] = -curvature, -inside, -1.0
    b[:m] = -x.losses[tight]
    A[m : m + size, :m], A[m : m + size, -2] = inside.T, -unit
    if r:
        b[m : m + size] = -(x.weights[tight] @ inside)
    A[-2, m : m + size] = unit
    A[-1, :m] = 1.0
    b[-1] = 1.0 - x.weights[tight].sum()
    try:
        change = np.linalg.lstsq(A, b, rcond=1e-13)[0]
    except np.linalg.LinAlgError:
        return None
    weights = np.zeros_like(x.weights)
    weights[tight] = x.weights[tight] + change[:m]
    if weights.min() < 0:
        weights = np.maximum(weights, 0.0)
    if not np.isfinite(weights).all() or weights.sum() <= 0:
        return None
    weights /= weights.sum()
    if r == 0:
        return weights, None
    X = np.zeros((r, r))
    X[i, j] = change[m : m + size] / root2
    X = X + X.T - np.diag(np.diagonal(X))
    return weights, UF @ (np.diag(F) + X) @ UF.T


def reduce_rank(S: np.ndarray, a: np.ndarray, d: int, x: FacePoint, *, tol: float) -> FacePoint:
    """Lower the rank of P without raising the largest loss (no linear programme: null vectors only).

    While a symmetric X of trace zero changes all tight losses equally, move along it inside the fractional block
    until an eigenvalue meets 0 or 1 or a slack group becomes tight. What remains has r (r + 1) / 2 <= number of
    groups, hence at most :func:`rank_bound` extra dimensions.
    """
    ones, UF, zeros = x.ones, x.fractional, x.zeros
    F, R = np.linalg.eigh(x.block) if UF.shape[1] else (np.zeros(0), np.zeros((0, 0)))
    UF = UF @ R
    losses = x.losses.copy()
    tight = losses >= losses.max() - max(tol, 1e-12)
    while True:
        to_one, to_zero = F > 1.0 - 1e-9, F < 1e-9
        ones = np.concatenate((ones, UF[:, to_one]), axis=1)
        zeros = np.concatenate((UF[:, to_zero], zeros), axis=1)
        UF, F = UF[:, ~(to_one | to_zero)], F[~(to_one | to_zero)]
        if len(F) < 2:
            break
        i, j, root2 = _svec(len(F))
        inside = (UF.T @ S @ UF)[:, i, j] * root2
        chosen = np.flatnonzero(tight)
        rows = np.concatenate((np.where(i == j, 1.0, 0.0)[None], inside[chosen[1:]] - inside[chosen[:1]]))
        if len(i) <= np.linalg.matrix_rank(rows, tol=1e-11):
            break
        v = np.linalg.svd(rows)[2][-1]
        if inside[chosen[0]] @ v < 0:
            v = -v
        X = np.zeros((len(F), len(F)))
        X[i, j] = v / root2
        X = X + X.T - np.diag(np.diagonal(X))
        step = _longest_step(F, X)
        gains = inside @ v
        for g in np.flatnonzero(~tight):
            closing = gains[chosen[0]] - gains[g]
            if closing > 0 and (losses.max() - losses[g]) / closing < step:
                step = (losses.max() - losses[g]) / closing
        F, R = np.linalg.eigh(np.diag(F) + step * X)
        UF = UF @ R
        losses = losses - step * gains
        tight = tight | (losses >= losses.max() - max(tol, 1e-12))
    if len(F) == 1:  # a single fractional eigenvalue can only be rounding: the trace is an integer
        if d > ones.shape[1]:
            ones, UF = np.concatenate((ones, UF), axis=1), UF[:, :0]
        else:
            zeros, UF = np.concatenate((UF, zeros), axis=1), UF[:, :0]
        F = F[:0]
    block = _fit_block(np.diag(F), d - ones.shape[1])
    sums = np.array([np.einsum("ij,ij->", ones, A @ ones) + np.einsum("ij,ji->", UF.T @ A @ UF, block) for A in S])
    return FacePoint(x.weights, ones, UF, block, zeros, x.spectrum, a - sums, x.lower_bound)


def _longest_step(F: np.ndarray, X: np.ndarray) -> float:
    """Largest s with ``0 <= diag(F) + s X <= I``."""
    below = 1.0 / np.sqrt(F)
    above = 1.0 / np.sqrt(1.0 - F)
    down = np.linalg.eigvalsh(X * np.multiply.outer(below, below))[0]
    up = np.linalg.eigvalsh(X * np.multiply.outer(above, above))[-1]
    limits = [1.0 / -down] if down < 0 else []
    limits += [1.0 / up] if up > 0 else []
    return float(min(limits))

"""Last digits and lowest rank of a solution of the Fantope min-max problem.

Near the optimum the eigenvalues of P fall into ones, zeros and a small fractional block, whose space is tied in
``S_y = sum_g y_g S_g``. With this structure known the optimality conditions are smooth equations, and Newton's
method on them gives what a central path cannot: full accuracy.

Every group has matrices in its own unit (:class:`FaceProblem`): thresholds are absolute, and groups whose data differ
in size by many orders of magnitude are no special case. The eigenvalues of ``S_y`` are no measure, because at the
optimum they may all be tied near zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairpca.linalg import symmetrise

__all__ = [
    "FacePoint",
    "FaceProblem",
    "TiedBlock",
    "face_point",
    "polish",
    "rank_bound",
    "reduce_rank",
    "response",
]

_EPS = 1e-15


@dataclass(frozen=True)
class FaceProblem:
    """Minimise z subject to ``c_g z >= a_g - <S_g, P>``, where every S_g has half range one or less.

    Its dual maximises ``y'a - (sum of the d largest eigenvalues of S_y)`` over ``y >= 0, c'y = 1``.
    """

    S: np.ndarray  # (m, q, q)
    a: np.ndarray
    c: np.ndarray  # unit of z in the units of the groups
    d: int

    def losses(self, sums: np.ndarray) -> np.ndarray:
        """Return what each group asks of z where it keeps these sums."""
        return (self.a - sums) / self.c


@dataclass(frozen=True)
class FacePoint:
    """``P = U1 U1' + UF F UF'`` with 0 < F < I, weights y, and the values that they certify."""

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

    Parameters
    ----------
    n_groups : int
        Number of groups k.

    Returns
    -------
    int
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


def face_point(problem: FaceProblem, weights: np.ndarray, n_ones: int, r: int, guess: np.ndarray | None) -> FacePoint:
    """Take the eigenspaces of ``S_y`` as ones, fractional block and zeros, in the order of its eigenvalues.

    `guess` is a q x q matrix whose compression to the fractional space starts the block.
    """
    d = problem.d
    w, U = np.linalg.eigh(np.tensordot(weights, problem.S, 1))
    w, U = w[::-1], U[:, ::-1]
    ones, UF, zeros = U[:, :n_ones], U[:, n_ones : n_ones + r], U[:, n_ones + r :]
    block = np.zeros((0, 0)) if guess is None or r == 0 else _fit_block(UF.T @ guess @ UF, d - n_ones)
    losses = problem.losses(_sums(problem.S, ones, UF, block))
    return FacePoint(weights, ones, UF, block, zeros, w, losses, float(weights @ problem.a - w[:d].sum()))


def _sums(S: np.ndarray, ones: np.ndarray, UF: np.ndarray, block: np.ndarray) -> np.ndarray:
    return np.einsum("ij,gij->g", ones, S @ ones) + np.einsum("gij,ji->g", UF.T @ S @ UF, block)


def packed(r: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and factors that make the upper triangle of a symmetric r x r matrix an isometric vector."""
    i, j = np.triu_indices(r)
    return i, j, np.where(i == j, 1.0, np.sqrt(2.0))


def unpacked(vector: np.ndarray, r: int) -> np.ndarray:
    """Return the symmetric matrix of a vector, see :func:`packed`."""
    i, j, root2 = packed(r)
    X = np.zeros((r, r))
    X[i, j] = X[j, i] = vector / root2
    return X


class TiedBlock:
    """Fractional block of a point as unknowns of Newton's equations: its sums in the matrices T, and its trace.

    A tied block of r dimensions has r (r + 1) / 2 entries, but there are only as many equations for them as groups and
    a trace. Nearly isotropic matrices tie by the hundred; the shortest solution lies in the space of `axes`, the
    directions that any equation sees (None where these are all of them).
    """

    def __init__(self, T: np.ndarray, x: FacePoint) -> None:
        r = x.fractional.shape[1]
        F, R = np.linalg.eigh(x.block) if r else (np.zeros(0), np.zeros((0, 0)))
        self.F, self.UF = F, x.fractional @ R
        i, j, root2 = packed(r)
        self.inside = (self.UF.T @ T @ self.UF)[:, i, j] * root2 if r else np.zeros((len(T), 0))
        self.unit = np.where(i == j, 1.0, 0.0)
        self.axes: np.ndarray | None = None
        if len(i) > len(T) + 1:
            self.axes = np.linalg.qr(np.column_stack((self.inside.T, self.unit)))[0]
            self.inside, self.unit = self.inside @ self.axes, self.unit @ self.axes

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return len(self.unit)

    def moved(self, change: np.ndarray) -> np.ndarray | None:
        """Return the block in the coordinates of the problem, changed by these unknowns; None without a block."""
        r = len(self.F)
        X = np.diag(self.F) + unpacked(change if self.axes is None else self.axes @ change, r)
        return self.UF @ X @ self.UF.T if r else None


def polish(problem: FaceProblem, point: FacePoint, *, tol: float, max_iter: int = 8) -> FacePoint:
    """Newton's method on the optimality conditions with the point's structure held fixed.

    Unknowns are the changes of the weights of tight groups, of the block, of the tied eigenvalue and of the common
    loss; equations: equal tight losses, a tied block, the trace, the dual's constraint. Returns the best point met.
    """
    best, x = point, point
    misses = 0
    for _ in range(max_iter):
        if best.gap <= tol or misses == 3:  # a wrong structure, or rounding: nothing more will come
            break
        # Without a tie all is a smooth problem in the weights; which groups are tight then need not be guessed.
        step = (_simplex_step(problem, x), None) if x.fractional.shape[1] == 0 else _newton_step(problem, x)
        if step is None:
            break
        weights, guess = step
        x = face_point(problem, weights, x.ones.shape[1], x.fractional.shape[1], guess)
        misses = 0 if x.gap < 0.5 * best.gap else misses + 1
        if x.gap < best.gap:
            best = x
    return best


def _simplex_step(problem: FaceProblem, x: FacePoint) -> np.ndarray:
    """Maximise the dual's quadratic model over its simplex, at a point whose top space is unique, by active sets."""
    S, c = problem.S, problem.c
    n1 = x.ones.shape[1]
    gaps = np.maximum(x.spectrum[:n1, None] - x.spectrum[None, n1:], 1e-14)
    B = x.ones.T @ S @ x.zeros
    m = len(S)
    K = (B * (2.0 / gaps)).reshape(m, -1) @ B.reshape(m, -1).T
    slack = c * (x.losses.max() - x.losses)
    # A proximal term, far below what the losses differ by: where the dual is linear the model needs a curvature.
    K[np.diag_indices(m)] += max(1e-6 * float(slack.max()), 1e-12 * float(np.trace(K)), 1e-18)
    gradient = K @ x.weights - slack
    free = np.ones(m, dtype=bool)
    weights = x.weights
    for _ in range(4 * m):
        n = int(free.sum())
        A = np.zeros((n + 1, n + 1))
        A[:n, :n], A[:n, n], A[n, :n] = K[np.ix_(free, free)], c[free], c[free]
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
        weights = np.maximum(trial, 0.0) / (c @ np.maximum(trial, 0.0))
        slope = gradient - K @ weights - size * solved[n] * c
        slope[free] = 0.0
        if slope.max() <= 1e-15:
            break
        free[int(np.argmax(slope))] = True
    return weights


def response(T: np.ndarray, x: FacePoint, UF: np.ndarray, F: np.ndarray) -> np.ndarray:
    """How the sums <T_g, P> answer to a change of the weights of `T`: by rotations between the three spaces of P.

    `UF` and `F` diagonalise the fractional block; pairs inside it are not the weights' business.
    """
    n1, r = x.ones.shape[1], len(F)
    w1, wF, w0 = x.spectrum[:n1], x.spectrum[n1 : n1 + r], x.spectrum[n1 + r :]
    curvature = np.zeros((len(T), len(T)))
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
        curvature += (B * weight).reshape(len(T), -1) @ B.reshape(len(T), -1).T
    return curvature


def _newton_step(problem: FaceProblem, x: FacePoint) -> tuple[np.ndarray, np.ndarray | None] | None:
    slack = problem.c * (x.losses.max() - x.losses)
    tight = np.flatnonzero((x.weights > slack) | (slack == 0))
    T, c, m = problem.S[tight], problem.c[tight], len(tight)
    tied = TiedBlock(T, x)
    inside, unit, size = tied.inside, tied.unit, tied.size
    # What the losses answer to the weights, with the opposite sign.
    curvature = response(T, x, tied.UF, tied.F)
    n = m + size + 2  # weights, block, tied eigenvalue, common loss
    A, b = np.zeros((n, n)), np.zeros(n)
    A[:m, :m], A[:m, m : m + size], A[:m, -1] = -curvature, -inside, -c
    b[:m] = -c * x.losses[tight]
    A[m : m + size, :m], A[m : m + size, -2] = inside.T, -unit
    b[m : m + size] = -(x.weights[tight] @ inside)
    A[-2, m : m + size] = unit
    A[-1, :m] = c
    b[-1] = 1.0 - c @ x.weights[tight]
    try:
        change = np.linalg.lstsq(A, b, rcond=1e-13)[0]
    except np.linalg.LinAlgError:
        return None
    weights = np.zeros_like(x.weights)
    weights[tight] = x.weights[tight] + change[:m]
    if weights.min() < 0:
        weights = np.maximum(weights, 0.0)
    if not np.isfinite(weights).all() or weights.max() <= 0:
        return None
    weights /= problem.c @ weights
    return weights, tied.moved(change[m : m + size])


def reduce_rank(problem: FaceProblem, x: FacePoint, *, tol: float) -> FacePoint:
    """Lower the rank of P without raising the largest loss (no linear programme: null vectors only).

    While a symmetric X of trace zero changes all tight losses equally, move along it inside the fractional block
    until an eigenvalue meets 0 or 1 or a slack group becomes tight. What remains has r (r + 1) / 2 <= number of
    groups, hence at most :func:`rank_bound` extra dimensions.
    """
    # A small eigenvalue may be all that a group of large unit needs; and where losses nearly vanish, what all need.
    rounded = _reduced(problem, x, max(1e-9 * min(1.0, float(problem.c.min())), _EPS), tol)
    if rounded.gap <= max(2.0 * x.gap, tol):
        return rounded
    return min(rounded, _reduced(problem, x, _EPS, tol), key=lambda point: point.gap)


def _reduced(problem: FaceProblem, x: FacePoint, least: float, tol: float) -> FacePoint:
    """Lower the rank, where eigenvalues within `least` of 0 and 1 are taken for those."""
    S, c, d = problem.S, problem.c, problem.d
    ones, UF, zeros = x.ones, x.fractional, x.zeros
    F, R = np.linalg.eigh(x.block) if UF.shape[1] else (np.zeros(0), np.zeros((0, 0)))
    UF = UF @ R
    losses = x.losses.copy()
    near = max(tol, 1e-12)
    tight = c * (losses.max() - losses) <= near
    while True:
        to_one, to_zero = F > 1.0 - least, F < least  # noqa: SIM300
        ones = np.concatenate((ones, UF[:, to_one]), axis=1)
        zeros = np.concatenate((UF[:, to_zero], zeros), axis=1)
        UF, F = UF[:, ~(to_one | to_zero)], F[~(to_one | to_zero)]
        if len(F) < 2:
            break
        # As few eigenvectors as surely have such a direction; the others wait for their turn.
        few = len(F)
        while few * (few - 1) // 2 > int(tight.sum()) + 1:
            few -= 1
        i, j, root2 = packed(few)
        U = UF[:, :few]
        inside = (U.T @ S @ U)[:, i, j] * root2
        # Unknowns: X and the common gain. Rows of groups in whose unit that gain is large are divided by it.
        rows = np.concatenate((np.append(np.where(i == j, 1.0, 0.0), 0.0)[None], np.column_stack((inside, -c))[tight]))
        rows[1:] /= np.maximum(c[tight], 1.0)[:, None]
        if len(i) + 1 <= np.linalg.matrix_rank(rows, tol=1e-11):
            break
        v = np.linalg.svd(rows)[2][-1]
        v = v if v[-1] >= 0 else -v
        X = unpacked(v[:-1], few)
        step = _longest_step(F[:few], X)
        gains = inside @ v[:-1] / c
        meets = None
        for g in np.flatnonzero(~tight):
            closing = v[-1] - gains[g]
            if closing > 0 and (losses.max() - losses[g]) / closing < step:
                step, meets = (losses.max() - losses[g]) / closing, g
        changed, R = np.linalg.eigh(np.diag(F[:few]) + step * X)
        # What ended the step is said outright, so that every step ends something, whatever rounding does.
        if meets is None:
            end = int(np.argmin(np.minimum(changed, 1.0 - changed)))
            changed[end] = np.round(changed[end])
        else:
            tight[meets] = True
        F, UF = np.append(changed, F[few:]), np.concatenate((U @ R, UF[:, few:]), axis=1)
        losses = losses - step * gains
        tight = tight | (c * (losses.max() - losses) <= near)
    if len(F) == 1:  # a single fractional eigenvalue can only be rounding: the trace is an integer
        if d > ones.shape[1]:
            ones, UF = np.concatenate((ones, UF), axis=1), UF[:, :0]
        else:
            zeros, UF = np.concatenate((UF, zeros), axis=1), UF[:, :0]
        F = F[:0]
    block = _fit_block(np.diag(F), d - ones.shape[1])
    losses = problem.losses(_sums(S, ones, UF, block))
    return FacePoint(x.weights, ones, UF, block, zeros, x.spectrum, losses, x.lower_bound)


def _longest_step(F: np.ndarray, X: np.ndarray) -> float:
    """Largest s with ``0 <= diag(F) + s X <= I``."""
    below = 1.0 / np.sqrt(F)
    above = 1.0 / np.sqrt(1.0 - F)
    down = np.linalg.eigvalsh(X * np.multiply.outer(below, below))[0]
    up = np.linalg.eigvalsh(X * np.multiply.outer(above, above))[-1]
    limits = [1.0 / -down] if down < 0 else []
    limits += [1.0 / up] if up > 0 else []
    return float(min(limits))

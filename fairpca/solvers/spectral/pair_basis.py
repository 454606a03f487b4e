"""A basis in which the leading eigenvectors of t M_0 + (1 - t) M_1 are known for many t, for large matrices.

A *large solve* at one t (block Krylov, full orthogonalisation) finds the leading eigenvectors of M_t to a given
residual, and only they enter the basis. So the basis stays small: another t costs a decomposition of its order, and
from the products kept with it the residuals for any t follow without touching the large matrices.

What the basis misses is bounded, not estimated (:mod:`fairpca.solvers.spectral._proof`).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, qr

from fairpca.linalg import top_eigenpairs
from fairpca.solvers.spectral._proof import complement_below, reduced_sum_bound

__all__ = ["PairBasis"]

_GUARD = 4  # pairs beyond d that enter the basis with the leading ones
_FRESH = 1  # random direction in every large solve, so that nothing orthogonal to the basis is overlooked
_GUARD_TOLERANCE = 1e-3
_NEAR = 1e-3  # pairs this close (relative to the norm) below the d-th are as accurate as the leading ones
_DROP = 1e-8  # a direction whose part outside the basis is smaller than this share adds only rounding
_ROUNDING = 1e-15  # of squared residuals from inner products, relative to the squared norm
_MAX_STEPS = 60
_COARSE = 1e-10  # excess of a bound, relative to the norm, that makes a whole decomposition worth its price
_FULL_UP_TO = 90  # order up to which all eigenvectors of a working matrix are cheaper than a few


class PairBasis:
    """Orthonormal Q for two symmetric matrices, with Q'M_bQ and the inner products of the M_bQ.

    Parameters
    ----------
    moments : ndarray of shape (2, p, p)
        Symmetric matrices, C-contiguous; kept by reference.
    random_state : int
        Seed of the fresh directions.

    Attributes
    ----------
    size : int
        Columns of Q; it only grows.
    small : ndarray of shape (2, size, size)
        Q'M_bQ.
    gram : ndarray of shape (2, 2, size, size)
        (M_bQ)'(M_cQ).
    n_large : int
        Large solves so far.
    """

    def __init__(self, moments: np.ndarray, random_state: int = 0) -> None:
        self.moments = moments
        self.p = moments.shape[1]
        self.size = self.n_large = 0
        self.small = np.empty((2, 0, 0))
        self.gram = np.empty((2, 2, 0, 0))
        self._rng = np.random.default_rng(random_state)
        self._stacked = moments.reshape(2 * self.p, self.p)
        self._Q = np.empty((self.p, 0), order="F")
        self._products = np.empty((2, self.p, 0))
        self._norms: np.ndarray | None = None
        self._proved: dict[float, float] = {}  # t: bound on the largest eigenvalue outside the basis

    # ---- small matrices -------------------------------------------------------------------------------------------

    def combine(self, t: float) -> np.ndarray:
        """Return A = Q'M_tQ."""
        return t * self.small[0] + (1 - t) * self.small[1]

    def square(self, t: float) -> np.ndarray:
        """Return (M_tQ)'(M_tQ)."""
        u = 1 - t
        mixed = self.gram[0, 1] + self.gram[1, 0]
        return t * t * self.gram[0, 0] + t * u * mixed + u * u * self.gram[1, 1]

    def pairs(self, t: float, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the leading Ritz pairs at `t`, ascending, enough of them to see whether the d-th is tied."""
        A = self.combine(t)
        q = len(A)
        count = min(d + _GUARD, q)
        if q <= _FULL_UP_TO:
            w, Y = np.linalg.eigh(A)
            return w[q - count :], Y[:, q - count :]
        w, Y = eigh(A, subset_by_index=(q - count, q - 1), check_finite=False)
        if len(w) < count:  # LAPACK may return fewer than asked for when eigenvalues agree to rounding
            w, Y = np.linalg.eigh(A)
            w, Y = w[q - count :], Y[:, q - count :]
        return w, Y

    def residual_squares(self, t: float, w: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return the squared residuals of Ritz pairs, up to rounding."""
        return np.sum(Y * (self.square(t) @ Y), axis=0) - w**2

    def accurate(self, t: float, d: int, tol: float, w: np.ndarray, Y: np.ndarray) -> bool:
        """Whether the residuals of the leading pairs are at most `tol`, relative to the norm of M_t."""
        scale = max(abs(float(w[-1])), abs(float(w[0]))) ** 2
        allowed = _allowed(w[::-1], d, tol)[::-1] ** 2
        return bool(np.all(self.residual_squares(t, w, Y) <= (allowed + 10 * _ROUNDING) * scale))

    def lift(self, Y: np.ndarray) -> np.ndarray:
        """Turn coordinates in the basis, also of an earlier and smaller one, into original ones."""
        return self._Q[:, : len(Y)] @ Y

    # ---- large matrices -------------------------------------------------------------------------------------------

    def solve(self, t: float, d: int, tol: float) -> None:
        """Find the leading eigenvectors of M_t to a relative residual of `tol` and add them to the basis."""
        self.n_large += 1
        M = t * self.moments[0] + (1 - t) * self.moments[1]
        width = min(d + _GUARD, self.p)
        fresh = self._rng.standard_normal((self.p, width + 4 if self.size == 0 else _FRESH))
        if self.size == 0:
            start = M @ fresh + 0.01 * np.sqrt(np.sum(M * M) / self.p) * fresh
        else:
            start = np.concatenate((self.lift(self.pairs(t, d)[1]), fresh / np.sqrt(self.p)), axis=1)
        self.append(_block_krylov(M, start, d, width, tol))

    def append(self, X: np.ndarray) -> int:
        """Add the part of the span of `X` outside the basis; return how many columns that gave."""
        Q = self._Q[:, : self.size]
        X = X - Q @ (Q.T @ X)
        X, R, _pivots = qr(X, mode="economic", pivoting=True, check_finite=False)
        X = X[:, np.abs(np.diagonal(R)) > _DROP]
        if X.shape[1] == 0:
            return 0
        X = _orthonormalised(X - Q @ (Q.T @ X), 0.0)  # twice is enough (Kahan, Parlett)
        X = X[:, : self.p - self.size]
        b, q = X.shape[1], self.size
        if b == 0:
            return 0
        self._reserve(q + b)
        self._Q[:, q : q + b] = X
        self._products[:, :, q : q + b] = (self._stacked @ X).reshape(2, self.p, b)
        new = self._products[:, :, q : q + b]
        small, gram = np.empty((2, q + b, q + b)), np.empty((2, 2, q + b, q + b))
        small[:, :q, :q], gram[:, :, :q, :q] = self.small, self.gram
        for g in range(2):
            corner = self._Q[:, : q + b].T @ new[g]
            small[g, :, q:] = corner
            small[g, q:, :] = corner.T
            small[g, q:, q:] = (corner[q:] + corner[q:].T) * 0.5
            for h in range(2):
                corner = self._products[g, :, : q + b].T @ new[h]
                gram[g, h, :, q:] = corner
                gram[h, g, q:, :] = corner.T
        self.small, self.gram, self.size = small, gram, q + b
        return b

    def _reserve(self, columns: int) -> None:
        if columns <= self._Q.shape[1]:
            return
        room = min(self.p, max(2 * columns, 64))
        Q, products = np.empty((self.p, room), order="F"), np.empty((2, room, self.p)).transpose(0, 2, 1)
        Q[:, : self.size] = self._Q[:, : self.size]
        products[:, :, : self.size] = self._products[:, :, : self.size]
        self._Q, self._products = Q, products

    # ---- what the basis misses ------------------------------------------------------------------------------------

    def top_sum_bound(self, t: float, d: int, w: np.ndarray, Y: np.ndarray, *, tight: bool = True) -> float:
        """Return a proven upper bound on the sum of the `d` largest eigenvalues of M_t.

        Parameters
        ----------
        t : float
            Weight of M_0.
        d : int
            How many.
        w, Y : ndarray
            Leading Ritz pairs at `t`, ascending, from this basis or when it was smaller.
        tight : bool
            Whether a poor bound is worth a decomposition of the whole matrix.
        """
        bound = self._reduced_bound(t, d, w, Y)
        allowed = _COARSE * max(abs(float(w[-1])), abs(float(w[0]))) if tight else float(w[-d:].sum())
        if bound - float(w[-d:].sum()) <= allowed:
            return bound
        # Nothing separates the leading eigenvalues from what is outside the basis.
        whole = t * self.moments[0] + (1 - t) * self.moments[1]
        return float(eigh(whole, eigvals_only=True, subset_by_index=(self.p - d, self.p - 1)).sum())

    def _reduced_bound(self, t: float, d: int, w: np.ndarray, Y: np.ndarray) -> float:
        outside = self._outside(t, float(w[-d]), float(w[-1]))
        A = self.combine(t)
        spill = self.square(t) - A @ A  # E'E
        return reduced_sum_bound(A, (spill + spill.T) * 0.5, d, w, Y, outside, _ROUNDING)

    def _outside(self, t: float, theta: float, largest: float) -> float:
        """Return a proven bound on the largest eigenvalue of M_t in the complement of the basis.

        The Frobenius norm is nearly free. Where it is too coarse, a Cholesky factor proves a bound at this `t`. That
        eigenvalue is convex in t and falls when the basis grows, so bounds at two weights hold between them for good.
        """
        if self._norms is None:
            flat = self.moments.reshape(2, -1)
            self._norms = flat @ flat.T
        pair = np.array([t, 1 - t])
        inside = 2 * np.trace(self.gram, axis1=2, axis2=3) - np.tensordot(self.small, self.small, axes=((1, 2), (1, 2)))
        frobenius = float(np.sqrt(max(float(pair @ (self._norms - inside) @ pair), 0.0)))
        if theta <= 0 or frobenius <= 0.8 * theta:
            return frobenius
        for weights in ((), (0.0, 1.0) if 0 < t < 1 else (), (t,)):
            for weight in weights:
                self._prove(weight, theta, largest)
            bound = self._between(t)
            if bound <= 0.9 * theta:
                return min(bound, frobenius)
        return frobenius

    def _between(self, t: float) -> float:
        """Return the bound at `t` that follows from those proved at the nearest weights on both sides."""
        below = max((s for s in self._proved if s <= t), default=None)
        above = min((s for s in self._proved if s >= t), default=None)
        if below is None or above is None:
            return np.inf
        u = (t - below) / (above - below) if above > below else 0.0
        return (1 - u) * self._proved[below] + u * self._proved[above]

    def _prove(self, t: float, theta: float, largest: float) -> None:
        """Try to prove by a Cholesky factor that outside the basis no eigenvalue of M_t exceeds a share of `theta`."""
        M = t * self.moments[0] + (1 - t) * self.moments[1]
        lift = 10.0 * largest
        for share in (0.5, 0.9):
            bound = share * theta
            if self._proved.get(t, np.inf) <= bound:
                return
            if complement_below(M, self._Q[:, : self.size], lift, bound):
                self._proved[t] = bound
                return


def _allowed(values: np.ndarray, d: int, tol: float) -> np.ndarray:
    """Return the relative residuals allowed for pairs with descending `values`, the first `d` and the rest."""
    allowed = np.full(len(values), max(tol, _GUARD_TOLERANCE))
    allowed[:d] = tol
    allowed[d:][values[d:] > values[d - 1] - _NEAR * abs(values[0])] = tol
    return allowed


def _block_krylov(M: np.ndarray, start: np.ndarray, d: int, width: int, tol: float) -> np.ndarray:
    """Return `width` Ritz vectors of M from a block Krylov space in which the leading `d` have converged."""
    p = len(M)
    room = 8 * start.shape[1]
    K, T = np.empty((p, min(room, p)), order="F"), np.zeros((min(room, p), min(room, p)))
    block = qr(start, mode="economic", pivoting=True, check_finite=False)[0]
    n, following = 0, 2
    rate, earlier = 5.0, (0, np.inf)
    for step in range(_MAX_STEPS):
        b = min(block.shape[1], p - n)
        block = block[:, :b]
        if n + b > K.shape[1]:
            room = min(2 * (n + b), p)
            bigger, T_bigger = np.empty((p, room), order="F"), np.zeros((room, room))
            bigger[:, :n], T_bigger[:n, :n] = K[:, :n], T[:n, :n]
            K, T = bigger, T_bigger
        K[:, n : n + b] = block
        image = M @ block
        known = K[:, : n + b]
        coefficients = known.T @ image
        T[: n + b, n : n + b] = coefficients
        T[n : n + b, : n + b] = coefficients.T
        image -= known @ coefficients
        n += b
        size = float(np.linalg.norm(T[:n, :b], axis=0).max())  # at most the norm, and soon close to it
        exhausted = n == p or float(np.linalg.norm(image)) <= 1e-14 * size
        if step >= following or exhausted or step == _MAX_STEPS - 1:
            w, Y = top_eigenpairs(T[:n, :n], min(width, n))
            if exhausted:
                break
            residuals = np.linalg.norm(image @ Y[n - b : n], axis=0)
            excess = float(np.max(residuals / (_allowed(w, d, tol) * max(abs(w[0]), abs(w[-1])))))
            if excess <= 1:
                break
            if earlier[1] > excess:  # the next look at the speed seen so far
                rate = max((earlier[1] / excess) ** (1 / (step - earlier[0])), 1.5) if np.isfinite(earlier[1]) else rate
            earlier = (step, excess)
            following = step + max(int(0.9 * np.log(excess) / np.log(rate)), 1)
        # Directions far below the allowed residual are not worth a product; a second pass restores orthogonality.
        block = _orthonormalised(image, 0.01 * tol * size)
        if block.shape[1] == 0:
            w, Y = top_eigenpairs(T[:n, :n], min(width, n))
            break
        block -= known @ (known.T @ block)
        block = _orthonormalised(block, 0.0)
    return K[:, :n] @ Y


def _orthonormalised(X: np.ndarray, drop: float) -> np.ndarray:
    """Return an orthonormal basis of the columns of `X` without directions shorter than `drop` or than rounding.

    From the eigenvectors of X'X: several times faster than QR for tall thin X, good to the square of its condition.
    """
    w, U = np.linalg.eigh(X.T @ X)
    keep = w > max(drop * drop, 1e-15 * float(w[-1]))
    return X @ (U[:, keep] / np.sqrt(w[keep]))

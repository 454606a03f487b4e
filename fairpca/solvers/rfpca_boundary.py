"""Support points of the joint numerical range: the curve on which the exact RFPCA solver searches.

For t in R let M_t = t M_0 + (1 - t) M_1.  The top-k eigenvectors V of M_t minimise <I - VV', M_t>, so
(s_0(V), s_1(V)) is a point of K = conv{s(V)} with support normal (t, 1 - t).  Where the k-th eigenvalue is
tied, the whole tied space contributes a flat piece of the boundary; its two ends are found exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from fairpca.solvers._pencil import Pencil

__all__ = ["Boundary", "PencilBoundary", "Support", "SupportPoint", "reconstruction_errors"]

TIE_TOLERANCE = 1e-13  # relative difference below which two eigenvalues count as equal
SAME_TIE = 1e-12  # two ties at weights closer than this are one
_GUARD = 4  # Ritz pairs looked at beyond the k-th
RESIDUAL_BELOW = 1e-6  # share of the trace below which s_b is computed from residuals


@dataclass(slots=True)
class SupportPoint:
    """A plane and its two reconstruction errors.

    Attributes
    ----------
    t : float
        Weight of M_0 for which the plane is (or is meant to be) the best.
    s0, s1 : float
        Reconstruction errors of the groups.
    V : ndarray of shape (p, k)
        Orthonormal basis.
    """

    t: float
    s0: float
    s1: float
    V: np.ndarray


@dataclass(slots=True)
class Support:
    """The support points at one t: ends of the face, equal unless the k-th eigenvalue is tied.

    `left` is the end that the arc reaches from smaller t, `right` the one it leaves towards larger t.
    `speed` is rho in ds/dt = rho (-(1 - t), t), or ``None`` where it is not known.
    """

    t: float
    left: SupportPoint
    right: SupportPoint
    speed: Callable[[], float] | None

    @property
    def tied(self) -> bool:
        """Whether the face is more than a point."""
        return self.left is not self.right


class Boundary:
    """Support points from full eigen-decompositions; every point is computed once and kept.

    The curve depends on the two matrices and on k only, so one object serves a whole grid of penalties and radii.

    Parameters
    ----------
    moments : ndarray of shape (2, p, p)
        Symmetric positive semidefinite M_0, M_1.
    k : int
        Dimension of the plane.
    """

    proves_bounds = False  # True: points may miss their support values by more than rounding, see `deficits`

    def __init__(self, moments: np.ndarray, k: int) -> None:
        moments = np.ascontiguousarray(moments, dtype=np.float64)
        if not all(np.array_equal(M, M.T) for M in moments):
            moments = (moments + moments.transpose(0, 2, 1)) * 0.5
        self.moments = moments
        self.k = k
        self.p = self.moments.shape[1]
        self.traces = tuple(float(np.trace(M)) for M in self.moments)
        self.evaluations = 0
        self.supports: dict[float, Support] = {}
        self._roots: dict[int, np.ndarray] = {}

    def at(self, t: float) -> Support:
        """Return the support at weight `t`, from memory if it is known."""
        known = self.supports.get(t)
        if known is None:
            known = self._compute(t)
            if known.tied:
                # One crossing, met again at a weight that differs by rounding: keep a single face for it.
                for other in self.supports.values():
                    if other.tied and abs(other.t - t) <= SAME_TIE * max(1.0, abs(t)):
                        return other
            self.supports[t] = known
        return known

    def _compute(self, t: float) -> Support:
        self.evaluations += 1
        return self._from_spectrum(t, *np.linalg.eigh(t * self.moments[0] + (1 - t) * self.moments[1]), self.moments)

    def _from_spectrum(self, t: float, w: np.ndarray, U: np.ndarray, matrices: np.ndarray) -> Support:
        """Return the support for eigenpairs of M_t (ascending), with M_0 and M_1 in the same coordinates."""
        top = len(w) - self.k
        threshold = TIE_TOLERANCE * max(-float(w[0]), float(w[-1]))
        if w[top] - w[top - 1] > threshold:
            V = U[:, top:]
            point = self._point(t, V)

            def speed() -> float:
                B = U[:, :top].T @ (matrices[0] @ V - matrices[1] @ V)
                return 2.0 * float((B * B / (w[None, top:] - w[:top, None])).sum())

            return Support(t, point, point, speed)
        tied = np.abs(w - w[top]) <= threshold
        above = U[:, (w > w[top]) & ~tied]
        E = U[:, tied]
        _, R = np.linalg.eigh(E.T @ (matrices[0] @ E - matrices[1] @ E))
        rest = self.k - above.shape[1]
        left = self._point(t, np.hstack((above, E @ R[:, :rest])))
        right = self._point(t, np.hstack((above, E @ R[:, R.shape[1] - rest :])))
        return Support(t, left, right, None)

    def _point(self, t: float, V: np.ndarray) -> SupportPoint:
        s0, s1 = self.errors(V)
        return SupportPoint(t, s0, s1, V)

    def deficits(self, supports: list[Support]) -> np.ndarray | None:
        """Return how far each support's t s0 + (1 - t) s1 may lie above the least one; None: by rounding only."""
        return None

    def errors(self, V: np.ndarray) -> tuple[float, float]:
        """Return (s_0, s_1) of the plane `V`; tiny ones from residuals, without cancellation."""
        M0, M1 = self.moments
        s0 = self.traces[0] - float(np.vdot(V, M0 @ V))
        s1 = self.traces[1] - float(np.vdot(V, M1 @ V))
        if s0 < RESIDUAL_BELOW * self.traces[0]:
            s0 = self._residual(0, V)
        if s1 < RESIDUAL_BELOW * self.traces[1]:
            s1 = self._residual(1, V)
        return s0, s1

    def _residual(self, b: int, V: np.ndarray) -> float:
        if b not in self._roots:
            self._roots[b] = _root(self.moments[b])
        root = self._roots[b]
        return float(((root - V @ (V.T @ root)) ** 2).sum())


class PencilBoundary(Boundary):
    """Support points of large matrices from one shared basis, with proven bounds on what the basis may miss.

    With Q the basis, A = Q'M_tQ, E the part of M_tQ outside Q and C the compression of M_t to the complement,
    completing the square gives M_t <= diag(A + E'E / (sigma - c), sigma I) for every sigma > c >= lambda_max(C).
    The top-k sum of the right-hand side bounds that of M_t, for any t, at the cost of a small decomposition; the
    excess over the Ritz values is quadratic in the residuals.

    Parameters
    ----------
    moments : ndarray of shape (2, p, p)
        Symmetric positive semidefinite M_0, M_1.
    k : int
        Dimension of the plane.
    tol : float
        Relative residual up to which the basis is enlarged at each t.
    """

    proves_bounds = True

    def __init__(self, moments: np.ndarray, k: int, tol: float = 1e-7) -> None:
        super().__init__(moments, k)
        # The basis must only grow, or what was proved about its complement would not hold any more.
        self.pencil = Pencil(self.moments, dense_limit=0, tol=tol, max_basis=2 * self.p)
        self._tails: tuple[float, float] | None = None
        self._least: dict[float, float] = {}
        self._grams = np.empty((2, 2, 0, 0))
        self._norms: np.ndarray | None = None

    def _compute(self, t: float) -> Support:
        self.evaluations += 1
        weights = np.array([t, 1 - t])
        if self.pencil.small.shape[1] < self.k + _GUARD:
            self.pencil.refine([weights], self.k)
        values, vectors = self._top_pairs(weights)
        if not self._accurate(weights, values, vectors):
            self.pencil.refine([weights], self.k)
            values, vectors = self._top_pairs(weights)
        support = self._from_spectrum(t, values, vectors, self.pencil.small)
        return Support(t, support.left, support.right, None)

    def _top_pairs(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the leading Ritz pairs (ascending), enough of them to see whether the k-th is tied."""
        A = self.pencil.combine(weights)
        q = len(A)
        count = min(self.k + _GUARD, q)
        return eigh(A, subset_by_index=(q - count, q - 1), check_finite=False)

    def _accurate(self, weights: np.ndarray, values: np.ndarray, vectors: np.ndarray) -> bool:
        """Whether the residuals of the leading pairs are small enough, from small matrices only."""
        sizes = np.sum(vectors * (self._square(weights) @ vectors), axis=0) - values**2
        scale = max(abs(float(values[-1])), abs(float(values[0]))) ** 2
        allowed = np.full(len(values), self.pencil.tol**2)
        allowed[: len(values) - self.k] = max(self.pencil.tol, 1e-3) ** 2
        return bool(np.all(sizes <= (allowed + 1e-14) * scale))

    def _square(self, weights: np.ndarray) -> np.ndarray:
        """Return (M_t Q)'(M_t Q)."""
        gram, (w0, w1) = self._gram(), weights
        return w0 * w0 * gram[0, 0] + w0 * w1 * (gram[0, 1] + gram[1, 0]) + w1 * w1 * gram[1, 1]

    def _gram(self) -> np.ndarray:
        """Return (M_g Q)'(M_h Q), shape (2, 2, q, q), extended by what the basis gained since the last call."""
        products = self.pencil.products
        old, q = self._grams.shape[2], products.shape[1]
        if q > old:
            grams = np.empty((2, 2, q, q))
            grams[:, :, :old, :old] = self._grams
            for g in range(2):
                for h in range(2):
                    new = products[g] @ products[h, old:].T
                    grams[g, h, :, old:] = new
                    grams[h, g, old:, :] = new.T
            self._grams = grams
        return self._grams

    def _point(self, t: float, V: np.ndarray) -> SupportPoint:
        s0, s1 = (self.traces[b] - float(np.vdot(V, self.pencil.small[b] @ V)) for b in range(2))
        lifted = self.pencil.lift(V)
        if s0 < RESIDUAL_BELOW * self.traces[0] or s1 < RESIDUAL_BELOW * self.traces[1]:
            s0, s1 = self.errors(lifted)
        return SupportPoint(t, s0, s1, lifted)

    def deficits(self, supports: list[Support]) -> np.ndarray | None:
        """Return proven bounds; what was proved with a smaller basis stays true and is kept."""
        result = np.empty(len(supports))
        for i, support in enumerate(supports):
            weights = np.array([support.t, 1 - support.t])
            if support.t not in self._least:
                self._least[support.t] = float(weights @ self.traces) - self._top_sum_bound(weights)
            ends = (support.left, support.right)
            result[i] = max(weights[0] * point.s0 + weights[1] * point.s1 for point in ends) - self._least[support.t]
        return np.maximum(result, 0.0)

    def _top_sum_bound(self, weights: np.ndarray) -> float:
        """Return a proven upper bound on the sum of the k largest eigenvalues of M_t."""
        small, gram = self.pencil.small, self._gram()
        if self._norms is None:
            flat = self.moments.reshape(2, -1)
            self._norms = flat @ flat.T
        tail = self._norms - 2 * np.trace(gram, axis1=2, axis2=3) + np.tensordot(small, small, axes=((1, 2), (1, 2)))
        A = self.pencil.combine(weights)
        theta = float(self._top_pairs(weights)[0][-self.k])
        # The Frobenius norm of C is free; its largest eigenvalue is computed only where that is too coarse.
        outside = np.sqrt(max(float(weights @ tail @ weights), 0.0))
        if outside > 0.8 * theta:
            tails = self._tail_norms()
            outside = min(outside, sum(max(w, 0.0) * c for w, c in zip(weights, tails, strict=True)))
        if outside >= 0.98 * theta:
            whole = np.tensordot(weights, self.moments, axes=1)
            return float(eigh(whole, eigvals_only=True, subset_by_index=(self.p - self.k, self.p - 1)).sum())
        square = self._square(weights) - A @ A
        q = len(A)
        majorant = eigh(
            A + (square + square.T) * (0.5 / (theta - outside)), eigvals_only=True, subset_by_index=(q - self.k, q - 1)
        )
        return float(np.maximum(majorant, theta).sum())

    def _tail_norms(self) -> tuple[float, float]:
        """Return the largest eigenvalue of each M_b outside the basis (valid for every larger basis too)."""
        if self._tails is None:
            Q = self.pencil.lift(np.eye(self.pencil.small.shape[1]))
            tails = []
            for b in range(2):
                MQ = self.pencil.products[b].T
                half = MQ - 0.5 * Q @ self.pencil.small[b]
                outside = self.moments[b] - half @ Q.T - Q @ half.T
                last = self.p - 1
                tails.append(max(float(eigh(outside, eigvals_only=True, subset_by_index=(last, last))[0]), 0.0))
            self._tails = (tails[0], tails[1])
        return self._tails


def _root(M: np.ndarray) -> np.ndarray:
    """Return L with M = LL'; eigenvalues that are rounding of zero become zero."""
    w, U = np.linalg.eigh(M)
    cutoff = len(w) * np.finfo(float).eps * max(float(w[-1]), 0.0)
    return U * np.sqrt(np.where(w > cutoff, w, 0.0))


def reconstruction_errors(moments: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return s_b = tr M_b - tr V'M_bV for each group, shape (n_groups,)."""
    kept = np.einsum("pk,mpk->m", V, moments @ V)
    return np.maximum(np.trace(moments, axis1=1, axis2=2) - kept, 0.0)

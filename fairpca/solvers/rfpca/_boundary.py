"""Support points of the joint numerical range: the curve on which the exact RFPCA solver searches.

For t in R let M_t = t M_0 + (1 - t) M_1.  The top-d eigenvectors V of M_t minimise <I - VV', M_t>, so
(s_0(V), s_1(V)) is a point of K = conv{s(V)} with support normal (t, 1 - t).  Where the d-th eigenvalue is
tied, the whole tied space contributes a flat piece of the boundary; its two ends are found exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairpca.solvers.spectral.pair_basis import PairBasis

__all__ = ["Boundary", "PencilBoundary", "Support", "SupportPoint"]

TIE_TOLERANCE = 1e-13  # relative difference below which two eigenvalues count as equal
SAME_TIE = 1e-12  # two ties at weights closer than this are one
_COARSE = 1e-2  # residual that is enough to begin with
_SCOUTS = 8  # rough searches before the search in earnest
_ROUNDING = 4 * float(np.finfo(float).eps)  # of a support value, relative to the traces
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
    plane : ndarray of shape (q, d)
        Orthonormal basis, in working coordinates.
    basis : PairBasis, optional
        What the working coordinates refer to; without it they are the original ones.
    """

    t: float
    s0: float
    s1: float
    plane: np.ndarray
    basis: PairBasis | None = None

    @property
    def V(self) -> np.ndarray:
        """Orthonormal basis of the plane in original coordinates, shape (p, d)."""
        return self.plane if self.basis is None else self.basis.lift(self.plane)


@dataclass(slots=True)
class Support:
    """The support points at one t: ends of the face, equal unless the d-th eigenvalue is tied.

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

    The curve depends on the two matrices and on d only, so one object serves a whole grid of penalties and radii.

    Parameters
    ----------
    moments : ndarray of shape (2, p, p)
        Symmetric positive semidefinite M_0, M_1.
    d : int
        Dimension of the plane.
    """

    proves_bounds = False  # True: points may miss their support values by more than rounding, see `deficits`

    def __init__(self, moments: np.ndarray, d: int) -> None:
        moments = np.ascontiguousarray(moments, dtype=np.float64)
        if not all(np.array_equal(M, M.T) for M in moments):
            moments = (moments + moments.transpose(0, 2, 1)) * 0.5
        self.moments = moments
        self.d = d
        self.p = self.moments.shape[1]
        self.traces = tuple(float(np.trace(M)) for M in self.moments)
        self.evaluations = 0
        self.coarse = False  # True: rough points will do for now, see PencilBoundary
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

    def usable(self) -> list[Support]:
        """Return the known supports, without rough ones unless these will do."""
        return list(self.supports.values())

    def sharpen(self) -> bool:
        """Compute rough supports anew, accurately; whether there were any."""
        return False

    def _compute(self, t: float) -> Support:
        self.evaluations += 1
        return self._from_spectrum(t, *np.linalg.eigh(t * self.moments[0] + (1 - t) * self.moments[1]), self.moments)

    def _from_spectrum(self, t: float, w: np.ndarray, U: np.ndarray, matrices: np.ndarray) -> Support:
        """Return the support for eigenpairs of M_t (ascending), with M_0 and M_1 in the same coordinates."""
        top = len(w) - self.d
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
        rest = self.d - above.shape[1]
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

    Where the basis is not good enough for a weight, one large solve at that weight extends it; see
    :class:`~fairpca.solvers.spectral.pair_basis.PairBasis`.  While `coarse` is set, a rough support point will do: far
    from the optimum the certificate needs no more than the proven tangent.

    Parameters
    ----------
    moments : ndarray of shape (2, p, p)
        Symmetric positive semidefinite M_0, M_1.
    d : int
        Dimension of the plane.
    tol : float
        Relative residual up to which the eigenvectors at each t are accurate.
    """

    proves_bounds = True

    def __init__(self, moments: np.ndarray, d: int, tol: float = 1e-7) -> None:
        super().__init__(moments, d)
        self.tol = tol
        self.basis = PairBasis(self.moments)
        self._scouting = False
        self._rough: set[float] = set()
        self._pairs: dict[float, tuple[np.ndarray, np.ndarray]] = {}
        self._least: dict[float, float] = {}

    @cached_property
    def whole(self) -> Boundary:
        """The same curve from whole decompositions."""
        return Boundary(self.moments, self.d)

    def at(self, t: float) -> Support:
        """Return the support at weight `t`; while `coarse` is set a rough one will do, else it is accurate."""
        if t in self._rough and not self.coarse:
            self._forget(t)
        return super().at(t)

    def usable(self) -> list[Support]:
        """Return the known supports, without rough ones unless these will do."""
        return [support for t, support in self.supports.items() if self.coarse or t not in self._rough]

    def sharpen(self) -> bool:
        """Compute rough supports anew, accurately; whether there were any."""
        rough = sorted(self._rough)
        for t in rough:
            self._forget(t)
            self.at(t)
        return bool(rough)

    def _forget(self, t: float) -> None:
        self._rough.discard(t)
        for memory in (self.supports, self._least):
            memory.pop(t, None)

    def _compute(self, t: float) -> Support:
        self.evaluations += 1
        if self.basis.size == 0:
            self.basis.solve(t, self.d, _COARSE if self.coarse else self.tol)
        values, vectors = self.basis.pairs(t, self.d)
        rough = not self.basis.accurate(t, self.d, self.tol, values, vectors)
        if rough and not self._scouting:
            if not (self.coarse and self.basis.accurate(t, self.d, _COARSE, values, vectors)):
                self.basis.solve(t, self.d, _COARSE if self.coarse else self.tol)
                values, vectors = self.basis.pairs(t, self.d)
            rough = self.coarse and not self.basis.accurate(t, self.d, self.tol, values, vectors)
        if rough:
            self._rough.add(t)
        support = self._from_spectrum(t, values, vectors, self.basis.small)
        self._pairs[t] = (values, vectors)
        return Support(t, support.left, support.right, None)

    def scout(self, t: float, search: Callable[[float], float]) -> float:
        """Search in the basis as it is, extend it at what was found, and repeat until it is good enough there.

        So the large matrices are not asked about weights that the search only passes.

        Parameters
        ----------
        t : float
            Weight to start from.
        search : callable
            Takes a weight to start from, returns the weight found.
        """
        kept = set(self._rough)
        self.coarse = self._scouting = True
        for attempt in range(_SCOUTS):
            t = search(t)
            found = t in self._rough
            for rough in self._rough - kept | ({t} if found else set()):
                self._forget(rough)
            if not found:
                break
            self.basis.solve(t, self.d, self.tol if attempt or kept else max(self.tol, _COARSE**2))
        self.coarse = self._scouting = False
        return t

    def _point(self, t: float, V: np.ndarray) -> SupportPoint:
        s0, s1 = self.errors(V)
        return SupportPoint(t, s0, s1, V, self.basis)

    def errors(self, V: np.ndarray) -> tuple[float, float]:
        """Return (s_0, s_1) of a plane in working coordinates; tiny ones from residuals, without cancellation."""
        q = len(V)
        M0, M1 = self.basis.small[:, :q, :q]
        s0 = self.traces[0] - float(np.vdot(V, M0 @ V))
        s1 = self.traces[1] - float(np.vdot(V, M1 @ V))
        if s0 < RESIDUAL_BELOW * self.traces[0] or s1 < RESIDUAL_BELOW * self.traces[1]:
            return super().errors(self.basis.lift(V))
        return s0, s1

    def deficits(self, supports: list[Support]) -> np.ndarray | None:
        """Return proven bounds; what was proved with a smaller basis stays true and is kept."""
        result = np.empty(len(supports))
        for i, support in enumerate(supports):
            t = support.t
            if t not in self._least:
                top = self.basis.top_sum_bound(t, self.d, *self._pairs[t], tight=t not in self._rough)
                self._least[t] = t * self.traces[0] + (1 - t) * self.traces[1] - top
            ends = (support.left, support.right)
            # Errors and support values are differences from the traces: near zero their rounding counts.
            rounding = _ROUNDING * (abs(t) * self.traces[0] + abs(1 - t) * self.traces[1])
            result[i] = max(t * point.s0 + (1 - t) * point.s1 for point in ends) - self._least[t] + rounding
        return np.maximum(result, 0.0)


def _root(M: np.ndarray) -> np.ndarray:
    """Return L with M = LL'; eigenvalues that are rounding of zero become zero."""
    w, U = np.linalg.eigh(M)
    cutoff = len(w) * np.finfo(float).eps * max(float(w[-1]), 0.0)
    return U * np.sqrt(np.where(w > cutoff, w, 0.0))

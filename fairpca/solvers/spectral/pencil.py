"""Leading eigenpairs of every weighted sum of a few symmetric matrices, from one shared basis.

The exact solvers ask for the top eigenvectors of ``M_w = sum_g w_g M_g`` at many weights w. Small matrices are
decomposed whole. For large ones an orthonormal basis Q is kept, together with the products ``M_g Q`` and the small
matrices ``Q' M_g Q``: any weights can then be tried at the cost of a small decomposition, residuals are cheap, and
only a residual that is too large costs products with the large matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, qr
from scipy.optimize import brentq

from fairpca.linalg import geodesic, orthonormal, symmetrise, top_eigenpairs
from fairpca.solvers.spectral._proof import complement_below, reduced_sum_bound

__all__ = [
    "Pencil",
    "Spectrum",
    "StreamedPencil",
    "avoiding_eigenpairs",
    "mix_to_zero",
    "split_ties",
    "sum_error",
    "zero_between",
]

_GUARD = 4  # Ritz pairs beyond d that must be roughly right, so that none of the leading ones is overlooked
_GUARD_TOLERANCE = 1e-3
_ROUNDING = 1e-28  # of squared residuals that are computed as such, relative to the squared norm
_KEPT = 0.6  # share of the allowed columns left where they run out: less to find again, and to prove about the rest
_DROP = 1e-8  # a direction whose part outside the basis is smaller than this share adds only rounding


class Spectrum(NamedTuple):
    """Eigen-decomposition of the working matrix: `values` descending, `vectors` in working coordinates."""

    values: np.ndarray
    vectors: np.ndarray


class Pencil:
    """Top eigenpairs (algebraically largest) of ``sum_g w_g M_g`` for changing, possibly negative, weights.

    Parameters
    ----------
    matrices : ndarray of shape (m, p, p)
        Symmetric matrices; kept by reference, never changed.
    dense_limit : int, default=150
        Up to this p the working matrices are the given ones and every answer is exact to rounding.
    tol : float, default=1e-8
        A large eigenpair is accepted when ``||M_w v - lambda v|| <= tol ||M_w||``. An eigenvalue is then off by
        about the square of the residual over its distance to the rest.
    max_basis : int, optional
        Columns that the basis may have before it is compressed; default ``4 (d + 30)`` for the d asked for.
    random_state : int, default=0
        Seed of the starting block.
    block : ndarray of shape (p, k), optional
        Vectors to begin the basis with in the place of random ones.

    Attributes
    ----------
    traces : ndarray of shape (m,)
        Full traces of the matrices.
    small : ndarray of shape (m, q, q)
        Working matrices: the given ones, or ``Q' M_g Q``.
    basis : ndarray of shape (p, q) or None
        Q; None where the working coordinates are the original ones.
    version : int
        Changes whenever the basis does, so that what was computed in it can be kept for as long as it is valid.
    n_small, n_large, n_products : int
        Working decompositions, large solves (calls that had to touch the large matrices) and columns multiplied.
    residual : float
        Largest relative residual accepted so far.
    keep : list of (weights, d)
        Top spaces that a compression of the basis must preserve besides those asked for at that moment.
    deadline : float
        Time of ``perf_counter`` after which the basis no longer grows, however inaccurate its pairs are.
    """

    def __init__(
        self,
        matrices: np.ndarray,
        *,
        dense_limit: int = 150,
        tol: float = 1e-8,
        max_basis: int | None = None,
        random_state: int = 0,
        block: np.ndarray | None = None,
    ) -> None:
        matrices = np.asarray(matrices, dtype=np.float64)
        if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2]:
            raise ValueError(f"matrices has shape {matrices.shape}; it must be (n_matrices, n_features, n_features).")
        self.matrices = matrices
        self._start(np.trace(matrices, axis1=1, axis2=2), matrices.shape[1], tol, max_basis, random_state)
        self.is_dense = matrices.shape[1] <= dense_limit
        self._small = matrices if self.is_dense else np.empty((len(matrices), 0, 0))
        if block is not None and not self.is_dense:
            self._append(block)

    def _start(self, traces: np.ndarray, p: int, tol: float, max_basis: int | None, random_state: int) -> None:
        """Begin with an empty basis."""
        self.tol = tol
        self.traces = traces
        self.n_small = self.n_large = self.n_products = self.version = 0
        self.residual = 0.0
        self.keep: list[tuple[Sequence[float] | np.ndarray, int]] = []
        self.deadline = np.inf
        self.is_dense = False
        self._max_basis = max_basis
        self._random_state = random_state
        self._size = self._limit = 0
        self._Q = np.empty((p, 0), order="F")
        self._products = np.empty((len(traces), 0, p))  # M_g Q, transposed: rows are contiguous
        self._small = np.empty((len(traces), 0, 0))

    @cached_property
    def _rng(self) -> np.random.Generator:  # not needed for small matrices, where its creation would show
        return np.random.default_rng(self._random_state)

    @property
    def n_features(self) -> int:
        """Order of the matrices."""
        return int(self._products.shape[2])

    @property
    def n_matrices(self) -> int:
        """Number of matrices."""
        return len(self._products)

    @property
    def late(self) -> bool:
        """Whether the deadline is over."""
        return perf_counter() > self.deadline

    @property
    def small(self) -> np.ndarray:
        """Working matrices, shape (m, q, q)."""
        return self._small

    @property
    def basis(self) -> np.ndarray | None:
        """Orthonormal basis of the working coordinates; None for the original ones."""
        return None if self.is_dense else self._Q[:, : self._size]

    def lift(self, Y: np.ndarray) -> np.ndarray:
        """Turn working coordinates into original ones."""
        return Y if self.is_dense else self._Q[:, : self._size] @ Y

    def combine(self, weights: Sequence[float] | np.ndarray) -> np.ndarray:
        """Return the working matrix of `weights`."""
        total = weights[0] * self._small[0]
        for g in range(1, len(self._small)):
            total += weights[g] * self._small[g]
        return total

    def spectrum(self, weights: Sequence[float] | np.ndarray) -> Spectrum:
        """Decompose the working matrix of `weights` completely."""
        self.n_small += 1
        w, Y = np.linalg.eigh(self.combine(weights))
        return Spectrum(w[::-1], Y[:, ::-1])

    def reduced(self, weights: Sequence[float] | np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the top `d` pairs that the present basis gives, in original coordinates."""
        self._require(d)
        w, Y = self.spectrum(weights)
        return w[:d].copy(), self.lift(Y[:, :d])

    def top(
        self, weights: Sequence[float] | np.ndarray, d: int, *, refine: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the `d` algebraically largest eigenvalues of ``M_w``, descending, and orthonormal eigenvectors.

        Parameters
        ----------
        weights : sequence of m floats
            Any sign.
        d : int
            How many, ``1 <= d <= p``.
        refine : bool, default=True
            Enlarge the basis until the residuals are below `tol`; False takes what the basis gives.

        Returns
        -------
        (ndarray of shape (d,), ndarray of shape (p, d))
        """
        if refine:
            self.refine([weights], d)
        return self.reduced(weights, d)

    def gradient(self, Y: np.ndarray) -> np.ndarray:
        """Return ``tr(Y' S_g Y)`` for each working matrix S_g."""
        return np.einsum("ik,gij,jk->g", Y, self._small, Y, optimize=True)

    def residual_squares(self, weights: Sequence[float] | np.ndarray, w: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return ``||M_w Q y - w Q y||^2`` for working eigenpairs (w, y); zeros for dense matrices.

        Divided by the distance of the eigenvalue to those not yet represented it estimates the eigenvalue's error.
        """
        if self.is_dense or self._size == self.n_features:
            return np.zeros(len(w))
        return np.sum(self._residual(weights, w, Y) ** 2, axis=0)

    def top_sum(self, weights: Sequence[float] | np.ndarray, d: int, stop: int | None = None) -> tuple[float, float]:
        """Return the sum of the `d` largest working eigenvalues and an estimate of how much the true sum exceeds it.

        `stop` is where the tie across the cut ends (:func:`split_ties`); by default there is none.
        """
        stop = min(stop or d, len(self._small[0]))
        self.n_small += 1
        w, Y = top_eigenpairs(self.combine(weights), min(stop + 1, len(self._small[0])))
        return float(w[:d].sum()), sum_error(self.residual_squares(weights, w[:stop], Y[:, :stop]), w[stop - 1 :])

    def top_sum_bound(
        self, weights: Sequence[float] | np.ndarray, d: int, pairs: tuple[np.ndarray, np.ndarray] | None = None
    ) -> float:
        """Return a proven upper bound on the sum of the `d` largest eigenvalues of ``M_w``.

        For dense matrices, and where the basis is everything, it is the sum itself. Where nothing separates the
        leading eigenvalues from what is outside the basis, the whole matrix is decomposed.

        Parameters
        ----------
        weights : sequence of m floats
            Any sign.
        d : int
            How many.
        pairs : (values, vectors), optional
            Ascending eigen-decomposition of the working matrix, where it is known already.
        """
        A = self.combine(weights)
        w, Y = np.linalg.eigh(A) if pairs is None else pairs
        found = float(w[-d:].sum())
        if self.is_dense or self._size == self.n_features:
            return found
        images = -(A @ self._Q[:, : self._size].T)
        for g, weight in enumerate(weights):
            images += weight * self._products[g, : self._size]
        spill = images @ images.T
        bound = reduced_sum_bound(A, spill, d, w, Y, self._outside(weights, A, spill, float(w[-d])), _ROUNDING)
        if bound == np.inf:
            bound = self.whole_top_sum(weights, d)
        return max(bound, found)

    def _outside(self, weights: Sequence[float] | np.ndarray, A: np.ndarray, spill: np.ndarray, theta: float) -> float:
        """Return a proven bound on the largest eigenvalue of M_w outside the basis, below `theta` if possible.

        The Frobenius norm is nearly free. Where it is too coarse, a Cholesky factor proves something smaller.
        """
        w = np.asarray(weights, dtype=np.float64)
        whole = float(w @ self._inner @ w)
        rounding = 1e-15 * whole  # of the difference
        square = whole - float(np.vdot(A, A)) - 2.0 * float(np.trace(spill))
        frobenius = float(np.sqrt(max(square, 0.0) + rounding))
        if frobenius <= 0.9 * theta or theta <= 0:
            return frobenius
        Q, M = self._Q[:, : self._size], np.tensordot(w, self.matrices, axes=1)
        proved = complement_below(M, Q, 10.0 * float(np.linalg.norm(A)), 0.9 * theta)
        return 0.9 * theta if proved else frobenius

    @cached_property
    def _inner(self) -> np.ndarray:
        """Frobenius inner products of the matrices."""
        flat = self.matrices.reshape(self.n_matrices, -1)
        return flat @ flat.T

    def _residual(self, weights: Sequence[float] | np.ndarray, w: np.ndarray, Y: np.ndarray) -> np.ndarray:
        R = self._Q[:, : self._size] @ (Y * -w)
        for g, weight in enumerate(weights):
            if weight:
                R += weight * (self._products[g, : self._size].T @ Y)
        return R

    # ---- large matrices -------------------------------------------------------------------------------------------

    def refine(self, targets: Sequence[Sequence[float] | np.ndarray], d: int, tol: float | None = None) -> bool:
        """Enlarge the basis until the top `d` pairs of all `targets` are accurate; True if it had to grow.

        This is a block Krylov method for several matrices at once: the directions added are the residuals of the
        pairs that are not yet accurate, and every direction serves all weights.
        """
        if not 1 <= d <= self.n_features:
            raise ValueError(f"d={d} is out of range; it must lie between 1 and {self.n_features}.")
        if self.is_dense:
            return False
        tol = self.tol if tol is None else tol
        self._limit = max(self._limit, self._max_basis or 4 * (d + 30))
        grew = self._require(d)
        stalled, worst = 0, 0.0
        while not self.late:
            blocks, worst = self._residuals(targets, d, tol)
            if not blocks or self._size == self.n_features:
                break
            if self._size + sum(b.shape[1] for b in blocks) > self._limit:
                self.compress(targets, d, int(_KEPT * self._limit))
            added = self._append(np.concatenate(blocks, axis=1))
            grew = True
            if added == 0:  # the residuals lie in the basis up to rounding: try a fresh direction, then accept
                stalled += 1
                if stalled > 2:
                    break
                self._append(self._rng.standard_normal((self.n_features, d)))
        if tol <= self.tol:
            self.residual = max(self.residual, worst)
        self.n_large += grew
        return grew

    def _require(self, d: int) -> bool:
        """Start the basis, or pad it with random directions when it has fewer than `d` columns."""
        if self.is_dense or self._size >= min(d + _GUARD, self.n_features):
            return False
        width = min(d + 10, self.n_features)
        if self._size == 0:
            block = self._rng.standard_normal((self.n_features, width))
            # One product lifts the leading directions out of the noise; a little noise stays,
            # because the sum of the matrices may annihilate what other weights need.
            products = np.stack(self._multiply(block))
            average = np.sqrt(np.max(np.sum(products**2, axis=(1, 2))) / np.sum(block**2))
            self._append(products.sum(axis=0) + 0.01 * average * block)
            self.n_products += width
        if self._size < min(d + _GUARD, self.n_features):
            self._append(self._rng.standard_normal((self.n_features, width)))
        return True

    def _residuals(
        self, targets: Sequence[Sequence[float] | np.ndarray], d: int, tol: float
    ) -> tuple[list[np.ndarray], float]:
        blocks, worst = [], 0.0
        keep = min(d + _GUARD, self._size)
        for weights in targets:
            self.n_small += 1
            S = self.combine(weights)
            w, Y = top_eigenpairs(S, keep)
            scale = max(abs(w[0]), float(np.linalg.norm(S, axis=0).max()))  # at most the norm, and close to it
            if scale == 0:
                continue
            R = self._residual(weights, w, Y)
            sizes = np.linalg.norm(R, axis=0) / scale
            allowed = np.where(np.arange(keep) < d, tol, max(_GUARD_TOLERANCE, tol))
            worst = max(worst, float(sizes[:d].max()))
            open_pairs = np.flatnonzero(sizes > allowed)
            if open_pairs.size:
                blocks.append(R[:, open_pairs] / (sizes[open_pairs] * scale))
        return blocks, worst

    def _append(self, X: np.ndarray) -> int:
        """Add the part of the span of `X` outside the basis; return how many columns that gave."""
        norms = np.linalg.norm(X, axis=0)
        X = X[:, norms > 0] / norms[norms > 0]
        for _ in range(2):  # twice is enough (Kahan, Parlett)
            if self._size:
                Q = self._Q[:, : self._size]
                X = X - Q @ (Q.T @ X)
            if X.shape[1] == 0:
                return 0
            X, R, _pivots = qr(X, mode="economic", pivoting=True, check_finite=False)
            X = X[:, np.abs(np.diagonal(R)) > _DROP]
        X = X[:, : self.n_features - self._size]
        b, q = X.shape[1], self._size
        if b == 0:
            return 0
        self._reserve(q + b)
        self._Q[:, q : q + b] = X
        small = np.empty((self.n_matrices, q + b, q + b))
        small[:, :q, :q] = self._small
        for g, product in enumerate(self._multiply(X)):
            self._products[g, q : q + b] = product.T
            corner = self._Q[:, : q + b].T @ product
            small[g, :, q:] = corner
            small[g, q:, :] = corner.T
            small[g, q:, q:] = (corner[q:] + corner[q:].T) * 0.5
        self._small = small
        self._size = q + b
        self.version += 1
        self.n_products += b
        return b

    def _multiply(self, X: np.ndarray) -> Sequence[np.ndarray]:
        """Return ``M_g X`` for each matrix: all that is asked of the matrices until something is to be proved."""
        return [M @ X for M in self.matrices]

    def whole_top_sum(self, weights: Sequence[float] | np.ndarray, d: int) -> float:
        """Return the sum of the `d` largest eigenvalues of ``M_w`` without the basis."""
        whole = np.tensordot(weights, self.matrices, axes=1)
        p = self.n_features
        return float(eigh(whole, eigvals_only=True, subset_by_index=(p - d, p - 1)).sum())

    def _reserve(self, columns: int) -> None:
        if columns <= self._Q.shape[1]:
            return
        room = min(self.n_features, max(columns, self._limit))  # all at once: a copy would double the peak
        Q = np.empty((self.n_features, room), order="F")
        Q[:, : self._size] = self._Q[:, : self._size]
        products = np.empty((self.n_matrices, room, self.n_features))
        products[:, : self._size] = self._products[:, : self._size]
        self._Q, self._products = Q, products

    def compress(self, targets: Sequence[Sequence[float] | np.ndarray], d: int, fill: int = 0) -> None:
        """Shrink the basis to the top `d` pairs (and a few more) of `targets`; with `fill` to about so many columns.

        The products are carried along, so nothing is multiplied again.
        """
        if self.is_dense or self._size == 0:
            return
        spaces = [(weights, d) for weights in targets] + self.keep
        more = max(_GUARD, (fill - sum(j for _, j in spaces)) // len(spaces))
        wanted = np.concatenate(
            [top_eigenpairs(self.combine(weights), min(j + more, self._size))[1] for weights, j in spaces], axis=1
        )
        Y, R, _pivots = qr(wanted, mode="economic", pivoting=True, check_finite=False)
        Y = Y[:, np.abs(np.diagonal(R)) > 1e-12]
        q, size = Y.shape[1], self._size
        self._Q[:, :q] = self._Q[:, :size] @ Y
        for g in range(self.n_matrices):
            self._products[g, :q] = Y.T @ self._products[g, :size]
        self._small = np.stack([Y.T @ S @ Y for S in self._small])
        self._small = (self._small + self._small.transpose(0, 2, 1)) * 0.5
        self._size = q
        self.version += 1


def sum_error(squares: np.ndarray, edge: np.ndarray) -> float:
    """Estimate the error of a sum of leading eigenvalues from their squared residuals.

    Parameters
    ----------
    squares : ndarray of shape (k,)
        Squared residuals of the leading eigenvectors.
    edge : ndarray of shape (1,) or (2,)
        The last of the leading eigenvalues and, if there is one, the next below.

    Returns
    -------
    float
        0 where nothing is left out.
    """
    total = float(squares.sum())
    if total == 0.0 or len(edge) < 2:
        return 0.0
    return total / max(float(edge[0] - edge[1]), total**0.5)


def split_ties(values: np.ndarray, d: int, tolerance: float) -> tuple[int, int]:
    """Return ``(start, stop)`` of the block of descending `values` that ties with number `d` (counted from 1).

    ``stop == d`` means no tie across the cut: the
    top `d` space is unique. Otherwise any `d - start` directions of the block complete the first `start` vectors to
    a maximiser.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Eigenvalues in descending order.
    d : int
        Number of eigenvalues above the cut.
    tolerance : float
        Absolute difference from the d-th value up to which a value is tied with it.

    Returns
    -------
    tuple of int
        ``start < d <= stop``.
    """
    level = values[d - 1]
    start = int(np.searchsorted(-values, -(level + tolerance), side="left"))
    stop = int(np.searchsorted(-values, -(level - tolerance), side="right"))
    return start, stop


def mix_to_zero(
    V0: np.ndarray, V1: np.ndarray, balance: Callable[[np.ndarray], float], *, zero: float = 0.0
) -> np.ndarray:
    """Rotate from span `V0` to span `V1` until ``balance(V) == 0``; its signs at the ends must differ.

    All principal angles turn together, so the mixture stays inside every space that contains both ends. Inside a
    tied eigenspace each mixture is therefore again a maximiser (key lemma: the values form an interval). An end whose
    balance is within `zero` of vanishing is returned as it is.

    Parameters
    ----------
    V0, V1 : ndarray of shape (p, d)
        Orthonormal bases of the ends.
    balance : callable
        Takes an orthonormal basis of shape (p, d), returns a number, continuous in the subspace.
    zero : float, default=0
        Magnitude that counts as zero at an end.

    Returns
    -------
    ndarray of shape (p, d)
        Orthonormal.

    Raises
    ------
    ValueError
        If the balance has one sign at both ends and neither is within `zero`.
    """
    path = geodesic(V0, V1)
    start, stop = path(0.0), path(1.0)
    f0, f1 = balance(start), balance(stop)
    if min(abs(f0), abs(f1)) <= zero:
        return orthonormal(start if abs(f0) <= abs(f1) else stop)
    if f0 * f1 > 0:
        raise ValueError(f"balance has one sign at both ends ({f0:.3g} and {f1:.3g}), so no mixture makes it zero.")
    return orthonormal(path(zero_between(lambda u: balance(path(u)))))


def zero_between(function: Callable[[float], float], low: float = 0.0, high: float = 1.0) -> float:
    """Return where a continuous function changes its sign, as closely as rounding lets it.

    Parameters
    ----------
    function : callable
        Takes a float, returns one; its signs at the ends must differ.
    low, high : float, default=0 and 1
        The ends.

    Returns
    -------
    float
    """
    # Four machine epsilons is the smallest tolerance that brentq takes. A function that is rounding before that is
    # reached, flat next to zero, keeps it from ever seeing it; after a hundred steps the place is as good.
    return float(brentq(function, low, high, xtol=1e-16, rtol=4 * np.finfo(float).eps, disp=False))


class StreamedPencil(Pencil):
    """Top eigenpairs of weighted sums of matrices that are known by their products only.

    A block Krylov method with one basis for all weights: the residuals of the pairs that are not yet accurate are
    multiplied next, all in one product. Nothing about the rest of the spectrum can be proved from products, so bounds
    are estimates from residuals (:func:`fairpca.solvers.spectral.sum_error`).

    Parameters
    ----------
    multiply : callable
        Takes X of shape (p, k), returns the products of all matrices with it, shape (m, p, k).
    traces : ndarray of shape (m,)
        Traces of the matrices.
    n_features : int
        p.
    tol : float, default=1e-6
        Residual of a pair relative to the norm; an eigenvalue is then off by about the square of it.
    max_basis : int, optional
        Columns that the basis may have; default ``4 (d + 30)``.
    random_state : int, default=0
        Seed of the starting block.
    """

    def __init__(
        self,
        multiply: Callable[[np.ndarray], np.ndarray],
        traces: np.ndarray,
        n_features: int,
        *,
        tol: float = 1e-6,
        max_basis: int | None = None,
        random_state: int = 0,
    ) -> None:
        self._products_with = multiply
        self._start(np.asarray(traces, dtype=np.float64), n_features, tol, max_basis, random_state)

    def _multiply(self, X: np.ndarray) -> Sequence[np.ndarray]:
        return self._products_with(X)  # type: ignore[return-value]

    def whole_top_sum(self, weights: Sequence[float] | np.ndarray, d: int) -> float:
        """Return the sum of the `d` largest eigenvalues that the basis gives, with the error that residuals allow."""
        w = self.spectrum(weights).values
        tie = split_ties(w, d, 1e-9 * float(abs(w[0])))[1]
        return float(np.sum(self.top_sum(weights, d, tie)))

    def top_sum_bound(
        self, weights: Sequence[float] | np.ndarray, d: int, pairs: tuple[np.ndarray, np.ndarray] | None = None
    ) -> float:
        """As :meth:`whole_top_sum`: an estimate and no proof."""
        return self.whole_top_sum(weights, d)


def avoiding_eigenpairs(S: np.ndarray, Q: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Maximise :math:`\operatorname{tr}V^\top SV` over orthonormal V with :math:`Q^\top V=0`.

    S is deflated by Q on both sides, and the span of Q is moved below all eigenvalues; one decomposition of size p.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Symmetric.
    Q : ndarray of shape (p, r)
        Orthonormal columns; none are allowed.
    d : int
        At most p - r.

    Returns
    -------
    values : ndarray of shape (d,)
        Eigenvalues of the compression of S to the complement, descending.
    V : ndarray of shape (p, d)
        Orthonormal, and orthogonal to Q to rounding.
    """
    if Q.shape[1] == 0:
        return top_eigenpairs(S, d)
    image = S @ Q
    cross = image - 0.5 * Q @ (Q.T @ image)
    half = cross @ Q.T
    size = float(np.abs(S).sum(axis=0).max()) or 1.0  # no squares, which may underflow
    deflated = symmetrise(S) - half - half.T - (2.0 * size * Q) @ Q.T
    values, V = top_eigenpairs(symmetrise(deflated), d)
    V = V - Q @ (Q.T @ V)
    return values, np.linalg.qr(V)[0]

"""Secant pairs of limited-memory BFGS: a list for any manifold, an array for embedded ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.lapack import dtrtrs

__all__ = ["FlatMemory", "ListMemory"]

Operator = Callable[[Any], Any]


class ListMemory:
    """Pairs (s, y) as tangent vectors of any kind; the inverse Hessian by the two-loop recursion."""

    def __init__(self, size: int) -> None:
        self._pairs: deque[tuple[Any, Any, float]] = deque(maxlen=size)

    def __len__(self) -> int:
        return len(self._pairs)

    def clear(self) -> None:
        """Forget all pairs."""
        self._pairs.clear()

    def append(self, s: Any, y: Any, curvature: float) -> None:
        """Add a pair, dropping the oldest when full."""
        self._pairs.append((s, y, curvature))

    def move(self, manifold: Any, x: Any, new: Any) -> None:
        """Transport all pairs from the tangent space at x to the one at new."""
        for i, (s, y, curvature) in enumerate(self._pairs):
            self._pairs[i] = (manifold.transport(x, new, s), manifold.transport(x, new, y), curvature)

    def apply(self, manifold: Any, x: Any, vector: Any, precondition: Operator, scale: bool) -> Any:
        """Return the inverse Hessian approximation times a tangent vector."""
        q = vector
        shares = []
        for s, y, curvature in reversed(self._pairs):
            share = manifold.inner_product(x, s, q) / curvature
            q = q - share * y
            shares.append(share)
        r = precondition(q)
        if scale:
            _, y, curvature = self._pairs[-1]
            r = (curvature / manifold.inner_product(x, y, precondition(y))) * r
        for (s, y, curvature), share in zip(self._pairs, reversed(shares), strict=True):
            r = r + (share - manifold.inner_product(x, y, r) / curvature) * s
        return r


class FlatMemory:
    """Pairs as rows of two arrays; the two-loop recursion becomes two triangular solves.

    Tangent vectors stand there transposed, so that a manifold with ``transport_rows`` carries all of them along with
    two matrix products and no copy. The arrays have room for twice the pairs: only when they are full the newest ones
    move to the front.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._S = self._Y = np.empty((0, 0))
        self.clear()

    def __len__(self) -> int:
        return self._stop - self._start

    def clear(self) -> None:
        """Forget all pairs."""
        self._start = self._stop = 0

    def append(self, s: np.ndarray, y: np.ndarray, curvature: float) -> None:
        """Add a pair, dropping the oldest when full."""
        shape = s.shape[::-1]
        if self._S.shape[1:] != shape:
            self._S, self._Y = (np.empty((2 * self._size, *shape)) for _ in range(2))
        if len(self) == self._size:
            self._start += 1
        if self._stop == len(self._S):
            self._keep(np.arange(self._start, self._stop))
        self._S[self._stop], self._Y[self._stop] = s.T, y.T
        self._stop += 1

    def _keep(self, chosen: np.ndarray) -> None:
        """Move some pairs to the front and forget the others."""
        for stored in (self._S, self._Y):
            stored[: len(chosen)] = stored[chosen]
        self._start, self._stop = 0, len(chosen)

    def _views(self) -> tuple[np.ndarray, np.ndarray]:
        return self._S[self._start : self._stop], self._Y[self._start : self._stop]

    def move(self, manifold: Any, x: np.ndarray, new: np.ndarray) -> None:
        """Transport all pairs at once; pairs that lose their positive curvature on the way are dropped."""
        if not len(self):
            return
        for vectors in self._views():
            if hasattr(manifold, "transport_rows"):
                manifold.transport_rows(new, vectors)
            else:
                moved = manifold.transport(x, new, vectors.transpose(_REVERSED[vectors.ndim]))
                vectors[:] = moved.transpose(_REVERSED[vectors.ndim])
        s, y = (vectors.reshape(len(self), -1) for vectors in self._views())
        squares = np.einsum("ij,ij->i", s, s) * np.einsum("ij,ij->i", y, y)
        keep = np.einsum("ij,ij->i", s, y) > 1e-14 * np.sqrt(squares)
        if not keep.all():
            self._keep(self._start + np.flatnonzero(keep))

    def apply(self, manifold: Any, x: np.ndarray, vector: np.ndarray, precondition: Operator, scale: bool) -> Any:
        """Return the inverse Hessian approximation times a tangent vector.

        With R the upper triangle of S Y', the first loop solves R a = S q and the second R' g = diag(R) a - Y r.
        """
        S, Y = (vectors.reshape(len(self), -1) for vectors in self._views())
        products = S @ Y.T
        curvatures = np.diagonal(products)
        q = vector.T.ravel()
        shares = _solve(products, S @ q)
        q = q - shares @ Y
        shape = vector.shape[::-1]
        r = precondition(q.reshape(shape).T).T.ravel()
        if scale:
            newest = Y[-1]
            r = r * (curvatures[-1] / np.vdot(newest, precondition(newest.reshape(shape).T).T))
        rest = _solve(products, curvatures * shares - Y @ r, transposed=True)
        return (r + rest @ S).reshape(shape).T


# Axes of a stack whose elements are transposed.
_REVERSED = {2: (0, 1), 3: (0, 2, 1)}


def _solve(triangle: np.ndarray, right: np.ndarray, *, transposed: bool = False) -> np.ndarray:
    """Solve with the upper triangle of a matrix in rows, which LAPACK reads as the lower one of its transpose."""
    solution, info = dtrtrs(triangle.T, right, lower=1, trans=0 if transposed else 1)
    if info:
        raise np.linalg.LinAlgError("a secant pair without curvature is in the memory.")
    return solution

"""Secant pairs of limited-memory BFGS, all of them in two arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.lapack import dtrtrs

__all__ = ["SecantPairs"]


class SecantPairs:
    """Pairs (s, y) as rows of two arrays; the two-loop recursion becomes two triangular solves.

    Tangent vectors are stored transposed, so that the manifold carries all of them along with two matrix products and
    no copy. The arrays have room for twice the pairs: only when they are full the newest ones move to the front.
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

    def append(self, s: np.ndarray, y: np.ndarray) -> None:
        """Add a pair, dropping the oldest when full."""
        if not self._S.size:
            self._S, self._Y = np.empty((2, 2 * self._size, *s.T.shape))
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

    def move(self, manifold: Any, new: np.ndarray) -> None:
        """Transport all pairs to a new point; pairs that lose their positive curvature on the way are dropped."""
        if not len(self):
            return
        for vectors in self._views():
            manifold.transport_rows(new, vectors)
        s, y = (vectors.reshape(len(self), -1) for vectors in self._views())
        squares = np.einsum("ij,ij->i", s, s) * np.einsum("ij,ij->i", y, y)
        keep = np.einsum("ij,ij->i", s, y) > 1e-14 * np.sqrt(squares)
        if not keep.all():
            self._keep(self._start + np.flatnonzero(keep))

    def apply(self, vector: np.ndarray, precondition: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the inverse Hessian approximation times a tangent vector.

        With R the upper triangle of S Y', the first loop solves R a = S q and the second R' g = diag(R) a - Y r. The
        initial inverse Hessian is scaled by ``<s, y> / <y, P y>`` of the newest pair.
        """
        S, Y = (vectors.reshape(len(self), -1) for vectors in self._views())
        products = S @ Y.T
        curvatures = np.diagonal(products)
        q = vector.T.ravel()
        shares = _solve(products, S @ q)
        shape = vector.shape[::-1]
        r = precondition((q - shares @ Y).reshape(shape).T).T.ravel()
        newest = Y[-1]
        r = r * (curvatures[-1] / np.vdot(newest, precondition(newest.reshape(shape).T).T))
        rest = _solve(products, curvatures * shares - Y @ r, transposed=True)
        return np.asarray((r + rest @ S).reshape(shape).T)


def _solve(triangle: np.ndarray, right: np.ndarray, *, transposed: bool = False) -> np.ndarray:
    """Solve with the upper triangle of a matrix in rows, which LAPACK reads as the lower one of its transpose."""
    solution, info = dtrtrs(triangle.T, right, lower=1, trans=0 if transposed else 1)
    if info:
        raise np.linalg.LinAlgError("a secant pair without curvature is in the memory.")
    return solution

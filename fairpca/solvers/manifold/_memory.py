"""Secant pairs of limited-memory BFGS: a list for any manifold, an array for embedded ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

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
    """Pairs as rows of arrays; the two-loop recursion becomes two triangular solves."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.clear()

    def __len__(self) -> int:
        return 0 if self._pairs is None else self._pairs.shape[1]

    def clear(self) -> None:
        """Forget all pairs."""
        self._pairs: np.ndarray | None = None  # (2, pairs, *shape of a tangent vector)

    def append(self, s: np.ndarray, y: np.ndarray, curvature: float) -> None:
        """Add a pair, dropping the oldest when full."""
        pair = np.stack((s, y))[:, None]
        if self._pairs is None:
            self._pairs = pair
        else:
            first = 1 if self._pairs.shape[1] == self._size else 0
            self._pairs = np.concatenate((self._pairs[:, first:], pair), axis=1)

    def move(self, manifold: Any, x: np.ndarray, new: np.ndarray) -> None:
        """Transport all pairs at once; pairs that lose their positive curvature on the way are dropped."""
        if self._pairs is None:
            return
        stacked = self._pairs.reshape(-1, *self._pairs.shape[2:])
        moved = manifold.transport(x, new, stacked).reshape(self._pairs.shape)
        s, y = moved.reshape(2, moved.shape[1], -1)
        keep = np.einsum("ij,ij->i", s, y) > 1e-14 * np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1)
        self._pairs = moved[:, keep] if keep.any() else None

    def apply(self, manifold: Any, x: np.ndarray, vector: np.ndarray, precondition: Operator, scale: bool) -> Any:
        """Return the inverse Hessian approximation times a tangent vector.

        With R the upper triangle of S Y', the first loop solves R a = S q and the second R' g = diag(R) a - Y r.
        """
        pairs = self._pairs
        assert pairs is not None
        S, Y = pairs.reshape(2, pairs.shape[1], -1)
        products = S @ Y.T
        curvatures = np.diagonal(products)
        shares = solve_triangular(products, S @ vector.ravel(), check_finite=False)
        q = vector.ravel() - shares @ Y
        r = precondition(q.reshape(vector.shape)).ravel()
        if scale:
            newest = pairs[1, -1]
            r = r * (curvatures[-1] / np.vdot(newest, precondition(newest)))
        rest = solve_triangular(products, curvatures * shares - Y @ r, trans=1, check_finite=False)
        return (r + rest @ S).reshape(vector.shape)

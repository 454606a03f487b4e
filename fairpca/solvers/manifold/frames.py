"""The Grassmann manifold of pymanopt for one frame at a time, without the library's loops over stacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymanopt import manifolds

__all__ = ["Grassmann"]


class Grassmann(manifolds.Grassmann):
    """Subspaces of dimension p of n-space, by orthonormal bases, with the polar retraction.

    pymanopt's own operations also work on stacks of frames, for which they go through loops and tensor products that
    cost more than the arithmetic where frames are small.
    """

    def inner_product(self, point: np.ndarray, tangent_vector_a: np.ndarray, tangent_vector_b: np.ndarray) -> float:
        """Return the sum of products of the entries."""
        return float(np.vdot(tangent_vector_a, tangent_vector_b))

    def norm(self, point: np.ndarray, tangent_vector: np.ndarray) -> float:
        """Return the Frobenius norm."""
        return float(np.sqrt(np.vdot(tangent_vector, tangent_vector)))

    def projection(self, point: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the part of a vector that is horizontal at `point`."""
        return vector - point @ (point.T @ vector)

    to_tangent_space = projection

    def transport_rows(self, point: np.ndarray, rows: np.ndarray) -> None:
        """Project transposed vectors, shape (m, p, n), to the horizontal space at `point`, in place."""
        m, p, n = rows.shape
        flat: Any = rows.reshape(m * p, n)
        flat -= (flat @ point) @ point.T

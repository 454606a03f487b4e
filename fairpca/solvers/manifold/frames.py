"""Stiefel and Grassmann manifold of pymanopt for one frame at a time, without the library's loops over stacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymanopt import manifolds

from fairpca.linalg import orthonormal

__all__ = ["Grassmann", "Stiefel"]


class _OneFrame:
    """What both share: the Euclidean metric of the embedding, and the transport of many tangent vectors at once.

    pymanopt's own operations also work on stacks of frames, for which they go through loops and tensor products that
    cost more than the arithmetic where frames are small.
    """

    def inner_product(self, point: np.ndarray, tangent_vector_a: np.ndarray, tangent_vector_b: np.ndarray) -> float:
        """Return the sum of products of the entries."""
        return float(np.vdot(tangent_vector_a, tangent_vector_b))

    def norm(self, point: np.ndarray, tangent_vector: np.ndarray) -> float:
        """Return the Frobenius norm."""
        return float(np.sqrt(np.vdot(tangent_vector, tangent_vector)))


class Stiefel(_OneFrame, manifolds.Stiefel):
    """Frames of n rows and p orthonormal columns, with the QR retraction."""

    def projection(self, point: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the part of a vector that is tangent at `point`."""
        inner = point.T @ vector
        return vector - point @ ((inner + inner.T) / 2)

    to_tangent_space = projection

    def retraction(self, point: np.ndarray, tangent_vector: np.ndarray) -> np.ndarray:
        """Return the Q of the sum, with the diagonal of R positive."""
        return orthonormal(point + tangent_vector)

    def transport_rows(self, point: np.ndarray, rows: np.ndarray) -> None:
        """Project transposed vectors, shape (m, p, n), to the tangent space at `point`, in place."""
        m, p, n = rows.shape
        flat = rows.reshape(m * p, n)
        inner = (flat @ point).reshape(m, p, p)
        inner += inner.transpose(0, 2, 1).copy()
        flat -= (inner / 2).reshape(m * p, p) @ point.T


class Grassmann(_OneFrame, manifolds.Grassmann):
    """Subspaces of dimension p of n-space, by orthonormal bases, with the polar retraction."""

    def projection(self, point: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the part of a vector that is horizontal at `point`."""
        return vector - point @ (point.T @ vector)

    to_tangent_space = projection

    def transport_rows(self, point: np.ndarray, rows: np.ndarray) -> None:
        """Project transposed vectors, shape (m, p, n), to the horizontal space at `point`, in place."""
        m, p, n = rows.shape
        flat: Any = rows.reshape(m * p, n)
        flat -= (flat @ point) @ point.T

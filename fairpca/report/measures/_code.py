"""The linear map behind a representation, found by looking at what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpca.report.method import Fitted, Rows

__all__ = ["Decoder", "LinearCode", "code_dimensions", "linear_code", "own_decoder"]

_RANK = 1e-10


@dataclass(frozen=True)
class LinearCode:
    """A representation ``A (x - x0)`` and the projection that its criteria are about.

    Attributes
    ----------
    A : ndarray of shape (k, p)
        The map.
    P : ndarray of shape (p, p)
        ``A'A`` where the rows of A are orthonormal. Otherwise A and its best linear decoder on the training rows, which
        is what an oblique code is for; where a method codes more dimensions than it was asked for (the affine
        projections of Samadi et al.), A and its own decoder.
    V : ndarray of shape (p, k)
        Orthonormal basis of the rows of A: what the method looks at.
    """

    A: np.ndarray
    P: np.ndarray
    V: np.ndarray


def linear_code(fitted: Fitted, train: Rows, n_components: int) -> LinearCode | None:
    """Return the linear map of a method, or None where it is not one or changes with the group."""
    if fitted.method.groups_at_prediction:
        return None
    centre = train.X.mean(axis=0)
    p = len(centre)
    origin = fitted.model.transform(centre[None, :])
    A = (fitted.model.transform(centre + np.eye(p)) - origin).T
    probe = train.X[: min(len(train), 50)]
    expected = origin + (probe - centre) @ A.T
    found = np.asarray(fitted.model.transform(probe))
    if not np.allclose(found, expected, rtol=1e-6, atol=1e-6 * max(float(np.abs(expected).max()), 1e-300)):
        return None
    _, singular, Vt = np.linalg.svd(A, full_matrices=False)
    V = Vt[singular > _RANK * max(float(singular.max(initial=0.0)), 1e-300)].T
    if np.allclose(A @ A.T, np.eye(len(A)), atol=1e-9):
        return LinearCode(A, A.T @ A, V)
    Z = train.X @ A.T
    if code_dimensions(Z, n_components) <= n_components:
        return LinearCode(A, Decoder(Z, train.X).B.T @ A, V)
    inverse: Any = getattr(fitted.model, "inverse_transform", None)
    if inverse is None:
        return None
    P = (np.asarray(inverse(origin + A.T)) - np.asarray(inverse(origin))).T
    return LinearCode(A, P, V)


def code_dimensions(Z: np.ndarray, n_components: int) -> int:
    """Return how many dimensions a code of training rows has: its columns, or its rank where there are too many."""
    if Z.shape[1] <= n_components:
        return Z.shape[1]
    return int(np.linalg.matrix_rank(Z - Z.mean(axis=0), rtol=_RANK))


def own_decoder(fitted: Fitted, Z: np.ndarray, n_components: int) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return the method's own way back where it codes more dimensions than it was asked for, or None.

    A decoder that is learnt from all of them would be compared with decoders of fewer dimensions. What such a method
    promises is the loss of its own map, so variance and errors are of that map too. None: the decoder is learnt.
    """
    if code_dimensions(Z, n_components) <= n_components:
        return None
    return getattr(fitted.model, "inverse_transform", None)


class Decoder:
    """The best linear reconstruction from a representation, by least squares on training rows."""

    def __init__(self, Z: np.ndarray, X: np.ndarray) -> None:
        self.z, self.x = Z.mean(axis=0), X.mean(axis=0)
        self.B = np.linalg.lstsq(Z - self.z, X - self.x, rcond=1e-10)[0]

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        """Reconstruct rows."""
        return self.x + (Z - self.z) @ self.B

"""BFGS on the Stiefel manifold with a full inverse Hessian: the method RBFGS of ROPTLIB with its defaults.

Constants and rules are those of the copy of ROPTLIB in the repository of Lee et al. (classes `RBFGS`, `SolversSMLS`
and `Stiefel` with ``ParamSet = 1``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import dsymv, dsyr, dsyr2

__all__ = ["stiefel_rbfgs"]

_SUFFICIENT = 1e-4  # share of the promised decrease that a step must realise
_SHRINK = (0.1, 0.9)  # a trial step is at least and at most these times the one before
_CAUTION = 1e-4  # an update needs <s, y> >= this * |gradient| * <s, s>
_ACCURATE = 1e-6  # once the gradient has shrunk by this factor, steps are taken without a search
_EPS = float(np.finfo(float).eps)


class Frame:
    """An orthonormal frame V with a basis of its tangent space, from the Householder factorisation of a matrix.

    A tangent vector is V A + W B with A skew and W the rest of the Householder basis; its coordinates are √2 times the
    lower triangle of A, and B. The metric is then that of the embedding, and a vector is transported by keeping its
    coordinates.

    Parameters
    ----------
    matrix : ndarray of shape (p, d)
        V is its Q, with the diagonal of R positive.
    """

    def __init__(self, matrix: np.ndarray) -> None:
        d = matrix.shape[1]
        Q, R = np.linalg.qr(matrix, mode="complete")
        Q[:, :d] *= np.where(np.diagonal(R) < 0, -1.0, 1.0)
        self._Q, self._lower = Q, np.tril_indices(d, -1)
        self.V = np.ascontiguousarray(Q[:, :d])

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return the coordinates of the tangent part of a p × d matrix."""
        inner = self._Q.T @ vector
        square = inner[: inner.shape[1]]
        return np.concatenate([(square - square.T)[self._lower] / np.sqrt(2), inner[inner.shape[1] :].ravel()])

    def retraction(self, coordinates: np.ndarray) -> Frame:
        """Return the frame of V plus a tangent vector."""
        p, d = len(self._Q), self.V.shape[1]
        count = len(self._lower[0])
        inner = np.zeros((p, d))
        inner[self._lower] = coordinates[:count] / np.sqrt(2)
        inner[:d] -= inner[:d].T.copy()
        inner[d:] = coordinates[count:].reshape(p - d, d)
        return Frame(self.V + self._Q @ inner)


def _shorter(step: float, excess: float, before: tuple[float, float] | None, slope: float) -> float:
    """Return the minimiser of the parabola, or of the cubic once there are two trials, that interpolates.

    `excess` is the cost at `step` above its tangent; `before` is the same pair for the trial before.
    """
    with np.errstate(all="ignore"):
        if before is None:
            guess = -slope * step**2 / 2 / excess
        else:
            other, other_excess = before
            width = step - other
            a = (excess / step**2 - other_excess / other**2) / width
            b = (step * other_excess / other**2 - other * excess / step**2) / width
            guess = (-b + np.sqrt(b * b - 3 * a * slope)) / 3 / a
    # The comparison sends what is not a number to the upper end.
    guess = guess if guess < _SHRINK[1] * step else _SHRINK[1] * step
    return float(max(guess, _SHRINK[0] * step))


def updated(H: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the BFGS update of an inverse Hessian (Fortran order, lower triangle), in place."""
    curvature = s @ y
    Hy = dsymv(1.0, H, y, lower=1)
    H = dsyr2(-1.0 / curvature, s, Hy, a=H, lower=1, overwrite_a=1)
    return np.asarray(dsyr((1.0 + y @ Hy / curvature) / curvature, s, a=H, lower=1, overwrite_a=1))


def stiefel_rbfgs(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    V: np.ndarray,
    tolerance: float,
    max_steps: int,
    *,
    relative: bool = False,
    callback: Callable[[], None] = lambda: None,
) -> np.ndarray:
    """Minimise a function of orthonormal frames.

    The stopping test comes before the first step; a start that passes it is returned as it is. The run also ends, at
    the last trial, when the line search shrinks below the machine precision.

    Parameters
    ----------
    function : callable
        Returns value and Euclidean gradient at a frame.
    V : ndarray of shape (p, d)
        Start, with orthonormal columns.
    tolerance : float
        Norm of the gradient at which to stop.
    max_steps : int
        Largest number of steps.
    relative : bool, default=False
        Whether `tolerance` is a share of the gradient's norm at the start.
    callback : callable, optional
        Called after each step.

    Returns
    -------
    ndarray of shape (p, d)
    """
    at = Frame(V)
    at.V = V
    cost, slope_matrix = function(V)
    gradient = at.coordinates(slope_matrix)
    first = norm = float(np.linalg.norm(gradient))
    H = np.eye(len(gradient), order="F")
    decrease = slope = 0.0
    for iteration in range(max_steps):
        if norm <= tolerance * (first if relative else 1.0):
            break
        direction = -dsymv(1.0, H, gradient, lower=1)
        step = 1.0 if iteration == 0 else 2.0 * decrease / slope
        if iteration:
            step = step if min(1.01 * step, 1.0) < step / 100 else min(1.01 * step, 1.0)
            step = step if step >= _EPS else 1.0 / norm
        slope = float(gradient @ direction)
        new = at.retraction(step * direction)
        trial, slope_matrix = function(new.V)
        before: tuple[float, float] | None = None
        stuck = False
        while norm >= _ACCURATE * (first + tolerance) and cost - trial < -_SUFFICIENT * slope * step:
            excess = trial - cost - slope * step
            shorter = _shorter(step, excess, before, slope)
            stuck = before is not None and shorter < _EPS
            if stuck:
                break
            before, step = (step, excess), shorter
            new = at.retraction(step * direction)
            trial, slope_matrix = function(new.V)
        if not np.isfinite(trial):
            break
        callback()
        new_gradient = new.coordinates(slope_matrix)
        s, y = step * direction, new_gradient - gradient
        curvature, length = float(s @ y), float(s @ s)
        moved = norm < 1e-3 * first or min(curvature, length) > _EPS
        if moved and curvature > 0 and curvature >= _CAUTION * norm * length:
            H = updated(H, s, y)
        decrease, cost, at, gradient = trial - cost, trial, new, new_gradient
        norm = float(np.linalg.norm(gradient))
        if stuck:
            break
    return at.V

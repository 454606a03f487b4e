"""Central path of the Fantope: sums of leading eigenvalues, smoothed by logarithmic barriers on P and I - P."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

__all__ = ["CentralPath", "PathPoint", "level", "occupation", "readings"]


def occupation(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p and 1 - p that solve ``1/(1 - p) - 1/p = x``, both without cancellation."""
    root = np.sqrt(x * x + 4.0)
    size = 4.0 / (root + np.abs(x))  # root - |x|
    small, large = 2.0 / (root + np.abs(x) + 2.0), 2.0 / (size + 2.0)
    return np.where(x > 0, large, small), np.where(x > 0, small, large)


def level(w: np.ndarray, d: int, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Find the shift theta for which the occupations of ``(w - theta) / mu`` sum to `d`; return p and 1 - p."""
    q = len(w)
    # Seen from the cut theta is small, and a number fine enough for the sum to be right where mu is tiny beside w.
    w = w - 0.5 * (w[q - d] + w[q - d - 1])
    low, high = w[0] - mu * q * q, w[-1] + mu * q * q  # sums q - 1/q or more, and 1/q or less
    theta = float(np.clip(0.0, low, high))
    for _ in range(200):
        p, rest = occupation((w - theta) / mu)
        excess = float(p.sum()) - d if d <= q / 2 else (q - d) - float(rest.sum())
        if excess > 0:
            low = theta
        else:
            high = theta
        slope = float((1.0 / (1.0 / p**2 + 1.0 / rest**2)).sum()) / mu
        trial = theta + excess / slope
        if not low < trial < high:
            trial = 0.5 * (low + high)
        if abs(trial - theta) <= 1e-15 * max(abs(theta), mu) or abs(excess) <= 1e-15 * d:
            break
        theta = trial
    return p, rest


class PathPoint(NamedTuple):
    """The maximiser P of ``<S_w, P> + mu (log det P + log det (I - P))``, and how it answers to the weights."""

    value: float
    sums: np.ndarray  # <S_g, P>
    root: np.ndarray  # their derivatives with respect to the weights are root @ root.T
    vectors: np.ndarray
    occupation: np.ndarray  # eigenvalues of P, ascending
    entries: tuple[np.ndarray, np.ndarray, np.ndarray]  # of P in these vectors: where, and how far the root moves them

    def moved(self, step: np.ndarray) -> np.ndarray:
        """Return P where a Newton step of the weights would bring it, to first order.

        Where ties break P answers to changes of the weights far below what a small decrement leaves: only so do the
        sums come out as equal as the step makes them. Inside the Fantope for decrements below one.
        """
        rows, columns, lengths = self.entries
        inner = np.zeros((len(self.occupation),) * 2)
        inner[rows, columns] = (step @ self.root) * lengths
        inner[columns, rows] = inner[rows, columns]
        return self.vectors @ (inner + np.diag(self.occupation)) @ self.vectors.T


class CentralPath:
    """Value, gradient and Hessian of the smoothed sum of the d largest eigenvalues of ``S_w = sum_g w_g S_g``."""

    def __init__(self, S: np.ndarray, d: int) -> None:
        self.S, self.d = S, d
        self._axis = np.arange(S.shape[1])
        self._rows, self._columns = np.triu_indices(S.shape[1])
        self._times = np.where(self._rows == self._columns, 1.0, 2.0)

    def at(self, weights: np.ndarray, mu: float) -> PathPoint:
        """Return the point of `weights` at barrier weight `mu`: one decomposition and a rotation a matrix."""
        w, U = np.linalg.eigh(np.tensordot(weights, self.S, 1))
        p, rest = level(w, self.d, mu)
        B = U.T @ (self.S @ U)
        diagonals = np.diagonal(B, axis1=1, axis2=2)
        # Divided differences of p: no subtraction of eigenvalues, so ties are no special case.
        D = 1.0 / (mu * (1.0 / np.multiply.outer(p, p) + 1.0 / np.multiply.outer(rest, rest)))
        own = np.diagonal(D)
        sums = diagonals @ p
        B[:, self._axis, self._axis] -= ((diagonals @ own) / own.sum())[:, None]  # the trace of P stays
        lengths = np.sqrt(D[self._rows, self._columns] / self._times)
        root = B[:, self._rows, self._columns] * (lengths * self._times)
        return PathPoint(_smoothed(w, p, rest, mu), sums, root, U, p, (self._rows, self._columns, lengths))

    def value(self, weights: np.ndarray, mu: float) -> float:
        """Return the smoothed sum alone."""
        w = np.linalg.eigvalsh(np.tensordot(weights, self.S, 1))
        return _smoothed(w, *level(w, self.d, mu), mu)


def _smoothed(w: np.ndarray, p: np.ndarray, rest: np.ndarray, mu: float) -> float:
    return float(w @ p + mu * (np.log(p) + np.log(rest)).sum())


def readings(p: np.ndarray, d: int) -> Iterator[tuple[int, int]]:
    """Read the structure off eigenvalues of P with several thresholds: how many are ones, how many fractional."""
    seen = set()
    for threshold in (1e-2, 1e-3, 1e-4, 1e-1, 1e-5, None, 1e-7, 1e-9, 1e-11):
        if threshold is None:
            n_ones, r = d, 0
        else:
            n_ones = int(np.sum(p > 1 - threshold))
            r = int(np.sum((p >= threshold) & (p <= 1 - threshold)))
        if (n_ones, r) in seen or n_ones > d or n_ones + r < d:
            continue
        seen.add((n_ones, r))
        yield n_ones, r

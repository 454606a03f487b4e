"""Stated approximations of MMD² for data too large for the exact kernel, each with its error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.stats import norm, qmc

from fairpca.solvers.mmd.kernel import WeightedRows, contrast_weights

__all__ = ["FourierRows", "gaussian_frequencies", "stratified_rows", "subsampled"]

_CHUNK = 4096  # rows whose trigonometric features are held at once


@lru_cache(maxsize=16)
def gaussian_frequencies(n_features: int, d: int, seed: int) -> np.ndarray:
    """Return standard normal frequencies (n_features × d) from a scrambled Sobol sequence (a power of two of them).

    Parameters
    ----------
    n_features : int
        How many frequencies are asked for.
    d : int
        Dimension of the projections.
    seed : int
        Source of the scrambling.

    Returns
    -------
    ndarray of shape (F, d)
        F is the smallest power of two that is at least `n_features` (and 2).
    """
    power = max(1, int(np.ceil(np.log2(n_features))))
    points = qmc.Sobol(d, seed=np.random.default_rng(seed)).random_base2(power)
    frequencies = norm.ppf(np.clip(points, 1e-12, 1 - 1e-12))
    frequencies.flags.writeable = False
    return frequencies


def stratified_rows(codes: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Choose about `size` rows, each group in its share and with two rows at least; sorted row numbers.

    Parameters
    ----------
    codes : ndarray of int of shape (n,)
        Group of each row.
    size : int
        Rows wanted, over all groups.
    rng : Generator
        Source of the choice.

    Returns
    -------
    ndarray of int of shape (n_chosen,)
        A group of one row has that row.
    """
    keys = rng.random(codes.size)  # one draw a row, so that the choice does not depend on the order of the groups
    chosen = []
    for g in np.unique(codes):
        rows = np.flatnonzero(codes == g)
        quota = min(rows.size, max(2, round(size * rows.size / codes.size)))
        chosen.append(rows[np.argsort(keys[rows])[:quota]])
    return np.sort(np.concatenate(chosen))


def subsampled(X: np.ndarray, codes: np.ndarray, size: int, random_state: int) -> WeightedRows:
    """Return the exact term of a stratified subsample of the rows.

    The biased MMD² of m and n rows exceeds that of the populations by about 1/m + 1/n at most, so the value on a
    subsample is an over-estimate of that size; :class:`~fairpca.MBFPCA` evaluates the exact value once at the end.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Rows.
    codes : ndarray of int of shape (n,)
        Group of each row, from 0.
    size : int
        Rows of the subsample, see :func:`stratified_rows`.
    random_state : int
        Seed of the choice.

    Returns
    -------
    WeightedRows
    """
    rows = stratified_rows(codes, size, np.random.default_rng(random_state))
    return WeightedRows.from_groups(X[rows], codes[rows], int(codes.max()) + 1)


@dataclass(frozen=True)
class FourierRows:
    """MMD² by random Fourier features: mean over frequencies of |Σ_i c_i exp(i w'V'x_i)|² (Bochner's theorem).

    The cost is linear in the number of rows. Zero here does not imply that the MMD is zero, so this can
    guide the search but cannot certify the constraint.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Rows.
    C : ndarray of shape (r, n)
        Signed weights, see :func:`~fairpca.solvers.mmd.kernel.contrast_weights`.
    frequencies : ndarray of shape (F, d)
        Standard normal directions; divided by σ in use.
    """

    X: np.ndarray
    C: np.ndarray
    frequencies: np.ndarray

    @classmethod
    def from_groups(
        cls, X: np.ndarray, codes: np.ndarray, n_components: int, n_features: int, random_state: int
    ) -> FourierRows:
        """Build the term that compares the groups of `codes` with about `n_features` frequencies."""
        weights = contrast_weights(codes, int(codes.max()) + 1)
        return cls(X, weights, gaussian_frequencies(n_features, n_components, random_state))

    def _sums(self, V: np.ndarray, sigma: float) -> np.ndarray:
        """Return Σ_i c_i exp(i w'V'x_i), complex, shape (r, F)."""
        directions = (V @ self.frequencies[:, : V.shape[1]].T) / sigma
        total = np.zeros((len(self.C), len(self.frequencies)), dtype=complex)
        for start in range(0, len(self.X), _CHUNK):
            angle = self.X[start : start + _CHUNK] @ directions
            weights = self.C[:, start : start + _CHUNK]
            total += weights @ np.cos(angle) + 1j * (weights @ np.sin(angle))
        return total

    def value(self, V: np.ndarray, sigma: float, n_threads: int = 1) -> float:
        """Return the estimate of h(V)."""
        return float(np.mean(np.sum(np.abs(self._sums(V, sigma)) ** 2, axis=0)))

    def value_and_gradient(self, V: np.ndarray, sigma: float, n_threads: int = 1) -> tuple[float, np.ndarray]:
        """Return the estimate of h(V) and its exact derivative (p × d), chunk by chunk."""
        sums = self._sums(V, sigma)
        frequencies = self.frequencies[:, : V.shape[1]] / sigma
        directions = V @ frequencies.T
        slope = np.zeros((self.X.shape[1], len(frequencies)))
        for start in range(0, len(self.X), _CHUNK):
            rows = self.X[start : start + _CHUNK]
            angle = rows @ directions
            cosine, sine = np.cos(angle), np.sin(angle)
            for c, total in zip(self.C[:, start : start + _CHUNK], sums, strict=True):
                slope += rows.T @ (c[:, None] * (cosine * total.imag - sine * total.real))
        value = float(np.mean(np.sum(np.abs(sums) ** 2, axis=0)))
        return value, (2.0 / len(frequencies)) * (slope @ frequencies)

    def jacobian(self, V: np.ndarray, directions: np.ndarray, sigma: float) -> np.ndarray:
        """Return the rows of the features' derivatives, see :meth:`WeightedRows.jacobian`."""
        total = np.zeros((2 * len(self.C), directions.shape[1], self.X.shape[1]))
        for start in range(0, len(self.X), _CHUNK):
            rows = self.X[start : start + _CHUNK]
            angle = rows @ directions
            sine, cosine = np.sin(angle), np.cos(angle)
            for t, c in enumerate(self.C[:, start : start + _CHUNK]):
                weighted = c[:, None] * rows
                total[2 * t] += sine.T @ weighted
                total[2 * t + 1] += cosine.T @ weighted
        return total.reshape(-1, self.X.shape[1])

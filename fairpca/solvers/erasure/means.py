"""What a linear map must not see: the covariances of the features with sensitive variables, freed of rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from fairpca.linalg import symmetrise

__all__ = ["CrossMoments", "Directions", "cross_moments", "directions_of"]

_ROUNDING = 1e-13  # a correlation that is not distinguished from zero
_CONSTANT = 1e-12  # standard deviation over mean below which a column is constant but for rounding


@dataclass(frozen=True)
class Directions:
    """Independent directions that span the covariances of features with sensitive variables.

    Attributes
    ----------
    directions : ndarray of shape (p, r)
        C, whose columns span what linear codes must not see; in the units of the features.
    basis : ndarray of shape (p, r)
        Orthonormal basis of the same span.
    deviations : ndarray of shape (p,)
        Standard deviation of each feature, zero for those that are constant up to rounding.
    noise : float
        Rounding of the moments relative to the deviations, because of a mean far from zero.
    """

    directions: np.ndarray
    basis: np.ndarray
    deviations: np.ndarray
    noise: float

    @property
    def n_directions(self) -> int:
        """Dimension r of the span that is excluded."""
        return self.directions.shape[1]


@dataclass(frozen=True)
class CrossMoments(Directions):
    """Directions, with the covariance of the features.

    Attributes
    ----------
    covariance : ndarray of shape (p, p)
        Σ, of all rows.
    """

    covariance: np.ndarray


def cross_moments(
    covariance: np.ndarray, cross: np.ndarray, spread: np.ndarray, offset: np.ndarray | None = None
) -> CrossMoments:
    """Find the independent directions among covariances of features with sensitive variables.

    Parameters
    ----------
    covariance : ndarray of shape (p, p)
        Σ, of all rows.
    cross, spread, offset : ndarray
        As in :func:`directions_of`.

    Returns
    -------
    CrossMoments
    """
    covariance = symmetrise(np.asarray(covariance, dtype=np.float64))
    found = directions_of(np.diagonal(covariance), cross, spread, offset)
    return CrossMoments(found.directions, found.basis, found.deviations, found.noise, covariance)


def directions_of(
    variances: np.ndarray, cross: np.ndarray, spread: np.ndarray, offset: np.ndarray | None = None
) -> Directions:
    """Find the independent directions among covariances of features with sensitive variables.

    Whether a covariance is there or only rounding is judged on the scale of correlations, which knows neither the
    units of the features nor the number of rows: a tiny difference of means is one as long as it is no rounding.

    Parameters
    ----------
    variances : ndarray of shape (p,)
        Of the features, over all rows.
    cross : ndarray of shape (p, q)
        Covariance of each feature with each sensitive variable; columns may depend on each other.
    spread : ndarray of shape (q,)
        Standard deviations of the sensitive variables.
    offset : ndarray of shape (p,), optional
        Size of the means of the features, which limits the accuracy of the moments.

    Returns
    -------
    Directions
    """
    cross = np.asarray(cross, dtype=np.float64)
    p = len(cross)
    deviations = np.sqrt(np.clip(variances, 0.0, None))
    offset = np.zeros(p) if offset is None else np.abs(offset)
    deviations = np.where(deviations > _CONSTANT * offset, deviations, 0.0)
    varies = deviations > 0
    inverse = np.divide(1.0, deviations, out=np.zeros(p), where=varies)
    rounding = np.finfo(np.float64).eps * offset * inverse
    known = cross[:, spread > 0] / spread[spread > 0]
    _, s, Vt = np.linalg.svd(inverse[:, None] * known, full_matrices=False)
    threshold = max(_ROUNDING, 8.0 * float(np.linalg.norm(rounding)), 4.0 * p * np.finfo(np.float64).eps)
    rank = int(np.sum(s > threshold))
    directions = np.where(varies[:, None], known @ Vt[:rank].T, 0.0)
    return Directions(directions, orthonormal_basis(directions), deviations, float(rounding.max(initial=0.0)))


def orthonormal_basis(directions: np.ndarray) -> np.ndarray:
    """Orthonormal basis of independent columns, accurate also where rows differ by orders of magnitude.

    Columns are scaled, rows sorted and columns pivoted, which makes Householder's QR accurate row by row.
    """
    if directions.shape[1] == 0:
        return np.zeros_like(directions)
    scaled = directions / np.abs(directions).max(axis=0)
    order = np.argsort(-np.abs(scaled).max(axis=1), kind="stable")
    Q = qr(scaled[order], mode="economic", pivoting=True)[0]
    basis = np.empty_like(Q)
    basis[order] = Q
    return basis

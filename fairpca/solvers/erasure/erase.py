"""Linear erasure in closed form: the smallest change of the rows that leaves no covariance (LEACE)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, qr, solve_triangular
from scipy.linalg.lapack import dpocon

from fairpca.linalg import symmetrise
from fairpca.solvers.erasure.means import CrossMoments

__all__ = ["Erasure", "erase_linearly"]

_RANK = 1e-14  # eigenvalues of the correlation matrix below this share of the largest are rounding
_LEFT = 1e-11  # share of a covariance that erasing leaves; more was hidden in dropped directions
_WELL_CONDITIONED = 1e-9  # reciprocal condition number above which Cholesky's factor is taken


@dataclass(frozen=True)
class Erasure:
    """The projection ``P = I - removed @ predictor.T``, which takes from x what the prediction of z says about x.

    Attributes
    ----------
    predictor : ndarray of shape (p, r)
        Y: ``Y'(x - mean)`` is the least-squares prediction of the sensitive variables from x, whitened.
    removed : ndarray of shape (p, r)
        Covariance of x with that prediction; ``predictor.T @ removed`` is the identity.
    rank : int
        Numerical rank of the covariance of the features.
    """

    predictor: np.ndarray
    removed: np.ndarray
    rank: int

    def covariance_after(self, covariance: np.ndarray) -> np.ndarray:
        """Covariance PΣP' of the rows after erasure."""
        image = covariance @ self.predictor
        inner = self.predictor.T @ image
        change = self.removed @ (image - 0.5 * self.removed @ inner).T
        return symmetrise(covariance - change - change.T)

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """Return ``rows @ P.T``: the centred rows without what predicts z."""
        return rows - (rows @ self.predictor) @ self.removed.T

    def pull_back(self, columns: np.ndarray) -> np.ndarray:
        """Return ``P.T @ columns``: the linear functions of x that are `columns` of the erased x."""
        return columns - self.predictor @ (self.removed.T @ columns)


def erase_linearly(moments: CrossMoments) -> Erasure:
    r"""Return the projection of least mean squared change after which no linear function of x predicts z.

    This is Theorem 4.3 of Belrose et al. (2023): minimise :math:`E\|x-Px\|^2` over matrices P (x centred) subject to
    :math:`\operatorname{Cov}(Px,z)=0`. With :math:`C=\operatorname{Cov}(x,z)` the solution is

    .. math:: P=I-C\,(C^\top\Sigma^+C)^+\,C^\top\Sigma^+,

    in words: regress z on x, and take off what the prediction says about x. The generalised inverse works on the
    correlation matrix and drops what is below 1e-14 of the largest (more if the means are far from zero), so that
    the answer does not depend on units. What such directions hide of C is taken off by an orthogonal projection of the
    standardised rows, so that ``P C = 0`` holds to rounding whatever was dropped.

    Parameters
    ----------
    moments : CrossMoments
        From ``cross_moments``.

    Returns
    -------
    Erasure
    """
    C, deviations = moments.directions, moments.deviations
    p = len(C)
    varies = deviations > 0
    inverse = np.divide(1.0, deviations, out=np.zeros(p), where=varies)
    correlation = inverse[:, None] * moments.covariance * inverse
    scaled = inverse[:, None] * C
    factor = _cholesky(correlation) if varies.all() else None
    if factor is not None:
        rank = p
        whitened = solve_triangular(factor, scaled, lower=True)
    else:
        half = _inverse_root(correlation, max(_RANK, moments.noise, 4.0 * p * np.finfo(np.float64).eps))
        rank = half.shape[1]
        whitened = half.T @ scaled
    lengths = np.linalg.norm(whitened, axis=0)
    seen = lengths > _RANK * np.linalg.norm(scaled, axis=0)
    C, whitened = C[:, seen] / lengths[seen], whitened[:, seen] / lengths[seen]
    U, R, order = qr(whitened, mode="economic", pivoting=True)
    size = int(np.sum(np.abs(np.diagonal(R)) > _RANK)) if R.size else 0
    U, R, C = U[:, :size], R[:size, :size], C[:, order[:size]]
    predictor = inverse[:, None] * (solve_triangular(factor.T, U) if factor is not None else half @ U)
    # Dividing C itself, not what the factor makes of it, keeps PC = 0 exact whatever eigenvalues were dropped.
    removed = solve_triangular(R.T, C.T, lower=True).T if size else np.zeros((p, 0))
    hidden = _left_over(inverse, moments.directions, predictor, removed)
    if hidden.shape[1]:
        # (I - HH') P in the units of the correlations, written as one projection.
        across = inverse[:, None] * hidden
        predictor = np.hstack([predictor, across - predictor @ (removed.T @ across)])
        removed = np.hstack([removed, deviations[:, None] * hidden])
    return Erasure(predictor, removed, rank)


def _inverse_root(correlation: np.ndarray, tolerance: float) -> np.ndarray:
    """Return H with HH' the generalised inverse on the range, by a rank-revealing QR and Cholesky's factor there."""
    Q, R, _ = qr(correlation, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(R))
    rank = int(np.sum(sizes > tolerance * sizes[0]))
    while rank:
        range_ = Q[:, :rank]
        try:
            factor = cholesky(symmetrise(range_.T @ correlation @ range_), lower=True)
            return solve_triangular(factor, range_.T, lower=True).T
        except np.linalg.LinAlgError:
            rank -= 1
    return Q[:, :0]


def _left_over(inverse: np.ndarray, C: np.ndarray, predictor: np.ndarray, removed: np.ndarray) -> np.ndarray:
    """Orthonormal basis of what erasing leaves of C, in the units of the correlations; empty but for bad conditions."""
    scaled = inverse[:, None] * C
    left = (scaled - inverse[:, None] * (removed @ (predictor.T @ C))) / np.linalg.norm(scaled, axis=0)
    left = left[:, np.linalg.norm(left, axis=0) > _LEFT]
    Q, R, _ = qr(left, mode="economic", pivoting=True)
    return Q[:, np.abs(np.diagonal(R)) > _LEFT] if R.size else left[:, :0]


def varying_complement(moments: CrossMoments) -> np.ndarray:
    """Orthonormal basis of the directions orthogonal to C in which the data vary; elsewhere nothing differs."""
    S, Q, deviations = moments.covariance, moments.basis, moments.deviations
    if deviations.all() and _cholesky(S / np.multiply.outer(deviations, deviations)) is not None:
        return np.linalg.qr(Q, mode="complete")[0][:, Q.shape[1] :] if Q.shape[1] else np.eye(len(S))
    inverse = np.divide(1.0, deviations, out=np.zeros(len(S)), where=deviations > 0)
    _, R, order = qr(inverse[:, None] * S * inverse, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(R))
    tolerance = max(_RANK, moments.noise, 4.0 * len(S) * np.finfo(np.float64).eps)
    rank = int(np.sum(sizes > tolerance * sizes[0])) if sizes[0] > 0 else 0
    range_ = S[:, order[:rank]] * inverse[order[:rank]]
    range_ = range_ / np.abs(range_).max(axis=0)
    rest = range_ - Q @ (Q.T @ range_)
    return qr(rest, mode="economic", pivoting=True)[0][:, : rank - Q.shape[1]]


def _cholesky(correlation: np.ndarray) -> np.ndarray | None:
    """Lower factor of a correlation matrix, or None where an eigen-decomposition is needed."""
    try:
        factor = cholesky(correlation, lower=True)
    except np.linalg.LinAlgError:
        return None
    norm = float(np.abs(correlation).sum(axis=0).max())
    reciprocal, _ = dpocon(factor, norm, uplo="L")
    return factor if reciprocal > _WELL_CONDITIONED else None

"""Constants and stationarity measure of the convergence theory of Vu et al. (2022), Section 4.4, for two groups.

In the complement U of V (p x n with n = p - d) the objective is F = max(F_0, F_1) with

    F_a(U) = kappa_a + theta_a |M_a^(1/2) U| + vartheta_a' |M_a'^(1/2) U| + <UU', C_a>,

|.| the Frobenius norm and C_a = (p_a + lam) M_a + (p_a' - lam) M_a'.  Norms of linear images are convex, so F_a
fails to be convex by its quadratic term alone.  That gives the constants of the theory without any assumption on the
moments.  The measure of Theorem 4.3 is |prox(U) - U| / mu, where prox(U) minimises F(W) + |W - U|^2 / (2 mu) over
orthonormal W; below it is computed with a certificate.

This module checks a theorem; it is written for that, not for speed.  The corrected robust value has the same constants.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairpca.solvers.rfpca.objective import GroupObjective, RFPCAVariant, check_problem, penalty_used

__all__ = ["ComplementObjective", "ProximalPoints", "polar_factor"]

_ZERO = 1e-300  # an error below it has the subgradient zero of the norm


@dataclass(frozen=True)
class ProximalPoints:
    """Proximal points of a stack of matrices.

    Attributes
    ----------
    W : ndarray of shape (T, p, n)
        The proximal points, orthonormal.
    measure : ndarray of shape (T,)
        |W - U| / mu.
    envelope : ndarray of shape (T,)
        F(W) + |W - U|^2 / (2 mu), the Moreau envelope at U up to `gap`.
    gap : ndarray of shape (T,)
        Envelope minus a lower bound on it.
    margin : ndarray of shape (T,)
        Smallest eigenvalue of the multiplier of W'W = I minus the modulus of weak convexity.  Where it is not negative
        the lower bound is proved for all orthonormal matrices, not only for those near W.
    slope : ndarray of shape (T,)
        Norm of a Riemannian subgradient of F at W; the measure bounds it.
    """

    W: np.ndarray
    measure: np.ndarray
    envelope: np.ndarray
    gap: np.ndarray
    margin: np.ndarray
    slope: np.ndarray


class ComplementObjective:
    """F of problem (7) of Vu et al. on p x (p - d) matrices, with the constants of its convergence theory.

    Parameters
    ----------
    moments : ndarray of shape (2, p, p)
        Second moments of the groups.
    shares, eps : ndarray of shape (2,)
        Group shares and radii.
    n_components : int
        Dimension of the subspace.
    lam : float
        Penalty.
    variant : {"corrected", "printed", "vu2022_code"}
        The paper's formula (6c), or the supremum for every penalty.

    Attributes
    ----------
    quadratic : ndarray of shape (2, p, p)
        C_0 and C_1.
    lipschitz : float
        Bound on the norm of the subgradients at orthonormal U, hence on the slope of F there (Lemma 4.2, repaired).
    printed_lipschitz : float
        The constant (9) as printed, infinite where a moment with a radius is singular; of the possible readings of
        sigma_max(C_a) the largest, the spectral norm.
    weak_convexity : float
        The smallest modulus, for both F_a, with which F_a(U) + modulus / 2 |U|^2 is convex.
    curvature : float
        Modulus of the Riemannian subgradient inequality between orthonormal matrices, at most twice `lipschitz`. A
        moment plus a multiple of the identity has the same inequality, so only differences of eigenvalues count.
    """

    def __init__(
        self,
        moments: np.ndarray,
        shares: np.ndarray,
        n_components: int,
        lam: float,
        eps: np.ndarray,
        variant: RFPCAVariant = "printed",
    ) -> None:
        self.moments, self.shares, self.eps = check_problem(moments, shares, n_components, lam, eps)
        if len(self.moments) != 2:
            raise ValueError(f"there are {len(self.moments)} groups; the theory of Section 4 is for two.")
        self.n_components = n_components
        self.lam = penalty_used(variant, self.moments, self.shares, self.eps, n_components, lam)
        self.columns = self.moments.shape[1] - n_components
        self._objective = GroupObjective(self.shares, self.lam, self.eps, variant)
        weights = self._objective.weights
        self.quadratic = np.einsum("ab,bij->aij", weights, self.moments)
        spectra = np.linalg.eigvalsh(self.moments)
        top, bottom = np.maximum(spectra[:, -1], 0.0), np.maximum(spectra[:, 0], 0.0)
        curvature = np.linalg.eigvalsh(self.quadratic)
        spectral = np.abs(curvature).max(axis=1)
        norms = 2 * np.abs(weights) * np.sqrt(self.eps)  # theta_a and vartheta_a', row a
        self.lipschitz = float((norms @ np.sqrt(top) + 2 * np.sqrt(self.columns) * spectral).max())
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(norms > 0, norms * top / np.sqrt(bottom), 0.0)
        self.printed_lipschitz = float(max(ratios.max(), 2 * np.sqrt(self.columns) * spectral.max()))
        self.weak_convexity = float(2 * max(-curvature[:, 0].min(), 0.0))
        spread = (top - bottom) / np.sqrt(np.where(top > 0, top, 1.0))
        self.curvature = float((norms @ spread + 2 * (curvature[:, -1] - curvature[:, 0])).max())

    def errors(self, U: np.ndarray) -> np.ndarray:
        """Return s_b = <UU', M_b>, shape (..., 2), for matrices of shape (..., p, n), orthonormal or not."""
        return np.maximum(np.einsum("...in,bij,...jn->...b", U, self.moments, U), 0.0)

    def values(self, U: np.ndarray) -> np.ndarray:
        """Return F_0 and F_1, shape (..., 2)."""
        errors = self.errors(U)
        flat = np.array([self._objective.values(s) for s in errors.reshape(-1, 2)])
        return flat.reshape(errors.shape)

    def multipliers(self, U: np.ndarray) -> np.ndarray:
        """Return the symmetric G_0 and G_1 with G_a U a subgradient of F_a at U, shape (..., 2, p, p).

        Where an error is zero its norm contributes the subgradient zero, so the result exists everywhere.
        """
        errors = self.errors(U)
        flat = np.array([self._objective.slopes(np.where(s > _ZERO, s, 1.0)) for s in errors.reshape(-1, 2)])
        slopes = flat.reshape(*errors.shape[:-1], 2, 2)
        # At an error of zero M_b U = 0: any finite coefficient gives the same subgradient, but keep C_a in G_a.
        slopes = np.where(errors[..., None, :] > _ZERO, slopes, self._objective.weights)
        return 2 * np.einsum("...ab,bij->...aij", slopes, self.moments)

    def subgradient(self, U: np.ndarray) -> np.ndarray:
        """Return the Riemannian subgradient of Lemma 4.1, (I - UU')G_a U with an active a, shape (..., p, n)."""
        values, G = self.values(U), self.multipliers(U)
        active = values.argmax(axis=-1)
        GU = np.take_along_axis(G, active[..., None, None, None], axis=-3)[..., 0, :, :] @ U
        return GU - U @ (np.swapaxes(U, -1, -2) @ GU)

    def descend(self, U: np.ndarray, steps: int, size: float | None = None) -> np.ndarray:
        """Return the iterates of Algorithm 1 from U, shape (steps + 1, p, n); the polar factor is the retraction.

        Step 1 / sqrt(steps + 1) if no `size` is given.
        """
        size = 1 / np.sqrt(steps + 1) if size is None else size
        iterates = np.empty((steps + 1, *U.shape))
        iterates[0] = U
        for t in range(steps):
            iterates[t + 1] = polar_factor(iterates[t] - size * self.subgradient(iterates[t]))
        return iterates

    def proximal_points(self, U: np.ndarray, mu: float, *, tol: float = 1e-12) -> ProximalPoints:
        """Minimise F(W) + |W - U|^2 / (2 mu) over orthonormal W, for a stack U of shape (T, p, n).

        For orthonormal matrices |W - U|^2 = 2n - 2 <W, U>.  For a weight t of the first piece, tF_0 + (1 - t)F_1 minus
        <W, U> / mu is decreased by polar steps that majorise it; the weight is found by bisection on F_0 - F_1.
        """
        count = len(U)
        low, high = np.zeros(count), np.ones(count)
        W = U.copy()
        ends = [self._inner(W, U, t, mu, tol) for t in (low, high)]
        gaps = [np.subtract(*self.values(W).T) for W in ends]
        weight = np.where(gaps[1] >= 0, 1.0, np.where(gaps[0] <= 0, 0.0, 0.5))
        search = weight == 0.5
        W = np.where((weight == 1.0)[:, None, None], ends[1], ends[0])
        while search.any() and (high - low)[search].max() > 1e-15:
            middle = (low + high) / 2
            W[search] = self._inner(W[search], U[search], middle[search], mu, tol)
            positive = np.subtract(*self.values(W).T) > 0
            low = np.where(search & positive, middle, low)
            high = np.where(search & ~positive, middle, high)
        weight = np.where(search, (low + high) / 2, weight)
        return self._certify(W, U, weight, mu)

    def _inner(self, W: np.ndarray, U: np.ndarray, weight: np.ndarray, mu: float, tol: float) -> np.ndarray:
        """Minimise weight F_0 + (1 - weight) F_1 - <W, U> / mu: concave majorisers, linearised, give polar steps."""
        identity = np.eye(self.moments.shape[1])
        for _ in range(5000):
            G = self._weighted(W, weight)
            top = np.linalg.eigvalsh(G)[:, -1]
            new = polar_factor(U / mu - (G - top[:, None, None] * identity) @ W)
            moved = np.abs(new - W).max()
            W = new
            if moved < tol:
                break
        return W

    def _certify(self, W: np.ndarray, U: np.ndarray, weight: np.ndarray, mu: float) -> ProximalPoints:
        distance2 = ((W - U) ** 2).sum(axis=(1, 2))
        values = self.values(W)
        envelope = values.max(axis=1) + distance2 / (2 * mu)
        gap = values.max(axis=1) - weight * values[:, 0] - (1 - weight) * values[:, 1]
        GW = self._weighted(W, weight) @ W
        transposed = np.swapaxes(W, 1, 2)
        total = GW - U / mu
        multiplier = -transposed @ total
        residual = np.sqrt(((total + W @ multiplier) ** 2).sum(axis=(1, 2)))
        # A residual r lowers the bound by at most r |Z - W| <= 2 r sqrt(n).
        gap = gap + 2 * np.sqrt(self.columns) * residual
        symmetric = (multiplier + np.swapaxes(multiplier, 1, 2)) / 2
        margin = np.linalg.eigvalsh(symmetric)[:, 0] - self.weak_convexity
        slope = np.sqrt(((GW - W @ (transposed @ GW)) ** 2).sum(axis=(1, 2)))
        return ProximalPoints(W, np.sqrt(distance2) / mu, envelope, gap, margin, slope)

    def _weighted(self, W: np.ndarray, weight: np.ndarray) -> np.ndarray:
        G = self.multipliers(W)
        return weight[:, None, None] * G[:, 0] + (1 - weight)[:, None, None] * G[:, 1]


def polar_factor(Y: np.ndarray) -> np.ndarray:
    """Return Y (Y'Y)^(-1/2) for a stack of matrices of full column rank.

    Parameters
    ----------
    Y : ndarray of shape (..., p, n)
        Matrices with n <= p.

    Returns
    -------
    ndarray of shape (..., p, n)
        Orthonormal columns: the nearest such matrices to Y.
    """
    left, _, right = np.linalg.svd(Y, full_matrices=False)
    return left @ right

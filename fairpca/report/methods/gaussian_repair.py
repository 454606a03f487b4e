"""Optimal transport of each group, taken as Gaussian, to the groups' barycentre, then PCA."""

from typing import Any

import numpy as np

from fairpca._validation import Groups
from fairpca.pca import PCA
from fairpca.report.method import Method, Rows, Steps


def power(A: np.ndarray, exponent: float) -> np.ndarray:
    """Return a power of a positive definite matrix."""
    w, U = np.linalg.eigh(A)
    return (U * np.maximum(w, 1e-12) ** exponent) @ U.T


def fit(rows: Rows, n_components: int) -> Any:
    """Map means and covariances of the groups to those of their Wasserstein barycentre, then fit PCA."""
    means, shares, p = rows.moments.means, rows.moments.weights, rows.X.shape[1]
    covariances = rows.moments.covariances() + 1e-3 * np.trace(rows.moments.covariance()) / p * np.eye(p)
    middle = np.tensordot(shares, covariances, 1)
    for _ in range(20):  # Knott and Smith's fixed point, by the step of Alvarez-Esteban et al. (2016)
        root, inverse = power(middle, 0.5), power(middle, -0.5)
        inner = sum(w * power(root @ C @ root, 0.5) for w, C in zip(shares, covariances, strict=True))
        middle = inverse @ inner @ inner @ inverse
    maps = [power(C, -0.5) @ power(power(C, 0.5) @ middle @ power(C, 0.5), 0.5) @ power(C, -0.5) for C in covariances]

    def change(X: np.ndarray, groups: Groups) -> np.ndarray:
        moved = np.einsum("npq,nq->np", np.array(maps)[groups.codes], X - means[groups.codes])
        return moved + shares @ means

    return Steps(change, PCA(n_components).fit(Rows(change(rows.X, rows.groups), rows.groups).moments))


ORDER, ABOUT = 71, "Moves means and covariances of the groups to a common middle, then keeps the most variance."
METHOD = Method("gaussian_repair", "Gaussian repair + PCA", "gordaliza2019", ABOUT, fit, groups_at_prediction=True)

"""The authors' port of FairPCA with the randomised SVD that scikit-learn chose when the paper was written.

The port calls scikit-learn's PCA in every step of its multiplicative weights. Until version 1.5 that class took a
randomised SVD by default where more than 500 rows (or columns) meet fewer components than 0.8 times the shorter side.
The random numbers come from NumPy's global stream, which the authors seed with the number of the split. So their
iterates are reproducible, but they are not those of an exact PCA.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, clone

from fairpca import GroupMoments
from fairpca.linalg import top_eigenpairs
from fairpca.solvers.minmax._affine import affine_map, basis_kind, eigenvalues_of

__all__ = ["RandomisedPort", "randomised_top"]

# Defaults of scikit-learn: rows or columns up to which the SVD is exact, its oversampling, and the power iterations
# for few components (less than a tenth of the shorter side) and for more.
_EXACT, _OVERSAMPLED, _POWERS = 500, 10, (7, 4)


def randomised_top(C: np.ndarray, n_rows: int, k: int, stream: np.random.RandomState) -> np.ndarray:
    """Return the top k right singular vectors of rows with second moment `C`, as scikit-learn 1.0 finds them.

    The randomised SVD of `n_rows` centred rows X depends on X'X only, because every step normalises a basis and keeps
    its span. It draws the numbers that ``sklearn.utils.extmath.randomized_svd`` draws.

    Parameters
    ----------
    C : ndarray of shape (p, p)
        Second moment of centred rows, in any unit.
    n_rows : int
        Number of rows.
    k : int
        Number of vectors.
    stream : RandomState
        Where the random start comes from; an exact SVD draws nothing.
    """
    p = len(C)
    shorter = min(n_rows, p)
    if max(n_rows, p) <= _EXACT or k >= 0.8 * shorter:
        return top_eigenpairs(C, k)[1]
    W = stream.normal(size=(p, k + _OVERSAMPLED))
    if W.shape[1] >= p:  # the start spans everything, so the answer is exact
        return top_eigenpairs(C, k)[1]
    for _ in range(_POWERS[0] if k < 0.1 * shorter else _POWERS[1]):
        W = np.linalg.qr(C @ W)[0]
    CW = C @ W
    L = np.linalg.cholesky(W.T @ CW)
    return np.linalg.svd(solve_triangular(L, CW.T, lower=True), full_matrices=False)[2][:k].T


class RandomisedPort(BaseEstimator):
    """The port of FairPCA, which takes the subspace of each step from a randomised SVD.

    It does what ``MinMaxFairPCA(solver="mw", variant="vu2022_code")`` does but for that.

    Parameters
    ----------
    n_components : int
        Number of components.
    eta : float
        Step size.
    max_iter : int
        Number of steps.
    random_state : RandomState
        The authors' stream, seeded with the number of the split.
    """

    def __init__(self, n_components: int = 3, eta: float = 1.0, max_iter: int = 1000, random_state: Any = None) -> None:
        self.n_components = n_components
        self.eta = eta
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, moments: GroupMoments) -> Self:
        """Fit to the moments of two groups, each about its own mean."""
        C, counts, k = moments.second_moments("group"), moments.counts.astype(int), self.n_components
        own = [randomised_top(A, n, k, self.random_state) for A, n in zip(C, counts, strict=True)]
        best = np.array([np.vdot(V, A @ V) for A, V in zip(C, own, strict=True)])
        logs, total = np.zeros(2), np.zeros_like(C[0])
        for _ in range(self.max_iter):
            weights = np.exp(logs - logs.max())
            combined = np.tensordot(weights / weights.sum(), C, 1)
            V = randomised_top(combined, int(counts.sum()), k, self.random_state)
            last = V @ V.T
            total += last
            logs = logs + self.eta * (best - np.einsum("gij,ij->g", C, last))
        average = total / self.max_iter
        # The port sums the entries of the matrix product, where the inner product is meant.
        by_port = [float(np.max(best - (C @ P).sum(axis=(1, 2)))) for P in (average, last)]
        values, U = eigenvalues_of(average) if by_port[0] < by_port[1] else (np.ones(k), V)
        self.components_ = affine_map(U, values).T
        self.result_ = SimpleNamespace(basis=basis_kind(values), status="max_iter")
        return self

    def path(self, moments: GroupMoments, eta: Sequence[float]) -> list[Self]:
        """Fit with each step size, one after the other from the same stream."""
        models = [clone(self).set_params(eta=step, random_state=self.random_state) for step in eta]
        return [model.fit(moments) for model in models]

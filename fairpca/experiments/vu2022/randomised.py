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
from sklearn.base import BaseEstimator, clone

from fairpca import GroupMoments
from fairpca.solvers.minmax._affine import affine_map, basis_kind, eigenvalues_of

__all__ = ["RandomisedPort", "is_randomised", "leading"]

# Defaults of scikit-learn: rows or columns up to which the SVD is exact, its oversampling, and the power iterations
# for few components (less than a tenth of the shorter side) and for more.
_EXACT, _OVERSAMPLED, _POWERS = 500, 10, (7, 4)


def is_randomised(n_rows: int, p: int, k: int) -> bool:
    """Say whether scikit-learn 1.0 takes a randomised SVD, and so draws p times k + 10 normal numbers."""
    return max(n_rows, p) > _EXACT and k < 0.8 * min(n_rows, p)


def leading(C: np.ndarray, k: int, start: np.ndarray | None = None, n_rows: int = 0) -> np.ndarray:
    """Return the top k right singular vectors of rows with second moment `C`, as scikit-learn 1.0 finds them.

    The randomised SVD of centred rows X depends on X'X only, because every step normalises a basis and keeps its span.

    Parameters
    ----------
    C : ndarray of shape (..., p, p)
        Second moments of centred rows, in any unit.
    k : int
        Number of vectors.
    start : ndarray of shape (..., p, k + 10), optional
        The random start; without one the SVD is exact.
    n_rows : int
        Number of rows, on which the number of power iterations depends.
    """
    p = C.shape[-1]
    if start is None or start.shape[-1] >= p:  # such a start spans everything, so the answer is exact
        return np.linalg.eigh(C)[1][..., ::-1][..., :k]
    W = start
    for _ in range(_POWERS[0] if k < 0.1 * min(n_rows, p) else _POWERS[1]):
        W = np.linalg.qr(C @ W)[0]
    CW = C @ W
    L = np.linalg.cholesky(W.swapaxes(-1, -2) @ CW)
    right = np.linalg.svd(np.linalg.solve(L, CW.swapaxes(-1, -2)), full_matrices=False)[2]
    return right[..., :k, :].swapaxes(-1, -2)


class RandomisedPort(BaseEstimator):
    """Run the authors' port of FairPCA with the randomised SVD of scikit-learn 1.0.

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
        ((self.components_, self.result_),) = self._solve(moments, [self.eta])
        return self

    def path(self, moments: GroupMoments, eta: Sequence[float]) -> list[Self]:
        """Fit with each step size, with the random numbers of one fit after the other."""
        models = [clone(self).set_params(eta=step) for step in eta]
        for model, found in zip(models, self._solve(moments, eta), strict=True):
            model.components_, model.result_ = found
        return models

    def _solve(self, moments: GroupMoments, etas: Sequence[float]) -> list[tuple[np.ndarray, SimpleNamespace]]:
        """Run all step sizes side by side."""
        C, k, p, T = moments.second_moments("group"), self.n_components, moments.means.shape[1], self.max_iter
        sizes = [*moments.counts.astype(int), int(moments.counts.sum())]
        shapes = [(times, p, k + _OVERSAMPLED) for times in (1, 1, T)]
        drawn = [
            [
                self.random_state.normal(size=shape) if is_randomised(n, p, k) else None
                for n, shape in zip(sizes, shapes, strict=True)
            ]
            for _ in etas
        ]
        starts = [None if parts[0] is None else np.stack(parts, axis=1) for parts in zip(*drawn, strict=True)]
        best = np.zeros((len(etas), 2))
        for g, (A, start, n) in enumerate(zip(C, starts, sizes, strict=False)):
            V = leading(np.stack([A] * len(etas)), k, None if start is None else start[0], n)
            best[:, g] = np.einsum("mij,il,mlj->m", V, A, V)
        logs, total = np.zeros((len(etas), 2)), np.zeros((len(etas), p, p))
        for step in range(T):
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            V = leading(np.tensordot(weights, C, 1), k, None if starts[2] is None else starts[2][step], sizes[2])
            last = V @ V.swapaxes(1, 2)
            total += last
            logs = logs + np.asarray(etas)[:, None] * (best - np.einsum("gij,mij->mg", C, last))
        average = total / T
        # The port sums the entries of the matrix product, where the inner product is meant.
        by_port = [(best - P.sum(axis=2) @ C.sum(axis=1).T).max(axis=1) for P in (average, last)]
        answers = []
        for i in range(len(etas)):
            values, U = eigenvalues_of(average[i]) if by_port[0][i] < by_port[1][i] else (np.ones(k), V[i])
            answers.append((affine_map(U, values).T, SimpleNamespace(basis=basis_kind(values), status="max_iter")))
        return answers

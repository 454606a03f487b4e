"""The pencil of matrices that are too large to be formed: their products with a few vectors are enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fairpca.solvers.spectral.pencil import Pencil, split_ties

__all__ = ["StreamedPencil"]


class StreamedPencil(Pencil):
    """Top eigenpairs of weighted sums of matrices that are known by their products only.

    A block Krylov method with one basis for all weights: the residuals of the pairs that are not yet accurate are
    multiplied next, all in one product. Nothing about the rest of the spectrum can be proved from products, so bounds
    are estimates from residuals (:func:`fairpca.solvers.spectral.sum_error`).

    Parameters
    ----------
    multiply : callable
        Takes X of shape (p, k), returns the products of all matrices with it, shape (m, p, k).
    traces : ndarray of shape (m,)
        Traces of the matrices.
    n_features : int
        p.
    tol : float, default=1e-6
        Residual of a pair relative to the norm; an eigenvalue is then off by about the square of it.
    max_basis : int, optional
        Columns that the basis may have; default ``4 (d + 30)``.
    random_state : int, default=0
        Seed of the starting block.
    """

    def __init__(
        self,
        multiply: Callable[[np.ndarray], np.ndarray],
        traces: np.ndarray,
        n_features: int,
        *,
        tol: float = 1e-6,
        max_basis: int | None = None,
        random_state: int = 0,
    ) -> None:
        self._products_with = multiply
        self._start(np.asarray(traces, dtype=np.float64), n_features, tol, max_basis, random_state)

    def _multiply(self, X: np.ndarray) -> Sequence[np.ndarray]:
        return self._products_with(X)  # type: ignore[return-value]

    def whole_top_sum(self, weights: Sequence[float] | np.ndarray, d: int) -> float:
        """Return the sum of the `d` largest eigenvalues that the basis gives, with the error that residuals allow."""
        w = self.spectrum(weights).values
        tie = split_ties(w, d, 1e-9 * float(abs(w[0])))[1]
        return float(np.sum(self.top_sum(weights, d, tie)))

    def top_sum_bound(
        self, weights: Sequence[float] | np.ndarray, d: int, pairs: tuple[np.ndarray, np.ndarray] | None = None
    ) -> float:
        """As :meth:`whole_top_sum`: an estimate and no proof."""
        return self.whole_top_sum(weights, d)

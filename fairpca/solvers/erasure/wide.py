"""Mean matching for so many columns that nothing but products with the rows is possible."""

from __future__ import annotations

from time import perf_counter
from typing import Any, get_args

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from fairpca._validation import check_choice, check_components, check_number
from fairpca.solvers.erasure.erase import Erasure
from fairpca.solvers.erasure.means import Directions
from fairpca.solvers.erasure.solve import Projection
from fairpca.solvers.result import SolverResult, consistent_bound
from fairpca.solvers.spectral import StreamedPencil

__all__ = ["solve_mean_fair_wide"]


def solve_mean_fair_wide(
    rows: Any,
    directions: Directions | None,
    n_components: int,
    *,
    projection: Projection = "orthogonal",
    tol: float = 1e-6,
    max_iter: int = 500,
) -> SolverResult:
    """Solve the problem of :func:`~fairpca.solvers.erasure.solve_mean_fair` by passes over the rows.

    The leading eigenvectors come from a block Krylov method (:class:`fairpca.solvers.spectral.StreamedPencil`), and
    for the oblique code the prediction of the sensitive variables from SciPy's conjugate gradients before. The code
    has no covariance with them however inexact these are; only optimality is a matter of `tol`.

    Parameters
    ----------
    rows : WideRows
        Rows, whose covariance is multiplied with vectors; or an object with the same ``variances``, ``n_samples``,
        ``n_features`` and ``covariance_product``.
    directions : Directions or None
        What must not be seen, from :func:`~fairpca.solvers.erasure.directions_of`; None for ordinary PCA.
    n_components : int
        d.
    projection : {"orthogonal", "oblique"}
        Which maps are allowed. With more columns than rows the prediction is perfect on these rows and says little
        about others; the orthogonal code has no such prediction in it.
    tol : float, default=1e-6
        Relative residual of eigenpairs; the root of it is that of the prediction.
    max_iter : int, default=500
        Steps of conjugate gradients, each a pass over the rows.

    Returns
    -------
    SolverResult
        As from the solver for moments, but `bound` is an estimate from residuals. `extra` has ``residual`` (of the
        eigenpairs) and ``prediction_residual`` too.
    """
    start = perf_counter()
    check_choice("projection", projection, get_args(Projection))
    check_number("tol", tol, low=0.0, low_open=True, high=1e-2)
    p, r = rows.n_features, directions.n_directions if directions else 0
    d = check_components(
        n_components,
        p,
        high=p - r,
        why=f"The code must avoid {r} direction(s) in which the sensitive variables show." if r else "",
    )
    Q = directions.basis if directions else np.zeros((p, 0))
    check_number("max_iter", max_iter, low=1, integer=True)
    coarse = tol**0.5  # an error of the prediction enters the optimum squared, and fairness not at all
    erasure, unpredicted = None, 0.0
    if directions and r and projection == "oblique":
        erasure, unpredicted = _erase(rows, directions, coarse, max_iter)
    avoided = Q if erasure is None else np.linalg.qr(erasure.predictor)[0]

    def apart(X: np.ndarray) -> np.ndarray:
        return X - avoided @ (avoided.T @ X)

    def multiply(X: np.ndarray) -> np.ndarray:
        X = apart(X)
        image = rows.covariance_product(X)
        if erasure is not None:  # PΣP' = Σ - C̃C̃', in which an error of the prediction counts squared
            image = image - erasure.removed @ (erasure.removed.T @ X)
        return apart(image)[None]

    total = float(rows.variances.sum())
    pencil = StreamedPencil(multiply, np.array([total]), p, tol=tol)
    B = np.linalg.qr(apart(pencil.top([1.0], d)[1]))[0]
    A = B if erasure is None else erasure.pull_back(B)
    A = A - Q @ (Q.T @ A)
    image = rows.covariance_product(A)
    kept = float(np.vdot(A, image))
    if erasure is not None:
        A, B, kept = _best_decoder(A, image)
    accurate = unpredicted <= 10.0 * coarse
    rounding = (10.0 * coarse) ** 2 * total  # what an accurate prediction misses
    bound = consistent_bound(total - kept, total - pencil.top_sum_bound([1.0], d), rounding, proof=False)
    close = total - kept - bound <= tol * total and accurate
    return SolverResult(
        A,
        "optimal" if close else "max_iter",
        total - kept,
        bound=bound,
        certificate="estimate",
        basis="orthonormal" if erasure is None else "affine",
        n_iter=pencil.n_products,
        seconds=perf_counter() - start,
        extra={"decoder": B, "excluded": Q, "residual": pencil.residual, "prediction_residual": unpredicted},
    )


def _best_decoder(A: np.ndarray, image: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return a code of the same span with its best, orthonormal, decoder, and the variance kept; `image` is ΣA."""
    best = image @ np.linalg.pinv(A.T @ image, hermitian=True)
    U, s, Vt = np.linalg.svd(best, full_matrices=False)
    return A @ (Vt.T * s) @ Vt, U @ Vt, float(np.vdot(image, best))


def _erase(rows: Any, directions: Directions, tol: float, max_iter: int) -> tuple[Erasure, float]:
    """Least-squares prediction by conjugate gradients on ΣY = C, columns scaled to unit variance; with its residual."""
    p, C, deviations = rows.n_features, directions.directions, directions.deviations
    inverse = np.divide(1.0, deviations, out=np.zeros(p), where=deviations > 0)

    def correlate(v: np.ndarray) -> np.ndarray:
        return inverse * rows.covariance_product((inverse * v.ravel())[:, None])[:, 0]

    operator = LinearOperator((p, p), matvec=correlate, dtype=np.float64)
    scaled = inverse[:, None] * C
    solved = np.column_stack([cg(operator, c, rtol=tol, maxiter=max_iter)[0] for c in scaled.T])
    predictor = inverse[:, None] * solved
    rest = scaled - inverse[:, None] * rows.covariance_product(predictor)
    residual = float((np.linalg.norm(rest, axis=0) / np.linalg.norm(scaled, axis=0)).max())
    # Predictor and what it removes are fitted to each other, so that PC = 0 however far the iteration got.
    gram = C.T @ predictor
    root = np.linalg.cholesky((gram + gram.T) / 2)
    predictor = np.linalg.solve(root, predictor.T).T
    removed = np.linalg.solve((predictor.T @ C).T, C.T).T
    return Erasure(predictor, removed, min(rows.n_samples - 1, p)), residual

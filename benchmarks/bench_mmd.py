"""MMD² and its gradient: the package's kernel against the transcribed closed form, and against its approximations.

`kernel_ms` is the package; `closed_form_ms` evaluates the paper's two formulas, the value (Lemma 1) and the gradient
(section G), one after the other, as a line search does; `ratio` divides by `kernel_ms`. The errors of the two
approximations are relative.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from timing import best_of_each

from fairpca.solvers.mmd import FourierRows, WeightedRows, subsampled

__all__ = ["closed_form", "closed_form_value", "run"]


def closed_form(X: np.ndarray, Y: np.ndarray, V: np.ndarray, sigma: float) -> tuple[float, np.ndarray]:
    """Return h and its gradient as section G of the supplement of Lee et al. writes them: three kernels, p × p sums."""
    m, n = len(X), len(Y)
    A, B = X @ V, Y @ V
    K_X = np.exp(-cdist(A, A, "sqeuclidean") / (2 * sigma**2))
    K_Y = np.exp(-cdist(B, B, "sqeuclidean") / (2 * sigma**2))
    K_XY = np.exp(-cdist(A, B, "sqeuclidean") / (2 * sigma**2))
    h = K_X.sum() / m**2 + K_Y.sum() / n**2 - 2 * K_XY.sum() / (m * n)
    grad_1 = -2 / (m**2 * sigma**2) * (X.T @ (np.diag(K_X.sum(axis=1)) - K_X) @ X @ V)
    grad_2 = -2 / (n**2 * sigma**2) * (Y.T @ (np.diag(K_Y.sum(axis=1)) - K_Y) @ Y @ V)
    cross = X.T @ K_XY @ Y
    inner = X.T @ np.diag(K_XY.sum(axis=1)) @ X + Y.T @ np.diag(K_XY.sum(axis=0)) @ Y - cross - cross.T
    grad_3 = -1 / (m * n * sigma**2) * (inner @ V)
    return float(h), grad_1 + grad_2 - 2 * grad_3


def closed_form_value(X: np.ndarray, Y: np.ndarray, V: np.ndarray, sigma: float) -> float:
    """Return h alone, Lemma 1 of Lee et al. squared."""
    A, B = X @ V, Y @ V
    within = sum(np.exp(-cdist(Z, Z, "sqeuclidean") / (2 * sigma**2)).mean() for Z in (A, B))
    return float(within - 2 * np.exp(-cdist(A, B, "sqeuclidean") / (2 * sigma**2)).mean())


def run(quick: bool = False) -> pd.DataFrame:
    """Measure and return one row for each method and size; `quick` takes two sizes."""
    rows: list[dict[str, object]] = []
    for n, p, d in ((700, 57, 2), (1582, 97, 10), (4000, 50, 10), (20000, 50, 10))[: 2 if quick else 4]:
        rng = np.random.default_rng(0)
        X, codes = rng.standard_normal((n, p)), (rng.random(n) < 0.4).astype(np.int64)
        X[codes == 1, :3] += 0.3
        V, sigma = np.linalg.qr(rng.standard_normal((p, d)))[0], float(np.sqrt(d))
        groups = X[codes == 0], X[codes == 1]
        terms = {
            "exact": WeightedRows.from_groups(X, codes),
            "fourier": FourierRows.from_groups(X, codes, d, 512, 0),
            "subsample": subsampled(X, codes, 512, 0),
        }
        h, gradient = terms["exact"].value_and_gradient(V, sigma)
        for name, term in terms.items():
            ours, theirs = best_of_each(
                lambda: term.value_and_gradient(V, sigma),  # noqa: B023
                lambda: n > 5000 or (closed_form(*groups, V, sigma), closed_form_value(*groups, V, sigma)),  # noqa: B023
                repeats=3 if quick else 10,
            )
            value, slope = term.value_and_gradient(V, sigma)
            rows.append({
                "n": n, "p": p, "d": d, "method": name, "kernel_ms": 1e3 * ours, "ratio": theirs / ours,
                "closed_form_ms": 1e3 * theirs, "value_error": abs(value - h) / h,
                "gradient_error": float(np.linalg.norm(slope - gradient) / np.linalg.norm(gradient)),
            })  # fmt: skip
    return pd.DataFrame(rows)

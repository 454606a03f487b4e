"""MMD² and its gradient: the package's kernel against the transcribed closed form and one-Gram NumPy versions.

Printed in one run: milliseconds per (value, gradient) on data of the papers' sizes and the ratios; scaling with the
number of threads, beside that of independent copies of the same work (`machine_speed_up`, the most that any program
can reach there); time and memory of one gradient at n = 50 000, d = 10, where the Gram matrix would need 20 GB;
the error of the two approximations beside their time.
"""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from timing import best_of_each, wall_seconds

from fairpca.solvers.mmd import FourierRows, WeightedRows, contrast_weights, subsampled

__all__ = ["closed_form", "closed_form_value", "lean_gram", "one_gram", "run"]

# The columns of `run`: kernel_ms is the package; closed_form_ms evaluates the paper's two formulas, the value (Lemma 1)
# and the gradient (section G), one after the other, as a line search does; shared_form_ms lets both share the three
# kernel matrices; one_gram_ms and lean_gram_ms are single-matrix versions. The ratios divide by kernel_ms.
Pair = tuple[float, np.ndarray]


def closed_form(X: np.ndarray, Y: np.ndarray, V: np.ndarray, sigma: float) -> Pair:
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


def one_gram(X: np.ndarray, c: np.ndarray, V: np.ndarray, sigma: float) -> Pair:
    """Return h and its gradient from one n × n kernel matrix and its Laplacian, the plain vectorised version."""
    Z = X @ V
    W = np.exp(-cdist(Z, Z, "sqeuclidean") / (2 * sigma**2)) * np.outer(c, c)
    laplacian = np.diag(W.sum(axis=1)) - W
    return float(W.sum()), (-2 / sigma**2) * (X.T @ (laplacian @ Z))


def lean_gram(X: np.ndarray, c: np.ndarray, V: np.ndarray, sigma: float) -> Pair:
    """Return the same from one matrix updated in place by BLAS products (the best we know in NumPy without tiles)."""
    Z = X @ V
    squares = np.einsum("ij,ij->i", Z, Z)
    K = Z @ Z.T
    K *= 2.0
    K -= squares[:, None]
    K -= squares[None, :]
    K *= 0.5 / sigma**2
    np.exp(K, out=K)
    s = K @ c
    slope = c[:, None] * (Z * s[:, None] - K @ (c[:, None] * Z))
    return float(c @ s), (-2 / sigma**2) * (X.T @ slope)


def best_of(call: Callable[[], object], repeats: int) -> float:
    """Return the smallest wall time of several calls in milliseconds (a first call is not counted)."""
    return 1e3 * best_of_each(call, repeats=repeats)[0]


def _data(n: int, p: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    codes = (rng.random(n) < 0.4).astype(np.int64)
    X[codes == 1, :3] += 0.3
    V = np.linalg.qr(rng.standard_normal((p, d)))[0]
    return X, codes, V, float(np.sqrt(d))


def _against_others(quick: bool) -> list[dict[str, object]]:
    sizes = [(700, 57), (1582, 97)] if quick else [(700, 57), (1582, 97), (1727, 30), (4000, 50)]
    rows: list[dict[str, object]] = []
    for n, p in sizes:
        for d in (2, 10):
            X, codes, V, sigma = _data(n, p, d)
            weights = contrast_weights(codes, 2)
            term = WeightedRows(X, weights)
            first, second = X[codes == 0], X[codes == 1]
            repeats = 5 if quick else 15
            ours = best_of(lambda: term.value_and_gradient(V, sigma), 2 * repeats)  # noqa: B023
            shared = best_of(lambda: closed_form(first, second, V, sigma), repeats)  # noqa: B023
            naive = shared + best_of(lambda: closed_form_value(first, second, V, sigma), repeats)  # noqa: B023
            gram = best_of(lambda: one_gram(X, weights[0], V, sigma), repeats)  # noqa: B023
            lean = best_of(lambda: lean_gram(X, weights[0], V, sigma), repeats)  # noqa: B023
            rows.append(
                {
                    "n": n,
                    "p": p,
                    "d": d,
                    "threads": 1,
                    "kernel_ms": ours,
                    "closed_form_ms": naive,
                    "shared_form_ms": shared,
                    "one_gram_ms": gram,
                    "lean_gram_ms": lean,
                    "over_closed_form": naive / ours,
                    "over_shared_form": shared / ours,
                    "over_one_gram": gram / ours,
                    "over_lean_gram": lean / ours,
                }
            )
    return rows


def _threads(quick: bool) -> list[dict[str, object]]:
    n = 6000 if quick else 30000
    rows: list[dict[str, object]] = []
    for d in (2, 10):
        X, codes, V, sigma = _data(n, 50, d)
        term = WeightedRows(X, contrast_weights(codes, 2))
        for threads in range(1, (os.cpu_count() or 1) + 1):
            with ThreadPoolExecutor(threads) as pool:
                single, shared, copies = best_of_each(
                    lambda: term.value_and_gradient(V, sigma),  # noqa: B023
                    lambda: term.value_and_gradient(V, sigma, threads),  # noqa: B023
                    # As many whole gradients at once, which share nothing: what the machine itself has to give.
                    lambda: list(pool.map(lambda _: term.value_and_gradient(V, sigma), range(threads))),  # noqa: B023
                    repeats=8,
                )
            rows.append(
                {
                    "n": n,
                    "p": 50,
                    "d": d,
                    "threads": threads,
                    "kernel_ms": 1e3 * shared,
                    "speed_up": single / shared,
                    "machine_speed_up": threads * single / copies,
                }
            )
    return rows


def _large() -> dict[str, object]:
    n, p, d = 50_000, 20, 10
    X, codes, V, sigma = _data(n, p, d)
    term = WeightedRows(X, contrast_weights(codes, 2))
    seconds = wall_seconds(lambda: term.value_and_gradient(V, sigma))
    tracemalloc.start()
    term.value_and_gradient(V, sigma)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "n": n,
        "p": p,
        "d": d,
        "threads": 1,
        "kernel_ms": 1e3 * seconds,
        "extra_MB": peak / 1e6,
        "gram_MB": 8 * n * n / 1e6,
    }


def _approximations(quick: bool) -> list[dict[str, object]]:
    X, codes, V, sigma = _data(5000 if quick else 20000, 50, 10)
    exact, slope = WeightedRows(X, contrast_weights(codes, 2)).value_and_gradient(V, sigma)
    rows: list[dict[str, object]] = []
    for size in (512, 4096):
        for name, term in (
            (f"fourier {size}", FourierRows.from_groups(X, codes, 10, size, 0)),
            (f"subsample {size}", subsampled(X, codes, size, 0)),
        ):
            start = perf_counter()
            value, gradient = term.value_and_gradient(V, sigma)
            rows.append(
                {
                    "n": len(X),
                    "p": 50,
                    "d": 10,
                    "threads": 1,
                    "approximation": name,
                    "kernel_ms": 1e3 * (perf_counter() - start),
                    "relative_error": abs(value - exact) / exact,
                    "gradient_error": float(np.linalg.norm(gradient - slope) / np.linalg.norm(slope)),
                }
            )
    return rows


def run(quick: bool = False) -> pd.DataFrame:
    """Measure and return one row a case; ratios above 1 mean that the kernel is faster."""
    rows = _against_others(quick) + _threads(quick) + _approximations(quick)
    if not quick:
        rows.append(_large())
    return pd.DataFrame(rows)


if __name__ == "__main__":
    print(run().to_string(float_format=lambda v: f"{v:.3g}", na_rep=""))

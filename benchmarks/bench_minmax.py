"""Fair PCA of Samadi et al.: the exact dual against EigOpt's method, multiplicative weights, an SDP solver and PCA.

One run and one thread, CPU seconds of this process, the median of several calls where a call is short. The problem is
given as second moments, computed before (the rows matter only for them and for scikit-learn's PCA, which gets rows).

* `eigh`: one full ``numpy.linalg.eigh`` of a matrix of the same size, the unit of the column `in_eighs`.
* `dual`: :func:`fairpca.solvers.minmax.solve_minmax`; `dual, path`: all dimensions with a shared basis.
* `eigopt`: the method of Shen et al. (2025), written out here: Brent's bounded scalar minimisation of the same dual,
  an eigenvalue subset at each point and the groups' full spectra before.
* `mw`: the paper's multiplicative weights on the moments, with the published scripts' steps and lengths.
* `sdp`: CVXPY with Clarabel and the linear programme (credit only: it does not finish at p = 1764).
* `sklearn PCA`: ``PCA(d)`` of scikit-learn on the rows.

`ratio` divides by the time of `dual` for the same data and d; above 1 means that `dual` is faster. `excess` is the
objective over the certified optimum, less one; `gap` the relative gap that a method certifies itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from threadpoolctl import threadpool_limits
from timing import median_seconds

from fairpca import GroupMoments
from fairpca.datasets import DataError, load, standardise
from fairpca.solvers import SolverResult
from fairpca.solvers.minmax import solve_minmax, solve_minmax_path, solve_minmax_sdp, solve_minmax_weights

__all__ = ["eigopt", "run"]


def eigopt(moments: np.ndarray, d: int) -> tuple[np.ndarray, float, int]:
    """Maximise the two-group dual by Brent's method, as Shen et al. (2025) do; return V, its largest loss, points."""
    p = moments.shape[1]
    best = np.array([np.linalg.eigvalsh(C)[-d:].sum() for C in moments])

    def negative_dual(t: float) -> float:
        w = eigh(t * moments[0] + (1 - t) * moments[1], eigvals_only=True, subset_by_index=(p - d, p - 1))
        return float(w.sum() - t * best[0] - (1 - t) * best[1])

    found = minimize_scalar(negative_dual, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-8})
    V = eigh(found.x * moments[0] + (1 - found.x) * moments[1], subset_by_index=(p - d, p - 1))[1]
    return V, float((best - np.einsum("ij,gij->g", V, moments @ V)).max()), found.nfev + 1


def tables(quick: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray, tuple[int, ...]]]:
    """Yield name, rows, membership of the first group, and dimensions; only small tables when `quick`."""
    credit = load("credit")
    (X,) = standardise(credit.X, ddof=1)
    yield "credit", X, np.asarray(credit.sensitive_features) == "low", (1, 3, 8) if quick else tuple(range(1, 21))
    rng = np.random.default_rng(0)
    for p in (60,) if quick else (100, 500):
        X = rng.standard_normal((4000, p)) @ (rng.standard_normal((p, p)) * 0.97 ** np.arange(p)[:, None])
        X[:1500] += 0.5 * rng.standard_normal((1500, p)) @ (rng.standard_normal((p, p)) * 0.95 ** np.arange(p)[:, None])
        yield f"synthetic p={p}", X, np.arange(4000) < 1500, (2, 10)
    if not quick:
        try:
            faces = load("lfw", dtype="float64")
        except DataError as missing:
            print(f"without the faces: {missing}")
        else:
            yield "lfw", faces.X / 255, np.asarray(faces.sensitive_features) == "female", (1, 2, 5, 10, 20)


def run(quick: bool = False) -> pd.DataFrame:
    """Return one row for each table, dimension and method, with seconds and what each method certifies."""
    with threadpool_limits(1):
        return pd.DataFrame({"data": name} | row for name, *table in tables(quick) for row in _compare(*table))


def _compare(X: np.ndarray, first: np.ndarray, dimensions: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    moments = GroupMoments.from_data(X, first)
    M, p, largest = moments.second_moments(), X.shape[1], max(dimensions)
    centred = X - moments.means[first.astype(int)]
    unit, _ = median_seconds(lambda: np.linalg.eigh(M[0] + M[1]))
    rows: list[dict[str, Any]] = [{"method": "eigh", "cpu_seconds": unit}]
    for d in dimensions:
        rows += ({"d": d} | row for row in _one_dimension(M, centred, d, d == largest))
    spent, path = median_seconds(lambda: solve_minmax_path(M, largest))
    row = {"d": f"1..{largest}", "method": "dual, path", "cpu_seconds": spent}
    rows.append(row | {"gap": max(r.relative_gap for r in path), "evaluations": sum(r.n_iter for r in path)})
    yield from ({"p": p} | row | {"in_eighs": row["cpu_seconds"] / unit} for row in rows)


def _one_dimension(M: np.ndarray, X: np.ndarray, d: int, last: bool) -> Iterator[dict[str, Any]]:
    from sklearn.decomposition import PCA

    small, faces = len(M[0]) <= 30, len(M[0]) > 1000
    eta, steps = (20.0 / d, 5) if faces else (1.0, 10)
    ours, exact = median_seconds(lambda: solve_minmax(M, d))
    rivals: dict[str, Callable[[], SolverResult]] = {
        "mw": lambda: solve_minmax_weights(M, d, variant="samadi2018_code", eta=eta, n_iter=steps)
    }
    if small and d in (1, 3, 8):
        rivals["sdp"] = lambda: solve_minmax_sdp(M, d)
    timed = {"dual": (ours, exact)} | {method: median_seconds(call) for method, call in rivals.items()}
    for method, (spent, result) in timed.items():
        row = {"method": method, "cpu_seconds": spent, "ratio": spent / ours, "gap": result.relative_gap}
        yield row | {"excess": result.objective / exact.objective - 1, "evaluations": result.n_iter}
    spent, (_, loss, points) = median_seconds(lambda: eigopt(M, d))
    row = {"method": "eigopt", "cpu_seconds": spent, "ratio": spent / ours, "evaluations": points}
    yield row | {"excess": loss / exact.objective - 1}
    if small or last:
        spent, _ = median_seconds(lambda: PCA(d).fit(X))
        yield {"method": "sklearn PCA", "cpu_seconds": spent, "ratio": spent / ours}

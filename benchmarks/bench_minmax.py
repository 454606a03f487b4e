"""Fair PCA of Samadi et al.: the exact dual against EigOpt's method, multiplicative weights, an SDP solver and PCA.

One run and one thread, CPU seconds of this process, the median of several calls where a call is short. The problem is
given as second moments, computed before (the rows matter only for them and for scikit-learn's PCA, which gets rows).

* `eigh`: one full ``numpy.linalg.eigh`` of a matrix of the same size, the unit of the column `in_eighs`.
* `dual`: :func:`fairpca.solvers.minmax.solve_minmax`; `dual, d=1..n`: the whole path with a shared basis.
* `eigopt`: the method of Shen et al. (2025), written out here: Brent's bounded scalar minimisation of the same dual,
  an eigenvalue subset at each point and the groups' full spectra before.
* `mw`: the paper's multiplicative weights on the moments, with the published scripts' steps and lengths.
* `sdp`: CVXPY with Clarabel and the linear programme (credit only: it does not finish at p = 1764).
* `sklearn PCA`: ``PCA(d)`` of scikit-learn on the rows.

`ratio` divides by the time of `dual` for the same data and d; above 1 means that `dual` is faster. `excess` is the
objective over the certified optimum, less one; `gap` the relative gap that a method certifies itself. `columns` is
the peak of memory beyond the moments, measured in another call by ``tracemalloc``, in units of p (d + 30) numbers.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from threadpoolctl import threadpool_limits
from timing import cpu_seconds

from fairpca import GroupMoments
from fairpca.solvers import SolverResult
from fairpca.solvers.minmax import solve_minmax, solve_minmax_path, solve_minmax_sdp, solve_minmax_weights

__all__ = ["Instance", "eigopt", "instances", "run"]


class Instance(NamedTuple):
    """One data set: rows of all groups (centred by group), two groups' moments, four groups' moments or None."""

    name: str
    rows: np.ndarray
    moments: np.ndarray
    four: np.ndarray | None
    dimensions: tuple[int, ...]
    d_max: int
    eta: Callable[[int], float]
    steps: int


def eigopt(moments: np.ndarray, d: int) -> tuple[np.ndarray, float, int]:
    """Maximise the two-group dual by Brent's method, as Shen et al. (2025) do; return V, its largest loss, points."""
    p = moments.shape[1]
    best = np.array([np.linalg.eigvalsh(C)[-d:].sum() for C in moments])
    points = 0

    def negative_dual(t: float) -> float:
        nonlocal points
        points += 1
        w = eigh(t * moments[0] + (1 - t) * moments[1], eigvals_only=True, subset_by_index=(p - d, p - 1))
        return float(w.sum() - t * best[0] - (1 - t) * best[1])

    t = float(minimize_scalar(negative_dual, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-8}).x)
    V = eigh(t * moments[0] + (1 - t) * moments[1], subset_by_index=(p - d, p - 1))[1]
    return V, float((best - np.einsum("ij,gij->g", V, moments @ V)).max()), points + 1


def instances(quick: bool) -> list[Instance]:
    """Load or make the data: credit, faces (when a copy is at hand), synthetic; only small ones when `quick`."""
    from fairpca.datasets import DataError, load, standardise

    credit = load("credit")
    (X,) = standardise(credit.X, ddof=1)
    low = np.asarray(credit.sensitive_features) == "low"
    dimensions = (1, 3, 8) if quick else tuple(range(1, 21))
    found = [_instance("credit", X, low, None, dimensions, 20, lambda d: 1.0, 10)]
    rng = np.random.default_rng(0)
    for p in (60,) if quick else (100, 500):
        X = rng.standard_normal((4000, p)) @ (rng.standard_normal((p, p)) * 0.97 ** np.arange(p)[:, None])
        X[:1500] += 0.5 * rng.standard_normal((1500, p)) @ (rng.standard_normal((p, p)) * 0.95 ** np.arange(p)[:, None])
        found.append(_instance(f"synthetic p={p}", X, np.arange(4000) < 1500, None, (2, 10), 10, lambda d: 1.0, 10))
    if not quick:
        try:
            faces = load("lfw", dtype="float64")
        except DataError as missing:
            print(f"without the faces: {missing}")
        else:
            X = faces.X / 255
            women = np.asarray(faces.sensitive_features) == np.unique(np.asarray(faces.sensitive_features))[0]
            bright = X.mean(axis=1) > np.median(X.mean(axis=1))
            found.append(_instance("lfw", X, women, bright, (1, 2, 5, 10, 20), 20, lambda d: 20.0 / d, 5))
    return found


def _instance(
    name: str,
    X: np.ndarray,
    first: np.ndarray,
    second: np.ndarray | None,
    dimensions: tuple[int, ...],
    d_max: int,
    eta: Callable[[int], float],
    steps: int,
) -> Instance:
    moments = GroupMoments.from_data(X, first)
    four = None if second is None else GroupMoments.from_data(X, np.column_stack((first, second))).second_moments()
    rows = X - moments.means[first.astype(int)]
    return Instance(name, rows, moments.second_moments(), four, dimensions, d_max, eta, steps)


def run(quick: bool = False) -> pd.DataFrame:
    """Compare the methods and return one row for each.

    Parameters
    ----------
    quick : bool, default=False
        Three dimensions of the credit data and a small synthetic problem only.

    Returns
    -------
    DataFrame
        Columns ``data, p, d, method, cpu_seconds, in_eighs, ratio, excess, gap, evaluations, columns``.
    """
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for instance in instances(quick):
            rows += _compare(instance)
    order = ["data", "p", "d", "method", "cpu_seconds", "in_eighs", "ratio", "excess", "gap", "evaluations", "columns"]
    return pd.DataFrame(rows)[order]


def _timed(call: Callable[[], Any], unit: float = 0.0) -> tuple[float, Any]:
    """Return the median CPU seconds of the calls that fit in about a quarter of a second, and what the last gave."""
    spent: list[float] = []
    while len(spent) < 2 or sum(spent) < max(0.25, 3 * unit):
        seconds, outcome = cpu_seconds(call)
        spent.append(seconds)
        if spent[-1] > 2:
            break
    return float(np.median(spent)), outcome


def _peak(call: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _compare(instance: Instance) -> list[dict[str, Any]]:
    M, p = instance.moments, instance.moments.shape[1]
    unit, _ = _timed(lambda: np.linalg.eigh(M[0] + M[1]))
    rows: list[dict[str, Any]] = [{"method": "eigh", "cpu_seconds": unit, "ratio": np.nan}]
    for d in instance.dimensions:
        rows += _one_dimension(instance, d, unit)
    spent, path = _timed(lambda: solve_minmax_path(M, instance.d_max), unit)
    worst, evaluations = max(r.relative_gap for r in path), sum(r.n_iter for r in path)
    dimensions = f"1..{instance.d_max}"
    rows.append(
        {"d": dimensions, "method": "dual, path", "cpu_seconds": spent, "gap": worst, "evaluations": evaluations}
    )
    four = instance.four
    if four is not None:
        spent, result = _timed(lambda: solve_minmax(four, 8, tol=1e-7))
        columns = _peak(lambda: solve_minmax(four, 8, tol=1e-7)) / (8 * p * 38)
        row = {"d": 8, "method": "dual, four groups", "cpu_seconds": spent, "columns": columns}
        rows.append(row | _certificate(result))
    return [{"data": instance.name, "p": p} | row | {"in_eighs": row["cpu_seconds"] / unit} for row in rows]


def _one_dimension(instance: Instance, d: int, unit: float) -> list[dict[str, Any]]:
    from sklearn.decomposition import PCA

    M, p = instance.moments, instance.moments.shape[1]
    ours, exact = _timed(lambda: solve_minmax(M, d), unit)
    columns = _peak(lambda: solve_minmax(M, d)) / (8 * p * (d + 30))
    rows: list[dict[str, Any]] = [{"method": "dual", "cpu_seconds": ours, "columns": columns} | _certificate(exact)]
    rows[0]["excess"] = 0.0
    spent, (_, loss, points) = _timed(lambda: eigopt(M, d), unit)
    rows.append({"method": "eigopt", "cpu_seconds": spent, "excess": loss / exact.objective - 1, "evaluations": points})
    eta, steps = instance.eta(d), instance.steps
    rivals: dict[str, Callable[[], SolverResult]] = {
        "mw": lambda: solve_minmax_weights(M, d, variant="samadi2018_code", eta=eta, n_iter=steps)
    }
    if p <= 30 and d in (1, 3, 8):
        rivals["sdp"] = lambda: solve_minmax_sdp(M, d)
    for method, call in rivals.items():
        spent, result = _timed(call, unit)
        row = {"method": method, "cpu_seconds": spent, "excess": result.objective / exact.objective - 1}
        rows.append(row | _certificate(result))
    if p <= 30 or d == max(instance.dimensions):
        spent, _ = _timed(lambda: PCA(d).fit(instance.rows))
        rows.append({"method": "sklearn PCA", "cpu_seconds": spent})
    return [{"d": d} | row | {"ratio": row["cpu_seconds"] / ours} for row in rows]


def _certificate(result: SolverResult) -> dict[str, Any]:
    return {"gap": result.relative_gap, "evaluations": result.n_iter}

"""Codes without linear information on the group: ours, LEACE, fairlearn, and power steps on very many columns.

One run and one thread, CPU seconds of this process for all that a user would wait for, from the rows on.

* `oblique`, `orthogonal`: :class:`fairpca.MeanFairPCA`. `ratio` divides by the time of `oblique` on the same data.
* `sklearn PCA`: what no method of the kind can undercut in error.
* `concept-erasure + PCA`: LEACE of the package of its authors (labels one-hot, double precision), then scikit-learn's
  PCA; without ``svd_tol`` and with its default, which is an absolute number.
* `CorrelationRemover + PCA`: fairlearn's, which needs the group when the code is used.
* `null space`: orthogonal mean matching as its paper describes it, with an explicit basis of the complement.

`error` is the share of variance that the reconstruction lacks, `leak` the largest correlation of a coordinate of the
code with membership, both on the rows of the fit.

The second half is about many columns: `moments` solves from the covariance, `wide` by products with the rows
(:class:`fairpca.WideRows`), `power steps` as fair streaming PCA of Lee et al. (2023) does: the block is multiplied by
the covariance, what must not be seen is projected out, and the block is made orthonormal, as many times as `wide` read
the rows; `power steps to 1e-6` until the error is that close to the optimum. There `excess` is the error over the best
one known, less one, and `passes` how often the rows were read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.linalg import eigh, null_space
from threadpoolctl import threadpool_limits
from timing import cpu_seconds

from fairpca import GroupMoments, MeanFairPCA, MinMaxFairPCA, WideRows

__all__ = ["power_steps", "run"]

_COMPONENTS = 10
_LONG = 30.0  # seconds after which the first call is no warm-up but the measurement
Maps = tuple[np.ndarray, np.ndarray]


def run(quick: bool = False) -> pd.DataFrame:
    """Compare the methods and return one row for each.

    Parameters
    ----------
    quick : bool, default=False
        Small tables, and three hundred columns where it is about many.

    Returns
    -------
    DataFrame
        Columns ``data, n, p, method, cpu_seconds, ratio, error, leak, excess, passes, certificate, note``.
    """
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for name, X, group in _tables(quick):
            rows += [{"data": name, "n": len(X), "p": X.shape[1]} | row for row in _compare(X, group)]
        for name, wide, group, dense in _wide_tables(quick):
            base = {"data": name, "n": wide.shape[0], "p": wide.shape[1]}
            rows += [base | row for row in _compare_wide(wide, group, dense)]
    names = ["data", "n", "p", "method", "cpu_seconds", "ratio", "error", "leak"]
    return pd.DataFrame(rows).reindex(columns=[*names, "excess", "passes", "certificate", "note"])


def _tables(quick: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    from fairpca.datasets import load, standardise

    for name in ("german", "adult"):
        data = load(name)
        (X,) = standardise(data.X, ddof=0)
        yield name, X, np.asarray(data.sensitive_features)
    rng = np.random.default_rng(0)
    for p in (60,) if quick else (300, 1000):
        n = 20 * p
        group = rng.integers(3, size=n)
        X = rng.standard_normal((n, p)) @ (rng.standard_normal((p, p)) * 0.98 ** np.arange(p)[:, None])
        yield f"synthetic, three groups, p={p}", X + rng.standard_normal((3, p))[group], group


def _compare(X: np.ndarray, group: np.ndarray) -> Iterator[dict[str, Any]]:
    labels, codes = np.unique(group, return_inverse=True)
    member = np.eye(len(labels))[codes]
    total = float(X.var(axis=0).sum())
    rivals: dict[str, Callable[[], Maps]] = {
        "oblique": lambda: _fitted(MeanFairPCA(_COMPONENTS, projection="oblique").fit(X, sensitive_features=codes), X),
        "orthogonal": lambda: _fitted(MeanFairPCA(_COMPONENTS).fit(X, sensitive_features=codes), X),
        "null space": lambda: _null_space(X, member),
        "sklearn PCA": lambda: _pca(X),
        "CorrelationRemover + PCA": lambda: _pca(_correlation_remover(X, member)),
        "concept-erasure + PCA": lambda: _pca(_leace(X, member, svd_tol=1e-300)),
        "concept-erasure + PCA, its default": lambda: _pca(_leace(X, member)),
    }
    unit = np.nan
    for method, call in rivals.items():
        try:
            seconds, (code, back) = _timed(call)
        except ImportError as missing:
            yield {"method": method, "note": f"not run: {missing.name}; pip install 'fairpca[bench]'"}
            continue
        unit = seconds if method == "oblique" else unit
        error = float(np.sum((X - back) ** 2) / len(X) / total)
        yield {"method": method, "cpu_seconds": seconds, "ratio": seconds / unit, "error": error} | {
            "leak": _leak(code, member)
        }


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the median CPU seconds of some calls, after one that imports and warms up; of one where that is long."""
    first, outcome = cpu_seconds(call)
    spent = [first] if first >= _LONG else []
    while len(spent) < 3 and sum(spent) < 4.0:
        seconds, outcome = cpu_seconds(call)
        spent.append(seconds)
    return float(np.median(spent)), outcome


def _leak(code: np.ndarray, member: np.ndarray) -> float:
    code, member = code - code.mean(axis=0), member - member.mean(axis=0)
    sizes = np.multiply.outer(np.linalg.norm(code, axis=0), np.linalg.norm(member, axis=0))
    return float(np.abs(code.T @ member / sizes).max())


def _fitted(model: Any, X: np.ndarray) -> Maps:
    code = model.transform(X)
    return code, model.inverse_transform(code)


def _pca(X: np.ndarray) -> Maps:
    from sklearn.decomposition import PCA

    return _fitted(PCA(_COMPONENTS, svd_solver="covariance_eigh").fit(X), X)


def _null_space(X: np.ndarray, member: np.ndarray) -> Maps:
    centred = X - X.mean(axis=0)
    R = null_space((member - member.mean(axis=0)).T @ centred)
    V = R @ eigh(R.T @ (centred.T @ centred) @ R)[1][:, -_COMPONENTS:]
    code = centred @ V
    return code, code @ V.T + X.mean(axis=0)


def _correlation_remover(X: np.ndarray, member: np.ndarray) -> np.ndarray:
    from fairlearn.preprocessing import CorrelationRemover

    q = member.shape[1] - 1
    return CorrelationRemover(sensitive_feature_ids=list(range(q))).fit_transform(np.column_stack((member[:, :q], X)))


def _leace(X: np.ndarray, member: np.ndarray, **options: Any) -> np.ndarray:
    import torch
    from concept_erasure import LeaceEraser

    torch.set_num_threads(1)
    rows = torch.from_numpy(X)
    return LeaceEraser.fit(rows, torch.from_numpy(member), **options)(rows).numpy()  # type: ignore[no-any-return]


# --------------------------------------------------------------------------------------------------------------------
# Very many columns


def _wide_tables(quick: bool) -> Iterator[tuple[str, Any, np.ndarray, bool]]:
    """Name, rows, groups, and whether the covariance is computed too."""
    rng = np.random.default_rng(1)
    n, p = (400, 300) if quick else (4000, 5000)
    group = rng.integers(2, size=n)
    X = rng.standard_normal((n, 30)) @ rng.standard_normal((30, p)) * np.geomspace(2, 0.5, p)
    yield f"dense, p={p}", X + rng.standard_normal((n, p)) + 0.2 * np.outer(group, rng.standard_normal(p)), group, True
    n, p = (400, 1000) if quick else (20_000, 100_000)
    group = rng.integers(2, size=n)
    counts = sparse.random_array((n, p), density=0.002, format="csr", rng=rng, data_sampler=rng.standard_exponential)
    topics = sparse.random_array((p, 30), density=0.01, format="csc", rng=rng)
    member = sparse.random_array((n, 30), density=0.02, format="csr", rng=rng)
    rows = sparse.csr_array(counts + 2.0 * (member @ topics.T))
    yield f"sparse, p={p}", rows, group, False


def _compare_wide(X: Any, group: np.ndarray, dense: bool) -> Iterator[dict[str, Any]]:
    for estimator in (MeanFairPCA(_COMPONENTS), MinMaxFairPCA(_COMPONENTS)):
        start = process_time()
        rows = WideRows(X, group)
        model = estimator.fit(rows)
        unit, result = process_time() - start, model.result_
        name = type(estimator).__name__
        found = {"method": f"{name}, wide", "cpu_seconds": unit, "ratio": 1.0, "passes": rows.n_passes}
        found |= {"certificate": result.certificate, "note": f"relative gap {result.relative_gap:.0e}"}
        if not dense:
            yield found
        else:
            seconds, fitted = cpu_seconds(lambda: estimator.fit(GroupMoments.from_data(X, group)))  # noqa: B023
            exact = fitted.result_
            yield found | {"excess": result.objective / exact.objective - 1.0}
            yield {
                "method": f"{name}, moments",
                "cpu_seconds": seconds,
                "ratio": seconds / unit,
                "excess": 0.0,
                "passes": 1,
                "certificate": exact.certificate,
            }
        if isinstance(estimator, MeanFairPCA):
            best = exact.objective if dense else result.objective
            yield from _power(X, group, model.excluded_.T, rows.n_passes, best, unit)


def _power(X: Any, group: np.ndarray, Q: np.ndarray, passes: int, best: float, unit: float) -> Iterator[dict[str, Any]]:
    for method, limit in (("power steps", passes), ("power steps to 1e-6", 120)):
        start = process_time()
        rows = WideRows(X, group)
        wanted = -np.inf if method == "power steps" else 1e-6
        error, _ = power_steps(rows, Q, _COMPONENTS, limit - rows.n_passes, best, wanted)
        seconds = process_time() - start
        yield {
            "method": method,
            "cpu_seconds": seconds,
            "ratio": seconds / unit,
            "excess": error / best - 1.0,
            "passes": rows.n_passes,
            "note": "" if error / best - 1.0 <= max(wanted, 0.0) or method == "power steps" else "not reached",
        }


def power_steps(rows: WideRows, Q: np.ndarray, k: int, limit: int, best: float, wanted: float) -> tuple[float, int]:
    """Power iteration with the directions `Q` projected out in each step, as fair streaming PCA is described.

    Parameters
    ----------
    rows : WideRows
        Products with the covariance.
    Q : ndarray of shape (p, r)
        Orthonormal, what must not be seen.
    k : int
        Dimension.
    limit : int
        Steps, each a pass.
    best : float
        Least error that is known.
    wanted : float
        Relative excess over `best` at which to stop.

    Returns
    -------
    (float, int)
        Reconstruction error and steps taken.
    """
    total = float(rows.variances.sum())
    V = np.random.default_rng(0).standard_normal((rows.n_features, k))
    V = np.linalg.qr(V - Q @ (Q.T @ V))[0]
    error, step = np.inf, 0
    while step < limit:
        image = rows.covariance_product(V)
        step += 1
        error = total - float(np.vdot(V, image))
        if error / best - 1.0 <= wanted:
            break
        V = np.linalg.qr(image - Q @ (Q.T @ image))[0]
    return error, step

"""Codes without linear information on the group: ours, LEACE and fairlearn, with one thread.

Times are CPU seconds of this process for all that a user would wait for, from the rows on.

* `oblique`, `orthogonal`: :class:`fairpca.MeanFairPCA`. `ratio` divides by the time of `oblique` on the same data.
* `sklearn PCA`: what no method of the kind can undercut in error.
* `concept-erasure + PCA`: LEACE of the package of its authors (labels one-hot, double precision), then scikit-learn's
  PCA; without ``svd_tol`` and with its default, which is an absolute number.
* `CorrelationRemover + PCA`: fairlearn's, which needs the group when the code is used.
* `null space`: orthogonal mean matching as its paper describes it, with an explicit basis of the complement.
* `rows`: orthogonal mean matching by products with the rows (:class:`fairpca.WideRows`), without a covariance.

`error` is the share of variance that the reconstruction lacks, `leak` the largest correlation of a coordinate of the
code with membership, both on the rows of the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import eigh, null_space
from threadpoolctl import threadpool_limits
from timing import median_seconds

from fairpca import MeanFairPCA, WideRows
from fairpca.datasets import load, standardise

__all__ = ["run"]

_COMPONENTS = 10
Maps = tuple[np.ndarray, np.ndarray]


def run(quick: bool = False) -> pd.DataFrame:
    """Return one row for each table and method; `quick` takes a small table for the wide ones."""
    with threadpool_limits(1):
        return pd.DataFrame(
            {"data": name, "n": len(X), "p": X.shape[1]} | row
            for name, X, group in _tables(quick)
            for row in _compare(X, group)
        )


def _tables(quick: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    for name in ("german", "adult"):
        data = load(name)
        (X,) = standardise(data.X, ddof=0)
        yield name, X, np.asarray(data.sensitive_features)
    rng = np.random.default_rng(0)
    for p in (60,) if quick else (300, 1000):
        group = rng.integers(3, size=20 * p)
        X = rng.standard_normal((20 * p, p)) @ (rng.standard_normal((p, p)) * 0.98 ** np.arange(p)[:, None])
        yield f"synthetic, three groups, p={p}", X + rng.standard_normal((3, p))[group], group


def _compare(X: np.ndarray, group: np.ndarray) -> Iterator[dict[str, Any]]:
    labels, codes = np.unique(group, return_inverse=True)
    member = np.eye(len(labels))[codes]
    rivals: dict[str, Callable[[], Maps]] = {
        "oblique": lambda: _fitted(MeanFairPCA(_COMPONENTS, projection="oblique").fit(X, sensitive_features=codes), X),
        "orthogonal": lambda: _fitted(MeanFairPCA(_COMPONENTS).fit(X, sensitive_features=codes), X),
        "rows": lambda: _fitted(MeanFairPCA(_COMPONENTS).fit(WideRows(X, codes)), X),
        "null space": lambda: _null_space(X, member),
        "sklearn PCA": lambda: _pca(X),
        "CorrelationRemover + PCA": lambda: _pca(_correlation_remover(X, member)),
        "concept-erasure + PCA": lambda: _pca(_leace(X, member, svd_tol=1e-300)),
        "concept-erasure + PCA, its default": lambda: _pca(_leace(X, member)),
    }
    unit = np.nan
    for method, call in rivals.items():
        try:
            seconds, (code, back) = median_seconds(call, enough=4.0, long=30.0)
        except ImportError as missing:
            yield {"method": method, "note": f"not run: {missing.name}; pip install 'fairpca[bench]'"}
            continue
        unit = seconds if method == "oblique" else unit
        error = float(np.mean((X - back) ** 2) / np.mean((X - X.mean(axis=0)) ** 2))
        leak = np.abs(np.corrcoef(code.T, member.T)[:_COMPONENTS, _COMPONENTS:]).max()
        yield {"method": method, "cpu_seconds": seconds, "ratio": seconds / unit, "error": error, "leak": leak}


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

    rows = torch.from_numpy(X)
    return LeaceEraser.fit(rows, torch.from_numpy(member), **options)(rows).numpy()  # type: ignore[no-any-return]

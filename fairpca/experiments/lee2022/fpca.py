"""Versions of FPCA's program in Lee et al. (2022) compared, and Figure 6.

The program behind Table 1 is the method "fpca" of ``lee2022/table1``; here are the others, by the same protocols.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from fairpca.experiments.engine.runner import Cell, Profile, register, tidy

from fairpca.datasets import load
from fairpca.experiments.lee2022._protocol import FPCA_METHODS, PROTOCOLS, Split, fit_fpca, fit_mbf, named, tolerance
from fairpca.experiments.lee2022.table1 import DIAGNOSIS, diagnosis
from fairpca.linalg import symmetrise

__all__ = ["VERSIONS", "eigenvector_variances", "random_null_variances", "run_figure_6", "run_fpca"]

VERSIONS = tuple(method for method in FPCA_METHODS if method != "fpca")
PRINTED = ("pct_var", "pct_acc", "mmd2", "delta_dp")
_TIED = 1e-5


def run_fpca(*, dataset: str, split: int, method: str, setting: str, d: int) -> dict[str, Any]:
    """Compute one cell by both protocols, with the certificate and the diagnosis of the subspace."""
    data = Split.load(dataset, split, d)
    values: dict[str, Any] = {}
    for protocol in PROTOCOLS:
        model = fit_fpca(data.train, method=method, setting=setting, d=d, protocol=protocol)
        score = data.score(model.components_.T, protocol)
        values |= named({name: score[name] for name in PRINTED}, protocol)
        if protocol == "printed":
            values |= diagnosis(model)
    return values


def _table_cells(profile: Profile) -> Iterable[Cell]:
    splits = range(10) if profile == "paper" else range(1)
    datasets = ("compas", "german", "adult") if profile == "paper" else ("compas",)
    return [
        Cell(dataset=dataset, split=split, method=method, setting=setting, d=d)
        for dataset in datasets
        for d in (2, 10)
        for setting in ("delta=0.1", "delta=0")
        for method in VERSIONS
        for split in splits
    ]


def _tabulate_table(cells: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for protocol in PROTOCOLS:
        part = cells.rename(columns={f"{metric}:{protocol}": metric for metric in PRINTED})
        parts.append(tidy(part, PRINTED, protocol=protocol))
    parts.append(tidy(cells, DIAGNOSIS, protocol="printed"))
    return pd.concat(parts, ignore_index=True)


def eigenvector_variances(P: np.ndarray, S: np.ndarray, X: np.ndarray) -> pd.DataFrame:
    """Return the share of the variance of `X` along each eigenvector of `P`, in the order of the eigenvalues.

    Inside eigenvalues that are equal to 1e-5, P does not say which basis is meant; the principal axes of `S` are taken,
    so that the result is reproducible. That includes the eigenvalue 0.

    Parameters
    ----------
    P : ndarray of shape (p, p)
        Relaxed solution.
    S : ndarray of shape (p, p)
        Second moment of the training part.
    X : ndarray of shape (n, p)
        Where the variance is measured (the test part in Figure 6).

    Returns
    -------
    DataFrame
        Columns ``index`` (from 1), ``eigenvalue``, ``pct_var``.
    """
    w, U = np.linalg.eigh(P)
    w, U = np.clip(w[::-1], 0.0, None), U[:, ::-1].copy()
    start = 0
    for stop in range(1, len(w) + 1):
        if stop < len(w) and w[stop - 1] - w[stop] <= _TIED:
            continue
        E = U[:, start:stop]
        U[:, start:stop] = E @ np.linalg.eigh(symmetrise(E.T @ S @ E))[1][:, ::-1]
        start = stop
    C = np.cov(X.T, bias=True)
    shares = 100.0 * np.sum(U * (C @ U), axis=0) / np.trace(C)
    return pd.DataFrame({"index": np.arange(1, len(w) + 1), "eigenvalue": w, "pct_var": shares})


def random_null_variances(P: np.ndarray, X: np.ndarray, *, random_state: int = 0) -> np.ndarray:
    """Return the share of the variance of `X` along a random basis of the null space of `P`, in percent.

    It is as good a basis as any, which is why the end of Figure 6 has no meaning.
    """
    w, U = np.linalg.eigh(P)
    null = U[:, w <= _TIED]
    turn = np.linalg.qr(np.random.default_rng(random_state).standard_normal((null.shape[1],) * 2))[0]
    centred = X - X.mean(axis=0)
    return 100.0 * np.sum((centred @ null @ turn) ** 2, axis=0) / np.sum(centred**2)


def run_figure_6(*, dataset: str, split: int, method: str, setting: str, d: int) -> list[dict[str, Any]]:
    """Return eigenvalue and explained test variance of each eigenvector of FPCA's P* for one split."""
    train, test = load(dataset, split=split)
    model = fit_fpca(train, method=method, setting=setting, d=d, protocol="printed")
    S = np.cov(train.X.T, bias=True)
    return _records(eigenvector_variances(model.result_.extra["P"], S, test.X))


def run_figure_6_mbf(*, dataset: str, split: int, method: str, setting: str, d: int) -> list[dict[str, Any]]:
    """Return the same for P = VV' of MBF-PCA, whose eigenvalues are one and zero whatever solver finds it."""
    train, test = load(dataset, split=split)
    model = fit_mbf(train.X, train.sensitive_features, method=method, tau=tolerance(setting), d=d)
    V = model.components_.T
    return _records(eigenvector_variances(V @ V.T, np.cov(train.X.T, bias=True), test.X))


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {"index": int(i), "eigenvalue": float(w), "pct_var": float(v)}
        for i, w, v in zip(table["index"], table["eigenvalue"], table["pct_var"], strict=True)
    ]


def _figure_cells(profile: Profile) -> Iterable[Cell]:
    splits = range(10) if profile == "paper" else range(1)
    settings = (("fpca", "delta=0"), ("mbfpca", "tau=1e-3"))
    return [
        Cell(dataset="german", split=split, method=method, setting=setting, d=10)
        for method, setting in settings
        for split in splits
    ]


def _tabulate_figure(cells: pd.DataFrame) -> pd.DataFrame:
    return tidy(cells, ("eigenvalue", "pct_var"), by=("dataset", "method", "setting", "d", "index"))


register(
    "lee2022/fpca",
    cells=_table_cells,
    run_cell=run_fpca,
    tabulate=_tabulate_table,
    title="Other versions of FPCA's program, in the settings of Table 1",
)
register(
    "lee2022/fig6",
    cells=_figure_cells,
    run_cell={"fpca": run_figure_6, "mbfpca": run_figure_6_mbf},
    tabulate=_tabulate_figure,
    title="Figure 6: variance explained by each eigenvector of P*",
)

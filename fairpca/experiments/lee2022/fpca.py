"""FPCA in Lee et al. (2022): its rows of Table 1, the versions of the program compared, and Figure 6.

"As printed" is what the authors' programs do: the first row of each training part is lost (it was read as a header),
the bandwidth is the square root of half the median squared distance, and the classifier is fitted on the test part it
is scored on. "As stated" is the text: all rows, the median distance, the classifier fitted on the training part.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairpca import FPCA, MBFPCA, PCA
from fairpca.datasets import Dataset, load
from fairpca.experiments.engine.runner import Cell, Profile, register, tidy
from fairpca.linalg import symmetrise
from fairpca.metrics import (
    explained_variance_percent,
    median_bandwidth,
    mmd_squared,
    rbf_svm_report,
)

__all__ = ["FPCA_METHODS", "eigenvector_variances", "fit_fpca", "random_null_variances", "run_figure_6", "run_fpca"]

# What each method of the comparison is. mu is doubled with one slack variable, so that both inequalities together
# weigh the same as with two.
FPCA_METHODS: dict[str, dict[str, Any]] = {
    "fpca": {"variant": "lee2022_code", "mu": 0.01},
    "fpca_one_slack": {
        "variant": "printed",
        "mu": 0.02,
        "options": {"standardise": True, "scale": "norm", "trace": "equal"},
    },
    "fpca_eq14": {"variant": "printed", "mu": 0.01},
    "fpca_vu": {"variant": "vu2022_code", "mu": 0.01},
}
PRINTED = ("pct_var", "pct_acc", "mmd2", "delta_dp")
_SETTINGS = {"delta=0": 0.0, "delta=0.1": 0.1}
_TIED = 1e-5
_PROTOCOLS: tuple[tuple[Literal["printed", "stated"], bool, Literal["code", "median"]], ...] = (
    ("printed", True, "code"),
    ("stated", False, "median"),
)


def fit_fpca(train: Dataset, *, method: str, setting: str, d: int, drop_first_row: bool = False) -> FPCA:
    """Fit one of `FPCA_METHODS` on a training part; subspaces that ties leave open are recorded, not warned of."""
    rows = slice(1, None) if drop_first_row else slice(None)
    model = FPCA(d, delta=_SETTINGS[setting], **FPCA_METHODS[method])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*hardly (determined|acts)", UserWarning)
        return model.fit(train.X[rows], sensitive_features=train.sensitive_features[rows])


def run_fpca(*, dataset: str, split: int, method: str, setting: str, d: int) -> dict[str, Any]:
    """Compute one cell of Table 1 by both protocols, with the certificate and the diagnosis of the subspace."""
    train, test = load(dataset, split=split)
    Z_pca = train.X @ PCA(d).fit(train.X, sensitive_features=train.sensitive_features).components_.T
    values: dict[str, Any] = {}
    for protocol, drop, rule in _PROTOCOLS:
        model = fit_fpca(train, method=method, setting=setting, d=d, drop_first_row=drop)
        # The authors multiply their (already standardised) files by V without standardising them again.
        V = model.components_.T
        Z = test.X @ V
        report = rbf_svm_report(Z, test.y, test.sensitive_features, train.X @ V, train.y, protocol=protocol)
        sigma = median_bandwidth(Z_pca, rule)
        values |= {
            f"pct_var:{protocol}": explained_variance_percent(test.X, V),
            f"mmd2:{protocol}": mmd_squared(Z, test.sensitive_features, sigma=sigma),
            f"pct_acc:{protocol}": report.accuracy,
            f"delta_dp:{protocol}": report.dp,
        }
        if protocol == "printed":
            extra = model.result_.extra
            values |= {
                name: extra[name]
                for name in ("mean_gap", "covariance_gap", "spread", "eigengap", "rank", "kappa", "relative_gap")
            }
            values |= {"objective": model.result_.objective, "iterations": model.result_.n_iter}
            values["seconds"] = model.result_.seconds
    return {name: float(value) for name, value in values.items()}


def _table_cells(profile: Profile) -> Iterable[Cell]:
    splits = range(10) if profile == "paper" else range(1)
    datasets = ("compas", "german", "adult") if profile == "paper" else ("compas",)
    return [
        Cell(dataset=dataset, split=split, method=method, setting=setting, d=d)
        for dataset in datasets
        for d in (2, 10)
        for setting in ("delta=0.1", "delta=0")
        for method in FPCA_METHODS
        for split in splits
    ]


def _tabulate_table(cells: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for protocol in ("printed", "stated"):
        named = cells.rename(columns={f"{metric}:{protocol}": metric for metric in PRINTED})
        parts.append(tidy(named, PRINTED, protocol=protocol))
    diagnosis = ("mean_gap", "covariance_gap", "spread", "eigengap", "rank", "kappa", "relative_gap", "iterations")
    parts.append(tidy(cells, diagnosis, protocol="printed"))
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
    model = fit_fpca(train, method=method, setting=setting, d=d, drop_first_row=True)
    S = np.cov(train.X.T, bias=True)
    return _records(eigenvector_variances(model.result_.extra["P"], S, test.X))


def run_figure_6_mbf(*, dataset: str, split: int, method: str, setting: str, d: int) -> list[dict[str, Any]]:
    """Return the same for P = VV' of MBF-PCA, whose eigenvalues are one and zero."""
    train, test = load(dataset, split=split)
    tau = {"tau=1e-3": 1e-3}[setting]
    V = MBFPCA(d, tau=tau, random_state=0).fit(train.X, sensitive_features=train.sensitive_features).components_.T
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
    title="FPCA rows of Table 1, and the three versions of the program",
)
register(
    "lee2022/fig6",
    cells=_figure_cells,
    run_cell={"fpca": run_figure_6, "mbfpca": run_figure_6_mbf},
    tabulate=_tabulate_figure,
    title="Figure 6: variance explained by each eigenvector of P*",
)

"""Table 1 of Lee et al. (2022), all 120 cells, and the loadings that the communalities and biplots are made of.

"As printed" is what the authors' programs do: the bandwidth is the square root of half the median squared distance,
FPCA loses the first training row, and the classifier is fitted on the test part it is scored on. "As stated" is the
text: the median distance, all rows, the classifier fitted on the training part.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import partial
from time import process_time
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from fairpca import MBFPCA, PCA
from fairpca.datasets import Dataset, load
from fairpca.experiments.engine.runner import Cell, Profile, register, tidy
from fairpca.experiments.lee2022.fpca import fit_fpca
from fairpca.metrics import (
    communality,
    explained_variance_percent,
    median_bandwidth,
    mmd_permutation_test,
    mmd_squared,
    rbf_svm_report,
)

__all__ = ["METRICS", "PROTECTED", "TAUS", "evaluate"]

Protocol = Literal["printed", "stated"]

METRICS = ("pct_var", "pct_acc", "mmd2", "delta_dp", "delta_eop", "delta_eod")
PROTOCOLS: tuple[Protocol, ...] = ("printed", "stated")
RULES: dict[Protocol, Literal["code", "median"]] = {"printed": "code", "stated": "median"}
TAUS = {"tau=1e-3": 1e-3, "tau=1e-6": 1e-6}

# The feature that holds the protected attribute itself.
PROTECTED = {"compas": 1, "german": 4, "adult": 2}

_PERMUTATIONS = 500


def evaluate(train: Dataset, test: Dataset, V: np.ndarray, protocol: Protocol, seed: int) -> dict[str, Any]:
    """Score a subspace as Table 1 does, by one protocol, with the permutation null of the printed MMD².

    The bandwidth comes from the training part's ordinary PCA of the same dimension, for every method.
    """
    d = V.shape[1]
    reference = PCA(d).fit(train.X, sensitive_features=train.sensitive_features).components_.T
    sigma = median_bandwidth(train.X @ reference, RULES[protocol])
    Z, Z_train = test.X @ V, train.X @ V
    report = rbf_svm_report(Z, test.y, test.sensitive_features, Z_train, train.y, protocol=protocol)
    null = mmd_permutation_test(
        Z, test.sensitive_features, sigma, n_permutations=_PERMUTATIONS, random_state=np.random.RandomState(seed)
    )
    values = {
        "pct_var": explained_variance_percent(test.X, V),
        "pct_acc": report.accuracy,
        "mmd2": null.value,
        "delta_dp": report.dp,
        "delta_eop": report.eop,
        "delta_eod": report.eod,
        "null_mean": float(np.mean(null.null)),
        "null_95": float(np.quantile(null.null, 0.95)),
        "p_value": null.p_value,
        "train_pct_var": explained_variance_percent(train.X, V),
        "train_mmd2": mmd_squared(Z_train, train.sensitive_features, sigma),
    }
    return {f"{name}:{protocol}": float(value) for name, value in values.items()}


def _finish(
    train: Dataset, test: Dataset, bases: dict[Protocol, np.ndarray], dataset: str, cell_seed: int, **extra: Any
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for protocol, V in bases.items():
        values |= evaluate(train, test, V, protocol, cell_seed)
    V = bases["printed"]
    return {
        **values,
        "communality": float(np.asarray(communality(V, PROTECTED[dataset]))),
        **extra,
        "V": V.T,
    }


def run_pca(*, dataset: str, split: int, method: str, setting: str, d: int, cell_seed: int) -> dict[str, Any]:
    """Compute a cell of ordinary PCA."""
    train, test = load(dataset, split=split)
    V = PCA(d).fit(train.X, sensitive_features=train.sensitive_features).components_.T
    return _finish(train, test, dict.fromkeys(PROTOCOLS, V), dataset, cell_seed)


def run_fpca(*, dataset: str, split: int, method: str, setting: str, d: int, cell_seed: int) -> dict[str, Any]:
    """Compute a cell of FPCA with the settings of Table 1."""
    train, test = load(dataset, split=split)
    bases: dict[Protocol, np.ndarray] = {}
    for protocol in PROTOCOLS:
        model = fit_fpca(train, method="fpca", setting=setting, d=d, drop_first_row=protocol == "printed")
        bases[protocol] = model.components_.T
    return _finish(train, test, bases, dataset, cell_seed)


def _fit_mbf(train: Dataset, d: int, tau: float, **options: Any) -> tuple[MBFPCA, float]:
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the status is recorded
        model = MBFPCA(d, tau=tau, random_state=0, **options)
        model.fit(train.X, sensitive_features=train.sensitive_features)
    return model, process_time() - start


def run_mbf(
    solver: Literal["continuation", "repms"],
    *,
    dataset: str,
    split: int,
    method: str,
    setting: str,
    d: int,
    cell_seed: int,
) -> dict[str, Any]:
    """Compute a cell of MBF-PCA.

    The printed protocol has the published code's bandwidth. The package's own solver takes as many starts as its
    rule asks for, in both protocols. For the paper's algorithm the package's solution at the *same* training MMD² is
    added, so that nobody takes a looser solution for a better one.
    """
    train, test = load(dataset, split=split)
    tau = TAUS[setting]
    fitted, seconds = _fit_mbf(train, d, tau, solver=solver)
    bases: dict[Protocol, np.ndarray] = {"printed": fitted.components_.T}
    extra: dict[str, Any] = {
        "feasible": float(fitted.mmd2_ <= tau),
        "evaluations": float(fitted.result_.extra["n_evaluations"]),
        "seconds": seconds,
        "starts": float(fitted.result_.extra["n_starts"]),
        "kkt_residual": fitted.result_.extra["kkt_residual"],
    }
    if solver == "continuation":
        bases["stated"] = _fit_mbf(train, d, tau, bandwidth="median")[0].components_.T
    elif fitted.mmd2_ <= tau:
        matched, _ = _fit_mbf(train, d, float(fitted.mmd2_))
        if matched.mmd2_ <= fitted.mmd2_:
            difference = matched.result_.extra["variance_ratio"] - fitted.result_.extra["variance_ratio"]
            extra["matched_difference"] = 100.0 * float(difference)
    return _finish(train, test, bases, dataset, cell_seed, **extra)


def _cells(profile: Profile) -> Iterable[Cell]:
    datasets, splits = (("compas", "german", "adult"), range(10)) if profile == "paper" else (("german",), range(1))
    settings = {
        "pca": ("",),
        "fpca": ("delta=0.1", "delta=0"),
        "mbfpca": tuple(TAUS),
        "mbfpca_paper": tuple(TAUS),
    }
    return [
        Cell(dataset=dataset, split=split, method=method, setting=setting, d=d)
        for dataset in datasets
        for d in ((2, 10) if profile == "paper" else (2,))
        for method, choices in settings.items()
        for setting in choices
        for split in splits
    ]


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for protocol in PROTOCOLS:
        names = [*METRICS, "null_mean", "null_95", "train_pct_var", "train_mmd2"]
        named = cells.rename(columns={f"{name}:{protocol}": name for name in names})
        if protocol == "stated":
            named = named[named["method"] != "mbfpca_paper"]
        parts.append(tidy(named, names, protocol=protocol))
    solver = cells[cells["method"].isin(["mbfpca", "mbfpca_paper"])]
    parts.append(
        tidy(
            solver,
            ["feasible", "evaluations", "seconds", "starts", "kkt_residual", "matched_difference"],
            protocol="printed",
        )
    )
    parts.append(tidy(cells, ["communality"], protocol="printed"))
    return pd.concat(parts, ignore_index=True)


register(
    "lee2022/table1",
    cells=_cells,
    run_cell={
        "pca": run_pca,
        "fpca": run_fpca,
        "mbfpca": partial(run_mbf, "continuation"),
        "mbfpca_paper": partial(run_mbf, "repms"),
    },
    tabulate=_tabulate,
    title="Table 1: PCA, FPCA and MBF-PCA on ten splits of three data sets",
)

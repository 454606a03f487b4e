"""Figures 1, 3 and 4 of Samadi et al. (2018): errors and losses of both groups under PCA and fair PCA.

There are three readings, which differ in the mean that is subtracted.

* ``text``: as the text says (Section 6), one common mean of all rows, and the exact optimum of Definition 4.4.
* ``stated``: what the scripts attempt, each group's own mean, and the exact optimum.
* ``printed``: what the scripts do. On the credit data a loop centres only the first rows of each group. Fair PCA comes
  from multiplicative weights with the scripts' step and number of rounds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import cache
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from fairpca import PCA, GroupMoments, MinMaxFairPCA
from fairpca.datasets import load, standardise
from fairpca.experiments.engine.runner import Cell, Profile, register
from fairpca.linalg import top_eigenpairs
from fairpca.metrics import average_reconstruction_error, reconstruction_errors

__all__ = [
    "credit_moments",
    "credit_rows",
    "drawn_faces",
    "faces_moments",
    "faces_rows",
    "fit_script",
    "half_centred",
    "pca_errors",
    "run_figure_1",
    "run_figures_3_and_4",
    "script",
    "script_parameters",
]

CREDIT_DIMENSIONS = {"21 columns": 21, "22 columns": 22}
FACES_DIMENSION = 20
Centering = Literal["group", "none", "overall"]
# What the readings subtract; as printed, the credit data are an exception.
CENTERING: dict[str, Centering] = {"text": "overall", "stated": "group", "printed": "group"}
_KEYS = ("dataset", "method", "setting", "d", "metric", "protocol")


@cache
def faces_rows() -> tuple[np.ndarray, np.ndarray]:
    """Return the faces with pixels from 0 to 1, and the sex of each; kept for the life of the process."""
    data = load("lfw")
    return data.X / 255.0, np.asarray(data.sensitive_features).astype(str)


@cache
def faces_moments() -> GroupMoments:
    """Return the moments of the faces by sex."""
    return GroupMoments.from_data(*faces_rows())


@cache
def credit_rows(columns: str = "21 columns") -> tuple[np.ndarray, np.ndarray]:
    """Return the standardised credit table and the education group of each row.

    The authors' reading of the file loses its last column, PAY_AMT6, which leaves 21; "22 columns" has it.
    """
    data = load("credit", keep_pay_amt6=columns == "22 columns")
    (X,) = standardise(data.X, ddof=1)
    return X, np.asarray(data.sensitive_features).astype(str)


@cache
def credit_moments(columns: str = "21 columns") -> GroupMoments:
    """Return the moments of the credit data by education."""
    return GroupMoments.from_data(*credit_rows(columns))


def half_centred(X: np.ndarray, groups: np.ndarray) -> GroupMoments:
    """Return the moments after only the first p rows of each group are centred.

    The published credit script does so, because its loop runs over columns. What it goes on with is the second moment
    about zero; its PCA calls subtract the mean that is left.
    """
    rows = X.copy()
    for label in np.unique(groups):
        own = np.flatnonzero(groups == label)
        rows[own[: X.shape[1]]] -= X[own].mean(axis=0)
    return GroupMoments.from_data(rows, groups)


def script_parameters(dataset: str, d: int) -> dict[str, Any]:
    """Return step and number of rounds in the published scripts."""
    return {"eta": 1.0, "n_iter": 10} if dataset == "credit" else {"eta": 20.0 / d, "n_iter": 5}


def script(d: int, eta: float, n_iter: int, centering: Centering = "group") -> MinMaxFairPCA:
    """Return the multiplicative weights of the published scripts, not yet fitted."""
    return MinMaxFairPCA(
        d, solver="mw", variant="samadi2018_code", centering=centering, max_iter=n_iter, options={"eta": eta}
    )


def fit_script(model: MinMaxFairPCA, moments: GroupMoments) -> MinMaxFairPCA:
    """Fit, and expect that multiplicative weights stop before they have converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(moments)


def pca_errors(moments: GroupMoments, d_max: int, protocol: str = "stated") -> np.ndarray:
    """Return each group's average error for the top d components of all rows, d = 0..d_max (d_max + 1 × groups).

    The components are those of all rows about their common mean. The errors are those of each group about its own
    mean, as in the authors' scripts, or about the common mean, as in their text.
    """
    V = PCA(d_max).fit(moments).components_.T
    centering = CENTERING[protocol]
    return np.array([reconstruction_errors(moments, V[:, :d], centering=centering) for d in range(d_max + 1)])


# --------------------------------------------------------------------------------------------------------------------
# Figure 1


def drawn_faces(sample: int) -> np.ndarray:
    """Return the rows of one sample of 500 women's and 500 men's faces."""
    sex = faces_rows()[1]
    rng = np.random.default_rng(sample)
    return np.concatenate([rng.choice(np.flatnonzero(sex == s), 500, replace=False) for s in np.unique(sex)])


def run_figure_1(*, dataset: str, method: str, setting: str, sample: int, protocol: str) -> list[dict[str, Any]]:
    """Return PCA's errors by sex, on all faces or on 1000 drawn with equal probability of the sexes."""
    moments = faces_moments()
    if setting == "balanced":
        X, sex = faces_rows()
        drawn = drawn_faces(sample)
        moments = GroupMoments.from_data(X[drawn], sex[drawn])
    errors = pca_errors(moments, FACES_DIMENSION, protocol)
    V = PCA(FACES_DIMENSION).fit(moments).components_.T
    labels = list(map(str, moments.labels))
    records = []
    for d in range(1, FACES_DIMENSION + 1):
        women, men = errors[d, labels.index("female")], errors[d, labels.index("male")]
        total = average_reconstruction_error(moments, V[:, :d], center=moments.mean)
        values = {"error_female": women, "error_male": men, "error_all": total, "gap": women - men}
        values["gap_percent"] = 100.0 * values["gap"] / total
        records += [{"d": d, "metric": name, "value": float(value)} for name, value in values.items()]
    return records


def _figure_1_cells(profile: Profile) -> Iterable[Cell]:
    samples = range(20) if profile == "paper" else range(2)
    drawn = [("whole", 0), *(("balanced", i) for i in samples)]
    return [
        Cell(dataset="lfw", method="pca", setting=setting, sample=sample, protocol=protocol)
        for protocol in ("stated", "text")
        for setting, sample in drawn
    ]


def _tabulate_figure_1(cells: pd.DataFrame) -> pd.DataFrame:
    rows = cells.groupby(list(_KEYS), sort=False)["value"]
    table = rows.agg(mean="mean", sd="std", min="min", max="max", n="count").reset_index()
    return table


# --------------------------------------------------------------------------------------------------------------------
# Figures 3 and 4


def run_figures_3_and_4(*, dataset: str, setting: str, method: str, protocol: str) -> list[dict[str, Any]]:
    """Return errors and losses of both groups for all d, for one method by one protocol."""
    moments = credit_moments(setting) if dataset == "credit" else faces_moments()
    d_max = CREDIT_DIMENSIONS[setting] if dataset == "credit" else FACES_DIMENSION
    V = PCA(d_max).fit(moments).components_.T
    centering = CENTERING[protocol]
    if dataset == "credit" and protocol == "printed":
        moments, centering = half_centred(*credit_rows(setting)), "none"
    dimensions = range(1, d_max + 1)
    records: list[dict[str, Any]] = []

    def add(d: int, losses: np.ndarray, errors: np.ndarray, **others: float) -> None:
        values = {f"loss_{label}": value for label, value in zip(moments.labels, losses, strict=True)}
        values |= {f"error_{label}": value for label, value in zip(moments.labels, errors, strict=True)}
        values |= others | {"largest_loss": float(np.max(losses))}
        records.extend({"d": d, "metric": name, "value": float(value)} for name, value in values.items())

    if method == "pca":
        own = _own_errors(moments, centering, d_max)
        for d in dimensions:
            errors = reconstruction_errors(moments, V[:, :d], centering=centering).to_numpy()
            add(d, errors - own[d - 1], errors)
    elif method == "fairpca":
        models = MinMaxFairPCA(centering=centering).path(moments, n_components=dimensions)
        for d, model in zip(dimensions, models, strict=True):
            used = d + model.result_.extra["extra_dimensions"]
            add(d, model.losses_, model.errors_, gap=model.result_.gap, dimensions=used)
    else:
        for d in dimensions:
            model = fit_script(script(d, centering=centering, **script_parameters(dataset, d)), moments)
            extra = model.result_.extra
            average = float(extra.get("chosen") == "average")
            add(d, model.losses_, model.errors_, average=average, dimensions=d + extra["extra_dimensions"])
    return records


def _own_errors(moments: GroupMoments, centering: Centering, d_max: int) -> np.ndarray:
    """Error that each group's own PCA leaves, d = 1..d_max; the script's PCA subtracts the mean of what it gets."""
    errors = []
    for g, own in enumerate(moments.second_moments("overall" if centering == "overall" else "group")):
        V = top_eigenpairs(own, d_max)[1]
        errors.append(
            [reconstruction_errors(moments, V[:, :d], centering=centering).iloc[g] for d in range(1, d_max + 1)]
        )
    return np.transpose(errors)


def _figures_cells(profile: Profile) -> Iterable[Cell]:
    plan = [("pca", "stated"), ("fairpca", "stated"), ("mw", "stated"), ("pca", "printed"), ("mw", "printed")]
    cells = [
        Cell(dataset="credit", setting=setting, method=method, protocol=protocol)
        for setting in CREDIT_DIMENSIONS
        for method, protocol in plan
        if setting == "21 columns" or protocol == "stated"
    ]
    if profile == "paper":
        # On the faces the script centres each group as it attempts to, so only its step and length are "as printed".
        plan = [("pca", "stated"), ("fairpca", "stated"), ("mw", "printed")]
        cells += [Cell(dataset="lfw", setting="", method=method, protocol=protocol) for method, protocol in plan]
    read = [("credit", setting) for setting in CREDIT_DIMENSIONS] + ([("lfw", "")] if profile == "paper" else [])
    return cells + [
        Cell(dataset=dataset, setting=setting, method=method, protocol="text")
        for dataset, setting in read
        for method in ("pca", "fairpca")
    ]


def _tabulate_figures(cells: pd.DataFrame) -> pd.DataFrame:
    return cells[[*_KEYS, "value"]].reset_index(drop=True)


register(
    "samadi2018/fig1",
    cells=_figure_1_cells,
    run_cell=run_figure_1,
    tabulate=_tabulate_figure_1,
    title="Figure 1: PCA's error on women's and men's faces",
)
register(
    "samadi2018/fig3_fig4",
    cells=_figures_cells,
    run_cell=run_figures_3_and_4,
    tabulate=_tabulate_figures,
    title="Figures 3 and 4: errors and losses under PCA and fair PCA, credit data and faces",
)

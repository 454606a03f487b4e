"""Figures 1, 3 and 4 of Samadi et al. (2018): errors and losses of both groups under PCA and fair PCA.

"As printed" is what the authors' scripts do: multiplicative weights with their step and number of rounds, and on the
credit data a loop that centres only the first rows of each group. "As stated" is the text: every group centred by its
own mean, and the exact optimum of Definition 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from fairpca import GroupMoments
from fairpca.datasets import load
from fairpca.experiments.engine.runner import Cell, Profile, register
from fairpca.linalg import top_eigenpairs
from fairpca.solvers.minmax import solve_minmax_path, solve_minmax_weights

__all__ = [
    "credit_moments",
    "credit_rows",
    "faces_moments",
    "faces_rows",
    "half_centred",
    "pca_errors",
    "run_figure_1",
    "run_figures_3_and_4",
    "script_parameters",
]

CREDIT_DIMENSIONS = {"21 columns": 21, "22 columns": 22}
FACES_DIMENSION = 20
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
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0, ddof=1)
    return X, np.asarray(data.sensitive_features).astype(str)


@cache
def credit_moments(columns: str = "21 columns") -> GroupMoments:
    """Return the moments of the credit data by education."""
    return GroupMoments.from_data(*credit_rows(columns))


def half_centred(X: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centre only the first p rows of each group, as the published credit script does (its loop runs over columns).

    Returns
    -------
    moments, means, counts : ndarray
        Second moment about zero, mean and number of rows of each group, in the order of their sorted names.
    """
    moments, means, counts = [], [], []
    for label in np.unique(groups):
        rows = X[groups == label].copy()
        rows[: X.shape[1]] -= rows.mean(axis=0)
        moments.append(rows.T @ rows / len(rows))
        means.append(rows.mean(axis=0))
        counts.append(len(rows))
    return np.stack(moments), np.stack(means), np.array(counts)


def script_parameters(dataset: str, d: int) -> dict[str, Any]:
    """Return step and number of rounds in the published scripts."""
    return {"eta": 1.0, "n_iter": 10} if dataset == "credit" else {"eta": 20.0 / d, "n_iter": 5}


def pca_errors(moments: GroupMoments, d_max: int) -> np.ndarray:
    """Return each group's average error for the top d components of all rows, d = 0..d_max (d_max + 1 × groups).

    As in the authors' scripts, the components are those of all rows about their common mean, and the errors are those
    of each group about its own mean.
    """
    C = moments.second_moments("group")
    V = top_eigenpairs(moments.covariance(), d_max)[1]
    kept = np.stack([np.einsum("ij,ij->j", V, A @ V) for A in C], axis=1)
    return np.trace(C, axis1=1, axis2=2) - np.vstack((np.zeros(len(C)), np.cumsum(kept, axis=0)))


# --------------------------------------------------------------------------------------------------------------------
# Figure 1


def run_figure_1(*, dataset: str, method: str, setting: str, sample: int) -> list[dict[str, Any]]:
    """Return PCA's errors by sex, on all faces or on 1000 drawn with equal probability of the sexes."""
    moments = faces_moments()
    if setting == "balanced":
        X, sex = faces_rows()
        rng = np.random.default_rng(sample)
        drawn = np.concatenate([rng.choice(np.flatnonzero(sex == s), 500, replace=False) for s in moments.labels])
        moments = GroupMoments.from_data(X[drawn], sex[drawn])
    errors = pca_errors(moments, FACES_DIMENSION)
    spectrum = top_eigenpairs(moments.covariance(), FACES_DIMENSION)[0]
    everyone = float(np.trace(moments.covariance())) - np.cumsum(spectrum)
    labels = list(map(str, moments.labels))
    records = []
    for d in range(1, FACES_DIMENSION + 1):
        women, men = errors[d, labels.index("female")], errors[d, labels.index("male")]
        total = everyone[d - 1]
        values = {"error_female": women, "error_male": men, "error_all": total, "gap": women - men}
        values["gap_percent"] = 100.0 * values["gap"] / total
        records += [{"d": d, "metric": name, "value": float(value)} for name, value in values.items()]
    return records


def _figure_1_cells(profile: Profile) -> Iterable[Cell]:
    samples = range(20) if profile == "paper" else range(2)
    whole = [Cell(dataset="lfw", method="pca", setting="whole", sample=0)]
    return whole + [Cell(dataset="lfw", method="pca", setting="balanced", sample=i) for i in samples]


def _tabulate_figure_1(cells: pd.DataFrame) -> pd.DataFrame:
    rows = cells.assign(protocol="stated").groupby(list(_KEYS), sort=False)["value"]
    table = rows.agg(mean="mean", sd="std", min="min", max="max", n="count").reset_index()
    return table


# --------------------------------------------------------------------------------------------------------------------
# Figures 3 and 4


def run_figures_3_and_4(*, dataset: str, setting: str, method: str, protocol: str) -> list[dict[str, Any]]:
    """Return errors and losses of both groups for all d, for one method by one protocol."""
    moments = credit_moments(setting) if dataset == "credit" else faces_moments()
    d_max = CREDIT_DIMENSIONS[setting] if dataset == "credit" else FACES_DIMENSION
    C, labels = moments.second_moments("group"), tuple(map(str, moments.labels))
    recentred: tuple[np.ndarray, np.ndarray] | None = None
    if dataset == "credit" and protocol == "printed":
        C, means, counts = half_centred(*credit_rows(setting))
        recentred = means, counts
    traces = np.trace(C, axis1=1, axis2=2)
    records: list[dict[str, Any]] = []

    def add(d: int, losses: np.ndarray, errors: np.ndarray, **others: float) -> None:
        values = {f"loss_{label}": value for label, value in zip(labels, losses, strict=True)}
        values |= {f"error_{label}": value for label, value in zip(labels, errors, strict=True)}
        values |= others | {"largest_loss": float(np.max(losses))}
        records.extend({"d": d, "metric": name, "value": float(value)} for name, value in values.items())

    if method == "pca":
        best = _own_sums(C, recentred, d_max)
        V = top_eigenpairs(moments.covariance(), d_max)[1]
        kept = np.cumsum([np.einsum("ij,ij->j", V, A @ V) for A in C], axis=1)
        for d in range(1, d_max + 1):
            add(d, best[:, d - 1] - kept[:, d - 1], traces - kept[:, d - 1])
    elif method == "fairpca":
        for d, result in enumerate(solve_minmax_path(C, d_max), start=1):
            extra = result.extra
            add(d, extra["losses"], extra["errors"], gap=result.gap, dimensions=d + extra["extra_dimensions"])
    else:
        for d in range(1, d_max + 1):
            result = solve_minmax_weights(
                C, d, variant="samadi2018_code", recentred=recentred, **script_parameters(dataset, d)
            )
            extra = result.extra
            average = float(extra.get("chosen") == "average")
            add(d, extra["losses"], extra["errors"], average=average, dimensions=d + extra["extra_dimensions"])
    return records


def _own_sums(C: np.ndarray, recentred: tuple[np.ndarray, np.ndarray] | None, d_max: int) -> np.ndarray:
    """Variance that each group's own PCA keeps, d = 1..d_max; the script's PCA subtracts the mean of what it gets."""
    own = C if recentred is None else C - recentred[0][:, :, None] * recentred[0][:, None, :]
    bases = [top_eigenpairs(A, d_max)[1] for A in own]
    return np.stack([np.cumsum(np.einsum("ij,ij->j", V, A @ V)) for A, V in zip(C, bases, strict=True)])


def _figures_cells(profile: Profile) -> Iterable[Cell]:
    plan = [("pca", "stated"), ("fairpca", "stated"), ("mw", "stated"), ("pca", "printed"), ("mw", "printed")]
    cells = [
        Cell(dataset="credit", setting=setting, method=method, protocol=protocol)
        for setting in CREDIT_DIMENSIONS
        for method, protocol in plan
        if setting == "21 columns" or protocol == "stated"
    ]
    if profile == "paper":
        # On the faces the script centres as the text says, so only its step and length are "as printed".
        plan = [("pca", "stated"), ("fairpca", "stated"), ("mw", "printed")]
        cells += [Cell(dataset="lfw", setting="", method=method, protocol=protocol) for method, protocol in plan]
    return cells


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

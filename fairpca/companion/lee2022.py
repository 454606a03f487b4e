"""The methods that Lee et al. (2022) compare, and how a subspace is scored.

"printed" is what the authors' programs do, "stated" what the text says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from time import process_time
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairpca import FPCA, MBFPCA, PCA
from fairpca.companion import published
from fairpca.companion.noise import noise
from fairpca.datasets import Dataset, load, standardise
from fairpca.linalg import orthonormal
from fairpca.metrics import (
    communality,
    explained_variance_percent,
    median_bandwidth,
    mmd_squared,
    rbf_svm_report,
)
from fairpca.synthetic import lee_synthetic2

__all__ = [
    "AGAIN",
    "DIAGNOSIS",
    "FIVE_NUMBERS",
    "METRICS",
    "PROTECTED",
    "RULES",
    "SOLVER",
    "as_drawn",
    "authors_repeats",
    "authors_seconds",
    "bandwidth",
    "cap",
    "climb",
    "compile_kernels",
    "eigenvector_variances",
    "estimator",
    "fitted",
    "grain",
    "growth",
    "half_sphere",
    "mixture_parts",
    "noise_rows",
    "noise_table",
    "once_more",
    "plane",
    "score",
    "solved",
    "synthetic2_noise",
    "synthetic2_parts",
]

Protocol = Literal["printed", "stated"]
# Root of half the median squared distance, or median distance.
RULES: dict[str, Literal["code", "median"]] = {"printed": "code", "stated": "median"}
METRICS = ["pct_var", "pct_acc", "mmd2", "delta_dp", "delta_eop", "delta_eod"]
# The feature that is the protected attribute: race, age, sex.
PROTECTED = {"compas": 1, "german": 4, "adult": 2}


def estimator(method: str, value: float, d: int, **options: Any) -> Any:
    """Make the estimator of a method; `value` is delta of FPCA or tau of MBF-PCA."""
    given: dict[str, Any] = {"random_state": 0}
    if method == "pca":
        return PCA(d)
    if method == "fpca":
        return FPCA(d, delta=value, mu=0.01, variant="lee2022_code", **options)
    if method == "mbfpca":  # Algorithm 1; that it starts at PCA is inferred
        given |= {"solver": "repms", "options": {"repms": {"start": "pca"}}}
    return MBFPCA(d, tau=value, **(given | options))  # else our default


def fitted(
    train: Dataset,
    method: str,
    value: float,
    d: int,
    protocol: str = "printed",
    **options: Any,
) -> Any:
    """Fit a method on a training part; FPCA's program loses its first row."""
    start = 1 if (method, protocol) == ("fpca", "printed") else 0
    X, groups = train.X[start:], train.sensitive_features[start:]
    model = estimator(method, value, d, **options)
    return model.fit(X, sensitive_features=groups)


def bandwidth(train: Dataset, d: int, protocol: str) -> float:
    """Return the kernel's bandwidth, which PCA of the training part fixes."""
    V = PCA(d).fit(train.X).components_.T
    return median_bandwidth(train.X @ V, RULES[protocol])


def score(
    train: Dataset, test: Dataset, V: np.ndarray, protocol: Protocol, sigma: float
) -> dict[str, float]:
    """Score a subspace as Table 1 does. As printed the test part trains the SVM."""
    Z, Z_train, groups = test.X @ V, train.X @ V, test.sensitive_features
    svm = rbf_svm_report(Z, test.y, groups, Z_train, train.y, protocol=protocol)
    return {
        "pct_var": explained_variance_percent(test.X, V),
        "pct_acc": svm.accuracy,
        "mmd2": mmd_squared(Z, groups, sigma=sigma),
        "delta_dp": svm.dp, "delta_eop": svm.eop, "delta_eod": svm.eod,
        "train_pct_var": explained_variance_percent(train.X, V),
        "train_mmd2": mmd_squared(Z_train, train.sensitive_features, sigma),
    }


@cache
def compile_kernels() -> None:
    """Compile what MBF-PCA's solvers use, so that no clock runs meanwhile."""
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((40, 4)), np.repeat([0, 1], 20)
    X[groups == 1, 0] += 1.0
    for method in ("mbfpca", "mbfpca_ours"):
        for d in (2, 3):
            estimator(method, 1e-2, d).fit(X, sensitive_features=groups)


DIAGNOSIS = ["mean_gap", "covariance_gap", "spread", "eigengap", "rank", "kappa"]
DIAGNOSIS += ["relative_gap", "iterations"]
SOLVER = ["feasible", "evaluations", "seconds", "starts", "kkt_residual"]
# The same computation once more, with another last digit or less accuracy.
AGAIN = {"mbfpca": "mbfpca_restart", "fpca": "fpca_rough"}


def solved(
    train: Dataset, method: str, value: float, d: int
) -> tuple[Any, dict[str, float]]:
    """Fit as printed, and return the estimator and what its solver reports."""
    if method == "pca":
        return fitted(train, method, value, d), {}
    if method == "fpca":
        model = fitted(train, method, value, d)
        result = model.result_
        row = {name: float(result.extra[name]) for name in DIAGNOSIS[:-1]}
        row |= {"objective": result.objective, "iterations": float(result.n_iter)}
        return model, row | {"seconds": result.seconds}
    compile_kernels()
    start = process_time()
    model = fitted(train, method, value, d)
    seconds, extra = process_time() - start, model.result_.extra
    row = {
        "feasible": float(model.mmd2_ <= value), "seconds": seconds,
        "evaluations": float(extra["n_evaluations"]),
        "starts": float(extra["n_starts"]), "kkt_residual": extra["kkt_residual"],
    }
    if method == "mbfpca" and row["feasible"]:  # our default at the same MMD²
        ours = fitted(train, "mbfpca_ours", float(model.mmd2_), d)
        if ours.mmd2_ <= model.mmd2_:
            gain = ours.result_.extra["variance_ratio"] - extra["variance_ratio"]
            row["matched_difference"] = 100 * gain
    return model, row


def once_more(
    dataset: str, split: int, method: str, setting: str, d: int
) -> dict[str, Any]:
    """Repeat a cell of Table 1 with another last digit, or less accuracy."""
    train, test = load(dataset, split=split)
    value, row = float(setting.partition("=")[2]), {}
    if method == AGAIN["fpca"]:
        model = fitted(train, "fpca", value, d, tol=1e-5)
    else:
        moved = replace(train, X=train.X * (1 + 1e-15))
        model = fitted(moved, "mbfpca", value, d)
        row["feasible"] = float(model.mmd2_ <= value)
    V = model.components_.T
    found = score(train, test, V, "printed", bandwidth(train, d, "printed"))
    row |= {f"{name}:printed": number for name, number in found.items()}
    return row | {"communality": communality(V, PROTECTED[dataset])}


def grain(dataset: str, metric: str, statistic: str) -> float:
    """Return what one row more of one of ten test parts changes a mean, or an sd."""
    if metric not in ("pct_acc", "delta_dp"):
        return 0.0
    test = load(dataset, split=0)[1]
    smallest = np.bincount(test.group_code).min()
    step = 100.0 / len(test.y) if metric == "pct_acc" else 1.0 / smallest
    return float(step / (10 if statistic == "mean" else np.sqrt(10)))


def noise_rows(
    cells: pd.DataFrame,
    columns: Mapping[str, str],
    statistics: Sequence[str],
    again: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    """Yield what repetition moves: a row for each setting, metric and statistic.

    `columns` names the metric of each column, `again` the repetition of a method.
    """
    keys = ["dataset", "d", "setting"]
    for method in again:
        first, second = (
            cells[cells["method"] == name].set_index([*keys, "split"])
            for name in (method, again[method])
        )
        for column, metric in columns.items():
            pair = (frame[column].astype(float) for frame in (second, first))
            moved: Any = next(pair).sub(next(pair)).dropna()
            for (dataset, d, setting), part in first.groupby(keys, sort=False):
                here = (dataset, d, setting)
                found = moved.xs(here, level=keys) if len(moved) else moved
                values = part[column].to_numpy(float)
                sizes = noise(values, found.to_numpy(), statistics)
                for name, size in sizes.items():
                    yield {
                        "dataset": dataset, "d": d, "setting": setting,
                        "method": method, "metric": metric, "statistic": name,
                        "grain": grain(str(dataset), metric, name),
                        "noise": size, "repeated": len(found), "protocol": "printed",
                    }


def noise_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Put the columns of the results "lee2022/noise" in order."""
    keys = ["exhibit", "dataset", "p", "method", "setting", "d"]
    values = ["metric", "protocol", "statistic", "grain", "noise", "repeated"]
    return cells.reindex(columns=[*keys, *values]).astype({"p": "Int64"})


# synthetic data


def plane(normal: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the plane with this normal."""
    return np.linalg.svd(np.reshape(normal, (1, 3)))[2][1:].T


def half_sphere(n: int) -> np.ndarray:
    """Spread normals evenly over the upper half sphere, by the golden angle."""
    z = (np.arange(n) + 0.5) / n
    angle = np.pi * (3 - np.sqrt(5)) * np.arange(n)
    r = np.sqrt(1 - z * z)
    return np.column_stack((r * np.cos(angle), r * np.sin(angle), z))


def cap(centre: np.ndarray, n: int, degrees: float = 6.0) -> np.ndarray:
    """Spread normals evenly over a cap of the sphere."""
    height, points = np.cos(np.deg2rad(degrees)), half_sphere(n)
    z = height + (1 - height) * points[:, 2]
    r = np.linalg.norm(points[:, :2], axis=1, keepdims=True)
    flat = points[:, :2] / r * np.sqrt(1 - z * z)[:, None]
    return np.column_stack((flat, z)) @ np.vstack((plane(centre).T, centre))


def mixture_parts(
    X: np.ndarray, groups: np.ndarray
) -> tuple[dict[str, tuple[float, float]], float, int]:
    """Measure both distributions of synthetic data 1.

    Returns each measured number with the stated one, the percentage of the mixture's
    rows in one cluster, and the rows of the other group.
    """
    parts = [X[groups == g] for g in (0, 1)]
    two, one = sorted(parts, key=lambda rows: -np.abs(rows.mean(axis=1)).mean())
    side = two.mean(axis=1) > 0
    centres = np.array([two[~side].mean(axis=0), two[side].mean(axis=0)])
    spread = np.linalg.eigvalsh(np.cov(one.T))
    measured = {
        "noise of the clusters": ((two - centres[side.astype(int)]).var(), 0.1),
        "centres": (np.abs(centres).mean(), 1.0),
        "noise of the other": (spread[:2].mean(), 0.1),
        "its common factor": ((spread[2] - 0.1) / 3, 1.0),
    }
    return measured, 100 * float(side.mean()), len(one)


Part = tuple[np.ndarray, np.ndarray]
FIVE_NUMBERS = {"min": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "max": 1.0}


def synthetic2_parts(p: int, split: int, protocol: str) -> tuple[Part, Part]:
    """Return both parts of synthetic data 2, each as rows and groups."""
    if protocol == "printed":
        train, test = load("synthetic2", p=p, split=split)
        return (train.X, train.group_code), (test.X, test.group_code)
    # One sample for all splits of a dimension; 168 and 72 rows of each group.
    X, groups = lee_synthetic2(p, protocol="stated", random_state=p)
    draws = [np.random.default_rng([p, split, g]) for g in (0, 1)]
    orders = [240 * g + draw.permutation(240) for g, draw in enumerate(draws)]
    rows = np.concatenate([order[:168] for order in orders])
    others = np.concatenate([order[168:] for order in orders])
    learnt, held_out = standardise(X[rows], X[others])
    return (learnt, groups[rows]), (held_out, groups[others])


def as_drawn(cells: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Give values of one method the dimensions that the authors' script gives them.

    The script lays out each table of 10 splits and 9 dimensions dimension by
    dimension, but repeats the labels 20, 30, …, 100 row by row.
    """
    ordered = cells.sort_values(["p", "split"])
    widths = sorted(set(ordered["p"]))
    labels = np.tile(widths, len(ordered) // len(widths))
    return pd.DataFrame({"p": labels, metric: ordered[metric].to_numpy()})


def authors_repeats(metric: str) -> dict[str, float]:
    """Return the standard deviation of a statistic over the authors' runs.

    With tau = 1 and tau = 0.1 the penalty is never raised, so that their files hold
    two runs of one computation. Pooled over dimensions.
    """
    table = published.load("lee2022", "fig2_fig3_stored")
    table = table[(table["method"] == "mbfpca") & (table["metric"] == metric)]
    statistics = [*FIVE_NUMBERS, "mean"]
    first, second = (
        table[table["setting"] == tau].set_index("p")[statistics]
        for tau in ("tau=1", "tau=1e-1")
    )
    squares = ((first - second) ** 2).mean() / 2
    return {str(name): float(value) for name, value in np.sqrt(squares).items()}


def authors_seconds(method: str, setting: str) -> dict[int, float]:
    """Return the authors' mean times on synthetic data 2 by p."""
    table = published.load("lee2022", "fig2_fig3_stored")
    rows = table[(table["method"] == method) & (table["metric"] == "seconds")]
    rows = rows[rows["setting"] == setting]
    return {int(p): float(t) for p, t in zip(rows["p"], rows["mean"], strict=True)}


def growth(times: dict[int, float]) -> float:
    """Return the power of p at which times grow, by least squares on logarithms."""
    logs = np.log(list(times)), np.log(list(times.values()))
    return float(np.polyfit(*logs, 1)[0])


def climb(
    value: Callable[[np.ndarray], float],
    V: np.ndarray,
    rng: np.random.Generator,
    *,
    size: float,
    steps: int,
) -> tuple[np.ndarray, float]:
    """Raise a function of a frame by random turns that are kept if they help."""
    best = value(V)
    for _ in range(steps):
        W = orthonormal(V + size * rng.standard_normal(V.shape) / np.sqrt(len(V)))
        found = value(W)
        size *= 1.2 if found > best else 0.97
        if found > best:
            best, V = found, W
    return V, best


def eigenvector_variances(
    P: np.ndarray, S: np.ndarray, X: np.ndarray
) -> pd.DataFrame:
    """Return the share of the variance of X along each eigenvector of P, in percent.

    Inside eigenvalues that agree to 1e-5, the principal axes of S are the basis.
    """
    w, U = np.linalg.eigh(P)
    w, U = np.clip(w[::-1], 0.0, None), U[:, ::-1].copy()
    start = 0
    for stop in range(1, len(w) + 1):
        if stop < len(w) and w[stop - 1] - w[stop] <= 1e-5:
            continue
        E = U[:, start:stop]
        inside = E.T @ S @ E
        axes = np.linalg.eigh((inside + inside.T) / 2)[1][:, ::-1]
        U[:, start:stop], start = E @ axes, stop
    C = np.cov(X.T, bias=True)
    shares = 100.0 * np.sum(U * (C @ U), axis=0) / np.trace(C)
    index = np.arange(1, len(w) + 1)
    return pd.DataFrame({"index": index, "eigenvalue": w, "pct_var": shares})


def synthetic2_noise(cells: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield what a second run moves, for each number behind Figures 2 and 3."""
    statistics, keys = (*FIVE_NUMBERS, "mean"), ["p", "split", "setting"]
    for method, again in AGAIN.items():
        first, second = (
            cells[cells["method"] == name].set_index(keys)
            for name in (method, again)
        )
        for metric in ("pct_var", "mmd2"):
            theirs = authors_repeats(metric)
            moved = (second[metric] - first[metric]).dropna()
            groups = first.reset_index().groupby(["p", "setting"], sort=False)
            for (p, setting), part in groups:
                found = moved.xs(setting, level="setting").to_numpy()
                sizes = noise(part[metric].to_numpy(), found, statistics)
                for name, size in sizes.items():
                    if method == "mbfpca":  # a run of ours against one of theirs
                        size = float(np.hypot(size / np.sqrt(2), theirs[name]))
                    yield {
                        "dataset": "synthetic2", "p": p, "method": method,
                        "setting": setting, "d": 5, "metric": metric,
                        "statistic": name, "grain": 0.0, "noise": size,
                        "repeated": len(found), "protocol": "printed",
                    }

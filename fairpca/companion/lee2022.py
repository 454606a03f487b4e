"""The methods that Lee et al. (2022) compare, and how a subspace is scored.

"printed" is what the authors' programs do, "stated" what the text says.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairpca import FPCA, MBFPCA, PCA, published
from fairpca.datasets import Dataset, load, standardise
from fairpca.metrics import (
    explained_variance_percent,
    median_bandwidth,
    mmd_squared,
    rbf_svm_report,
)
from fairpca.synthetic import lee_synthetic2

__all__ = [
    "FIVE_NUMBERS",
    "METRICS",
    "PROTECTED",
    "RULES",
    "as_drawn",
    "authors_repeats",
    "authors_seconds",
    "bandwidth",
    "cap",
    "compile_kernels",
    "estimator",
    "fitted",
    "growth",
    "half_sphere",
    "mixture_parts",
    "plane",
    "score",
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
    """Return training part and test part of synthetic data 2, each as rows and groups."""
    if protocol == "printed":
        train, test = load("synthetic2", p=p, split=split)
        return (train.X, train.group_code), (test.X, test.group_code)
    # One sample for all splits of a dimension; 168 and 72 rows of each group.
    X, groups = lee_synthetic2(p, protocol="stated", random_state=p)
    orders = [
        240 * g + np.random.default_rng([p, split, g]).permutation(240) for g in (0, 1)
    ]
    rows = np.concatenate([order[:168] for order in orders])
    others = np.concatenate([order[168:] for order in orders])
    learnt, held_out = standardise(X[rows], X[others])
    return (learnt, groups[rows]), (held_out, groups[others])


def as_drawn(cells: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Give values of one method the dimensions that the authors' script gives them.

    The script lays out each table of 10 splits and 9 dimensions dimension by dimension,
    but repeats the labels 20, 30, …, 100 row by row.
    """
    ordered = cells.sort_values(["p", "split"])
    widths = sorted(set(ordered["p"]))
    labels = np.tile(widths, len(ordered) // len(widths))
    return pd.DataFrame({"p": labels, metric: ordered[metric].to_numpy()})


def authors_repeats(metric: str) -> dict[str, float]:
    """Return the standard deviation of a statistic over runs of the authors' program.

    With tau = 1 and tau = 0.1 the penalty is never raised, so that their files hold two
    runs of one computation. Pooled over dimensions.
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

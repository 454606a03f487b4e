"""The methods that Lee et al. (2022) compare, and how a subspace is scored.

"printed" is what the authors' programs do, "stated" what the text says.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np

from fairpca import FPCA, MBFPCA, PCA
from fairpca.datasets import Dataset
from fairpca.metrics import (
    explained_variance_percent,
    median_bandwidth,
    mmd_squared,
    rbf_svm_report,
)

__all__ = [
    "METRICS",
    "PROTECTED",
    "RULES",
    "bandwidth",
    "compile_kernels",
    "estimator",
    "fitted",
    "score",
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

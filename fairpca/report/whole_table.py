"""What is said of all rows of a table together: dimensions, errors by dimension, loadings, crossed groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

import fairpca
from fairpca._validation import Groups, encode_groups
from fairpca.metrics import reconstruction_errors
from fairpca.own_data import Prepared

__all__ = ["chosen_dimensions", "crossed_groups", "errors_by_dimension", "group_loadings"]


def chosen_dimensions(X: np.ndarray) -> list[int]:
    """Return two, and as many dimensions as PCA needs for half of the variance, ten at most."""
    n, p = X.shape
    if n < p:
        values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / n
    else:
        values = np.linalg.eigvalsh(np.cov(X.T, ddof=0).reshape(p, -1))[::-1]
    rank = int(np.sum(values > 1e-9 * max(values[0], 1e-300)))
    half = 1 + int(np.searchsorted(np.cumsum(values) / values.sum(), 0.5))
    top = max(rank - 1, 1)
    return sorted({min(2, top), min(max(half, 2), 10, top)})


def errors_by_dimension(moments: fairpca.GroupMoments) -> pd.DataFrame:
    """Errors of PCA and of the min-max method for up to ten dimensions."""
    total = float(np.trace(moments.covariance()))
    top = min(10, max(moments.n_features - 1, 1))
    rows = []
    models = {"PCA": fairpca.PCA(), "min-max": fairpca.MinMaxFairPCA()}
    if moments.n_groups < 2:
        models.pop("min-max")
    for name, model in models.items():
        for fitted in model.path(moments, n_components=range(1, top + 1)):
            errors = reconstruction_errors(moments, fitted.components_.T)
            for label, error in errors.items():
                row = {"n_components": fitted.n_components, "group": str(label), "method": name}
                rows.append({**row, "error": float(100.0 * max(error, 0.0) / total)})
    return pd.DataFrame(rows)


def group_loadings(X: np.ndarray, groups: Groups, names: Sequence[str], n_components: int) -> pd.DataFrame:
    """Loadings of PCA, and each feature's share of the difference between the two groups that are farthest apart."""
    model = fairpca.PCA(n_components=n_components).fit(X, sensitive_features=groups)
    means = np.array([X[groups.rows(g)].mean(axis=0) for g in range(len(groups.labels))])
    rows = []
    for number, loading in enumerate(model.components_, start=1):
        projected = means @ loading
        high, low = int(np.argmax(projected)), int(np.argmin(projected))
        carried = loading * (means[high] - means[low])
        between = f"{groups.labels[high]} over {groups.labels[low]}"
        rows += [
            {"component": number, "feature": name, "loading": float(a), "carried": float(c), "difference": between}
            for name, a, c in zip(names, loading, carried, strict=True)
        ]
    return pd.DataFrame(rows)


def crossed_groups(X: np.ndarray, prepared: Prepared, n_components: int) -> pd.DataFrame:
    """Rows and PCA's error of each sensitive column's groups and of their combinations; empty for one column."""
    if prepared.groups.shape[1] < 2:
        return pd.DataFrame()
    labels = prepared.labels.to_numpy()
    V = fairpca.PCA(n_components=n_components).fit(X, sensitive_features=encode_groups(labels)).components_.T
    centred = X - X.mean(axis=0)
    left = np.sum((centred - centred @ V @ V.T) ** 2, axis=1)
    total = float(np.sum(centred**2) / len(X))
    sides = [prepared.groups[name].to_numpy() for name in prepared.groups.columns] + [labels]
    shown = [*prepared.groups.columns, "all together"]
    rows = [
        {"by": name, "group": str(group), "rows": int(np.sum(side == group)),
         "error, % of the variance": float(100 * left[side == group].mean() / total),
         "enough rows": "yes" if np.sum(side == group) >= 20 else "no"}
        for name, side in zip(shown, sides, strict=True)
        for group in sorted(set(side))
    ]  # fmt: skip
    return pd.DataFrame(rows)

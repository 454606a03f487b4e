"""What is said of all rows of a table together: dimensions, errors by dimension, loadings, crossed groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

import fairpca
from fairpca._validation import encode_groups
from fairpca.metrics import average_reconstruction_error, mmd_squared, reconstruction_errors, reconstruction_losses
from fairpca.tables import Prepared

__all__ = [
    "against_pca",
    "chosen_dimensions",
    "crossed_groups",
    "errors_by_dimension",
    "group_loadings",
    "price_of_small_groups",
]

SMALL = 30  # rows of a group that should not decide alone


def chosen_dimensions(X: np.ndarray) -> list[int]:
    """Return two, and as many dimensions as PCA needs for half of the variance, ten at most."""
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
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


def group_loadings(
    moments: fairpca.GroupMoments, names: Sequence[str], n_components: int, axes: np.ndarray | None = None
) -> pd.DataFrame:
    """Loadings of PCA, and each feature's share of the difference between the two groups that are farthest apart.

    Where moments are of rotated rows, `axes` has the new coordinates as columns.
    """
    model = fairpca.PCA(n_components=n_components).fit(moments)
    means, components = moments.means, model.components_
    if axes is not None:
        means, components = means @ axes.T, components @ axes.T
    rows = []
    for number, loading in enumerate(components, start=1):
        projected = means @ loading
        high, low = int(np.argmax(projected)), int(np.argmin(projected))
        carried = loading * (means[high] - means[low])
        between = f"{moments.labels[high]} over {moments.labels[low]}"
        rows += [
            {"component": number, "feature": name, "loading": float(a), "carried": float(c), "difference": between}
            for name, a, c in zip(names, loading, carried, strict=True)
        ]
    return pd.DataFrame(rows)


def price_of_small_groups(X: np.ndarray, labels: np.ndarray, n_components: int) -> list[str]:
    """Say what groups of few rows cost all rows: the variance that min-max keeps with them, and without them."""
    names, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    small = np.flatnonzero(counts < min(SMALL, len(X) / 10))
    if not len(small) or len(names) - len(small) < 2:
        return []
    rest = ~np.isin(codes, small)
    kept = []
    for rows in (np.ones(len(X), dtype=bool), rest):
        model = fairpca.MinMaxFairPCA(n_components).fit(X[rows], sensitive_features=labels[rows])
        lost = X[rest] - model.inverse_transform(model.transform(X[rest]))
        kept.append(100.0 * (1.0 - lost.var(axis=0).sum() / X[rest].var(axis=0).sum()))
    if abs(kept[1] - kept[0]) < 2.0:
        return []
    shown = ", ".join(f"{names[g]!r} ({counts[g]} rows)" for g in small[:5]) + (", …" if len(small) > 5 else "")
    return [
        f"Small groups decide the projection of all: without {shown}, min-max with {n_components} components keeps "
        f"{kept[1]:.0f} % of the variance of the other rows instead of {kept[0]:.0f} %. --merge-groups-below "
        f"{counts[small].max() + 1} merges them."
    ]


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


def against_pca(estimator: Any, X: np.ndarray, labels: np.ndarray) -> list[str]:
    """Say what a fitted estimator keeps, and what each group loses, next to PCA of the same dimension on these rows."""
    d, name = estimator.n_components, type(estimator).__name__
    table = pd.DataFrame({"rows": pd.Series(labels).value_counts().sort_index()}).rename_axis("group")
    variances, discrepancies = [], []
    # What MBF-PCA bounds, by the kernel that it was fitted with; of more groups it is a sum, and of classes a part.
    sigma = getattr(estimator, "bandwidth_", None) if getattr(estimator, "fairness", "") == "dp" else None
    plain = fairpca.PCA(n_components=d).fit(X, sensitive_features=labels)
    for title, model in (("PCA", plain), (name, estimator)):
        P = _inverse_after_transform(model)
        lost = average_reconstruction_error(X, center=X.mean(axis=0), projection=P)
        variances.append(f"{100.0 * (1.0 - lost / X.var(axis=0).sum()):.2f} % ({title})")
        if sigma is not None and len(table) == 2:
            discrepancies.append(f"{mmd_squared(X @ model.components_.T, labels, sigma=sigma):.4g} ({title})")
        table[f"error {title}"] = reconstruction_errors(X, None, labels, projection=P)
        table[f"loss {title}"] = reconstruction_losses(X, None, labels, projection=P, n_components=d)
    gaps = [f"{np.ptp(table[f'error {title}']):.6g} (error {title})" for title in ("PCA", name)]
    lines = [f"variance explained: {', '.join(variances)}"]
    lines += [f"MMD² between the groups: {', '.join(discrepancies)}"] if discrepancies else []
    lines += [
        table.reset_index().to_string(index=False),
        f"largest difference between groups: {', '.join(gaps)}",
        "Errors are about the group's own mean, on the rows that were fitted; fairpca compare looks at held-out rows.",
    ]
    found = len(estimator.components_)
    return lines + [
        f"{name} has {found} components and PCA {d}: its map has extra dimensions, each shrunk; what is kept and lost "
        "is what that map gives back (inverse_transform)."
    ] * (found != d)


def _inverse_after_transform(model: Any) -> np.ndarray:
    """Return P such that ``inverse_transform(transform(X))`` is ``(X - mean) P + mean``.

    That is the projection on the components where they are orthonormal. It is the affine map of a min-max solution
    with extra dimensions, whose losses are those of the solution, and the code with its decoder where it is oblique.
    """
    scale = getattr(model, "scale_", 1.0)
    P: np.ndarray = (model.components_ / scale).T @ (getattr(model, "decoder_", model.components_) * scale)
    return P

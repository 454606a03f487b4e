"""Checks that the metrics share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fairpca._validation import Groups, encode_groups, shown_labels

__all__ = ["by_group", "check_basis", "two_groups"]


def check_basis(V: Any, n_features: int) -> np.ndarray:
    """Return the orthonormal basis `V` (n_features × k), or raise with what is wrong."""
    basis = np.asarray(V, dtype=np.float64)
    if basis.ndim != 2 or basis.shape[0] != n_features:
        hint = ""
        if basis.ndim == 2 and basis.shape[1] == n_features:
            hint = " An estimator stores its basis as rows: pass components_.T."
        raise ValueError(
            f"V has shape {basis.shape}; it must have one row for each of the {n_features} features.{hint}"
        )
    deviation = float(np.abs(basis.T @ basis - np.eye(basis.shape[1])).max(initial=0.0))
    if not deviation <= 1e-6:  # NaN is no basis either
        raise ValueError(
            f"the columns of V are not orthonormal (V'V differs from I by {deviation:.1e}); orthonormalise them, or "
            "pass a scoring matrix to the functions that take projection=…."
        )
    return basis


def two_groups(sensitive_features: Any, n_samples: int, what: str) -> Groups:
    """Return the groups, or raise unless there are exactly two."""
    groups = encode_groups(sensitive_features, n_samples)
    if len(groups.labels) != 2:
        raise ValueError(
            f"{what} compares two groups; sensitive_features has {len(groups.labels)}: {shown_labels(groups.labels)}."
        )
    return groups


def by_group(values: np.ndarray, labels: tuple[Any, ...], name: str) -> pd.Series:
    """Return one value for each group, labelled."""
    return pd.Series(values, index=pd.Index(list(labels), tupleize_cols=False, name="group"), name=name)

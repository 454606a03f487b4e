"""LEACE of Belrose et al. (2023), then PCA: linear erasure, and only then fewer numbers."""

from typing import Any

from fairpca.eraser import LinearEraser
from fairpca.pca import PCA
from fairpca.report.method import Method, Rows, Steps


def fit(rows: Rows, n_components: int) -> Any:
    """Erase the groups with the least change of rows, then fit PCA of the erased rows."""
    eraser = LinearEraser().fit(rows.X, sensitive_features=rows.groups)
    erased = Rows(eraser.transform(rows.X), rows.groups)
    return Steps(eraser.transform, PCA(n_components).fit(erased.moments))


ORDER = 61
METHOD = Method(
    name="leace",
    title="LEACE + PCA",
    cite="belrose2023",
    about="Changes rows as little as possible so that no linear function tells groups apart, then keeps the most.",
    fit=fit,
)

"""Ordinary PCA, the baseline."""

from typing import Any

from fairpca.pca import PCA
from fairpca.report.method import Method, Rows


def fit(rows: Rows, n_components: int) -> Any:
    """Fit PCA of all rows."""
    return PCA(n_components).fit(rows.moments)


ORDER = 0
METHOD = Method(
    name="pca",
    title="PCA",
    cite="pearson1901",
    about="Keeps the most variance; knows no groups.",
    fit=fit,
)

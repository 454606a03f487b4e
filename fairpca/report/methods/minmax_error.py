"""Fair PCA of Samadi et al. (2018): smallest largest reconstruction error of a group."""

from typing import Any

from fairpca.minmax import MinMaxFairPCA
from fairpca.report.method import Method, Rows


def fit(rows: Rows, n_components: int) -> Any:
    """Solve with a certificate, from moments."""
    return MinMaxFairPCA(n_components, objective="error").fit(rows.moments)


ORDER = 11
METHOD = Method(
    name="minmax_error",
    title="Min-max error",
    cite="samadi2018",
    about="Smallest largest reconstruction error of a group.",
    fit=fit,
)

"""Fair PCA of Tantipongpipat et al. (2019): largest least variance of a group."""

from typing import Any

from fairpca.minmax import MinMaxFairPCA
from fairpca.report.method import Method, Rows


def fit(rows: Rows, n_components: int) -> Any:
    """Solve with a certificate, from moments."""
    return MinMaxFairPCA(n_components, objective="variance").fit(rows.moments)


ORDER = 12
METHOD = Method(
    name="minmax_variance",
    title="Max-min variance",
    cite="tantipongpipat2019",
    about="Largest least variance that any group keeps.",
    fit=fit,
)

"""Fair PCA of Tantipongpipat et al. (2019): largest geometric mean of the groups' variances."""

from typing import Any

from fairpca.minmax import MinMaxFairPCA
from fairpca.report.method import Method, Rows


def fit(rows: Rows, n_components: int) -> Any:
    """Solve with a certificate, from moments."""
    return MinMaxFairPCA(n_components, objective="nash").fit(rows.moments)


ORDER = 13
METHOD = Method(
    name="minmax_nash",
    title="Nash welfare",
    cite="tantipongpipat2019",
    about="Largest geometric mean of the variances that the groups keep.",
    fit=fit,
)

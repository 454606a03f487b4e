"""Fair PCA of Samadi et al. (2018): smallest largest loss of a group against its own PCA."""

from typing import Any

from fairpca.minmax import MinMaxFairPCA
from fairpca.report.method import Method, Rows


def fit(rows: Rows, n_components: int) -> Any:
    """Solve with a certificate, from moments."""
    return MinMaxFairPCA(n_components, objective="loss").fit(rows.moments)


ORDER = 10
METHOD = Method(
    name="minmax_loss",
    title="Min-max loss",
    cite="samadi2018",
    about="Smallest largest loss of a group against its own PCA.",
    fit=fit,
)

"""Min-max fair PCA of Matakos et al. (2025): one direction at a time, each as good for the worst group as can be."""

from typing import Any

from fairpca.minmax import MinMaxFairPCA
from fairpca.report.method import Method, Rows


def fit(rows: Rows, n_components: int) -> Any:
    """Solve every direction with a certificate, from moments."""
    return MinMaxFairPCA(n_components, objective="error", nested=True).fit(rows.moments)


ORDER = 14
METHOD = Method(
    name="minmax_nested",
    title="Min-max error, nested",
    cite="matakos2025",
    about="Smallest largest error of a group, direction after direction, so that leaving some out leaves a solution.",
    fit=fit,
)

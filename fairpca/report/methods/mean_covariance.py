"""Fair PCA of Kleindessner et al. (2023) that matches covariances too, in 85 % of the directions."""

from typing import Any

from fairpca.meanfair import MeanFairPCA
from fairpca.report.method import Method, Rows, Skipped


def fit(rows: Rows, n_components: int) -> Any:
    """Solve in closed form, from moments."""
    if n_components > rows.X.shape[1] - len(rows.groups.labels) + 1:
        raise Skipped("Matching the means leaves fewer directions than components.")
    return MeanFairPCA(n_components, match="mean+covariance", n_candidates=0.85).fit(rows.moments)


ORDER = 52
METHOD = Method(
    name="mean_covariance",
    title="MeanFairPCA, mean and covariance",
    cite="kleindessner2023",
    about="Most variance among the directions in which means agree and covariances differ least.",
    fit=fit,
)

"""Fair PCA of Kleindessner et al. (2023): the groups' means coincide after an orthogonal projection."""

from typing import Any

from fairpca.meanfair import MeanFairPCA
from fairpca.report.method import Method, Rows, Skipped


def fit(rows: Rows, n_components: int) -> Any:
    """Solve in closed form, from moments."""
    if n_components > rows.X.shape[1] - len(rows.groups.labels) + 1:
        raise Skipped("Matching the means leaves fewer directions than components.")
    return MeanFairPCA(n_components).fit(rows.moments)


ORDER = 50
METHOD = Method(
    name="mean_orthogonal",
    title="MeanFairPCA, orthogonal",
    cite="kleindessner2023",
    about="Most variance in a subspace in which all groups have the same mean.",
    fit=fit,
)

"""The best linear code without linear information on the group: PCA of linearly erased rows in one step."""

from typing import Any

from fairpca.meanfair import MeanFairPCA
from fairpca.report.method import Method, Rows, Skipped


def fit(rows: Rows, n_components: int) -> Any:
    """Solve in closed form, from moments."""
    if n_components > rows.X.shape[1] - len(rows.groups.labels) + 1:
        raise Skipped("Matching the means leaves fewer directions than components.")
    return MeanFairPCA(n_components, projection="oblique").fit(rows.moments)


ORDER = 51
METHOD = Method(
    name="mean_oblique",
    title="MeanFairPCA, oblique",
    cite="belrose2023",
    about="Best linear code, orthogonal or not, that carries no linear information on the group.",
    fit=fit,
)

"""MBF-PCA of Lee et al. (2022) with tolerance 1e-3."""

from typing import Any

from fairpca.mbfpca import MBFPCA
from fairpca.report.method import Method, Rows


def fit(rows: Rows, n_components: int) -> Any:
    """Search from four starts; the tolerance is met on the training rows or a note says not."""
    model = MBFPCA(n_components, tau=1e-3, n_starts=4, random_state=rows.seed)
    return model.fit(rows.X, sensitive_features=rows.groups)


ORDER = 41
METHOD = Method(
    name="mbfpca_1e3",
    title="MBF-PCA, τ = 1e-3",
    cite="lee2022",
    about="Most variance with MMD² between the projected groups at most 1e-3.",
    fit=fit,
)

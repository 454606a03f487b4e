"""FPCA of Olfat and Aswani (2019): most variance with equal means and a penalty on the difference of covariances."""

from typing import Any

from fairpca.fpca import FPCA
from fairpca.report.method import Method, Rows


def fit(rows: Rows, n_components: int) -> Any:
    """Solve the relaxation with a certificate, from moments."""
    return FPCA(n_components, constraints="both").fit(rows.moments)


ORDER = 31
METHOD = Method(
    name="fpca_both",
    title="FPCA, mean and covariance",
    cite="olfat2019",
    about="Most variance with equal means and a penalty on the difference of covariances.",
    max_groups=2,
    fit=fit,
)

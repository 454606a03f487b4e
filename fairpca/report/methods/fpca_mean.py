"""FPCA of Olfat and Aswani (2019): most variance with the groups' means equal after projection."""

from typing import Any

from fairpca.fpca import FPCA
from fairpca.report.method import Method, Rows


def fit(rows: Rows, n_components: int) -> Any:
    """Solve the relaxation with a certificate, from moments."""
    return FPCA(n_components, constraints="mean").fit(rows.moments)


ORDER = 30
METHOD = Method(
    name="fpca_mean",
    title="FPCA, mean",
    cite="olfat2019",
    about="Most variance with the groups' means equal after projection.",
    max_groups=2,
    fit=fit,
)

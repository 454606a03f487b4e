"""RFPCA of Vu et al. (2022), robust and balanced."""

from typing import Any

from fairpca.report.method import Method, Rows, Skipped
from fairpca.rfpca import RFPCA


def fit(rows: Rows, n_components: int) -> Any:
    """Solve exactly for two groups, by majorise-minimise for more."""
    if n_components >= rows.X.shape[1]:
        raise Skipped("RFPCA needs fewer components than features.")
    model = RFPCA(n_components, lam=0.5, alpha=0.15)
    return (model if rows.moments.n_groups == 2 else model.set_params(solver="mm")).fit(rows.moments)


ORDER = 20
METHOD = Method(
    name="rfpca",
    title="RFPCA, λ = 0.5",
    cite="vu2022",
    about="Smallest worst-case error plus half the gap between the groups' errors.",
    fit=fit,
)

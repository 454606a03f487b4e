"""Columns standardised in each group by itself, then PCA: the usual advice, which needs the group of new rows."""

from typing import Any

import numpy as np

from fairpca._validation import Groups
from fairpca.pca import PCA
from fairpca.report.method import Method, Rows, Steps


def fit(rows: Rows, n_components: int) -> Any:
    """Give every column mean 0 and its overall deviation in every group, then fit PCA."""
    means = rows.moments.means
    deviations = np.sqrt(np.diagonal(rows.moments.covariances(), axis1=1, axis2=2))
    overall = np.sqrt(np.diagonal(rows.moments.covariance()))
    factors = np.where(deviations > 1e-9 * overall, overall / np.maximum(deviations, 1e-300), 0.0)

    def change(X: np.ndarray, groups: Groups) -> np.ndarray:
        return (X - means[groups.codes]) * factors[groups.codes]

    left = Rows(change(rows.X, rows.groups), rows.groups)
    return Steps(change, PCA(n_components).fit(left.moments))


ORDER = 72
METHOD = Method(
    name="group_standardised",
    title="standardised by group + PCA",
    cite="feldman2015",
    about="Gives every column the same mean and variance in every group, then keeps the most variance.",
    fit=fit,
    groups_at_prediction=True,
)

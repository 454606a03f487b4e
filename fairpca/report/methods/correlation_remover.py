"""fairlearn's CorrelationRemover, then PCA: each group is moved to the common mean."""

from typing import Any

import numpy as np

from fairpca._validation import Groups
from fairpca.pca import PCA
from fairpca.report.method import Method, Rows, Steps


def fit(rows: Rows, n_components: int) -> Any:
    """Take the regression on the groups off the features, then fit PCA of what is left."""
    from fairlearn.preprocessing import CorrelationRemover

    def beside(X: np.ndarray, groups: Groups) -> np.ndarray:
        members = groups.codes[:, None] == np.arange(1, len(groups.labels))
        return np.column_stack((X, members.astype(np.float64)))

    together = beside(rows.X, rows.groups)
    remover = CorrelationRemover(sensitive_feature_ids=range(rows.X.shape[1], together.shape[1])).fit(together)

    def change(X: np.ndarray, groups: Groups) -> np.ndarray:
        return np.asarray(remover.transform(beside(X, groups)))

    left = Rows(change(rows.X, rows.groups), rows.groups)
    return Steps(change, PCA(n_components).fit(left.moments))


ORDER = 70
METHOD = Method(
    name="correlation_remover",
    title="CorrelationRemover + PCA",
    cite="weerts2023",
    about="Takes off what the group of a row says linearly about it, then keeps the most variance.",
    fit=fit,
    groups_at_prediction=True,
    requires=("fairlearn",),
)

"""Iterative nullspace projection: take off the direction of a linear classifier of the group, again and again."""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from fairpca.pca import PCA
from fairpca.report.method import Method, Rows, Skipped, Steps

_ENOUGH = 0.02  # above the accuracy of naming the largest group


def fit(rows: Rows, n_components: int) -> Any:
    """Project out classifiers' directions until none does better than naming the largest group, then fit PCA."""
    p, chance = rows.X.shape[1], rows.moments.weights.max()
    centred = rows.X - rows.X.mean(axis=0)
    removed = np.zeros((p, 0))
    while True:
        keep = np.eye(p) - removed @ removed.T
        classifier = LogisticRegression(tol=1e-3, max_iter=200).fit(centred @ keep, rows.groups.codes)
        if classifier.score(centred @ keep, rows.groups.codes) <= chance + _ENOUGH:
            break
        directions = np.linalg.svd(np.column_stack((removed, classifier.coef_.T)), full_matrices=False)
        removed = directions[0][:, directions[1] > 1e-8 * directions[1][0]]
        if p - removed.shape[1] < n_components:
            raise Skipped("INLP leaves fewer directions than components.")
    changed = Rows(centred @ keep, rows.groups)
    return Steps(lambda X: X @ keep, PCA(n_components).fit(changed.moments))


ORDER = 60
METHOD = Method(
    name="inlp",
    title="INLP + PCA",
    cite="ravfogel2020",
    about="Projects out directions of linear classifiers of the group until none succeeds, then keeps the most.",
    fit=fit,
)

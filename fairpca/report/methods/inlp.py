"""Iterative nullspace projection: take off the direction of a linear classifier of the group, again and again."""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from fairpca.pca import PCA
from fairpca.report.method import Method, Rows, Skipped, Steps

_ROUNDS = 8


def fit(rows: Rows, n_components: int) -> Any:
    """Project out the classifier's directions `_ROUNDS` times, then fit PCA."""
    p = rows.X.shape[1]
    centre = rows.X.mean(axis=0)
    removed = np.zeros((p, 0))
    for _ in range(_ROUNDS):
        left = (rows.X - centre) @ (np.eye(p) - removed @ removed.T)
        classifier = LogisticRegression(max_iter=500).fit(left, rows.groups.codes)
        directions = np.linalg.svd(np.column_stack((removed, classifier.coef_.T)), full_matrices=False)
        removed = directions[0][:, directions[1] > 1e-8 * directions[1][0]]
        if p - removed.shape[1] < n_components:
            raise Skipped(f"INLP leaves {p - removed.shape[1]} of {p} directions after {_ROUNDS} rounds.")
    keep = np.eye(p) - removed @ removed.T
    changed = Rows((rows.X - centre) @ keep, rows.groups)
    return Steps(lambda X: (X - centre) @ keep, PCA(n_components).fit(changed.moments))


ORDER = 60
METHOD = Method(
    name="inlp",
    title="INLP + PCA",
    cite="ravfogel2020",
    about="Projects out the directions of eight linear classifiers of the group, then keeps the most variance.",
    fit=fit,
)

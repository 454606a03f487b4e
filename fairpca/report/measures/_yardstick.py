"""What all methods of one split are measured against."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from fairpca._validation import shown_labels
from fairpca.linalg import top_eigenpairs
from fairpca.report.measures._criteria import Criterion, certified_criteria
from fairpca.report.measures._declared import Settings
from fairpca.report.method import Rows

__all__ = ["Yardstick"]


class Yardstick:
    """What all methods of one split and one dimension are measured against; computed once, on first use.

    Parameters
    ----------
    train, test : Rows
        Rows to learn from and held-out rows, of the same columns and groups.
    n_components : int
        Dimension of the representations.
    settings : Settings, optional
        How much work an evaluation may do.
    seed : int, default=0
        Of the rows that are drawn, the permutations and the folds: the same for all methods.
    """

    def __init__(
        self, train: Rows, test: Rows, n_components: int, settings: Settings | None = None, seed: int = 0
    ) -> None:
        if train.groups.labels != test.groups.labels:
            raise ValueError(
                f"training and test groups differ: {shown_labels(train.groups.labels)} and "
                f"{shown_labels(test.groups.labels)}."
            )
        absent = [train.groups.labels[g] for g in np.flatnonzero((train.groups.counts < 2) | (test.groups.counts < 2))]
        if absent:
            raise ValueError(
                f"group(s) {shown_labels(absent)} have fewer than two rows in the training or the test part; merge "
                "them with another group, or split so that every group is in both parts."
            )
        self.train, self.test, self.n_components = train, test, n_components
        self.settings, self.seed = settings or Settings(), seed
        self.total = float(np.trace(train.moments.covariance()))
        if self.total <= 0:
            raise ValueError("all training rows are equal, so there is no variance to explain; give data that vary.")

    @cached_property
    def kernel_rows(self) -> np.ndarray:
        """Held-out rows of which kernels are computed; every group keeps its share, and two rows at least."""
        n, limit = len(self.test), self.settings.kernel_rows
        if n <= limit:
            return np.arange(n)
        rng = np.random.default_rng([self.seed, 1])
        groups = [rng.permutation(self.test.groups.rows(g)) for g in range(len(self.test.groups.labels))]
        return np.sort(np.concatenate([rows[: max(2, round(limit * len(rows) / n))] for rows in groups]))

    @cached_property
    def permutations(self) -> np.ndarray:
        """Orders of `kernel_rows` that give away their groups, shape (n_permutations, n_rows)."""
        rng = np.random.default_rng([self.seed, 2])
        orders = [rng.permutation(len(self.kernel_rows)) for _ in range(self.settings.permutations)]
        return np.array(orders, dtype=np.int64).reshape(len(orders), len(self.kernel_rows))

    @cached_property
    def folds(self) -> np.ndarray:
        """Part of the cross-fitting of each of `kernel_rows`; every group is spread over the parts."""
        rng = np.random.default_rng([self.seed, 3])
        folds = np.empty(len(self.kernel_rows), dtype=np.int64)
        start = 0
        codes = self.test.groups.codes[self.kernel_rows]
        for g in range(len(self.test.groups.labels)):
            rows = rng.permutation(np.flatnonzero(codes == g))
            folds[rows] = (start + np.arange(len(rows))) % self.settings.folds
            start += len(rows)
        return folds

    @cached_property
    def positive(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Whether a training row, and a test row, is of the later one of two classes; None without such a label."""
        if self.train.y is None or self.test.y is None:
            return None
        classes = np.unique(self.train.y)
        if len(classes) != 2:
            return None
        return self.train.y == classes[1], self.test.y == classes[1]

    @cached_property
    def test_moments(self) -> np.ndarray:
        """Second moments of the test rows of each group about the group's mean over the training rows."""
        moments = self.test.moments
        shift = moments.means - self.train.moments.means
        return moments.covariances() + shift[:, :, None] * shift[:, None, :]

    @cached_property
    def own_errors(self) -> np.ndarray:
        """Error of each group on its test rows in the best subspace for its training rows."""
        best = [top_eigenpairs(M, self.n_components)[1] for M in self.train.moments.covariances()]
        kept = [np.vdot(V, M @ V) for V, M in zip(best, self.test_moments, strict=True)]
        return np.trace(self.test_moments, axis1=1, axis2=2) - np.array(kept)

    @cached_property
    def criteria(self) -> dict[str, Criterion]:
        """Objectives with certified optima on the training rows."""
        return certified_criteria(self.train.moments, self.n_components)

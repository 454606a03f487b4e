"""A random sample of rows that merges like moments."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairpca._validation import Groups, sorted_labels

__all__ = ["RowSample"]

_LEAST = 50  # rows of each group, however small its share


class RowSample:
    """The rows with the smallest of random keys: a simple random sample, whatever the batches and their order.

    Every row has a key, drawn from the seed and its number, so samples of parts merge into the sample of all. Of each
    group at least 50 rows are kept, where it has them.

    Parameters
    ----------
    size : int
        Rows to keep.
    seed : int, default=0
        Source of the keys.
    """

    def __init__(self, size: int, seed: int = 0) -> None:
        self.size, self.seed = size, seed
        self.keys = np.empty(0)
        self.codes = np.empty(0, dtype=np.int64)
        self.rows: np.ndarray | None = None
        self._position: dict[Any, int] = {}

    def add(self, first: int, X: np.ndarray, groups: Groups) -> None:
        """Add rows, of which the first has the number `first` in the whole."""
        at = np.array(
            [self._position.setdefault(label, len(self._position)) for label in groups.labels], dtype=np.int64
        )
        self._take(_keys(self.seed, first, len(X)), at[groups.codes], X)

    def merge(self, other: RowSample) -> None:
        """Add the sample of other rows, numbered otherwise, with the same size and seed."""
        if (self.size, self.seed) != (other.size, other.seed):
            raise ValueError("samples merge if their size and seed are the same.")
        if other.rows is not None:
            at = np.array([self._position.setdefault(label, len(self._position)) for label in other._position])
            self._take(other.keys, at[other.codes], other.rows)

    def groups(self) -> Groups:
        """Groups of the rows kept, sorted."""
        labels = sorted_labels(self._position)
        where = np.array([labels.index(label) for label in self._position], dtype=np.int64)
        return Groups(tuple(labels), where[self.codes])

    def _take(self, keys: np.ndarray, codes: np.ndarray, X: np.ndarray) -> None:
        if self.rows is not None and self.keys.size >= self.size:
            # Most rows of a long stream are neither among the smallest keys of all nor among those of their group.
            last = np.partition(self.keys, self.size - 1)[self.size - 1]
            own = np.array([self._last_of(g) for g in range(len(self._position))])
            chosen = (keys <= last) | (keys <= own[codes])
            keys, codes, X = keys[chosen], codes[chosen], X[chosen]
        self.keys, self.codes = np.concatenate((self.keys, keys)), np.concatenate((self.codes, codes))
        self.rows = X.copy() if self.rows is None else np.concatenate((self.rows, X))
        order = np.argsort(self.keys, kind="stable")
        sorted_codes = self.codes[order]
        rank = np.empty(order.size, dtype=np.int64)  # within the group
        by_group = np.argsort(sorted_codes, kind="stable")
        starts = np.searchsorted(sorted_codes[by_group], np.arange(len(self._position)))
        rank[by_group] = np.arange(order.size) - starts[sorted_codes[by_group]]
        kept = order[(np.arange(order.size) < self.size) | (rank < _LEAST)]
        self.keys, self.codes, self.rows = self.keys[kept], self.codes[kept], self.rows[kept]

    def _last_of(self, g: int) -> float:
        """Key above which no row of a group is kept for the group's sake."""
        keys = self.keys[self.codes == g]
        return float(np.partition(keys, _LEAST - 1)[_LEAST - 1]) if keys.size >= _LEAST else np.inf


def _keys(seed: int, first: int, n: int) -> np.ndarray:
    """Return the keys of rows first … first + n - 1: each a function of the seed and its number alone."""
    generator = np.random.Philox(key=seed)
    generator.advance(int(first) // 4)  # four numbers a step
    skip = int(first) % 4
    bits = generator.random_raw(n + skip)[skip:]
    return bits / 2.0**64

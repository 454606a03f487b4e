"""One method in one dimension, fitted without one part of the rows and measured on it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fairpca._validation import Groups
from fairpca.report.measures import Measured, Settings, Split, measure
from fairpca.report.methods import Method, Rows, Skipped, fit_method

__all__ = ["Cell", "Part", "measured_cell", "parts_of", "selected"]


def parts_of(groups: Groups, y: np.ndarray | None, n_parts: int, seed: int) -> np.ndarray:
    """Draw the parts of the cross-fitting: each group, and each class in it, is spread over all of them."""
    rng = np.random.default_rng([seed, 7])
    classes = np.zeros(len(groups.codes), dtype=int) if y is None else pd.factorize(y)[0]
    parts = np.empty(len(groups.codes), dtype=np.int64)
    for g in range(len(groups.labels)):
        start = int(rng.integers(n_parts))
        for c in np.unique(classes):
            rows = rng.permutation(np.flatnonzero((groups.codes == g) & (classes == c)))
            parts[rows] = (start + np.arange(len(rows))) % n_parts
            start += len(rows)
    return parts


@dataclass(frozen=True)
class Cell:
    """What was measured: numbers of the whole part, and of each of its rows for the intervals."""

    method: str
    n_components: int
    part: int
    measured: Measured
    codes: np.ndarray
    positive: np.ndarray | None  # of each row, where there is a label of two classes
    by_base_rate: dict[str, np.ndarray]  # rows that are selected when as many are selected as are positive
    result: Any
    seconds: float
    note: str

    def values(self) -> pd.DataFrame:
        """All numbers, one a row."""
        names = list(self.measured.numbers)
        head = {"method": self.method, "n_components": self.n_components, "part": self.part}
        return pd.DataFrame({**head, "metric": names, "value": [self.measured.numbers[name] for name in names]})

    def status(self) -> dict[str, Any]:
        """How the fit ended."""
        return {
            "method": self.method,
            "n_components": self.n_components,
            "part": self.part,
            "components": self.measured.components,
            "status": getattr(self.result, "status", ""),
            "certificate": getattr(self.result, "certificate", ""),
            "gap": float(getattr(self.result, "gap", float("nan"))),
            "seconds": self.seconds,
            "note": self.note,
        }


class Part:
    """Training and held-out rows of one part, prepared by the training rows."""

    def __init__(
        self,
        frame: pd.DataFrame,
        groups: Groups,
        y: np.ndarray | None,
        parts: np.ndarray,
        number: int,
        preparation: Any,
        settings: Settings | None,
        seed: int,
        rotated: int | None = None,
    ) -> None:
        self._rotated = rotated  # most components of methods in which a rotation of the features changes nothing
        self._frame, self._groups, self._y = frame, groups, y
        self._held, self._preparation = parts == number, preparation
        self.number, self.settings, self.seed = number, settings, seed
        self.rotated = False
        self._splits: dict[int, Split] = {}

    @cached_property
    def rows(self) -> tuple[Rows, Rows]:
        """Training rows and held-out rows."""
        from sklearn.base import clone
        from sklearn.preprocessing import StandardScaler

        preparation = StandardScaler() if self._preparation is None else clone(self._preparation)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Found unknown categories")  # they have no indicator
            train = np.asarray(preparation.fit_transform(self._frame[~self._held]), dtype=np.float64)
            test = np.asarray(preparation.transform(self._frame[self._held]), dtype=np.float64)
        if train.shape[1] > len(train) + len(test):  # the same rows in coordinates of the space that they span
            self.rotated = True
            train, test = np.split(_span(np.vstack([train, test])), [len(train)])
            # A coordinate in which training rows differ by rounding alone would be a feature to some methods.
            train[np.abs(train) < 1e-11 * np.abs(train).max()] = 0.0
        made = []
        for X, mask in ((train, ~self._held), (test, self._held)):
            groups = Groups(self._groups.labels, self._groups.codes[mask])
            made.append(Rows(X, groups, None if self._y is None else self._y[mask], self.seed))
        return made[0], made[1]

    def split_of(self, n_components: int) -> Split:
        """Return what all methods of this part and dimension are measured against."""
        if n_components not in self._splits:
            self._splits[n_components] = Split(*self.rows, n_components, self.settings, self.seed)
        return self._splits[n_components]


def measured_cell(part: Part, method: Method, n_components: int) -> Cell:
    """Fit a method to the training rows of a part and measure it on the others; may raise ``Skipped``."""
    train, test = part.rows
    if part.rotated and method.by_column:
        raise Skipped(f"{method.title} works column by column, and there are more columns than rows.")
    fitted = fit_method(method, train, n_components)
    split = part.split_of(n_components)
    measured = measure(fitted, split)
    known = split.positive
    rate = 0.0 if known is None else float(known[0].mean())
    return Cell(
        method.name,
        n_components,
        part.number,
        measured,
        test.groups.codes,
        None if known is None else known[1],
        {name: selected(scores, rate, part.seed) for name, scores in measured.probabilities.items()},
        getattr(fitted.model, "result_", None),
        fitted.seconds,
        " ".join(fitted.notes),
    )


def selected(scores: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """Return which rows are selected when the share `rate` with the highest scores is; ties are drawn at random."""
    order = np.lexsort((np.random.default_rng([seed, 5]).random(len(scores)), -scores))
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[order[: round(rate * len(scores))]] = True
    return chosen


def _span(X: np.ndarray) -> np.ndarray:
    """Rotate rows into as many coordinates as there are rows; all distances stay as they are."""
    return np.asarray(np.linalg.qr(X.T, mode="r")).T

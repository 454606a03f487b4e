"""One method in one dimension, fitted without one part of the rows and measured on it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fairpca._row_space import RowSpace
from fairpca._validation import Groups
from fairpca.report.measures import Settings, Yardstick, code_dimensions, evaluate, own_decoder
from fairpca.report.method import Method, Rows, fit_method

__all__ = ["Cell", "Part", "group_scores", "measured_cell", "parts_of", "squared_errors"]


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
    measures: dict[str, float]
    errors: np.ndarray  # squared errors, in % of the training rows' variance
    codes: np.ndarray
    numbers: np.ndarray  # the part, for each row
    scores: np.ndarray  # of a linear classifier of the second group, fitted without this part
    result: Any
    seconds: float
    note: str
    components: int  # that the method has, which may be more than it was asked for

    def values(self) -> pd.DataFrame:
        """All numbers, one a row."""
        names = list(self.measures)
        head = {"method": self.method, "n_components": self.n_components, "part": self.part}
        return pd.DataFrame({**head, "metric": names, "value": [self.measures[name] for name in names]})

    def status(self) -> dict[str, Any]:
        """How the fit ended."""
        return {
            "method": self.method,
            "n_components": self.n_components,
            "part": self.part,
            "components": self.components,
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
        self._yardsticks: dict[int, Yardstick] = {}

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
        space = None if self._rotated is None else RowSpace.of(np.vstack((train, test)), self._rotated)
        if space is not None:
            train, test = space.rows[: len(train)], space.rows[len(train) :]
        made = []
        for X, mask in ((train, ~self._held), (test, self._held)):
            groups = Groups(self._groups.labels, self._groups.codes[mask])
            made.append(Rows(X, groups, None if self._y is None else self._y[mask], self.seed))
        return made[0], made[1]

    def yardstick(self, n_components: int) -> Yardstick:
        """Return what all methods of this part and dimension are measured against."""
        if n_components not in self._yardsticks:
            self._yardsticks[n_components] = Yardstick(*self.rows, n_components, self.settings, self.seed)
        return self._yardsticks[n_components]


def measured_cell(part: Part, method: Method, n_components: int) -> Cell:
    """Fit a method to the training rows of a part and measure it on the others; may raise ``Skipped``."""
    train, test = part.rows
    fitted = fit_method(method, train, n_components)
    yard = part.yardstick(n_components)
    measures = evaluate(fitted, yard)
    Z_train, Z_test = fitted.encode(train.X, train.groups), fitted.encode(test.X, test.groups)
    own = own_decoder(fitted, Z_train, n_components)
    return Cell(
        method.name,
        n_components,
        part.number,
        measures,
        100.0 * squared_errors(Z_train, train.X, Z_test, test.X, own) / yard.total,
        test.groups.codes,
        np.full(len(test), part.number),
        group_scores(Z_train, train.groups.codes, Z_test),
        getattr(fitted.model, "result_", None),
        fitted.seconds,
        " ".join(fitted.notes),
        code_dimensions(Z_train, n_components),
    )


def squared_errors(
    Z_train: np.ndarray,
    train: np.ndarray,
    Z_test: np.ndarray,
    test: np.ndarray,
    own: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Squared error of each row; its group means are the errors.

    Rows are decoded by least squares on the training rows, or by `own`: see
    :func:`fairpca.report.measures.own_decoder`.
    """
    if own is not None:
        return np.asarray(np.sum((test - own(Z_test)) ** 2, axis=1))
    z, x = Z_train.mean(axis=0), train.mean(axis=0)
    B = np.linalg.lstsq(Z_train - z, train - x, rcond=1e-10)[0]
    return np.asarray(np.sum((test - x - (Z_test - z) @ B) ** 2, axis=1))


def group_scores(Z_train: np.ndarray, codes: np.ndarray, Z_test: np.ndarray) -> np.ndarray:
    """Scores of the linear discriminant of the second group against the first, learned from the training rows."""
    centre, spread = Z_train.mean(axis=0), Z_train.std(axis=0)
    spread = np.where(spread > 1e-10 * max(float(spread.max(initial=0.0)), 1e-300), spread, np.inf)
    Z, held = (Z_train - centre) / spread, (Z_test - centre) / spread
    within = np.zeros((Z.shape[1], Z.shape[1]))
    for g in (0, 1):
        rows = Z[codes == g]
        within += np.cov(rows.T, ddof=0).reshape(within.shape) / 2.0
    difference = Z[codes == 1].mean(axis=0) - Z[codes == 0].mean(axis=0)
    ridge = 1e-3 * max(float(np.trace(within)) / len(within), 1e-12)
    return np.asarray(held @ np.linalg.solve(within + ridge * np.eye(len(within)), difference))

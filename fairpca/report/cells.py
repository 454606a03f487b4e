"""One method in one dimension, fitted without one part of the rows and measured on it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairpca._validation import Groups
from fairpca.report.measures import Measured, Split, measure
from fairpca.report.methods import Method, Rows, Skipped, fit_method

__all__ = ["Cell", "measured_cell", "parts_of", "prepared_part", "selected"]


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
    """What was measured: numbers of the whole part, each of its rows for the intervals, and how the fit ended."""

    method: str
    n_components: int
    part: int
    measured: Measured
    codes: np.ndarray
    positive: np.ndarray | None  # of each row, where there is a label of two classes
    by_base_rate: dict[str, np.ndarray]  # rows that are selected when as many are selected as are positive
    status: dict[str, Any]


def prepared_part(
    frame: pd.DataFrame, groups: Groups, y: np.ndarray | None, held: np.ndarray, preparation: Any, seed: int
) -> tuple[Rows, Rows, bool]:
    """Return training rows, held-out rows, prepared by the training rows, and whether columns were rotated."""
    from sklearn.base import clone
    from sklearn.preprocessing import StandardScaler

    preparation = StandardScaler() if preparation is None else clone(preparation)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Found unknown categories")  # they have no indicator
        train = np.asarray(preparation.fit_transform(frame[~held]), dtype=np.float64)
        test = np.asarray(preparation.transform(frame[held]), dtype=np.float64)
    rotated = train.shape[1] > len(train) + len(test)
    if rotated:  # the same rows in coordinates of the space that they span; all distances stay as they are
        together = np.asarray(np.linalg.qr(np.vstack([train, test]).T, mode="r")).T
        train, test = np.split(together, [len(train)])
        # A coordinate in which training rows differ by rounding alone would be a feature to some methods.
        train[np.abs(train) < 1e-11 * np.abs(train).max()] = 0.0
    learn, look = (
        Rows(X, Groups(groups.labels, groups.codes[mask]), None if y is None else y[mask], seed)
        for X, mask in ((train, ~held), (test, held))
    )
    return learn, look, rotated


def measured_cell(split: Split, method: Method, part: int, rotated: bool) -> Cell:
    """Fit a method to the training rows of a part and measure it on the others; may raise ``Skipped``."""
    if rotated and method.by_column:
        raise Skipped(f"{method.title} works column by column, and there are more columns than rows.")
    fitted = fit_method(method, split.train, split.n_components)
    measured, known = measure(fitted, split), split.positive
    rate = 0.0 if known is None else float(known[0].mean())
    chosen = {name: selected(scores, rate, split.seed) for name, scores in measured.probabilities.items()}
    result = getattr(fitted.model, "result_", None)
    status = {
        "method": method.name,
        "n_components": split.n_components,
        "part": part,
        "components": measured.components,
        "status": getattr(result, "status", ""),
        "certificate": getattr(result, "certificate", ""),
        "gap": float(getattr(result, "gap", float("nan"))),
        "seconds": fitted.seconds,
        "note": " ".join(fitted.notes),
    }
    positive = None if known is None else known[1]
    codes = split.test.groups.codes
    return Cell(method.name, split.n_components, part, measured, codes, positive, chosen, status)


def selected(scores: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """Return which rows are selected when the share `rate` with the highest scores is; ties are drawn at random."""
    order = np.lexsort((np.random.default_rng([seed, 5]).random(len(scores)), -scores))
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[order[: round(rate * len(scores))]] = True
    return chosen

"""Data, curves and readings that several chapters on Samadi et al. (2018) share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from fairpca import GroupMoments, MinMaxFairPCA
from fairpca.datasets import load, standardise
from fairpca.linalg import top_eigenpairs
from fairpca.metrics import reconstruction_errors

__all__ = [
    "READINGS", "credit_moments", "credit_rows", "crossed_groups", "curve",
    "errors_and_losses", "faces_rows", "in_every_reading", "random_groups",
    "timed_fit", "wide_groups",
]  # fmt: skip

READINGS = {
    "text": "one common mean, as the text says",
    "stated": "each group's mean, as the script attempts",
    "printed": "as published",
}


@cache
def credit_rows(columns: str = "21 columns") -> tuple[np.ndarray, np.ndarray]:
    """Return the standardised credit table, and the education group of each row.

    The script loses the last column, PAY_AMT6, in reading the file. That leaves 21.
    """
    data = load("credit", keep_pay_amt6=columns == "22 columns")
    (X,) = standardise(data.X, ddof=1)
    return X, np.asarray(data.sensitive_features).astype(str)


@cache
def credit_moments() -> GroupMoments:
    """Return the moments of the 21 columns by education."""
    return GroupMoments.from_data(*credit_rows())


@cache
def faces_rows() -> tuple[np.ndarray, np.ndarray]:
    """Return the faces with pixels from 0 to 1, and the sex of each."""
    data = load("lfw")
    return data.X / 255.0, np.asarray(data.sensitive_features).astype(str)


def crossed_groups(n_groups: int) -> GroupMoments:
    """Return credit data by education (2), and sex (4), and age above mean (8)."""
    X, education = credit_rows()
    names = list(load("credit").feature_names)
    sex, old = (X[:, names.index(name)] > 0 for name in ("SEX", "AGE"))
    keys = {2: (education,), 4: (education, sex), 8: (education, sex, old)}[n_groups]
    groups = pd.Series(list(zip(*keys, strict=True))).astype(str).to_numpy()
    return GroupMoments.from_data(X, groups)


def random_groups(rng: np.random.Generator, n_groups: int = 2) -> np.ndarray:
    """Return random second moments in six features, with spectra that decay."""
    p = 6
    roots = rng.standard_normal((n_groups, p, p))
    powers = rng.permuted(np.tile(np.arange(p), (n_groups, 1)), axis=1)
    roots *= 0.6 ** powers[:, None]
    return roots @ roots.transpose(0, 2, 1) / p


def wide_groups(p: int) -> GroupMoments:
    """Return two groups of 4p normal rows in p features, with decaying variances."""
    rng = np.random.default_rng(0)
    shape = (4 * p, p)
    rows = [
        rng.standard_normal(shape) * 0.97 ** rng.permutation(p) for _ in range(2)
    ]  # fmt: skip
    return GroupMoments.from_data(np.concatenate(rows), np.repeat([0, 1], 4 * p))


def timed_fit(model: Any, moments: GroupMoments, d: int) -> Iterator[dict[str, Any]]:
    """Yield the processor time of a fit, in seconds and in eigen-decompositions."""
    start = process_time()
    np.linalg.eigh(moments.covariances()[0])
    middle = process_time()
    result = model.set_params(n_components=d).fit(moments).result_
    spent = process_time() - middle
    times = {"seconds": spent, "eighs": spent / max(middle - start, 1e-9)}
    for name, value in (
        times
        | {
            "p": moments.n_features,
            "gap": result.gap,
        }
    ).items():
        yield {"d": d, "metric": name, "value": float(value)}


def errors_and_losses(
    method: str,
    moments: GroupMoments,
    centering: Any,
    basis: np.ndarray,
    script: Callable[[int], MinMaxFairPCA],
) -> Iterator[dict[str, Any]]:
    """Yield each group's error and loss for d = 1, 2, ... as d, metric, value."""
    d_max = basis.shape[1]

    def error(V: np.ndarray) -> np.ndarray:
        return np.asarray(reconstruction_errors(moments, V, centering=centering))

    if method == "pca":  # the script's PCA of one group subtracts the group's mean
        mean: Any = "overall" if centering == "overall" else "group"
        own = [top_eigenpairs(C, d_max)[1] for C in moments.second_moments(mean)]
    elif method == "fairpca":
        fair = MinMaxFairPCA(centering=centering)
        path = fair.path(moments, n_components=range(1, d_max + 1))
    for d in range(1, d_max + 1):
        extra = {}
        if method == "pca":
            errors = error(basis[:, :d])
            losses = errors - [error(V[:, :d])[g] for g, V in enumerate(own)]
        else:
            if method == "fairpca":
                model = path[d - 1]
                extra["gap"] = model.result_.gap
            else:
                model = script(d).set_params(centering=centering).fit(moments)
                extra["average"] = model.result_.extra.get("chosen") == "average"
            extra["dimensions"] = d + model.result_.extra["extra_dimensions"]
            errors, losses = model.errors_, model.losses_
        values = {
            f"{name}_{group}": value
            for name, of_groups in (("loss", losses), ("error", errors))
            for group, value in zip(moments.labels, of_groups, strict=True)
        }
        for name, value in (values | extra | {"largest_loss": max(losses)}).items():
            yield {"d": d, "metric": name, "value": float(value)}


def curve(
    table: pd.DataFrame,
    dataset: str,
    method: str,
    metric: str,
    reading: str,
) -> pd.Series:
    """Return one curve of Figures 3 and 4, by the number of dimensions.

    As published, fair PCA is multiplicative weights. On the faces the script centres
    each group as it attempts to, so PCA has the same errors in both readings.
    """
    if reading == "printed":
        method = "mw" if method == "fairpca" else method
        reading = "stated" if (dataset, method) == ("lfw", "pca") else reading
    chosen = (table["dataset"] == dataset) & (table["method"] == method)
    chosen &= (table["metric"] == metric) & (table["protocol"] == reading)
    rows = table[chosen & (table["setting"] != "22 columns")]
    return rows.set_index("d")["value"]


def in_every_reading(
    judge: Callable[[str], tuple[Sequence[bool], str]],
    readings: Sequence[str] = tuple(READINGS),
) -> dict[str, Any]:
    """Judge by the first reading, and note which others come to another verdict.

    `judge` returns the conditions and the evidence by one reading.
    """
    (holds, evidence), *others = (judge(reading) for reading in readings)
    note = [
        f"Another reading gives another verdict ({READINGS[reading]}: {found})."
        for reading, (conditions, found) in zip(readings[1:], others, strict=True)
        if (all(conditions), any(conditions)) != (all(holds), any(holds))
    ]
    text = f"{evidence} ({READINGS[readings[0]]})"
    return {"holds": holds, "evidence": text, "note": " ".join(note)}

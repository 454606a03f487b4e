"""The methods that Vu et al. (2022) compare, and how they are judged."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from fairpca import FPCA, PCA, RFPCA, MinMaxFairPCA

__all__ = ["ETAS", "compared", "judge", "means", "rescaled", "split_groups"]

ETAS = (*(0.25 * i for i in range(1, 18)), 0.1)


def compared(
    method: str, protocol: str, stream: Any, k: int = 3
) -> Iterator[tuple[str, Any]]:
    """Yield every setting of a method with its estimator, in the program's order."""
    printed = protocol == "printed"
    if method == "rfpca":
        model = RFPCA(k, centering="none")
        if printed:  # Algorithm 1 from 20 random starts and from PCA
            model.set_params(solver="subgradient", variant="vu2022_code")
            model.set_params(max_iter=1000, options={"n_starts": 21})
            model.set_params(random_state=stream)
        for alpha, lam in product((0.05, 0.1, 0.15), (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)):
            model.set_params(alpha=alpha, lam=lam)
            yield f"alpha={alpha:g}, lam={lam:g}", model
    elif method == "fairpca" and printed:  # multiplicative weights, by step size
        model = MinMaxFairPCA(k, solver="mw", variant="vu2022_code", max_iter=1000)
        for eta in ETAS:
            yield f"eta={eta:g}", model.set_params(options={"eta": eta})
    elif method == "fairpca":
        yield "", MinMaxFairPCA(k)
    elif method == "cfpca_mean":
        model = FPCA(k, constraints="mean", tol=1e-9, options={"standardise": False})
        if printed:  # its constraint is practically Pf = 0 for every delta
            model.set_params(variant="vu2022_code")
        for delta in (0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9):
            yield f"delta={delta:g}", model.set_params(delta=delta)
    else:
        yield "", PCA(k)


def judge(
    model: Any,
    X: np.ndarray,
    group: np.ndarray,
    rows: np.ndarray | None = None,
    centres: np.ndarray | None = None,
) -> dict[str, float]:
    """Return the error of all rows X about zero, and of each group about a centre.

    By default a group's error is that of its rows in X about their mean.
    """
    rows = X if rows is None else rows
    centres = means(rows, group) if centres is None else centres
    P = model.components_.T @ model.components_  # printed FairPCA: no projection

    def error(points: np.ndarray) -> float:
        return float(np.mean(np.sum((points - points @ P) ** 2, axis=1)))

    own = [error(rows[group == g] - centres[g]) for g in (0, 1)]
    return {
        "are": error(X), "abdiff": abs(own[0] - own[1]),
        "error_0": own[0], "error_1": own[1],
    }


def means(X: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the mean of each group."""
    return np.array([X[group == g].mean(axis=0) for g in (0, 1)])


def split_groups(
    group: np.ndarray, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a share of each group for training, in the order of the authors' program."""
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(np.flatnonzero(group == g)) for g in (0, 1)]
    cut = [int(share * len(own)) for own in rows]
    train = np.concatenate([own[:n] for own, n in zip(rows, cut, strict=True)])
    test = np.concatenate([own[n:] for own, n in zip(rows, cut, strict=True)])
    return rng.permutation(train), rng.permutation(test)


def rescaled(X: np.ndarray) -> np.ndarray:
    """Standardise a second time, as the authors' routine for CFPCA does.

    The first standardisation leaves a constant feature as one tiny number in every
    row. The routine centres with the n × n matrix I - 11'/n. Its rounding turns the
    tiny number into noise, which is then scaled to unit variance. E. Coli has such a
    feature in the tables, so the rounding is repeated here.
    """
    n = len(X)
    constant = np.ptp(X, axis=0) == 0
    if np.any(constant & (X[0] != 0)):
        centred = (np.eye(n) - np.ones((n, n)) / n) @ X
    else:
        centred = X - X.mean(axis=0)
        centred[:, constant] = 0.0
    deviation = centred.std(axis=0)
    return centred / np.where(deviation > 0, deviation, 1.0)

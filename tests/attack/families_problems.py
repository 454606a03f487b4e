"""Rows and planes to attack with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

__all__ = ["hostile_rows", "kept", "own_sums", "planes"]

_KINDS = ("normal", "low rank", "whole numbers", "equal groups", "outlier", "units", "tiny group", "repeated rows")


def hostile_rows(rng: np.random.Generator, n_groups: int = 2, p: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows and their groups: few rows, ties, ranks, units, outliers; every group has a row."""
    p = int(rng.integers(2, 8)) if p is None else p
    n = int(rng.integers(max(8, 2 * n_groups), 60))
    kind = _KINDS[int(rng.integers(len(_KINDS)))]
    X = rng.standard_normal((n, p)) * rng.uniform(0.3, 1.0) ** np.arange(p)
    groups = rng.integers(0, n_groups, n)
    X += rng.uniform(0, 2) * groups[:, None] * rng.standard_normal(p)
    if kind == "low rank":
        X = X[:, : max(p // 2, 1)] @ rng.standard_normal((max(p // 2, 1), p))
    elif kind == "whole numbers":
        X = np.round(2 * X)
    elif kind == "equal groups":
        X = np.repeat(X[: n // n_groups], n_groups, axis=0)
        groups = np.tile(np.arange(n_groups), n // n_groups)
    elif kind == "outlier":
        X[0] *= 1e6
    elif kind == "units":
        X *= 10.0 ** rng.uniform(-5, 5, p)
    elif kind == "tiny group":
        groups = np.where(groups == n_groups - 1, 0, groups)
    elif kind == "repeated rows":
        X = X[rng.integers(0, max(n // 4, 2), n)]
    groups[:n_groups] = np.arange(n_groups)
    return X, groups


def planes(rng: np.random.Generator, V: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """Yield orthonormal bases: near `V`, farther away, and anywhere."""
    p, d = V.shape
    for i in range(count):
        noise = rng.standard_normal((p, d))
        size = (1e-6, 1e-3, 0.1, np.inf)[i % 4]
        yield np.linalg.qr(noise if size == np.inf else V + size * noise)[0]


def kept(moments: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return the variance that each group keeps in a plane."""
    return np.array([np.trace(V.T @ C @ V) for C in moments])


def own_sums(moments: np.ndarray, d: int) -> np.ndarray:
    """Return the largest variance that each group could keep."""
    return np.sort(np.linalg.eigvalsh(moments), axis=1)[:, -d:].sum(axis=1)

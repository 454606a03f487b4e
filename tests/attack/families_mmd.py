"""MBFPCA in the plane, where all directions can be tried."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from families_finding import Family, Finding
from families_problems import hostile_rows

from fairpca import MBFPCA

__all__ = ["FAMILIES"]


def _discrepancy(x: np.ndarray, y: np.ndarray, sigma: float) -> float:
    """The biased MMD² of two samples of numbers, from its definition."""

    def mean(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.exp(-((a[:, None] - b[None, :]) ** 2) / (2 * sigma**2)).mean())

    return mean(x, x) + mean(y, y) - 2 * mean(x, y)


def directions(rng: np.random.Generator) -> Iterator[Finding]:
    """One of two dimensions: what is called feasible is, and how far the variance is from the best direction's."""
    X, groups = hostile_rows(rng, p=2)
    if np.all(X.std(axis=0) <= 1e-9 * np.abs(X).max(axis=0)):
        return  # constant: refused
    X = X - X.mean(axis=0)
    size = float((X**2).sum())
    X = X / (size / len(X)) ** 0.5
    sigma, tau = float(rng.uniform(0.3, 2.0)), 10.0 ** rng.uniform(-4, -1)
    model = MBFPCA(1, tau=tau, bandwidth=sigma, n_starts=2, random_state=0).fit(X, sensitive_features=groups)

    def look(v: np.ndarray) -> tuple[float, float]:
        code = X @ v
        return float((code**2).mean()), _discrepancy(code[groups == 0], code[groups == 1], sigma)

    variance, found = look(model.components_[0])
    yield Finding("unit direction", abs(float(np.linalg.norm(model.components_[0])) - 1), 1e-12)
    yield Finding("MMD² as defined", abs(found - model.mmd2_), 1e-10)
    angles = np.linspace(0, np.pi, 300, endpoint=False)
    tried = [look(np.array([np.cos(a), np.sin(a)])) for a in angles]
    feasible = [v for v, mmd in tried if mmd <= tau]
    if model.result_.status in ("optimal", "converged"):
        yield Finding("MMD² above its limit", max(found / tau - 1, 0.0), 1e-6)
        short = max(max(feasible, default=0.0) - variance, 0.0)
        yield Finding("beaten by a direction", short, 1e-9 if model.result_.status == "optimal" else np.inf)
    elif model.result_.status == "not_found":
        # Local search has no proof of this; in the plane it must see what a coarse grid sees by far.
        yield Finding("not found, yet directions are feasible", float(any(mmd <= 0.5 * tau for _, mmd in tried)), 0.0)


FAMILIES: dict[str, Family] = {"MBFPCA, in the plane": directions}

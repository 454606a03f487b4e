"""Hostile second moments: ties, ranks, scales and near coincidences that eigenvalue optimisers stumble over."""

from __future__ import annotations

import numpy as np

__all__ = ["KINDS", "hostile_moments"]

KINDS = (
    "wishart",
    "low rank",
    "integer diagonal",
    "tied blocks",
    "shared axes",
    "near ties",
    "proportional",
    "equal",
    "isotropic",
    "mirrored",
    "wide spectrum",
    "single directions",
    "empty group",
)


def hostile_moments(seed: int) -> tuple[np.ndarray, int, str]:
    """Draw a problem: moments of 2 to 12 groups in 2 to 12 dimensions, a dimension d < p, and the kind.

    Half of the problems have groups in units between 1e-8 and 1e8, a quarter the same unit of that range for all.

    Parameters
    ----------
    seed : int
        Any; consecutive seeds go through the kinds.

    Returns
    -------
    (ndarray of shape (m, p, p), int, str)
    """
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    m, p = int(rng.integers(2, 13)), int(rng.integers(2, 13))
    d = int(rng.integers(1, p))
    M = _drawn(kind, m, p, rng)
    units = rng.integers(4)
    if units < 2:
        M = M * 10.0 ** rng.uniform(-8, 8, (m, 1, 1))
    elif units == 2:
        M = M * 10.0 ** rng.uniform(-8, 8)
    return (M + M.transpose(0, 2, 1)) / 2, d, kind


def _drawn(kind: str, m: int, p: int, rng: np.random.Generator) -> np.ndarray:
    roots = rng.standard_normal((m, p, p)) * rng.uniform(0.3, 1.0) ** np.arange(p)
    wishart = roots @ roots.transpose(0, 2, 1)
    whole = rng.integers(0, 4, (m, p)).astype(float)
    axes = np.linalg.qr(rng.standard_normal((m, p, p)))[0]
    match kind:
        case "low rank":
            thin = roots[:, :, : rng.integers(1, p + 1)]
            return thin @ thin.transpose(0, 2, 1)
        case "integer diagonal":
            return whole[:, :, None] * np.eye(p)
        case "tied blocks":
            return (axes * whole[:, None, :]) @ axes.transpose(0, 2, 1)
        case "shared axes":
            return (axes[0] * whole[:, None, :]) @ axes[0].T
        case "near ties":
            return (axes[0] * whole[:, None, :]) @ axes[0].T + 10.0 ** rng.uniform(-12, -4) * wishart
        case "proportional":
            return wishart[0] * rng.uniform(0.1, 10, (m, 1, 1))
        case "equal":
            return np.concatenate((wishart[:1], wishart[:1], wishart))[:m]
        case "isotropic":
            return np.eye(p) + 10.0 ** rng.uniform(-10, -2) * wishart
        case "mirrored":
            values = np.sort(rng.integers(0, 5, p)).astype(float)
            both = np.stack((np.diag(values), np.diag(values[::-1])))
            return np.concatenate((both, wishart))[:m]
        case "wide spectrum":
            return (axes * 10.0 ** -rng.uniform(0, 12, (m, 1, p))) @ axes.transpose(0, 2, 1)
        case "single directions":
            u = np.round(rng.standard_normal((m, p)))
            u[np.all(u == 0, axis=1)] = 1.0
            return u[:, :, None] * u[:, None, :]
        case "empty group":
            wishart[rng.integers(m)] = 0.0
            return wishart
    return wishart

"""What all RFPCA solvers check, and which penalty they use."""

from __future__ import annotations

from typing import get_args

import numpy as np

from fairpca._validation import check_choice
from fairpca.solvers.rfpca.objective import RFPCAVariant, published_lam

__all__ = ["check_problem", "penalty_used", "sizes"]


def check_problem(
    moments: np.ndarray, shares: np.ndarray, d: int, lam: float, eps: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return moments, shares and radii as float64 arrays, or raise if they do not make a problem."""
    moments = np.asarray(moments, dtype=np.float64)
    shares = np.asarray(shares, dtype=np.float64)
    eps = np.asarray(eps, dtype=np.float64)
    if moments.ndim != 3 or moments.shape[1] != moments.shape[2] or len(moments) < 2:
        raise ValueError(
            f"the second moments have shape {moments.shape}; they must be (n_groups, p, p) with two or more groups."
        )
    m, p = moments.shape[:2]
    if not 1 <= d < p:
        raise ValueError(f"n_components={d} is out of range; with {p} features it must lie between 1 and {p - 1}.")
    if shares.shape != (m,) or np.any(shares <= 0) or abs(shares.sum() - 1) > 1e-8:
        raise ValueError(f"the shares {shares.tolist()} must be {m} positive numbers that sum to 1.")
    if eps.shape != (m,):
        raise ValueError(f"eps has {eps.size} value(s); give one radius for each of the {m} groups.")
    if not np.all(np.isfinite(eps)) or np.any(eps < 0):
        raise ValueError(f"eps={eps.tolist()} must be finite and not negative.")
    if not (np.isfinite(lam) and lam >= 0):
        raise ValueError(f"lam={lam!r} must be a finite number, zero or larger.")
    if not np.all(np.isfinite(moments)):
        raise ValueError("the second moments contain NaN or infinite entries; clean the data first.")
    return moments, shares, eps


def sizes(moments: np.ndarray, eps: np.ndarray) -> np.ndarray:
    """Return what decides the unit of a problem: traces, and radii only where the unit would make them overflow."""
    return np.append(np.trace(moments, axis1=1, axis2=2), np.asarray(eps, dtype=np.float64) * 2.0**-900)


def penalty_used(
    variant: RFPCAVariant, moments: np.ndarray, shares: np.ndarray, eps: np.ndarray, d: int, lam: float
) -> float:
    """Return the penalty of a problem: `lam`, or what the published code makes of it."""
    check_choice("variant", variant, get_args(RFPCAVariant))
    if variant != "vu2022_code":
        return float(lam)
    if len(moments) != 2:
        raise ValueError(
            f"variant='vu2022_code' is defined for two groups and there are {len(moments)}; choose 'corrected' or "
            "'printed'."
        )
    return published_lam(moments, shares, eps, d, lam)

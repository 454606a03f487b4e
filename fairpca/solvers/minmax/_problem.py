"""What all min-max solvers check, and how they judge a result."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fairpca._validation import check_choice, check_components
from fairpca.solvers.result import SolverResult, Status
from fairpca.solvers.spectral.pencil import Pencil

__all__ = ["Objective", "certified_status", "check_problem", "trivial_result", "whole_dual"]

Objective = Literal["loss", "error"]


def check_problem(moments: np.ndarray, n_components: int, objective: str) -> tuple[np.ndarray, int]:
    """Return the moments as float64 and the dimension, or raise with what is wrong."""
    moments = np.asarray(moments, dtype=np.float64)
    if moments.ndim != 3 or moments.shape[1] != moments.shape[2] or len(moments) < 2:
        raise ValueError(
            f"moments has shape {moments.shape}; it must be (n_groups, n_features, n_features) with two groups or more."
        )
    if not np.isfinite(moments.sum()):
        raise ValueError("moments contain NaN or infinite values; clean or impute the data first.")
    check_choice("objective", objective, ("loss", "error"))
    return moments, check_components(n_components, moments.shape[1])


def certified_status(objective: float, bound: float, tol: float, floor: float) -> Status:
    """Return ``"optimal"`` when the gap is at most `tol` of the objective or at most `floor`, rounding's share."""
    return "optimal" if objective - bound <= max(tol * abs(objective), floor) else "max_iter"


def trivial_result(moments: np.ndarray, seconds: float = 0.0) -> SolverResult:
    """Return the solution for ``n_components == n_features``: everything is kept and nothing is lost."""
    m, p = moments.shape[:2]
    extra = {
        "weights": np.full(m, 1.0 / m),
        "losses": np.zeros(m),
        "errors": np.zeros(m),
        "best_sums": np.trace(moments, axis1=1, axis2=2),
        "extra_dimensions": 0,
        "large_solves": 0,
    }
    return SolverResult(np.eye(p), "optimal", 0.0, bound=0.0, certificate="proof", seconds=seconds, extra=extra)


def whole_dual(pencil: Pencil, weights: np.ndarray, references: np.ndarray, d: int) -> float:
    """Return the dual value at `weights` from the eigenvalues of the whole weighted matrix, without the basis."""
    values = np.linalg.eigvalsh(np.tensordot(weights, pencil.matrices, axes=1))
    return float(weights @ references - values[-d:].sum())

"""What every solver of the package returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np

__all__ = ["Certificate", "Sense", "SolverResult", "Status"]

Status = Literal["optimal", "converged", "max_iter", "not_found", "infeasible"]
Sense = Literal["min", "max"]
Certificate = Literal["proof", "estimate", "none"]


@dataclass(frozen=True)
class SolverResult:
    """Outcome of one solve.

    Attributes
    ----------
    V : ndarray of shape (n_features, n_components)
        Basis of the subspace found, or the columns of an affine map (see `basis`). On an estimator they stand in the
        order of ``components_``.
    status : {"optimal", "converged", "max_iter", "not_found", "infeasible"}
        ``"optimal"`` is certified by `gap`; ``"converged"`` is a stationary point that nothing
        certifies; ``"max_iter"`` ran out of budget; ``"not_found"`` violates the constraint, because the search
        found nothing that meets it; ``"infeasible"`` violates the constraint, and it is proved that nothing meets it.
    objective : float
        Value of the problem that the solver states in its docstring, at `V`.
    bound : float
        Bound on the optimal value, ``nan`` where the solver has none.
    sense : {"min", "max"}
        Whether the objective is minimised, so that `bound` lies below the optimum, or maximised, so that it lies
        above.
    certificate : {"proof", "estimate", "none"}
        What `bound` is worth. ``"proof"``: it holds up to rounding in the last digits of its own evaluation.
        ``"estimate"``: eigenvalues behind it were estimated from residuals, which is very likely and not proved.
        ``"none"``: there is no bound.
    basis : {"orthonormal", "ordered", "affine"}
        ``"orthonormal"``: the problem fixes the span of `V` only. ``"affine"``: columns are scaled, and belong to the
        solution. ``"ordered"``: orthonormal columns that were chosen one after the other, and stay in that order.
    n_iter : int
        Iterations (or eigen-decompositions, as the solver's docstring says).
    seconds : float
        Wall time.
    history : dict of str to ndarray
        Per-iteration records; empty when not asked for.
    extra : dict
        What only this solver knows: multipliers, losses, ranks, matrices.
    """

    V: np.ndarray
    status: Status
    objective: float
    _: KW_ONLY
    bound: float = float("nan")
    sense: Sense = "min"
    certificate: Certificate = "none"
    basis: Literal["orthonormal", "ordered", "affine"] = "orthonormal"
    n_iter: int = 0
    seconds: float = 0.0
    history: Mapping[str, np.ndarray] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if np.isnan(self.bound) != (self.certificate == "none"):
            raise ValueError(f"certificate={self.certificate!r} does not go with bound={self.bound!r}.")

    @property
    def gap(self) -> float:
        """``|objective - bound|``, absolute; ``nan`` without a bound."""
        return abs(self.objective - self.bound)

    @property
    def relative_gap(self) -> float:
        """Gap divided by the larger of the two bounds' magnitudes (0 when both vanish)."""
        scale = max(abs(self.objective), abs(self.bound))
        return self.gap / scale if scale > 0 else float(self.gap)

    def __repr__(self) -> str:
        bound = "" if np.isnan(self.gap) else f", gap={self.gap:.2e} ({self.certificate})"
        return (
            f"SolverResult(status={self.status!r}, objective={self.objective:.10g}{bound}, "
            f"n_iter={self.n_iter}, seconds={self.seconds:.3g})"
        )

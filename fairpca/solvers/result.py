"""What every solver of the package returns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np

__all__ = ["CONTRADICTION", "Certificate", "Sense", "SolverResult", "Status", "consistent_bound"]

CONTRADICTION = 1e-9  # share of the size of the terms by which rounding never lifts a bound beyond the cost

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
        ``"none"``: there is no bound; a `bound` of ``nan`` always has this certificate.
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
        if np.isnan(self.bound):
            object.__setattr__(self, "certificate", "none")
        elif self.certificate == "none":
            raise ValueError(f"certificate='none' does not go with bound={self.bound!r}; say what the bound is worth.")

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


def consistent_bound(cost: float, bound: float, rounding: float, *, proof: bool = True) -> float:
    """Return a lower bound on a cost, or ``nan`` where it contradicts the cost.

    Parameters
    ----------
    cost : float
        Cost of something feasible, so that no valid bound exceeds it.
    bound : float
        What was derived.
    rounding : float
        By how much rounding may lift it beyond the cost. More is an error of the derivation, which proves nothing.
    proof : bool, default=True
        Whether to warn of that, because a proof cannot be wrong. An estimate can, in ill-conditioned data.

    Returns
    -------
    float
        At most `cost`, or ``nan``.
    """
    if not bound - cost > rounding:
        return min(bound, cost)
    if proof:
        warnings.warn(
            f"the bound {bound:.17g} contradicts the cost {cost:.17g} of the solution found, so it was dropped and "
            "nothing is certified. This is an error of fairpca; please report it with the data.",
            RuntimeWarning,
            stacklevel=2,
        )
    return float("nan")

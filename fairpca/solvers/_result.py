"""What every solver of the package returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Status = Literal["optimal", "converged", "max_iter", "infeasible", "interrupted"]


@dataclass(frozen=True)
class SolverResult:
    """Outcome of one solve.

    Attributes
    ----------
    V : ndarray of shape (n_features, n_components)
        Orthonormal basis of the subspace found.
    status : {"optimal", "converged", "max_iter", "infeasible", "interrupted"}
        ``"optimal"`` is certified by `gap`; ``"converged"`` is a stationary point that nothing
        certifies; ``"max_iter"`` ran out of budget; ``"infeasible"`` violates its constraint;
        ``"interrupted"`` is the best iterate, feasible or not, when the user stopped the solver.
    objective : float
        Value of the problem that the solver states in its docstring, at `V`.
    lower_bound : float
        Proven bound on the optimal value (``nan`` where the solver has none). For a maximisation
        the solver says so in its docstring and this is the proven *upper* bound.
    gap : float
        ``|objective - lower_bound|``, absolute; ``nan`` without a bound.
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
    lower_bound: float = float("nan")
    gap: float = float("nan")
    n_iter: int = 0
    seconds: float = 0.0
    history: Mapping[str, np.ndarray] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def relative_gap(self) -> float:
        """Gap divided by the larger of the two bounds' magnitudes (0 when both vanish)."""
        scale = max(abs(self.objective), abs(self.lower_bound))
        return self.gap / scale if scale > 0 else float(self.gap)

    def __repr__(self) -> str:
        bound = "" if np.isnan(self.gap) else f", gap={self.gap:.2e}"
        return (
            f"SolverResult(status={self.status!r}, objective={self.objective:.10g}{bound}, "
            f"n_iter={self.n_iter}, seconds={self.seconds:.3g})"
        )

"""Pure solvers: arrays, or a problem made of them, in; a result out; no data frames, no estimators.

What solves the problem of an estimator returns a :class:`SolverResult`, along a path a list of them. What solves a part
of it, or another problem, returns what its docstring says, such as a frontier, an erasure or the referee's outcome.
Every public ``solve_…`` of a family is here, loaded on first use; what else a family offers is in its own package.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fairpca.solvers.result import SolverResult

_FAMILIES = {
    "erasure": ("erase_linearly", "solve_mean_fair", "solve_mean_fair_wide"),
    "fpca": ("solve_fpca", "solve_fpca_cvxpy", "solve_mean_only", "solve_splitting"),
    "frontier": ("solve_frontier",),
    "mbf": ("solve_continuation", "solve_mbf", "solve_repms"),
    "minmax": (
        "solve_fantope_minmax",
        "solve_minmax",
        "solve_minmax_nested",
        "solve_minmax_path",
        "solve_minmax_sdp",
        "solve_minmax_weights",
        "solve_minmax_wide",
    ),
    "rfpca": ("solve_rfpca", "solve_rfpca_groups", "solve_rfpca_path", "solve_rfpca_subgradient"),
}
_HOME = {name: family for family, names in _FAMILIES.items() for name in names}

__all__ = ["SolverResult", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"fairpca.solvers.{_HOME[name]}"), name)
    raise AttributeError(f"module 'fairpca.solvers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_FAMILIES])

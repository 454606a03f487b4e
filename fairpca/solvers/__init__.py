"""Pure solvers: arrays in, :class:`SolverResult` out; no data frames, no estimators.

One function (or a few) for each family, loaded on first use; what else a family offers is in its own package.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fairpca.solvers.result import SolverResult

_FAMILIES = {
    "erasure": ("erase_linearly", "solve_mean_fair", "solve_mean_fair_wide"),
    "fpca": ("solve_fpca", "solve_fpca_cvxpy"),
    "mbf": ("solve_mbf", "solve_repms"),
    "minmax": ("solve_minmax", "solve_minmax_path", "solve_minmax_sdp", "solve_minmax_weights", "solve_minmax_wide"),
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

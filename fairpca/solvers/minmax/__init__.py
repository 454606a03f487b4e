"""Min-max fair PCA: Samadi et al. (2018) and other criteria exactly by the dual, and the paper's two algorithms."""

from fairpca.solvers.minmax._ascent import ExactDimension
from fairpca.solvers.minmax._fantope import solve_fantope_minmax
from fairpca.solvers.minmax._newton_polish import rank_bound
from fairpca.solvers.minmax._problem import Objective, criterion_value
from fairpca.solvers.minmax.dual import solve_minmax, solve_minmax_path
from fairpca.solvers.minmax.nested import solve_minmax_nested
from fairpca.solvers.minmax.sdp import SDPRounding, solve_minmax_sdp
from fairpca.solvers.minmax.weights import WeightsVariant, solve_minmax_weights
from fairpca.solvers.minmax.wide import solve_minmax_wide

__all__ = [
    "ExactDimension",
    "Objective",
    "SDPRounding",
    "WeightsVariant",
    "criterion_value",
    "rank_bound",
    "solve_fantope_minmax",
    "solve_minmax",
    "solve_minmax_nested",
    "solve_minmax_path",
    "solve_minmax_sdp",
    "solve_minmax_weights",
    "solve_minmax_wide",
]

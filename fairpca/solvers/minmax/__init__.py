"""Fair PCA of Samadi et al. (2018): exact by the dual, and the paper's two algorithms."""

from fairpca.solvers.minmax._polish import rank_bound
from fairpca.solvers.minmax._problem import Objective
from fairpca.solvers.minmax.dual import solve_minmax, solve_minmax_path
from fairpca.solvers.minmax.sdp import Rounding, solve_minmax_sdp
from fairpca.solvers.minmax.weights import Variant, solve_minmax_weights

__all__ = [
    "Objective",
    "Rounding",
    "Variant",
    "rank_bound",
    "solve_minmax",
    "solve_minmax_path",
    "solve_minmax_sdp",
    "solve_minmax_weights",
]

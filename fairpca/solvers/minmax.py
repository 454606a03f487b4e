"""The solvers of Samadi et al.'s problem in one place; see the modules they come from."""

from fairpca.solvers._polish import rank_bound
from fairpca.solvers.minmax_dual import minmax_dual, minmax_dual_path
from fairpca.solvers.minmax_sdp import minmax_sdp
from fairpca.solvers.minmax_weights import minmax_weights

__all__ = ["minmax_dual", "minmax_dual_path", "minmax_sdp", "minmax_weights", "rank_bound"]

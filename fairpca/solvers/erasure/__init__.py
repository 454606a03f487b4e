"""No linear information on a sensitive variable: PCA under a mean constraint, linear erasure, and both at once."""

from fairpca.solvers.erasure.erase import Erasure, erase_linearly
from fairpca.solvers.erasure.means import CrossMoments, cross_moments
from fairpca.solvers.erasure.solve import Projection, solve_mean_fair

__all__ = [
    "CrossMoments",
    "Erasure",
    "Projection",
    "cross_moments",
    "erase_linearly",
    "solve_mean_fair",
]

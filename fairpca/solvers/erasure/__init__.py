"""No linear information on a sensitive variable: PCA under a mean constraint, linear erasure, and both at once."""

from fairpca.solvers.erasure.erase import Erasure, erase_linearly
from fairpca.solvers.erasure.means import CrossMoments, Directions, cross_moments, directions_of
from fairpca.solvers.erasure.solve import Projection, solve_mean_fair
from fairpca.solvers.erasure.wide import solve_mean_fair_wide

__all__ = [
    "CrossMoments",
    "Directions",
    "Erasure",
    "Projection",
    "cross_moments",
    "directions_of",
    "erase_linearly",
    "solve_mean_fair",
    "solve_mean_fair_wide",
]

"""RFPCA of Vu et al. (2022): exact for two groups, majorise-minimise for more, the paper's subgradient method."""

from fairpca.solvers.rfpca._boundary import Boundary, SupportPoint
from fairpca.solvers.rfpca._certificate import search_interval
from fairpca.solvers.rfpca.envelope import ComplementObjective, ProximalPoints, polar_factor
from fairpca.solvers.rfpca.exact import make_boundary, solve_rfpca, solve_rfpca_path
from fairpca.solvers.rfpca.fair_projection import fair_projection, fair_projection_exists, gap_range
from fairpca.solvers.rfpca.groups import solve_rfpca_groups
from fairpca.solvers.rfpca.objective import (
    GroupObjective,
    TwoGroupObjective,
    ambiguity_radii,
    published_lam,
    reconstruction_errors,
)
from fairpca.solvers.rfpca.subgradient import pca_start, random_starts, solve_rfpca_subgradient

__all__ = [
    "Boundary",
    "ComplementObjective",
    "GroupObjective",
    "ProximalPoints",
    "SupportPoint",
    "TwoGroupObjective",
    "ambiguity_radii",
    "fair_projection",
    "fair_projection_exists",
    "gap_range",
    "make_boundary",
    "pca_start",
    "polar_factor",
    "published_lam",
    "random_starts",
    "reconstruction_errors",
    "search_interval",
    "solve_rfpca",
    "solve_rfpca_groups",
    "solve_rfpca_path",
    "solve_rfpca_subgradient",
]

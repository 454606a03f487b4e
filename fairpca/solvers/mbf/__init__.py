"""MBF-PCA of Lee et al. (2022): largest variance under a bound on the MMD."""

from fairpca.solvers.mbf._problem import MBFProblem, row_space
from fairpca.solvers.mbf._subproblem import minimise
from fairpca.solvers.mbf.continuation import along_constraint, penalty_path
from fairpca.solvers.mbf.paper import REPMSOptions, solve_repms
from fairpca.solvers.mbf.solve import Comparison, MBFSettings, solve_mbf

__all__ = [
    "Comparison",
    "MBFProblem",
    "MBFSettings",
    "REPMSOptions",
    "along_constraint",
    "minimise",
    "penalty_path",
    "row_space",
    "solve_mbf",
    "solve_repms",
]

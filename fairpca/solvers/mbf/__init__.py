"""MBF-PCA of Lee et al. (2022): largest variance under a bound on the MMD."""

from fairpca.solvers.mbf._problem import Evaluation, MBFProblem, row_space
from fairpca.solvers.mbf._subproblem import minimise
from fairpca.solvers.mbf.continuation import Candidate, along_constraint, penalty_path, solve_continuation
from fairpca.solvers.mbf.paper import REPMSOptions, REPMSVariant, solve_repms
from fairpca.solvers.mbf.solve import Approximation, ComparedRows, MBFSettings, MBFSolver, SearchOptions, solve_mbf

__all__ = [
    "Approximation",
    "Candidate",
    "ComparedRows",
    "Evaluation",
    "MBFProblem",
    "MBFSettings",
    "MBFSolver",
    "REPMSOptions",
    "REPMSVariant",
    "SearchOptions",
    "along_constraint",
    "minimise",
    "penalty_path",
    "row_space",
    "solve_continuation",
    "solve_mbf",
    "solve_repms",
]

"""FPCA of Olfat and Aswani (2019), as used by Lee et al. (2022): a semidefinite programme, certified."""

from fairpca.solvers.fpca.cvxpy import RefereeOutcome, clarabel_memory_gigabytes, solve_fpca_cvxpy
from fairpca.solvers.fpca.mean import MeanOnlySolution, solve_mean_only
from fairpca.solvers.fpca.problem import FPCAProblem, fpca_problem
from fairpca.solvers.fpca.solve import solve_fpca
from fairpca.solvers.fpca.splitting import solve_splitting, upper_bound

__all__ = [
    "FPCAProblem",
    "MeanOnlySolution",
    "RefereeOutcome",
    "clarabel_memory_gigabytes",
    "fpca_problem",
    "solve_fpca",
    "solve_fpca_cvxpy",
    "solve_mean_only",
    "solve_splitting",
    "upper_bound",
]

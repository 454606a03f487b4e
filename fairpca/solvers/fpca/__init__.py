"""FPCA of Olfat and Aswani (2019), as used by Lee et al. (2022): a semidefinite programme, certified."""

from fairpca.solvers.fpca.cvxpy import Backend, Form, RefereeOutcome, solve_fpca_cvxpy
from fairpca.solvers.fpca.mean import MeanOnlySolution, solve_mean_only
from fairpca.solvers.fpca.problem import (
    Constraints,
    FPCAProblem,
    FPCAVariant,
    Mu,
    Reduction,
    Scale,
    Shift,
    Trace,
    fpca_problem,
    variant_defaults,
)
from fairpca.solvers.fpca.solve import FPCARounding, FPCASolver, solve_fpca
from fairpca.solvers.fpca.splitting import SplittingOutcome, solve_splitting, upper_bound

__all__ = [
    "Backend",
    "Constraints",
    "FPCAProblem",
    "FPCARounding",
    "FPCASolver",
    "FPCAVariant",
    "Form",
    "MeanOnlySolution",
    "Mu",
    "Reduction",
    "RefereeOutcome",
    "Scale",
    "Shift",
    "SplittingOutcome",
    "Trace",
    "fpca_problem",
    "solve_fpca",
    "solve_fpca_cvxpy",
    "solve_mean_only",
    "solve_splitting",
    "upper_bound",
    "variant_defaults",
]

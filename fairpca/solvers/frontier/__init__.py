"""Every non-dominated pair of two groups' reconstruction errors, as a path of eigenspaces with a certificate."""

from fairpca.solvers.frontier.path import Frontier, dominated, missed_share, solve_frontier

__all__ = ["Frontier", "dominated", "missed_share", "solve_frontier"]

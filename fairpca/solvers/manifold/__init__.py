"""Optimisation on manifolds: limited-memory BFGS with a weak Wolfe search."""

from fairpca.solvers.manifold.bfgs import RiemannianBFGS

__all__ = ["RiemannianBFGS"]

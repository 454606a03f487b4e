"""Optimisation on manifolds: limited-memory BFGS with a weak Wolfe search, and the manifolds of one frame."""

from fairpca.solvers.manifold.bfgs import RiemannianBFGS
from fairpca.solvers.manifold.frames import Grassmann, Stiefel

__all__ = [
    "Grassmann",
    "RiemannianBFGS",
    "Stiefel",
]

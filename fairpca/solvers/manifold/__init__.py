"""Optimisation on manifolds: BFGS of limited memory on any of them, and of full memory on the Stiefel manifold."""

from fairpca.solvers.manifold.bfgs import Grassmann, RiemannianBFGS
from fairpca.solvers.manifold.rbfgs import stiefel_rbfgs

__all__ = [
    "Grassmann",
    "RiemannianBFGS",
    "stiefel_rbfgs",
]

"""Optimisation over orthonormal frames: BFGS of limited memory, and of full memory on the Stiefel manifold."""

from fairpca.solvers.manifold.bfgs import Grassmann, limited_rbfgs
from fairpca.solvers.manifold.rbfgs import stiefel_rbfgs

__all__ = [
    "Grassmann",
    "limited_rbfgs",
    "stiefel_rbfgs",
]

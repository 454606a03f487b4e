"""Experiments of Samadi et al. (2018); each exhibit is a module of this package."""

from fairpca.experiments.samadi2018 import checks, claims, figures

__all__ = ["checks", "claims", "figures"]

"""Experiments of Samadi et al. (2018); each exhibit is a module of this package."""

from fairpca.experiments.samadi2018 import bounds, checks, claims, figures, settings

__all__ = ["bounds", "checks", "claims", "figures", "settings"]

"""Experiments of Lee et al. (2022) that no page computes yet."""

from fairpca.experiments.lee2022 import claims_theory

__all__ = ["claims_theory"]

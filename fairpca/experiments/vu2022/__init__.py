"""Experiments of Vu et al. (2022) whose chapters do not compute them yet: verdicts on theorems."""

from fairpca.experiments.vu2022 import claims_algorithm, claims_appendix, claims_theory

__all__ = ["claims_algorithm", "claims_appendix", "claims_theory"]

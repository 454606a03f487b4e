"""Experiments of Lee et al. (2022); each exhibit is a module of this package."""

from fairpca.experiments.lee2022 import (
    claims_table1,
    claims_theory,
    communality,
    planes,
    settings,
    table1,
)

__all__ = [
    "claims_table1",
    "claims_theory",
    "communality",
    "planes",
    "settings",
    "table1",
]

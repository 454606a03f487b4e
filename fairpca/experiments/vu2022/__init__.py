"""Experiments of Vu et al. (2022); each exhibit is a module of this package."""

from fairpca.experiments.vu2022 import (
    claims,
    claims_algorithm,
    claims_appendix,
    claims_theory,
    rounding,
    settings,
    table2,
    tables,
)

__all__ = [
    "claims",
    "claims_algorithm",
    "claims_appendix",
    "claims_theory",
    "rounding",
    "settings",
    "table2",
    "tables",
]

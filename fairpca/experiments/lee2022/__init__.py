"""Experiments of Lee et al. (2022); each exhibit is a module of this package."""

from fairpca.experiments.lee2022 import (
    claims,
    claims_optimisation,
    claims_table1,
    claims_theory,
    fig1,
    fpca,
    noise,
    schedules,
    settings,
    synthetic2,
    table1,
)

__all__ = [
    "claims",
    "claims_optimisation",
    "claims_table1",
    "claims_theory",
    "fig1",
    "fpca",
    "noise",
    "schedules",
    "settings",
    "synthetic2",
    "table1",
]

"""Leading eigenvectors: in shared bases for many weighted sums of matrices, and in complements of directions."""

from fairpca.solvers.spectral.pair_basis import PairBasis
from fairpca.solvers.spectral.pencil import (
    Pencil,
    Spectrum,
    StreamedPencil,
    avoiding_eigenpairs,
    mix_to_zero,
    split_ties,
    sum_error,
    zero_between,
)
from fairpca.solvers.spectral.units import in_units, result_in_units, safe_unit, unit_of

__all__ = [
    "PairBasis",
    "Pencil",
    "Spectrum",
    "StreamedPencil",
    "avoiding_eigenpairs",
    "in_units",
    "mix_to_zero",
    "result_in_units",
    "safe_unit",
    "split_ties",
    "sum_error",
    "unit_of",
    "zero_between",
]

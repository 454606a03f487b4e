"""Maximum mean discrepancy of projected groups: exact, and stated approximations."""

from fairpca.solvers.mmd.approx import FourierRows, gaussian_frequencies, stratified_rows, subsampled
from fairpca.solvers.mmd.kernel import (
    WeightedRows,
    contrast_weights,
    kernel_bytes,
    kernel_products,
    merge_duplicates,
    mmd2,
    total_mmd2,
)

__all__ = [
    "FourierRows",
    "WeightedRows",
    "contrast_weights",
    "gaussian_frequencies",
    "kernel_bytes",
    "kernel_products",
    "merge_duplicates",
    "mmd2",
    "stratified_rows",
    "subsampled",
    "total_mmd2",
]

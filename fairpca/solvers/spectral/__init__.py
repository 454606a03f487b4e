"""Shared bases in which the leading eigenvectors of many weighted sums of matrices are known."""

from fairpca.solvers.spectral.pair_basis import PairBasis
from fairpca.solvers.spectral.pencil import Pencil, Spectrum, mix_to_zero, split_ties, sum_error, whole_top_sum

__all__ = ["PairBasis", "Pencil", "Spectrum", "mix_to_zero", "split_ties", "sum_error", "whole_top_sum"]

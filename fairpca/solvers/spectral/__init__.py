"""Shared bases in which the leading eigenvectors of many weighted sums of matrices are known."""

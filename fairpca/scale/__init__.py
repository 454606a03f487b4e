"""Rows that do not fit in memory: readers, clusters, parts that are merged exactly once, MMD² by pairs of blocks."""

from fairpca.scale.mmd import KernelSums, kernel_sums, mmd_squared, project
from fairpca.scale.parts import merge_parts
from fairpca.scale.samples import RowSample

__all__ = ["KernelSums", "RowSample", "kernel_sums", "merge_parts", "mmd_squared", "project"]

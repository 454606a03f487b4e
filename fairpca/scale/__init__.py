"""Rows that do not fit in memory: readers, Dask, parts that are merged exactly once, MMD² by pairs of blocks."""

from fairpca.scale.batches import column_names
from fairpca.scale.cluster import merge_parts
from fairpca.scale.mmd import KernelSums, kernel_sums, mmd_squared, project

__all__ = [
    "KernelSums",
    "column_names",
    "kernel_sums",
    "merge_parts",
    "mmd_squared",
    "project",
]

"""Rows that do not fit in memory: readers, clusters, parts that are merged exactly once, MMD² by pairs of blocks."""

from fairpca.scale.batches import column_names
from fairpca.scale.mmd import KernelSums, kernel_sums, mmd_squared, project
from fairpca.scale.parts import merge_parts
from fairpca.scale.samples import RowSample
from fairpca.scale.sources import file_digest

__all__ = [
    "KernelSums",
    "RowSample",
    "column_names",
    "file_digest",
    "kernel_sums",
    "merge_parts",
    "mmd_squared",
    "project",
]

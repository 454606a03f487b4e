"""Rows that do not fit in memory: readers, Dask, and parts that are merged exactly once."""

from fairpca.scale.batches import column_names, project
from fairpca.scale.cluster import merge_parts

__all__ = [
    "column_names",
    "merge_parts",
    "project",
]

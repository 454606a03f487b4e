"""Rows that do not fit in memory: readers, clusters, parts that are merged exactly once."""

from fairpca.scale.batches import moments_of_batches
from fairpca.scale.cluster import moments_of_dask
from fairpca.scale.parts import merge_parts

__all__ = ["merge_parts", "moments_of_batches", "moments_of_dask"]

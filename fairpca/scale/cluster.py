"""Compute the moments of Dask frames and arrays: one task per partition, merged in the order of partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairpca._moments import GroupMoments
from fairpca._validation import encode_groups
from fairpca.scale.batches import moments_of_frame
from fairpca.scale.frames import ColumnChoice
from fairpca.scale.merging import merge_pair, merge_tree

__all__ = ["moments_of_dask"]


def moments_of_dask(
    data: Any,
    sensitive_features: Any = None,
    *,
    sensitive: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    weight: Any = None,
) -> GroupMoments:
    """See :meth:`fairpca.GroupMoments.from_dask`."""
    try:
        import dask
    except ImportError as error:
        raise ImportError("Dask is needed for this: pip install 'fairpca[scale]'.") from error
    if hasattr(data, "numblocks"):
        if sensitive is not None:
            raise ValueError("sensitive names columns of a frame; for an array give sensitive_features.")
        tasks = _tasks_of_array(dask, data, sensitive_features, weight, features)
    elif hasattr(data, "npartitions"):
        if sensitive_features is not None or sensitive is None:
            raise ValueError("for a Dask frame, name the column(s) with the groups: sensitive=….")
        tasks = _tasks_of_frame(dask, data, ColumnChoice.of(sensitive, features, weight))
    else:
        raise TypeError(f"data is of type {type(data).__name__}; give a Dask DataFrame or a Dask array.")
    merge = dask.delayed(merge_pair, pure=True)
    while len(tasks) > 1:
        tasks = [merge(*tasks[i : i + 2]) for i in range(0, len(tasks), 2)]
    return merge_tree(dask.compute(*tasks))


def _tasks_of_frame(dask: Any, frame: Any, columns: ColumnChoice) -> list[Any]:
    # Types are compared among the partitions: an empty frame says little about columns of objects.
    settled = replace(columns.settled(frame._meta, "the frame"), kinds=())
    part = dask.delayed(_frame_part, pure=True)
    found = frame.to_delayed(optimize_graph=True)
    return [part(piece, settled, number) for number, piece in enumerate(found)]


def _frame_part(frame: Any, columns: ColumnChoice, number: int) -> GroupMoments | None:
    return moments_of_frame(frame, columns, f"partition {number}")


def _tasks_of_array(dask: Any, data: Any, sensitive: Any, weight: Any, names: Any) -> list[Any]:
    if data.ndim != 2:
        raise ValueError(f"data has {data.ndim} dimensions; it must have two, rows and features.")
    if data.numblocks[1] != 1:
        raise ValueError(
            f"data is split into {data.numblocks[1]} blocks of columns; a task needs whole rows: "
            "data.rechunk({1: -1}) joins them."
        )
    if sensitive is None:
        raise ValueError("for a Dask array, give the group of each row: sensitive_features=….")
    blocks = data.to_delayed()[:, 0].tolist()
    groups = _beside(sensitive, data, "sensitive_features")
    weights = [None] * len(blocks) if weight is None else _beside(weight, data, "weight")
    part = dask.delayed(_array_part, pure=True)
    names = None if names is None else tuple(names)
    return [
        part(block, group, own, names, number)
        for number, (block, group, own) in enumerate(zip(blocks, groups, weights, strict=True))
    ]


def _beside(given: Any, data: Any, name: str) -> list[Any]:
    """Split what stands beside the rows as they are split."""
    if hasattr(given, "to_delayed"):
        pieces = given.to_delayed()
        found = pieces.ravel().tolist() if isinstance(pieces, np.ndarray) else list(pieces)
        if len(found) != data.numblocks[0]:
            raise ValueError(
                f"{name} has {len(found)} blocks, data has {data.numblocks[0]}; split both alike, for instance by "
                "rechunk."
            )
        return found
    sizes = data.chunks[0]
    if any(size != size for size in sizes):
        raise ValueError(
            f"the blocks of data have unknown numbers of rows, so {name} of type {type(given).__name__} cannot be "
            "split like them; give a Dask array or series, or call data.compute_chunk_sizes() first."
        )
    if len(given) != sum(sizes):
        raise ValueError(f"{name} has {len(given)} rows but data has {sum(sizes)}; give one value for each row.")
    ends = np.cumsum(sizes)
    rows = given if hasattr(given, "iloc") else np.asarray(given)
    rows = rows.iloc if hasattr(rows, "iloc") else rows
    return [rows[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def _array_part(X: Any, groups: Any, weights: Any, names: Any, number: int) -> GroupMoments | None:
    if not len(X):
        return None
    try:
        moments = GroupMoments.from_data(X, encode_groups(groups, len(X)), sample_weight=weights)
    except (ValueError, TypeError) as error:
        raise type(error)(f"partition {number}: {error}") from None
    if names is not None and len(names) != moments.n_features:
        raise ValueError(f"there are {len(names)} names of features for {moments.n_features} columns.")
    return moments if names is None else replace(moments, feature_names=names)

"""Compute the moments of Dask frames and arrays: one task per partition, merged in the order of partitions."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairpca._moments import GroupMoments
from fairpca._validation import encode_groups
from fairpca.scale.batches import moments_of_frame
from fairpca.scale.frames import ColumnChoice

__all__ = ["merge_pair", "merge_parts", "merge_tree", "moments_of_dask"]


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


def merge_parts(parts: Iterable[tuple[Hashable, Any]], keys: Iterable[Hashable]) -> GroupMoments:
    """Merge the moments of parts that workers sent back: every key once, whatever was computed twice or came late.

    Parameters
    ----------
    parts : iterable of (key, GroupMoments or bytes)
        In any order; bytes are those of :meth:`~fairpca.GroupMoments.to_bytes`. None stands for a part without rows.
    keys : iterable
        All keys, in the order in which parts are merged (as a tree).

    Returns
    -------
    GroupMoments

    Raises
    ------
    ValueError
        If a key is missing or unknown, or came twice with different content.
    """
    wanted = list(keys)
    if len(set(wanted)) < len(wanted):
        raise ValueError("keys names a part twice; every part has one key.")
    found: dict[Hashable, GroupMoments | None] = {}
    contents: dict[Hashable, bytes] = {}
    for key, part in parts:
        if isinstance(part, bytes | bytearray | memoryview):
            part = GroupMoments.from_bytes(bytes(part), f"part {key!r}")
        content = b"" if part is None else hashlib.sha256(part.to_bytes()).digest()
        if contents.setdefault(key, content) != content:
            raise ValueError(
                f"part {key!r} came twice with different content: the data changed meanwhile, or two parts share a key."
            )
        found[key] = part
    missing = [key for key in wanted if key not in found]
    if missing:
        raise ValueError(f"{len(missing)} of {len(wanted)} parts are missing: {_listed(missing)}; compute them again.")
    unknown = sorted(map(repr, set(found) - set(wanted)))
    if unknown:
        raise ValueError(f"there are parts that nobody asked for: {', '.join(unknown[:5])}.")
    return merge_tree([found[key] for key in wanted])


def merge_tree(parts: Sequence[GroupMoments | None]) -> GroupMoments:
    """Merge neighbours until one is left; None stands for a part without rows."""
    level = list(parts)
    while len(level) > 1:
        level = [merge_pair(*level[i : i + 2]) for i in range(0, len(level), 2)]
    if not level or level[0] is None:
        raise ValueError("there is no row; check the source, and that not all weights are zero.")
    return level[0]


def merge_pair(first: GroupMoments | None, second: GroupMoments | None = None) -> GroupMoments | None:
    """Merge two neighbours of the tree."""
    if first is None or second is None:
        return second if first is None else first
    return first.merge(second)


def _listed(keys: Sequence[Hashable]) -> str:
    return ", ".join(map(repr, keys[:5])) + (", …" if len(keys) > 5 else "")

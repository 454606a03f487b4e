"""Moments of Dask frames and arrays: one task a partition, a tree of merges in the order of partitions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairpca._moments import GroupMoments
from fairpca._validation import encode_groups
from fairpca.scale import attendance
from fairpca.scale.batches import moments_of_frame
from fairpca.scale.frames import Columns
from fairpca.scale.parts import KeptParts, code_of_parts, merge_pair, merge_tree

__all__ = ["current_client", "gather", "moments_of_dask"]

_AT_ONCE = 16  # partitions between two writes to the store where there is no cluster


def moments_of_dask(
    data: Any,
    sensitive_features: Any = None,
    *,
    sensitive: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    weight: Any = None,
    client: Any = None,
    store: Any = None,
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
        tasks = _tasks_of_frame(dask, data, Columns.of(sensitive, features, weight))
    else:
        raise TypeError(f"data is of type {type(data).__name__}; give a Dask DataFrame or a Dask array.")
    client = client or current_client()
    if store is not None:
        return merge_tree(_kept(dask, tasks, client, KeptParts(store), [sensitive, features, weight]))
    level = [delayed for _, delayed in tasks]
    merge = dask.delayed(merge_pair, pure=True)
    while len(level) > 1:
        level = [merge(*level[i : i + 2]) for i in range(0, len(level), 2)]
    if client is None:
        return merge_tree([dask.compute(level[0])[0]])
    found: list[Any] = []
    gather(client, client.compute(level), lambda number, result: found.append(result))
    return merge_tree(found)


Tasks = list[tuple[str, Any]]  # key and Delayed of each partition


def _tasks_of_frame(dask: Any, frame: Any, columns: Columns) -> Tasks:
    # Types are compared among the partitions: an empty frame says little about columns of objects.
    settled = replace(columns.settled(frame._meta, "the frame"), kinds=())
    part = dask.delayed(_frame_part, pure=True)
    found = frame.to_delayed(optimize_graph=True)
    return [(str(piece.key), part(piece, settled, number)) for number, piece in enumerate(found)]


def _frame_part(frame: Any, columns: Columns, number: int) -> GroupMoments | None:
    return moments_of_frame(frame, columns, f"partition {number}")


def _tasks_of_array(dask: Any, data: Any, sensitive: Any, weight: Any, names: Any) -> Tasks:
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
        (str(block.key), part(block, group, own, names, number))
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


# --------------------------------------------------------------------------------------------------------------------
# Computing


def current_client() -> Any:
    """Return the client that this process has opened, if any."""
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].default_client()
    except ValueError:
        return None


def _with_code(moments: GroupMoments | None) -> tuple[GroupMoments | None, str]:
    return moments, code_of_parts()


def _kept(dask: Any, tasks: Tasks, client: Any, kept: KeptParts, asked: Any) -> list[GroupMoments | None]:
    """Return the moments of all partitions; what was computed is stored at once, what is stored is not computed."""
    keys = [{"partition": key, "number": number, "asked": repr(asked)} for number, (key, _) in enumerate(tasks)]
    found = {number: moments for number, key in enumerate(keys) if (moments := kept.get(key)) is not None}
    missing = [number for number in range(len(tasks)) if number not in found]
    labelled = dask.delayed(_with_code, pure=True)
    todo = [labelled(tasks[number][1]) for number in missing]

    def take(position: int, result: tuple[GroupMoments | None, str]) -> None:
        moments, code = result
        if code != code_of_parts():
            raise RuntimeError("a worker has another version of fairpca than this process; give both the same.")
        if moments is not None:
            kept.put(keys[missing[position]], moments)
            found[missing[position]] = moments

    if client is not None:
        gather(client, client.compute(todo), take)
    else:
        for start in range(0, len(todo), _AT_ONCE):
            for position, result in enumerate(dask.compute(*todo[start : start + _AT_ONCE]), start):
                take(position, result)
    return [found.get(number) for number in range(len(tasks))]


def gather(client: Any, submitted: list[Any], take: Callable[[int, Any], None]) -> None:
    """Hand over the results of futures as they come; a cluster that is gone is an error soon."""
    futures = {future: number for number, future in enumerate(submitted)}
    there = attendance.Attendance(client, lambda: _lost(client))
    try:
        while futures:
            for future in there.finished(futures):
                if future.status == "cancelled":
                    raise _lost(client)
                if result := there.result(future):
                    take(futures.pop(future), *result)
    finally:
        if futures and there.threads():
            client.cancel(list(futures))


def _lost(client: Any) -> RuntimeError:
    address = getattr(client.scheduler, "addr", "")
    return RuntimeError(
        f"The Dask cluster {address} lost its scheduler, or all its workers for {attendance.PATIENCE:g} s. Start it "
        "again, then the same call; with store=… the partitions that were finished are kept."
    )

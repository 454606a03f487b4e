"""Merge the moments of parts, each exactly once, in an order that does not depend on who was faster."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from fairpca._moments import GroupMoments

__all__ = ["merge_pair", "merge_parts", "merge_tree"]


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

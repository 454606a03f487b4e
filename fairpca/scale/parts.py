"""Moments of parts: kept under a key, merged exactly once, in an order that nobody's speed decides."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from fairpca._moments import GroupMoments

__all__ = ["Kept", "KeptParts", "code_of", "code_of_parts", "merge_pair", "merge_parts", "merge_tree"]


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


@cache
def code_of_parts() -> str:
    """Hash of the code that computes the moments of a part."""
    return code_of(import_module("fairpca.scale.batches").moments_of_frame)


class Kept:
    """Values under keys in the file that also keeps the cells of experiments.

    Parameters
    ----------
    store : path or Store
        The file.
    kind : str
        What the values are.
    code : str
        Hash of the code that computes them.
    """

    # The store stands above; by name, so that nothing else here depends on experiments.
    def __init__(self, store: Any, kind: str, code: str) -> None:
        self._engine = import_module("fairpca.experiments.engine.store")
        self._store = store if isinstance(store, self._engine.Store) else self._engine.Store(store)
        self._kind, self._code = kind, code

    def get_value(self, key: Mapping[str, Any]) -> Any:
        """Return what is kept under a key (a number or an array), or None (also for what was damaged)."""
        cell = _name(key)
        try:
            found = self._store.get(self._kind, [self._code], cell).get((cell, self._code))
        except self._engine.StoreError:
            self._store.drop_damaged(self._kind, [self._code])
            return None
        return found.records[0]["value"] if found is not None and found.status == "done" else None

    def put_value(self, key: Mapping[str, Any], value: Any) -> None:
        """Keep a value; what is kept already stays."""
        finished = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        outcome = self._engine.StoredCell("done", [{"value": value}], "", 0.0, 0.0, finished)
        self._store.put(self._kind, _name(key), self._code, outcome)


class KeptParts(Kept):
    """Moments of parts, kept in a file."""

    def __init__(self, store: Any) -> None:
        super().__init__(store, "moments/parts", code_of_parts())

    def get(self, key: Mapping[str, Any]) -> GroupMoments | None:
        """Return the moments of a part, or None if they are not kept."""
        content = self.get_value(key)
        return None if content is None else GroupMoments.from_bytes(content.tobytes(), f"the kept part {_name(key)}")

    def put(self, key: Mapping[str, Any], moments: GroupMoments) -> None:
        """Keep the moments of a part."""
        self.put_value(key, np.frombuffer(moments.to_bytes(), dtype=np.uint8))


def _name(key: Mapping[str, Any]) -> str:
    return json.dumps(key, sort_keys=True)


def code_of(function: Any) -> str:
    """Hash of the code behind a function."""
    return str(import_module("fairpca.experiments.engine.codehash").code_hash(function))

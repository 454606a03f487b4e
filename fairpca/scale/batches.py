"""Moments of a table that is read batch by batch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairpca._moment_sums import MomentSums
from fairpca._moments import GroupMoments
from fairpca.scale.frames import Columns, add_batch
from fairpca.scale.parts import KeptParts
from fairpca.scale.sources import FilePart, batches, digest, file_parts, is_files

__all__ = ["moments_of_batches", "moments_of_frame"]

Progress = Callable[[str, int], None]


def moments_of_batches(
    source: Any,
    *,
    sensitive: str | Sequence[str],
    features: Sequence[str] | None = None,
    weight: str | None = None,
    progress: Progress | None = None,
    store: Any = None,
) -> GroupMoments:
    """See :meth:`fairpca.GroupMoments.from_batches`."""
    reading = _Reading(Columns.of(sensitive, features, weight), progress)
    if not is_files(source):
        if store is not None:
            raise ValueError("store keeps the parts of files; for this source it must be None.")
        reading.add(batches(source, reading.columns))
        return reading.moments()
    parts = file_parts(source)
    if store is not None:
        reading.add_kept(parts, KeptParts(store))
    else:
        for part in parts:
            reading.add(part.batches(reading.columns))
    for part in parts:
        part.check_unchanged()
    moments = reading.moments()
    return _typed(moments) if parts and parts[0].number is None else moments


def moments_of_frame(frame: Any, columns: Columns, where: str) -> GroupMoments | None:
    """Return the moments of one frame (pandas or Arrow), which messages call `where`; None if it has no rows."""
    columns = columns.settled(frame, where)
    assert columns.features is not None
    sums = MomentSums(len(columns.features))
    add_batch(sums, frame, columns, where)
    return GroupMoments.from_sums(sums, columns.features) if sums.position else None


class _Reading:
    """What was read so far."""

    def __init__(self, columns: Columns, progress: Progress | None) -> None:
        self.columns, self.progress = columns, progress
        self.sums: MomentSums | None = None

    def add(self, frames: Iterator[tuple[str, Any]]) -> None:
        """Add frames to the sums."""
        for where, frame in frames:
            self.columns = self.columns.settled(frame, where)
            assert self.columns.features is not None
            if self.sums is None:
                self.sums = MomentSums(len(self.columns.features))
            rows = add_batch(self.sums, frame, self.columns, where)
            if self.progress is not None:
                self.progress(where, rows)

    def add_kept(self, parts: list[FilePart], kept: KeptParts) -> None:
        """Add the moments of parts in their order; what is kept is not read again, what is read is kept."""
        asked, digests = _asked(self.columns), {}
        total: GroupMoments | None = None
        for part in parts:
            if part.path not in digests:
                digests[part.path] = digest(part.path)
                part.check_unchanged()
            key = {"file": digests[part.path], "part": part.number, "columns": asked}
            moments = kept.get(key)
            if moments is None:
                reading = _Reading(self.columns, self.progress)
                reading.add(part.batches(self.columns))
                self.columns = reading.columns
                if reading.sums is None or not reading.sums.position:  # no row in it
                    continue
                moments = reading.moments()
                kept.put(key, moments)
            elif self.progress is not None:
                self.progress(part.where, int(moments.n_samples))
            total = moments if total is None else _merged(total, moments, part.where)
        if total is not None:
            self.columns = replace(self.columns, features=total.feature_names)
            self.sums = MomentSums(total.n_features)
            self.sums.absorb(total)

    def moments(self) -> GroupMoments:
        """Return the moments, groups sorted."""
        if self.sums is None or not self.sums.position:
            raise ValueError("there is no row; check the source, and that not all weights are zero.")
        return GroupMoments.from_sums(self.sums, self.columns.features)


def _asked(columns: Columns) -> list[Any]:
    return [list(columns.sensitive), columns.features and list(columns.features), columns.weight]


def _merged(total: GroupMoments, moments: GroupMoments, where: str) -> GroupMoments:
    try:
        return total.merge(moments)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


# --------------------------------------------------------------------------------------------------------------------
# Groups of CSV files, which have no types


_INTEGER = re.compile(r"[+-]?\d+")
_WORDS = {"True": True, "true": True, "TRUE": True, "False": False, "false": False, "FALSE": False}


def _typed(moments: GroupMoments) -> GroupMoments:
    """Turn groups that are written as text into numbers or booleans where all of them are, as a reader of all would."""
    several = isinstance(moments.labels[0], tuple)
    columns = zip(*moments.labels, strict=True) if several else [moments.labels]
    values = [_converted(column) for column in columns]
    labels = list(zip(*values, strict=True)) if several else values[0]
    sums = MomentSums(moments.n_features)
    for g, label in enumerate(labels):  # "1" and "1.0" are one group
        one = slice(g, g + 1)
        sums.absorb(GroupMoments((label,), moments.counts[one], moments.means[one], moments.scatters[one]))
    return GroupMoments.from_sums(sums, moments.feature_names)


def _converted(texts: Sequence[str]) -> list[Any]:
    if all(_INTEGER.fullmatch(text) for text in texts):
        return [int(text) for text in texts]
    if all(text in _WORDS for text in texts):
        return [_WORDS[text] for text in texts]
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return list(texts)
    return numbers if np.all(np.isfinite(numbers)) else list(texts)

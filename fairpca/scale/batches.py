"""Compute moments and projections of a table that is read batch by batch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairpca._moment_sums import MomentSums
from fairpca._moments import GroupMoments
from fairpca._validation import Groups, sorted_labels
from fairpca.scale.frames import ColumnChoice, add_batch, check_numbers, pandas_frame, rows_of
from fairpca.scale.readers import batches, csv_names, files_of, is_csv, is_files, of_file, state_of

__all__ = ["column_names", "moments_of_batches", "moments_of_frame", "project"]

Progress = Callable[[str, int], None]


def moments_of_batches(
    source: Any,
    *,
    sensitive: str | Sequence[str],
    features: Sequence[str] | None = None,
    weight: str | None = None,
    progress: Progress | None = None,
) -> GroupMoments:
    """See :meth:`fairpca.GroupMoments.from_batches`."""
    sums: MomentSums | None = None
    names: tuple[str, ...] = ()
    for where, frame, columns in stream(source, ColumnChoice.of(sensitive, features, weight)):
        names = columns.features or ()
        sums = MomentSums(len(names)) if sums is None else sums
        rows = add_batch(sums, frame, columns, where)
        if progress is not None:
            progress(where, rows)
    if sums is None or not sums.position:
        raise ValueError("there is no row; check the source, and that not all weights are zero.")
    return _with_typed_labels(GroupMoments.from_sums(sums, names), source)


def moments_of_frame(frame: Any, columns: ColumnChoice, where: str) -> GroupMoments | None:
    """Return the moments of one frame (pandas or Arrow), which messages call `where`; None if it has no rows."""
    columns = columns.settled(frame, where)
    assert columns.features is not None
    sums = MomentSums(len(columns.features))
    add_batch(sums, frame, columns, where)
    return GroupMoments.from_sums(sums, columns.features) if sums.position else None


def column_names(source: Any) -> list[str]:
    """Return the columns of a source, from its first file or batch.

    Parameters
    ----------
    source : path, list of paths, dataset, relation, lazy frame, or iterable of frames
        As in :meth:`fairpca.GroupMoments.from_batches`; of a generator the first batch is used up.

    Returns
    -------
    list of str
        All columns in their order, also those with groups or weights.
    """
    if is_csv(source):  # whose rows could not be read before it is known which columns are numbers
        return csv_names(files_of(source)[0])
    columns = ColumnChoice.of("?", None, None)
    frames = of_file(files_of(source)[0], columns) if is_files(source) else batches(source, columns)
    for _, frame in frames:
        return list(map(str, pandas_frame(frame, columns).columns))
    raise ValueError("there is no row; check the source.")


def stream(source: Any, columns: ColumnChoice) -> Iterator[tuple[str, Any, ColumnChoice]]:
    """Yield (where, frame, columns) of any source, the columns compared with those of the first frame."""
    if not is_files(source):
        yield from _settled(batches(source, columns), columns)
        return
    listed = {path: state_of(path) for path in files_of(source)}
    for path in listed:
        for where, frame, settled in _settled(of_file(path, columns), columns):
            columns = settled
            yield where, frame, settled
    for path, state in listed.items():
        if state_of(path) != state:
            raise ValueError(
                f"{path} was changed during the run, so that parts of it would not belong together; start again."
            )


def _settled(frames: Iterator[tuple[str, Any]], columns: ColumnChoice) -> Iterator[tuple[str, Any, ColumnChoice]]:
    for where, frame in frames:
        frame = pandas_frame(frame, columns)
        columns = columns.settled(frame, where)
        yield where, frame, columns


def project(
    source: Any, model: Any, *, sensitive: str | Sequence[str], features: Sequence[str] | None = None
) -> tuple[np.ndarray, Groups]:
    """Return the projections of all rows of a source, and their groups; the rows themselves are never held together.

    Parameters
    ----------
    source, sensitive, features
        As in :meth:`fairpca.GroupMoments.from_batches`.
    model : fitted estimator
        Its ``transform`` is applied to each batch.

    Returns
    -------
    tuple of ndarray of shape (n_samples, n_components) and groups
        In the order of the source; the groups go where ``sensitive_features`` are asked for.
    """
    position: dict[Any, int] = {}
    projected, codes = [], []
    for where, frame, columns in stream(source, ColumnChoice.of(sensitive, features, None)):
        n, X, groups, _ = rows_of(frame, columns, where)
        if not n:
            continue
        check_numbers(X, columns, where)
        at = np.array([position.setdefault(label, len(position)) for label in groups.labels])
        named = pd.DataFrame(X, columns=columns.features, copy=False) if hasattr(model, "feature_names_in_") else X
        projected.append(np.asarray(model.transform(named)))
        codes.append(at[groups.codes])
    if not projected:
        raise ValueError("there is no row; check the source.")
    given = list(position)
    return np.concatenate(projected), _ordered(_typed_labels(given) if is_csv(source) else given, np.concatenate(codes))


def _ordered(labels: Sequence[Any], codes: np.ndarray) -> Groups:
    """Return groups in sorted order; equal names are one group."""
    names = sorted_labels(dict.fromkeys(labels))
    where = {label: g for g, label in enumerate(names)}
    return Groups(tuple(names), np.array([where[label] for label in labels], dtype=np.int64)[codes])


# --------------------------------------------------------------------------------------------------------------------
# Groups of CSV files, which have no types


_INTEGER = re.compile(r"[+-]?\d+")
_WORDS = {"True": True, "true": True, "TRUE": True, "False": False, "false": False, "FALSE": False}


def _typed_labels(labels: Sequence[Any]) -> list[Any]:
    """Turn groups that are written as text into numbers or booleans where all of them are, as a reader of all would."""
    if not isinstance(labels[0], tuple):
        return _converted(labels)
    return list(zip(*map(_converted, zip(*labels, strict=True)), strict=True))


def _with_typed_labels(moments: GroupMoments, source: Any) -> GroupMoments:
    """Give the groups of CSV files their types."""
    if not is_csv(source):
        return moments
    sums = MomentSums(moments.n_features)
    for g, label in enumerate(_typed_labels(moments.labels)):  # "1" and "1.0" are one group
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

"""One batch of a table: which columns are what, its rows as numbers, its groups by value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairpca._moment_sums import MomentSums
from fairpca._validation import Groups, encode_groups

__all__ = ["ColumnChoice", "add_batch", "check_numbers", "rows_of"]

NO_NUMBERS = (
    "encode them as numbers, or name the columns to take as features (on the command line --features, or --drop those "
    "that are none)"
)
_BLOCK = 1024  # rows that are turned from columns into rows together, so that both stay in the cache


@dataclass(frozen=True)
class ColumnChoice:
    """Which columns hold groups, features and weights; what :meth:`of` was asked for, complete after :meth:`settled`.

    Attributes
    ----------
    sensitive : tuple of str
        Columns with the groups.
    features : tuple of str or None
        Columns to take; None: all others, which :meth:`settled` finds in the first batch.
    weight : str or None
        Column with the weights.
    kinds : mapping of str to str
        What the sensitive columns hold, as in the first batch.
    closed : bool
        Whether other columns than these are an error.
    first : str
        Where the first batch stood.
    """

    sensitive: tuple[str, ...]
    features: tuple[str, ...] | None
    weight: str | None
    kinds: tuple[str, ...] = ()
    closed: bool = False
    first: str = ""

    @classmethod
    def of(cls, sensitive: str | Sequence[str], features: Sequence[str] | None, weight: str | None) -> ColumnChoice:
        """Check what a user gave."""
        names = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
        if not names or not all(isinstance(name, str) for name in names):
            raise ValueError(f"sensitive={sensitive!r} must name one column or several, as text.")
        if isinstance(features, str):
            raise ValueError(f"features={features!r} must be a list of columns, not one text.")
        chosen = None if features is None else tuple(features)
        if chosen is not None and not chosen:
            raise ValueError("features is empty; name one column at least, or leave it out to take all others.")
        every = [*names, *(chosen or ()), *([] if weight is None else [weight])]
        twice = sorted({name for name in every if every.count(name) > 1})
        if twice:
            raise ValueError(
                f"column(s) {', '.join(map(repr, twice))} are named twice as sensitive, features or weight."
            )
        return cls(names, chosen, weight)

    @property
    def names(self) -> list[str] | None:
        """All columns to read; None for all there are."""
        if self.features is None:
            return None
        return [*self.sensitive, *self.features, *([] if self.weight is None else [self.weight])]

    def settled(self, frame: Any, where: str) -> ColumnChoice:
        """Compare with a batch; the first one decides what is not said."""
        present = list(map(str, frame.columns if isinstance(frame, pd.DataFrame) else frame.schema.names))
        twice = (
            sorted({name for name in present if present.count(name) > 1}) if len(set(present)) < len(present) else []
        )
        if twice:
            raise ValueError(f"{where}: column(s) {_listed(twice)} occur twice; give every column a name of its own.")
        own = [*self.sensitive, *([] if self.weight is None else [self.weight])]
        missing = sorted({*own, *(self.features or ())} - set(present))
        if missing:
            raise ValueError(f"{where}: there is no column {_listed(missing)}; there are {_listed(present)}.")
        features = self.features
        if features is None:
            index = _index_columns(frame)
            features = tuple(name for name in present if name not in own and name not in index)
            if not features:
                raise ValueError(f"{where}: no column is left for the features besides {_listed(own)}.")
        elif self.closed and len(present) > len(features) + len(own):
            further = [name for name in present if name not in features and name not in own]
            further = [name for name in further if name not in _index_columns(frame)]
            if further:
                raise ValueError(
                    f"{where}: there are columns {_listed(further)}, which {self.first} does not have; name the "
                    "columns to take as features."
                )
        words = [
            name for name in [*features, *([] if self.weight is None else [self.weight])] if not _numeric(frame, name)
        ]
        if words:
            raise ValueError(
                f"{where}: column(s) {_listed(words)} hold no numbers ({_kind(frame, words[0])}); {NO_NUMBERS}."
            )
        kinds = tuple(_kind(frame, name) for name in self.sensitive)
        for name, kind, before in zip(self.sensitive, kinds, self.kinds or kinds, strict=True):
            if kind != before:
                raise ValueError(
                    f"{where}: column {name!r} holds {kind}, but {before} in {self.first}; write it alike in all "
                    "parts, or groups would be told apart by how they are written."
                )
        return ColumnChoice(
            self.sensitive, features, self.weight, kinds, self.closed or self.features is None, self.first or where
        )


def add_batch(sums: MomentSums, frame: Any, columns: ColumnChoice, where: str) -> int:
    """Add the rows of a frame (pandas or Arrow) to the sums; returns their number."""
    n, X, groups, weights = rows_of(frame, columns, where)
    if n:
        try:
            sums.add(X, groups, weights)
        except ValueError as error:
            assert columns.features is not None
            raise ValueError(f"{where}: {_what_is_wrong(X, columns.features) or error}") from None
    return n


def rows_of(frame: Any, columns: ColumnChoice, where: str) -> tuple[int, np.ndarray, Groups, np.ndarray | None]:
    """Return the number of rows of a frame, and their features, groups and weights; those of weight 0 are left out."""
    assert columns.features is not None
    n = len(frame) if isinstance(frame, pd.DataFrame) else frame.num_rows
    if n == 0:
        return 0, np.empty((0, len(columns.features))), Groups((), np.empty(0, dtype=np.int64)), None
    X = _rows([_numbers(frame, name, where) for name in columns.features], n)
    weights = None if columns.weight is None else _numbers(frame, columns.weight, where)
    groups = _groups(frame, columns.sensitive, where)
    if weights is not None:
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if bad.size:
            raise ValueError(
                f"{where}: the weight {columns.weight!r} is {weights[bad[0]]} in row {bad[0]}; weights must be finite "
                "and not negative."
            )
        if not np.all(weights):
            chosen = weights > 0
            X, weights, groups = X[chosen], weights[chosen], groups.of_rows(chosen)
    return n, X, groups, weights


def check_numbers(X: np.ndarray, columns: ColumnChoice, where: str) -> None:
    """Raise for values that are missing or infinite."""
    if not np.isfinite(X.sum()):  # one pass; only what fails it is looked at
        wrong = _what_is_wrong(X, columns.features or ())
        if wrong:
            raise ValueError(f"{where}: {wrong}")


def _what_is_wrong(X: np.ndarray, names: Sequence[str]) -> str | None:
    for j, name in enumerate(names):
        bad = np.flatnonzero(~np.isfinite(X[:, j]))
        if bad.size:
            what = "no value" if np.isnan(X[bad[0], j]) else "an infinite value"
            return f"column {name!r} has {what} in row {bad[0]} ({bad.size} such rows); clean or impute them first."
    return None


def _listed(names: Iterable[str], limit: int = 10) -> str:
    names = list(names)
    return ", ".join(map(repr, names[:limit])) + (f", … ({len(names)} in all)" if len(names) > limit else "")


def _rows(columns: list[np.ndarray], n: int) -> np.ndarray:
    """Return columns as a matrix of rows."""
    X = np.empty((n, len(columns)))
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        np.stack([column[start:stop] for column in columns], axis=1, out=X[start:stop])
    return X


# --------------------------------------------------------------------------------------------------------------------
# Columns of pandas and of Arrow


def _numeric(frame: Any, name: str) -> bool:
    return _kind(frame, name) in ("numbers", "booleans")


def _kind(frame: Any, name: str) -> str:
    """What a column holds: "numbers", "booleans", "text", or the name of another type."""
    if isinstance(frame, pd.DataFrame):
        return _pandas_kind(frame[name].dtype, frame[name])
    return _arrow_kind(frame.schema.field(name).type)


def _pandas_kind(dtype: Any, column: pd.Series | None) -> str:
    if isinstance(dtype, pd.CategoricalDtype):
        return _pandas_kind(dtype.categories.dtype, dtype.categories.to_series())
    if pd.api.types.is_bool_dtype(dtype):
        return "booleans"
    if pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "c":
        return "numbers"
    if dtype.kind == "O" and column is not None:
        inferred = pd.api.types.infer_dtype(column, skipna=True)
        known = {"string": "text", "boolean": "booleans", "integer": "numbers", "floating": "numbers", "empty": "text"}
        return known.get(inferred, inferred)
    return "text" if isinstance(dtype, pd.StringDtype) else str(dtype)


def _arrow_kind(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _arrow_kind(kind.value_type)
    if pa.types.is_boolean(kind):
        return "booleans"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numbers"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    return str(kind)


def _index_columns(frame: Any) -> set[str]:
    """Columns in which pandas stored the index of a frame: row numbers are no feature."""
    if isinstance(frame, pd.DataFrame):
        return set()
    described = frame.schema.pandas_metadata or {}
    return {name for name in described.get("index_columns", ()) if isinstance(name, str)}


def _numbers(frame: Any, name: str, where: str) -> np.ndarray:
    """Return a column as float64; a missing value is an error."""
    if isinstance(frame, pd.DataFrame):
        values: np.ndarray = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
        return values
    import pyarrow as pa

    column = frame.column(name)
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(
            f"{where}: column {name!r} has no value in row {row} ({column.null_count} such rows); clean or impute "
            "them first."
        )
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _groups(frame: Any, names: Sequence[str], where: str) -> Groups:
    """Return the groups by value; several columns are combined."""
    if isinstance(frame, pd.DataFrame):
        try:
            return encode_groups(frame[list(names)], len(frame))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    import pyarrow as pa

    labels, codes = [], []
    for name in names:
        column = frame.column(name)
        # Codes of a file's own dictionary mean nothing in another file: back to values, then codes of this batch.
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise ValueError(
                f"{where}: the sensitive column {name!r} has no value in row {row} ({column.null_count} such rows); "
                "every row needs a group: drop these rows, or give the missing values a group of their own."
            )
        encoded = column.dictionary_encode()
        labels.append([_plain(value) for value in encoded.dictionary.to_pylist()])
        codes.append(encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64))
        if any(value != value for value in labels[-1]):
            raise ValueError(f"{where}: the sensitive column {name!r} has values that are no numbers (NaN).")
    if len(names) == 1:
        return Groups(tuple(labels[0]), codes[0])
    shape = tuple(map(len, labels))
    present, flat = np.unique(np.ravel_multi_index(tuple(codes), shape), return_inverse=True)
    at = np.unravel_index(present, shape)
    combined = zip(*([values[i] for i in index] for values, index in zip(labels, at, strict=True)), strict=True)
    return Groups(tuple(combined), flat.astype(np.int64))


def _plain(value: Any) -> Any:
    from decimal import Decimal

    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return value

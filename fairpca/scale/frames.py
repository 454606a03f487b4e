"""One batch of a table: which columns are what, its rows as numbers, its groups by value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairpca._moment_sums import MomentSums
from fairpca._validation import Groups, encode_groups

__all__ = ["ColumnChoice", "add_batch", "check_numbers", "pandas_frame", "rows_of"]

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
    def named(self) -> list[str]:
        """The columns that a user has named."""
        return [*self.sensitive, *(self.features or ()), *([] if self.weight is None else [self.weight])]

    @property
    def names(self) -> list[str] | None:
        """All columns to read; None for all there are."""
        return None if self.features is None else self.named

    def settled(self, frame: pd.DataFrame, where: str) -> ColumnChoice:
        """Compare with a batch; the first one decides what is not said."""
        present = list(map(str, frame.columns))
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
            features = tuple(name for name in present if name not in own)
            if not features:
                raise ValueError(f"{where}: no column is left for the features besides {_listed(own)}.")
        elif self.closed and len(present) > len(features) + len(own):
            further = [name for name in present if name not in features and name not in own]
            if further:
                raise ValueError(
                    f"{where}: there are columns {_listed(further)}, which {self.first} does not have; name the "
                    "columns to take as features."
                )
        words = [
            name for name in [*features, *([] if self.weight is None else [self.weight])] if not _numeric(frame, name)
        ]
        if words:
            kind = _kind(frame[words[0]].dtype, frame[words[0]])
            raise ValueError(f"{where}: column(s) {_listed(words)} hold no numbers ({kind}); {NO_NUMBERS}.")
        kinds = tuple(_kind(frame[name].dtype, frame[name]) for name in self.sensitive)
        for name, kind, before in zip(self.sensitive, kinds, self.kinds or kinds, strict=True):
            if kind != before:
                raise ValueError(
                    f"{where}: column {name!r} holds {kind}, but {before} in {self.first}; write it alike in all "
                    "parts, or groups would be told apart by how they are written."
                )
        return ColumnChoice(
            self.sensitive, features, self.weight, kinds, self.closed or self.features is None, self.first or where
        )


def add_batch(sums: MomentSums, frame: pd.DataFrame, columns: ColumnChoice, where: str) -> int:
    """Add the rows of a frame to the sums; return their number."""
    n, X, groups, weights = rows_of(frame, columns, where)
    if n:
        try:
            sums.add(X, groups, weights)
        except ValueError as error:
            assert columns.features is not None
            raise ValueError(f"{where}: {_what_is_wrong(X, columns.features) or error}") from None
    return n


def rows_of(
    frame: pd.DataFrame, columns: ColumnChoice, where: str
) -> tuple[int, np.ndarray, Groups, np.ndarray | None]:
    """Return the number of rows of a frame, and their features, groups and weights; those of weight 0 are left out."""
    assert columns.features is not None
    n = len(frame)
    if n == 0:
        return 0, np.empty((0, len(columns.features))), Groups((), np.empty(0, dtype=np.int64)), None
    X = _rows([_numbers(frame[name]) for name in columns.features], n)
    weights = None if columns.weight is None else _numbers(frame[columns.weight])
    try:
        groups = encode_groups(frame[list(columns.sensitive)], n)
    except ValueError as error:
        named = f"the sensitive column {' and '.join(map(repr, columns.sensitive))}"
        raise ValueError(f"{where}: {str(error).replace('sensitive_features', named)}") from None
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
# Columns


def pandas_frame(frame: Any, columns: ColumnChoice) -> pd.DataFrame:
    """Return a frame of pandas; of record batches of Arrow without the index that pandas stored in them."""
    if isinstance(frame, pd.DataFrame):
        return frame
    import pyarrow as pa

    described = (frame.schema.pandas_metadata or {}).get("index_columns", ())
    index = {name for name in described if isinstance(name, str)} - set(columns.named)
    names, arrays = [], []
    for field, array in zip(frame.schema, frame.columns, strict=True):
        if field.name in index:
            continue
        names.append(field.name)
        if pa.types.is_decimal(field.type):
            array = array.cast(pa.float64())
        elif field.name in columns.sensitive and not pa.types.is_dictionary(field.type):
            array = array.dictionary_encode()  # one object per value instead of one per row
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, names=names).to_pandas(split_blocks=True)


def _numeric(frame: pd.DataFrame, name: str) -> bool:
    return _kind(frame[name].dtype, frame[name]) in ("numbers", "booleans")


def _kind(dtype: Any, column: pd.Series) -> str:
    """What a column holds: "numbers", "booleans", "text", or the name of another type."""
    if isinstance(dtype, pd.CategoricalDtype):
        return _kind(dtype.categories.dtype, dtype.categories.to_series())
    if pd.api.types.is_bool_dtype(dtype):
        return "booleans"
    if pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "c":
        return "numbers"
    if dtype.kind == "O":
        inferred = pd.api.types.infer_dtype(column, skipna=True)
        known = {"string": "text", "boolean": "booleans", "integer": "numbers", "floating": "numbers", "empty": "text"}
        return known.get(inferred, inferred)
    return "text" if isinstance(dtype, pd.StringDtype) else str(dtype)


def _numbers(column: pd.Series) -> np.ndarray:
    values: np.ndarray = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return values

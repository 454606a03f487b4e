"""Cells as data frames and as text: records in, the same frame out, bit for bit."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairpca.experiments.engine.store import canonical_json, decode_value

CELL = "cell"
# Columns of tidy tables: keys, what is measured and how, statistics. Other keys stand behind the known ones.
_KEYS = ("exhibit", "dataset", "p", "method", "setting", "d")
_VALUES = ("value", "mean", "sd", "min", "q1", "median", "q3", "max", "n")


def cells_frame(cells: Iterable[tuple[str, Sequence[Mapping[str, Any]]]]) -> pd.DataFrame:
    """Frame with one row a record: the cell's key columns, then what the cell returned.

    Parameters
    ----------
    cells : iterable of (str, list of dict)
        The cell's key as canonical JSON and its records.

    Returns
    -------
    DataFrame
        Column ``cell`` (the key as text), the key's fields, the records' fields.
    """
    rows: list[dict[str, Any]] = []
    keys: dict[str, None] = {}
    values: dict[str, None] = {}
    for cell, records in cells:
        key = json.loads(cell)
        keys.update(dict.fromkeys(key))
        for record in records:
            clash = sorted(set(key) & set(record))
            if clash:
                raise ValueError(
                    f"A cell returned {clash}, which are names of its key: {cell}. Rename what it returns."
                )
            values.update(dict.fromkeys(record))
            rows.append({CELL: cell, **key, **record})
    columns = [CELL, *keys, *(name for name in values if name not in keys)]
    data = {}
    for name in columns:
        column = [row.get(name) for row in rows]
        if _kind(column) == "json":
            holder = np.empty(len(column), dtype=object)
            holder[:] = column
            data[name] = pd.Series(holder, dtype=object)
        else:
            data[name] = pd.Series(column)
    return pd.DataFrame(data, columns=columns)


def _kind(values: Sequence[Any]) -> str:
    """How a column is written: as plain text of one type, or value by value as JSON."""
    present = [value for value in values if value is not None]
    if all(isinstance(value, bool | np.bool_) for value in present):
        return "bool" if len(present) == len(values) and present else "json"
    if any(isinstance(value, bool | np.bool_) for value in present):
        return "json"
    if all(isinstance(value, int | np.integer) for value in present):
        return "int"
    if all(isinstance(value, int | float | np.integer | np.floating) for value in present):
        return "float"
    if all(isinstance(value, str) and value != "" for value in present):
        return "str"
    return "json"


def write_cells(cells: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]) -> bytes:
    """Compressed CSV of cells and records; the same bytes for the same values."""
    fields: dict[str, None] = {}
    lines: list[dict[str, Any]] = []
    for cell, records in cells:
        for record in records:
            fields.update(dict.fromkeys(record))
            lines.append({CELL: cell, **record})
    table: dict[str, list[str]] = {CELL: [line[CELL] for line in lines]}
    for name in fields:
        column = [line.get(name) for line in lines]
        kind = _kind(column)
        # The kind stands in the header, so that the file can be read back without guessing.
        table[f"{name}:{kind}"] = [_write(value, kind) for value in column]
    text = pd.DataFrame(table).to_csv(index=False, lineterminator="\n")
    return gzip.compress(text.encode("utf-8"), compresslevel=9, mtime=0)


def _write(value: Any, kind: str) -> str:
    if value is None:
        return ""
    return str(value) if kind == "str" else canonical_json(value)


def read_cells(content: bytes) -> list[tuple[str, list[dict[str, Any]]]]:
    """Invert `write_cells`; a field that a record does not have comes back as None, which is the same in a frame."""
    text = gzip.decompress(content).decode("utf-8")
    table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    cells: dict[str, list[dict[str, Any]]] = {}
    headers = [(column, *column.rpartition(":")[::2]) for column in table.columns if column != CELL]
    for row in table.to_dict("records"):
        record = {}
        for column, name, kind in headers:
            written = row[column]
            plain = kind == "str" or written == ""
            record[name] = (written or None) if plain else decode_value(json.loads(written))
        cells.setdefault(row[CELL], []).append(record)
    return list(cells.items())


def tidy(
    cells: pd.DataFrame,
    metrics: Sequence[str],
    *,
    by: Sequence[str] = ("dataset", "method", "setting", "d"),
    protocol: str | Mapping[str, str] = "printed",
    ddof: int = 1,
) -> pd.DataFrame:
    """Mean, standard deviation and count of metrics over the cells of each group, in the project's tidy form.

    Parameters
    ----------
    cells : DataFrame
        One row a cell, one column a metric.
    metrics : sequence of str
        Columns to summarise.
    by : sequence of str
        Key columns; those that `cells` does not have are left out.
    protocol : str or mapping of str to str
        ``"printed"`` or ``"stated"``, for all or by metric.
    ddof : int
        Divisor of the variance is ``n - ddof``.

    Returns
    -------
    DataFrame
        Columns `by`, ``metric, protocol, mean, sd, n``, in the order in which the groups first appear.
    """
    keys = [name for name in by if name in cells.columns]
    rows = []
    for group, part in cells.groupby(keys, sort=False, dropna=False):
        for metric in metrics:
            values = part[metric].to_numpy(dtype=float)
            values = values[~np.isnan(values)]
            rows.append(
                {
                    **dict(zip(keys, group, strict=True)),
                    "metric": metric,
                    "protocol": protocol if isinstance(protocol, str) else protocol[metric],
                    "mean": float(values.mean()) if values.size else float("nan"),
                    "sd": float(values.std(ddof=ddof)) if values.size > ddof else float("nan"),
                    "n": int(values.size),
                }
            )
    return pd.DataFrame(rows)


def canonical_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Put the columns of a tidy table in order: keys, ``metric``, ``protocol``, values; others stay as they are."""
    if "metric" not in table.columns:
        return table
    last = ("metric", "protocol", *_VALUES)
    others = [name for name in table.columns if name not in (*_KEYS, *last)]
    return table[[name for name in (*_KEYS, *others, *last) if name in table.columns]]

"""Cells as data frames and as text: what is written is read back bit for bit."""

from __future__ import annotations

import base64
import gzip
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

CELL = "cell"
# Columns of tidy tables: keys, what is measured and how, statistics. Other keys come after the known ones.
KEYS = ("exhibit", "dataset", "p", "method", "setting", "d")
VALUES = ("value", "mean", "sd", "min", "q1", "median", "q3", "max", "n")
Cells = list[tuple[str, list[dict[str, Any]]]]


def canonical_json(value: Any) -> str:
    """Encode JSON with sorted keys and no spaces; arrays become their npy bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_encode)


def _encode(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, np.ndarray):
        raise TypeError(
            f"a cell has a value of type {type(value).__name__}; allowed are numbers, text, None, arrays, lists, dicts"
        )
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(value), allow_pickle=False)
    return {"__npy__": base64.b64encode(buffer.getvalue()).decode("ascii")}


def _decode(value: dict[str, Any]) -> Any:
    if set(value) != {"__npy__"}:
        return value
    return np.lib.format.read_array(io.BytesIO(base64.b64decode(value["__npy__"])), allow_pickle=False)


def _kind(values: Sequence[Any]) -> str:
    """Return how a column is written: as plain text of one type, or value by value as JSON."""
    names = {bool: "bool", np.bool_: "bool", int: "int", np.integer: "int", float: "float", np.floating: "float"}
    present = [value for value in values if value is not None]
    found = {next((name for kind, name in names.items() if isinstance(value, kind)), "json") for value in present}
    if present and all(isinstance(value, str) and value for value in present):
        return "str"
    if found == {"int", "float"}:
        return "float"
    mixed = len(found) != 1 or (found == {"bool"} and len(present) < len(values))
    return "json" if mixed else found.pop()


def cells_frame(cells: Iterable[tuple[str, Sequence[Mapping[str, Any]]]]) -> pd.DataFrame:
    """Return a frame with one row a record: the cell as text, its arguments, and what it returned."""
    parsed = [(cell, json.loads(cell), records) for cell, records in cells]
    lines = [{CELL: cell, **key, **record} for cell, key, records in parsed for record in records]
    first = dict.fromkeys(name for _, key, _ in parsed for name in key)
    columns = dict.fromkeys([CELL, *first, *(name for line in lines for name in line)])
    data = {name: [line.get(name) for line in lines] for name in columns}
    kinds = {name: object if _kind(column) == "json" else None for name, column in data.items()}
    return pd.DataFrame({name: pd.Series(column, dtype=kinds[name]) for name, column in data.items()})


def write_cells(cells: Cells) -> bytes:
    """Return compressed CSV of cells and records; the same bytes for the same values."""
    lines = [{CELL: cell, **record} for cell, records in cells for record in records]
    table = {CELL: [line[CELL] for line in lines]}
    for name in dict.fromkeys(name for line in lines for name in line if name != CELL):
        column = [line.get(name) for line in lines]
        kind = _kind(column)  # it is in the header, so that the file can be read without guessing
        encode = str if kind == "str" else canonical_json
        table[f"{name}:{kind}"] = ["" if value is None else encode(value) for value in column]
    text = pd.DataFrame(table).to_csv(index=False, lineterminator="\n")
    return gzip.compress(text.encode("utf-8"), compresslevel=9, mtime=0)


def read_cells(content: bytes) -> Cells:
    """Invert `write_cells`; a field that a record does not have comes back as None, which is the same in a frame."""
    text = io.StringIO(gzip.decompress(content).decode("utf-8"))
    cells: dict[str, list[dict[str, Any]]] = {}
    for row in pd.read_csv(text, dtype=str, keep_default_na=False).to_dict("records"):
        record = {}
        for header, written in list(row.items())[1:]:
            name, _, kind = str(header).rpartition(":")
            plain = kind == "str" or not written
            record[name] = (written or None) if plain else json.loads(written, object_hook=_decode)
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
    """Return mean, standard deviation and count of metrics over the cells of each group.

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
    lines = []
    for group, part in cells.groupby(keys, sort=False, dropna=False):
        for metric in metrics:
            values = part[metric].dropna().to_numpy(dtype=float)
            line = dict(zip(keys, group, strict=True))
            line |= {"metric": metric, "protocol": protocol if isinstance(protocol, str) else protocol[metric]}
            line["mean"] = float(values.mean()) if values.size else np.nan
            line["sd"] = float(values.std(ddof=ddof)) if values.size > ddof else np.nan
            lines.append(line | {"n": int(values.size)})
    return pd.DataFrame(lines)


def canonical_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Put the columns of a tidy table in order: keys, ``metric``, ``protocol``, values; others stay as they are."""
    last = ("metric", "protocol", *VALUES)
    others = [name for name in table.columns if name not in (*KEYS, *last)]
    ordered = [name for name in (*KEYS, *others, *last) if name in table.columns]
    return table[ordered] if "metric" in table.columns else table

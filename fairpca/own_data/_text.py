"""Read a table in text: its separator, its header, one field a column in every row."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairpca.own_data._layout import check_layout, layout_of

_SEPARATORS = (",", ";", "\t", "|")
_SAMPLE = 50  # records that tell the separator


def read_text(
    content: bytes,
    path: str,
    separator: str = "auto",
    header: bool = True,
    missing_marks: Sequence[str] | None = None,
) -> tuple[pd.DataFrame, str]:
    r"""Read a CSV file in UTF-8; the index is the line of the file on which each row begins.

    Parameters
    ----------
    content : bytes
        What the file holds.
    path : str
        What messages call it.
    separator : str
        The character between values, or "auto".
    header : bool
        Whether the first record holds names; without them the columns are called column1, column2, ….
    missing_marks : sequence of str, optional
        Words that are no values; default those of pandas.

    Returns
    -------
    DataFrame
        One row a record. Empty lines are no records; a last column without name and without any value, which comes
        from a separator at the end of every line, is left out. Names are as in the file, also if they repeat.
    separator : str
        The character between values.
    """
    if separator == "auto":
        separator = guessed_separator(content)
    elif len(separator) != 1 or separator in '"\r\n\0':
        raise ValueError(f"--separator {separator!r} is not a single character; give for instance ';'.")
    table = _regular(content, separator, header, missing_marks)
    if table is None:
        table = _irregular(content, path, separator, header, missing_marks)
    if header:
        names = next((row for row in _records(content, separator) if any(field.strip() for field in row)), [])
        if len(names) == table.shape[1]:  # pandas makes names unique, here they are kept
            table.columns = pd.Index([name.strip() for name in names], dtype=object)
    else:
        table.columns = pd.Index([f"column{number}" for number in range(1, table.shape[1] + 1)], dtype=object)
    last = table.iloc[:, -1]
    trailing = header and table.shape[1] > 1 and not table.columns[-1] and bool(last.isna().all())
    return (table.iloc[:, :-1] if trailing else table), separator


def guessed_separator(content: bytes) -> str:
    """Return the separator that gives all records of the beginning the same number of fields, and the most of them."""
    best, chosen = (0.0, 0), ","
    for separator in _SEPARATORS:
        counts = []
        for row in _records(content, separator):
            if any(field.strip() for field in row):
                counts.append(len(row))
            if len(counts) == _SAMPLE:
                break
        if counts and counts[0] > 1:
            same = sum(count == counts[0] for count in counts) / len(counts)
            if (round(same, 1), counts[0]) > best and same > 0.5:
                best, chosen = (round(same, 1), counts[0]), separator
    return chosen


def _records(content: bytes, separator: str) -> list[list[str]]:
    """Return the records at the beginning of a file."""
    text = content[: 2**18].decode(errors="ignore")
    found: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            found.append(row)
            if len(found) > 2 * _SAMPLE:
                break
    except csv.Error:  # whoever reads the whole file says where
        pass
    return found[:-1] if len(content) > 2**18 and len(found) > 1 else found


def _parse(content: bytes, separator: str, header: bool, missing_marks: Sequence[str] | None) -> pd.DataFrame:
    # Without index_col=False, pandas takes a first column that has no name for row labels.
    return pd.read_csv(
        io.BytesIO(content), sep=separator, index_col=False, header=0 if header else None, low_memory=False,
        keep_default_na=missing_marks is None, na_values=None if missing_marks is None else ["", *missing_marks],
    )  # fmt: skip


def _irregular(
    content: bytes, path: str, separator: str, header: bool, missing_marks: Sequence[str] | None
) -> pd.DataFrame:
    layout = layout_of(content, separator, path)
    what = "a CSV file with a header" if header else "a CSV file"
    if len(layout.lines) == 0:
        raise ValueError(f"{path!r} cannot be read as {what}: it is empty; give a file with a table.")
    check_layout(layout, separator, path)
    begin = f" The last row begins in line {layout.lines[-1]}; look for a quotation mark there that is not closed."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.ParserWarning)  # fields have been counted
            table = _parse(content, separator, header, missing_marks)
    except pd.errors.ParserError as error:
        raise ValueError(f"{path!r} cannot be read as {what}: {error}.{begin}") from error
    except (pd.errors.EmptyDataError, ValueError, OverflowError) as error:
        raise ValueError(f"{path!r} cannot be read as {what}: {error}; give a table in text.") from error
    if table.empty:
        raise ValueError(f"{path!r} has a header but no rows; give a table with at least two rows.")
    lines = layout.lines[1:] if header else layout.lines
    if len(table) != len(lines):
        raise ValueError(
            f"{path!r} was read as {len(table)} rows, but has {len(lines)}; "
            "look for a quotation mark that is not closed."
        )
    table.index = pd.Index(lines, name="line")
    return table


def _regular(content: bytes, separator: str, header: bool, missing_marks: Sequence[str] | None) -> pd.DataFrame | None:
    """Read a file whose counts prove that it has nothing unusual, several times faster than by looking at every line.

    A value in the last column of every row means that no row is short; then the number of all separators tells
    whether one is long.
    """
    if b'"' in content or not separator.isascii() or content.count(b"\r") != content.count(b"\r\n"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = _parse(content, separator, header, missing_marks)
    except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError, ValueError, OverflowError):
        return None
    lines, delimiter = len(table) + header, separator.encode()
    between = content.partition(b"\n")[0].count(delimiter)
    if (
        table.empty
        or table.shape[1] != between + 1
        or table.iloc[:, -1].isna().any()
        or content.count(b"\n") + (not content.endswith(b"\n")) != lines
        or content.count(delimiter) != between * lines
    ):
        return None
    table.index = pd.Index(np.arange(1 + header, lines + 1), name="line")
    return table

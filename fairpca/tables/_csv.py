"""Read a table in text: its separator, its header, one field per column in every row; report silent conversions."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

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


# --------------------------------------------------------------------------------------------------------------------
# How many fields every record has


SEPARATOR_HINT = " If the file has more columns, say what stands between its values, as in --separator ';'."


@dataclass(frozen=True)
class Layout:
    """Records of a file, the header first, without empty lines."""

    lines: np.ndarray  # on which each begins, counted from 1
    fields: np.ndarray  # how many each has
    trailing: np.ndarray  # whether it ends with a separator


def check_layout(layout: Layout, separator: str, path: str) -> None:
    expected = layout.fields[0]
    wrong = np.flatnonzero(layout.fields != expected)
    if not len(wrong):
        return
    rows = len(layout.lines) - 1
    first = wrong[0]
    shown = ", ".join(map(str, layout.lines[wrong[:5]])) + (", …" if len(wrong) > 5 else "")
    found = "1 field" if layout.fields[first] == 1 else f"{layout.fields[first]} fields"
    raise ValueError(
        f"{path!r}: line {layout.lines[first]} has {found}, but the header (line {layout.lines[0]}) has {expected}; "
        f"so it is for {len(wrong)} of {rows} rows (lines {shown}). " + _advice(layout, wrong, separator)
    )


def _advice(layout: Layout, wrong: np.ndarray, separator: str) -> str:
    """Say what to do about rows of the wrong length."""
    expected = layout.fields[0]
    all_rows = len(wrong) == len(layout.lines) - 1
    one_more = bool((layout.fields[wrong] == expected + 1).all())
    named = "comma" if separator == "," else f"separator {separator!r}"
    if one_more and layout.trailing[wrong].all():
        where = "Every row" if all_rows else "Each of these rows"
        return f"{where} ends with a trailing {named}, which the header does not: remove it at the ends of the rows."
    if (layout.fields[wrong] == expected - 1).all() and all_rows and layout.trailing[0]:
        return f"The header ends with a trailing {named}, which the rows do not: remove it."
    if expected == 1:
        return "The header has no " + named + "." + SEPARATOR_HINT
    if one_more and all_rows:
        return (
            "Give every column a name; the first one has none if these are row names as written by R's write.table "
            "(write them with row.names = FALSE)."
        )
    if (layout.fields[wrong] > expected).any():
        return f"Put values that contain a {named} into quotation marks, and remove fields without a column."
    return "Write a missing value as an empty field, and look for a line that was cut or a quotation mark not closed."


def _is_blank(line: bytes, separator: str) -> bool:
    """Whether a line is empty, or has only blanks that are no separators."""
    return not line.rstrip(b"\r\n").replace(b" ", b"").replace(b"\t", b"") and separator.encode() not in line


def layout_of(content: bytes, separator: str, path: str) -> Layout:
    """Count the fields with Python's reader, which takes every kind of line end and stray quotation marks."""
    lines, fields, trailing = [], [], []
    reader = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=separator)
    begin = 1
    try:
        for row in reader:
            if row and not (len(row) == 1 and _is_blank(row[0].encode(), separator)):
                lines.append(begin)
                fields.append(len(row))
                trailing.append(len(row) > 1 and not row[-1])
            begin = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{path!r} cannot be read from line {begin} on ({error}); look for a quotation mark that is not closed."
        ) from error
    return Layout(np.array(lines, dtype=int), np.array(fields, dtype=int), np.array(trailing, dtype=bool))


# --------------------------------------------------------------------------------------------------------------------
# What pandas converts without a word: words to missing values, codes with leading zeros to numbers


_NOTHING = re.compile(rb"\b(?:NA|N/A|n/a|NaN|nan|NULL|null|None)\b")
_ZERO = re.compile(r"\s*[+-]?0\d+\s*")


def silent_notes(content: bytes, separator: str, header: bool, frame: pd.DataFrame) -> list[str]:
    """Return what is to be said about words taken as missing, and about codes with leading zeros.

    Parameters
    ----------
    content : bytes
        The file, in UTF-8.
    separator : str
        The character between values.
    header : bool
        Whether the first record holds names.
    frame : DataFrame
        What was parsed, with the names that people see.
    """
    zero = re.compile(rb'(?:^|["\s]|' + re.escape(separator.encode()) + rb")[+-]?0\d", re.M)
    with_words, with_zeros = (bool(pattern.search(content)) for pattern in (_NOTHING, zero))
    columns = [frame.iloc[:, position] for position in range(frame.shape[1])]
    gaps = [position for position, column in enumerate(columns) if with_words and column.hasnans]
    numbers = [position for position, column in enumerate(columns) if with_zeros and _whole(column)]
    asked = sorted({*gaps, *numbers})
    if not asked:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.ParserWarning)
        raw = pd.read_csv(
            io.BytesIO(content), sep=separator, index_col=False, header=0 if header else None, usecols=asked,
            dtype=str, keep_default_na=False, low_memory=False,
        )  # fmt: skip
    texts = {position: raw.iloc[:, place] for place, position in enumerate(asked)}
    same: dict[str, list[str]] = {}
    for position in gaps:
        absent = texts[position][columns[position].isna().to_numpy()]
        words = sorted({word.strip() for word in absent.unique()} - {""})
        if words:
            same.setdefault(", ".join(map(repr, words)), []).append(str(frame.columns[position]))
    notes = [f"{_listed(names)}: {words} is taken as missing" for words, names in same.items()]
    for position in numbers:
        codes = [word.strip() for word in texts[position].unique() if _ZERO.fullmatch(word)]
        if codes:
            code = max(codes, key=int)
            notes.append(
                f"{frame.columns[position]}: leading zeros are lost, {code!r} is the number {int(code)}; "
                "--category takes such codes as categories"
            )
    return notes


def _whole(column: pd.Series) -> bool:
    """Whether all values are whole numbers; these are floating-point where some are missing."""
    return column.dtype.kind in "iuf" and bool((column.dropna() % 1 == 0).all())


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f", … ({len(names)} columns)" if len(names) > 8 else "")

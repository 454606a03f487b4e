"""Read somebody's own CSV file, and refuse what does not have one field a column in every row."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import sys
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SEPARATOR_HINT = " If the file has more columns, say what stands between its values, as in --separator ';'."


def read_user_table(path: str, separator: str = ",") -> pd.DataFrame:
    r"""Read a table with a header; its index is the line of the file on which each row begins.

    Parameters
    ----------
    path : str
        CSV file in UTF-8, also compressed (.gz, .bz2, .xz, .zip); ``-`` is standard input.
    separator : str
        The character between values.

    Returns
    -------
    DataFrame
        One row a record of the file. Empty lines are no records; a last column without name and without any value,
        which comes from a separator at the end of every line, is left out.

    Raises
    ------
    ValueError
        A row has more or fewer fields than the header, or the file is no table.
    """
    if len(separator) != 1 or separator in '"\r\n\0':
        raise ValueError(f"--separator {separator!r} is not a single character; give for instance ';'.")
    content = _content(path)
    regular = _regular(content, separator)
    if regular is not None:
        return regular
    layout = _layout(content, separator, path)
    if len(layout.lines) == 0:
        raise ValueError(f"{path!r} cannot be read as a CSV file with a header: it is empty.")
    _check_layout(layout, separator, path)
    try:
        # Without index_col=False, pandas takes a first column that has no name for row labels.
        table = pd.read_csv(io.BytesIO(content), sep=separator, index_col=False)
    except pd.errors.ParserError as error:
        begin = f" The last row begins in line {layout.lines[-1]}; look for a quotation mark there that is not closed."
        raise ValueError(f"{path!r} cannot be read as a CSV file with a header: {error}.{begin}") from error
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{path!r} cannot be read as a CSV file with a header: {error}") from error
    if table.empty:
        raise ValueError(f"{path!r} has a header but no rows.")
    lines = layout.lines[1:]
    if len(table) != len(lines):
        raise ValueError(
            f"{path!r} was read as {len(table)} rows, but has {len(lines)}; "
            "look for a quotation mark that is not closed."
        )
    table.index = pd.Index(lines, name="line")
    return _without_trailing(table)


def _regular(content: bytes, separator: str) -> pd.DataFrame | None:
    """Read a file whose counts prove that it has nothing unusual, several times faster than by looking at every line.

    A value in the last column of every row means that no row is short; then the number of all separators tells
    whether one is long.
    """
    if b'"' in content or not separator.isascii() or content.count(b"\r") != content.count(b"\r\n"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(io.BytesIO(content), sep=separator, index_col=False)
    except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError):
        return None
    lines, delimiter = len(table) + 1, separator.encode()
    between = content.partition(b"\n")[0].count(delimiter)
    if (
        table.empty
        or table.shape[1] != between + 1
        or table.iloc[:, -1].isna().any()
        or content.count(b"\n") + (not content.endswith(b"\n")) != lines
        or content.count(delimiter) != between * lines
    ):
        return None
    table.index = pd.RangeIndex(2, lines + 1, name="line")
    return table


def check_columns(table: pd.DataFrame, wanted: list[str], path: str) -> None:
    """Refuse names that are no columns of the table."""
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        raise ValueError(
            f"{path!r} has no column {', '.join(map(repr, missing))}; its columns are {', '.join(map(str, table))}."
            + (_SEPARATOR_HINT if table.shape[1] == 1 else "")
        )


def _without_trailing(table: pd.DataFrame) -> pd.DataFrame:
    last = table.shape[1] - 1
    trailing = table.columns[last] == f"Unnamed: {last}" and last > 0 and bool(table.iloc[:, last].isna().all())
    return table.iloc[:, :last] if trailing else table


def _content(path: str) -> bytes:
    """Bytes of the text, decompressed."""
    try:
        content = _decompressed(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path!r}.") from None
    except IsADirectoryError:
        raise ValueError(f"{path!r} is a folder; give the CSV file itself.") from None
    except (gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{path!r} cannot be decompressed ({error}); its name says that it is compressed.") from error
    if not content.isascii():
        try:
            content.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{path!r} is not text in UTF-8 ({error}); save it with that encoding.") from error
    return content


def _decompressed(path: str) -> bytes:
    if path == "-":
        if sys.stdin is None:
            raise ValueError("'-' is standard input, which is closed; give the name of a file.")
        stream = getattr(sys.stdin, "buffer", None)
        return stream.read() if stream is not None else sys.stdin.read().encode()
    ending = Path(path).suffix.lower()
    if ending == ".zip":
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) != 1:
                raise ValueError(f"{path!r} holds {len(names)} files; give an archive of a single one.")
            return archive.read(names[0])
    with _OPENERS.get(ending, open)(path, "rb") as file:
        return file.read()  # type: ignore[no-any-return]


# --------------------------------------------------------------------------------------------------------------------
# Fields of every record


@dataclass(frozen=True)
class _Layout:
    """Records of a file, the header first, without empty lines."""

    lines: np.ndarray  # on which each begins, counted from 1
    fields: np.ndarray  # how many each has
    trailing: np.ndarray  # whether it ends with a separator


def _check_layout(layout: _Layout, separator: str, path: str) -> None:
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


def _advice(layout: _Layout, wrong: np.ndarray, separator: str) -> str:
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
        return "The header has no " + named + "." + _SEPARATOR_HINT
    if one_more and all_rows:
        return (
            "Give every column a name; the first one has none if these are row names as written by R's write.table "
            "(write them with row.names = FALSE)."
        )
    if (layout.fields[wrong] > expected).any():
        return f"Put values that contain a {named} into quotation marks, and remove fields without a column."
    return "Write a missing value as an empty field, and look for a line that was cut or a quotation mark not closed."


def _layout(content: bytes, separator: str, path: str) -> _Layout:
    found = _fast_layout(content, separator)
    return found if found is not None else _exact_layout(content, separator, path)


def _fast_layout(content: bytes, separator: str) -> _Layout | None:
    """Count separators between ends of lines in the bytes; None where quotation marks or line ends are unusual."""
    delimiter = ord(separator)
    start = len(_BYTE_ORDER_MARK) if content.startswith(_BYTE_ORDER_MARK) else 0
    if delimiter > 127 or len(content) == start or content.count(b"\r") != content.count(b"\r\n"):
        return None
    text = np.frombuffer(content, dtype=np.uint8, offset=start)
    ends, separators = text == ord("\n"), text == delimiter
    line_ends = np.flatnonzero(ends)
    record_ends = line_ends
    if b'"' in content:
        outside = _outside_quotes(text, ends, separators)
        if outside is None:
            return None
        record_ends = np.flatnonzero(ends & outside)
        separators &= outside
    if not len(record_ends) or record_ends[-1] != len(text) - 1:
        record_ends = np.append(record_ends, len(text))  # the last line needs no end
    begins = np.concatenate(([0], record_ends[:-1] + 1))
    positions = np.flatnonzero(separators)
    fields = np.diff(np.searchsorted(positions, record_ends), prepend=0) + 1
    lines = np.searchsorted(line_ends, begins) + 1
    last = text[np.maximum(record_ends - 1, 0)]
    last = np.where(last == ord("\r"), text[np.maximum(record_ends - 2, 0)], last)
    records = np.ones(len(fields), dtype=bool)
    for row in np.flatnonzero(fields == 1):
        records[row] = not _is_blank(text[begins[row] : record_ends[row]].tobytes(), separator)
    return _Layout(lines[records], fields[records], ((last == delimiter) & (fields > 1))[records])


def _is_blank(line: bytes, separator: str) -> bool:
    """Whether a line is empty, or has only blanks that are no separators."""
    return not line.rstrip(b"\r\n").replace(b" ", b"").replace(b"\t", b"") and separator.encode() not in line


def _outside_quotes(text: np.ndarray, ends: np.ndarray, separators: np.ndarray) -> np.ndarray | None:
    """Mask of the bytes outside quotation marks; None if a mark stands where it neither opens nor closes a field."""
    marks = text == ord('"')
    inside = np.logical_xor.accumulate(marks)
    if inside[-1]:
        return None
    # A mark doubled inside a field closes and opens it again, which leaves the count right.
    opening, closing = np.flatnonzero(marks & inside), np.flatnonzero(marks & ~inside)
    before, after = opening[opening > 0] - 1, closing[closing < len(text) - 1] + 1
    limits = separators | ends | marks
    if not limits[before].all() or not (limits[after] | (text[after] == ord("\r"))).all():
        return None
    return ~inside


def _exact_layout(content: bytes, separator: str, path: str) -> _Layout:
    """Count the fields with Python's reader, which takes every kind of line end and stray quotation marks."""
    lines, fields, trailing = [], [], []
    reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=separator)
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
    return _Layout(np.array(lines, dtype=int), np.array(fields, dtype=int), np.array(trailing, dtype=bool))

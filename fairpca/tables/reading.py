"""One reader for the tables that people have; what it recognises on the way is said, never silent."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairpca.tables._csv import SEPARATOR_HINT, read_text, silent_notes
from fairpca.tables._values import MISSING_MARKS, Decimals, number_of, recognised
from fairpca.tables.encoding import as_utf8, plain_name, read_bytes

__all__ = ["Table", "as_table", "read_table"]

TITLE_HINT = " The first line looks like a title; say in which line the names are, as in --header-row 3."
LARGEST = 2**28  # bytes that a workbook may inflate to whatever its size; beyond, 100 times its size
_NOTHING = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A")
_FOREIGN = {
    ".json": "JSON", ".jsonl": "JSON", ".ndjson": "JSON", ".html": "HTML", ".pkl": "a pickle", ".pickle": "a pickle",
    ".rds": "R's own format", ".rdata": "R's own format", ".sav": "SPSS's format", ".dta": "Stata's format",
    ".sas7bdat": "SAS's format", ".xls": "Excel's old format", ".ods": "an OpenDocument sheet", ".pdf": "PDF",
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Rows of somebody's table, and how they were read.

    Attributes
    ----------
    rows : DataFrame
        Columns of numbers, booleans, dates, or words (objects; a missing one is None). Its index tells where a row
        stands in the file.
    notes : tuple of str
        What was recognised: an encoding, a separator, decimal commas, marks for missing values.
    source : str
        Name of the file.
    place : {"line", "row"}
        What the index counts.
    digest : str
        SHA-256 of the file.
    """

    rows: pd.DataFrame
    notes: tuple[str, ...] = ()
    source: str = "data"
    place: Literal["line", "row"] = "row"
    digest: str = ""

    def check_columns(self, wanted: list[str]) -> None:
        """Refuse names that are no columns of the table."""
        missing = [name for name in wanted if name not in self.rows.columns]
        if missing:
            nameless = sum(bool(re.fullmatch(r"column\d+", str(name))) for name in self.rows.columns)
            titled = nameless >= self.rows.shape[1] / 2
            known = ", ".join(map(str, self.rows.columns[:40])) + (", …" if self.rows.shape[1] > 40 else "")
            raise ValueError(
                f"{self.source!r} has no column {', '.join(map(repr, missing))}; its columns are {known}."
                + (SEPARATOR_HINT if self.rows.shape[1] == 1 else TITLE_HINT if titled else " Give one of them.")
            )

    def where(self, mask: np.ndarray) -> str:
        """Say on which lines of the file the rows of a mask stand."""
        found = self.rows.index[np.asarray(mask)]
        return f"{self.place}s {', '.join(map(str, found[:5]))}{', …' if len(found) > 5 else ''}"


def read_table(
    path: str | Path,
    *,
    separator: str = "auto",
    encoding: str = "auto",
    decimal: Decimals = "auto",
    header: Literal["auto", "yes", "no"] = "auto",
    sheet: str | None = None,
    header_row: int = 1,
    missing_marks: Sequence[str] | None = None,
    date_format: str | None = None,
) -> Table:
    """Read a table: CSV, Parquet, Feather or Excel.

    Parameters
    ----------
    path : str or Path
        The file; its ending tells what it is, and everything else is text. Text may be compressed (.gz, .bz2, .xz,
        .zip); ``-`` is text from standard input.
    separator : str
        Character between the values of a text; "auto" finds comma, semicolon, tab or bar.
    encoding : str
        Of a text; "auto" knows byte order marks, UTF-8, UTF-16 and else takes Windows-1252.
    decimal : {"auto", ".", ","}
        What stands before decimals; "auto" asks only where both readings are possible.
    header : {"auto", "yes", "no"}
        Whether the first line has names. "auto" expects names and refuses a line that looks like data.
    sheet : str, optional
        Sheet of an Excel file; default the first.
    header_row : int, default=1
        Line (of a sheet: row) with the names; what is above it is left out.
    missing_marks : sequence of str, optional
        Words that mean a missing value, besides an empty one; by default those that are common, such as NA and None.
    date_format : str, optional
        Form of dates, as ``%d.%m.%Y``; dates such as 2012-07-04 are known without it.

    Returns
    -------
    Table

    Raises
    ------
    ValueError, OSError
        With what is wrong, on which line, and what to do.
    """
    name = str(path)
    content = read_bytes(name)
    ending = Path(plain_name(name)).suffix
    digest = hashlib.sha256(content).hexdigest()
    if ending in (".parquet", ".pq", ".feather", ".arrow", ".xlsx", ".xlsm"):
        frame, notes = _binary(content, name, ending, sheet, header, header_row, missing_marks)
        return _table(frame, notes, name, "row", digest, decimal, missing_marks, date_format)
    if ending in _FOREIGN:
        raise ValueError(f"{name!r} is {_FOREIGN[ending]}, which is not read here; save the table as CSV or Parquet.")
    text, found = as_utf8(content, name, encoding)
    if text.lstrip()[:1] in (b"{", b"[") or text.lstrip()[:9].lower() in (b"<!doctype", b"<html>"):
        raise ValueError(f"{name!r} holds JSON or HTML; save the table as CSV or Parquet.")
    text = text.split(b"\n", header_row - 1)[-1]
    frame, mark = read_text(text, name, separator, header != "no", missing_marks)
    frame.index += header_row - 1
    notes = [] if found in ("utf-8", "utf-8-sig") else [f"encoding {found}"]
    if separator == "auto" and mark != ",":
        notes.append(f"separator {'tab' if mark == chr(9) else mark!r}")
    if header == "auto":
        _check_header(frame, name)
    silent = silent_notes(text, mark, header != "no", frame)
    empty = frame.isna().all(axis=1)
    if empty.any() and not empty.all():
        frame = frame[~empty]
        notes.append(f"{int(empty.sum())} rows without any value are skipped")
    table = _table(frame, notes, name, "line", digest, decimal, missing_marks, date_format)
    return replace(table, notes=(*table.notes, *silent))


def as_table(data: Any, source: str = "data") -> Table:
    """Return somebody's frame (pandas, Polars, pyarrow) or array as a :class:`Table`.

    Parameters
    ----------
    data : frame, array-like, Table, str or Path
        A string or a path is the name of a file to read; a :class:`Table` is returned as it is.
    source : str, default="data"
        What messages and provenance call it.

    Returns
    -------
    Table
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, (str, Path)):
        return read_table(data)
    if not isinstance(data, pd.DataFrame):
        if hasattr(data, "to_pandas"):
            data = data.to_pandas()
        else:
            values = np.asarray(data)
            if values.ndim != 2:
                raise ValueError(
                    f"the data have shape {values.shape}; give a table with rows and columns, or the name of a file."
                )
            data = pd.DataFrame(values, columns=[f"column{number}" for number in range(1, values.shape[1] + 1)])
    frame = data.reset_index(drop=True)
    frame.index = pd.RangeIndex(1, len(frame) + 1)
    frame.columns = pd.Index([str(name) for name in frame.columns], dtype=object)
    digest = hashlib.sha256()
    for _, column in frame.items():  # of objects the text, since not all can be hashed
        plain = column.astype(str) if column.dtype == object else column
        digest.update(pd.util.hash_pandas_object(plain, index=False).to_numpy().tobytes())
    return _table(frame, [], source, "row", digest.hexdigest(), ".")


def _table(
    frame: pd.DataFrame,
    notes: list[str],
    source: str,
    place: Literal["line", "row"],
    digest: str,
    decimal: Decimals,
    missing_marks: Sequence[str] | None = None,
    date_format: str | None = None,
) -> Table:
    if frame.shape[1] == 0 or len(frame) == 0:
        raise ValueError(f"{source!r} has {len(frame)} rows and {frame.shape[1]} columns; give a table with both.")
    frame.columns = pd.Index(_unique([str(name) for name in frame.columns], notes.append), dtype=object)
    note: Callable[[str], None] = notes.append
    marks = MISSING_MARKS if missing_marks is None else tuple(word.lower() for word in missing_marks)
    columns = {name: recognised(frame[name], name, decimal, note, marks, date_format) for name in frame.columns}
    return Table(pd.DataFrame(columns, index=frame.index), tuple(notes), source, place, digest)


def _unique(names: list[str], note: Callable[[str], None]) -> list[str]:
    """Give columns without a name one, and those of the same name a number; both are said."""
    taken = set(names)
    found: dict[str, None] = {}
    for position, name in enumerate(names, 1):
        new = " ".join(name.split())
        if not new:
            new = f"column{position}"
            note(f"column {position} has no name and is called {new!r}")
        elif new in found:
            number = next(
                n for n in range(2, len(names) + 2) if f"{new} ({n})" not in taken and f"{new} ({n})" not in found
            )
            note(f"the name {new!r} stands twice; column {position} is called '{new} ({number})'")
            new = f"{new} ({number})"
        while new in found:
            new += "'"
        found[new] = None
    return list(found)


def _check_header(frame: pd.DataFrame, path: str) -> None:
    """Refuse a first line that reads like the rows below it."""
    names = list(frame.columns)
    evidence = 0
    for position, name in enumerate(names):
        column = frame.iloc[:, position]
        if number_of(name) is not None:
            evidence += column.dtype.kind in "iuf"
            if column.dtype.kind not in "iuf" and len(set(names)) == len(names):
                return
        elif name and column.dtype.kind not in "iufbM" and bool((column == name).any()):
            evidence += 1
        else:
            return
    years = all(re.fullmatch(r"(19|20)\d\d", name) for name in names)
    if evidence and not years:
        raise ValueError(
            f"The first line of {path!r} looks like data, not like names ({', '.join(names[:5])}, …). Say --header no "
            "(the columns are then called column1, column2, …), or --header yes if these are the names."
        )


def _binary(
    content: bytes,
    path: str,
    ending: str,
    sheet: str | None,
    header: str,
    header_row: int,
    missing_marks: Sequence[str] | None,
) -> tuple[pd.DataFrame, list[str]]:
    stream = io.BytesIO(content)
    notes: list[str] = []
    try:
        if ending in (".parquet", ".pq"):
            frame = pd.read_parquet(stream)
        elif ending in (".feather", ".arrow"):
            frame = pd.read_feather(stream)
        else:
            return _excel(stream, sheet, header, header_row, missing_marks)
    except ImportError as error:
        extra = "excel" if ending.startswith(".xls") else "parquet"
        raise ImportError(
            f"Reading {path!r} needs a package that is not here ({error.name or error}); "
            f"get it with pip install 'fairpca[{extra}]', or save the table as CSV."
        ) from error
    except Exception as error:  # what the foreign readers raise for a damaged file has no common class
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{path!r} cannot be read as {ending[1:]} ({reason}); save it anew, or as CSV.") from error
    if not isinstance(frame.index, pd.RangeIndex):
        kept = [
            str(name) for name in frame.index.names if name is not None and str(name) not in map(str, frame.columns)
        ]
        frame = frame.reset_index() if kept and len(kept) == frame.index.nlevels else frame.reset_index(drop=True)
    frame.index = pd.RangeIndex(1, len(frame) + 1)
    return frame, notes


def _excel(
    stream: io.BytesIO, sheet: str | None, header: str, header_row: int, missing_marks: Sequence[str] | None
) -> tuple[pd.DataFrame, list[str]]:
    """Read the cells that a sheet has, whatever size it declares."""
    from openpyxl import load_workbook

    with zipfile.ZipFile(stream) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > max(LARGEST, 100 * stream.getbuffer().nbytes):
        raise ValueError(f"it inflates to {size / 2**20:,.0f} MB; save the sheet as CSV")
    book = load_workbook(stream, read_only=True, data_only=True)
    names = [str(name) for name in book.sheetnames]
    if sheet is not None and sheet not in names:
        raise ValueError(f"there is no sheet {sheet!r}, the sheets are {', '.join(names)}")
    cells = book[sheet or names[0]]
    cells.reset_dimensions()
    rows = {number: row for number, row in enumerate(cells.iter_rows(values_only=True), 1) if any(
        value is not None for value in row
    )}  # fmt: skip
    width, filled = max(map(len, rows.values()), default=0), sum(map(len, rows.values()))
    if width * len(rows) > 100 * filled + 10**6:
        raise ValueError(f"it has {len(rows)} rows of up to {width} columns, nearly all empty; save the sheet as CSV")
    head: tuple = rows.pop(header_row, ()) if header != "no" else ()
    found = ["" if name is None else str(name) for name in (*head, *[None] * (width - len(head)))]
    if header == "no":
        found = [f"column{number}" for number in range(1, width + 1)]
    rows = {number: row for number, row in rows.items() if number > header_row - (header == "no")}
    frame = pd.DataFrame([(*row, *[None] * (width - len(row))) for row in rows.values()], columns=range(width))
    if missing_marks is None:
        frame = frame.mask(frame.isin(_NOTHING))
    frame = frame.infer_objects().set_axis(pd.Index(found, dtype=object), axis=1)
    frame.index = pd.Index(list(rows), dtype=int)  # rows as the sheet shows them
    if width and not found[-1] and frame.iloc[:, -1].isna().all():
        frame = frame.iloc[:, :-1]
    return frame, [f"sheet {names[0]!r} of {len(names)}"] if sheet is None and len(names) > 1 else []

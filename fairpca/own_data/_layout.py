"""How many fields every record of a CSV file has, and an error by line where they are not as many as in the header."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np

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

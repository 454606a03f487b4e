"""What the parser of CSV files decides without a word: which words are nothing, and that codes are numbers."""

from __future__ import annotations

import io
import re
import warnings

import pandas as pd

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

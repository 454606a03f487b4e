"""Recognise numbers, truth values, dates and words, from all values of a column together."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pandas as pd

Decimals = Literal["auto", ".", ","]

# What people write where there is no value, beside what pandas knows (empty, NA, N/A, null, NaN, None; see _silent).
MISSING_MARKS = ("?", "-", "--", ".", "*", "na", "n.a.", "n.d.", "missing")
_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?([eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?([eE][+-]?\d+)?")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?(Z|[+-]\d{2}:?\d{2})?")


def recognised(
    column: pd.Series,
    name: str,
    decimals: Decimals,
    note: Callable[[str], None],
    missing_marks: Sequence[str] = MISSING_MARKS,
    date_format: str | None = None,
) -> pd.Series:
    """Return a column as numbers, booleans, dates or words (object, missing is None); say what was recognised."""
    missing = bool(column.isna().any())
    if isinstance(column.dtype, pd.CategoricalDtype):
        dtype = column.cat.categories.dtype
        column = column.astype("float64" if missing and dtype.kind in "biu" else dtype)
    kind = column.dtype.kind
    if kind in "biu" and not missing:
        return pd.Series(column.to_numpy(), index=column.index, name=column.name)
    if kind in "biuf":
        return pd.Series(column.to_numpy(dtype=float, na_value=np.nan), index=column.index, name=column.name)
    if kind == "c":
        raise ValueError(f"Column {name!r} has complex numbers; give their real and imaginary parts as two columns.")
    if kind == "M":
        return _without_zone(column)
    if kind == "m":
        note(f"{name}: spans of time are taken as days")
        return column.dt.total_seconds() / 86400
    return _words(column, name, decimals, note, missing_marks, date_format)


def _without_zone(column: pd.Series) -> pd.Series:
    if getattr(column.dt, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return column.astype("datetime64[s]")


def _words(
    column: pd.Series,
    name: str,
    decimals: Decimals,
    note: Callable[[str], None],
    missing_marks: Sequence[str],
    date_format: str | None,
) -> pd.Series:
    missing = column.isna().to_numpy()
    given = column.astype(object)
    present = given[~missing]
    if len(present) and all(isinstance(value, (int, float, Decimal, np.number)) for value in present):
        return _numbers_from_objects(given, missing, name)
    if any(isinstance(value, (list, dict, tuple, set, bytes, np.ndarray)) for value in present):
        note(f"{name}: holds lists or other objects, which are no values")
        return pd.Series([None] * len(column), index=column.index, dtype=object)
    words = pd.Series([None if gone else str(value).strip() for value, gone in zip(given, missing, strict=True)],
                      index=column.index, dtype=object)  # fmt: skip
    distinct = list(pd.unique(words[words.notna()]))
    marks = [word for word in distinct if word.lower() in missing_marks]
    plain = [word for word in distinct if word.lower() not in missing_marks and word]
    if not plain:
        return pd.Series([None] * len(column), index=column.index, dtype=object)
    numbers = _numbers(plain, name, decimals, note)
    if numbers is None and missing_marks is MISSING_MARKS and not all(map(_ISO.fullmatch, plain)):
        marks = [word for word in marks if word == "?"]  # other marks may be words among words
    if marks:
        note(f"{name}: {', '.join(map(repr, marks))} is taken as missing")
    gone = [*marks, ""]
    absent = words.isin(gone)
    words[absent] = None
    if numbers is not None:
        return words.map(numbers).astype(float)
    dates = _dates(words, plain, name, date_format, note)
    if dates is not None:
        return dates
    if sum(number_of(word) is not None for word in plain[:200]) > 0.9 * len(plain[:200]):
        wrong = [word for word in plain if number_of(word) is None]
        if wrong:
            place = f"{column.index.name or 'row'} {words.index[words == wrong[0]][0]}"
            note(
                f"{name}: read as words, because {len(wrong)} of {len(plain)} different values are not numbers, such "
                f"as {wrong[0]!r} ({place}); correct them or delete their rows to have numbers"
            )
    _say_merged(given[~missing], name, note)
    return words


def _say_merged(present: pd.Series, name: str, note: Callable[[str], None]) -> None:
    """Say which words differ in nothing but the blanks around them, and are one now."""
    first: dict[str, str] = {}
    for word in dict.fromkeys(map(str, present)):
        other = first.setdefault(word.strip(), word)
        if other != word and word.strip():
            note(f"{name}: blanks around words are taken off, so that {other!r} and {word!r} are one value")
            return


def _numbers_from_objects(given: pd.Series, missing: np.ndarray, name: str) -> pd.Series:
    try:
        numbers = [np.nan if gone else float(value) for value, gone in zip(given, missing, strict=True)]
        return pd.Series(numbers, index=given.index)
    except OverflowError:
        raise ValueError(
            f"Column {name!r} has whole numbers beyond 1e308; leave it out with --drop, or write them as text."
        ) from None


def number_of(word: str) -> float | None:
    """Return the number that a single word means; None where it means none, or may mean two."""
    try:
        found = _numbers([word], "", "auto", lambda _: None)
    except ValueError:
        return None
    return None if found is None else found[word]


def _numbers(words: list[str], name: str, decimals: Decimals, note: Callable[[str], None]) -> dict[str, float] | None:
    """Return the number that each word means, if all mean one: digits, with a decimal comma or point."""
    found = {}
    try:
        for word in words:
            if "_" in word:  # Python's own notation, nobody's table
                break
            found[word] = float(word)
        else:
            return found
    except ValueError:
        pass
    comma, point = (all(pattern.fullmatch(word) for word in words) for pattern in (_COMMA, _POINT))
    if comma and point and decimals == "auto":
        example = next(word for word in words if "," in word or "." in word)
        raise ValueError(
            f"Column {name!r} has numbers such as {example!r}, which may mean {example.replace(',', '')} or "
            f"{example.replace(',', '.')}; say --decimal . or --decimal , ."
        )
    if comma and (not point or decimals == ","):
        note(f"{name}: decimal comma")
        return {word: float(word.replace(".", "").replace(",", ".")) for word in words}
    if point and (not comma or decimals == "."):
        note(f"{name}: commas between thousands")
        return {word: float(word.replace(",", "")) for word in words}
    return None


def _dates(words: pd.Series, plain: list[str], name: str, form: str | None, note: Callable[[str], None]) -> Any:
    """Read dates as ISO 8601 or in the given form; None where not all words are such dates."""
    dates: Any = None
    with contextlib.suppress(ValueError, OverflowError):
        if all(map(_ISO.fullmatch, plain)):
            dates = pd.to_datetime(words, format="ISO8601", utc=True)
        elif form is not None:
            dates = pd.to_datetime(words, format=form)
    if dates is None:
        return None
    note(f"{name}: dates")
    return _without_zone(dates)


# --------------------------------------------------------------------------------------------------------------------
# Times, dates and amounts that have to be written in another way


_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[ap]\.?m\.?)?"
_SIGNS = "$€£¥₹₩₽₺₪%"
_ADVICE = tuple(
    (re.compile(pattern, re.I), f"{what}; {remedy}")
    for pattern, what, remedy in (
        (_CLOCK, "times of day", "write them as hours, 14.25 for 14:15"),
        (r"\d{4}[-/.]\d{1,2}|\d{1,2}[-/.]\d{4}", "months", "write them with a day, as 2012-07-01"),
        (
            r"(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
            rf"|\d{{1,2}}[-. ]*{_MONTH}[-, ]*\d{{2,4}}|{_MONTH} \d{{1,2}}, ?\d{{4}})"
            rf"(?:[ ,T]+{_CLOCK}.*)?",
            "dates",
            "write them as 2012-07-04, or give their form, as in --date-format %d.%m.%Y",
        ),
        (
            rf"[+-]?[{_SIGNS}] ?[+-]?[\d.,]+|[+-]?[\d.,]+ ?[{_SIGNS}]",
            "amounts",
            f"write them without {_SIGNS}, as 1234.5",
        ),
    )
)


def looks_like(words: Sequence[str]) -> str:
    """Say what times, dates or amounts most words look like, and how to write them; empty where they do not."""
    for pattern, advice in _ADVICE:
        if sum(bool(pattern.fullmatch(word)) for word in words) > 0.9 * len(words):
            return f"look like {advice}"
    return ""

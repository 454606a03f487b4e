"""Numbers as people write them, with currencies, units or marks between thousands; times that nobody reads here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_CURRENCIES = "$€£¥₹₩₽₺₪"
_BLANKS = "\u00a0\u202f"  # no-break spaces
_APOSTROPHES = "'\u2019"
_MINUS = "\u2212"
_DIGITS = rf"(?:\.?\d|\d[\d.,{_APOSTROPHES}{_BLANKS}]*\d)(?:[eE][+-]?\d+)?"
_UNIT = r"°?[^\W\d_]+(?:/[^\W\d_]+)?"
_AFFIXED = re.compile(
    rf"([+-]?)([{_CURRENCIES}]?)[ {_BLANKS}]?([+-]?)({_DIGITS})"
    rf"(?:[ {_BLANKS}]?([%{_CURRENCIES}])|[ {_BLANKS}]({_UNIT}))?"
)
_LIKELY = re.compile(rf"[(+\-{_MINUS}{_CURRENCIES} {_BLANKS}]*\.?\d.*", re.S)  # quick, before all values are looked at
_GROUPED = {
    mark: re.compile(rf"[+-]?(?:\d{{1,3}}(?:{mark}\d{{3}})+|\d+)(?:[.,]\d+)?") for mark in _BLANKS + _APOSTROPHES
}
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_NO_UNIT = re.compile(rf"[ap]m|{_MONTH}", re.I)  # times and days
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[ap]\.?m\.?)?"
_TIMES = tuple(
    (re.compile(pattern, re.I), f"{what}; {remedy}")
    for pattern, what, remedy in (
        (_CLOCK, "times of day", "write them as hours, 14.25 for 14:15"),
        (r"\d{4}[-/.]\d{1,2}|\d{1,2}[-/.]\d{4}", "months", "write them with a day, as 2012-07-01"),
        (
            r"(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
            rf"|\d{{1,2}}[-. ]*{_MONTH}[-, ]*\d{{2,4}}|{_MONTH} \d{{1,2}}, ?\d{{4}})"
            rf"(?:[ ,T]+{_CLOCK}.*)?",
            "dates",
            "write them as 2012-07-04, or 2012-07-04 15:30 with the time of day",
        ),
    )
)


def without_notation(words: list[str]) -> tuple[list[str], list[str]] | None:
    """Take off what is not part of the numbers; None if that is nothing, or not the same in all words.

    Parameters
    ----------
    words : list of str
        Different values of a column.

    Returns
    -------
    plain : list of str
        The numbers, each still with a decimal comma or point, and perhaps the other one between thousands.
    what : list of str
        What was taken off, for people.
    """
    if not all(_LIKELY.fullmatch(word) for word in words):
        return None
    what: list[str] = []
    for step in (_without_long_minus, _without_parentheses, _without_affix, _without_marks):
        words = step(words, what.append)
    return (words, what) if what else None


def _without_long_minus(words: list[str], say: Callable[[str], None]) -> list[str]:
    if any(_MINUS in word for word in words):
        say(f"{_MINUS!r} for minus")
    return [word.replace(_MINUS, "-") for word in words]


def _without_parentheses(words: list[str], say: Callable[[str], None]) -> list[str]:
    enclosed = [word.startswith("(") and word.endswith(")") for word in words]
    marks = all(re.fullmatch(r"\(\d+\)", word) for word in words)  # such as those of footnotes
    if not any(enclosed) or marks:
        return words
    say("parentheses for minus")
    return [f"-{word[1:-1]}" if inside else word for word, inside in zip(words, enclosed, strict=True)]


def _without_affix(words: list[str], say: Callable[[str], None]) -> list[str]:
    """Take off the same currency, per cent sign or unit."""
    parts = [match.groups(default="") for word in words if (match := _AFFIXED.fullmatch(word))]
    affixes = {(before, after or unit) for _, before, _, _, after, unit in parts}
    if len(parts) < len(words) or len(affixes) > 1:
        return words
    (before, after) = affixes.pop()
    twice = any(sign and second for sign, _, second, *_ in parts)
    codes = any(re.match(r"0\d", digits) for _, _, _, digits, *_ in parts)
    if bool(before) == bool(after) or twice or codes or _NO_UNIT.fullmatch(after):
        return words
    say(f"{before or after!r}")
    return [sign + second + digits for sign, _, second, digits, *_ in parts]


def _without_marks(words: list[str], say: Callable[[str], None]) -> list[str]:
    """Take off no-break spaces or apostrophes between thousands."""
    for mark, pattern in _GROUPED.items():
        if any(mark in word for word in words) and all(pattern.fullmatch(word) for word in words):
            say(f"{'apostrophes' if mark in _APOSTROPHES else 'no-break spaces'} between thousands")
            return [word.replace(mark, "") for word in words]
    return words


def looks_like_time(words: Sequence[str]) -> str:
    """Say what times or dates most words look like, and how to write them; empty where they do not."""
    for pattern, advice in _TIMES:
        if sum(bool(pattern.fullmatch(word)) for word in words) > 0.9 * len(words):
            return f"look like {advice}"
    return ""

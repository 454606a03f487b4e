"""Amounts with a currency or per cent sign; times and dates that have to be written in another way."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SIGNS = "$€£¥₹₩₽₺₪"
_AMOUNT = re.compile(rf"([+-]?)([{_SIGNS}]?) ?([+-]?)(\.?\d[\d.,]*)(?: ?([%{_SIGNS}]))?")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
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
            "write them as 2012-07-04, or give their form, as in --date-format %d.%m.%Y",
        ),
    )
)


def without_sign(words: Sequence[str]) -> tuple[list[str], str] | None:
    """Take off a currency or per cent sign; None where not all words have the same one.

    Parameters
    ----------
    words : sequence of str
        Different values of a column.

    Returns
    -------
    tuple of list of str and str
        The numbers, each still with a decimal comma or point, and the sign.
    """
    parts = [match.groups(default="") for word in words if (match := _AMOUNT.fullmatch(word))]
    signs = {(before, after) for _, before, _, _, after in parts}
    if len(parts) < len(words) or len(signs) != 1:
        return None
    ((before, after),) = signs
    twice = any(first and second for first, _, second, *_ in parts)
    if bool(before) == bool(after) or twice:
        return None
    return [first + second + digits for first, _, second, digits, _ in parts], before or after


def looks_like_time(words: Sequence[str]) -> str:
    """Say what times or dates most words look like, and how to write them; empty where they do not."""
    for pattern, advice in _TIMES:
        if sum(bool(pattern.fullmatch(word)) for word in words) > 0.9 * len(words):
            return f"look like {advice}"
    return ""

"""Decide what becomes of every column, by stated rules that a user may override."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairpca.tables._values import looks_like, number_of
from fairpca.tables.outliers import column_limits

__all__ = ["Decision", "Rules", "decide"]

Role = Literal["number", "pair", "category", "left out", "group", "target"]
MISSING = "(missing)"
_NAMES_OF_ROWS = re.compile(r"(column1|index|id|row|rows|rownames?|row[ _.]?(no|nr|number|id)|unnamed: ?0|\W*)", re.I)
MOSTLY_RARE = 0.6  # share of rows without an indicator from which on a category is left out
FEW = 5  # rows below which a level gets no indicator, so that no file tells what only few people have
_REVERSED = [["yes", "no"], ["y", "n"], ["true", "false"], ["ja", "nein"], ["oui", "non"]]
_IDENTIFIERS = re.compile(r"(.*[ _.-])?(id|pid|nr|no|key|uuid|number|account|(tele)?phone|mobile|ssn)|.*[a-z](ID|Id)")
_ENOUGH_ROWS = 10  # fewer rows may be consecutive whole numbers by chance


@dataclass(frozen=True)
class Rules:
    """How columns become features; every field is an option of the command line.

    Attributes
    ----------
    scale : {"standardise", "none"}
        Whether numbers, dates and pairs of values get mean zero and variance one.
    missing : {"impute", "drop", "error"}
        Put the median (words: a level of their own), leave out the rows, or refuse.
    max_levels : int
        So many levels of a category get an indicator each, the most frequent ones; the others have none. Nor have
        levels of fewer than five rows.
    max_missing : float
        A column with a larger share of missing values is left out.
    min_different : int
        A column where fewer rows differ from its most frequent value is left out.
    outliers : {"clip", "keep"}
        What happens to values far from all others (see :class:`fairpca.tables.Winsorizer`).
    numbers, categories, drop, keep : tuple of str
        Columns that are taken as numbers, as categories, never, or in spite of a rule that would leave them out.
    """

    scale: Literal["standardise", "none"] = "standardise"
    missing: Literal["impute", "drop", "error"] = "impute"
    max_levels: int = 20
    max_missing: float = 0.5
    min_different: int = 10
    outliers: Literal["clip", "keep"] = "clip"
    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        from fairpca._validation import check_choice, check_number

        check_choice("scale", self.scale, ("standardise", "none"))
        check_choice("missing", self.missing, ("impute", "drop", "error"))
        check_choice("outliers", self.outliers, ("clip", "keep"))
        check_number("min_different", self.min_different, low=1, integer=True)
        check_number("max_levels", self.max_levels, low=2, integer=True)
        check_number("max_missing", self.max_missing, low=0, high=1)


@dataclass(frozen=True)
class Decision:
    """What becomes of one column, and why.

    Attributes
    ----------
    column : str
        Its name.
    role : {"number", "pair", "category", "left out", "group", "target"}
        A pair has two levels and becomes one number; a category becomes an indicator a level.
    why : str
        For people.
    levels : tuple of str
        Of a pair (the frequent one first, unless they are no and yes) or a category (those with an indicator).
    rare : bool
        Whether some values of a category have no indicator; which these are is not kept.
    """

    column: str
    role: Role
    why: str
    levels: tuple[str, ...] = ()
    rare: bool = False


def decide(rows: pd.DataFrame, sensitive: Sequence[str], target: str | None, rules: Rules) -> tuple[Decision, ...]:
    """Decide for every column; rows that miss a value are already gone with ``missing="drop"``."""
    decisions = []
    for name in rows.columns:
        if name in sensitive:
            decisions.append(Decision(name, "group", "says the group, so it is not a feature"))
        elif name == target:
            decisions.append(Decision(name, "target", "what is to be predicted, so it is not a feature"))
        elif name in rules.drop:
            decisions.append(Decision(name, "left out", "as asked for"))
        else:
            decisions.append(_decide(rows[name], name, rules))
    return tuple(decisions)


def _decide(column: pd.Series, name: str, rules: Rules) -> Decision:
    missing = int(column.isna().sum())
    kept = name in rules.keep
    present = column[column.notna()]
    distinct = int(present.nunique())
    if distinct == 0:
        return Decision(name, "left out", "has no value at all")
    number = column.dtype.kind in "biufM"
    if name in rules.numbers and not number:
        raise ValueError(_no_numbers(present, name))
    if distinct == 1 and not (missing and rules.missing == "impute" and column.dtype == object):
        return Decision(name, "left out", f"has the same value, {words_of(present)[0]!r}, in every row that has one")
    different = len(present) - int(present.value_counts().iloc[0])
    if different < rules.min_different and missing < rules.min_different and len(column) > 50 and not kept:
        return Decision(name, "left out", f"has the same value in all but {different} rows; --keep takes it")
    if missing > rules.max_missing * len(column) and not kept:
        return Decision(name, "left out", f"is missing in {missing} of {len(column)} rows; --keep takes it")
    if missing and rules.missing == "error":
        raise ValueError(
            f"Column {name!r} has no value in {missing} rows ({column.index.name or 'row'}s "
            f"{', '.join(map(str, column.index[column.isna()][:5]))}{', …' if missing > 5 else ''}); fill them in, or "
            "say --missing impute or --missing drop."
        )
    if not kept and _numbers_rows(present, name, distinct):
        return Decision(name, "left out", "numbers the rows; --keep takes it")
    if number and name not in rules.categories:
        return Decision(name, "number", _why_number(column, missing, rules))
    each_once = distinct == len(present) >= _ENOUGH_ROWS  # also where the rows are few
    free = each_once or distinct > max(rules.max_levels, len(present) // 2)
    if free and not kept and name not in rules.categories:
        time = looks_like(list(map(str, present.unique())))
        what = f"which {time}" if time else "names or free text"
        why = f"has {distinct} different values in {len(present)} rows, {what}; --keep takes it"
        return Decision(name, "left out", why)
    return _category(column, name, missing, rules)


def _no_numbers(present: pd.Series, name: str) -> str:
    """Say which values of a column are no numbers, and what to write there."""
    wrong = present[[number_of(str(value)) is None for value in present]]
    shown = wrong if len(wrong) else present  # each is a number, but not all in the same notation
    place = f"{present.index.name or 'row'} {shown.index[0]}"
    what = f"{len(wrong)} of {len(present)} values are none" if len(wrong) else "they are written in several ways"
    advice = looks_like(list(map(str, shown.unique())))
    return (
        f"--number {name}: column {name!r} is not a column of numbers; {what}, such as {str(shown.iloc[0])!r} ({place})"
        + (f", which {advice}." if advice else "; write all of them alike, as 1234.5, and leave missing ones empty.")
    )


def _numbers_rows(present: pd.Series, name: str, distinct: int) -> bool:
    """Whether a column says nothing but which row it is: consecutive whole numbers, each once."""
    if distinct < len(present) or len(present) < _ENOUGH_ROWS or present.dtype.kind not in "iufO":
        return False
    if present.dtype.kind == "O":
        return bool(_NAMES_OF_ROWS.fullmatch(name))
    values = present.to_numpy(dtype=float)
    whole = bool(np.all(values == np.floor(values)))
    named = _NAMES_OF_ROWS.fullmatch(name) or _IDENTIFIERS.fullmatch(name.lower()) or _IDENTIFIERS.fullmatch(name)
    return whole and (values.max() - values.min() == len(values) - 1 or bool(named))


def _why_number(column: pd.Series, missing: int, rules: Rules) -> str:
    what = {"M": "dates, as days", "b": "true and false, as 1 and 0"}.get(column.dtype.kind, "numbers")
    parts = [what]
    if missing:
        parts.append(f"{missing} missing get the median")
    if column.dtype.kind in "iuf" and rules.outliers == "clip":
        values = numbers_of(column)
        (low,), (high,) = column_limits(values[:, None])
        far = int(np.sum((values < low) | (values > high)))
        if far:
            parts.append(
                f"{far} far from all others are clipped at {low if (values < low).any() else high:.4g}; --outliers"
            )
    parts.append("standardised" if rules.scale == "standardise" else "not scaled")
    return "; ".join(parts)


def _category(column: pd.Series, name: str, missing: int, rules: Rules) -> Decision:
    words = pd.Series(words_of(column), dtype=object)
    counts = words.value_counts(sort=True)
    counts = counts.iloc[np.lexsort((counts.index.to_numpy(dtype=str), -counts.to_numpy()))]
    levels = [str(level) for level in counts.index]
    asked = name in (*rules.keep, *rules.categories)
    if [level.lower() for level in levels] in _REVERSED:
        levels = levels[::-1]
    if len(levels) == 2 and (int(counts.iloc[1]) >= FEW or asked):
        scaled = ", standardised" if rules.scale == "standardise" else ""
        return Decision(name, "pair", f"1 for {levels[1]!r}, 0 for {levels[0]!r}{scaled}", tuple(levels))
    n_shown = min(rules.max_levels, len(levels) if asked else int((counts >= FEW).sum()))
    shown, n_rare, rest = levels[:n_shown], len(levels) - n_shown, int(counts.iloc[n_shown:].sum())
    if not asked and (n_shown == 0 or rest > MOSTLY_RARE * len(column)):
        return Decision(
            name,
            "left out",
            f"{rest} of {len(column)} rows have a value outside the {n_shown} levels that are frequent enough, so it "
            "probably names single rows; --keep takes it",
        )
    why = f"{n_shown} levels, an indicator each"
    if n_rare:
        why += f"; {n_rare} rarer ones ({rest} rows) have none (--max-levels; at least {FEW} rows)"
    if asked and counts.iloc[:n_shown].min() < FEW:
        why += f"; among them levels of fewer than {FEW} rows, as asked for: a model file holds them"
    if missing:
        why += f"; {missing} missing are " + ("a level of their own" if MISSING in shown else "among the rarer ones")
    return Decision(name, "category", why, tuple(shown), bool(n_rare))


def words_of(column: Any) -> np.ndarray:
    """Values of a column as words; a missing one is ``(missing)``, a whole number has no decimals.

    Parameters
    ----------
    column : array-like of shape (n_samples,)
        Of any type.

    Returns
    -------
    ndarray of shape (n_samples,)
        Of objects.
    """
    values = pd.Series(column)
    if values.dtype.kind == "f":
        whole = values.dropna()
        if bool((np.isfinite(whole) & (whole == np.floor(whole))).all()):
            return np.array([MISSING if np.isnan(v) else str(int(v)) for v in values], dtype=object)
    missing = values.isna().to_numpy()
    words = values.astype(str).to_numpy(dtype=object)
    words[missing] = MISSING
    return words


def numbers_of(column: Any) -> np.ndarray:
    """Values of a column as floating-point numbers; dates are days since 1970, a missing one is NaN."""
    values = pd.Series(column)
    if values.dtype.kind == "M":
        return ((values - pd.Timestamp(0)) / pd.Timedelta(days=1)).to_numpy(dtype=float)
    return values.to_numpy(dtype=float, na_value=np.nan)

"""Our numbers against the printed ones: the verdict on each."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairpca._resources import data_path
from fairpca._tables import read_table
from fairpca.published.declarations import StandIn, Tolerance, load_tolerances, papers

__all__ = ["INFERRED", "KEYS", "STATISTICS", "compare", "measured"]

INFERRED = "equal, inferred"  # equal with a setting that was inferred
KEYS = ("dataset", "p", "method", "setting", "d", "metric", "protocol")
STATISTICS = ("value", "mean", "sd", "min", "q1", "median", "q3", "max")


def _long(table: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """One row a number: keys, statistic, value."""
    statistics = [name for name in STATISTICS if name in table.columns]
    keep = [*keys, *(name for name in ("decimals", "text") if name in table.columns)]
    return table.melt(id_vars=keep, value_vars=statistics, var_name="statistic", value_name=value)


def _applies(tolerance: Tolerance, exhibit: str, row: Mapping[Hashable, Any]) -> bool:
    patterns = (tolerance.exhibit, tolerance.dataset, tolerance.method, tolerance.metric, tolerance.statistic)
    wanted = (exhibit, *(str(row.get(name, "")) for name in ("dataset", "method", "metric", "statistic")))
    return all(fnmatchcase(text, pattern) for text, pattern in zip(wanted, patterns, strict=True))


def _tolerance(exhibit: str, row: Mapping[Hashable, Any], tolerances: Sequence[Tolerance]) -> float:
    for tolerance in tolerances:
        if _applies(tolerance, exhibit, row):
            moved = [factor * row[name] for name, factor in (("grain", tolerance.grains), ("noise", tolerance.noises))]
            # What was not measured allows nothing.
            return float(tolerance.units * 10.0 ** -int(row["decimals"]) + np.nansum(moved))
    return 0.0


def measured(
    tolerances: Sequence[Tolerance], exhibit: str = "", results: str | Path | None = None
) -> dict[tuple[str, ...], tuple[float, float]]:
    """Read what tolerances are derived from: by keys and statistic of a number, its ``grain`` and ``noise``.

    Parameters
    ----------
    tolerances : sequence of Tolerance
        Their `derived_from` names the results.
    exhibit : str
        Only rows of this exhibit, where the results have a column of that name.
    results : path, optional
        Other folder with results; default ``data/results``. A result that is not there allows nothing.
    """
    found: dict[tuple[str, ...], tuple[float, float]] = {}
    for name in dict.fromkeys(tolerance.derived_from for tolerance in tolerances if tolerance.derived_from):
        paper, _, stem = name.partition("/")
        path = (data_path("results") / paper if results is None else Path(results) / paper) / f"{stem}.csv"
        if path.is_file():
            table = read_table(path)
            for row in table[table["exhibit"] == exhibit].to_dict("records"):
                found[_label(row)] = float(row["grain"]), float(row["noise"])
    return found


def _label(row: Mapping[Hashable, Any]) -> tuple[str, ...]:
    """Identify a number by its keys, whole numbers without a point and missing ones empty."""
    words = []
    for name in (*KEYS, "statistic"):
        value: Any = row.get(name, "")
        number = isinstance(value, float | int | np.number)
        words.append("" if pd.isna(value) else f"{value:g}" if number else str(value))
    return tuple(words)


def _verdict(printed: float, text: str, ours: float, decimals: int, tolerance: float) -> str:
    if np.isnan(printed):
        # Words instead of a number: we agree if we have none either.
        return "equal" if text and np.isnan(ours) else "not judged"
    # The binary form of decimal numbers needs a little room.
    difference = abs(ours - printed) - 1e-12 * max(1.0, abs(printed))
    if difference <= 0.5 * 10.0**-decimals:
        return "equal"
    return "close" if difference <= tolerance else "differs"


def compare(
    ours: pd.DataFrame | None,
    published: pd.DataFrame,
    tolerances: Sequence[Tolerance] | None = None,
    *,
    exhibit: str = "",
    reasons: pd.DataFrame | None = None,
    results: str | Path | None = None,
) -> pd.DataFrame:
    """Join our numbers with the printed ones and judge each.

    Parameters
    ----------
    ours : DataFrame or None
        Tidy results: the key columns of `published` and statistics (``mean, sd, …`` or ``value``; a published
        ``value`` is compared with our ``mean`` where we have no ``value``). None if there are none yet.
    published : DataFrame
        From `load`.
    tolerances : sequence of Tolerance, optional
        What counts as close; default: what the exhibit's paper declares.
    exhibit : str
        ``"<paper>/<exhibit>"``, for the choice of tolerance and reason, and for what its paper declares.
    reasons : DataFrame, optional
        Rows ``exhibit, dataset, method, setting, d, metric, statistic, reason`` with wildcards; the first match
        counts. A reason may contain ``{spread}``, the standard deviation of our number, and ``{away}``, the
        difference in units of it; ``{noise}``, what repetition moves, and ``{moves}``, the difference in units of it;
        and ``{share}``, the difference in per cent of the printed number.
    results : path, optional
        Other folder with the results from which tolerances are derived.

    Returns
    -------
    DataFrame
        Key columns, ``statistic, printed, text, ours, difference, tolerance, verdict, reason``; one row a printed
        number, in the order of `published`.
    """
    paper, _, name = exhibit.partition("/")
    if tolerances is None:
        tolerances = load_tolerances(paper) if paper else ()
    declared = [known.exhibits[name] for known in papers() if known.name == paper and name in known.exhibits]
    stand_ins = declared[0].stand_ins if declared else ()
    keys = [key for key in KEYS if key in published.columns]
    left = _long(published, keys, "printed")
    left = left[left["printed"].notna() | (left.get("text", "") != "")]
    if "text" not in left.columns:
        left["text"] = ""
    if ours is None:
        joined = left.assign(ours=np.nan, known=False)
    else:
        right = _ours(_with_stand_ins(ours, stand_ins), keys, published)
        joined = left.merge(right, on=[*keys, "statistic"], how="left", validate="one_to_one")
        spread = right[right["statistic"] == "sd"].rename(columns={"ours": "spread"})[[*keys, "spread"]]
        joined = joined.merge(spread, on=keys, how="left", validate="many_to_one")
        # No number of ours answers words ("fail to converge"), but not a number.
        joined["known"] = joined["known"].eq(True) & (joined["ours"].notna() | (joined["text"] != ""))
    known = measured(tolerances, name, results)
    found = [known.get(_label(row), (np.nan, np.nan)) for row in joined.to_dict("records")]
    joined["grain"], joined["noise"] = [grain for grain, _ in found], [noise for _, noise in found]
    joined["tolerance"] = [_tolerance(name, row, tolerances) for row in joined.to_dict("records")]
    joined["difference"] = joined["ours"] - joined["printed"]
    columns = (joined[name] for name in ("printed", "text", "ours", "decimals", "tolerance", "known"))
    joined["verdict"] = [
        _verdict(printed, text, value, int(decimals), tolerance) if known else "not yet"
        for printed, text, value, decimals, tolerance, known in zip(*columns, strict=True)
    ]
    patterns = [] if reasons is None else reasons.to_dict("records")
    joined["reason"] = [
        _reason(name, row, patterns) if row["verdict"] in ("differs", "not judged") else ""
        for row in joined.to_dict("records")
    ]
    for method, why in (declared[0].inferred if declared else {}).items():
        meant = (joined["method"] == method) & (joined["verdict"] == "equal")
        joined.loc[meant, ["verdict", "reason"]] = [INFERRED, why]
    for metric, why in (declared[0].not_judged if declared else {}).items():
        shown = (joined["metric"] == metric) & (joined["verdict"] != "not yet")
        joined.loc[shown, ["verdict", "reason"]] = ["not judged", why]
    wanted = ["statistic", "printed", "text", "decimals", "ours", "difference", "tolerance", "verdict", "reason"]
    return joined[[*keys, *wanted]]


def _with_stand_ins(ours: pd.DataFrame, stand_ins: Sequence[StandIn]) -> pd.DataFrame:
    """Let results by another protocol answer printed numbers whose own protocol is unpublished."""
    for stand_in in stand_ins:
        meant = pd.Series(True, index=ours.index)
        for column, value in stand_in.where.items():
            meant &= ours[column] == value
        if not (meant & (ours["protocol"] == "printed")).any():
            others = ours[meant & (ours["protocol"] == stand_in.protocol)]
            ours = pd.concat([ours, others.assign(protocol="printed")], ignore_index=True)
    return ours


def _ours(ours: pd.DataFrame, keys: Sequence[str], published: pd.DataFrame) -> pd.DataFrame:
    """Our numbers in the same form; key columns that the published table has must be there."""
    table = ours.copy()
    missing = [name for name in keys if name not in table.columns]
    if missing:
        raise ValueError(
            f"Our table has no column {', '.join(map(repr, missing))}, which the published one has as key; "
            f"it has {', '.join(table.columns)}."
        )
    if "value" in published.columns and "value" not in table.columns and "mean" in table.columns:
        table["value"] = table["mean"]
    if "mean" in published.columns and "mean" not in table.columns and "value" in table.columns:
        table["mean"] = table["value"]
    for name in keys:
        if published[name].dtype.kind in "iu":
            # A table with rows of other exhibits may have missing values, hence floats, in a whole-number key.
            table = table[table[name].notna()]
            table[name] = table[name].astype(published[name].dtype)
        else:
            table[name] = table[name].fillna("").astype(str)
    table = table.drop(columns=[name for name in ("decimals", "text") if name in table.columns])
    right = _long(table, keys, "ours")
    twice = right.duplicated([*keys, "statistic"])
    if twice.any():
        raise ValueError(f"Our table has a number twice: {right[twice].iloc[0].to_dict()}.")
    return right.assign(known=True)


# In a reason: how many times what repetition moves; and what is said where it moves nothing.
_RATIO = re.compile(r"(: |\. |^)\{moves:\.1f\} times (.*?) \(\{noise:\.2g\}\)")
_NO_RATIO = ("{0}More than {1}, which is nothing here", "{0}more than {1}, which is nothing here")


def _reason(exhibit: str, row: Mapping[Hashable, Any], reasons: Sequence[Mapping[Hashable, Any]]) -> str:
    fields = ("dataset", "method", "setting", "d", "metric", "statistic")
    wanted = [exhibit, *(str(row.get(name, "")) for name in fields)]
    for candidate in reasons:
        patterns = [candidate[name] for name in ("exhibit", *fields)]
        if all(fnmatchcase(text, pattern) for text, pattern in zip(wanted, patterns, strict=True)):
            size = abs(float(row["difference"]))
            spread, noise = float(row.get("spread", np.nan)), float(row.get("noise", np.nan))
            reason = str(candidate["reason"])
            if noise == 0:  # there is no ratio to what moves nothing
                reason = _RATIO.sub(lambda found: _NO_RATIO[found[1] == ": "].format(*found.groups()), reason)
            return reason.format(
                spread=spread,
                away=_ratio(size, spread),
                noise=noise,
                moves=_ratio(size, noise),
                share=100 * _ratio(size, abs(float(row["printed"]))),
            )
    return ""


def _ratio(size: float, unit: float) -> float:
    return size / unit if unit else np.inf

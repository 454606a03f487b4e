"""Our numbers against the printed ones: the verdict on each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import pandas as pd

from fairpca._resources import data_path, read_table
from fairpca.companion.published.declarations import StandIn, Tolerance, load_tolerances, papers

__all__ = ["INFERRED", "KEYS", "STATISTICS", "SUPPORT", "compare", "measured"]

INFERRED = "equal, inferred"  # equal with a setting that was inferred
# A repetition explains a difference only if it moves the number by at least this share of the difference.
SUPPORT = 0.01
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
        Rows ``exhibit, dataset, method, setting, d, metric, statistic, reason`` with wildcards; the first match that
        our data support counts. A reason may contain ``{spread}``, the standard deviation of our number, and
        ``{away}``, the difference in units of it; ``{noise}``, what repetition moves, and ``{moves}``, the difference
        in units of it; ``{share}``, the difference in per cent of the printed number; and the name of another metric
        of ours for the same keys. A reason with ``{moves}`` is supported where repetition moves the number by at
        least `SUPPORT` of the difference, one that names a metric where that metric is positive.
    results : path, optional
        Other folder with the results from which tolerances are derived.

    Returns
    -------
    DataFrame
        Key columns, ``statistic, printed, text, ours, difference, tolerance, noise, verdict, reason``; one row a
        printed number, in the order of `published`. What another protocol answers is not judged.
    """
    paper, _, name = exhibit.partition("/")
    if tolerances is None:
        tolerances = load_tolerances(paper) if paper else ()
    declared = [known.exhibits[name] for known in papers() if known.name == paper and name in known.exhibits]
    stand_ins = [] if ours is None or not declared else [s for s in declared[0].stand_ins if _is_needed(s, ours)]
    keys = [key for key in KEYS if key in published.columns]
    left = _long(published, keys, "printed")
    left = left[left["printed"].notna() | (left.get("text", "") != "")]
    if "text" not in left.columns:
        left["text"] = ""
    beside: dict[tuple[str, ...], dict[str, float]] = {}
    if ours is None:
        joined = left.assign(ours=np.nan, known=False)
    else:
        right = _ours(_with_stand_ins(ours, stand_ins), keys, published)
        for row in right.to_dict("records"):
            beside.setdefault(_label(row | {"metric": ""}), {})[str(row.get("metric"))] = float(row["ours"])
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
    for stand_in in stand_ins:
        joined.loc[_meant(stand_in, joined) & (joined["verdict"] != "not yet"), "verdict"] = "not judged"
    patterns = [] if reasons is None else reasons.to_dict("records")
    joined["reason"] = [
        _reason(name, row, patterns, beside.get(_label(row | {"metric": ""}), {}))
        if row["verdict"] in ("differs", "not judged")
        else ""
        for row in joined.to_dict("records")
    ]
    for method, why in (declared[0].inferred if declared else {}).items():
        meant = (joined["method"] == method) & (joined["verdict"] == "equal")
        joined.loc[meant, ["verdict", "reason"]] = [INFERRED, why]
    for metric, why in (declared[0].not_judged if declared else {}).items():
        shown = (joined["metric"] == metric) & (joined["verdict"] != "not yet")
        joined.loc[shown, ["verdict", "reason"]] = ["not judged", why]
    wanted = ["statistic", "printed", "text", "decimals", "ours", "difference", "tolerance", "noise"]
    return joined[[*keys, *wanted, "verdict", "reason"]]


def _meant(stand_in: StandIn, rows: pd.DataFrame) -> pd.Series:
    """Say which rows a stand-in is declared for."""
    return (rows[list(stand_in.where)] == pd.Series(stand_in.where)).all(axis=1)


def _is_needed(stand_in: StandIn, ours: pd.DataFrame) -> bool:
    """Say whether no row of ours follows the printed protocol there."""
    return not (_meant(stand_in, ours) & (ours["protocol"] == "printed")).any()


def _with_stand_ins(ours: pd.DataFrame, stand_ins: Sequence[StandIn]) -> pd.DataFrame:
    """Let results by another protocol stand beside printed numbers whose own protocol is unpublished."""
    for stand_in in stand_ins:
        others = ours[_meant(stand_in, ours) & (ours["protocol"] == stand_in.protocol)]
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


def _reason(
    exhibit: str,
    row: Mapping[Hashable, Any],
    reasons: Sequence[Mapping[Hashable, Any]],
    beside: Mapping[str, float],
) -> str:
    """Return the first reason that matches and that the data support; `beside` has the metrics of the same keys."""
    fields = ("dataset", "method", "setting", "d", "metric", "statistic")
    wanted = [exhibit, *(str(row.get(name, "")) for name in fields)]
    size = abs(float(row["difference"]))
    spread, noise = float(row.get("spread", np.nan)), float(row.get("noise", np.nan))
    known = {
        "spread": spread,
        "away": _ratio(size, spread),
        "noise": noise,
        "moves": _ratio(size, noise),
        "share": 100 * _ratio(size, abs(float(row["printed"]))),
    }
    for candidate in reasons:
        patterns = [candidate[name] for name in ("exhibit", *fields)]
        reason = str(candidate["reason"])
        named = {name for _, name, _, _ in Formatter().parse(reason) if name}
        supported = "moves" not in named or noise >= SUPPORT * size
        supported &= all(beside.get(name, 0.0) > 0 for name in named - set(known))
        if supported and all(fnmatchcase(text, pattern) for text, pattern in zip(wanted, patterns, strict=True)):
            return reason.format(**{**beside, **known})
    return ""


def _ratio(size: float, unit: float) -> float:
    return size / unit if unit else np.inf

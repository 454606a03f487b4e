"""The papers' printed numbers and statements, and what became of them here.

Every number that a paper prints is one row of the scoreboard, with a verdict that is computed: ``equal`` to the printed
digits, ``close`` within a tolerance stated below, ``differs`` (with the reason), or ``not yet``. What a paper says in
words is a claim: it ``holds``, ``fails``, ``holds in part``, or is ``not yet`` checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pandas as pd

from fairpca._resources import data_path

__all__ = [
    "PAPERS",
    "TOLERANCES",
    "VERDICTS",
    "Tolerance",
    "compare",
    "counts",
    "exhibits",
    "load",
    "load_claims",
    "scoreboard",
]

PAPERS = ("samadi2018", "lee2022", "vu2022")
VERDICTS = ("equal", "close", "differs", "holds", "holds in part", "fails", "not yet")
KEYS = ("dataset", "p", "method", "setting", "d", "metric", "protocol")
STATISTICS = ("value", "mean", "sd", "min", "q1", "median", "q3", "max")
NOT_TABLES = ("claims", "errata", "reasons")

# Results that may answer an exhibit, besides those of its own name.
_ANSWERED_BY = {
    "lee2022/fig2_fig3_stored": ("fig2_fig3", "fig2", "fig3", "synthetic2"),
    "lee2022/communality_stored": ("communality", "fig4"),
    "vu2022/table1": ("tables",),
    "vu2022/table3": ("tables",),
    "vu2022/table4": ("tables",),
}


@dataclass(frozen=True)
class Tolerance:
    """How far ours may be from print and still be called close.

    Attributes
    ----------
    exhibit, dataset, method, metric, statistic : str
        Where it applies; ``*`` is a wildcard. The first match counts.
    absolute, relative : float
        Allowed difference is ``absolute + relative * |printed|``.
    why : str
        Why not less.
    """

    exhibit: str
    dataset: str
    method: str
    metric: str
    statistic: str
    absolute: float
    relative: float
    why: str


# One place for all tolerances. What is not listed has none: equal to the printed digits, or different.
TOLERANCES: tuple[Tolerance, ...] = (
    # Certified optima: a unit of the last printed digit, since the authors' solver stopped at a finite accuracy.
    Tolerance("lee2022/table1", "*", "*pca", "mmd2", "*", 0.001, 0.0, "one unit of the last printed digit"),
    Tolerance("lee2022/table1", "*", "pca", "pct_var", "*", 0.01, 0.0, "one unit of the last printed digit"),
    Tolerance("lee2022/table1", "*", "fpca", "pct_var", "*", 0.01, 0.0, "one unit of the last printed digit"),
    # Another local optimum of a non-convex problem: a tenth of the spread between splits at most.
    Tolerance("lee2022/table1", "*", "mbfpca", "pct_var", "*", 0.1, 0.0, "local optima of a non-convex problem"),
    # One sample of a test part of 300 changes the accuracy of a split by 0.33, the mean of ten by 0.03.
    Tolerance("lee2022/table1", "*", "*", "pct_acc", "*", 0.1, 0.0, "single samples of small test parts"),
    Tolerance("lee2022/table1", "*", "*", "delta_dp", "*", 0.01, 0.0, "one unit of the last printed digit"),
    Tolerance("lee2022/communality_stored", "*", "*", "*", "*", 0.001, 0.0, "accuracy of the authors' solvers"),
    Tolerance("lee2022/fig2_fig3_stored", "*", "pca", "*", "*", 1e-3, 0.0, "rounding of stored values"),
    Tolerance("lee2022/fig2_fig3_stored", "*", "*", "pct_var", "*", 0.1, 0.0, "accuracy and local optima"),
    Tolerance("lee2022/fig2_fig3_stored", "*", "*", "mmd2", "*", 0.001, 0.0, "accuracy and local optima"),
    # Multiplicative weights with the authors' step do not converge on some sets: the last iterate depends on rounding.
    Tolerance("vu2022/table[13]", "*", "fairpca", "abdiff", "*", 0.0, 0.1, "iterates that do not converge"),
    Tolerance("vu2022/table[13]", "*", "fairpca", "are", "*", 0.0, 0.01, "iterates that do not converge"),
    Tolerance("vu2022/table[13]", "*", "rfpca", "abdiff", "*", 0.0, 0.01, "choice by cross-validation among near ties"),
    Tolerance("vu2022/table[13]", "*", "rfpca", "are", "*", 0.0, 0.001, "choice by cross-validation among near ties"),
    # A column that is constant but for rounding is scaled to variance one; its pattern depends on the BLAS.
    Tolerance("vu2022/table[13]", "e_coli", "cfpca_both", "*", "*", 0.05, 0.0, "a column of rounding noise"),
    Tolerance("vu2022/table[13]", "e_coli", "cfpca_mean", "*", "*", 0.005, 0.0, "a column of rounding noise"),
    Tolerance("vu2022/table[13]", "*", "cfpca_*", "*", "*", 0.001, 0.0, "accuracy of the authors' solver"),
    # The classifier's optimum is often w = 0; the printed number is then the solver's rounding residue.
    Tolerance("vu2022/table4", "e_coli", "*", "*", "*", 0.07, 0.0, "a classifier that is zero but for rounding"),
    Tolerance("vu2022/table4", "*", "*", "*", "*", 0.03, 0.0, "a classifier that is zero but for rounding"),
)


def exhibits(paper: str | None = None) -> list[str]:
    """Names ``"<paper>/<exhibit>"`` of the published tables."""
    folder = Path(data_path("published"))
    papers = PAPERS if paper is None else (_known(paper),)
    found = [path for name in papers for path in (folder / name).glob("*.csv") if path.stem not in NOT_TABLES]
    # What a paper prints comes before what only its files hold.
    found.sort(key=lambda path: (PAPERS.index(path.parent.name), path.stem.endswith("_stored"), path.stem))
    return [f"{path.parent.name}/{path.stem}" for path in found]


def _known(paper: str) -> str:
    if paper not in PAPERS:
        raise ValueError(f"Unknown paper {paper!r}; known are {', '.join(PAPERS)}.")
    return paper


def load(paper: str, exhibit: str) -> pd.DataFrame:
    """Read a published table.

    Parameters
    ----------
    paper : {"samadi2018", "lee2022", "vu2022"}
        Which paper.
    exhibit : str
        For instance ``"table1"``.

    Returns
    -------
    DataFrame
        Key columns (those of ``dataset, p, method, setting, d, metric, protocol`` that apply), the statistics as
        printed, ``decimals`` (digits after the point), ``text`` where words stand instead of a number.
    """
    name = f"{_known(paper)}/{exhibit}"
    if name not in exhibits(paper):
        raise ValueError(f"There is no published table {name!r}; there are {', '.join(exhibits()) or 'none'}.")
    return _read(Path(data_path("published")) / f"{name}.csv")


def _read(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path, float_precision="round_trip")
    for name in ("dataset", "method", "setting", "metric", "protocol", "text", "label", "exhibit", "statement", "unit"):
        if name in table.columns:
            table[name] = table[name].astype(object).where(table[name].notna(), "").astype(str)
    return table


def load_claims(paper: str) -> pd.DataFrame:
    """Read what a paper states in words: ``id, exhibit, statement, value, unit, where``."""
    path = Path(data_path("published")) / _known(paper) / "claims.csv"
    claims = pd.read_csv(path, dtype=str, keep_default_na=False)
    if claims["id"].duplicated().any():
        raise ValueError(
            f"{path.name} of {paper} has an id twice: {claims['id'][claims['id'].duplicated()].iloc[0]!r}."
        )
    return claims


# --------------------------------------------------------------------------------------------------------------------
# Comparison


def _long(table: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """One row a number: keys, statistic, value."""
    statistics = [name for name in STATISTICS if name in table.columns]
    keep = [*keys, *(name for name in ("decimals", "text") if name in table.columns)]
    return table.melt(id_vars=keep, value_vars=statistics, var_name="statistic", value_name=value)


def _tolerance(exhibit: str, row: pd.Series, tolerances: Sequence[Tolerance]) -> float:
    wanted = (exhibit, *(str(row.get(name, "")) for name in ("dataset", "method", "metric", "statistic")))
    for tolerance in tolerances:
        patterns = (tolerance.exhibit, tolerance.dataset, tolerance.method, tolerance.metric, tolerance.statistic)
        if all(fnmatchcase(text, pattern) for text, pattern in zip(wanted, patterns, strict=True)):
            return tolerance.absolute + tolerance.relative * abs(float(row["printed"]))
    return 0.0


def _verdict(printed: float, text: str, ours: float, decimals: int, tolerance: float) -> str:
    if np.isnan(printed):
        # Words instead of a number: we agree if we have none either.
        return "equal" if text and np.isnan(ours) else "differs"
    # The binary form of decimal numbers needs a little room.
    difference = abs(ours - printed) - 1e-12 * max(1.0, abs(printed))
    if difference <= 0.5 * 10.0**-decimals:
        return "equal"
    return "close" if difference <= tolerance else "differs"


def compare(
    ours: pd.DataFrame | None,
    published: pd.DataFrame,
    tolerances: Sequence[Tolerance] = TOLERANCES,
    *,
    exhibit: str = "",
    reasons: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Join our numbers with the printed ones and judge each.

    Parameters
    ----------
    ours : DataFrame or None
        Tidy results: the key columns of `published` and statistics (``mean, sd, …`` or ``value``; a published
        ``value`` is compared with our ``mean`` where we have no ``value``). None if there are none yet.
    published : DataFrame
        From `load`.
    tolerances : sequence of Tolerance
        What counts as close.
    exhibit : str
        ``"<paper>/<exhibit>"``, for the choice of tolerance and reason.
    reasons : DataFrame, optional
        Rows ``exhibit, dataset, method, setting, d, metric, statistic, reason`` with wildcards; the first match
        counts.

    Returns
    -------
    DataFrame
        Key columns, ``statistic, printed, text, ours, difference, tolerance, verdict, reason``; one row a printed
        number, in the order of `published`.
    """
    keys = [name for name in KEYS if name in published.columns]
    left = _long(published, keys, "printed")
    left = left[left["printed"].notna() | (left.get("text", "") != "")]
    if "text" not in left.columns:
        left["text"] = ""
    if ours is None:
        joined = left.assign(ours=np.nan, known=False)
    else:
        right = _ours(ours, keys, published)
        joined = left.merge(right, on=[*keys, "statistic"], how="left", validate="one_to_one")
        # No number of ours answers words ("fail to converge"), but not a number.
        joined["known"] = joined["known"].eq(True) & (joined["ours"].notna() | (joined["text"] != ""))
    joined["tolerance"] = [_tolerance(exhibit, row, tolerances) for _, row in joined.iterrows()]
    joined["difference"] = joined["ours"] - joined["printed"]
    columns = (joined[name] for name in ("printed", "text", "ours", "decimals", "tolerance", "known"))
    joined["verdict"] = [
        _verdict(printed, text, value, int(decimals), tolerance) if known else "not yet"
        for printed, text, value, decimals, tolerance, known in zip(*columns, strict=True)
    ]
    joined["reason"] = [
        _reason(exhibit, row, reasons) if row["verdict"] == "differs" else "" for _, row in joined.iterrows()
    ]
    wanted = ["statistic", "printed", "text", "decimals", "ours", "difference", "tolerance", "verdict", "reason"]
    return joined[[*keys, *wanted]]


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


def _reason(exhibit: str, row: pd.Series, reasons: pd.DataFrame | None) -> str:
    if reasons is None:
        return ""
    fields = ("dataset", "method", "setting", "d", "metric", "statistic")
    wanted = [exhibit.partition("/")[2], *(str(row.get(name, "")) for name in fields)]
    for candidate in reasons.to_dict("records"):
        patterns = [candidate[name] for name in ("exhibit", *fields)]
        if all(fnmatchcase(text, pattern) for text, pattern in zip(wanted, patterns, strict=True)):
            return str(candidate["reason"])
    return ""


# --------------------------------------------------------------------------------------------------------------------
# Scoreboard


def _result_tables(name: str, folder: Path) -> pd.DataFrame | None:
    """Our numbers for an exhibit: its own results and those listed in `_ANSWERED_BY`."""
    paper, _, exhibit = name.partition("/")
    found = [folder / paper / f"{stem}.csv" for stem in (exhibit, *_ANSWERED_BY.get(name, ()))]
    tables = [_read(path) for path in found if path.is_file()]
    # Results that serve several exhibits say in a column which row belongs to which.
    tables = [t[t["exhibit"] == exhibit].drop(columns="exhibit") if "exhibit" in t.columns else t for t in tables]
    return pd.concat(tables, ignore_index=True) if tables else None


def _reasons(paper: str) -> pd.DataFrame:
    return pd.read_csv(Path(data_path("published")) / paper / "reasons.csv", dtype=str, keep_default_na=False)


def _judged_claims(paper: str, folder: Path) -> pd.DataFrame:
    claims = load_claims(paper)
    files = sorted((folder / paper).glob("claims*.csv"))
    frames = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in files if ".cells." not in path.name]
    columns = ["id", "ours", "verdict", "reason"]
    judged = pd.concat([frame[columns] for frame in frames]) if frames else pd.DataFrame(columns=columns, dtype=str)
    unknown = sorted(set(judged["id"]) - set(claims["id"]))
    if unknown:
        raise ValueError(f"Results of {paper} judge claims that are not published: {', '.join(unknown)}.")
    wrong = sorted(set(judged["verdict"]) - {"holds", "holds in part", "fails"})
    if wrong:
        raise ValueError(f"Results of {paper} have verdicts {wrong}; allowed are holds, holds in part, fails.")
    joined = claims.merge(judged, on="id", how="left", validate="one_to_one")
    joined["verdict"] = joined["verdict"].fillna("not yet")
    return pd.DataFrame(
        {
            "paper": paper,
            "exhibit": joined["exhibit"],
            "kind": "claim",
            "id": joined["id"],
            "statement": joined["statement"],
            "where": joined["where"],
            "printed_text": (joined["value"] + " " + joined["unit"]).str.strip(),
            "ours_text": joined["ours"].fillna(""),
            "verdict": joined["verdict"],
            "reason": joined["reason"].fillna(""),
        }
    )


def scoreboard(results: str | Path | None = None) -> pd.DataFrame:
    """Every published number and claim of the three papers, with ours and the verdict.

    Parameters
    ----------
    results : path, optional
        Other folder with our results; default ``data/results``.

    Returns
    -------
    DataFrame
        Columns ``paper, exhibit, kind`` (``"number"``: printed; ``"stored"``: in the files from which the authors drew
        a figure; ``"claim"``), the key columns, ``statistic, printed, ours,
        difference, tolerance, verdict, reason``, ``printed_text, ours_text`` (as they are to be shown) and, for
        claims, ``id, statement, where``.
    """
    folder = Path(results) if results is not None else Path(data_path("results"))
    parts = []
    for paper in PAPERS:
        for name in exhibits(paper):
            exhibit = name.partition("/")[2]
            judged = compare(_result_tables(name, folder), load(paper, exhibit), exhibit=name, reasons=_reasons(paper))
            judged.insert(0, "paper", paper)
            judged.insert(1, "exhibit", exhibit)
            judged.insert(2, "kind", "stored" if exhibit.endswith("_stored") else "number")
            for value, text in (("printed", judged["text"]), ("ours", [""] * len(judged))):
                shown = zip(judged[value], judged["decimals"], text, strict=True)
                judged[f"{value}_text"] = [_digits(number, decimals, words) for number, decimals, words in shown]
            parts.append(judged.drop(columns=["text", "decimals"]))
        parts.append(_judged_claims(paper, folder))
    return pd.concat(parts, ignore_index=True)


def _digits(value: float, decimals: int, text: str) -> str:
    return text if pd.isna(value) else f"{float(value):.{int(decimals)}f}"


def counts(board: pd.DataFrame, by: Sequence[str] = ("paper", "kind")) -> pd.DataFrame:
    """Count verdicts.

    Parameters
    ----------
    board : DataFrame
        From `scoreboard`.
    by : sequence of str
        Columns to count by.

    Returns
    -------
    DataFrame
        One row a combination of `by`, one column a verdict, and ``total``.
    """
    numbered = board.assign(rows=1)
    table = numbered.pivot_table(
        index=list(by), columns="verdict", values="rows", aggfunc="sum", fill_value=0, sort=False
    )
    table = table.reindex(columns=list(VERDICTS), fill_value=0)
    table["total"] = table.sum(axis=1)
    table.columns.name = None
    return table

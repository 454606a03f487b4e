"""The papers' printed numbers and statements, and what became of them here.

Every number that a paper prints is one row of the scoreboard, with a verdict that is computed: ``equal`` to the printed
digits, ``close`` within a stated tolerance, ``differs`` (with the reason), or ``not yet``. What a paper says in
words is a claim: it ``holds``, ``fails``, ``holds in part``, or is ``not yet`` checked; a theorem is ``proved``,
``refuted``, or ``not refuted`` by a stated number of attempts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fairpca._comparison import TOLERANCES, Tolerance, compare
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
CLAIM_VERDICTS = ("holds", "holds in part", "fails", "proved", "not refuted", "refuted")
VERDICTS = ("equal", "close", "differs", *CLAIM_VERDICTS, "not yet")
NOT_TABLES = ("claims", "errata", "reasons")

# Results that may answer an exhibit, besides those of its own name.
_ANSWERED_BY = {
    "lee2022/fig2_fig3_stored": ("fig2_fig3", "fig2", "fig3", "synthetic2"),
    "lee2022/communality_stored": ("communality", "fig4"),
    "vu2022/table1": ("tables",),
    "vu2022/table3": ("tables",),
    "vu2022/table4": ("tables",),
}


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
    wrong = sorted(set(judged["verdict"]) - set(CLAIM_VERDICTS))
    if wrong:
        raise ValueError(f"Results of {paper} have verdicts {wrong}; allowed are {', '.join(CLAIM_VERDICTS)}.")
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

"""The scoreboard: every published number and claim, with ours and the verdict."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd

from fairpca._resources import data_path, read_table
from fairpca.companion.published.comparison import INFERRED, compare
from fairpca.companion.published.declarations import (
    Exhibit,
    Paper,
    load,
    load_claims,
    load_reasons,
    load_settings,
    load_tolerances,
    papers,
)

__all__ = ["CLAIM_VERDICTS", "NUMBER_VERDICTS", "VERDICTS", "scoreboard", "unanswered"]

# Of statements about data and runs, and of theorems, about which runs alone can say little.
CLAIM_VERDICTS = ("holds", "holds in part", "fails", "proved", "not refuted", "refuted", "corrected")
# Of settings: they are how numbers were made, and count neither as numbers nor as claims.
SETTING_VERDICTS = ("as stated", "otherwise")
NUMBER_VERDICTS = ("equal", INFERRED, "close", "differs")
VERDICTS = (*NUMBER_VERDICTS, "not judged", *CLAIM_VERDICTS, *SETTING_VERDICTS, "not yet")
# What is said in words, by kind: where it is published, and the verdicts it may have.
_WORDS = {
    "claim": (load_claims, CLAIM_VERDICTS),
    "setting": (load_settings, SETTING_VERDICTS),
}


def _folder(paper: str, results: str | Path | None) -> Path:
    """Folder with our results for a paper."""
    return data_path("results") / paper if results is None else Path(results) / paper


def _answers(exhibit: Exhibit, results: str | Path | None) -> pd.DataFrame | None:
    """Our numbers for an exhibit, from the results that it is declared to be answered by."""
    parts = []
    for answer in exhibit.answered_by:
        paper, _, name = answer.result.partition("/")
        path = _folder(paper, results) / f"{name}.csv"
        if not path.is_file():
            continue  # its numbers are then "not yet", which `unanswered` reports
        table = read_table(path)
        for column, value in answer.where.items():
            if column not in table.columns:
                raise ValueError(f"{answer.result} has no column {column!r}, by which {exhibit.name} chooses rows.")
            table = table[table[column] == value].drop(columns=column)
        parts.append(table)
    return pd.concat(parts, ignore_index=True) if parts else None


def _judged_words(paper: str, folder: Path, kind: str) -> pd.DataFrame:
    read, allowed = _WORDS[kind]
    said, path = read(paper), folder / "statements.csv"
    if path.is_file():
        judged = pd.read_csv(path, dtype=str, keep_default_na=False)
    else:
        judged = pd.DataFrame(columns=["id", "ours", "verdict", "reason"], dtype=str)
    unknown = set(judged["id"]).difference(*(other(paper)["id"] for other, _ in _WORDS.values()))
    if unknown:
        raise ValueError(f"{path} judges what is not published: {', '.join(sorted(unknown))}.")
    judged = judged[judged["id"].isin(said["id"])]
    # A statement about what cannot be run here may stand beside ours without a verdict.
    wrong = sorted(set(judged["verdict"]) - {*allowed, "not judged"})
    if wrong:
        raise ValueError(f"Results of {paper} have verdicts {wrong}; allowed are {', '.join(allowed)}.")
    joined = said.merge(judged, on="id", how="left", validate="one_to_one")
    joined["verdict"] = joined["verdict"].fillna("not yet")
    return pd.DataFrame(
        {
            "paper": paper,
            "exhibit": joined["exhibit"],
            "kind": kind,
            "id": joined["id"],
            "statement": joined["statement"],
            "where": joined["where"],
            "printed_text": (joined["value"] + " " + joined["unit"]).str.strip(),
            "ours_text": joined["ours"].fillna(""),
            "verdict": joined["verdict"],
            "reason": joined["reason"].fillna(""),
        }
    )


def _judged_numbers(paper: Paper, exhibit: Exhibit, results: str | Path | None) -> pd.DataFrame:
    judged = compare(
        _answers(exhibit, results),
        load(paper.name, exhibit.name),
        load_tolerances(paper.name),
        exhibit=f"{paper.name}/{exhibit.name}",
        reasons=load_reasons(paper.name),
        results=results,
    )
    judged.insert(0, "paper", paper.name)
    judged.insert(1, "exhibit", exhibit.name)
    judged.insert(2, "kind", "stored" if exhibit.stored else "number")
    for value, text in (("printed", judged["text"]), ("ours", [""] * len(judged))):
        shown = zip(judged[value], judged["decimals"], text, strict=True)
        judged[f"{value}_text"] = [_digits(number, decimals, words) for number, decimals, words in shown]
    return judged.drop(columns=["text", "decimals"])


def _with_open(board: pd.DataFrame, paper: Paper) -> pd.DataFrame:
    """Give the reasons that a paper declares for numbers and claims without an answer."""
    for entry in paper.open:
        meant = (board["paper"] == paper.name) & (board["verdict"] == "not yet") & (board["reason"] == "")
        for column, pattern in entry.items():
            if column == "reason":
                continue
            if column not in board.columns:
                raise ValueError(
                    f"'open' of {paper.name} speaks of {column!r}; columns are {', '.join(board.columns)}."
                )
            meant &= board[column].map(lambda value, pattern=pattern: fnmatchcase(str(value), pattern))
        board.loc[meant, "reason"] = entry["reason"]
    return board


def scoreboard(results: str | Path | None = None) -> pd.DataFrame:
    """Every published number and claim of the papers, with ours and the verdict.

    Parameters
    ----------
    results : path, optional
        Other folder with our results; default ``data/results``.

    Returns
    -------
    DataFrame
        Columns ``paper, exhibit, kind`` (``"number"``: printed; ``"stored"``: in the files from which the authors drew
        a figure; ``"claim"``; ``"setting"``: how an experiment was run), the key columns, ``statistic, printed, ours,
        difference, tolerance, verdict, reason``, ``printed_text, ours_text`` (as they are to be shown) and, for
        claims and settings, ``id, statement, where``.
    """
    parts = []
    for paper in papers():
        parts += [_judged_numbers(paper, exhibit, results) for exhibit in paper.tables]
        parts += [_judged_words(paper.name, _folder(paper.name, results), kind) for kind in _WORDS]
    board = pd.concat([part for part in parts if len(part)], ignore_index=True)
    for paper in papers():
        board = _with_open(board, paper)
    return board


def unanswered(board: pd.DataFrame) -> pd.DataFrame:
    """Count the published numbers and claims that no result answers: ``paper, exhibit, kind, reason, rows``.

    Where the paper's declaration says why (its list ``open``), the reason stands there; elsewhere it is empty.

    Parameters
    ----------
    board : DataFrame
        From `scoreboard`.

    Returns
    -------
    DataFrame
        One row a combination of the first four columns; `rows` is the count.
    """
    waiting = board[board["verdict"] == "not yet"]
    return waiting.groupby(["paper", "exhibit", "kind", "reason"], sort=False).size().reset_index(name="rows")


def _digits(value: float, decimals: int, text: str) -> str:
    return text if pd.isna(value) else f"{float(value):.{int(decimals)}f}"

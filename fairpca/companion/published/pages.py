"""What the book shows of papers: the scoreboard as HTML, lists of errata as Markdown."""

from __future__ import annotations

import json
import re
from html import escape

import pandas as pd

from fairpca import datasets
from fairpca._resources import data_path, read_table
from fairpca.companion.published.board import NUMBER_VERDICTS, VERDICTS
from fairpca.companion.published.comparison import INFERRED, KEYS
from fairpca.companion.published.declarations import Exhibit, Paper, load_errata, load_places, papers

__all__ = [
    "answer",
    "answers",
    "counts_line",
    "details",
    "errata_list",
    "filled",
    "places",
    "words",
]

# A sign and a word each: colour alone tells nothing to some readers.
SIGNS = {
    "equal": "✓",
    "equal, inferred": "✓",
    "close": "≈",
    "differs": "≠",
    "not judged": "·",
    "holds": "✓",
    "holds in part": "◐",
    "fails": "✗",
    "proved": "✓",
    "not refuted": "◌",
    "refuted": "✗",
    "corrected": "✎",
    "as stated": "✓",
    "otherwise": "≠",
    "not yet": "…",
}
# How a reason says that no cause is known.
UNKNOWN = r"[Cc]ause unknown|not known|do not know"
_BOX = "max-height: 26rem; overflow: auto; max-width: 100%;"
_TITLES = {
    "dataset": "data",
    "d": "d",
    "printed_text": "printed",
    "ours_text": "ours",
    "id": "claim",
    "statement": "the paper says",
    "where": "where",
}


def answer(board: pd.DataFrame) -> str:
    """Say in one sentence of Markdown what became of the numbers that the papers print."""
    found = board[board["kind"] == "number"]["verdict"].value_counts()
    equal, inferred, close, differs, waiting = (int(found.get(v, 0)) for v in (*NUMBER_VERDICTS, "not yet"))
    differing = board[(board["kind"] == "number") & (board["verdict"] == "differs")]
    unknown = int(differing["reason"].str.contains(UNKNOWN).sum())
    total, others = equal + inferred + close + differs + waiting, int(found.get("not judged", 0))
    if not total:
        return "No paper here prints a number in a table."
    parts = [
        f"**{equal:,}** ({equal / total:.0%}) come out equal to the printed digits",
        f"**{close:,}** ({close / total:.0%}) within a computed tolerance",
        f"**{differs:,}** ({differs / total:.0%}) differ, **{unknown:,}** of them for a cause that we do not know",
    ]
    if inferred:
        parts.insert(1, f"**{inferred:,}** ({inferred / total:.0%}) too, with a setting that we inferred")
    if waiting:
        parts.append(f"**{waiting:,}** have no answer yet")
    beside = f" Beside them {others:,} printed entries are not judged, for the reasons given." if others else ""
    said = f"{', '.join(parts[:-1])}, and {parts[-1]}.{beside}"
    return f"Of the **{total:,} numbers printed** in the papers' tables, {said}"


def by_method(board: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts on printed numbers of each method under study: without sizes of files and ordinary PCA."""
    rows = board[(board["kind"] == "number") & (board["method"].fillna("") != "") & (board["method"] != "pca")]
    table = pd.crosstab([rows["paper"], rows["method"]], rows["verdict"])
    table = table.reindex(columns=[v for v in VERDICTS if v in table.columns])
    table.insert(0, "printed in tables", table.sum(axis=1))
    known = {paper.name: (paper.short, words(paper)) for paper in papers()}
    table = table.loc[[key for name in known for key in table.index if key[0] == name]].reset_index()
    table["method"] = [
        known[paper][1].get(name, name) for paper, name in zip(table["paper"], table["method"], strict=True)
    ]
    table["paper"] = [known[paper][0] for paper in table["paper"]]
    table.columns.name = None
    return table


def methods_line(board: pd.DataFrame) -> str:
    """Say in one sentence how many printed numbers of each method under study come out equal, close or different."""
    said = []
    for row in by_method(board).to_dict("records"):
        judged = row["printed in tables"] - row.get("not judged", 0) - row.get("not yet", 0)
        inferred = f", {row[INFERRED]} equal with an inferred setting" if row.get(INFERRED) else ""
        said.append(
            f"{row['method']} ({row['paper']}) {row.get('equal', 0)} equal{inferred}, {row.get('close', 0)} close, "
            f"{row.get('differs', 0)} different of {judged}"
        )
    return f"By method under study, without sizes of files and without ordinary PCA: {'; '.join(said)}."


_KINDS = {
    "number": "printed in tables",
    "stored": "stored behind figures",
    "claim": "claims",
    "setting": "settings",
}


def answers(board: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Count the verdicts on rows of one kind: one row a paper, the verdicts that occur, and all of them together."""
    rows = board[board["kind"] == kind]
    titles = {paper.name: paper.short for paper in papers()}
    table = pd.crosstab(rows["paper"], rows["verdict"]).reindex(
        columns=[v for v in VERDICTS if v in set(rows["verdict"])]
    )
    table = table.loc[[name for name in titles if name in table.index]].rename(index=titles)
    table.insert(0, _KINDS.get(kind, kind), table.sum(axis=1))
    if len(table) > 1:
        table.loc["together"] = table.sum()
    table.columns.name = table.index.name = None
    return table


_STATISTICS = {
    "sd": "standard deviation",
    "q1": "first quartile",
    "q3": "third quartile",
    "min": "least",
    "max": "largest",
}


def words(paper: Paper) -> dict[str, str]:
    """What readers read for the keys of data sets and statistics, and for those in a paper's ``words.json``."""
    own = paper.folder / "words.json"
    declared: dict[str, str] = json.loads(own.read_text(encoding="utf-8")) if own.is_file() else {}
    return {name: datasets.facts(name).title for name in datasets.names()} | _STATISTICS | declared


_ITEM = re.compile(
    r"(?P<word>Figure|Table|Theorem|Lemma|Proposition|Corollary|Definition|Remark|Algorithm|Fact|Assumption)s?\s+"
    r"(?P<number>(?:[A-Z]\.)?\d+(?:\.\d+)?)"
)


def places(paper: Paper) -> dict[str, str]:
    """Addresses of what a paper numbers, from a page one folder deep: ``{"Figure 3": "../…/credit.html#fig-…"}``."""
    first = load_places(paper.name).drop_duplicates("item")
    return {str(place.item): f"../{place.chapter}.html#{place.label}" for place in first.itertuples(index=False)}


def _address(known: dict[str, str], exhibit: Exhibit | None, where: str = "") -> str:
    """Where the book shows it: the first item that `where` names, or the exhibit, or the exhibit's first chapter."""
    named = [f"{match['word']} {match['number']}" for match in _ITEM.finditer(where)]
    titled = [f"{match['word']} {match['number']}" for match in _ITEM.finditer(exhibit.title)] if exhibit else []
    for item in (*named, *titled):
        if item in known:
            return known[item]
    return f"../{exhibit.chapters[0]}.html" if exhibit and exhibit.chapters else ""


def _linked(text: str, address: str) -> str:
    return f'<a href="{escape(address)}">{text}</a>' if address and text else text


def counts_line(board: pd.DataFrame) -> str:
    """Verdicts and their counts in one line, for instance ``"✓ 108 equal, … 4 not yet"``."""
    found = board["verdict"].value_counts()
    return ", ".join(f"{SIGNS[verdict]} {found[verdict]} {verdict}" for verdict in VERDICTS if verdict in found)


def details(board: pd.DataFrame) -> str:
    """One collapsible part an exhibit: its counts as the heading, every row inside.

    Parameters
    ----------
    board : DataFrame
        Rows of `fairpca.companion.published.scoreboard`.

    Returns
    -------
    str
        HTML that needs no style sheet.
    """
    parts = []
    known = {paper.name: paper for paper in papers()}
    addresses = {name: places(paper) for name, paper in known.items()}
    read = {name: words(paper) for name, paper in known.items()}
    for (name, exhibit, kind), rows in board.groupby(["paper", "exhibit", "kind"], sort=False):
        paper = known.get(str(name))
        declared = paper.exhibits.get(str(exhibit)) if paper else None
        title = declared.title[:1].upper() + declared.title[1:] if declared else str(exhibit)
        title += {"claim": ", claims", "setting": ", settings"}.get(str(kind), "")
        to = [
            _address(addresses.get(str(name), {}), declared, str(where) if pd.notna(where) else "")
            for where in rows.get("where", pd.Series("", index=rows.index))
        ]
        table = _table(rows, to, in_words=kind in ("claim", "setting"), read=read.get(str(name), {}))
        parts.append(
            f'<details style="margin: 0.5rem 0;"><summary><strong>{escape(title)}</strong>: {len(rows)} '
            f"({escape(counts_line(rows))})</summary>\n"
            f'<div style="{_BOX}">\n{table}\n</div>\n</details>'
        )
    return "\n".join(parts)


def _table(rows: pd.DataFrame, addresses: list[str], *, in_words: bool, read: dict[str, str]) -> str:
    """Rows as HTML; the first cell of each leads to the page that shows it (of words: the place in the paper)."""
    columns = ["statement", "where"] if in_words else [*KEYS, "statistic"]
    # Keys that are the same everywhere, such as the protocol, say nothing in a table.
    shown = [name for name in columns if name in rows and rows[name].notna().any() and (rows[name] != "").any()]
    shown = [name for name in shown if in_words or name == "metric" or len(rows[name].drop_duplicates()) > 1]
    link = "where" if in_words else shown[0] if shown else ""
    shown += [name for name in ("printed_text", "ours_text") if (rows[name] != "").any()]
    shown += ["verdict"] + (["reason"] if (rows["reason"] != "").any() else [])
    keys = () if in_words else (*KEYS, "statistic")
    head = "".join(f'<th style="text-align: left;">{escape(_TITLES.get(name, name))}</th>' for name in shown)
    body = [
        "<tr>"
        + "".join(
            f"<td>{_linked(_cell(name, row[name], read if name in keys else {}), to if name == link else '')}</td>"
            for name in shown
        )
        + "</tr>"
        for (_, row), to in zip(rows.iterrows(), addresses, strict=True)
    ]
    return f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>\n' + "\n".join(body) + "\n</tbody></table>"


def _cell(name: str, value: object, read: dict[str, str]) -> str:
    if name == "verdict":
        return f"{SIGNS[str(value)]}&nbsp;{escape(str(value))}"
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:g}"
    return escape(read.get(str(value), str(value)))


_FILLED = re.compile(r"\{\{(?P<what>[^}]*)\}\}")


def filled(text: str) -> str:
    """Put results of today where a text names them, so that it cannot go stale.

    ``{{<paper>/table1 method=pca d=2 -> mean:.1f}}`` is a number of the one stored row with these keys, and
    ``{{<paper> fig1-gap}}`` what we find for the claim or setting of that id.
    """
    return _FILLED.sub(lambda match: _result(match["what"]), text)


def _result(what: str) -> str:
    keys, arrow, wanted = (part.strip() for part in what.partition("->"))
    name, *conditions = keys.split()
    if not arrow:
        judged = pd.read_csv(data_path("results") / name / "statements.csv", dtype=str, keep_default_na=False)
        rows = judged[judged["id"] == " ".join(conditions)]
        column, style = "ours", ""
    else:
        rows = read_table(data_path("results") / name.partition("/")[0] / f"{name.partition('/')[2]}.csv")
        for key, _, value in (condition.partition("=") for condition in conditions):
            rows = rows[rows[key].astype(str) == value]
        column, _, style = wanted.partition(":")
    if len(rows) != 1:
        raise ValueError(f"{{{{{what}}}}} names {len(rows)} stored rows; name one.")
    return format(rows[column].iloc[0], style)


def errata_list(paper: Paper, kind: str) -> str:
    """One kind of a paper's errata in Markdown: where, what is printed, what we find, how it can be checked."""
    errata, known = load_errata(paper.name), places(paper)
    items = [
        f"**{_linked(row['where'], _address(known, None, row['where']))}.** *Printed:* {_starred(row['printed'])}\n\n"
        f"* *Found:* {_starred(filled(row['found']))}\n* *Evidence:* {row['evidence']}\n"
        for row in errata[errata["kind"] == kind].to_dict("records")
    ]
    return "\n".join([f"### {paper.short}, {paper.venue}\n", *items]) if items else ""


def _starred(text: str) -> str:
    """Text whose asterisks stay what they are, as in V*."""
    return text.replace("*", "\\*")

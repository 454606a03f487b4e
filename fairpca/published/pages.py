"""What the book shows of papers: the scoreboard as HTML, lists of errata and of exhibits as Markdown."""

from __future__ import annotations

from html import escape

import pandas as pd

from fairpca.published.board import VERDICTS, unanswered
from fairpca.published.comparison import KEYS
from fairpca.published.declarations import Exhibit, Paper, load_errata, papers

__all__ = ["counts_line", "details", "errata_list", "exhibit_titles", "exhibits_table", "gaps", "papers_table"]

# A sign and a word each: colour alone tells nothing to some readers.
SIGNS = {
    "equal": "✓",
    "close": "≈",
    "differs": "≠",
    "not judged": "·",
    "holds": "✓",
    "holds in part": "◐",
    "fails": "✗",
    "proved": "✓",
    "not refuted": "◌",
    "refuted": "✗",
    "not yet": "…",
}
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


def counts_line(board: pd.DataFrame) -> str:
    """Verdicts and their counts in one line, for instance ``"✓ 108 equal, … 4 not yet"``."""
    found = board["verdict"].value_counts()
    return ", ".join(f"{SIGNS[verdict]} {found[verdict]} {verdict}" for verdict in VERDICTS if verdict in found)


def details(board: pd.DataFrame) -> str:
    """One collapsible part an exhibit: its counts as the heading, every row inside.

    Parameters
    ----------
    board : DataFrame
        Rows of `fairpca.published.scoreboard`.

    Returns
    -------
    str
        HTML that needs no style sheet.
    """
    parts = []
    for (exhibit, kind), rows in board.groupby(["exhibit", "kind"], sort=False):
        title = f"{exhibit}, claims" if kind == "claim" else str(exhibit)
        parts.append(
            f'<details style="margin: 0.5rem 0;"><summary><strong>{escape(title)}</strong>: {len(rows)} '
            f"({escape(counts_line(rows))})</summary>\n"
            f'<div style="{_BOX}">\n{_table(rows, claims=kind == "claim")}\n</div>\n</details>'
        )
    return "\n".join(parts)


def _table(rows: pd.DataFrame, *, claims: bool) -> str:
    columns = ["statement", "where"] if claims else [*KEYS, "statistic"]
    # Keys that are the same everywhere, such as the protocol, say nothing in a table.
    shown = [name for name in columns if name in rows and rows[name].notna().any() and (rows[name] != "").any()]
    shown = [name for name in shown if claims or name == "metric" or len(rows[name].drop_duplicates()) > 1]
    shown += [name for name in ("printed_text", "ours_text") if (rows[name] != "").any()]
    shown += ["verdict"] + (["reason"] if (rows["reason"] != "").any() else [])
    head = "".join(f'<th style="text-align: left;">{escape(_TITLES.get(name, name))}</th>' for name in shown)
    body = [f"<tr>{''.join(f'<td>{_cell(name, row[name])}</td>' for name in shown)}</tr>" for _, row in rows.iterrows()]
    return f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>\n' + "\n".join(body) + "\n</tbody></table>"


def _cell(name: str, value: object) -> str:
    if name == "verdict":
        return f"{SIGNS[str(value)]}&nbsp;{escape(str(value))}"
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:g}"
    return escape(str(value))


def gaps(board: pd.DataFrame) -> str:
    """Say in Markdown which published numbers and claims no result answers, or that there is none."""
    waiting = unanswered(board)
    if waiting.empty:
        return "Every published number and every claim has an answer."
    lines = [
        f"* {row['paper']}, {row['exhibit']}: {row['rows']} of kind {row['kind']}"
        f" ({row['reason'] or 'no result, and no reason declared'})"
        for row in waiting.to_dict("records")
    ]
    return "\n".join([f"**{waiting['rows'].sum()} published rows have no answer yet:**", "", *lines])


def errata_list(paper: Paper, kind: str) -> str:
    """One kind of a paper's errata in Markdown: where, what is printed, what we find, how it can be checked."""
    errata = load_errata(paper.name)
    items = [
        f"**{row['where']}.** *Printed:* {row['printed']}\n\n"
        f"* *Found:* {row['found']}\n* *Evidence:* {row['evidence']}\n"
        for row in errata[errata["kind"] == kind].to_dict("records")
    ]
    return "\n".join([f"### {paper.short}, {paper.venue}\n", *items]) if items else ""


def exhibit_titles(exhibits: list[Exhibit]) -> str:
    """Titles in one line, runs of numbers joined: ``"Table 1, Figures 8–10, 12"``."""
    numbers: dict[str, list[int]] = {}
    others = []
    for exhibit in exhibits:
        word, _, number = exhibit.title.rpartition(" ")
        if word in ("Figure", "Table") and number.isdecimal():
            numbers.setdefault(word, []).append(int(number))
        else:
            others.append(exhibit.title)
    for word, found in numbers.items():
        starts = [n for n in found if n - 1 not in found]
        ends = [n for n in found if n + 1 not in found]
        runs = [str(a) if a == b else f"{a}–{b}" for a, b in zip(sorted(starts), sorted(ends), strict=True)]
        others.append(f"{word}{'s' if len(found) > 1 else ''} {', '.join(runs)}")
    return ", ".join(others)


def papers_table() -> str:
    """The papers in Markdown, with what groups should share by each."""
    lines = ["| paper | what the groups should share |", "| --- | --- |"]
    lines += [f"| {p.short}, *{p.title}*, {p.venue} | {p.shares} |" for p in papers() if p.kind == "paper"]
    return "\n".join(lines)


def exhibits_table() -> str:
    """Which chapters show what of which paper, in Markdown."""
    lines = ["| exhibit | chapter |", "| --- | --- |"]
    for paper in papers():
        shown: dict[tuple[str, ...], list[Exhibit]] = {}
        for exhibit in paper.exhibits.values():
            if exhibit.chapters and not exhibit.stored:
                shown.setdefault(exhibit.chapters, []).append(exhibit)
        for chapters, exhibits in shown.items():
            files = ", ".join(f"`chapters/{chapter}.md`" for chapter in chapters)
            lines.append(f"| {paper.short}, {exhibit_titles(exhibits)} | {files} |")
    return "\n".join(lines)

"""From what one holds in one's hand, a figure or a theorem of a paper, to the page that shows it."""

from __future__ import annotations

import re
from html import escape

import pandas as pd

from fairpca.published.board import NUMBER_VERDICTS
from fairpca.published.declarations import Paper, load_places, papers
from fairpca.published.pages import counts_line

__all__ = ["finder", "finder_table", "verdict_line"]


def _about(board: pd.DataFrame, paper: Paper, item: str) -> pd.DataFrame:
    """Rows of the scoreboard that belong to a numbered item: its exhibit's, or those whose place names it."""
    word, _, number = item.partition(" ")
    # "Figure 1" is not in "Figure 10"; "Figures 8-10" and "Theorems 5.1 and 5.2" name what stands in them.
    named = re.compile(rf"\b{word}s?\b[^;]*?(?<![\d.]){re.escape(number)}(?![\d]|\.\d)")
    own = [name for name, exhibit in paper.exhibits.items() if exhibit.title == item]
    where = board["where"].fillna("").map(lambda text: bool(named.search(text)))
    return board[board["paper"].eq(paper.name) & (board["exhibit"].isin(own) | where)]


def verdict_line(rows: pd.DataFrame) -> str:
    """Verdicts on an item in one line, settings and what is not judged left out; ``"shown"`` where there is none."""
    judged = rows[rows["kind"].ne("setting") & rows["verdict"].ne("not judged")]
    return counts_line(judged) if len(judged) else "shown"


def _distance(rows: pd.DataFrame) -> str:
    """How far our numbers are from print, relative to it: half of them are within, and the largest."""
    numbers = rows[rows["kind"].isin(["number", "stored"]) & rows["verdict"].isin(NUMBER_VERDICTS)]
    numbers = numbers[numbers["printed"].abs() > 0]
    if numbers.empty:
        return ""
    relative = (numbers["ours"] / numbers["printed"] - 1).abs()
    return f"half within {100 * relative.median():.2g} %, all within {100 * relative.max():.2g} %"


def finder(board: pd.DataFrame) -> pd.DataFrame:
    """One row for everything that the papers number: figures, tables, statements, algorithms.

    Parameters
    ----------
    board : DataFrame
        Rows of `fairpca.published.scoreboard`.

    Returns
    -------
    DataFrame
        ``paper``, ``item``, ``verdict``, ``distance``, ``chapter`` and ``label`` of the place in the book.
    """
    rows = []
    for paper in papers():
        for place in load_places(paper.name).itertuples(index=False):
            about = _about(board, paper, str(place.item))
            line = verdict_line(about)
            rows.append((paper.short, place.item, line, _distance(about), place.chapter, place.label))
    return pd.DataFrame(rows, columns=["paper", "item", "verdict", "distance", "chapter", "label"])


def finder_table(board: pd.DataFrame) -> str:
    """The rows of `finder` as a sortable table; the build puts a thumbnail where a figure is linked."""
    lines = []
    for row in finder(board).to_dict("records"):
        paper, item, verdict, distance, chapter, label = (escape(str(value)) for value in row.values())
        address = f"../{chapter}.html#{label}"
        lines.append(
            f'<tr><td>{paper}</td><td><a href="{address}">{paper}, {item}</a></td>'
            f'<td data-thumbnail="{address}"></td><td>{verdict}</td><td>{distance}</td></tr>'
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("paper", "exhibit", "picture", "verdict", "distance"))
    return f'<table class="sortable"><thead><tr>{head}</tr></thead><tbody>\n' + "\n".join(lines) + "\n</tbody></table>"

"""From what one holds in one's hand, a figure or a theorem of a paper, to the page that shows it."""

from __future__ import annotations

import re
from html import escape

import pandas as pd

from fairpca.companion.published.board import NUMBER_VERDICTS
from fairpca.companion.published.declarations import Paper, load_errata, load_places, papers
from fairpca.companion.published.pages import counts_line

__all__ = ["finder", "finder_table", "verdict_line"]


def _naming(table: pd.DataFrame, item: str) -> pd.DataFrame:
    """Return the rows of a table whose place names a numbered item."""
    word, _, number = item.partition(" ")
    # "Figure 1" is not in "Figure 10". "Figures 8-10" and "Theorems 5.1 and 5.2" name what they contain.
    named = re.compile(rf"\b{word}s?\b[^;]*?(?<![\d.]){re.escape(number)}(?![\d]|\.\d)")
    return table[table["where"].fillna("").map(lambda text: bool(named.search(text)))]


def _about(board: pd.DataFrame, paper: Paper, item: str) -> pd.DataFrame:
    """Return the scoreboard's rows on a numbered item: those of its exhibit, and those whose place names it."""
    own = [name for name, exhibit in paper.exhibits.items() if exhibit.title == item]
    return board[
        board["paper"].eq(paper.name) & (board["exhibit"].isin(own) | board.index.isin(_naming(board, item).index))
    ]


def verdict_line(rows: pd.DataFrame, errata: int = 0) -> str:
    """Return the verdicts on an item in one line, numbers and statements apart, settings left out.

    An item without a verdict is ``"corrected"`` if the paper's text on it has errata, else ``"shown"``.
    """
    judged = rows[rows["kind"].ne("setting") & rows["verdict"].ne("not judged")]
    numbers = judged["kind"].isin(["number", "stored"])
    parts = {"numbers": counts_line(judged[numbers]), "statements": counts_line(judged[~numbers])}
    lines = [f"{kind}: {line}" for kind, line in parts.items() if line]
    return "; ".join(lines) or ("✎ corrected" if errata else "shown")


def _distance(rows: pd.DataFrame) -> str:
    """Return the median and the largest relative distance from the printed numbers, and where the largest is."""
    numbers = rows[rows["kind"].isin(["number", "stored"]) & rows["verdict"].isin(NUMBER_VERDICTS)]
    numbers = numbers[numbers["printed"].abs() > 0]
    if numbers.empty:
        return ""
    relative = (numbers["ours"] / numbers["printed"] - 1).abs()
    largest = numbers.iloc[relative.argmax()]
    row = (largest.get(name) for name in ("dataset", "method", "setting", "metric"))
    told = ", ".join(str(part) for part in row if isinstance(part, str) and part)
    return f"half within {100 * relative.median():.2g} %, all within {100 * relative.max():.2g} % (the largest: {told})"


def finder(board: pd.DataFrame) -> pd.DataFrame:
    """One row for everything that the papers number: figures, tables, statements, algorithms.

    Parameters
    ----------
    board : DataFrame
        Rows of `fairpca.companion.published.scoreboard`.

    Returns
    -------
    DataFrame
        ``paper``, ``item``, ``verdict``, ``distance``, ``chapter`` and ``label`` of the place in the book, how many
        ``errata`` the paper's text has there, and the ``words`` that a reader may look for.
    """
    rows = []
    for paper in papers():
        for place in load_places(paper.name).itertuples(index=False):
            about, known = _about(board, paper, str(place.item)), _naming(load_errata(paper.name), str(place.item))
            errata = int(known["kind"].eq("print").sum())
            label = re.sub(r"\d+", "", str(place.label))
            words = f"{paper.short} {paper.name} {place.item} {place.chapter} {label}"
            rows.append((paper.short, place.item, verdict_line(about, errata), _distance(about), place.chapter,
                         place.label, errata, words))  # fmt: skip
    names = ["paper", "item", "verdict", "distance", "chapter", "label", "errata", "words"]
    return pd.DataFrame(rows, columns=names)


def finder_table(board: pd.DataFrame) -> str:
    """Return the rows of `finder` as a sortable table; the build puts a thumbnail where a figure is linked."""
    lines = []
    for row in finder(board).to_dict("records"):
        paper, item, verdict, distance, chapter, label, errata, words = (escape(str(value)) for value in row.values())
        address, page = f"../{chapter}.html#{label}", chapter.rpartition("/")[2].replace("_", " ")
        link = f' (<a href="../beyond/errata.html">errata: {errata}</a>)' if errata != "0" else ""
        lines.append(
            f'<tr data-words="{words}"><td>{paper}</td><td><a href="{address}">{paper}, {item} ({page})</a></td>'
            f'<td data-thumbnail="{address}"></td><td>{verdict}{link}</td><td>{distance}</td></tr>'
        )
    names = ("paper", "exhibit", "picture", "verdicts", "distance")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f'<table class="sortable"><thead><tr>{head}</tr></thead><tbody>\n' + "\n".join(lines) + "\n</tbody></table>"

"""The scoreboard as HTML: collapsible parts, tables that scroll in their own box."""

from __future__ import annotations

from html import escape

import pandas as pd

from fairpca._comparison import KEYS
from fairpca.published import VERDICTS

__all__ = ["counts_line", "details"]

# A sign and a word each: colour alone tells nothing to some readers.
SIGNS = {
    "equal": "✓",
    "close": "≈",
    "differs": "≠",
    "holds": "✓",
    "holds in part": "◐",
    "fails": "✗",
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

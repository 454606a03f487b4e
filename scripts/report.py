"""Build the replication report from the stored results: report/article.md becomes HTML, and a PDF through Chromium.

python scripts/report.py _build/report
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import tomllib
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import bibliography
import pandas as pd
import pdf
import yaml
from check_site import browser
from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt

import fairpca
from fairpca import datasets
from fairpca.companion import records
from fairpca.companion.published import VERDICTS, papers, scoreboard
from fairpca.companion.published.pages import answer, answers, by_method, counts_line, methods_line

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "report"
# How a claim can fail to hold as it stands.
LOOKS = (("#4477aa", ""), ("#4477aa", "oo"), ("#88bbdd", "//"), ("#cc7733", "xx"), ("#cccccc", ""), ("#ffffff", ".."))
FAILED = ("fails", "refuted", "holds in part")


def table(frame: pd.DataFrame) -> str:
    """Return a frame as a table of HTML in one line, which Markdown leaves alone."""
    looks = [" class=number" if len(frame) and frame[name].map(_is_number).all() else "" for name in frame.columns]
    head = "".join(f"<th{look}>{escape(str(name))}</th>" for name, look in zip(frame.columns, looks, strict=True))
    rows = []
    for row in frame.itertuples(index=False):
        rows.append("".join(f"<td{look}>{_words(value)}</td>" for value, look in zip(row, looks, strict=True)))
    return f"<table><thead><tr>{head}</tr></thead>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) or re.fullmatch(r"[\d,]+", str(value)) is not None


def _words(value: object) -> str:
    """Return a cell's text for HTML; what stands in backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(str(value)))


def with_names(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    return frame.rename_axis(name).reset_index()


def by_exhibit(board: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts on printed numbers by exhibit."""
    rows = []
    for paper in papers():
        for key, part in board[(board["paper"] == paper.name) & (board["kind"] == "number")].groupby("exhibit"):
            found = part["verdict"].value_counts()
            title = paper.exhibits[str(key)].title if str(key) in paper.exhibits else str(key)
            rows.append({"paper": paper.short, "exhibit": title, "numbers": len(part)} | found.to_dict())
    frame = pd.DataFrame(rows).fillna(0)
    verdicts = [verdict for verdict in VERDICTS if verdict in frame]
    return frame[["paper", "exhibit", "numbers", *verdicts]].astype(dict.fromkeys(verdicts, int))


# The reason of a row goes on with what was measured at it: how far it is away in units of the noise, or by how much.
_MEASURED = r"[.:] (?=[\d.]+ times|Ours is the mean over|Measured: )"


def by_reason(rows: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Count rows by the exhibit and the reason that is stated for them; the report counts what is in common."""
    if rows.empty:
        return ""
    common = rows["reason"].str.split(_MEASURED, n=1, regex=True).str[0]
    named = rows.assign(reason=common, exhibit=rows["exhibit"].map(lambda key: titles.get(key, key)))
    found = named.groupby(["exhibit", "reason"]).size().rename("numbers").reset_index()
    return table(found.sort_values(["exhibit", "numbers"], ascending=[True, False]))


def statements(rows: pd.DataFrame) -> str:
    shown = rows[["where", "statement", "verdict", "ours_text"]]
    return "" if rows.empty else table(shown.rename(columns={"ours_text": "found"}))


def verdict_figure(board: pd.DataFrame) -> str:
    """Return the shares of the verdicts on printed numbers as a picture, drawn into the page."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    counted = answers(board, "number").drop(index="together", errors="ignore")
    shares = counted.drop(columns=counted.columns[0])
    shares = shares.div(shares.sum(axis=1), axis=0)
    fig, ax = plt.subplots(figsize=(6.5, 0.5 * len(shares) + 0.9))
    left = pd.Series(0.0, index=shares.index)
    for verdict, (color, hatch) in zip(shares, LOOKS, strict=False):
        look = {"color": color, "hatch": hatch, "edgecolor": "black", "lw": 0.5}
        ax.barh(shares.index, shares[verdict], left=left, label=verdict, **look)
        left += shares[verdict]
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="share of the printed numbers")
    ax.legend(ncol=5, frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
    file = io.StringIO()
    # Without a date and random names the same results give the same picture.
    with mpl.rc_context({"svg.hashsalt": "fairpca"}):
        fig.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(fig)
    text = file.getvalue()
    return re.sub(r"\s*\n\s*", " ", text[text.index("<svg") :])


def about(paper: Any, board: pd.DataFrame) -> dict[str, Any]:
    """Return what the report says of one paper."""
    rows = board[board["paper"] == paper.name]
    return {
        "cite": paper.cite,
        "short": paper.short,
        "shares": paper.shares,
        "several": len(bibliography.works()[paper.cite].authors) > 1,
        "line": counts_line(rows),
        "reasons": by_reason(
            rows[(rows["kind"] == "number") & (rows["verdict"] == "differs")],
            {key: exhibit.title for key, exhibit in paper.exhibits.items()},
        ),
        "open": " ".join(dict.fromkeys(part["reason"] for part in paper.open)),
        "failed": statements(rows[(rows["kind"] == "claim") & rows["verdict"].isin(FAILED)]),
    }


def values(board: pd.DataFrame) -> dict[str, Any]:
    """Return everything that the text names, from the scoreboard and the stored results."""
    works, cited = bibliography.works(), []

    def cite(key: str) -> str:
        cited.append(key)
        return f"{works[key].names} ({works[key].year})"

    metadata = yaml.safe_load((SOURCE / "metadata.yaml").read_text(encoding="utf8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    stored = list(records().values())
    real = papers()
    kinds = pd.crosstab(board["paper"], board["kind"]).reindex([paper.name for paper in real]).fillna(0).astype(int)
    kinds = kinds.rename(index={paper.name: paper.short for paper in real})
    kinds.columns.name = None
    estimators = ", ".join(f"`{name}`" for name in fairpca.__all__ if name.endswith("PCA") and name != "BaseFairPCA")
    return {
        "title": metadata["title"],
        "authors": ", ".join(author["name"] for author in metadata["authors"]),
        "version": fairpca.__version__,
        "commits": len({part["commit"] for told in stored for part in told["computed_by"]}),
        "titles": " and ".join(filter(None, [", ".join(map(cite, [p.cite for p in real[:-1]])), cite(real[-1].cite)])),
        "answer": answer(board),
        "papers": [about(paper, board) for paper in real],
        "scope": table(with_names(kinds, "paper")),
        "programs": f"The methods are estimators of one package with one interface: {estimators}.",
        "datasets": len(datasets.names()),
        "hours": f"{sum(told['cpu_seconds'] for told in stored) / 3600:.1f}",
        "python": ", ".join(sorted({part["python"] for told in stored for part in told["computed_by"]})),
        "numbers": table(with_names(answers(board, "number"), "paper")),
        "figure": verdict_figure(board),
        "methods": table(by_method(board)),
        "methods_line": methods_line(board),
        "exhibits": table(by_exhibit(board)),
        "stored": table(with_names(answers(board, "stored"), "paper")),
        "claims": table(with_names(answers(board, "claim"), "paper")),
        "settings": table(with_names(answers(board, "setting"), "paper")),
        "licence": project["license"],
        "cite": cite,
        "references": References(cited),
    }


class References:
    """The works that the text has cited when it comes to its end."""

    def __init__(self, cited: list[str]) -> None:
        self.cited = cited

    def __str__(self) -> str:
        works = bibliography.works()
        return "\n".join(f"* {works[key].markdown()}" for key in sorted(set(self.cited)))


def render(board: pd.DataFrame) -> str:
    """Return the report as HTML."""
    given = values(board)
    words = Environment(undefined=StrictUndefined, autoescape=False)
    text = words.from_string((SOURCE / "article.md").read_text(encoding="utf8")).render(given)
    body = MarkdownIt("commonmark", {"html": True}).render(text)
    style = (SOURCE / "style.css").read_text(encoding="utf8")
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(given["title"])}</title>'
        f"<style>{style}</style></head><body>{body}</body></html>"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="takes report.html and report.pdf")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "report.html"
    page.write_text(render(scoreboard()), encoding="utf8")
    print(f"The report is in {page}")
    if browser() is None:
        print(pdf.ADVICE, file=sys.stderr)
        return 1
    pdf.print_page(page, folder / "report.pdf")
    print(f"and in {folder / 'report.pdf'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Pages that need nothing else: no network, figures inside, readable on paper, on a phone and by a screen reader."""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Iterable
from typing import Any

import pandas as pd

__all__ = ["close", "comparison_page", "figure_html", "listed", "page", "table_html"]

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1b1b1b; background: #fff; max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.25; } h2 { margin-top: 2.2rem; border-bottom: 1px solid #bbb; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .87rem; margin: .6rem 0; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .22rem .6rem; border-bottom: 1px solid #ccc; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } thead th { border-bottom: 2px solid #555; vertical-align: bottom; }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; } figcaption { font-size: .9rem; color: #333; }
pre, code { font: .84rem/1.45 ui-monospace, monospace; background: #f3f3f3; } pre { padding: .7rem; overflow-x: auto; white-space: pre-wrap; }
.warning { border-left: 4px solid #9a3b00; padding: .2rem .8rem; background: #fff4ec; }
a { color: #00508f; }
@media print {
  body { max-width: none; font-size: 10.5pt; } h2, figure, tr { break-inside: avoid; } h2 { break-after: avoid; }
  .scroll { overflow: visible; } table { font-size: 7.5pt; } th, td { white-space: normal; overflow-wrap: anywhere; padding: .15rem .3rem; }
}
"""  # noqa: E501


def page(title: str, body: str) -> str:
    """Return a whole page."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        "</body>\n</html>\n"
    )


def table_html(frame: pd.DataFrame, caption: str, digits: int = 3) -> str:
    """Return a table with a caption; its first column names the rows."""
    head = "".join(f'<th scope="col">{html.escape(str(name))}</th>' for name in frame.columns)
    rows = []
    for values in frame.itertuples(index=False, name=None):
        first, *rest = (html.escape(_shown(value, digits)) for value in values)
        rows.append(f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{text}</td>" for text in rest) + "</tr>")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(caption, quote=True)}">'
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _shown(value: Any, digits: int) -> str:
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.{digits}f}" if abs(value) < 1e6 else f"{value:.3g}"
    return "–" if value is None else str(value)


def figure_html(figure: Any, alt: str, caption: str) -> str:
    """Return a matplotlib figure as part of a page."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=130, bbox_inches="tight")
    data = base64.b64encode(stream.getvalue()).decode()
    return (
        f'<figure><img src="data:image/png;base64,{data}" alt="{html.escape(alt, quote=True)}">'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def close(figure: Any) -> None:
    """Forget a figure that has been written."""
    from matplotlib import pyplot

    pyplot.close(figure)


def comparison_page(comparison: Any, title: str) -> str:
    """Return a comparison as a page: what was compared, all estimates with intervals, a picture a dimension."""
    frame, parts = comparison.frame, [f"<h1>{html.escape(title)}</h1>"]
    groups = pd.DataFrame(comparison.groups.items(), columns=["group", "rows"])
    parts += [table_html(groups, "Groups"), *listed(comparison.notes)]
    for dimension in sorted(set(frame["n_components"])):
        parts.append(f"<h2>{dimension} components</h2>")
        ax = comparison.plot(n_components=dimension)
        caption = (
            f"Variance kept and gap between the groups' errors on new rows; bars: {comparison.level:.0%} intervals."
        )
        parts.append(figure_html(ax.figure, "A point a method: variance across, error gap upwards.", caption))
        close(ax.figure)
        rows = frame[frame["n_components"] == dimension].drop(columns="n_components")
        parts.append(table_html(rows, f"All estimates, {dimension} components"))
    skipped = [f"{name} was left out: {reason}" for name, reason in comparison.skipped.items()]
    return page(title, "\n".join([*parts, *listed(skipped)]))


def listed(lines: Iterable[str]) -> list[str]:
    """Return what a reader has to know, a paragraph a line."""
    return [f'<p class="warning">{html.escape(line)}</p>' for line in lines]

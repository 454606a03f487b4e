"""Pages that need nothing else: no network, no scripts, figures inside, readable on paper and by a screen reader.

Text becomes part of a page in one place, :func:`tag`, which escapes all that is not :class:`Html` already.
"""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["Html", "figure_html", "folded", "join", "listed", "page", "table_html", "tag"]

# Even if something were not escaped, a browser would neither run it nor ask another computer for anything.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1b1b1b; background: #fff; max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.25; overflow-wrap: anywhere; } h2 { margin-top: 2rem; border-bottom: 1px solid #bbb; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .87rem; margin: .6rem 0; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .22rem .6rem; border-bottom: 1px solid #ccc; text-align: left; vertical-align: top; }
th { max-width: 14rem; font-weight: 600; } tbody th { overflow-wrap: anywhere; } td { max-width: 30rem; overflow-wrap: anywhere; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.interval { display: block; font-size: .8em; color: #444; }
thead th { border-bottom: 2px solid #555; vertical-align: bottom; }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; } figcaption { font-size: .9rem; color: #333; }
pre, code { font: .84rem/1.45 ui-monospace, monospace; background: #f3f3f3; } pre { padding: .7rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
.answers li { margin: .45rem 0; }
.warning { border-left: 4px solid #9a3b00; padding: .2rem .8rem; background: #fff4ec; overflow-wrap: anywhere; }
details { margin: .7rem 0; } summary { cursor: pointer; font-weight: 600; }
a { color: #00508f; }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; line-height: 1.4; } h2 { margin-top: 1.1rem; break-after: avoid; }
  figure, tr, li, .warning { break-inside: avoid; } figure img { max-height: 9cm; } figcaption { font-size: 9pt; }
  .scroll { overflow: visible; } table { font-size: 7.5pt; break-inside: avoid; } th, td { padding: .1rem .25rem; } details:not([open]), h2:has(+ details:not([open])) { display: none; }
}
"""  # noqa: E501


class Html(str):
    """Text that is HTML already; all other text is escaped before it becomes part of a page."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


def tag(name: str, *parts: Any, **attributes: str) -> Html:
    """Return an element; parts and attributes that are not :class:`Html` are escaped.

    Parameters
    ----------
    name : str
        Of the element.
    *parts : object
        What is in it, one after the other.
    **attributes : str
        ``class_`` is written as ``class``, other underscores as hyphens.

    Returns
    -------
    Html
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(text)}"' for key, text in attributes.items() if text
    )
    return Html(f"<{name}{given}>{join(parts)}</{name}>")


def join(parts: Iterable[Any]) -> Html:
    """Return parts one after the other, escaped where they are not :class:`Html`."""
    return Html("".join(part if isinstance(part, Html) else html.escape(str(part)) for part in parts))


def page(title: str, body: Html) -> str:
    """Return a whole page, on which nothing can run."""
    head = (
        Html('<meta charset="utf-8">\n'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_POLICY)}">\n'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">\n'),
        tag("title", title),
        tag("style", Html(_STYLE)),
    )
    content = (tag("head", *head), "\n", tag("body", tag("main", body)))
    return "<!DOCTYPE html>\n" + tag("html", *content, lang="en") + "\n"


def table_html(frame: pd.DataFrame, caption: str, digits: int = 3) -> Html:
    """Return a table with a caption; its first column names the rows, and columns of numbers are right-aligned."""
    kinds = ["number" if _numeric(frame.iloc[:, j]) else "" for j in range(frame.shape[1])]
    head = [tag("th", name, scope="col", class_=kind) for name, kind in zip(frame.columns, kinds, strict=True)]
    rows = []
    for values in frame.itertuples(index=False, name=None):
        first, *rest = (_shown(value, digits) for value in values)
        cells = [tag("td", text, class_=kind) for text, kind in zip(rest, kinds[1:], strict=True)]
        rows.append(tag("tr", tag("th", first, scope="row"), *cells))
    table = tag("table", tag("caption", caption), tag("thead", tag("tr", *head)), tag("tbody", *rows))
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _numeric(column: pd.Series) -> bool:
    """Whether a column has numbers, or numbers with their interval."""
    return all(
        isinstance(value, (int, float, np.number)) or value is None or str(value)[:1] in ("–", *"0123456789")
        for value in column
    )


def _shown(value: Any, digits: int) -> str:
    if isinstance(value, Html):
        return value
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.{digits}f}" if abs(value) < 1e6 else f"{value:.3g}"
    return "–" if value is None else str(value)


def figure_html(ax: Any, alt: str, caption: str) -> Html:
    """Return a matplotlib figure as part of a page, and forget it."""
    from matplotlib import pyplot

    stream = io.BytesIO()
    ax.figure.savefig(stream, format="png", dpi=110, bbox_inches="tight")
    pyplot.close(ax.figure)
    data = base64.b64encode(stream.getvalue()).decode()
    image = Html(f'<img src="data:image/png;base64,{data}" alt="{html.escape(alt)}">')
    return tag("figure", image, tag("figcaption", caption))


def listed(lines: Iterable[str]) -> list[Html]:
    """Return what a reader has to know, a paragraph a line."""
    return [tag("p", line, class_="warning") for line in lines]


def folded(summary: str, *parts: Html) -> Html:
    """Return what is shown on a click, and not on paper."""
    return tag("details", tag("summary", summary), *parts)

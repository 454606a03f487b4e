"""Live figures: a directive that makes room for one, and the scripts of all of them in a single file.

The modules of ``_static/live`` are joined into ``_static/live.js``, because browsers refuse to load modules from pages
that are opened as files. Only pages with something live load it.

    :::{live} range
    :source: live-range

    What the reader can do here.
    :::

The figure is hidden until its script runs, and in print; the static picture beside it says the same without moving.
"""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from fairpca.plotting import METHOD_STYLE, group_style

MODULES = Path(__file__).resolve().parents[1] / "_static" / "live"
IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.mjs";\n', re.MULTILINE)
TARGET = "live.js"
STYLES = "styles.css"
DASHES = {"-": "none", "--": "8 3", "-.": "10 3 2 3", ":": "2 3"}


def bundle(folder: Path = MODULES) -> str:
    """Join modules in the order of their imports; each name may be defined once in all of them."""
    sources = {path.stem: path.read_text(encoding="utf8") for path in sorted(folder.glob("*.mjs"))}
    order = TopologicalSorter({name: set(IMPORT.findall(text)) for name, text in sources.items()}).static_order()
    parts = []
    for name in order:
        text = re.sub(r"^export (?=function|const|class|async)", "", IMPORT.sub("", sources[name]), flags=re.MULTILINE)
        if re.search(r"^(import|export) ", text, re.MULTILINE):
            raise ExtensionError(f"{name}.mjs has an import or export that is not of the one form that is joined")
        parts.append(text.replace("// @ts-check\n", ""))
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


def styles() -> str:
    """Return the colours and patterns of groups and methods as rules; a group's colour wins over its method's."""
    looks = METHOD_STYLE | {"fairpca": METHOD_STYLE["minmax"]} | {f"g{group}": group_style(group) for group in range(8)}
    rules = []
    for kind, look in looks.items():
        dash = (
            DASHES.get(look.linestyle)
            if isinstance(look.linestyle, str)
            else " ".join(str(2 * part) for part in look.linestyle[1])
        )
        own = "" if kind.startswith("g") else f" --dash: {dash};"
        rules.append(f".live .{kind} {{ --own: {look.color};{own} }}\n")
    return "".join(rules)


class Live(SphinxDirective):
    """Room for a live figure, with a sentence on what to do with it."""

    required_arguments = 1
    option_spec = {"source": directives.unchanged}  # noqa: RUF012  (docutils wants it so)
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the figure's place and its words."""
        name = self.arguments[0]
        source = self.options.get("source")
        told = nodes.container(classes=["live-words"])
        self.state.nested_parse(self.content, self.content_offset, told)
        attributes = f'data-live="{escape(name)}"' + (f' data-source="{escape(source)}"' if source else "")
        self.env.metadata[self.env.docname]["live"] = "yes"
        label = escape(f"Live figure: {name}")
        return [
            nodes.raw("", f'<section class="live" {attributes} aria-label="{label}" hidden>', format="html"),
            told,
            nodes.raw("", '<div class="live-stage"></div></section>', format="html"),
        ]


def _load_where_needed(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    live = "live" in app.env.metadata.get(pagename, {}) or 'class="sortable"' in (context.get("body") or "")
    if live:
        app.add_js_file(TARGET, loading_method="defer")
        app.add_css_file(STYLES)


def _write(app: Any, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        (Path(app.outdir) / "_static" / TARGET).write_text(bundle(), encoding="utf8")
        (Path(app.outdir) / "_static" / STYLES).write_text(styles(), encoding="utf8")


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("live", Live)
    app.connect("html-page-context", _load_where_needed)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""What a page tells machines and those who cite it: description, Open Graph, BibTeX; and a map of the site.

`BOOK_URL` is the address of the published book. Without it there is no map, and the tags name no address.
"""

from __future__ import annotations

import os
import re
from html import escape
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes

ROOT = Path(__file__).resolve().parents[1]
LENGTH = 200  # characters that search machines show of a description
SENTENCE = re.compile(r"(?<=[.?!])(?<!et al\.)(?<!\b[ei]\.[ge]\.) ")
PICTURE = "_static/directions.png"


def address() -> str:
    return os.environ.get("BOOK_URL", "").rstrip("/")


def citation(root: Path = ROOT) -> dict[str, Any]:
    """Return what CITATION.cff asks to be cited."""
    return yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf8"))["preferred-citation"]


def bibtex(kind: str, key: str, fields: dict[str, str]) -> str:
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@{kind}{{{key},\n{lines}}}"


def entries(docname: str, title: str, book: dict[str, Any], base: str) -> list[str]:
    """Return the BibTeX of a page, unless it is the first one, and of the book."""
    # An author that is no person is kept whole by a second pair of braces.
    names = " and ".join(
        f"{author['family-names']}, {author['given-names']}" if "family-names" in author else f"{{{author['name']}}}"
        for author in book["authors"]
    )
    year, key = str(book["year"]), f"fairpca{book['year']}"
    found = []
    if docname != "chapters/intro":
        part = re.sub(r"\W+", "-", docname.removeprefix("chapters/"))
        page = f"{base}/{docname}.html" if base else ""
        fields = {"author": names, "title": title, "booktitle": book["title"], "year": year, "url": page}
        found.append(bibtex("incollection", f"{key}-{part}", fields))
    fields = {
        "author": names,
        "title": book["title"],
        "year": year,
        "edition": f"Version {book['version']}",
        "url": base,
    }
    return [*found, bibtex("book", key, fields)]


def description(doctree: nodes.document) -> str:
    """Return the first two sentences without a formula, for machines that read neither formulas nor markup."""
    found: list[str] = []
    for paragraph in doctree.findall(nodes.paragraph):
        if not isinstance(paragraph.parent, nodes.section | nodes.document):
            continue
        parts = [
            "\0" if isinstance(node, nodes.math) else node.astext()
            for node in paragraph.findall(lambda node: isinstance(node, nodes.math | nodes.Text))
            if not isinstance(node.parent, nodes.math | nodes.raw)
        ]
        text = " ".join("".join(parts).split())
        found += [sentence for sentence in SENTENCE.split(text) if sentence and "\0" not in sentence]
        if len(found) >= 2:
            break
    text = " ".join(found[:2])
    return text if len(text) <= LENGTH else text[: LENGTH - 1].rsplit(" ", 1)[0] + "…"


def tags(title: str, text: str, page: str, base: str) -> str:
    """Return the tags of a page's head."""
    found = {"description": text}
    shown = {"og:title": title, "og:type": "article", "og:site_name": "Fair PCA, reproduced", "og:description": text}
    if base:
        shown |= {"og:url": f"{base}/{page}", "og:image": f"{base}/{PICTURE}"}
    lines = [f'<meta name="{name}" content="{escape(value)}" />' for name, value in found.items() if value]
    lines += [f'<meta property="{name}" content="{escape(value)}" />' for name, value in shown.items() if value]
    return "\n".join(lines)


def block(found: list[str]) -> str:
    text = escape("\n\n".join(found), quote=False)
    return (
        '<details class="cite-this"><summary>Cite this page</summary>'
        f'<div class="highlight"><pre>{text}</pre></div></details>'
    )


def _describe(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    context["has_statements"] = bool(getattr(app.env, "proof_list", {}))
    if doctree is None:
        return
    title = app.env.titles[pagename].astext()
    context["metatags"] = context.get("metatags", "") + tags(title, description(doctree), f"{pagename}.html", address())
    context["body"] += block(entries(pagename, title, citation(), address()))


def site_map(pages: list[str], base: str) -> str:
    rows = "".join(f"  <url><loc>{escape(f'{base}/{page}.html')}</loc></url>\n" for page in pages)
    start = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    return f"{start}{rows}</urlset>\n"


def _write_map(app: Any, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html" and address():
        text = site_map(sorted(app.env.found_docs), address())
        (Path(app.outdir) / "sitemap.xml").write_text(text, encoding="utf8")


def setup(app: Any) -> dict[str, bool]:
    app.connect("html-page-context", _describe)
    app.connect("build-finished", _write_map)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""What a paper numbers is found by that number: in the search, in the index, and by its picture."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import light_figures
from docutils import nodes
from sphinx import addnodes

from fairpca.companion.published import load_places, papers

FIGURE = r'<figure\b[^>]*\bid="{label}".*?<img\b[^>]*?\bsrc="([^"]+)"'
ROOM = re.compile(r'<td data-thumbnail="([^"#]+)#([^"]+)"></td>')


def index_entries(docname: str) -> list[tuple[str, str, str, str, None]]:
    """Return entries such as "Samadi Theorem 5.1" for everything that a page shows."""
    found = []
    for paper in papers():
        author = paper.short.split()[0]
        for place in load_places(paper.name).itertuples(index=False):
            if docname == f"chapters/{place.chapter}":
                # The search shows only main entries before what merely mentions the words.
                found.append(("single", f"{author} {place.item}", str(place.label), "main", None))
    return found


def _add_entries(app: Any, doctree: nodes.document) -> None:
    entries = index_entries(app.env.docname)
    if entries:
        doctree.insert(0, addnodes.index(entries=entries))


def with_thumbnails(page: Path, text: str) -> str:
    """Return a page with the linked figures' pictures, small, where there is room for them."""
    read = cache(lambda target: target.read_text(encoding="utf8") if target.is_file() else "")

    def picture(match: re.Match[str]) -> str:
        target = (page.parent / match[1]).resolve()
        found = re.search(FIGURE.format(label=re.escape(match[2])), read(target), re.DOTALL)
        if found is None:
            return "<td></td>"
        address = os.path.relpath(_small((target.parent / found[1]).resolve()), page.parent).replace(os.sep, "/")
        # The link beside it says what it is, so the picture itself needs no words.
        return f'<td><img src="{address}" width="120" loading="lazy" alt=""></td>'

    return ROOM.sub(picture, text)


def _small(picture: Path) -> Path:
    """Write a picture of the picture beside it, and return where."""
    text = picture.read_text(encoding="utf8") if picture.suffix == ".svg" and picture.is_file() else ""
    if light_figures.DRAWN not in text:
        return picture
    small = picture.with_name(f"{picture.stem}-small.svg")
    small.write_text(light_figures.thumbnail(text), encoding="utf8")
    return small


def _fill_room(app: Any, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf8")
        if "data-thumbnail=" in text:
            page.write_text(with_thumbnails(page.resolve(), text), encoding="utf8")


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-read", _add_entries)
    app.connect("build-finished", _fill_room)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

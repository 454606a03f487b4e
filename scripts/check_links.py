"""Check a built site: internal links and anchors exist, and no page loads anything from the network.

python scripts/check_links.py _build/html
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED_BY_REL = {"stylesheet", "icon", "preload", "modulepreload", "manifest"}


class Page(HTMLParser):
    """The anchors of a page, where it links to, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value for key, value in attrs if value}
        self.anchors.update(values[key] for key in ("id", "name") if key in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if "src" in values:
            self.loaded.append(values["src"])
        if tag == "link" and "href" in values and LOADED_BY_REL & set(values.get("rel", "").split()):
            self.loaded.append(values["href"])


def read_page(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf8"))
    return page


def remote(url: str) -> bool:
    parts = urlsplit(url)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp")


def check(root: Path) -> tuple[int, int, list[str]]:
    """Return the number of pages, the number of internal links, and the complaints."""
    root = root.resolve()
    # `_static` holds the theme's templates, `_sources` the sources; neither is a page.
    paths = [p for p in root.rglob("*.html") if not {"_static", "_sources"} & set(p.relative_to(root).parts)]
    pages = {path: read_page(path) for path in paths}
    complaints, count = [], 0
    for path, page in pages.items():
        for url in page.links + page.loaded:
            parts = urlsplit(url)
            if remote(url):
                if url in page.loaded:
                    complaints.append(f"{path.relative_to(root)}: {url}: loaded from the network")
                continue
            if parts.scheme:
                continue  # mailto:, data:, javascript:
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                complaints.append(f"{path.relative_to(root)}: {url}: no such file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                complaints.append(f"{path.relative_to(root)}: {url}: no such anchor")
    for path in root.rglob("*.css"):
        for url in re.findall(r"(?:url\(|@import\s+)[\"']?([^\"')\s;]+)", path.read_text(encoding="utf8")):
            if remote(url):
                complaints.append(f"{path.relative_to(root)}: {url}: loaded from the network")
    if not pages:
        complaints.append(f"{root}: no pages")
    return len(pages), count, complaints


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    pages, links, complaints = check(Path(arguments[0]))
    print("\n".join([*complaints, f"{pages} pages, {links} internal links, {len(complaints)} bad"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

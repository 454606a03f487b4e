"""Print the built book, or another page, through Chromium.

    python scripts/pdf.py _build/html _build/fair-pca.pdf

All pages in reading order become one: with a title page, contents with page numbers, bookmarks and working references.
It is printed twice: what stands on which page is known after the first time.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from html import escape
from pathlib import Path

import notebooks
import yaml
from check_site import ARGUMENTS, BROWSERS, READY, browser

import fairpca

ADVICE = (
    f"A PDF is printed by Chromium, and there is none of {', '.join(BROWSERS)} on this machine. Install one, for "
    "instance with `apt-get install chromium`, and run the command again; or print the pages in a browser."
)
PRINTED = {
    "format": "A4", "margin": {"top": "18mm", "bottom": "18mm", "left": "17mm", "right": "17mm"},
    "print_background": True, "outline": True, "tagged": True, "display_header_footer": True,
    "header_template": "<span></span>",
    "footer_template": '<div style="font-size:8px;width:100%;text-align:center"><span class="pageNumber"></span></div>',
}  # fmt: skip
NUMBERED = """numbers => document.querySelectorAll("[data-page-of]").forEach(
  e => { e.textContent = numbers[e.dataset.pageOf]; })"""
TIMEOUT = 600_000  # milliseconds; formulas of a whole book take minutes on a busy machine
STYLE = """
.title-page { height: 230mm; display: flex; flex-direction: column; justify-content: center; text-align: center; }
.title-page h1 { font-size: 30pt; } .title-page img { width: 60mm; margin: 0 auto 2rem; }
.contents li { list-style: none; display: flex; gap: .4rem; } .contents ol { padding: 0; }
.contents .dots { flex: 1; border-bottom: 1px dotted #666; margin-bottom: .3em; }
.contents .part { font-weight: 600; margin-top: .6rem; } .contents .page { min-width: 2.5em; text-align: right; }
.contents a { color: inherit; text-decoration: none; }
.contents, .bd-article { break-before: page; } .bd-article { display: block; }
body { padding: 0 !important; }
.bd-article p { orphans: 3; widows: 3; }
/* The last line of a chapter points to its exercises; it does not get a page of its own. */
.bd-article section > p:last-child { break-before: avoid; }
"""


def slug(page: str) -> str:
    return "page-" + re.sub(r"\W+", "-", page.removesuffix(".html"))


def article(page: str, text: str, included: set[str], prefix: str) -> str:
    """Return the text of a page so that it can stand beside the others: own anchors, references inside the book."""
    found = re.search(r'<article class="bd-article">(.*)</article>', text, re.DOTALL)
    if found is None:
        raise ValueError(f"{page} has no article")
    # Paper is wide enough for the wide picture of a figure.
    body = re.sub(r"<script\b.*?</script>|</?picture>|<source\b[^>]*>", "", found[1], flags=re.DOTALL)
    own = slug(page)

    def reference(match: re.Match[str]) -> str:
        target, _, anchor = match[1].partition("#")
        if re.match(r"[a-z]+:", target):
            return match[0]
        at = os.path.normpath(Path(page).parent / target) if target else page
        if at not in included:
            return ""  # what is no part of the print, such as an index or a download
        return f'href="#{slug(at)}{f"--{anchor}" if anchor else ""}"'

    body = re.sub(r'\bid="([^"]+)"', rf'id="{own}--\1"', body)
    body = re.sub(r'\bhref="([^"]*)"', reference, body)
    local = r'\bsrc="(?![a-z]+:)([^"]*)"'
    body = re.sub(local, lambda m: f'src="{prefix}{os.path.normpath(Path(page).parent / m[1])}"', body)
    return f'<article class="bd-article" id="{own}">{body}</article>'


def parts() -> list[tuple[str, list[str]]]:
    """Return the parts of the book with their pages in reading order."""
    toc = yaml.safe_load((notebooks.ROOT / "_toc.yml").read_text(encoding="utf8"))
    found = [("", [f"{toc['root']}.html"])]
    for part in toc["parts"]:
        pages = (path.relative_to(notebooks.ROOT) for path in notebooks.files_of(part))
        found.append((part["caption"], [page.with_suffix(".html").as_posix() for page in pages]))
    return found


def whole_book(site: Path, prefix: str) -> tuple[str, list[str]]:
    """Return all pages as one, and the anchors of its chapters."""
    listed = parts()
    pages = [page for _, several in listed for page in several]
    texts = {page: (site / page).read_text(encoding="utf8") for page in pages}
    config = yaml.safe_load((notebooks.ROOT / "_config.yml").read_text(encoding="utf8"))
    head = next((text for text in texts.values() if "tex-chtml.js" in text), texts[pages[0]])
    sheets = re.findall(r'<link[^>]*href="(?!https?:)([^"]+\.css[^"]*)"', head)
    scripts = re.findall(r"<script>window\.MathJax.*?</script>", head, re.DOTALL)
    base = Path(next(page for page, text in texts.items() if text is head)).parent
    styles = "".join(f'<link rel="stylesheet" href="{prefix}{os.path.normpath(base / sheet)}">' for sheet in sheets)
    formulas = f'<script defer src="{prefix}mathjax/tex-chtml.js"></script>' if scripts else ""
    rows = []
    for caption, several in listed:
        rows += [f'<li class="part">{escape(caption)}</li>'] if caption else []
        for page in several:
            title = re.search(r'<h1>((?:(?!</h1>).)*?)<a class="headerlink"', texts[page], re.DOTALL)
            name = re.sub(r"<(?!/?(?:em|code|span)\b)[^>]+>", "", title[1]) if title else page
            rows.append(
                f'<li><a href="#{slug(page)}">{name}</a><span class="dots"></span>'
                f'<span class="page" data-page-of="{slug(page)}">000</span></li>'
            )
    first = (
        f'<section class="title-page"><img src="{prefix}_static/logo.svg" alt=""><h1>{escape(config["title"])}</h1>'
        f"<p>{escape(config['author'])}</p><p>Version {fairpca.__version__}</p>"
        "<p>Text and figures under CC BY 4.0, code under BSD-3-Clause</p></section>"
    )
    contents = f'<section class="contents"><h1>Contents</h1><ol>{"".join(rows)}</ol></section>'
    articles = "".join(article(page, texts[page], set(pages), prefix) for page in pages)
    document = (
        f'<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f"<title>{escape(config['title'])}</title>{styles}<style>{STYLE}</style>{''.join(scripts)}{formulas}</head>"
        f'<body><div class="bd-content"><div class="bd-article-container">{first}{contents}{articles}</div></div>'
        "</body></html>"
    )
    return document, [slug(page) for page in pages]


def page_numbers(pdf: Path, anchors: list[str]) -> dict[str, int]:
    """Return on which page each anchor stands, counted from one."""
    from pypdf import PdfReader

    reader = PdfReader(pdf)
    known = {name.lstrip("/"): place for name, place in reader.named_destinations.items()}
    return {anchor: (reader.get_destination_page_number(known[anchor]) or 0) + 1 for anchor in anchors}


def print_page(file: Path, pdf: Path, anchors: list[str] | None = None) -> None:
    """Print a page; with `anchors` twice, the second time with the numbers of the pages where they stand."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser(), args=list(ARGUMENTS))
        page = chromium.new_page()
        page.set_default_timeout(TIMEOUT)
        page.goto(file.resolve().as_uri(), wait_until="load", timeout=TIMEOUT)
        page.wait_for_function(READY)
        page.evaluate("document.querySelectorAll('img[loading=lazy]').forEach(i => i.loading = 'eager')")
        page.evaluate("document.querySelectorAll('details.solution, details.sd-dropdown').forEach(d => d.open = true)")
        page.evaluate("Promise.all([...document.images].map(i => i.decode().catch(() => {})))")
        page.pdf(path=pdf, **PRINTED)
        if anchors:
            page.evaluate(NUMBERED, page_numbers(pdf, anchors))
            page.pdf(path=pdf, **PRINTED)
        chromium.close()


def print_book(site: Path, pdf: Path) -> int:
    """Print the book and return its number of chapters."""
    source = pdf.parent / "print" / "book.html"
    source.parent.mkdir(parents=True, exist_ok=True)
    document, anchors = whole_book(site, os.path.relpath(site, source.parent) + "/")
    source.write_text(document, encoding="utf8")
    print_page(source, pdf, anchors)
    return len(anchors)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="the built pages")
    parser.add_argument("pdf", type=Path)
    options = parser.parse_args()
    if browser() is None:
        print(ADVICE, file=sys.stderr)
        return 1
    if not (options.site / "index.html").is_file():
        print(f"There are no built pages in {options.site}. Build them first: make book.", file=sys.stderr)
        return 1
    print(f"{print_book(options.site, options.pdf)} chapters are in {options.pdf}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

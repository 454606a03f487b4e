"""Measure the prose of the chapters: sentences with a colon, sentences that take the reader along, "is no X".

    python scripts/prose.py [CHAPTER.md …] [--show colon|along|no]

Counted are sentences of paragraphs, lists, notes, exercises and captions. Code, formulas, tables, headings, proofs and
boxed statements are left out. The share with a colon or semicolon should be at most 22 %, the share that gives an
example or takes the reader along at least 4 %, and "is no X" should not occur.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin
from mdit_py_plugins.myst_role import myst_role_plugin

ROOT = Path(__file__).resolve().parents[1]
MARKDOWN = MarkdownIt("commonmark").enable("table")
for plugin in (colon_fence_plugin, dollarmath_plugin, front_matter_plugin, myst_block_plugin, myst_role_plugin):
    MARKDOWN.use(plugin)

TEXT = re.compile(r"\{(note|tip|warning|admonition|div|live|margin|dropdown|seealso|solution-start|figure)\}")
ABBREVIATED = re.compile(r"\b(al|e\.g|i\.e|cf|vs|Fig|Eq|ch|No|approx)\.")
END = re.compile(r"(?<=[.!?])[\"”)*]*\s+(?=[\"“(*A-Z0-9])")
MEASURES = {
    "colon": re.compile(r"[:;](?!\w)"),
    "along": re.compile(
        r"\b(for example|for instance|suppose|imagine|think of|recall|in other words|note that|as an example"
        r"|we now|now we|let us|you can see|you see)\b",
        re.IGNORECASE,
    ),
    "no": re.compile(r"(?<!there )(?<!There )\b(?:is|are|was|were|be) no (?!\w+er\b|more\b|less\b|one\b)\w+"),
}


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a page as plain text, where "X" stands for a formula, a code or a computed number."""
    tokens = MARKDOWN.parse(text)
    for before, token in pairwise(tokens):
        if token.type == "inline" and before.type == "paragraph_open":
            yield "".join(_plain(part) for part in token.children or ())
        elif token.type in ("fence", "colon_fence") and token.info.startswith("{code-cell}"):
            head = re.match(r"---\n(.*?)\n---\n", token.content, re.DOTALL)
            options = yaml.safe_load(head[1]) if head else {}
            caption = options.get("mystnb", {}).get("figure", {}).get("caption")
            yield from paragraphs(caption) if caption else ()
        elif token.type in ("fence", "colon_fence") and TEXT.match(token.info):
            yield from paragraphs(re.sub(r"^:[\w-]+:.*\n", "", token.content, flags=re.MULTILINE))


def _plain(token: object) -> str:
    kind = token.type  # type: ignore[attr-defined]
    if kind == "myst_role" and "glue" not in token.meta["name"]:  # type: ignore[attr-defined]
        return re.sub(r"\s*<[^<>]*>$", "", token.content)  # type: ignore[attr-defined]
    if kind in ("softbreak", "hardbreak"):
        return " "
    return token.content if kind in ("text", "text_special") else "X" if token.content else ""  # type: ignore[attr-defined]


def sentences(text: str) -> list[str]:
    """Return the sentences of a page."""
    whole = (ABBREVIATED.sub(r"\1", " ".join(paragraph.split())) for paragraph in paragraphs(text))
    return [sentence for paragraph in whole for sentence in END.split(paragraph) if " " in sentence]


def main() -> None:
    """Print the measures of each chapter and of all together."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", type=Path, default=sorted((ROOT / "chapters").rglob("*.md")))
    parser.add_argument("--show", choices=MEASURES, help="print the sentences that count")
    options = parser.parse_args()
    pages = {
        str(page.resolve().relative_to(ROOT)): sentences(page.read_text(encoding="utf8")) for page in options.chapters
    }
    pages["all"] = [sentence for found in pages.values() for sentence in found]
    print(f"{'':40} sentences  words  colon %  along %  is no")
    for page, found in pages.items():
        hits = {
            name: [sentence for sentence in found if pattern.search(sentence)] for name, pattern in MEASURES.items()
        }
        colon, along = (100 * len(hits[name]) / max(len(found), 1) for name in ("colon", "along"))
        words = sum(len(sentence.split()) for sentence in found)
        print(f"{page:40} {len(found):9} {words:6} {colon:8.1f} {along:8.1f} {len(hits['no']):6}")
        if options.show and page != "all":
            print(*(f"    {sentence}" for sentence in hits[options.show]), sep="\n")


if __name__ == "__main__":
    main()

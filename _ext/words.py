"""Words of the glossary say what they mean where a page first uses them: to the mouse, the keyboard, screen readers.

The first use in running text becomes a link to the glossary, followed by the definition, which `book.css` shows while
the link is pointed at or has the focus. Chapters write plain sentences and mark nothing.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx import addnodes

# Text that is a link, a name, a formula or a heading already, or part of something that opens and closes.
_NOT_IN = (nodes.reference, nodes.literal, nodes.raw, nodes.title, nodes.caption, nodes.table, nodes.math)
_NOT_IN += (addnodes.glossary,)
Words = dict[str, tuple[str, str]]  # by the word in small letters: the id of its entry, and what it means


def words_of(doctree: nodes.document) -> Words:
    """Return the words that a page defines."""
    found: Words = {}
    for entry in doctree.findall(nodes.definition_list_item):
        if isinstance(entry.parent.parent, addnodes.glossary):
            meaning = next(entry.findall(nodes.definition)).astext().replace("\n", " ")
            for term in entry.findall(nodes.term):
                found[term.astext().lower()] = (term["ids"][0], meaning)
    return found


def link_words(doctree: nodes.document, words: Words, page: str) -> int:
    """Link the first use of each word to its entry on `page`; return how many there are."""
    if not words:
        return 0
    missing = dict(words)
    longest_first = sorted(map(re.escape, words), key=len, reverse=True)
    pattern = re.compile(rf"\b({'|'.join(longest_first)})(?:s|es)?\b", re.IGNORECASE)
    for paragraph in list(doctree.findall(nodes.paragraph)):
        for text in list(paragraph.findall(nodes.Text)):
            above: nodes.Node | None = text
            while above is not None and not isinstance(above, _NOT_IN):
                above = above.parent
            if above is not None:
                continue
            parts: list[nodes.Node] = []
            done = 0
            for match in pattern.finditer(text):
                meaning = missing.pop(match[1].lower(), None)
                if meaning is None:
                    continue
                name = f"word-{len(words) - len(missing)}"
                start = f'<a class="word" href="{page}#{meaning[0]}" aria-describedby="{name}">'
                told = f'</a><span class="word-means" role="tooltip" id="{name}">{escape(meaning[1])}</span>'
                parts += [nodes.Text(text[done : match.start()]), nodes.raw("", start, format="html")]
                parts += [nodes.Text(match[0]), nodes.raw("", told, format="html")]
                done = match.end()
            if parts:
                text.parent.replace(text, [*parts, nodes.Text(text[done:])])
    return len(words) - len(missing)


def _link(app: Any, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html":
        return
    if not hasattr(app, "book_words"):
        pages = {page for page, _ in app.env.get_domain("std").data["terms"].values()}
        app.book_words = {page: words_of(app.env.get_doctree(page)) for page in sorted(pages)}
    for page, words in app.book_words.items():
        if page != docname:
            link_words(doctree, words, app.builder.get_relative_uri(docname, page))


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-resolved", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

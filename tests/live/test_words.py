"""Words of the glossary in running text."""

from __future__ import annotations

import words
from docutils import nodes
from docutils.core import publish_doctree
from sphinx import addnodes

MEANINGS = {"gap": ("term-gap", "What is <left>."), "duality gap": ("term-duality-gap", "Another.")}


def page(text: str) -> nodes.document:
    return publish_doctree(text, settings_overrides={"report_level": 5})


def told(doctree: nodes.document) -> list[str]:
    return [node.astext() for node in doctree.findall(nodes.raw)]


def test_the_first_use_of_each_word_is_linked_and_explained() -> None:
    doctree = page("The Duality gap, a gap, and once more the gap.\n\nGaps.")
    assert words.link_words(doctree, MEANINGS, "notation.html") == 2
    first, first_means, second, second_means = told(doctree)
    assert 'href="notation.html#term-duality-gap"' in first and "Another." in first_means
    assert 'href="notation.html#term-gap"' in second and "What is &lt;left&gt;." in second_means
    names = [text.split('aria-describedby="')[1].split('"')[0] for text in (first, second)]
    assert [f'id="{name}"' in text for name, text in zip(names, (first_means, second_means), strict=True)] == [True] * 2
    kept = "".join(text for text in doctree.findall(nodes.Text) if not isinstance(text.parent, nodes.raw))
    assert kept == "The Duality gap, a gap, and once more the gap.Gaps."


def test_headings_links_names_and_parts_of_words_stay() -> None:
    doctree = page("The gap\n=======\n\n`gap <there>`_ and ``gap`` and stopgap, gapped.\n\n.. _there: x.html\n")
    assert words.link_words(doctree, MEANINGS, "notation.html") == 0
    assert words.link_words(page("a gap"), {}, "notation.html") == 0


def test_several_of_a_thing_are_the_same_word() -> None:
    doctree = page("Duality gaps.")
    assert words.link_words(doctree, MEANINGS, "notation.html") == 1
    assert "".join(text for text in doctree.findall(nodes.Text) if not isinstance(text.parent, nodes.raw)) == (
        "Duality gaps."
    )


def test_words_are_those_of_a_glossary() -> None:
    doctree = page("gap\n  What is\n  left.\n\nother\n  Not defined here.\n")
    items = list(doctree.findall(nodes.definition_list_item))
    for item in items:
        item[0]["ids"] = [f"term-{item[0].astext()}"]
    assert words.words_of(doctree) == {}
    glossary = addnodes.glossary("", nodes.definition_list("", items[0].deepcopy()))
    assert words.words_of(_with(glossary)) == {"gap": ("term-gap", "What is left.")}


def _with(node: nodes.Node) -> nodes.document:
    doctree = page("")
    doctree += node
    return doctree

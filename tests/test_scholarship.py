"""Citing and being found: every reference has an address, every page its tags and BibTeX, the site its map."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import bibliography
import pytest
import scholarship
from docutils import nodes
from docutils.core import publish_doctree
from pybtex.database import parse_string

import fairpca

ROOT = Path(__file__).resolve().parents[1]
DOI = re.compile(r"10\.\d{4,9}/[-._;()/:A-Za-z0-9]*[A-Za-z0-9]")
URL = re.compile(r"https://[a-z0-9.-]+\.[a-z]{2,}(?:/[-\w./~%]*)?")


@pytest.mark.parametrize("work", bibliography.works().values(), ids=lambda work: work.key)
def test_every_reference_can_be_reached(work: bibliography.Work) -> None:
    assert bool(work.doi) != bool(work.url), "a DOI, or else an address"
    assert DOI.fullmatch(work.doi) if work.doi else URL.fullmatch(work.url)
    assert work.names and work.title and re.fullmatch(r"\d{4}", work.year)
    arxiv = re.search(r"(?:arxiv\.org/abs/|10\.48550/arXiv\.)(\d\d)(\d\d)\.\d+$", work.address)
    if arxiv:
        assert 0 <= int(work.year) - 2000 - int(arxiv[1]) <= 3, "a preprint is not older than its publication by much"
        assert 1 <= int(arxiv[2]) <= 12


def test_no_two_references_are_one() -> None:
    places = [work.address for work in bibliography.works().values()]
    assert len(places) == len(set(places))


def test_names_in_a_sentence() -> None:
    works = bibliography.works()
    assert works["boyd2011"].names == "Boyd et al."
    assert works["olfat2019"].names == "Olfat and Aswani"
    assert works["pearson1901"].names == "Pearson"
    assert works["bjorck1973"].markdown().startswith("Björck, Golub (1973). *Numerical Methods")


def test_bibtex_of_page_and_book_can_be_read() -> None:
    book = scholarship.citation()
    assert book["version"] == fairpca.__version__
    texts = scholarship.entries("chapters/part/page", "A page", book, "https://example.org")
    page, whole = (next(iter(parse_string(text, "bibtex").entries.values())) for text in texts)
    assert page.fields["booktitle"] == whole.fields["title"] == book["title"]
    assert page.fields["url"] == "https://example.org/chapters/part/page.html"
    assert [str(person) for person in whole.persons["author"]] == ["{The fairpca authors}"]
    assert len(scholarship.entries("chapters/intro", "Fair PCA", book, "")) == 1
    person = {**book, "authors": [{"family-names": "Noether", "given-names": "Emmy"}]}
    assert "author = {Noether, Emmy}" in scholarship.entries("chapters/intro", "", person, "")[0]


def test_tags_and_description() -> None:
    text = 'Title\n=====\n\nWith :math:`x` a formula. By Lee et al. it has "quotes" & words.\n\nSecond. Third.'
    document = publish_doctree(text)
    list(document.findall(nodes.Text))[-1].parent.append(nodes.raw("", "<b>markup</b>", format="html"))
    told = scholarship.description(document)
    assert told == 'By Lee et al. it has "quotes" & words. Second.'
    long = scholarship.description(publish_doctree("Title\n=====\n\n" + "word " * 100 + "end."))
    assert long.endswith("…") and len(long) <= scholarship.LENGTH
    found = scholarship.tags("T", told, "a.html", "https://example.org")
    assert '<meta name="description" content="By Lee et al. it has &quot;quotes&quot; &amp; words.' in found
    assert '<meta property="og:url" content="https://example.org/a.html" />' in found
    assert f'content="https://example.org/{scholarship.PICTURE}"' in found and (ROOT / scholarship.PICTURE).is_file()
    assert "og:url" not in scholarship.tags("T", told, "a.html", "")
    assert "@book{fairpca" in scholarship.block(["@book{fairpca, title = {A & B}}"])


def test_map_of_the_site_is_xml() -> None:
    tree = ElementTree.fromstring(scholarship.site_map(["chapters/a", "chapters/b&c"], "https://example.org"))
    assert [row[0].text for row in tree] == [
        "https://example.org/chapters/a.html",
        "https://example.org/chapters/b&c.html",
    ]

"""The pages as one document: anchors and references that hold together, and page numbers read from the print."""

from __future__ import annotations

import re
from pathlib import Path

import notebooks
import pdf
import pytest

PAGE = """<html><head><link rel="stylesheet" href="../../_static/book.css?v=1"></head><body>
<article class="bd-article"><section id="s"><h1>Title of {name}<a class="headerlink" href="#s">#</a></h1>
<a href="#s">own</a><a href="../b/two.html#s">other</a><a href="../../genindex.html">index</a>
<a href="https://example.org">out</a><picture><source
srcset="../../_images/narrow.svg"><img src="../../_images/x.png"></picture><script>alert(1)</script></section></article>
</body></html>"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("a/one", "b/two"):
        file = tmp_path / "chapters" / f"{name}.html"
        file.parent.mkdir(parents=True)
        file.write_text(PAGE.format(name=name))
    monkeypatch.setattr(pdf, "parts", lambda: [("", ["chapters/a/one.html"]), ("Part", ["chapters/b/two.html"])])
    return tmp_path


def test_pages_become_one_document(site: Path) -> None:
    text, anchors = pdf.whole_book(site, "../html/")
    assert anchors == ["page-chapters-a-one", "page-chapters-b-two"]
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids)), "both pages have a section s"
    assert {target[1:] for target in re.findall(r'href="(#[^"]+)"', text)} <= set(ids)
    assert 'href="#page-chapters-b-two--s">other' in text
    assert "<a >index</a>" in text and 'href="https://example.org"' in text
    assert 'src="../html/_images/x.png"' in text and "alert" not in text and "narrow" not in text
    assert 'href="../html/_static/book.css?v=1"' in text
    assert text.index("Title of a/one</a>") < text.index("Part</li>") < text.index("Title of b/two</a>")


def test_every_chapter_is_in_a_part() -> None:
    pages = [page for _, several in pdf.parts() for page in several]
    assert sorted(pages) == sorted(
        path.relative_to(notebooks.ROOT).with_suffix(".html").as_posix() for path in notebooks.chapters_in_toc()
    )
    assert len(pages) == len(set(pages))


def test_numbers_of_pages_come_from_the_print(tmp_path: Path) -> None:
    from pypdf import PdfWriter

    writer = PdfWriter()
    for _ in range(3):
        writer.add_blank_page(100, 100)
    writer.add_named_destination("page-b", 2)
    writer.write(tmp_path / "x.pdf")
    assert pdf.page_numbers(tmp_path / "x.pdf", ["page-b"]) == {"page-b": 3}
    with pytest.raises(KeyError, match="page-c"):
        pdf.page_numbers(tmp_path / "x.pdf", ["page-b", "page-c"])


def test_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["pdf.py", str(tmp_path), str(tmp_path / "x.pdf")])
    monkeypatch.setattr(pdf, "browser", lambda: None)
    assert pdf.main() == 1
    assert "apt-get install chromium" in capsys.readouterr().err
    monkeypatch.setattr(pdf, "browser", lambda: "chromium")
    assert pdf.main() == 1
    assert "make book" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []

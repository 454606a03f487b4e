"""The notebooks that the pages offer: no word of MyST is left, and they run in an empty folder with the wheel."""

from __future__ import annotations

import inspect
import re
import zipfile
from pathlib import Path

import bibliography
import jupytext
import nbformat
import notebooks
import portable
import pytest
from notebooks import ChapterError
from portable import Place

from fairpca.companion import grid

ADDRESS = "https://example.org/book"
LEFT_OVER = re.compile(r"\{(?:prf|cite|glue|eq|numref|doc|ref)[:}]|^(?:```|:::)\{|^\([\w-]+\)=|\$\$ \(", re.MULTILINE)
RUN = [notebooks.ROOT / "chapters" / f"{name}.md" for name in ("vu2022/toy", "appendix/reproduce", "use/case_hiring")]


class Everything(dict):
    """Whatever is asked for has a place and a value."""

    def get(self, label, default=None):
        return Place(f"Thing {label}", f"page.html#{label}")

    def __contains__(self, name):
        return True

    def __getitem__(self, name):
        return "42"


@pytest.mark.parametrize("source", notebooks.executable_chapters(), ids=notebooks.title)
def test_nothing_of_the_book_is_left(source: Path) -> None:
    page = source.relative_to(notebooks.ROOT).with_suffix("").as_posix()
    translator = portable.Translator(page, Everything(), Everything(), ADDRESS)
    for cell in jupytext.read(source).cells:
        if cell.cell_type == "markdown":
            text = translator.markdown(cell.source)
            assert not LEFT_OVER.search(text), text
            for name in translator.macros:
                assert f"\\{name}{{" not in text and f"\\{name} " not in text
        else:
            (code, *_) = portable.code_cells(cell, translator)
            assert "{cite:" not in code.source
    for need in portable.needs(jupytext.read(source)):
        assert re.fullmatch(r"[\w-]+(?:\[[a-z,]+\])?", need)


def test_translation() -> None:
    places = {
        "thm-a": Place("Theorem 5.1", "chapters/a/b.html#thm-a"),
        "eq-a": Place("(4.2)", "chapters/a/b.html#equation-eq-a"),
        "chapters/x": Place("Another page", "chapters/x.html"),
    }
    translator = portable.Translator("chapters/a/b", places, {"gap": "0.3"}, ADDRESS)
    text = translator.markdown(
        "(a-b)=\n# T\n\n````{prf:theorem} Name\n:label: thm-a\n\nLet $\\norm{\\tr A}\\in\\RR$.\n\n"
        "```{note}\nInner.\n```\n````\n$$\nx\n$$ (eq-a)\n\n"
        "By {prf:ref}`thm-a`, {eq}`eq-a`, {doc}`../x` and {cite:t}`boyd2011` the gap is {glue:text}`gap`."
    )
    assert "**Theorem 5.1 (Name).** Let $\\left\\lVert \\operatorname{tr} A \\right\\rVert\\in\\mathbb{R}$." in text
    assert "**Note.** Inner." in text
    assert "x\n\\tag{4.2}\n$$" in text
    assert f"By [Theorem 5.1]({ADDRESS}/chapters/a/b.html#thm-a), [(4.2)]" in text
    assert f"[Another page]({ADDRESS}/chapters/x.html) and Boyd et al. (2011) the gap is ⟦gap|0.3⟧." in text
    assert portable.with_numbers(text).endswith("the gap is 0.3.")
    assert portable.Translator("chapters/a/b", places, {}).markdown("{prf:ref}`thm-a`") == "Theorem 5.1"
    for unknown in ("{prf:ref}`thm-b`", "{glue:text}`other`", "{unheard}`of`", "```{unheard}\n```"):
        with pytest.raises(ChapterError, match=r"chapters/a/b: "):
            translator.markdown(unknown)


def test_included_code_is_written_out() -> None:
    """A page shows a function of the package by reference; a notebook elsewhere cannot follow that."""
    translator = portable.Translator("chapters/a/b", {}, {})
    shown = "```{{literalinclude}} ../../fairpca/companion/_grid.py\n:pyobject: {}\n```"
    assert translator.markdown(shown.format("grid")) == f"```python\n{inspect.getsource(grid).strip()}\n```"
    with pytest.raises(ChapterError, match="has no function 'nothing'"):
        translator.markdown(shown.format("nothing"))


def test_places_are_read_from_the_pages(tmp_path: Path) -> None:
    page = tmp_path / "chapters" / "a" / "b.html"
    page.parent.mkdir(parents=True)
    page.write_text(
        "<h1>Printed head</h1>"
        '<section id="t"><span id="a-b"></span><h1>'
        '<span class="section-number">2. </span>A <em>title</em><a class="headerlink" href="#t">#</a></h1>'
        '<div class="proof theorem admonition" id="thm-a">\n<p class="admonition-title"><span class="caption-number">'
        "Theorem 5.1 </span> (Name)</p></div>"
        '<table id="T_1"><tr><td>1</td></tr></table><figure class="x" id="fig-a">\n<img src="x.svg">\n<figcaption>\n<p>'
        '<span class="caption-number">Fig. 3.2 </span>'
        '<div class="math notranslate" id="equation-eq-a">\n<span class="eqno">(4.2)<a class="headerlink"'
    )
    places = portable.read_places(tmp_path)
    assert {name: place.text for name, place in places.items()} == {
        "chapters/a/b": "A title",
        "t": "A title",
        "a-b": "A title",
        "thm-a": "Theorem 5.1",
        "fig-a": "Fig. 3.2",
        "eq-a": "(4.2)",
    }
    assert places["eq-a"].address == "chapters/a/b.html#equation-eq-a"


def test_outputs_captions_and_references() -> None:
    source = nbformat.v4.new_code_cell(
        "from myst_nb import glue\nglue('gap', '0.3')\n", metadata={"tags": ["hide-input"]}
    )
    source.metadata["mystnb"] = {"figure": {"name": "fig-a", "caption": "By {cite:t}`pearson1901`."}}
    table = {
        "application/vnd.fairpca.phone+svg": "<svg/>",
        "text/html": '<a href="../x.html#y">row</a> <a href="https://example.org">out</a>',
    }
    glued = {"application/papermill.record/text/plain": "'0.3'"}
    source.outputs = [
        nbformat.v4.new_output("display_data", table),
        nbformat.v4.new_output("display_data", glued, metadata={"scrapbook": {"name": "gap"}}),
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# T"), source], metadata=kernel)
    made = portable.portable(notebook, "chapters/a/b", Everything(), ADDRESS)
    nbformat.validate(made)
    code, caption, references = made.cells[4:]
    assert "myst_nb" not in code.source and len(code.outputs) == 1
    expected = f'<a href="{ADDRESS}/chapters/x.html#y">row</a> <a href="https://example.org">out</a>'
    assert code.outputs[0]["data"] == {"text/html": expected}
    assert caption.source == "**Thing fig-a.** By Pearson (1901)."
    assert bibliography.works()["pearson1901"].address in references.source
    offline = portable.portable(notebook, "chapters/a/b", Everything())
    assert offline.cells[4].outputs[0]["data"]["text/html"].startswith("row <a")


@pytest.mark.filterwarnings("default")  # a kernel's own machinery warns
def test_notebooks_run_in_an_empty_folder_with_the_wheel(wheel: Path, tmp_path: Path, monkeypatch) -> None:
    from nbclient import NotebookClient

    site, empty = tmp_path / "site", tmp_path / "empty"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    empty.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.delenv("FAIRPCA_MIRROR", raising=False)
    monkeypatch.chdir(empty)
    for source in RUN:
        name = notebooks.title(source)
        made = portable.portable(jupytext.read(source), f"chapters/{name}", Everything(), ADDRESS, glued=Everything())
        (install,) = (cell for cell in made.cells if "install" in cell.metadata.get("tags", []))
        wanted = re.search(r'^    %pip install --quiet "(fairpca\[[a-z,]+\]) @ (\S+)"', install.source, re.MULTILINE)
        assert wanted and wanted[2] == f"{ADDRESS}/{portable.WHEEL}"
        install.source = f"import fairpca\nassert fairpca.__file__.startswith({str(site)!r}), fairpca.__file__"
        client = NotebookClient(made, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(empty)}})
        client.execute()
        errors = [out for cell in made.cells for out in cell.get("outputs", []) if out.get("name") == "stderr"]
        assert not errors, f"{name}: {errors}"
        texts = [out["data"]["text/markdown"] for cell in made.cells if "text" in cell.metadata.get("tags", [])
                 for out in cell.outputs]  # fmt: skip
        assert "(in the book)" not in "".join(texts), "the text has the numbers that were just computed"
        assert bool(texts) == ("{glue:text}" in source.read_text(encoding="utf8"))
        if source.stem == "toy":
            assert "a wheel has no cells to compare them with" in str([cell.get("outputs") for cell in made.cells])
    assert list(empty.iterdir()) == []

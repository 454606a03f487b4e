"""The rules that chapters keep, and the guards of the build: each fails when it should."""

from __future__ import annotations

import ast
import inspect
import io
import pydoc
import re
import shutil
from pathlib import Path

import check_links
import fill_cache
import jupytext
import notebooks
import pytest
import run_notebooks
import yaml
from chapter_code import HEADER
from notebooks import ChapterError

import fairpca
import fairpca.solvers
from fairpca.companion.published import papers

ROOT = notebooks.ROOT
PARTS = ["start", *(paper.name for paper in papers()), "beyond", "use"]
LOOKED_UP = ("Package", "Appendix")
CHAPTERS = notebooks.chapters_in_toc()
NOTEBOOKS = notebooks.executable_chapters()
MAX_LINES = 840  # before the exercises
EXERCISES = "\n## Exercises\n"
MAX_WIDTH, MAX_FUNCTION = 85, 40  # of code that a reader sees
PUBLIC_MODULES = [module for name in fairpca._MODULES if hasattr(module := getattr(fairpca, name), "__all__")]
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
# What is looked up and not read has no frame; exercises go with the chapters before them.
UNFRAMED = ("intro", "appendix/", "use/api", "use/cli", "start/find_your_figure", "exercises")
HIDDEN = {"parameters", "hide-input", "remove-input", "hide-cell", "remove-cell"}
# Panels stand side by side on a desktop and one below the other on a phone; their order is the same.
SIDES = re.compile(r"\((?:left|right)\)|\b(?:left|right) panel|\b[Oo]n the (?:left|right)\b|\b(?:Left|Right)\b(?! of)")
FENCE = re.compile(r"^(`{3,}|:{3,}|~{3,})")


def prose(source: Path) -> str:
    """Return a chapter without code cells, code blocks and inline code."""
    lines, fence, skip = [], "", False
    for line in source.read_text(encoding="utf8").splitlines():
        if not fence and (match := re.match(r"^(```+)(.*)$", line)):
            what = match[2].strip()
            fence, skip = match[1], not what.startswith("{") or "code" in what or "math" in what or "eval-rst" in what
        elif fence and line.startswith(fence) and not line.strip("`"):
            fence, skip = "", False
        elif not skip:
            lines.append(re.sub(r"`[^`\n]*`", "", line))
    return "\n".join(lines)


def nested_code_cells(text: str) -> list[int]:
    """Return the lines of code cells that stand inside another directive, where neither tool treats them well."""
    stack: list[str] = []
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = FENCE.match(line)
        if not match:
            continue
        fence, rest = match[1], line[len(match[1]) :].strip()
        if stack and not rest and fence[0] == stack[-1][0] and len(fence) >= len(stack[-1]):
            stack.pop()
        elif not stack or stack[-1][0] != "`" or rest.startswith("{"):
            if rest.startswith("{code-cell}") and stack:
                found.append(number)
            stack.append(fence)
    return found


def labels(source: Path) -> list[str]:
    text = source.read_text(encoding="utf8")
    found = re.findall(r"^\((\S+)\)=$", text, re.MULTILINE)
    found += re.findall(r"^:(?:label|name): (\S+)$", text, re.MULTILINE)
    found += re.findall(r"^ +name: (?!python3)(\S+)$", text, re.MULTILINE)
    found += re.findall(r"\$\$ \((\S+)\)$", text, re.MULTILINE)
    found += re.findall(r"\\label\{(\S+?)\}", text)
    return found


def code_cells(source: Path) -> list[str]:
    return [cell.source for cell in jupytext.read(source).cells if cell.cell_type == "code"]


def test_toc_and_folders_agree() -> None:
    assert len(set(CHAPTERS)) == len(CHAPTERS)
    assert sorted(CHAPTERS) == sorted((ROOT / "chapters").rglob("*.md"))


def test_parts_stand_in_the_order_of_the_design() -> None:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf8"))
    order = []
    for part in toc["parts"]:
        assert part["numbered"] is True
        folders = {Path(chapter["file"]).parent.name for chapter in part["chapters"]}
        if part["caption"] not in LOOKED_UP:
            assert len(folders) == 1, f"part {part['caption']!r} mixes {folders}"
            order += folders
    assert order == [part for part in PARTS if part in order]
    assert tuple(part["caption"] for part in toc["parts"])[-2:] == LOOKED_UP


@pytest.mark.parametrize("source", CHAPTERS, ids=notebooks.title)
def test_page_keeps_the_rules(source: Path) -> None:
    text = source.read_text(encoding="utf8")
    if source.stem != "exercises":  # read one at a time; test_exercises.py limits each section
        length = len(text.partition(EXERCISES)[0].splitlines())
        assert length <= MAX_LINES, f"{length} lines; split the chapter or move code into the package"
    assert nested_code_cells(text) == []
    assert len(re.findall(r"^# ", prose(source), re.MULTILINE)) == 1, "a page has one title"
    cited = set(re.findall(r"\[\^([^\]]+)\](?!:)", prose(source)))
    defined = set(re.findall(r"^\[\^([^\]]+)\]:", text, re.MULTILINE))
    assert cited == defined, "footnotes without text, or text without footnote"
    assert prose(source).count("$") % 2 == 0, "a formula is not closed"
    assert not re.search(r"\bunbiased (?:representation|data|subspace|decision|PCA)", text), "say `mitigates`"
    assert not re.search(r"<(?:script|iframe|link)\b|<img[^>]+https?:", text), "pages load nothing from the network"


@pytest.mark.parametrize("source", CHAPTERS, ids=notebooks.title)
def test_labels_carry_the_part(source: Path) -> None:
    part = source.relative_to(ROOT / "chapters").with_suffix("").parts[0]
    allowed = re.compile(rf"^(?:[a-z]+-)?{part}-[a-z0-9-]+$")
    wrong = [label for label in labels(source) if not allowed.match(label)]
    assert not wrong, f"labels are global; write fig-{part}-…, eq-{part}-…, thm-{part}-…: {wrong}"


def test_labels_are_unique() -> None:
    everywhere = [label for source in CHAPTERS for label in labels(source)]
    assert len(everywhere) == len(set(everywhere))


@pytest.mark.parametrize("source", NOTEBOOKS, ids=notebooks.title)
def test_notebook_keeps_the_rules(source: Path) -> None:
    front = yaml.safe_load(source.read_text(encoding="utf8").split("---")[1])
    assert front["kernelspec"] == KERNEL
    assert front["jupytext"]["text_representation"]["format_name"] == "myst"
    parameters = notebooks.read_parameters(jupytext.read(source), source.stem)
    assert parameters["profile"] == "smoke"
    for cell in code_cells(source):
        assert not re.search(r"^\s*[!%]", cell, re.MULTILINE), f"no shell or magic commands:\n{cell}"
        tree = ast.parse(cell)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                relative = re.match(r"^(?:\.{1,2}/|data/|chapters/|/(?:tmp|home|root|work)\b)", node.value)
                assert not relative, f"chapters reach files through the package only: {node.value!r}"
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Attribute)
                and node.value.attr == "random"
            ):
                allowed = (
                    "default_rng",
                    "Generator",
                    "SeedSequence",
                    "RandomState",
                )  # the last one for the papers' programs
                assert node.attr in allowed, f"use a generator with the seed, not np.random.{node.attr}"
    for cell in jupytext.read(source).cells:
        settings = cell.metadata.get("mystnb", {})
        if "figure" in settings:
            assert settings.get("image", {}).get("alt"), f"{settings['figure']['name']} has no alt text"
            said = SIDES.search(settings["figure"]["caption"])
            assert not said, f"{settings['figure']['name']}: name the panel by its order, not {said[0]!r}"


@pytest.mark.parametrize("source", CHAPTERS, ids=notebooks.title)
def test_chapter_asks_answers_and_says_what_follows(source: Path) -> None:
    if any(word in notebooks.title(source) for word in UNFRAMED):
        return
    text = source.read_text(encoding="utf8")
    lead = re.search(r"^# .*?\n\n(.*?)(?=^```|^## )", text, re.DOTALL | re.MULTILINE)[1].strip()
    assert "?" in lead.split("\n\n")[0], "the first paragraph asks the question of the chapter"
    assert len(lead.splitlines()) >= 2, "the answer follows before anything else"
    text = text.partition(EXERCISES)[0]
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert sections[-1] == "So what", "a chapter ends with what a reader may act on"
    end = text[text.index("\n## So what\n") :]
    assert "```{code-cell}" not in end, "after the last word there is nothing to compute"


@pytest.mark.parametrize("source", NOTEBOOKS, ids=notebooks.title)
def test_visible_code_is_what_a_reader_would_type(source: Path) -> None:
    if source.stem == "exercises":
        return  # solutions are folded, and check what they say
    text = source.read_text(encoding="utf8").partition(EXERCISES)[0]
    for cell in jupytext.reads(text, fmt="md:myst").cells:
        if cell.cell_type != "code" or HIDDEN & set(cell.metadata.get("tags", [])):
            continue
        assert max(map(len, cell.source.splitlines())) <= MAX_WIDTH, f"wider than the page:\n{cell.source}"
        assert not re.search(r"np\.testing|\bglue\(|# noqa", cell.source), f"fold the cell:\n{cell.source}"
        functions = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.FunctionDef)]
        for function in functions:
            length = function.end_lineno - function.lineno + 1
            assert length <= MAX_FUNCTION, f"{function.name} has {length} lines; split it"


# The collections of the appendix read the scoreboard; all others compute.
FROM_COMPANION = re.compile(r"^from fairpca\.companion(?!\.published)(\.\w+)? import (?!published)", re.MULTILINE)
COMPUTED = [source for source in NOTEBOOKS if FROM_COMPANION.search(source.read_text(encoding="utf8"))]


@pytest.mark.parametrize("source", COMPUTED, ids=notebooks.title)
def test_page_that_computes_hides_nothing_but_drawing(source: Path) -> None:
    """Nothing is removed, and what is folded says what it does."""
    for cell in jupytext.read(source).cells:
        tags = set(cell.metadata.get("tags", []))
        assert not tags & {"remove-input", "remove-cell", "hide-cell"}, f"fold it with a label:\n{cell.source}"
        if "hide-input" in tags:
            label = cell.metadata.get("mystnb", {}).get("code_prompt_show", "")
            assert label.startswith("Code: "), f'give it a label, code_prompt_show: "Code: …":\n{cell.source}'


@pytest.mark.parametrize("source", sorted((ROOT / "fairpca/companion").glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_code_shown_on_pages_fits_them(source: Path) -> None:
    text = source.read_text(encoding="utf8")
    assert max(map(len, text.splitlines())) <= MAX_WIDTH
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < MAX_FUNCTION, f"{node.name} is too long for a page"


def test_documents_name_only_commands_and_files_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf8"), re.MULTILINE))
    assert {"book", "test", "setup", "lint"} <= targets
    for name in ("README.md", "CONTRIBUTING.md", "chapters/appendix/reproduce.md", ".ci/run"):
        text = (ROOT / name).read_text(encoding="utf8")
        assert set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE)) <= targets, name
        for path in re.findall(r"\b((?:scripts|chapters|data|fairpca|tests|docs)/[\w./-]+\.\w+)", text):
            if "<" not in path and "my_" not in path:
                assert (ROOT / path).exists(), f"{name} speaks of {path}, which does not exist"


def test_readme_example_prints_what_the_readme_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf8")
    program = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    printed = re.search(r"```text\n(.*?)```", text, re.DOTALL)[1]
    exec(compile(program, "README.md", "exec"), {})
    assert capsys.readouterr().out == printed


def is_estimator(name: str) -> bool:
    return hasattr(getattr(fairpca, name), "fit") and name != "BaseFairPCA"


@pytest.mark.parametrize("name", filter(is_estimator, fairpca.__all__))
def test_every_estimator_has_a_page_with_example_and_picture(name: str) -> None:
    pages = [path.read_text(encoding="utf8") for path in (ROOT / "chapters/use/api").glob("*.md")]
    own = [text for text in pages if f"<!-- public names: fairpca.{name} -->" in text]
    assert len(own) == 1, f"{name} stands on {len(own)} API pages"
    code = re.findall(r"```\{code-cell\}.*?\n(.*?)```", own[0], re.DOTALL)
    assert any(f"{name}(" in cell for cell in code), "no cell makes one"
    assert "mystnb:" in own[0] and "caption:" in own[0], "no picture"


@pytest.mark.filterwarnings("ignore")
def test_docstrings_are_clean_on_the_api_page(tmp_path: Path) -> None:
    """What fails here would fail the book's build: broken markup or a reference to what does not exist."""
    from sphinx.application import Sphinx

    folder = tmp_path / "chapters" / "use" / "api"
    folder.mkdir(parents=True)
    for source in (ROOT / "chapters" / "use" / "api").glob("*.md"):
        markers = re.findall(r"^<!-- public names: .* -->$", source.read_text(encoding="utf8"), re.MULTILINE)
        assert markers, f"{source.name} shows no public name"
        (folder / source.name).write_text("\n\n".join([f"# {source.stem}", *markers]), encoding="utf8")
    contents = "# All\n\n```{toctree}\n:glob:\nchapters/use/api/*\n```\n"
    (tmp_path / "index.md").write_text(contents, encoding="utf8")
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf8"))["sphinx"]["config"]
    names = ("nitpicky", "nitpick_ignore_regex", "autodoc_typehints", "numpydoc_show_class_members")
    overrides = {name: config[name] for name in names} | {
        "extensions": ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "public_api"],
        "autosummary_generate": False,
    }
    complaints = io.StringIO()
    out = tmp_path / "out"
    app = Sphinx(str(tmp_path), None, str(out), str(out), "dummy", overrides, status=None, warning=complaints)
    app.build(force_all=True)
    assert complaints.getvalue() == ""
    # Sphinx knows a re-exported class by the name of its module too, as an alias that is shown nowhere.
    shown = {name for name, entry in app.env.domains["py"].objects.items() if not entry.aliased}
    assert {"fairpca.PCA", "fairpca.RFPCA.path", "fairpca.FPCA.problem", "fairpca.metrics.mmd_squared"} <= shown
    assert {f"fairpca.{name}" for name in fairpca.__all__ if name != "__version__"} <= shown
    assert {"fairpca.report.compare", "fairpca.report.GroupScorer.score", "fairpca.tables.prepare"} <= shown
    # What the package itself exports is shown there, and not a second time.
    things = {id(pydoc.locate(name)) for name in shown}
    for module in PUBLIC_MODULES:
        exported = {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
        missing = [name for name, thing in exported.items() if id(thing) not in things and not inspect.ismodule(thing)]
        assert not missing, "no API page shows these"
    kinds = ("class", "function", "data", "exception")
    promised = [name for name, entry in app.env.domains["py"].objects.items() if entry.objtype in kinds
                and not entry.aliased and not name.startswith("fairpca.companion")]  # fmt: skip
    assert len(promised) <= 160, "a package that one person can hold in the head"
    internal = [name for name in shown if any(part.startswith("_") for part in name.split("."))]
    assert not internal, "internals are no part of the site"
    for page in app.env.found_docs:
        words = app.env.get_doctree(page).astext()
        assert "<module" not in words and str(ROOT) not in words, (
            "values with paths of this machine are no documentation"
        )


# --- the guards -------------------------------------------------------------------------------------------------------

CHAPTER = (
    HEADER
    + """\
# A page

```{code-cell} ipython3
:tags: [parameters]

profile = "smoke"
n = 3
```

Some words.

```{code-cell} ipython3
print("n is", n)
```
"""
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A little book of one chapter."""
    (tmp_path / "chapters").mkdir()
    (tmp_path / "fairpca").mkdir()
    (tmp_path / "fairpca" / "__init__.py").write_text("")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: chapters/page\n")
    (tmp_path / "chapters" / "page.md").write_text(CHAPTER)
    notebooks._hash_of_inputs.cache_clear()
    yield tmp_path
    notebooks._hash_of_inputs.cache_clear()


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


kernel = pytest.mark.filterwarnings("default")


@kernel
def test_execution_is_reused_until_something_changes(checkout: Path) -> None:
    page = checkout / "chapters" / "page.md"
    first = notebooks.execute(page, root=checkout)
    assert not first.reused
    edit(page, "Some words.", "Other words.")
    assert notebooks.execute(page, root=checkout).reused, "prose is no reason to execute again"
    edit(page, 'ipython3\nprint("n is", n)', 'ipython3\n:tags: [hide-input]\nprint("n is", n)')
    assert notebooks.execute(page, root=checkout).reused, "neither is hiding the code of a cell"
    assert fill_cache.fill("smoke", checkout) == 1

    # An execution that somebody altered, or that a full disk cut short, is none.
    whole = first.path.read_text()
    for damaged in (whole.replace("n is 3", "n is 4"), whole[: len(whole) // 2]):
        first.path.write_text(damaged)
        assert notebooks.stored_record(first.path) == {}
        with pytest.raises(ChapterError, match="damaged or was altered"):
            fill_cache.fill("smoke", checkout)
    first.path.write_text(whole)

    # A change in the package, invisible to the cache of Jupyter Book, makes the execution stale.
    (checkout / "fairpca" / "__init__.py").write_text("x = 1\n")
    notebooks._hash_of_inputs.cache_clear()
    with pytest.raises(ChapterError, match="have changed"):
        fill_cache.fill("smoke", checkout)
    assert not notebooks.execute(page, root=checkout).reused

    edit(page, 'print("n is", n)', 'print("n was", n)')
    with pytest.raises(ChapterError, match="have changed"):
        fill_cache.fill("smoke", checkout)


@kernel
def test_failing_cell_gives_exit_code_one_and_leaves_nothing_to_publish(checkout: Path, capfd) -> None:
    page = checkout / "chapters" / "page.md"
    earlier = notebooks.executed_path(page, "smoke", checkout)
    earlier.parent.mkdir(parents=True)
    earlier.write_text("{}")
    edit(page, 'print("n is", n)', "unheard_of + n")
    assert run_notebooks.main([str(page)], checkout) == 1
    message = capfd.readouterr().err
    assert "page: cell 3 failed" in message
    assert "unheard_of + n" in message
    assert "NameError: name 'unheard_of' is not defined" in message
    assert not earlier.exists()
    with pytest.raises(ChapterError, match="has not been executed"):
        fill_cache.fill("smoke", checkout)
    edit(page, "unheard_of + n", 'import warnings\nwarnings.warn("careful")')
    with pytest.raises(ChapterError, match=r"wrote to standard error(?s:.)*careful"):
        notebooks.execute(page, root=checkout)


@kernel
def test_parameters_reach_the_chapter_but_not_the_book(checkout: Path, capfd) -> None:
    page = checkout / "chapters" / "page.md"
    assert run_notebooks.main([str(page), "-p", "n", "5"], checkout) == 0
    run = notebooks.executed_path(page, "custom", checkout).read_text()
    assert "n is 5" in run
    assert str(checkout) not in run, "a stored notebook must not hold paths of the machine"
    assert run_notebooks.main([str(page), "-p", "m", "5"], checkout) == 1
    assert "unknown parameter(s) m; it has n, profile" in capfd.readouterr().err


@kernel
def test_paper_profile_is_what_the_page_says(checkout: Path) -> None:
    page = checkout / "chapters" / "page.md"
    assert run_notebooks.main([str(page), "--profile", "paper"], checkout) == 0
    shown = fill_cache.book_notebook(page, "paper", checkout)
    sources = [cell.source for cell in shown.cells if cell.cell_type == "code"]
    assert sources[0] == 'profile = "paper"\nn = 3'
    assert shown.cells[-1].outputs[0].text == "n is 3\n"


@kernel
def test_template_in_contributing_is_a_good_chapter(checkout: Path) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8")
    shutil.rmtree(checkout / "fairpca")
    (checkout / "fairpca").symlink_to(ROOT / "fairpca")
    page = checkout / "chapters" / "page.md"
    page.write_text(re.search(r"^`````markdown\n(.*?)^`````$", text, re.DOTALL | re.MULTILINE)[1])
    test_notebook_keeps_the_rules(page)
    assert nested_code_cells(page.read_text()) == []
    assert set(labels(page)) == {
        "eq-paper2030-loss",
        "thm-paper2030-rank",
        "alg-paper2030-mw",
        "fig-paper2030-example",
    }
    notebooks.execute(page, root=checkout)
    shown = fill_cache.book_notebook(page, "smoke", checkout)
    assert any("image/svg+xml" in output.get("data", {}) for cell in shown.cells for output in cell.get("outputs", []))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("n = 3", "n = 3\nm = 2 * n", "'m' is not a literal"),
        ("n = 3", "print(3)", "only `name = literal`"),
        (":tags: [parameters]", ":tags: [hide-input]", "0 cells are tagged"),
        ('print("n is", n)', ":tags: [parameters]\n\nk = 1", "2 cells are tagged"),
    ],
)
def test_parameters_cell_holds_literals_only(checkout: Path, old: str, new: str, message: str) -> None:
    page = checkout / "chapters" / "page.md"
    edit(page, old, new)
    with pytest.raises(ChapterError, match=re.escape(message)):
        notebooks.read_parameters(jupytext.read(page), "page")


def test_nested_code_cells_are_found() -> None:
    assert nested_code_cells(CHAPTER) == []
    nested = ":::{note}\n```{code-cell} ipython3\n1\n```\n:::\n"
    assert nested_code_cells(nested) == [2]
    assert nested_code_cells("````\n```{code-cell}\n```\n````\n") == [2]


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ('<a href="other.html">x</a>', "other.html: no such file"),
        ('<a href="#nowhere">x</a>', "#nowhere: no such anchor"),
        ('<script src="https://example.org/x.js"></script>', "loaded from the network"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "loaded from the network"),
        ('<img src="missing.png">', "missing.png: no such file"),
    ],
)
def test_link_check_finds_what_is_wrong(tmp_path: Path, page: str, complaint: str) -> None:
    (tmp_path / "index.html").write_text(f'<p id="here"><a href="#here">ok</a>{page}</p>')
    _, _, complaints = check_links.check(tmp_path)
    assert [c for c in complaints if complaint in c]
    (tmp_path / "index.html").write_text('<p id="here"><a href="#here">ok</a><a href="https://example.org">out</a></p>')
    assert check_links.check(tmp_path) == (1, 1, [])

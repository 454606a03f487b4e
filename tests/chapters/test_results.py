"""Results of chapters: they move to their place when the chapter has passed, and outdate what reads them."""

import shutil
from pathlib import Path

import notebooks
import pytest
import run_notebooks
import toy_paper
from chapter_code import HEADER

PARAMETERS = """\
```{code-cell} ipython3
:tags: [parameters]

profile = "smoke"
```
"""
COMPUTES = f"""{HEADER}
# Squares

{PARAMETERS}
```{{code-cell}} ipython3
from fairpca.companion import grid, run


def square(n):
    return {{"value": float(n) ** 2}}


run(square, grid(n=[1, 2, 3]), exhibit="toy2030/squares", table=lambda cells: cells[["n", "value"]])
```

```{{code-cell}} ipython3
print("after")
```
"""
READS = f"""{HEADER}
# Reads

{PARAMETERS}
```{{code-cell}} ipython3
from fairpca.companion import stored

print(stored("toy2030/squares").table["value"].sum())
```
"""
READS_ALL = f"""{HEADER}
# All

{PARAMETERS}
```{{code-cell}} ipython3
from fairpca.companion.published import scoreboard
```
"""
PLAIN = f"""{HEADER}
# Plain

{PARAMETERS}
```{{code-cell}} ipython3
print("plain")
```
"""
PAGES = {"board": READS_ALL, "squares": COMPUTES, "reads": READS, "plain": PLAIN}

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A book of four chapters about a paper of its own."""
    toy_paper.write(tmp_path)
    (tmp_path / "chapters").mkdir(exist_ok=True)
    for name, text in PAGES.items():
        (tmp_path / "chapters" / f"{name}.md").write_text(text)
    chapters = "".join(f"- file: chapters/{name}\n" for name in ("squares", "reads", "plain"))
    (tmp_path / "_toc.yml").write_text(f"format: jb-book\nroot: chapters/board\nchapters:\n{chapters}")
    # A copy of the package, which finds the data beside it.
    shutil.copytree(notebooks.ROOT / "fairpca", tmp_path / "fairpca", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "data" / "results").mkdir(parents=True, exist_ok=True)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    notebooks._hash_of_inputs.cache_clear()
    yield tmp_path
    notebooks._hash_of_inputs.cache_clear()


def run(book: Path, capfd, *arguments: str) -> dict[str, str]:
    """Run chapters and return what the runner says of each."""
    run_notebooks.main(list(arguments), book)
    lines = [line.split() for line in capfd.readouterr().out.splitlines() if line.endswith(tuple(PAGES))]
    return {words[-1]: words[0] for words in lines}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_results_move_when_the_chapter_has_passed(book: Path, capfd) -> None:
    results, page = book / "data" / "results" / "toy2030", book / "chapters" / "squares.md"
    edit(page, 'print("after")', "1 / 0")
    assert run(book, capfd, str(page), "--profile", "paper") == {"squares": "FAILED"}
    assert not results.exists()
    edit(page, "1 / 0", 'print("after")')

    ran = run(book, capfd, "--profile", "paper")
    assert list(ran) == ["squares", "reads", "plain", "board"], "in the order of the book, the scoreboard last"
    assert set(ran.values()) == {"executed"}
    assert {path.name for path in results.iterdir()} == {"squares.csv", "squares.cells.csv.gz", "squares.json"}
    assert '"chapter": "squares"' in (results / "squares.json").read_text()
    assert set(run(book, capfd, "--profile", "paper").values()) == {"unchanged"}

    # A new result outdates the chapters that read it, and no others.
    edit(page, "float(n) ** 2", "float(n) ** 3")
    assert run(book, capfd, "--profile", "paper") == {
        "squares": "executed", "reads": "executed", "plain": "unchanged", "board": "executed",
    }  # fmt: skip


def test_an_interrupted_move_is_completed_and_what_did_not_pass_is_discarded(tmp_path: Path) -> None:
    for folder, text in (("results-passed", "passed"), ("results", "failed")):
        (tmp_path / "_build" / folder / "p").mkdir(parents=True)
        (tmp_path / "_build" / folder / "p" / "x.csv").write_text(text)
    notebooks.discard_results(tmp_path)
    assert (tmp_path / "data" / "results" / "p" / "x.csv").read_text() == "passed"
    assert list((tmp_path / "_build").iterdir()) == []


def test_a_chapter_reads_the_results_that_it_names(book: Path) -> None:
    results = book / "data" / "results" / "toy2030"
    results.mkdir(parents=True)
    for name in ("squares.csv", "squares.json", "other.csv"):
        (results / name).touch()
    own = {results / "squares.csv", results / "squares.json", results / "statements.csv"}
    for name, expected in {"squares": own, "reads": own, "plain": set()}.items():
        assert set(notebooks.results_read(book / "chapters" / f"{name}.md", book)) == expected
    assert results / "other.csv" in notebooks.results_read(book / "chapters" / "board.md", book)

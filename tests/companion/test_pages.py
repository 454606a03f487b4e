"""What a reader sees on a page that computes an exhibit is enough to compute it."""

import re
from pathlib import Path

import notebooks
import pytest
from pages import run_alone, visible_code

from fairpca.companion import published

PAGES = [path for path in notebooks.executable_chapters() if "fairpca.companion import" in path.read_text("utf8")]


@pytest.mark.parametrize("source", PAGES, ids=notebooks.title)
def test_visible_code_computes_the_exhibit(source: Path, tmp_path: Path) -> None:
    """In an empty folder; `run` compares with the stored cells and fails if they differ."""
    page = tmp_path / "page.py"
    page.write_text(visible_code(source), encoding="utf8")
    code, out, err = run_alone(page)
    assert code == 0, err
    lines = [line for line in out.splitlines() if line.startswith("Computed here: ")]
    assert len(lines) >= len(re.findall(r"\brun\(", page.read_text()))  # a function may call it several times
    for line in lines:
        computed = int(re.match(r"Computed here: (\d+) of", line)[1])
        assert ("They agree with the stored ones" if computed else "the data are not available") in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.py"]


def test_a_statement_is_judged_once() -> None:
    """On one page, with an id that the paper's folder declares; the stored verdicts are those of pages."""
    known = {
        f"{paper.name}/{id}"
        for paper in published.papers()
        for id in [*published.load_claims(paper.name)["id"], *published.load_settings(paper.name)["id"]]
    }
    named = [name for page in PAGES for name in re.findall(r'"(\w+/[\w.-]+)"', visible_code(page))]
    judged = [name for name in named if name in known]
    assert len(judged) == len(set(judged))
    for paper in published.papers():
        path = notebooks.ROOT / "data" / "results" / paper.name / "statements.csv"
        stored = [line.split(",")[0] for line in path.read_text("utf8").splitlines()[1:]] if path.exists() else []
        assert set(stored) == {name.partition("/")[2] for name in judged if name.startswith(f"{paper.name}/")}

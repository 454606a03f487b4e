"""A chapter that is damaged or unlike the others is refused by name; whatever happened, the next run is whole."""

from __future__ import annotations

import notebooks
import pytest
from notebooks import ChapterError

HEADER = "---\nkernelspec:\n  display_name: Python 3\n  language: python\n  name: python3\n---\n"
CHAPTER = HEADER + '# A title\n\n```{code-cell} ipython3\n:tags: [parameters]\n\nprofile = "smoke"\nseed = 0\n```\n'


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    """A checkout of one chapter whose name has a per cent sign, which configuration files read as their own."""
    root = tmp_path / "half % of it"
    source = root / "chapters" / "start" / "one.md"
    source.parent.mkdir(parents=True)
    source.write_text(CHAPTER)
    return source


def run(source):
    return notebooks.execute(source, root=source.parents[2])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (CHAPTER.replace("title", "titl\xe9").encode("latin1"), "UTF-8"),
        (CHAPTER.replace("kernelspec:", "kernelspec: [").encode(), "YAML"),
        (CHAPTER.replace("name: python3", "name: julia").encode(), "'julia'"),
        (CHAPTER.replace(HEADER, "").encode(), "None"),
        (CHAPTER.replace("seed = 0", "seed = 1 + 1 + len('')").encode(), "literal"),
    ],
)
def test_a_chapter_that_is_not_as_it_should_be_is_refused_by_name(chapter, content, said):
    chapter.write_bytes(content)
    with pytest.raises(ChapterError, match=said) as refused:
        run(chapter)
    assert "one" in str(refused.value)


@pytest.mark.filterwarnings("default")
def test_a_home_that_cannot_be_written_leaves_no_trace_on_the_page(chapter, monkeypatch, tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    monkeypatch.setattr(notebooks.os, "access", lambda path, mode: path != home)  # root may write everywhere
    chapter.write_text(CHAPTER + "\n```{code-cell} ipython3\nimport matplotlib\n\nmatplotlib.get_configdir()\n```\n")
    run(chapter)
    assert (chapter.parents[2] / "_executed" / "matplotlib").is_dir()

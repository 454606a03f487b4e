"""Exercises cover the theory of their part, and each has a folded solution that is executed."""

from __future__ import annotations

import re

import jupytext
import notebooks
import pytest

CLOSING = "\n## Exercises\n"  # a chapter ends with its own, or its part collects them on a page
THEORY = re.compile(r"^`{3,}\{prf:(?:theorem|lemma|definition|proposition|corollary)\}", re.MULTILINE)
EXERCISE = re.compile(r"^`{3,}\{exercise-start\} (.*)\n:label: (\S+)$", re.MULTILINE)
SOLUTION = re.compile(
    r"^(`{3,})\{solution-start\} (\S+)\n((?::[^\n]*\n)*)\1\n(.*?)^`{3,}\{solution-end\}$", re.MULTILINE | re.DOTALL
)
LEVEL = re.compile(r"^(?:Easy|Medium|Hard): ")
LEAST = 3
MAX_SECTION_LINES = 330
MAX_CODE_LINES = 12
MAX_CODE_WIDTH = 85
# An exercise asks for a result; code that would not notice a wrong one is no solution.
CHECK = re.compile(r"^\s*(?:assert |np\.testing\.assert_)", re.MULTILINE)


def shown_cells(text: str) -> list[str]:
    """Return the code cells that a reader sees without a click."""
    cells = jupytext.reads(text, fmt="md:myst").cells
    hidden = {"hide-input", "remove-input", "remove-cell", "parameters"}
    return [c.source for c in cells if c.cell_type == "code" and not hidden & set(c.metadata.get("tags", []))]


def sections(chapters: dict[str, str]) -> dict[str, str]:
    """Return the exercises on each chapter, by the chapter's path."""
    found = {}
    for page, text in chapters.items():
        part = page.rpartition("/")[0]
        if page.endswith("/exercises"):
            _, *pieces = re.split(rf"^\({part}-exercises-([a-z0-9-]+)\)=$", text, flags=re.MULTILINE)
            for name, own in zip(pieces[::2], pieces[1::2], strict=True):
                chapter = f"{part}/{name.replace('-', '_')}"
                assert f"<{part}-exercises-{name}>" in chapters[chapter], f"{chapter} does not lead to its exercises"
                found[chapter] = own
        elif CLOSING in text:
            assert f"({part}-exercises-{page.rpartition('/')[2].replace('_', '-')})=" in text.partition(CLOSING)[0]
            found[page] = text.partition(CLOSING)[2]
    return found


def complaints(section: str) -> list[str]:
    """Say what is wrong with the exercises on one chapter."""
    titles, asked = zip(*found, strict=True) if (found := EXERCISE.findall(section)) else ((), ())
    solved = {label: (options, body) for _, label, options, body in SOLUTION.findall(section)}
    told = [f"{title!r} does not begin with Easy, Medium or Hard" for title in titles if not LEVEL.match(title)]
    if len(asked) < LEAST:
        told.append(f"{len(asked)} exercises, and {LEAST} at least are asked for")
    if list(solved) != list(asked):
        told.append(f"exercises {list(asked)} and solutions to {list(solved)}; each has one, in the same order")
    for label, (options, body) in solved.items():
        if ":class: dropdown" not in options:
            told.append(f"the solution to {label} is not folded")
        if not CHECK.search("\n".join(re.findall(r"^```\{code-cell\}.*?^```$", body, re.MULTILINE | re.DOTALL))):
            told.append(f"the solution to {label} asserts nothing")
    if (lines := section.count("\n")) > MAX_SECTION_LINES:
        told.append(f"{lines} lines, more than {MAX_SECTION_LINES}")
    for cell in shown_cells(section):
        if len(cell.splitlines()) > MAX_CODE_LINES or max(map(len, cell.splitlines())) > MAX_CODE_WIDTH:
            told.append(f"over {MAX_CODE_LINES} lines of {MAX_CODE_WIDTH}; shorten it or tag it hide-input:\n{cell}")
    return told


CHAPTERS = {notebooks.title(source): source.read_text(encoding="utf8") for source in notebooks.chapters_in_toc()}
SECTIONS = sections(CHAPTERS)


@pytest.mark.parametrize("chapter", [name for name, text in CHAPTERS.items() if THEORY.search(text)])
def test_chapter_with_theory_has_exercises(chapter: str) -> None:
    assert chapter in SECTIONS


@pytest.mark.parametrize("chapter", SECTIONS)
def test_exercises_keep_the_rules(chapter: str) -> None:
    assert complaints(SECTIONS[chapter]) == []


# --- the guard itself -------------------------------------------------------------------------------------------------

ONE = """\
```{exercise-start} Easy: add
:label: exr-toy-NUMBER
```

What is 1 + 1?

```{exercise-end}
```

```{solution-start} exr-toy-NUMBER
:label: sol-toy-NUMBER
:class: dropdown
```

Two.

```{code-cell} ipython3
assert 1 + 1 == 2
```

```{solution-end}
```

"""
GOOD = "".join(ONE.replace("NUMBER", n) for n in "123")
LONG = "\n".join(f"x = {i}" for i in range(13))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("Easy: add", "Add", "does not begin with Easy"),
        (":class: dropdown", ":class: tip", "is not folded"),
        ("assert 1 + 1 == 2", "1 + 1", "asserts nothing"),
        ("assert 1 + 1 == 2", "assert True  # " + 85 * "x", "over 12 lines of 85"),
        ("assert 1 + 1 == 2", f"{LONG}\nassert x", "over 12 lines of 85"),
        ("solution-start} exr-toy-2", "solution-start} exr-toy-1", "each has one, in the same order"),
        ("exercise-start", "exercise", "0 exercises"),
        ("Two.\n", 110 * "\n", "more than 330"),
    ],
)
def test_bad_section_is_found(old: str, new: str, complaint: str) -> None:
    assert complaints(GOOD) == [] and old in GOOD
    assert any(complaint in told for told in complaints(GOOD.replace(old, new)))


def test_sections_belong_to_chapters_that_lead_to_them() -> None:
    page = {"toy/exercises": f"(toy-exercises-two-lines)=\n{GOOD}", "toy/two_lines": "<toy-exercises-two-lines>"}
    own = {"toy/one_line": f"Text.\n\n(toy-exercises-one-line)={CLOSING}{GOOD}"}
    assert {name: complaints(text) for name, text in sections(page | own).items()} == {
        "toy/two_lines": [], "toy/one_line": [],
    }  # fmt: skip
    with pytest.raises(AssertionError, match="two_lines does not lead to its exercises"):
        sections(page | {"toy/two_lines": ""})

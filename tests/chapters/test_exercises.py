"""Exercises cover the theory of their part, and each has a folded solution that is executed."""

from __future__ import annotations

import re
from pathlib import Path

import jupytext
import notebooks
import pytest

CHAPTERS = notebooks.chapters_in_toc()
PAGES = [source for source in CHAPTERS if source.stem == "exercises"]
CLOSING = "\n## Exercises\n"  # a chapter may end with its own
ENDED = [source for source in CHAPTERS if CLOSING in source.read_text(encoding="utf8")]
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


def section_complaints(name: str, section: str) -> list[str]:
    """Say what is wrong with the exercises on one chapter."""
    told = []
    titles, asked = zip(*found, strict=True) if (found := EXERCISE.findall(section)) else ((), ())
    solved = {label: (options, body) for _, label, options, body in SOLUTION.findall(section)}
    if len(asked) < LEAST:
        told.append(f"{name} has {len(asked)} exercises, and {LEAST} at least are asked for")
    told += [f"{title!r} does not begin with Easy, Medium or Hard" for title in titles if not LEVEL.match(title)]
    if list(solved) != list(asked):
        told.append(f"{name}: exercises {list(asked)} and solutions to {list(solved)}; each has one, in the same order")
    for label, (options, body) in solved.items():
        if ":class: dropdown" not in options:
            told.append(f"the solution to {label} is not folded")
        if not CHECK.search("\n".join(re.findall(r"^```\{code-cell\}.*?^```$", body, re.MULTILINE | re.DOTALL))):
            told.append(f"the solution to {label} asserts nothing")
    if (lines := section.count("\n")) > MAX_SECTION_LINES:
        told.append(f"{name} has {lines} lines, more than {MAX_SECTION_LINES}")
    return told


def complaints(part: str, text: str, chapters: dict[str, str]) -> list[str]:
    """Say what is wrong with a page of exercises, given the chapters of its part."""
    told = []
    heads = rf"^\({part}-exercises-([a-z0-9-]+)\)=$"
    pieces = re.split(heads, text, flags=re.MULTILINE)
    sections = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    if found := EXERCISE.findall(pieces[0]):
        told.append(f"{found} belong to no chapter: a section begins with ({part}-exercises-CHAPTER)=")
    for name, chapter in chapters.items():
        label = name.replace("_", "-")
        if THEORY.search(chapter) and label not in sections:
            told.append(f"no section ({part}-exercises-{label})= on the theory of {name}")
        if label in sections and f"<{part}-exercises-{label}>" not in chapter:
            told.append(f"{name} does not lead to its exercises, {part}-exercises-{label}")
    told += [f"exercises on {name}, which is no chapter" for name in sections if name.replace("-", "_") not in chapters]
    for name, section in sections.items():
        told += section_complaints(name, section)
    return told + cell_complaints(text)


def cell_complaints(text: str) -> list[str]:
    """Say which visible cells are too long."""
    told = []
    for cell in shown_cells(text):
        lines = cell.strip().splitlines()
        if len(lines) > MAX_CODE_LINES or max(map(len, lines)) > MAX_CODE_WIDTH:
            told.append(f"over {MAX_CODE_LINES} lines of {MAX_CODE_WIDTH}; shorten it or tag it hide-input:\n{cell}")
    return told


@pytest.mark.parametrize("page", PAGES, ids=notebooks.title)
def test_page_of_exercises_keeps_the_rules(page: Path) -> None:
    siblings = [source for source in CHAPTERS if source.parent == page.parent]
    texts = {source: source.read_text(encoding="utf8") for source in siblings if source not in {page, *ENDED}}
    later = siblings[siblings.index(page) :]
    assert not [source.name for source in later if THEORY.search(texts.get(source, ""))], "exercises come after"
    chapters = {source.stem: text for source, text in texts.items()}
    found = complaints(page.parent.name, page.read_text(encoding="utf8"), chapters)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("source", ENDED, ids=notebooks.title)
def test_exercises_at_the_end_of_a_chapter_keep_the_rules(source: Path) -> None:
    before, _, text = source.read_text(encoding="utf8").partition(CLOSING)
    part, name = source.parent.name, source.stem.replace("_", "-")
    assert before.splitlines()[-1].endswith("-exercises-" + name + ")=") or f"({part}-exercises-{name})=" in before
    found = section_complaints(source.stem, text) + cell_complaints(text)
    assert not found, "\n".join(found)


def test_every_chapter_with_theory_has_exercises() -> None:
    theory = {source for source in CHAPTERS if THEORY.search(source.read_text(encoding="utf8"))}
    assert {source.parent.name for source in theory - set(ENDED)} <= {page.parent.name for page in PAGES}


# --- the guard itself -------------------------------------------------------------------------------------------------

CHAPTER = "# Lines\n\n```{prf:theorem} A\n```\n\nTry it: {ref}`exercises <toy-exercises-two-lines>`.\n"
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
GOOD = "(toy-exercises-two-lines)=\n## Lines\n\n" + "".join(ONE.replace("NUMBER", n) for n in "123")
LONG = "\n".join(f"x = {i}" for i in range(13))


def test_good_page_has_no_complaints() -> None:
    assert complaints("toy", GOOD, {"two_lines": CHAPTER, "data": "# Data\n"}) == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("Easy: add", "Add", "does not begin with Easy"),
        (":class: dropdown", ":class: tip", "is not folded"),
        ("assert 1 + 1 == 2", "1 + 1", "asserts nothing"),
        ("assert 1 + 1 == 2", "assert True  # " + 85 * "x", "over 12 lines of 85"),
        ("assert 1 + 1 == 2", f"{LONG}\nassert x", "over 12 lines of 85"),
        ("solution-start} exr-toy-2", "solution-start} exr-toy-1", "each has one, in the same order"),
        ("exercise-start", "exercise", "has 0 exercises"),
        ("Two.\n", 110 * "\n", "more than 330"),
        ("two-lines)=", "one-line)=", "no section (toy-exercises-two-lines)="),
        ("two-lines)=", "one-line)=", "one-line, which is no chapter"),
        ("(toy-exercises-two-lines)=", "", "belong to no chapter"),
    ],
)
def test_bad_page_is_found(old: str, new: str, complaint: str) -> None:
    assert old in GOOD
    found = complaints("toy", GOOD.replace(old, new), {"two_lines": CHAPTER})
    assert any(complaint in told for told in found), found


def test_chapter_that_does_not_lead_to_its_exercises_is_found() -> None:
    found = complaints("toy", GOOD, {"two_lines": CHAPTER.replace("Try it", "").replace("<toy", "<")})
    assert found == ["two_lines does not lead to its exercises, toy-exercises-two-lines"]

"""Every numbered statement and every figure of Lee et al. (2022) stands once in the book, statements with a proof."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import notebooks
import pytest

NUMBERED = {
    "definition": ("def", [str(i) for i in range(1, 10)]),
    "proposition": ("prop", ["1", "2", "3", "4"]),
    "remark": ("rem", ["1", "2", "3"]),
    "assumption": ("asm", ["1", "2", "3", "4"]),
    "theorem": ("thm", ["1", "2", "3", "4", "5"]),
    "lemma": ("lem", [str(i) for i in range(1, 9)]),
    "corollary": ("cor", ["4-1", "5-1"]),
    "algorithm": ("alg", ["1"]),
}
PROVED = ("proposition", "theorem", "lemma", "corollary")
# What stands behind a statement that is false as printed.
REFUTED = {("proposition", "3"): "example"}
DIRECTIVE = re.compile(r"^(?:`{3,}|:{3,})\{prf:(\w+)\} ?(.*)\n(?::label: (\S+)\n)?", re.MULTILINE)


def directives(source: Path) -> list[tuple[str, str, str]]:
    """Kind, title and label of the statements and proofs of a chapter, in order."""
    return [(m[1], m[2], m[3] or "") for m in DIRECTIVE.finditer(source.read_text(encoding="utf8"))]


def captions() -> list[str]:
    texts = [source.read_text(encoding="utf8") for source in notebooks.executable_chapters()]
    return [found for text in texts for found in re.findall(r"^ +caption: \|\n((?:      .*\n)+)", text, re.MULTILINE)]


CHAPTERS = [source for source in notebooks.chapters_in_toc() if source.parent.name == "lee2022"]
ALL = [part for source in CHAPTERS for part in directives(source)]


@pytest.mark.parametrize(("kind", "number"), [(kind, n) for kind, (_, numbers) in NUMBERED.items() for n in numbers])
def test_numbered_statement_stands_once_with_its_proof(kind: str, number: str) -> None:
    shown = number.replace("-", ".")
    title = re.compile(rf"{kind} {re.escape(shown)}(?![\d.])", re.IGNORECASE)
    places = [i for i, part in enumerate(ALL) if part[0] == kind and title.match(part[1])]
    assert len(places) == 1, f"{kind} {shown}: {[ALL[i] for i in places]}"
    if kind != "algorithm":
        assert ALL[places[0]][2] == f"{NUMBERED[kind][0]}-lee2022-{number}"
    if kind in PROVED:
        assert ALL[places[0] + 1][0] == REFUTED.get((kind, number), "proof")


def test_everything_that_is_claimed_is_proved() -> None:
    open_ones = [
        part[1]
        for part, following in zip(ALL, [*ALL[1:], ("", "", "")], strict=True)
        if part[0] in PROVED and following[0] != "proof"
    ]
    assert open_ones == ["Proposition 3, as printed"]


def test_every_figure_of_the_paper_is_drawn_once() -> None:
    found = Counter(int(n) for text in captions() for n in re.findall(r"Figure (\d+)\*{0,2} of Lee et al\.", text))
    assert found == Counter(range(1, 19))

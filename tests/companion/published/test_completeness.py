"""The script that finds printed numbers without a row, on texts made for it and on the papers where present."""

import re
from collections import Counter

import completeness
import pytest
from completeness import Text, find_numbers, rule_of, uncovered
from notebooks import ROOT

from fairpca.companion import published

PAPERS = [entry.name for entry in published.papers()]
TEXTS = ROOT.parent / "shared" / "papers"
present = pytest.mark.skipif(not TEXTS.is_dir(), reason="the papers' texts are not here")
BARE = Text(files=["a.txt"], skip={}, headings={}, tables={}, rules=[])


def left_out(line):
    """Numbers of a line, and the rule for each."""
    rules = {}
    for match in completeness.NUMBER.finditer(line):
        marked = f"{line[: match.start()]}«{match.group()}»{line[match.end() :]}"
        rules[match.group()] = rule_of(completeness.Found("", 1, frozenset(), match.group(), marked), BARE)
    return rules


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("we use 2000 faces and 20 starts", {"2000", "20"}),
        ("a gap of up to 10% at 1,764 dimensions, 3-fold", {"10", "1,764", "3"}),
        (
            "with  $\\tau = 10^{-5}$  and  $d \\in \\{2, 10\\}$ , MBF-PCA (10 <sup>-3</sup>)",
            {"10^{-5}", "2", "10", "10 <sup>-3</sup>"},
        ),
        ("1000 iterations of it, 50% each", {"1000", "50"}),
        ("accuracy $\\epsilon < 10^{-5}$ in $O(n^{6.5})$ time", {"10^{-5}", "6.5"}),
        ("divided by $\\frac{1}{255}$", {"255"}),
    ],
)
def test_numbers_that_may_be_results_are_kept(line, numbers):
    assert {number for number, why in left_out(line).items() if not why} == numbers


@pytest.mark.parametrize(
    "line",
    [
        "see Figures 5 and 6, Section 8.1, Theorem 5.2 and Lemmas 4.6, 4.7",
        "Lee et al. (2022), Samadi [2018, 2019]",
        "problem (12) and (6a) follow from (14e)",
        "  17  ",
        "## 8 Experiments",
        "- 11   the eleventh step",
        "2	4	6	8	10	12",
        "let $i = 1, \\dots, n$ and $x > 0$ with $\\|V\\|_F^2 \\leq 1$",
    ],
)
def test_numbers_that_are_no_results_are_left_out(line):
    assert all(left_out(line).values()), left_out(line)


def test_places_are_sections_and_captions(tmp_path):
    (tmp_path / "a.txt").write_text("2.1 Data\nwe have 40 rows\nFigure 3: the 7 points\n\nB Proofs\nand 9 more\n")
    found = {number.number: set(number.places) for number in find_numbers(BARE, tmp_path)}
    assert found["40"] == {"§2", "§2.1"} and found["7"] == {"§2", "§2.1", "figure 3"} and found["9"] == {"§B"}


def test_places_of_claims_are_read_from_words():
    places = completeness._places("Section 8.2, Figures 2 and 3; supplement C.1; Corollary A.3, proof; introduction")
    assert places == {"§8.2", "figure 2", "figure 3", "§C.1", "corollary A.3", "§1"}


@present
@pytest.mark.parametrize("paper", PAPERS)
def test_every_printed_number_has_a_row(paper):
    left = uncovered(paper, TEXTS)
    assert not left, [f"{found.file}:{found.line} {found.marked}" for found in left]


@present
@pytest.mark.parametrize("paper", PAPERS)
def test_a_row_that_is_taken_away_is_missed(paper, monkeypatch):
    """Without its rows no paper is complete, and without one table all its numbers are missed."""
    with monkeypatch.context() as patch:
        patch.setattr(completeness, "_said", lambda name: [])
        bare = uncovered(paper, TEXTS)
    assert len(bare) >= 10
    kept = completeness._table_numbers
    for exhibit in completeness.read_text(paper).tables:
        with monkeypatch.context() as patch:
            patch.setattr(
                completeness, "_table_numbers", lambda p, e, out=exhibit: Counter() if e == out else kept(p, e)
            )
            missed = [found for found in uncovered(paper, TEXTS) if found.table == exhibit]
        decimal = sum(count for number, count in kept(paper, exhibit).items() if "." in number)
        # Some numbers, such as 0.01, are settings of the same table too.
        assert sum("." in found.number for found in missed) >= 0.9 * decimal


@present
@pytest.mark.parametrize("paper", PAPERS)
def test_a_number_that_is_added_to_the_text_is_found(paper, tmp_path):
    for name in completeness.read_text(paper).files:
        (tmp_path / name).write_text((TEXTS / name).read_text(encoding="utf8") + "\n\nwe find 73.31 % of 643 rows\n")
    found = [number.number for number in uncovered(paper, tmp_path)]
    assert found == ["73.31", "643"] * len(completeness.read_text(paper).files)


@present
@pytest.mark.parametrize("paper", PAPERS)
def test_rules_of_a_paper_leave_something_out_and_no_decimal(paper):
    text = completeness.read_text(paper)
    used = {rule["why"]: [] for rule in text.rules}
    for found in find_numbers(text, TEXTS):
        if (why := rule_of(found, text)) in used:
            used[why].append(found.number)
    for why, numbers in used.items():
        assert numbers, f"{why!r} leaves nothing out"
        assert not [number for number in numbers if re.search(r"\d\.\d", number)], why

"""The script that finds printed numbers without a row, on texts made for it and on the papers where present."""

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
    used = Counter()
    left = uncovered(paper, TEXTS, used)
    assert not left, [f"{found.file}:{found.line} {found.marked}" for found in left]
    assert {rule["why"] for rule in completeness.read_text(paper).rules} <= set(used)


@present
@pytest.mark.parametrize("paper", PAPERS)
def test_rows_that_are_taken_away_and_numbers_that_are_added_are_missed(paper, monkeypatch, tmp_path):
    files = completeness.read_text(paper).files
    for name in files:
        (tmp_path / name).write_text((TEXTS / name).read_text(encoding="utf8") + "\n\nwe find 73.31 % of 643 rows\n")
    assert [found.number for found in uncovered(paper, tmp_path, Counter())] == ["73.31", "643"] * len(files)
    monkeypatch.setattr(completeness, "_said", lambda name: [])
    assert len(uncovered(paper, TEXTS, Counter())) >= 10
    monkeypatch.setattr(completeness, "_table_numbers", lambda paper, exhibit: Counter())
    missed = Counter(found.table for found in uncovered(paper, TEXTS, Counter()) if "." in found.number)
    for exhibit in completeness.read_text(paper).tables:
        printed = published.load(paper, exhibit)
        assert missed[exhibit] >= 0.9 * (printed["decimals"] > 0).sum()

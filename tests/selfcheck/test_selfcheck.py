"""The standing attack finds nothing, and would find something if there were something."""

import os
import re
import warnings

import numpy as np
import pytest

from fairpca import selfcheck
from fairpca.cli import main
from fairpca.selfcheck import Finding, _run, check_case, families, run


def test_a_few_seconds_find_nothing(capsys):
    seed = int(os.environ.get("FAIRPCA_SELFCHECK_SEED") or np.random.SeedSequence().entropy % 10**6)
    with capsys.disabled():
        print(f"\nfairpca selfcheck --seed {seed}")
    tallies = run(5.0, seed)
    assert {tally.family for tally in tallies} == set(families())
    assert all(tally.cases > 0 for tally in tallies)
    wrong = {(t.family, number): texts for t in tallies for number, texts in t.violations.items()}
    assert not wrong, f"seed {seed}: {wrong}"


@pytest.mark.parametrize(
    ("family", "seed", "number"),
    [
        ("MBFPCA, in the plane", 101, 17),
        ("MeanFairPCA", 101, 78),
        ("LinearEraser", 101, 88),
        ("min-max, multiplicative weights", 22001, 57),  # a group without variance
        ("min-max, multiplicative weights", 22001, 1787),  # a trace above d by the tolerance of a linear programme
        ("degenerate data", 22001, 376),  # nested, Nash welfare, nothing varies
        ("degenerate data", 22002, 2),  # distances of 1e11 bandwidths
        ("degenerate data", 22001, 1743),
        ("min-max, multiplicative weights", 51002, 324),  # a linear programme that HiGHS gives up
        ("min-max, multiplicative weights", 51002, 4451),
        ("min-max against CVXPY", 51002, 2076),  # a group without directions decides
        ("min-max, three to twelve groups", 71002, 1012),  # a large group of which only a small plane matters
        ("min-max, two groups", 51001, 994),  # three eigenvalues that nearly cross
    ],
)
def test_what_was_wrong_once_is_right(family, seed, number):
    assert not [found for found in check_case(family, families()[family], seed, number) if found.wrong]


@pytest.fixture
def broken(monkeypatch):
    """Put families in the place of ours: one that lies sometimes, one that raises, one whose number is none."""

    def sometimes(rng):
        yield Finding("off", float(rng.integers(4)), 2.0)

    def raises(rng):
        yield Finding("fine", 0.0, 1.0)
        np.zeros(2) / np.zeros(2)

    def no_number(rng):
        yield Finding("nothing", float("nan"), 1.0)

    known = {"sometimes": sometimes, "raises": raises, "no number": no_number}
    monkeypatch.setattr(_run, "families", lambda: known)
    monkeypatch.setattr(selfcheck, "families", lambda: known)
    return known


def test_what_is_wrong_is_counted_and_can_be_drawn_again(broken):
    tallies = {tally.family: tally for tally in run(0.2, 7)}
    some = tallies["sometimes"]
    assert some.cases > 20 and 0 < len(some.violations) < some.cases and some.worst == 3.0
    for number in range(some.cases):
        (finding,) = check_case("sometimes", broken["sometimes"], 7, number)
        assert finding.wrong == (number in some.violations)
    assert len(tallies["raises"].violations) == tallies["raises"].cases
    assert re.match(r"RuntimeWarning at test_selfcheck.py:\d+: invalid value", tallies["raises"].violations[0][0])
    assert len(tallies["no number"].violations) == tallies["no number"].cases
    assert not [f for f in check_case("raises", broken["sometimes"], 7, 0) if f.what == "nothing"]


def test_a_case_without_an_end_is_a_finding(monkeypatch):
    def endless(rng):
        while True:
            rng.random()

    monkeypatch.setattr(_run, "_LONGEST", 0.05)
    (finding,) = check_case("endless", endless, 7, 0)
    assert finding.wrong and re.match(r"TimeoutError at .*: no end after 0.05 s", finding.what)
    with _run._ended_after(0.05):
        pass
    for _ in range(200_000):  # the clock has stopped
        pass


def test_the_command_says_how_to_see_a_violation_again(broken, capsys):
    assert main(["selfcheck", "--minutes", "0.002", "--seed", "7"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("seed 7\nfamily ")
    again = re.search(r"violation: fairpca (selfcheck --seed 7 --family 'sometimes' --case \d+)\n  off: 3", said)
    assert main(again[1].replace("'", "").split()) == 1
    assert "VIOLATION off: 3, allowed 2" in capsys.readouterr().out


def test_the_command_ends_well_where_nothing_is_wrong(capsys):
    assert main(["selfcheck", "--minutes", "0.001", "--seed", "1", "--family", "PCA"]) == 0
    assert re.search(r"^PCA +\d+ +\d+ +\d\.\de-\d\d +\d\.\d s +0$", capsys.readouterr().out, re.MULTILINE)
    assert main(["selfcheck", "--seed", "1", "--family", "PCA", "--case", "3"]) == 0
    assert "explained variances: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--minutes", "0"], "give a number larger than 0"),
        (["--minutes", "nan"], "give a number larger than 0"),
        (["--seed", "-1"], "give 0 or more"),
        (["--case", "1"], "--case needs"),
        (["--case", "1", "--seed", "1", "--family", "PCA", "--family", "frontier"], "--case needs"),
        (["--family", "nobody"], "there is no family 'nobody'; known are PCA, "),
        (["--family", "nobody", "--seed", "1", "--case", "1"], "there is no family 'nobody'; known are PCA, "),
    ],
)
def test_wrong_options_are_told(arguments, said, capsys):
    assert main(["selfcheck", *arguments]) == 1
    assert said in capsys.readouterr().err


def test_warnings_of_the_estimators_are_no_findings():
    def warns(rng):
        warnings.warn("a group has one row", UserWarning, stacklevel=1)
        yield Finding("fine", 0.0, 1.0)

    assert check_case("warns", warns, 0, 0) == [Finding("fine", 0.0, 1.0)]

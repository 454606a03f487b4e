"""Settings: every stated one has an answer, and no answer would pass for another statement."""

import re

import pytest

from fairpca import published
from fairpca.datasets._catalog import CATALOG
from fairpca.experiments.engine.runner import load_results, names
from fairpca.experiments.engine.statements import COMPARED, judge_settings, lists, numbers

STATED = [paper for paper in published.papers() if len(published.load_settings(paper.name))]
PAPERS = [paper.name for paper in STATED]
# With the data sets of each paper that are not bundled.
WITH_DATA = [
    pytest.param(
        paper.name,
        marks=pytest.mark.mirror(
            *(name for name, entry in CATALOG.items() if entry.paper.startswith(paper.short) and not entry.bundled)
        ),
    )
    for paper in STATED
]


def _compared(paper):
    names()  # imports all experiments, which register
    return COMPARED.get(paper, {})


def _stated(paper):
    return {row["id"]: row for row in published.load_settings(paper).to_dict("records")}


@pytest.fixture(scope="module")
def board():
    return published.scoreboard()


def test_numbers_are_read_from_texts():
    assert numbers("N(0, 0.1 I + 11') and 1e-5, −2 or 3.; p_0 stays") == (0, 0.1, 11, 1e-5, -2, 3)
    assert lists("a in {0., 0.5} and b in {1e-3}, not {x}") == [(0, 0.5), (1e-3,), ()]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_stated_setting_is_compared_or_declared_open(paper, board):
    compared = _compared(paper)
    settings = board[(board["paper"] == paper) & (board["kind"] == "setting")].set_index("id")
    assert set(compared) <= set(_stated(paper)) == set(settings.index)
    others = settings.loc[sorted(set(_stated(paper)) - set(compared))]  # a page compares them, or they are open
    assert (others["reason"].ne("") | others["verdict"].ne("not yet")).all()


@pytest.mark.parametrize("paper", WITH_DATA)
def test_another_number_in_the_statement_is_noticed(paper):
    for id, compare in _compared(paper).items():
        row = _stated(paper)[id]
        if row["value"]:
            statement, value = row["statement"], 1.5 * float(row["value"]) + 1
        else:  # one of the listed numbers is another
            statement, value = re.sub(r"\{\s*[\d.e−-]+", "{0.77", row["statement"]), float("nan")
            if statement == row["statement"]:
                continue  # it names a program, not a number
        wrong = compare(statement, value)
        assert not wrong[1], f"{paper}, {id}: {wrong[0]} passes for another number"


@pytest.mark.parametrize("paper", WITH_DATA)
def test_stored_comparisons_are_current(paper):
    """Those that no page judges yet."""
    if _compared(paper):
        stored = load_results(f"{paper}/settings").table.set_index("id")["verdict"]
        for found in judge_settings(paper, _compared(paper)):
            assert found.verdict == stored[found.id], found

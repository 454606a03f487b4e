"""What papers declare: every folder that is there, and errors that say what is wrong with one."""

import json
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd
import pytest
import toy_paper
from notebooks import ROOT, chapters_in_toc, title

from fairpca.companion import published
from fairpca.companion.published.comparison import KEYS, STATISTICS

PAPERS = published.papers()
NAMES = [paper.name for paper in PAPERS]


@pytest.mark.parametrize("paper", PAPERS, ids=NAMES)
def test_declaration_agrees_with_the_book(paper):
    chapters = {title(source) for source in chapters_in_toc()}
    for exhibit in paper.exhibits.values():
        assert exhibit.chapters and set(exhibit.chapters) <= chapters, exhibit
        assert exhibit.about or exhibit not in paper.tables, f"say what {exhibit.name} holds"
    if paper.cite:
        assert f"{{{paper.cite}," in (ROOT / "references.bib").read_text(encoding="utf8")
    assert set(published.load_claims(paper.name)["exhibit"]) <= set(paper.exhibits)


@pytest.mark.parametrize("paper", PAPERS, ids=NAMES)
def test_every_claim_and_erratum_is_complete(paper):
    claims, errata = published.load_claims(paper.name), published.load_errata(paper.name)
    assert (claims[["id", "exhibit", "statement", "where"]] != "").all(axis=None)
    assert pd.to_numeric(claims["value"][claims["value"] != ""]).notna().all()
    assert (errata != "").all(axis=None)


@pytest.mark.parametrize("name", published.exhibits())
def test_tables_have_unique_keys_and_printed_digits(name):
    table = published.load(*name.split("/"))
    keys = [key for key in KEYS if key in table.columns]
    assert {"metric", "protocol"} <= set(keys)
    assert not table.duplicated(keys).any()
    assert set(table["protocol"]) == {"printed"}
    for statistic in [column for column in STATISTICS if column in table.columns]:
        numbers = table[table[statistic].notna()]
        rounded = [
            round(value, int(digits)) for value, digits in zip(numbers[statistic], numbers["decimals"], strict=True)
        ]
        np.testing.assert_array_equal(numbers[statistic], rounded)


@pytest.mark.parametrize("paper", PAPERS, ids=NAMES)
def test_tolerances_say_why_and_hit_something(paper):
    for tolerance in published.load_tolerances(paper.name):
        assert tolerance.why and min(tolerance.units, tolerance.grains, tolerance.noises) >= 0
        # What is measured is measured by a result, and nothing is more than two standard deviations.
        assert bool(tolerance.derived_from) == (max(tolerance.grains, tolerance.noises) > 0)
        assert tolerance.units <= 1 and tolerance.grains <= 1 and tolerance.noises <= 2
        tables = [table.name for table in paper.tables if fnmatchcase(table.name, tolerance.exhibit)]
        assert tables, tolerance
        rows = pd.concat([published.load(paper.name, name) for name in tables])
        for column in ("dataset", "method", "metric"):
            assert any(fnmatchcase(str(value), getattr(tolerance, column)) for value in rows[column]), tolerance


# The folder of a stranger ----------------------------------------------------------------------------------------


@pytest.fixture
def toy(tmp_path, monkeypatch):
    folder = toy_paper.write(tmp_path)
    monkeypatch.setattr("fairpca._resources._PACKAGE", tmp_path / "fairpca")
    return folder


def declare(folder, **changes):
    text = json.dumps({name: v for name, v in (toy_paper.DECLARATION | changes).items() if v is not None})
    (folder / "paper.json").write_text(text)


def test_what_a_paper_does_not_have_is_empty(toy):
    for name in ("claims", "errata", "reasons", "settings", "tolerances"):
        (toy / f"{name}.csv").unlink()
    assert published.load_claims(toy.name).empty and published.load_errata(toy.name).empty
    assert published.load_reasons(toy.name).empty and published.load_tolerances(toy.name) == []
    board = published.scoreboard()
    assert (board.loc[board["paper"] == toy.name, "kind"] == "number").all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": "red"}, "unknown colour, missing nothing; it may have short, title, order"),
        ({"order": None}, "unknown nothing, missing order"),
        ({"venue": None}, "unknown nothing, missing venue"),
        ({"exhibits": {}}, "does not declare the tables beside it: table1"),
        ({"exhibits": {"table1": {}}}, r"exhibit table1: unknown nothing, missing title"),
        ({"exhibits": {"table1": {"title": "T", "answered_by": [{}]}}}, "answered_by of table1: .* missing result"),
        ({"exhibits": {"table1": {"title": "T", "stand_ins": [{}]}}}, "stand_ins of table1: .* missing protocol, whe"),
        ({"open": [{"colour": "red", "reason": "none"}]}, "'open' of toy2030 speaks of 'colour'; columns are paper"),
    ],
)
def test_errors_say_what_a_declaration_may_have(toy, changes, message):
    declare(toy, **changes)
    with pytest.raises(ValueError, match=message):
        published.scoreboard()


def test_errors_of_files(toy):
    (toy / "errata.csv").write_text("id,kind,where,printed,found,evidence\na,slip,b,c,d,e\n")
    with pytest.raises(ValueError, match=r"kinds \['slip'\]; allowed are print, code, note"):
        published.load_errata(toy.name)
    (toy / "claims.csv").write_text("id,exhibit,statement,value,unit,where\na,b,c,,,d\na,b,c,,,d\n")
    with pytest.raises(ValueError, match="has an id twice: 'a'"):
        published.load_claims(toy.name)
    (toy / "reasons.csv").write_text("exhibit,reason\n")
    with pytest.raises(ValueError, match="lacks the columns dataset, method, setting, d, metric, statistic"):
        published.load_reasons(toy.name)
    (toy / "paper.json").write_text("{")
    with pytest.raises(ValueError, match=r"toy2030/paper\.json is not valid JSON"):
        published.papers()


def test_unknown_names_list_what_there_is():
    with pytest.raises(ValueError, match=f"Unknown paper 'nobody'; known are {', '.join(NAMES)}"):
        published.load("nobody", "table1")
    name = published.exhibits()[0]
    with pytest.raises(ValueError, match=f"no published table '{NAMES[0]}/table99'; there are .*{name}"):
        published.load(NAMES[0], "table99")

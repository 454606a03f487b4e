"""From a paper's number to the page, with the verdicts of the scoreboard."""

from __future__ import annotations

import exhibits
import pandas as pd

from fairpca.companion.published import load_places, papers
from fairpca.companion.published.finder import _about, _distance, finder, finder_table, verdict_line


def test_everything_that_papers_number_is_found(board):
    found = finder(board)
    for paper in papers():
        places = load_places(paper.name)
        rows = found[found["paper"] == paper.short]
        assert rows[["item", "chapter", "label"]].to_numpy().tolist() == places.to_numpy().tolist()
        for title in {exhibit.title for exhibit in paper.tables} & set(places["item"]):
            assert len(_about(board, paper, title)) > 0


def test_a_number_is_not_part_of_a_longer_one():
    paper = papers()[0]
    columns = {"paper": paper.name, "exhibit": "none", "kind": "claim", "verdict": "holds"}
    where = [
        "Figure 1 left",
        "Figure 10",
        "Figures 1 and 2",
        "Theorem 5.1",
        "Theorem 5.12",
        "Section 1; Figure 3",
        None,
    ]
    board = pd.DataFrame([{**columns, "where": text} for text in where])
    assert _about(board, paper, "Figure 1")["where"].tolist() == ["Figure 1 left", "Figures 1 and 2"]
    assert _about(board, paper, "Theorem 5.1")["where"].tolist() == ["Theorem 5.1"]
    assert verdict_line(board.iloc[:0]) == "shown"
    assert verdict_line(board.iloc[:0], errata=1) == "✎ corrected"
    assert verdict_line(board.iloc[:1]) == "statements: ✓ 1 holds"


def test_an_exhibit_has_the_rows_of_its_own_and_of_no_other():
    with_several = [paper for paper in papers() if len({exhibit.title for exhibit in paper.exhibits.values()}) > 1]
    assert with_several
    for paper in with_several:
        names = list(paper.exhibits)
        columns = {"paper": paper.name, "where": None, "kind": "number", "verdict": "equal"}
        board = pd.DataFrame([{**columns, "exhibit": name} for name in names])
        for name, exhibit in paper.exhibits.items():
            about = _about(board, paper, exhibit.title)["exhibit"].tolist()
            assert name in about
            assert {paper.exhibits[other].title for other in about} == {exhibit.title}


def test_the_page_links_every_row(board):
    html = finder_table(board)
    for paper in papers():
        for place in load_places(paper.name).itertuples(index=False):
            assert f'<a href="../{place.chapter}.html#{place.label}">' in html
    assert html.count("<tr>") == 1 and html.count("<tr data-words=") == html.count("data-thumbnail=")


def test_the_search_knows_papers_by_their_numbers():
    paper = papers()[0]
    place = next(load_places(paper.name).itertuples(index=False))
    entries = exhibits.index_entries(f"chapters/{place.chapter}")
    assert ("single", f"{paper.short.split()[0]} {place.item}", place.label, "main", None) in entries
    assert exhibits.index_entries("chapters/nowhere") == []


def test_distances_are_relative_to_the_print() -> None:
    board = pd.DataFrame(
        {"dataset": ["adult", "german", "compas"], "printed": [50.0, -2.0, 4.0], "ours": [51.0, -2.0, 3.0]}
    ).assign(kind="number", verdict="differs")
    assert _distance(board) == "half within 2 %, all within 25 % (the largest: compas)"
    assert _distance(board.assign(kind="claim")) == "" and _distance(board.assign(printed=0.0)) == ""

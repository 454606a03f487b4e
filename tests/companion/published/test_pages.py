"""What the book and the README show of papers."""

import re

import pandas as pd
import pytest
import readme
import toy_paper
from notebooks import ROOT

from fairpca.companion import published
from fairpca.companion.published import Exhibit
from fairpca.companion.published.pages import (
    answer,
    answers,
    by_method,
    counts_line,
    details,
    errata_list,
    filled,
    methods_line,
    places,
)


def test_scoreboard_page_shows_every_row(tmp_path):
    board = published.scoreboard(tmp_path)
    page = details(board)
    assert page.count("<tr>") == len(board) + page.count("<table")
    assert page.count("<details ") == len(board.groupby(["paper", "exhibit", "kind"]))
    # Every row leads to the page that shows it.
    assert page.count("<a href=") == len(board) == len(re.findall(r'<tr>(?:<td>[^<]*</td>)*<td><a href="\.\./', page))
    assert counts_line(board) == f"… {len(board)} not yet"
    assert "<script" not in details(board.head(3).assign(reason="<script>"))


def test_the_first_sentence_counts_printed_numbers_only():
    verdicts = {"number": ["equal", "equal", "close", "differs"], "stored": ["equal"] * 9, "claim": ["fails"]}
    paper = published.papers()[0]
    rows = [(paper.name, kind, verdict) for kind, found in verdicts.items() for verdict in found]
    board = pd.DataFrame(rows, columns=["paper", "kind", "verdict"]).assign(reason="Cause unknown.")
    assert answer(board) == (
        "Of the **4 numbers printed** in the papers' tables, **2** (50%) come out equal to the printed digits, "
        "**1** (25%) within a computed tolerance, and **1** (25%) differ, **1** of them for a cause that we do not "
        "know."
    )
    aside = pd.concat([board, board.head(1).assign(verdict="not judged")])
    assert answer(aside) == answer(board) + " Beside them 1 printed entries are not judged, for the reasons given."
    waiting = board.assign(verdict=board["verdict"].replace("close", "not yet"))
    assert answer(waiting).endswith("and **1** have no answer yet.") and "prints a number" in answer(board.tail(1))
    inferred = board.assign(verdict=board["verdict"].replace("close", "equal, inferred"))
    assert "digits, **1** (25%) too, with a setting that we inferred, **0** (0%) within" in answer(inferred)
    assert answers(board, "number").loc[paper.short].to_dict() == {
        "printed in tables": 4,
        "equal": 2,
        "close": 1,
        "differs": 1,
    }


def test_headlines_are_of_the_methods_under_study():
    """Sizes have no method, ordinary PCA is not under study, and what is not judged is not counted in the sentence."""
    vu, lee = (next(p for p in published.papers() if p.name == name) for name in ("vu2022", "lee2022"))
    found = [
        (vu.name, "rfpca", "equal"), (vu.name, "rfpca", "not judged"), (vu.name, "rfpca", "differs"),
        (vu.name, None, "equal"), (lee.name, "mbfpca", "close"), (lee.name, "pca", "equal"),
    ]  # fmt: skip
    board = pd.DataFrame(found, columns=["paper", "method", "verdict"]).assign(kind="number")
    table = by_method(board)
    assert table["method"].tolist() == ["MBF-PCA", "RFPCA"] and table["printed in tables"].tolist() == [1, 3]
    assert "RFPCA (Vu et al.) 1 equal, 0 close, 1 different of 2." in methods_line(board)
    assert by_method(board.assign(kind="stored")).empty


def test_answers_are_counted_by_paper_and_verdict():
    rows = [("vu2022", "equal"), ("vu2022", "differs"), ("lee2022", "equal")]
    table = answers(pd.DataFrame(rows, columns=["paper", "verdict"]).assign(kind="number"), "number")
    assert table.columns.tolist() == ["printed in tables", "equal", "differs"]
    assert table.to_numpy().tolist() == [[1, 1, 0], [2, 1, 1], [3, 2, 1]] and table.index[-1] == "together"


@pytest.mark.parametrize("paper", published.papers(), ids=lambda paper: paper.name)
def test_places_are_in_the_chapters_and_every_figure_and_table_has_one(paper):
    table = published.load_places(paper.name)
    assert not table.duplicated().any()
    for row in table.to_dict("records"):
        text = (ROOT / "chapters" / f"{row['chapter']}.md").read_text(encoding="utf8")
        label = re.escape(row["label"])
        assert re.search(rf"^(?::label: {label}|    name: {label}|\({label}\)=)$", text, re.MULTILINE), row
    titles = {exhibit.title for exhibit in paper.exhibits.values() if re.match(r"(?:Figure|Table) \d+$", exhibit.title)}
    assert titles <= set(table["item"])
    known = places(paper)
    for claim in published.load_claims(paper.name).to_dict("records"):
        named = re.findall(r"(?:Theorem|Lemma|Proposition|Corollary) (?:[A-Z]\.)?\d+(?:\.\d+)?", claim["where"])
        assert set(named) <= set(known), claim["id"]


@pytest.mark.parametrize("paper", published.papers(), ids=lambda paper: paper.name)
def test_every_erratum_stands_in_one_list(paper):
    errata = published.load_errata(paper.name)
    lists = [errata_list(paper, kind) for kind in ("print", "code", "note")]
    for row in errata.to_dict("records"):
        # An asterisk belongs to a letter (V*), and is no mark of emphasis.
        printed, found = (text.replace("*", r"\*") for text in (row["printed"], filled(row["found"])))
        assert "{{" not in found
        entry = f".** *Printed:* {printed}\n\n* *Found:* {found}\n"
        assert sum(entry in text for text in lists) == 1
        assert any(f"**{row['where']}.**" in text or f">{row['where']}</a>.**" in text for text in lists)
    assert sum(text.count("*Evidence:*") for text in lists) == len(errata)


@pytest.mark.parametrize(
    ("titles", "line"),
    [
        (["Figure 1"], "Figure 1"),
        (["Figure 8", "Figure 9", "Figure 10", "Figure 12"], "Figures 8–10, 12"),
        (["Table 1", "running times", "Figure 3", "Figure 2"], "running times, Table 1, Figures 2–3"),
    ],
)
def test_titles_in_one_line(titles, line):
    assert readme.exhibit_titles([Exhibit(title, title) for title in titles]) == line


def test_readme_has_the_tables_of_today():
    for path, expected in readme.texts().items():
        assert path.read_text(encoding="utf8") == expected, "run: python scripts/readme.py"
    text = readme.README.read_text(encoding="utf8")
    for paper in published.papers():
        assert f"| {paper.short}, *{paper.title}*, {paper.venue} | {paper.shares} |" in text


def test_readme_shows_an_added_paper(tmp_path, monkeypatch):
    toy_paper.write(tmp_path)
    monkeypatch.setattr("fairpca._resources._PACKAGE", tmp_path / "fairpca")
    text = readme.texts()[readme.README]
    assert "| Toy et al., *Coins*, Nowhere 2030 | the coins |" in text
    assert "| Toy et al., Table 1, Figure 1 | `chapters/toy2030/coins.md` |" in text
    with pytest.raises(ValueError, match="one part between <!-- papers --> and <!-- end -->; there are 0"):
        readme.with_parts(re.sub("<!-- papers -->", "", text), {"papers": ""})


def test_results_are_filled_into_errata():
    value = "{{lee2022/table1 dataset=compas method=pca d=2 metric=pct_var protocol=printed -> mean:.2f}}"
    assert filled(f"so {value} %") == "so 39.28 %"  # the printed number, which is equal
    assert filled("{{lee2022 fig2-size}}, really") == "240 and 240, really"
    for wrong in ("{{lee2022/table1 method=pca -> mean:.2f}}", "{{lee2022 nothing}}"):
        with pytest.raises(ValueError, match="stored rows; name one"):
            filled(wrong)

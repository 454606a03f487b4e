"""The scoreboard: nothing is left out, nothing is unanswered without a reason, and the counts are pinned."""

import json

import pandas as pd
import pin_verdicts
import pytest
import toy_paper

from fairpca._resources import data_path
from fairpca.companion import published
from fairpca.companion.published import (
    exhibits,
    load,
    load_claims,
    load_settings,
    papers,
    scoreboard,
    unanswered,
)
from fairpca.companion.published.comparison import STATISTICS

PAPERS = papers()


def total():
    numbers = 0
    for name in exhibits():
        table = load(*name.split("/"))
        statistics = [column for column in STATISTICS if column in table.columns]
        numbers += int(table[statistics].notna().sum().sum())
        numbers += int((table.get("text", pd.Series(dtype=str)) != "").sum())
    claims, settings = (sum(len(read(paper.name)) for paper in PAPERS) for read in (load_claims, load_settings))
    return numbers, claims, settings


def test_scoreboard_without_results_has_everything(tmp_path):
    board = scoreboard(tmp_path)
    numbers, claims, settings = total()
    kinds = board["kind"].value_counts()
    assert (kinds["number"] + kinds["stored"], kinds["claim"], kinds["setting"]) == (numbers, claims, settings)
    assert set(board["verdict"]) == {"not yet"}
    assert unanswered(board)["rows"].sum() == numbers + claims + settings


def test_every_published_number_and_claim_is_answered(board):
    assert list(board.columns[:3]) == ["paper", "exhibit", "kind"]
    waiting = unanswered(board)
    assert (waiting["reason"] != "").all(), (
        "no result answers these; mend answered_by in data/published/<paper>/paper.json, run and save the result, or "
        f"say in its list 'open' why there is none:\n{waiting.to_string()}"
    )


def test_every_difference_has_a_reason(board):
    assert set(board["verdict"]) <= set(published.VERDICTS)
    unexplained = board[
        board["verdict"].isin(["differs", "fails", "holds in part", "refuted", "not judged", "otherwise"])
        & (board["reason"] == "")
    ]
    shown = unexplained[["paper", "exhibit", "id", "dataset", "method", "metric", "printed_text", "ours_text"]]
    assert unexplained.empty, f"give reasons in data/published/<paper>/reasons.csv:\n{shown.to_string()}"


@pytest.mark.parametrize("paper", [paper.name for paper in PAPERS])
def test_counts_of_verdicts_are_pinned(board, paper, tmp_path):
    path = pin_verdicts.pinned_path(paper)
    assert path.is_file(), f"run: python scripts/pin_verdicts.py, which writes {path.name} of {paper}"
    expected = pd.read_csv(path)
    found = pin_verdicts.verdict_counts(paper, board)
    pd.testing.assert_frame_equal(
        found, expected, check_dtype=False, obj=f"verdicts of {paper} (if the change is meant: scripts/pin_verdicts.py)"
    )


# A paper of which we know everything -----------------------------------------------------------------------------


@pytest.fixture
def toy(tmp_path, monkeypatch):
    folder = toy_paper.write(tmp_path)
    monkeypatch.setattr("fairpca._resources._PACKAGE", tmp_path / "fairpca")
    return folder


def answer(folder, name, text):
    path = folder.parents[1] / "results" / folder.name / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


HEAD = "dataset,method,d,metric,protocol,mean,sd,n\n"


def rows(board):
    own = board[board["paper"] == toy_paper.NAME]
    return {(row.exhibit, row.dataset, row.statistic): (row.verdict, row.reason) for row in own.itertuples()}


def test_answers_are_those_that_the_paper_declares(toy):
    answer(toy, "coins", HEAD + "coins,pca,2,pct_var,printed,20.001,0.118,2\n")
    answer(toy, "table1", HEAD + "notes,pca,2,pct_var,printed,7.0,0.1,2\n")
    judged = rows(scoreboard())
    assert judged["table1", "coins", "mean"] == ("equal", "")
    assert judged["table1", "coins", "sd"] == ("close", "")
    assert judged["table1", "notes", "mean"] == ("not yet", "Nobody has the notes.")


def test_several_results_may_answer_and_rows_may_be_chosen(toy):
    packed = (
        "exhibit," + HEAD + "table1,coins,pca,2,pct_var,printed,20.0,0.12,2\ntable2,coins,pca,2,pct_var,printed,1,1,2\n"
    )
    answer(toy, "packed", packed)
    answer(toy, "notes", HEAD + "notes,pca,2,pct_var,printed,7.0,0.1,2\n")
    declaration = toy_paper.DECLARATION | {"open": []}
    answers = [{"result": "toy2030/packed", "where": {"exhibit": "table1"}}, {"result": "toy2030/notes"}]
    declaration["exhibits"] = {**declaration["exhibits"], "table1": {"title": "Table 1", "answered_by": answers}}
    (toy / "paper.json").write_text(json.dumps(declaration))
    judged = rows(scoreboard())
    assert {judged["table1", name, "mean"][0] for name in ("coins", "notes")} == {"equal"}
    answers[0]["where"] = {"colour": "red"}
    (toy / "paper.json").write_text(json.dumps(declaration))
    with pytest.raises(ValueError, match="toy2030/packed has no column 'colour', by which table1 chooses rows"):
        scoreboard()
    # Without a declaration the result of the same name answers.
    del declaration["exhibits"]["table1"]["answered_by"]
    (toy / "paper.json").write_text(json.dumps(declaration))
    answer(toy, "table1", HEAD + "coins,pca,2,pct_var,printed,3.0,0.12,2\n")
    assert rows(scoreboard())["table1", "coins", "mean"][0] == "differs"


def test_where_the_protocol_is_unpublished_another_stands_in(toy):
    declaration = json.loads(json.dumps(toy_paper.DECLARATION))
    stated = HEAD + "coins,pca,2,pct_var,stated,20.0,0.12,2\nnotes,pca,2,pct_var,stated,7.0,0.1,2\n"
    answer(toy, "coins", stated)
    assert rows(scoreboard())["table1", "coins", "mean"][0] == "not yet"
    stand_in = {"where": {"dataset": "coins"}, "protocol": "stated", "why": "No program was published."}
    declaration["exhibits"]["table1"]["stand_ins"] = [stand_in]
    (toy / "paper.json").write_text(json.dumps(declaration))
    judged = rows(scoreboard())
    assert judged["table1", "coins", "mean"][0] == "not judged", "a number by another protocol says nothing of print"
    assert judged["table1", "notes", "mean"][0] == "not yet", "it stands in for the declared rows only"
    answer(toy, "coins", stated + "coins,pca,2,pct_var,printed,21.0,0.12,2\n")
    assert rows(scoreboard())["table1", "coins", "mean"][0] == "differs", "the printed protocol goes first"


def test_what_the_paper_declares_as_not_judged_has_no_verdict(toy):
    declaration = json.loads(json.dumps(toy_paper.DECLARATION))
    declaration["exhibits"]["table1"]["not_judged"] = {"pct_var": "Another mint."}
    (toy / "paper.json").write_text(json.dumps(declaration))
    # Neither agreement nor difference counts; what has no answer is still missing.
    answer(toy, "coins", HEAD + "coins,pca,2,pct_var,printed,20.0,99,2\n")
    judged = rows(scoreboard())
    assert judged["table1", "coins", "mean"] == judged["table1", "coins", "sd"] == ("not judged", "Another mint.")
    assert judged["table1", "notes", "mean"][0] == "not yet"
    declaration["exhibits"]["table1"]["not_judged"] = {"seconds": "Another clock."}
    (toy / "paper.json").write_text(json.dumps(declaration))
    assert rows(scoreboard())["table1", "coins", "sd"][0] == "differs"


def test_claims_are_judged_by_results_of_that_name(toy):
    answer(toy, "statements", "id,ours,verdict,reason\nmost,None,fails,less\n")
    own = scoreboard().query("paper == @toy_paper.NAME and kind == 'claim'").iloc[0]
    assert own[["id", "ours_text", "verdict", "reason", "printed_text"]].tolist() == [
        "most",
        "None",
        "fails",
        "less",
        "15 %",
    ]
    answer(toy, "statements", "id,ours,verdict,reason\nnobody-said-this,,holds,\n")
    with pytest.raises(ValueError, match="not published: nobody-said-this"):
        scoreboard()
    answer(toy, "statements", "id,ours,verdict,reason\nmost,,true,\n")
    with pytest.raises(
        ValueError, match="allowed are holds, holds in part, fails, proved, not refuted, refuted, corrected"
    ):
        scoreboard()


def test_what_is_open_needs_a_declared_reason(toy):
    waiting = unanswered(scoreboard()).query("paper == @toy_paper.NAME")
    assert waiting[["exhibit", "kind", "reason", "rows"]].to_numpy().tolist() == [
        ["table1", "number", "", 2],
        ["table1", "number", "Nobody has the notes.", 1],
        ["fig1", "claim", "", 1],
        ["table1", "setting", "", 1],
    ]


@pytest.mark.parametrize("paper", [paper.name for paper in PAPERS])
def test_theorems_are_proved_or_corrected_by_a_page(paper):
    judged = pd.read_csv(data_path("results") / paper / "statements.csv").set_index("id")["verdict"]
    assert set(judged.index) <= {*load_claims(paper)["id"], *load_settings(paper)["id"]}
    theorems = judged[judged.index.str.match(r"(thm|lemma|prop)[AB\d]")]
    assert len(theorems) and set(theorems) <= {"proved", "corrected", "not refuted"}, "runs prove no theorem"

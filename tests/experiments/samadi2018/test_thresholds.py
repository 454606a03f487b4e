"""What decides a verdict: tables on both sides of a threshold are judged differently."""

from types import SimpleNamespace

import pytest

from fairpca.experiments.engine.runner import load_results
from fairpca.experiments.samadi2018 import claims


def verdict(judged, id):
    return next(entry.verdict for entry in judged if entry.id == id)


@pytest.mark.parametrize(("share", "expected"), [(0.95, "holds"), (0.85, "holds in part"), (-0.1, "fails")])
def test_the_gap_of_the_whole_set_is_still_there(monkeypatch, share, expected):
    table = load_results("samadi2018/fig1").table.copy()
    table = table[table["protocol"] == "stated"]
    rows = table[(table["metric"] == "gap_percent") & (table["d"] == 20)].set_index("setting")["mean"]
    balanced = (table["metric"] == "gap_percent") & (table["setting"] == "balanced") & (table["d"] == 20)
    table.loc[balanced, "mean"] = share * rows["whole"]
    monkeypatch.setattr(claims, "load_results", lambda name: SimpleNamespace(table=table))
    assert verdict(claims._figure_1("stated"), "fig1-gap-balanced") == expected


@pytest.mark.parametrize(("times", "expected"), [(2.1, "holds"), (1.9, "fails")])
def test_much_higher_is_twice_as_high_everywhere(monkeypatch, times, expected):
    table = load_results("samadi2018/fig3_fig4").table.copy()
    of_pca = (table["dataset"] == "lfw") & (table["method"] == "pca") & (table["protocol"] == "stated")
    of_pca &= table["setting"] != "22 columns"
    women, men = (of_pca & (table["metric"] == f"loss_{group}") for group in ("female", "male"))
    dimension = table.loc[men, "d"].iloc[3]
    loss = float(table.loc[men & (table["d"] == dimension), "value"].iloc[0])
    table.loc[women & (table["d"] == dimension), "value"] = times * loss
    monkeypatch.setattr(claims, "load_results", lambda name: SimpleNamespace(table=table))
    assert verdict(claims._figures_3_and_4("stated"), "fig4-pca-female") == expected


@pytest.mark.parametrize(
    ("rows", "columns", "expected"), [(42, 42, "holds"), (49, 36, "fails"), (36, 42, "fails"), (42, 36, "fails")]
)
def test_images_of_42_by_42_have_as_many_rows_and_columns(monkeypatch, rows, columns, expected):
    theory = load_results("samadi2018/theory").table.copy()
    of_shape = theory["method"] == "image shape"
    for name, size in (("rows", rows), ("columns", columns)):
        theory.loc[of_shape & (theory["metric"] == name), "value"] = size
    tables = {"samadi2018/theory": theory, "samadi2018/fig3_fig4": load_results("samadi2018/fig3_fig4").table}
    monkeypatch.setattr(claims, "load_results", lambda name: SimpleNamespace(table=tables[name]))
    assert verdict(claims._data(), "lfw-shape") == expected


def test_the_text_judges_and_other_readings_stand_beside_it():
    found = {"text": True, "stated": True, "printed": False}

    def judge_by(protocol):
        yield claims.judge("id", f"as {protocol}", found[protocol], reason="Not so.")

    (by_text,) = claims._in_every_reading(judge_by, found)
    assert by_text.verdict == "holds" and by_text.ours.startswith("as text (one common mean")
    assert by_text.reason == "Another reading gives another verdict (as published, fails: as printed)."
    (by_script,) = claims._in_every_reading(judge_by, ("printed", "text"))
    assert by_script.verdict == "fails" and "holds: as text" in by_script.reason
    (same,) = claims._in_every_reading(judge_by, ("text", "stated"))
    assert same.reason == ""

"""Published numbers: spot checks against the papers, the comparison and its verdicts, the scoreboard."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairpca import _comparison, published
from fairpca.published import Tolerance, compare, counts, exhibits, load, load_claims, scoreboard

# Read by eye in the papers, independently of the files.
LEE_TABLE1 = [
    ("compas", "pca", "", 2, "pct_var", 39.28, 5.17),
    ("compas", "fpca", "delta=0.1", 2, "pct_var", 35.06, 5.16),
    ("german", "fpca", "delta=0", 2, "mmd2", 0.015, 0.010),
    ("adult", "mbfpca", "tau=1e-3", 2, "pct_acc", 79.50, 1.22),
    ("compas", "mbfpca", "tau=1e-6", 2, "pct_var", 11.83, 3.59),
    ("adult", "mbfpca", "tau=1e-6", 2, "delta_dp", 0.01, 0.01),
    ("compas", "pca", "", 10, "pct_var", 100.00, 0.00),
    ("german", "fpca", "delta=0", 10, "pct_var", 29.79, 0.89),
    ("adult", "fpca", "delta=0.1", 10, "mmd2", 0.006, 0.003),
    ("german", "mbfpca", "tau=1e-3", 10, "pct_var", 34.10, 1.00),
    ("adult", "mbfpca", "tau=1e-6", 10, "pct_var", 15.49, 6.44),
    ("german", "mbfpca", "tau=1e-6", 10, "delta_dp", 0.06, 0.05),
]
VU = {
    "table1": [
        ("default_credit", "rfpca", "abdiff", 0.9483),
        ("biodeg", "cfpca_both", "are", 50.7090),
        ("german_credit", "fairpca", "abdiff", 1.3670),
        ("parkinsons", "cfpca_mean", "abdiff", 3.3804),
        ("wine_quality", "rfpca", "are", 4.2801),
        ("lfw_24x24", "fairpca", "are", 7.6361),
    ],
    "table3": [
        ("default_credit", "cfpca_mean", "are", 10.5164),
        ("energy", "rfpca", "abdiff", 0.0094),
        ("statlog", "cfpca_both", "abdiff", 13.0725),
        ("lfw_24x24", "rfpca", "abdiff", 0.4147),
    ],
    "table4": [
        ("default_credit", "fairpca", "delta_f_lin", 0.2236),
        ("parkinsons", "cfpca_mean", "delta_f_lin", 0.1805),
        ("wine_quality", "cfpca_both", "delta_f_lin", 0.0817),
    ],
}


@pytest.mark.parametrize("row", LEE_TABLE1)
def test_lee_table1_is_as_printed(row):
    dataset, method, setting, d, metric, mean, sd = row
    table = load("lee2022", "table1")
    chosen = table.query("dataset == @dataset and method == @method and setting == @setting and d == @d")
    chosen = chosen[chosen["metric"] == metric]
    assert chosen[["mean", "sd"]].to_numpy().tolist() == [[mean, sd]]


@pytest.mark.parametrize("exhibit", VU)
def test_vu_tables_are_as_printed(exhibit):
    table = load("vu2022", exhibit).set_index(["dataset", "method", "metric"])["value"]
    for dataset, method, metric, value in VU[exhibit]:
        assert table[dataset, method, metric] == value


def test_vu_table2_is_as_printed():
    table = load("vu2022", "table2").pivot_table(index="dataset", columns="metric", values="value")
    assert table.loc["taiwan_credit"].to_dict() == {"n_samples": 29623, "n_features": 22}
    assert table.loc["lfw_24x24"].to_dict() == {"n_samples": 4000, "n_features": 576}
    assert len(table) == 15


def test_tables_are_complete():
    assert len(load("lee2022", "table1")) == 2 * 3 * 5 * 4
    for exhibit, metrics in (("table1", 2), ("table3", 2)):
        table = load("vu2022", exhibit)
        assert len(table) == 15 * 4 * metrics
        assert (table["text"] == "fail to converge").sum() == 4
        assert table["value"].notna().sum() == 15 * 4 * metrics - 4
    assert len(load("vu2022", "table4")) == 14 * 4


@pytest.mark.parametrize("name", exhibits())
def test_tables_have_unique_keys_and_printed_digits(name):
    table = load(*name.split("/"))
    keys = [key for key in _comparison.KEYS if key in table.columns]
    assert {"metric", "protocol"} <= set(keys)
    assert not table.duplicated(keys).any()
    assert set(table["protocol"]) == {"printed"}
    for statistic in [column for column in _comparison.STATISTICS if column in table.columns]:
        numbers = table[table[statistic].notna()]
        rounded = [
            round(value, int(digits)) for value, digits in zip(numbers[statistic], numbers["decimals"], strict=True)
        ]
        np.testing.assert_array_equal(numbers[statistic], rounded)


def test_claims_are_complete_and_consistent():
    where = {paper: " ".join(load_claims(paper)["where"]) for paper in published.PAPERS}
    wanted = {"samadi2018": range(1, 5), "lee2022": range(1, 19), "vu2022": range(1, 17)}
    for paper, figures in wanted.items():
        claims = load_claims(paper)
        assert (claims[["id", "exhibit", "statement", "where"]] != "").all(axis=None)
        for figure in figures:
            assert f"fig{figure}" in set(claims["exhibit"]), (paper, figure)
            assert f"Figure {figure}" in where[paper], (paper, figure)
        numbers = claims["value"][claims["value"] != ""]
        assert pd.to_numeric(numbers).notna().all()


# Verdicts ----------------------------------------------------------------------------------------------------------

TOLERANCE = (
    Tolerance("x/t", "*", "*", "var", "mean", 0.05, 0.0, "test"),
    Tolerance("x/*", "b", "*", "*", "*", 0, 0.1, ""),
)


def printed(**columns):
    base = {"dataset": ["a"], "d": [2], "metric": ["var"], "protocol": ["printed"], "mean": [1.23], "decimals": [2]}
    return pd.DataFrame({**base, **columns})


def ours(value, **columns):
    base = {"dataset": ["a"], "d": [2], "metric": ["var"], "protocol": ["printed"], "mean": [value], "n": [10]}
    return pd.DataFrame({**base, **columns})


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (1.23, "equal"),
        (1.2349, "equal"),
        (1.235, "equal"),
        (1.2351, "close"),
        (1.28, "close"),
        (1.2801, "differs"),
        (1.1799, "differs"),
        (np.nan, "not yet"),
    ],
)
def test_verdicts(value, verdict):
    row = compare(ours(value), printed(), TOLERANCE, exhibit="x/t").iloc[0]
    assert row["verdict"] == verdict
    if verdict != "not yet":
        assert row["difference"] == pytest.approx(value - 1.23) and row["tolerance"] == 0.05


@given(st.integers(-10_000, 10_000), st.integers(0, 4), st.floats(-0.4999, 0.4999))
def test_equal_means_equal_after_rounding(digits, decimals, fraction):
    number = digits / 10**decimals
    value = (digits + fraction) / 10**decimals
    row = compare(ours(value), printed(mean=[number], decimals=[decimals]), ()).iloc[0]
    assert row["verdict"] == "equal" and round(value, decimals) == round(number, decimals)
    far = compare(ours((digits + 0.51) / 10**decimals), printed(mean=[number], decimals=[decimals]), ()).iloc[0]
    assert far["verdict"] == "differs"


def test_nothing_is_left_out():
    table = pd.concat([printed(), printed(dataset=["b"]), printed(d=[3])], ignore_index=True).assign(sd=[0.1, 0.2, 0.3])
    judged = compare(ours(1.23, sd=[0.1]), table, ())
    assert len(judged) == 6
    assert judged["verdict"].value_counts().to_dict() == {"equal": 2, "not yet": 4}
    assert (compare(None, table, ())["verdict"] == "not yet").all()


def test_tolerance_may_be_relative_and_first_match_counts():
    table = printed(dataset=["b"], mean=[100.0])
    assert compare(ours(109.0, dataset=["b"]), table, TOLERANCE, exhibit="x/u").iloc[0]["verdict"] == "close"
    assert compare(ours(109.0, dataset=["b"]), table, TOLERANCE, exhibit="x/t").iloc[0]["verdict"] == "differs"


def test_protocols_are_not_mixed():
    assert compare(ours(1.23, protocol=["stated"]), printed(), ()).iloc[0]["verdict"] == "not yet"


def test_where_the_protocol_is_unpublished_the_stated_one_answers_and_the_reason_says_how_far():
    faces = {"dataset": ["lfw_24x24"], "method": ["rfpca"]}
    reasons = pd.DataFrame(
        [["*", "lfw_24x24", "*", "*", "*", "*", "*", "{away:.1f} of {spread:.2f}"]],
        columns=["exhibit", "dataset", "method", "setting", "d", "metric", "statistic", "reason"],
    )
    row, stated = printed(**faces), ours(1.28, sd=[0.1], protocol=["stated"], **faces)
    judged = compare(stated, row, exhibit="vu2022/table1", reasons=reasons).iloc[0]
    assert (judged["verdict"], judged["reason"]) == ("differs", "0.5 of 0.10")
    assert compare(stated, row, exhibit="vu2022/table4").iloc[0]["verdict"] == "not yet"
    both = pd.concat([stated, ours(1.23, sd=[0.1], **faces)], ignore_index=True)
    assert compare(both, row, exhibit="vu2022/table1").iloc[0]["ours"] == 1.23


def test_words_instead_of_a_number():
    table = printed(mean=[np.nan], text=["fail to converge"])
    assert compare(None, table, ()).iloc[0]["verdict"] == "not yet"
    assert compare(ours(np.nan), table, ()).iloc[0]["verdict"] == "equal"
    assert compare(ours(3.0), table, ()).iloc[0]["verdict"] == "differs"


def test_value_and_mean_meet():
    table = printed().rename(columns={"mean": "value"})
    assert compare(ours(1.23), table, ()).iloc[0]["verdict"] == "equal"
    assert compare(ours(1.23).rename(columns={"mean": "value"}), printed(), ()).iloc[0]["verdict"] == "equal"


def test_settings_may_be_empty_or_missing():
    table = printed(setting=[""])
    assert compare(ours(1.23, setting=[np.nan]), table, ()).iloc[0]["verdict"] == "equal"


def test_reasons_are_found_by_pattern():
    reasons = pd.DataFrame(
        [["t", "b*", "*", "*", "*", "*", "*", "wrong"], ["*", "a", "*", "*", "2", "var", "mean", "right"]],
        columns=["exhibit", "dataset", "method", "setting", "d", "metric", "statistic", "reason"],
    )
    assert compare(ours(9.0), printed(), (), exhibit="x/t", reasons=reasons).iloc[0]["reason"] == "right"
    assert compare(ours(1.23), printed(), (), exhibit="x/t", reasons=reasons).iloc[0]["reason"] == ""


def test_errors_of_compare():
    with pytest.raises(ValueError, match="no column 'dataset'"):
        compare(ours(1.0).drop(columns="dataset"), printed(), ())
    with pytest.raises(ValueError, match="a number twice"):
        compare(pd.concat([ours(1.0), ours(2.0)]), printed(), ())
    with pytest.raises(ValueError, match="Unknown paper 'nobody'; known are samadi2018"):
        load("nobody", "table1")
    with pytest.raises(ValueError, match=r"no published table 'vu2022/table9'; there are .*vu2022/table1"):
        load("vu2022", "table9")


# Scoreboard --------------------------------------------------------------------------------------------------------


def total():
    numbers = 0
    for name in exhibits():
        table = load(*name.split("/"))
        statistics = [column for column in _comparison.STATISTICS if column in table.columns]
        numbers += int(table[statistics].notna().sum().sum())
        numbers += int((table.get("text", pd.Series(dtype=str)) != "").sum())
    return numbers, sum(len(load_claims(paper)) for paper in published.PAPERS)


def test_scoreboard_without_results_has_everything(tmp_path):
    board = scoreboard(tmp_path)
    numbers, claims = total()
    assert (board["kind"] != "claim").sum() == numbers and (board["kind"] == "claim").sum() == claims
    assert set(board["verdict"]) == {"not yet"}
    table = counts(board)
    assert table["total"].sum() == table["not yet"].sum() == numbers + claims


def test_scoreboard_with_results(tmp_path):
    folder = tmp_path / "vu2022"
    folder.mkdir()
    table = load("vu2022", "table1").dropna(subset="value")
    table["mean"] = table["value"] + np.where(table["dataset"] == "magic", 1.0, 0.0)
    table[["dataset", "method", "d", "metric", "protocol", "mean"]].assign(sd=1.0, n=10).to_csv(
        folder / "table1.csv", index=False
    )
    claims = 'id,ours,verdict,reason\ntext-abdiff-wins,10,fails,"ten, not eleven"\nfig1-spectrum,,holds,\n'
    (folder / "claims.csv").write_text(claims)
    board = scoreboard(tmp_path)
    part = board[(board["paper"] == "vu2022") & (board["exhibit"] == "table1") & (board["kind"] == "number")]
    assert part["verdict"].value_counts().to_dict() == {"equal": 108, "differs": 8, "not yet": 4}
    judged = board[board["kind"] == "claim"].set_index("id")
    assert judged.loc["text-abdiff-wins", ["ours_text", "verdict", "reason"]].tolist() == [
        "10",
        "fails",
        "ten, not eleven",
    ]
    assert judged.loc["fig1-spectrum", "verdict"] == "holds"
    table = counts(board, by=["paper", "exhibit"])
    assert table.loc[("vu2022", "table1"), "equal"] == 108

    (folder / "claims.csv").write_text("id,ours,verdict,reason\nnobody-said-this,,holds,\n")
    with pytest.raises(ValueError, match="not published: nobody-said-this"):
        scoreboard(tmp_path)
    (folder / "claims.csv").write_text("id,ours,verdict,reason\nfig1-spectrum,,true,\n")
    with pytest.raises(ValueError, match="allowed are holds, holds in part, fails"):
        scoreboard(tmp_path)


def test_today_s_scoreboard_gives_reasons():
    board = scoreboard()
    assert set(board["verdict"]) <= set(published.VERDICTS)
    unexplained = board[board["verdict"].isin(["differs", "fails", "holds in part"]) & (board["reason"] == "")]
    shown = unexplained[["paper", "exhibit", "id", "dataset", "method", "metric", "printed_text", "ours_text"]]
    assert unexplained.empty, f"give reasons in data/published/<paper>/reasons.csv:\n{shown.to_string()}"


def test_tolerances_say_why_and_hit_something():
    names = exhibits()
    from fnmatch import fnmatchcase

    for tolerance in published.TOLERANCES:
        assert tolerance.why
        matching = [name for name in names if fnmatchcase(name, tolerance.exhibit)]
        assert matching, tolerance
        rows = pd.concat([load(*name.split("/")) for name in matching])
        assert any(fnmatchcase(str(method), tolerance.method) for method in rows["method"]), tolerance
        assert any(fnmatchcase(str(dataset), tolerance.dataset) for dataset in rows["dataset"]), tolerance


def test_scoreboard_page_shows_every_row(tmp_path):
    from fairpca._scoreboard import counts_line, details

    board = scoreboard(tmp_path)
    page = details(board)
    assert page.count("<tr>") == len(board) + page.count("<table")
    assert page.count("<details ") == len(board.groupby(["exhibit", "kind"]))
    assert counts_line(board) == f"… {len(board)} not yet"
    assert "<script" not in details(board.head(3).assign(reason="<script>"))

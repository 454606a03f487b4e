"""What Lee et al. print: spot checks of the files, read by eye in the paper."""

import pytest

from fairpca.companion.published import load, load_claims
from fairpca.companion.published.pages import filled

TABLE1 = [
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


@pytest.mark.parametrize("row", TABLE1)
def test_table1_is_as_printed(row):
    dataset, method, setting, d, metric, mean, sd = row
    table = load("lee2022", "table1")
    chosen = table.query("dataset == @dataset and method == @method and setting == @setting and d == @d")
    chosen = chosen[chosen["metric"] == metric]
    assert chosen[["mean", "sd"]].to_numpy().tolist() == [[mean, sd]]


def test_table_is_complete():
    assert len(load("lee2022", "table1")) == 2 * 3 * 5 * 4


def test_claims_are_about_the_figures_of_which_the_text_says_something():
    claims = load_claims("lee2022")
    where = " ".join(claims["where"])
    figures = {int(exhibit[3:]) for exhibit in claims["exhibit"] if exhibit.startswith("fig")}
    assert figures == set(range(1, 7))
    for figure in figures:
        assert f"Figure {figure}" in where, figure


def test_bold_marks_are_as_printed():
    table = load("lee2022", "table1")
    bold = table[table["bold"] == 1]
    assert len(bold) == 33 and "pca" not in set(bold["method"])
    # German, d = 10: three methods share the best accuracy, and all three are bold.
    tied = bold.query("dataset == 'german' and d == 10 and metric == 'pct_acc'")
    assert sorted(tied["setting"]) == ["delta=0", "delta=0.1", "tau=1e-3"]


def test_results_are_filled_into_errata():
    value = "{{lee2022/table1 dataset=compas method=pca d=2 metric=pct_var protocol=printed -> mean:.2f}}"
    assert filled(f"so {value} %") == "so 39.28 %"  # the printed number, which is equal
    assert filled("{{lee2022 fig2-size}}, really") == "240 and 240, really"
    for wrong in ("{{lee2022/table1 method=pca -> mean:.2f}}", "{{lee2022 nothing}}"):
        with pytest.raises(ValueError, match="stored rows; name one"):
            filled(wrong)

"""What the papers print: spot checks of the files, read by eye in the papers."""

import pytest

from fairpca.companion.published import load, load_claims

LEE = [
    "compas pca none 2 pct_var 39.28 5.17", "compas fpca delta=0.1 2 pct_var 35.06 5.16",
    "german fpca delta=0 2 mmd2 0.015 0.010", "adult mbfpca tau=1e-3 2 pct_acc 79.50 1.22",
    "compas mbfpca tau=1e-6 2 pct_var 11.83 3.59", "adult mbfpca tau=1e-6 2 delta_dp 0.01 0.01",
    "compas pca none 10 pct_var 100.00 0.00", "german fpca delta=0 10 pct_var 29.79 0.89",
    "adult fpca delta=0.1 10 mmd2 0.006 0.003", "german mbfpca tau=1e-3 10 pct_var 34.10 1.00",
    "adult mbfpca tau=1e-6 10 pct_var 15.49 6.44", "german mbfpca tau=1e-6 10 delta_dp 0.06 0.05",
]  # fmt: skip
VU = [
    "table1 default_credit rfpca abdiff 0.9483", "table1 biodeg cfpca_both are 50.7090",
    "table1 german_credit fairpca abdiff 1.3670", "table1 parkinsons cfpca_mean abdiff 3.3804",
    "table1 wine_quality rfpca are 4.2801", "table1 lfw_24x24 fairpca are 7.6361",
    "table3 default_credit cfpca_mean are 10.5164", "table3 energy rfpca abdiff 0.0094",
    "table3 statlog cfpca_both abdiff 13.0725", "table3 lfw_24x24 rfpca abdiff 0.4147",
    "table4 default_credit fairpca delta_f_lin 0.2236", "table4 parkinsons cfpca_mean delta_f_lin 0.1805",
    "table4 wine_quality cfpca_both delta_f_lin 0.0817",
]  # fmt: skip


@pytest.mark.parametrize("line", LEE)
def test_lee_table_1_is_as_printed(line):
    dataset, method, setting, d, metric, *numbers = line.split()
    table = load("lee2022", "table1").set_index(["dataset", "method", "setting", "d", "metric"])
    found = table.loc[(dataset, method, setting.removeprefix("none"), int(d), metric), ["mean", "sd"]]
    assert found.tolist() == [float(number) for number in numbers]


@pytest.mark.parametrize("line", VU)
def test_tables_of_vu_are_as_printed(line):
    exhibit, dataset, method, metric, value = line.split()
    table = load("vu2022", exhibit).set_index(["dataset", "method", "metric"])["value"]
    assert table[dataset, method, metric] == float(value)


def test_tables_are_complete():
    assert len(load("lee2022", "table1")) == 2 * 3 * 5 * 4 and load("lee2022", "table1")["bold"].sum() == 33
    for exhibit in ("table1", "table3"):
        table = load("vu2022", exhibit)
        assert len(table) == 15 * 4 * 2 and (table["text"] == "fail to converge").sum() == 4
        assert table["value"].notna().sum() == 15 * 4 * 2 - 4
    assert len(load("vu2022", "table4")) == 14 * 4 and load("vu2022", "table2")["dataset"].nunique() == 15


@pytest.mark.parametrize(
    ("paper", "figures"), [("samadi2018", range(1, 5)), ("lee2022", range(1, 7)), ("vu2022", (1, 3, 4, 5, 6))]
)
def test_claims_are_about_the_figures_of_which_the_text_says_something(paper, figures):
    claims = load_claims(paper)
    named = {int(exhibit[3:]) for exhibit in claims["exhibit"] if exhibit.startswith("fig")}
    assert named == set(figures) and all(f"Figure {n}" in " ".join(claims["where"]) for n in figures)

"""What Vu et al. print: spot checks of the files, read by eye in the paper."""

import pytest

from fairpca.companion.published import load, load_claims

TABLES = {
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


@pytest.mark.parametrize("exhibit", TABLES)
def test_tables_are_as_printed(exhibit):
    table = load("vu2022", exhibit).set_index(["dataset", "method", "metric"])["value"]
    for dataset, method, metric, value in TABLES[exhibit]:
        assert table[dataset, method, metric] == value


def test_table2_is_as_printed():
    table = load("vu2022", "table2").pivot_table(index="dataset", columns="metric", values="value")
    assert table.loc["taiwan_credit"].to_dict() == {"n_samples": 29623, "n_features": 22}
    assert table.loc["lfw_24x24"].to_dict() == {"n_samples": 4000, "n_features": 576}
    assert len(table) == 15


def test_tables_are_complete():
    for exhibit, metrics in (("table1", 2), ("table3", 2)):
        table = load("vu2022", exhibit)
        assert len(table) == 15 * 4 * metrics
        assert (table["text"] == "fail to converge").sum() == 4
        assert table["value"].notna().sum() == 15 * 4 * metrics - 4
    assert len(load("vu2022", "table4")) == 14 * 4


def test_claims_are_about_the_figures_of_which_the_text_says_something():
    """Of Figure 2 it only says how it is made, of Figures 7 to 16 that they collect errors."""
    claims = load_claims("vu2022")
    where, figures = " ".join(claims["where"]), {1, 3, 4, 5, 6}
    assert {int(exhibit[3:]) for exhibit in claims["exhibit"] if exhibit.startswith("fig")} == figures
    for figure in figures:
        assert f"Figure {figure}" in where, figure

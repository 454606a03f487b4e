"""Summaries of the comparison, from cells whose answer is known."""

import numpy as np
import pandas as pd
import pytest

from fairpca.experiments.comparison.overview import dominance, facts, prices
from fairpca.experiments.comparison.works import remarks


@pytest.fixture
def cells():
    """`good` keeps as much as PCA and tells less, `bad` keeps less and tells more, `lucky` is PCA and noise."""
    rng = np.random.default_rng(0)
    rows = []
    for dataset in ("s", "t"):
        for split in range(6):
            base = {"variance": rng.normal(70, 3), "kernel_auc": rng.normal(0.8, 0.01)}
            for method, (kept, told) in {"pca": (0, 0), "good": (0, -0.1), "bad": (-9, 0.1), "lucky": (0, 0)}.items():
                noise = rng.normal(0, 0.01, 2) if method == "lucky" else (0, 0)
                values = {
                    "variance": base["variance"] + kept + noise[0],
                    "kernel_auc": base["kernel_auc"] + told + noise[1],
                }
                rows.append({"dataset": dataset, "split": split, "d": 2, "method": method, **values})
    return pd.DataFrame(rows)


def test_prices(cells):
    found = prices(cells, ["variance", "kernel_auc"], ["good", "bad", "lucky"])
    assert found.difference.loc["bad"].to_list() == pytest.approx([-9, 0.1])
    assert found.settings.to_numpy().tolist() == [[2, 2]] * 3
    assert found.better.loc["good"].to_list() == [0, 2] and found.worse.loc["good"].to_list() == [0, 0]
    assert found.worse.loc["bad"].to_list() == [2, 2]
    assert found.balance.loc["bad"].to_list() == [-1, -1] and found.balance.loc["lucky"].abs().max() == 0


def test_dominance(cells):
    found = dominance(cells, {"variance": "high", "kernel_auc": "low"}, ["pca", "good", "bad"])
    assert found["dominated"].to_dict() == {"pca": 2, "good": 0, "bad": 2}
    assert found["by_whom"].to_dict() == {"pca": "good", "good": "", "bad": found.loc["bad", "by_whom"]}
    assert found["settings"].unique().tolist() == [2]


def test_remarks_say_where_and_how():
    table = remarks()
    assert table.notna().all().all() and table["where"].str.contains(r" [0-9a-f]{7}").all()


def test_facts_are_means_and_refuse_words_that_numbers_do_not_bear():
    rng = np.random.default_rng(1)
    kernel = {"pca": 0.9, "minmax_loss": 0.9, "rfpca": 0.9, "mean_oblique": 0.8, "mean_orthogonal": 0.75}
    kernel |= {"mbfpca_1e2": 0.7, "mbfpca_1e3": 0.6, "fpca_both": 0.7, "mean_covariance": 0.65, "gaussian_repair": 0.6}
    rows = []
    for dataset, extra in (("s", 0), ("t", 4)):
        for split in range(5):
            noise = rng.normal(0, 0.001)
            for name, value in kernel.items():
                hides = name not in ("pca", "minmax_loss", "rfpca")
                row = {"variance": 70 - 10 * hides - extra * hides + 2 * (name == "mean_oblique") + noise}
                row |= {
                    "linear_auc": 0.5 if hides else 0.8,
                    "kernel_auc": value + noise,
                    "seconds": 0.5 if name == "mbfpca_1e3" else 0.01,
                    "gap:loss": 3.0,
                    "worst_loss": 3.0 - 0.7 * (name == "minmax_loss") + (name == "minmax_loss") * noise,
                }
                row |= {"auc:logistic": 0.8 - 0.1 * (hides and name != "gaussian_repair") + noise}
                row |= {
                    "selection_gap:logistic": 0.05 if hides else 0.3,
                    "tpr_gap:logistic": 0.1 - 0.05 * hides + noise,
                }
                rows.append({"dataset": dataset, "split": split, "d": 2, "method": name, **row})
    cells = pd.DataFrame(rows)
    measures = ["variance", "worst_loss", "auc:logistic", "selection_gap:logistic", "tpr_gap:logistic"]
    found = facts(cells, prices(cells, measures, [name for name in kernel if name != "pca"]))
    assert (found["oblique-gain"], found["oblique-sure"], found["oblique-all"]) == ("2.0", "2", "2")
    assert (found["cost-least"], found["cost-most"], found["cost-most-table"]) == ("8.0", "12.0", "t")
    assert found["oblique-gap"] == "−0.25" and found["balancing-gap"] == "+0.00 to +0.00"
    assert found["kernel-mbfpca-1e3"] == "0.60" and found["price-mean-orthogonal"] == "12.0"
    assert [found[f"loss-new{name}"] for name in ("", "-sure", "-worse", "-all")] == ["0.7", "2", "0", "2"]
    assert (found["repair-sure"], found["repair-all"], found["seconds-others"]) == ("2", "2", "0.0")
    assert found["tpr-oblique"] == "0.05"
    cells.loc[cells["method"] == "mean_oblique", "linear_auc"] = 0.9
    with pytest.raises(AssertionError, match="balancing errors"):
        facts(cells, prices(cells, measures, [name for name in kernel if name != "pca"]))

"""MBF-PCA's default never loses to the paper's algorithm, nor to the authors' stored loadings."""

import pandas as pd
import pytest

from fairpca.companion import published, stored

SLACK = 0.05  # points of variance
SETTING = ["dataset", "d", "p", "setting"]


@pytest.fixture(scope="module")
def fits():
    """Both methods on the training parts, one row a fit."""
    table = stored("lee2022/table1").cells.rename(columns=lambda name: name.removesuffix(":printed")).assign(p=0)
    synthetic = stored("lee2022/synthetic2").cells.query("protocol == 'printed'")
    columns = [*SETTING, "split", "method", "train_pct_var", "train_mmd2", "kkt_residual", "status"]
    rows = pd.concat([frame.reindex(columns=columns) for frame in (table, synthetic)])
    rows = rows[rows["method"].isin(["mbfpca", "mbfpca_ours"])]
    return rows.assign(met=rows["train_mmd2"] <= rows["setting"].str[4:].astype(float))


def test_default_has_the_larger_variance_wherever_the_paper_s_algorithm_meets_the_tolerance(fits):
    paper, ours = (fits[fits["method"] == name].set_index([*SETTING, "split"]) for name in ("mbfpca", "mbfpca_ours"))
    assert len(paper) == 10 * (3 * 2 * 2 + 9 * 6) and (ours["met"] | ~paper["met"]).all()
    gain = (ours["train_pct_var"] - paper["train_pct_var"])[paper["met"]].groupby(level=SETTING).mean()
    assert len(gain) >= 60 and (gain >= -SLACK).all(), gain[gain < -SLACK]


def test_default_meets_the_tolerance_wherever_it_can_be_met(fits):
    # COMPAS has rank nine: ten components keep at least eight of nine directions.
    ours = fits[fits["method"] == "mbfpca_ours"]
    impossible = (ours["dataset"] == "compas") & (ours["d"] == 10)
    assert ours.loc[~impossible, "met"].all() and not ours.loc[impossible, "met"].any()


def test_default_has_the_larger_variance_than_the_authors_stored_loadings(fits):
    ours = fits[(fits["method"] == "mbfpca_ours") & (fits["p"] == 0)]
    ours = ours.groupby(["dataset", "d", "setting"])["train_pct_var"].mean()
    theirs = published.load("lee2022", "table1_loadings").query("metric == 'train_pct_var'")
    theirs = theirs.set_index(["dataset", "d", "setting"])["mean"]
    assert len(theirs) == 12 and (ours.reindex(theirs.index) >= theirs - SLACK).all()


def test_default_is_stationary_where_it_says_so(fits):
    ours = fits[(fits["method"] == "mbfpca_ours") & fits["met"]]
    known = ours[ours["kkt_residual"].notna() & (ours["status"].isna() | (ours["status"] == "converged"))]
    assert len(known) >= 500 and (known["kkt_residual"] <= 1e-3).all()

"""Communalities and biplots of Lee et al.: the stored numbers, the basis, and the verdicts."""

from dataclasses import replace

import numpy as np
import pytest
from fairpca.experiments.engine.runner import recompute

from fairpca import PCA
from fairpca.companion.published import scoreboard
from fairpca.datasets import load
from fairpca.experiments.lee2022 import communality as experiment
from fairpca.experiments.lee2022.communality import (
    BIPLOT_SPLIT,
    BIPLOTS,
    biplot_loadings,
    drawn_features,
    table1_cells,
)
from fairpca.experiments.lee2022.table1 import PROTECTED
from fairpca.metrics import communality


def test_tables_and_verdicts_are_those_of_the_stored_loadings():
    recompute("lee2022/communality")
    recompute("lee2022/claims_communality")


def test_communality_column_is_that_of_the_stored_loadings():
    cells = table1_cells()
    cells = cells[cells["V"].notna()]  # what only says how far repetition moves numbers keeps no loadings
    for _, row in cells[cells["split"] == 3].iterrows():
        V = np.asarray(row["V"], dtype=float).T
        assert row["communality"] == pytest.approx(communality(V, PROTECTED[row["dataset"]]), abs=1e-12)


@pytest.mark.parametrize("figure", BIPLOTS)
def test_biplot_basis_is_the_principal_axes_inside_the_subspace(figure):
    dataset, method, _ = BIPLOTS[figure]
    V, names = biplot_loadings(figure)
    train, _ = load(dataset, split=BIPLOT_SPLIT)
    assert V.shape == (len(names), 2) and names == tuple(train.feature_names)
    assert np.allclose(V.T @ V, np.eye(2), atol=1e-9)
    covariance = np.cov(train.X @ V, rowvar=False)
    assert covariance[0, 0] >= covariance[1, 1] and abs(covariance[0, 1]) < 1e-9
    # Positive leaders; entries that differ by rounding only may both be the largest.
    assert (V.max(axis=0) >= np.abs(V).max(axis=0) * (1 - 1e-6)).all()
    if method == "pca":
        components = PCA(2).fit(train.X, sensitive_features=train.sensitive_features).components_.T
        assert np.allclose(V, components, atol=1e-6)


def test_drawn_features_are_ten_and_the_protected_one():
    V = np.zeros((15, 2))
    V[:, 0] = np.arange(15)
    assert drawn_features(V, 14) == list(range(14, 4, -1))
    assert drawn_features(V, 2) == [*range(14, 4, -1), 2]


def test_pca_agrees_with_the_authors_communalities():
    board = scoreboard()
    rows = board[(board["exhibit"] == "communality_stored") & (board["method"] == "pca")]
    assert len(rows) == 30
    assert rows["verdict"].isin(["equal", "close"]).all()
    assert (
        board.loc[(board["exhibit"] == "communality_stored") & (board["verdict"] == "differs"), "reason"] != ""
    ).all()


def test_principal_axes_do_not_depend_on_where_the_rows_lie(monkeypatch):
    """The authors' rows are centred already; the axes are those of rows about their mean whatever the mean is."""
    expected, _ = biplot_loadings(13)

    def moved(dataset, split):
        train, test = load(dataset, split=split)
        return replace(train, X=train.X + np.linspace(-3, 5, train.X.shape[1])), test

    monkeypatch.setattr(experiment, "load", moved)
    np.testing.assert_allclose(biplot_loadings(13)[0], expected, atol=1e-9)

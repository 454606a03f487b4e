"""The authors' stored planes beside ours."""

import numpy as np
import pytest
from fairpca.experiments.engine.runner import load_results, recompute

from fairpca.companion import published
from fairpca.datasets import load
from fairpca.experiments.lee2022.communality import BIPLOT_SPLIT, BIPLOTS, biplot_loadings
from fairpca.experiments.lee2022.planes import run_plane
from fairpca.experiments.lee2022.table1 import PROTECTED
from fairpca.metrics import communality


@pytest.mark.parametrize("figure", BIPLOTS)
def test_stored_planes_are_planes_and_explain_the_variance_that_we_state(figure):
    dataset, method, setting = BIPLOTS[figure]
    V = published.load_loadings("lee2022", dataset, method, setting)
    train, _ = load(dataset, split=BIPLOT_SPLIT)
    assert V.shape == (train.X.shape[1], 2)
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-8)
    # Slow formula: the share of the centred rows' squares that their projections keep.
    rows = train.X - train.X.mean(axis=0)
    kept = sum(float(v @ x) ** 2 for x in rows for v in V.T)
    found = run_plane(dataset=dataset, method=method, setting=setting)
    assert found["train_pct_var_theirs"] == pytest.approx(100 * kept / np.sum(rows * rows), rel=1e-9)


@pytest.mark.parametrize("dataset", ["compas", "german", "adult"])
def test_stored_planes_have_the_communality_that_is_stored_too(dataset):
    """Another file of the authors has the ten splits' range, in which this split's number must lie."""
    table = published.load("lee2022", "communality_stored")
    for method, setting in (("fpca", "delta=0"), ("mbfpca", "tau=1e-6"), ("pca", "")):
        rows = table[(table["dataset"] == dataset) & (table["method"] == method) & (table["d"] == 2)]
        rows = rows[rows["setting"].fillna("") == setting]
        own = communality(published.load_loadings("lee2022", dataset, method, setting), PROTECTED[dataset])
        for _, row in rows.iterrows():
            assert row["min"] - 1e-5 <= own <= row["max"] + 1e-5


def test_angle_knows_neither_basis_nor_sign():
    V = published.load_loadings("lee2022", "german", "pca")
    ours, _ = biplot_loadings(12)
    turn = np.array([[0.6, 0.8], [0.8, -0.6]])
    for W in (V, V @ turn, -V[:, ::-1]):
        assert np.linalg.norm(ours @ ours.T - W @ W.T, 2) < 1e-8


def test_unknown_plane_lists_those_that_are_stored():
    with pytest.raises(ValueError, match="adult fpca"):
        published.load_loadings("lee2022", "german", "fpca", "delta=7")


@pytest.mark.mirror("synthetic1")
def test_stored_angles_are_current():
    recompute("lee2022/planes")
    assert set(load_results("lee2022/planes").table["metric"]) == {"angle", "train_pct_var", "train_pct_var_theirs"}

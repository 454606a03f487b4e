"""The authors' stored planes beside ours."""

import numpy as np
import pytest

from fairpca.companion import published, stored
from fairpca.companion.lee2022 import PROTECTED
from fairpca.datasets import load
from fairpca.metrics import communality

PLANES = [
    (dataset, *key) for dataset in PROTECTED for key in (("pca", ""), ("fpca", "delta=0"), ("mbfpca", "tau=1e-6"))
]


@pytest.mark.parametrize(("dataset", "method", "setting"), PLANES)
def test_stored_planes_are_planes_and_explain_the_variance_that_we_state(dataset, method, setting):
    V = published.load_loadings("lee2022", dataset, method, setting)
    train, _ = load(dataset, split=5)
    assert V.shape == (train.X.shape[1], 2)
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-8)
    # Slow formula: the share of the centred rows' squares that their projections keep.
    rows = train.X - train.X.mean(axis=0)
    kept = sum(float(v @ x) ** 2 for x in rows for v in V.T)
    cells = stored("lee2022/planes").cells.fillna({"setting": ""}).set_index(["dataset", "method", "setting"])
    found = cells.loc[(dataset, method, setting), "train_pct_var_theirs"]
    assert found == pytest.approx(100 * kept / np.sum(rows * rows), rel=1e-9)


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


def test_unknown_plane_lists_those_that_are_stored():
    with pytest.raises(ValueError, match="adult fpca"):
        published.load_loadings("lee2022", "german", "fpca", "delta=7")

"""Numbers and names of rows are no groups, unless somebody says so."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from fairpca import MBFPCA, PCA, RFPCA, GroupMoments, LinearEraser, MeanFairPCA, MinMaxFairPCA

ESTIMATORS = [PCA(), MinMaxFairPCA(), RFPCA(solver="mm"), MBFPCA(), MeanFairPCA(), LinearEraser()]


def rows(n):
    return np.random.default_rng(0).normal(size=(n, 4))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    "groups, message",
    [
        (np.linspace(0, 1, 400), r"not integers \(0\.0, 0\.0025\d*, .* … and 395 more\).*pandas\.cut.*\"numeric\""),
        (np.arange(400) % 2 / 2, r"not integers \(0\.0, 0\.5\)"),
        (np.arange(400) % 21, r"21 groups in 400 rows \(0, 1, 2, 3, 4 … and 16 more\), and at most 20.*category"),
        ([f"id {i}" for i in range(400)], r"400 groups .*\('id 0', 'id 1', .* … and 395 more\)"),
        (pd.DataFrame({"a": np.arange(400) % 5, "b": np.arange(400) % 7}), r"35 groups"),
    ],
)
def test_many_values_are_refused(estimator, groups, message):
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(rows(400), sensitive_features=groups)
    if hasattr(estimator, "path"):
        with pytest.raises(ValueError, match=message):
            clone(estimator).path(rows(400), sensitive_features=groups, n_components=[1])


@pytest.mark.parametrize("n, most", [(30, 10), (400, 20), (2000, 50)])
def test_how_many_groups_are_expected(n, most):
    eraser = LinearEraser()
    eraser.fit(rows(n), sensitive_features=np.arange(n) % most)
    with pytest.raises(ValueError, match=f"{most + 1} groups in {n} rows"):
        eraser.fit(rows(n), sensitive_features=np.arange(n) % (most + 1))
    with pytest.raises(ValueError, match=r"pandas\.cut"):
        MeanFairPCA(fairness="eop").fit(rows(n), np.arange(n) // 3 % 2, sensitive_features=np.arange(n) % (most + 1))


def test_who_means_it_says_so():
    groups = np.arange(400) % 60
    known = pd.Series(groups).astype("category")
    expected = LinearEraser().fit(GroupMoments.from_data(rows(400), groups)).transform(rows(400))
    found = LinearEraser().fit(rows(400), sensitive_features=known).transform(rows(400))
    np.testing.assert_allclose(found, expected)
    numbers = pd.Categorical(groups / 10)
    assert len(LinearEraser().fit(rows(400), sensitive_features=numbers).groups_) == 60
    assert LinearEraser().fit(rows(400), sensitive_features=(groups % 3).astype(float)).groups_ == (0.0, 1.0, 2.0)


def test_batches_may_be_small():
    groups = np.arange(60) % 12
    model = PCA().partial_fit(rows(60), sensitive_features=groups)
    assert model.groups_ == tuple(range(12))
    with pytest.raises(ValueError, match="not integers"):
        model.partial_fit(rows(60), sensitive_features=groups / 10)
    with pytest.raises(ValueError, match="51 groups"):
        model.partial_fit(rows(60), sensitive_features=np.arange(60) % 51)

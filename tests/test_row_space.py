"""Fewer rows than features: the fit in coordinates of the rows is that along the features."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from fairpca import FPCA, MBFPCA, PCA, RFPCA, GroupMoments, LinearEraser, MeanFairPCA, MinMaxFairPCA
from fairpca._row_space import RowSpace
from fairpca.report import compare

ESTIMATORS = [
    PCA(2),
    MinMaxFairPCA(2),
    MinMaxFairPCA(3, objective="variance", centering="none"),
    MinMaxFairPCA(2, nested=True),
    FPCA(2, constraints="mean"),
    FPCA(1, mu=0.5),
    RFPCA(2),
    RFPCA(1, centering="none"),
    MBFPCA(2, tau=0.5, random_state=0),
    MeanFairPCA(2),
    MeanFairPCA(2, projection="oblique"),
    MeanFairPCA(2, fairness="eop"),
    MeanFairPCA(2, sensitive="numeric"),
    MeanFairPCA(2, match="mean+covariance"),
    MeanFairPCA(2, match="mean+covariance", n_candidates=4),
    LinearEraser(),
    LinearEraser(method="oracle"),
    LinearEraser(sensitive="numeric"),
]


def table(seed, n=14, p=40, m=2):
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % m
    return rng.normal(size=(n, p)) * np.linspace(3, 1, p) + rng.normal(size=(m, p))[groups] + 7, groups


def fitted(model, X, groups, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ties and weak penalties
        y = np.arange(len(X)) // 2 % 2 if getattr(model, "fairness", "") == "eop" else None
        return clone(model).fit(X, y, sensitive_features=groups, **more)


def without_coordinates(*arguments, **more):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowSpace, "of", lambda *_: None)
        return fitted(*arguments, **more)


@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
@given(seed=st.integers(0, 1000))
@settings(max_examples=5)
def test_coordinates_change_nothing(model, seed):
    X, groups = table(seed)
    here, there = fitted(model, X, groups), without_coordinates(model, X, groups)
    assert set(vars(here)) == set(vars(there))
    for name, expected in vars(there).items():
        if isinstance(expected, np.ndarray):
            assert getattr(here, name).shape == expected.shape, name
    np.testing.assert_allclose(here.mean_, there.mean_, atol=1e-12)
    if hasattr(here, "result_"):
        assert here.result_.status == there.result_.status
        # MBFPCA has local optima, which it starts from as the signs of eigenvectors say.
        digits = 1e-2 if isinstance(model, MBFPCA) else 1e-12
        assert here.result_.objective == pytest.approx(there.result_.objective, rel=digits, abs=1e-10)
        assert here.result_.V.shape == there.result_.V.shape
    if isinstance(model, LinearEraser):  # also of rows outside of the span, but for directions without variance
        rows = (X, groups) if model.method == "oracle" else (X,)
        np.testing.assert_allclose(here.transform(*rows), there.transform(*rows), atol=1e-7)
        return
    if not isinstance(model, MBFPCA):
        np.testing.assert_allclose(here.explained_variance_, there.explained_variance_, rtol=1e-5)
        np.testing.assert_allclose(here.transform(X), there.transform(X), atol=2e-4)
        np.testing.assert_allclose(
            here.inverse_transform(here.transform(X)), there.inverse_transform(there.transform(X)), atol=2e-4
        )
    identity = here.components_ @ here.components_.T
    if getattr(model, "projection", "") != "oblique":
        np.testing.assert_allclose(identity, np.eye(len(identity)), atol=1e-10)


@given(
    seed=st.integers(0, 1000),
    offset=st.sampled_from([0.0, 1e6]),
    apart=st.sampled_from([0.0, 1e-12, 1e-9, 1e-6, 1e-3, 1.0]),
)
def test_coordinates_are_the_rows(seed, offset, apart):
    """Also of rows that are equal or nearly so, whose products lose what tells them apart."""
    X = table(seed)[0] + offset
    X[1] = X[0] + apart * (X[1] - X[0])
    space = RowSpace.of(X, 3)
    np.testing.assert_allclose(space.rows @ space.basis.T, X, atol=1e-14 * np.abs(X).max())
    np.testing.assert_allclose(space.basis.T @ space.basis, np.eye(space.basis.shape[1]), atol=1e-13)
    assert (space.basis.shape[1] == 17) == (apart >= 1e-3)  # of nearly equal rows by reflections
    assert RowSpace.of(X, 25) is None and RowSpace.of(X.T, 3) is None and RowSpace.of(X, None) is None


def test_components_that_no_row_needs():
    """The rows span 13 dimensions about their mean; 20 components need seven without variance."""
    X, groups = table(0)
    for model in (MinMaxFairPCA(20), MeanFairPCA(20)):
        here = fitted(model, X, groups)
        there = fitted(model, GroupMoments.from_data(X, groups), None)
        assert here.result_.objective == pytest.approx(there.result_.objective, abs=1e-10)
        np.testing.assert_allclose(here.components_ @ here.components_.T, np.eye(20), atol=1e-12)
    for model in (PCA(20), PCA(41)):  # as in scikit-learn, PCA needs as many rows as components
        with pytest.raises(ValueError, match="between 1 and 14"):
            model.fit(X, sensitive_features=groups)


def test_weights_paths_and_float32():
    X, groups = table(1)
    weights = np.arange(14) % 3 + 0.5
    expected = fitted(MinMaxFairPCA(2), GroupMoments.from_data(X, groups, sample_weight=weights), None)
    found = fitted(MinMaxFairPCA(2), X, groups, sample_weight=weights)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-7)
    single = fitted(PCA(2), X.astype(np.float32), groups)
    np.testing.assert_allclose(single.components_, fitted(PCA(2), X, groups).components_, atol=1e-4)
    for model in (RFPCA(2), MinMaxFairPCA(2), MeanFairPCA(2)):
        for at in model.path(X, sensitive_features=groups, n_components=[1, 3]):
            expected = fitted(at, X, groups)
            np.testing.assert_allclose(at.components_, expected.components_, atol=1e-5)
            np.testing.assert_allclose(at.mean_, X.mean(axis=0))


def test_what_depends_on_the_features_keeps_them():
    """Starts of the paper's algorithms and the scale of columns are along the features."""
    X, groups = table(2)
    for model in (
        RFPCA(2, solver="subgradient", random_state=0, max_iter=20, options={"n_starts": 3}),
        FPCA(2, options={"standardise": True}),
    ):
        here, there = fitted(model, X, groups), without_coordinates(model, X, groups)
        np.testing.assert_array_equal(here.components_, there.components_)


def test_comparisons_of_few_rows(monkeypatch):
    """Of methods in which a rotation of the features changes nothing."""
    X, groups = table(3, n=60, p=150)
    chosen = ["pca", "minmax_loss", "rfpca", "mean_orthogonal"]

    def values(**more):
        found = compare(X, groups, n_parts=2, **more).values
        return found.loc[found["metric"] != "seconds", "value"]

    here = values(methods=chosen, n_components=[1, 2])
    monkeypatch.setattr(RowSpace, "of", lambda *_: None)
    np.testing.assert_allclose(here, values(methods=chosen, n_components=[1, 2]), rtol=1e-6, atol=1e-7)

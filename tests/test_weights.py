"""Weights of the rows: integers repeat rows, and the unit of other weights does not matter."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from fairpca import FPCA, PCA, RFPCA, GroupMoments, LinearEraser, MeanFairPCA, MinMaxFairPCA

ESTIMATORS = [
    PCA(2),
    MinMaxFairPCA(2),
    MinMaxFairPCA(1, nested=True, centering="overall"),
    FPCA(2, constraints="mean"),
    RFPCA(2, eps=[0.1, 0.2]),
    RFPCA(2),
    MeanFairPCA(2),
    MeanFairPCA(1, projection="oblique"),
    LinearEraser(),
]
NUMBER_OF_ROWS = ("explained_variance_", "eps_", "singular_values_")  # what depends on it


def table(seed, n=30):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 5)) * [3, 2, 1, 1, 0.5], np.arange(n) % 2, rng


def fitted(estimator, X, groups, weights=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of FPCA: little penalty, ties
        return clone(estimator).fit(X, sensitive_features=groups, sample_weight=weights)


def assert_same(one, other, X, without=()):
    np.testing.assert_allclose(one.transform(X), other.transform(X), atol=1e-6)
    names = {name for name in vars(one) if name.endswith("_") and isinstance(getattr(one, name), np.ndarray)}
    for name in names - set(without):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@given(seed=st.integers(0, 1000), unit=st.floats(1e-9, 1.0))
def test_weights_that_count_no_rows_have_no_unit(estimator, seed, unit):
    X, groups, rng = table(seed)
    weights = rng.uniform(0.1, 2.0, len(X))
    weights[rng.integers(0, len(X), 3)] = 0.0
    of_mean_one = weights / weights[weights > 0].mean()
    assert_same(fitted(estimator, X, groups, of_mean_one * unit), fitted(estimator, X, groups, of_mean_one), X)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@given(seed=st.integers(0, 1000), unit=st.floats(1.0, 1e6))
def test_what_no_number_of_rows_enters_has_no_unit(estimator, seed, unit):
    X, groups, rng = table(seed)
    weights = rng.uniform(0.1, 2.0, len(X))
    if isinstance(estimator, RFPCA) and estimator.eps is None:
        estimator = clone(estimator).set_params(alpha=0.0)
    assert_same(
        fitted(estimator, X, groups, weights * unit), fitted(estimator, X, groups, weights), X, without=NUMBER_OF_ROWS
    )


@pytest.mark.parametrize("estimator", ESTIMATORS)
@given(seed=st.integers(0, 1000), times=st.integers(1, 4))
def test_integers_repeat_rows(estimator, seed, times):
    X, groups, rng = table(seed)
    weights = rng.integers(0, 3, len(X))
    weights[:4] = 1
    weights = times * weights
    repeated = fitted(estimator, np.repeat(X, weights, axis=0), np.repeat(groups, weights))
    assert_same(fitted(estimator, X, groups, weights), repeated, X)


@given(share=st.floats(1e-9, 1.9))
def test_moments_of_less_than_two_rows_are_refused(share):
    X, groups, _ = table(0)
    weights = np.full(len(X), share / len(X))
    with pytest.raises(ValueError, match="weights with a mean of one"):
        PCA().fit(GroupMoments.from_data(X, groups, sample_weight=weights))
    with pytest.raises(ValueError, match="weights with a mean of one"):
        PCA().partial_fit(X, sensitive_features=groups, sample_weight=weights).components_  # noqa: B018

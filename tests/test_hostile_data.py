"""What an attack on the estimators found: answers that rounding, units or weights decided."""

import numpy as np
import pandas as pd
import pytest

from fairpca import FPCA, PCA, GroupMoments, MeanFairPCA, MinMaxFairPCA, metrics


@pytest.fixture
def alike():
    """Two groups that differ by a shift only."""
    half = np.random.default_rng(0).standard_normal((50, 4)) * [3, 2, 1, 0.5]
    return np.vstack([half, half + [0, 0, 0, 1]]), np.repeat([0, 1], 50)


@pytest.mark.parametrize("model", [FPCA(1), MeanFairPCA(1, match="mean+covariance")], ids=str)
def test_equal_covariances_are_not_told_apart_by_their_rounding(model, alike):
    X, groups = alike
    expected = MeanFairPCA(1).fit(X, sensitive_features=groups).explained_variance_ratio_
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(100)
        found = model.fit(X[order], sensitive_features=groups[order])
        np.testing.assert_allclose(found.explained_variance_ratio_, expected)
        assert found.result_.status == "optimal"


@pytest.mark.parametrize("unit", [1e-150, 1e-82, 1e78, 1e150])
def test_matched_covariances_have_no_unit(unit):
    groups = np.repeat([0, 1, 2], 20)
    shapes = np.array([[1, 1, 1, 1], [3, 1, 1, 0.2], [0.3, 2, 1, 1]])
    X = np.random.default_rng(0).standard_normal((60, 4)) * shapes[groups]
    X = np.column_stack((X, np.zeros(60)))
    model = MeanFairPCA(1, match="mean+covariance")
    here = model.fit(X, sensitive_features=groups).components_
    np.testing.assert_allclose(model.fit(X * unit, sensitive_features=groups).components_, here, atol=1e-9)


@pytest.mark.parametrize("total", [1e-6, 1.0, 3.0])
def test_weights_that_sum_to_little_count_no_rows(total):
    X, groups = np.random.default_rng(0).standard_normal((60, 4)), np.repeat([0, 1], 30)
    weights = np.full(60, total / 60)
    plain, weighted = PCA(2).fit(X), PCA(2).fit(X, sample_weight=weights)
    np.testing.assert_allclose(weighted.explained_variance_, plain.explained_variance_)
    weights[groups == 0] *= 0.01  # and nobody is told that a group has one row
    PCA(2).fit(X, sensitive_features=groups, sample_weight=weights)


@pytest.mark.parametrize("unit", [1e-200, 1e-162, 1e-155, 1e155, 1e200])
def test_metrics_have_no_unit(unit):
    X, groups = np.random.default_rng(0).standard_normal((60, 4)), np.repeat([0, 1], 30)
    X[groups == 1] += 1
    for estimator in ("biased", "unbiased"):
        here = metrics.mmd_squared(X, groups, 2.0, estimator=estimator)
        assert metrics.mmd_squared(X * unit, groups, 2.0 * unit, estimator=estimator) == pytest.approx(here)
    test = metrics.mmd_permutation_test(X * unit, groups, 2.0 * unit, n_permutations=99, random_state=0)
    assert test.p_value == 0.01
    for rule in ("median", "code"):
        assert metrics.median_bandwidth(X * unit, rule) == pytest.approx(unit * metrics.median_bandwidth(X, rule))
    V = np.eye(4)[:, :2]
    assert metrics.explained_variance_percent(X * unit, V) == pytest.approx(metrics.explained_variance_percent(X, V))


@pytest.mark.parametrize("of", ["bool", "object", "nullable", "numbered", "mixed"])
def test_paths_take_what_fit_takes(of):
    numbers = np.random.default_rng(0).integers(0, 2, (40, 3))
    X = {
        "bool": numbers.astype(bool),
        "object": numbers.astype(object),
        "nullable": pd.DataFrame(numbers, columns=list("abc")).astype("Int64"),
        "numbered": pd.DataFrame(numbers),
        "mixed": pd.DataFrame(numbers, columns=list("abc")).assign(a=numbers[:, 0].astype(bool)),
    }[of]
    groups = np.arange(40) % 2
    model = MinMaxFairPCA(1)
    once = model.fit(X, sensitive_features=groups)
    (found,) = model.path(X, sensitive_features=groups, n_components=[1])
    np.testing.assert_allclose(found.components_, once.components_)
    np.testing.assert_allclose(found.transform(X), once.transform(X))  # a warning of names would be an error
    front = model.frontier(X, sensitive_features=groups).errors
    np.testing.assert_allclose(front, model.frontier(numbers.astype(float), sensitive_features=groups).errors)
    assert GroupMoments.from_data(X, groups).n_samples == 40
    with pytest.raises(TypeError, match="convert it to numbers"):
        GroupMoments.from_data(np.full((40, 2), "x", dtype=object), groups)


@pytest.mark.parametrize("constraints", ["both", "mean"])
def test_next_to_nothing_to_keep_is_no_iteration_limit(constraints):
    rng = np.random.default_rng(0)
    x = np.r_[rng.standard_normal(20), rng.standard_normal(20) + 3]
    model = FPCA(1, constraints=constraints).fit(np.c_[x, 2 * x, -x], sensitive_features=np.repeat([0, 1], 20))
    assert model.result_.status == "optimal" and model.result_.objective == pytest.approx(0, abs=1e-9)


def test_a_column_of_moments_may_be_named_by_a_numpy_integer():
    moments = GroupMoments.from_data(np.random.default_rng(0).standard_normal((20, 4)), np.zeros(20))
    assert MeanFairPCA(1, sensitive="numeric").fit(moments, sensitive_features=np.int64(3)).components_.shape == (1, 3)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("unit", [1e-150, 1e-80, 1e80, 1e120, 1e150])
@pytest.mark.parametrize("options", [{"mu": 1.0}, {"constraints": "mean"}, {"variant": "lee2022_code"}], ids=str)
def test_a_level_of_the_means_has_the_unit_of_the_rows(unit, options):
    """One that is next to nothing beside the rows is as good as none; one in their unit changes nothing."""
    X, groups = np.random.default_rng(7).standard_normal((30, 5)), np.arange(30) % 2
    for level in (0.1, 0.1 * unit):
        if options.get("variant") and level == 0.1 * unit:
            continue  # scales the columns itself
        found = FPCA(3, delta=level, **options).fit(X * unit, sensitive_features=groups)
        assert found.result_.status == "optimal" and np.isfinite(found.result_.bound), level


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("power", [-150, -80, 80, 120, 150])
@pytest.mark.parametrize("objective", ["loss", "error", "variance", "nash"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_column_in_an_extraordinary_unit(power, objective, nested):
    for seed in range(3):
        X = np.random.default_rng(seed).standard_normal((20, 5))
        X[:, 0] *= 10.0**power
        model = MinMaxFairPCA(2, objective=objective, nested=nested).fit(X, sensitive_features=np.arange(20) % 5)
        assert np.isfinite(model.result_.objective) and np.isfinite(model.transform(X)).all()


def test_equal_covariances_have_no_inverse_in_the_printed_form():
    pytest.importorskip("cvxpy")
    X = np.random.default_rng(0).standard_normal((30, 4))
    options = {"form": "printed", "shift": "norm", "standardise": True, "trace": "at_most"}
    model = FPCA(1, mu=0.01, delta=1e-300, solver="cvxpy", variant="vu2022_code", options=options)
    with pytest.raises(ValueError, match=r"singular here .*use form='rotated'"):
        model.fit(np.vstack([X, X]), sensitive_features=np.repeat([0, 1], 30))

"""MinMaxFairPCA: what the user sees, the paper's lemmas on rows, bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from fairpca import GroupMoments, MinMaxFairPCA, WideRows
from fairpca.linalg import subspace_distance


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 6)) @ np.diag([3, 2, 1, 1, 0.5, 0.2]) + 1
    B = rng.standard_normal((90, 6)) @ np.diag([0.5, 1, 3, 0.3, 2, 0.2])
    return np.concatenate((A, B)), np.repeat(["a", "b"], [40, 90])


def loss(A, Z, d):
    """Definition 4.3, by a singular value decomposition of the rows."""
    return np.sum((A - Z) ** 2) - np.sum(np.linalg.svd(A, compute_uv=False)[d:] ** 2)


def centred_groups(X, s):
    return [X[s == g] - X[s == g].mean(axis=0) for g in np.unique(s)]


def test_losses_are_those_of_the_definition(rows):
    X, s = rows
    for d in (1, 3, 5):
        model = MinMaxFairPCA(d).fit(X, sensitive_features=s)
        V = model.components_.T
        direct = [loss(A, A @ V @ V.T, d) / len(A) for A in centred_groups(X, s)]
        assert model.losses_ == pytest.approx(direct, abs=1e-11)
        assert abs(np.ptp(direct)) < 1e-10  # Theorem 4.5
        assert model.errors_ == pytest.approx([np.sum((A - A @ V @ V.T) ** 2) / len(A) for A in centred_groups(X, s)])
        assert model.result_.relative_gap <= 1e-9


def test_solvers_agree(rows):
    X, s = rows
    exact = MinMaxFairPCA(2).fit(X, sensitive_features=s)
    sdp = MinMaxFairPCA(2, solver="sdp").fit(X, sensitive_features=s)
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        mw = MinMaxFairPCA(2, solver="mw", max_iter=300).fit(X, sensitive_features=s)
    assert sdp.result_.objective == pytest.approx(exact.result_.objective, abs=1e-7)
    assert exact.result_.objective <= mw.result_.objective <= 1.02 * exact.result_.objective
    assert subspace_distance(sdp.components_.T, exact.components_.T) < 1e-3


def test_affine_map_of_transform(rows):
    """Three lines in the plane need the extra dimension; transform and back is the paper's affine projection."""
    angles = np.repeat(np.deg2rad([0, 60, 120]), 2)
    X = np.stack((np.cos(angles), np.sin(angles)), axis=1) * np.tile([1, -1], 6 // 2)[:, None]
    s = np.repeat(list("abc"), 2)
    model = MinMaxFairPCA(1, extra_dimensions=True).fit(X, sensitive_features=s)
    Z = model.transform(X)
    assert Z.shape == (6, 2)
    shrink = np.sqrt(1 - np.sqrt(0.5))
    np.testing.assert_allclose(model.components_ @ model.components_.T, shrink**2 * np.eye(2), atol=1e-12)
    P = (1 - np.sqrt(0.5)) * np.eye(2)
    np.testing.assert_allclose(model.inverse_transform(Z), X @ P, atol=1e-12)
    errors = np.sum((X - model.inverse_transform(Z)) ** 2, axis=1)
    assert errors == pytest.approx(np.full(6, 0.5))  # own optimum 0, so the loss is the error
    assert model.losses_ == pytest.approx([0.5] * 3)
    assert list(model.get_feature_names_out()) == ["minmaxfairpca0", "minmaxfairpca1"]


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "mw", "options": {"rounding": "none"}},
        {"solver": "mw"},
        {"solver": "sdp", "options": {"rounding": "none"}},
    ],
    ids=str,
)
def test_maps_with_more_columns_keep_the_contract(options, rows):
    X, s = rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(MinMaxFairPCA(**options))
        model = MinMaxFairPCA(2, **options).fit(X, sensitive_features=s)
    V = model.components_
    assert 2 <= len(V) <= 6
    np.testing.assert_allclose(V @ V.T, np.diag(np.diagonal(V @ V.T)), atol=1e-9)
    assert np.all(np.diff(model.explained_variance_) <= 1e-12)
    centred = centred_groups(X, s)
    errors = [np.sum((A - A @ V.T @ V) ** 2) / len(A) for A in centred]
    assert model.errors_ == pytest.approx(errors, abs=1e-8)


@pytest.fixture(scope="module")
def many_groups():
    """Twenty groups, each along a direction of its own: the relaxation has more dimensions than asked for."""
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((20, 6))
    codes = np.repeat(np.arange(20), 20)
    return rng.standard_normal((400, 1)) * directions[codes] + 0.1 * rng.standard_normal((400, 6)), codes


@pytest.mark.parametrize("objective", ["loss", "error", "variance", "nash"])
def test_many_groups_get_as_many_components_as_asked_for(objective, many_groups):
    X, s = many_groups
    model = MinMaxFairPCA(2, objective=objective).fit(X, sensitive_features=s)
    relaxed = MinMaxFairPCA(2, objective=objective, extra_dimensions=True).fit(X, sensitive_features=s)
    assert model.transform(X).shape == (400, 2) and relaxed.transform(X).shape[1] > 2
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)
    assert (relaxed.result_.status, model.result_.status) == ("optimal", "converged")
    assert model.result_.bound == pytest.approx(relaxed.result_.bound) and model.result_.certificate == "proof"
    sign = 1 if model.result_.sense == "max" else -1
    assert 0 < sign * (model.result_.bound - model.result_.objective) < 0.2 * abs(model.result_.bound)
    errors = [np.sum((A - A @ model.components_.T @ model.components_) ** 2) / len(A) for A in centred_groups(X, s)]
    assert model.errors_ == pytest.approx(errors)
    nested = MinMaxFairPCA(2, objective=objective, nested=True).fit(X, sensitive_features=s)
    assert sign * (model.result_.objective - nested.result_.objective) >= -1e-9


def test_every_way_in_gives_the_same_components(many_groups):
    X, s = many_groups
    model = MinMaxFairPCA(2, objective="variance")
    expected = clone(model).fit(X, sensitive_features=s)
    path = model.path(X, sensitive_features=s, n_components=[1, 2])
    assert [len(fitted.components_) for fitted in path] == [1, 2]
    parts = clone(model)
    for rows in (slice(0, 100), slice(100, 400)):
        parts.partial_fit(X[rows], sensitive_features=s[rows])
    wide = clone(model).fit(WideRows(X, s))
    assert wide.result_.certificate == "estimate" and wide.result_.status == "converged"
    for other in (path[1], parts, wide, clone(model).fit(GroupMoments.from_data(X, s))):
        assert other.result_.objective == pytest.approx(expected.result_.objective, rel=1e-7)
        assert subspace_distance(other.components_.T, expected.components_.T) < 1e-4


def test_starts_and_limits_of_the_search(many_groups):
    X, s = many_groups
    one = MinMaxFairPCA(2, options={"n_starts": 1}).fit(X, sensitive_features=s).result_
    more, again = (
        MinMaxFairPCA(2, options={"n_starts": 40, "random_state": 3}).fit(X, sensitive_features=s) for _ in range(2)
    )
    np.testing.assert_array_equal(more.components_, again.components_)
    assert len(one.extra["values"]) == 1 and more.result_.objective <= one.objective + 1e-12
    with pytest.warns(ConvergenceWarning, match="raise time_limit"):
        hurried = MinMaxFairPCA(2, options={"time_limit": 1e-9}).fit(X, sensitive_features=s)
    assert hurried.components_.shape == (2, 6) and hurried.result_.status == "max_iter"
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        assert len(MinMaxFairPCA(2, max_iter=1).fit(X, sensitive_features=s).components_) == 2


def test_path_is_a_list_of_fitted_estimators(rows):
    X, s = rows
    frame = pd.DataFrame(X, columns=list("uvwxyz"))
    path = MinMaxFairPCA(objective="error", centering="overall").path(
        frame, sensitive_features=s, n_components=range(1, 7)
    )
    assert [m.n_components for m in path] == [1, 2, 3, 4, 5, 6]
    for model in path:
        single = MinMaxFairPCA(model.n_components, objective="error", centering="overall").fit(
            frame, sensitive_features=s
        )
        assert model.result_.objective == pytest.approx(single.result_.objective, abs=1e-12)
        np.testing.assert_allclose(model.transform(frame), single.transform(frame), atol=1e-6)
        assert vars(model).keys() == vars(single).keys()
    by_moments = MinMaxFairPCA().path(GroupMoments.from_data(X, s), n_components=[1, 2])
    by_rows = MinMaxFairPCA().path(X, sensitive_features=s, n_components=[1, 2])
    assert by_moments[1].losses_ == pytest.approx(by_rows[1].losses_)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"d_max": [2]}, "path got 'd_max'; give values for some of the parameters centering, "),
        ({}, "path got no grid"),
        ({"sensitive_features": None, "n_components": [2]}, "path needs sensitive_features"),
        ({"sensitive_features": np.zeros(130), "n_components": [2]}, "two groups or more"),
        ({"n_components": [7]}, "between 1 and 6"),
        ({"X": np.full((130, 6), np.nan), "n_components": [2]}, "NaN"),
        ({"X": "moments", "n_components": [2]}, "already know their groups"),
    ],
    ids=str,
)
def test_wrong_path_calls(rows, given, message):
    X, s = rows
    given = {"X": X, "sensitive_features": s} | given
    if isinstance(given["X"], str):
        given["X"] = GroupMoments.from_data(X, s)
    with pytest.raises(ValueError, match=message):
        MinMaxFairPCA().path(given.pop("X"), **given)


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"solver": "lp"}, ValueError, "'dual', 'sdp', 'mw'"),
        ({"objective": "gap"}, ValueError, "'loss', 'error'"),
        ({"centering": "mean"}, ValueError, "'group', 'overall', 'none'"),
        ({"options": {"rounding": "qr"}}, ValueError, "'lp', 'none'"),
        ({"variant": "mine"}, ValueError, "'printed', 'samadi2018_code', 'vu2022_code'"),
        ({"options": {"eta": -1.0}}, ValueError, "eta=-1.0 is out of range"),
        ({"options": {"spin": 1}}, ValueError, "options has no 'spin'; MinMaxOptions knows rounding, eta"),
        ({"tol": float("nan")}, ValueError, r"tol=nan is not a number \(NaN\)"),
        ({"tol": "small"}, TypeError, "tol must be a number"),
        ({"max_iter": 2.5}, TypeError, "max_iter must be an integer"),
        ({"n_components": 0}, ValueError, "between 1 and 6"),
        ({"n_components": 7}, ValueError, "between 1 and 6"),
        ({"options": {"n_starts": 0}}, ValueError, "n_starts"),
        ({"extra_dimensions": 2}, TypeError, "extra_dimensions must be True or False; got 2"),
        ({"nested": True, "extra_dimensions": True}, ValueError, "leave extra_dimensions=True out"),
        ({"nested": True, "solver": "mw"}, ValueError, "nested=True is for solver='dual' only; got solver='mw'"),
        ({"nested": 1}, TypeError, "nested must be True or False; got 1"),
        ({"objective": "nash", "solver": "mw"}, ValueError, "'nash' is solved by solver='dual' only; got solver='mw'"),
    ],
)
def test_wrong_parameters_are_explained(rows, options, error, message):
    X, s = rows
    with pytest.raises(error, match=message):
        MinMaxFairPCA(**options).fit(X, sensitive_features=s)


def test_as_many_components_as_features_lose_nothing(rows):
    X, s = rows
    model = MinMaxFairPCA(6).fit(X, sensitive_features=s)
    assert model.losses_.tolist() == [0, 0]
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-12)


def test_one_group_is_ordinary_pca_with_a_warning(rows):
    X, _ = rows
    with pytest.warns(UserWarning, match="single group"):
        model = MinMaxFairPCA(2).fit(X, sensitive_features=["x"] * len(X))
    assert subspace_distance(model.components_.T, np.linalg.svd(X - X.mean(axis=0))[2][:2].T) < 1e-10
    assert model.losses_.tolist() == [0.0]


def test_groups_with_fewer_rows_than_components(rows):
    X, s = rows
    few = np.concatenate((np.arange(3), np.arange(40, 130)))  # three rows: rank two after centring
    model = MinMaxFairPCA(4).fit(X[few], sensitive_features=s[few])
    assert model.result_.status == "optimal"
    assert abs(np.ptp(model.losses_)) < 1e-10
    with pytest.warns(UserWarning, match="one sample each"):
        model = MinMaxFairPCA(2).fit(X[39:], sensitive_features=s[39:])
    assert model.losses_ == pytest.approx([0, 0], abs=1e-10)  # no variance: nothing to lose


@pytest.mark.parametrize("solver", ["dual", "sdp", "mw"])
def test_constant_and_duplicated_columns(rows, solver):
    X, s = rows
    base = MinMaxFairPCA(2).fit(X, sensitive_features=s)
    options = {"solver": solver, "tol": 0.5}
    constant = MinMaxFairPCA(2, **options).fit(np.column_stack((X, np.full(130, 7.0))), sensitive_features=s)
    bound = 1e-7 if solver != "mw" else 0.5 * base.result_.objective
    assert constant.result_.objective == pytest.approx(base.result_.objective, abs=bound)
    assert np.abs(constant.components_[:, 6]).max() < 1e-6
    twice = MinMaxFairPCA(2, **options).fit(np.column_stack((X, X[:, 0])), sensitive_features=s)
    assert np.isfinite(twice.components_).all()
    if solver == "dual":
        assert abs(np.ptp(twice.losses_)) < 1e-10


def test_centring_is_what_it_says(rows):
    X, s = rows
    for centering, shift in (("none", np.zeros(6)), ("overall", X.mean(axis=0))):
        model = MinMaxFairPCA(2, centering=centering).fit(X, sensitive_features=s)
        groups = [X[s == g] - shift for g in "ab"]
        V = model.components_.T
        assert model.losses_ == pytest.approx([loss(A, A @ V @ V.T, 2) / len(A) for A in groups], abs=1e-10)
        np.testing.assert_allclose(model.mean_, shift, atol=1e-14)


@pytest.mark.parametrize("objective", ["variance", "nash"])
def test_criteria_of_the_variances(rows, objective):
    X, s = rows
    model = MinMaxFairPCA(2, objective=objective).fit(X, sensitive_features=s)
    V = model.components_.T
    kept = [np.sum((A @ V) ** 2) / len(A) for A in centred_groups(X, s)]
    assert model.variances_ == pytest.approx(kept)
    assert model.variances_ + model.errors_ == pytest.approx([np.sum(A**2) / len(A) for A in centred_groups(X, s)])
    assert model.result_.sense == "max" and model.result_.status == "optimal"
    assert model.result_.objective == pytest.approx(min(kept) if objective == "variance" else np.prod(kept) ** 0.5)
    others = (MinMaxFairPCA(2, objective=other).fit(X, sensitive_features=s) for other in ("loss", "error"))
    for other in others:
        found = other.variances_
        assert model.result_.bound >= (found.min() if objective == "variance" else np.prod(found) ** 0.5)


@pytest.mark.parametrize("centering", ["group", "overall", "none"])
def test_a_single_group_is_reported_with_the_chosen_centring(centering):
    rng = np.random.default_rng(5)
    X, weight = rng.normal(3.0, [3, 2, 1, 1], (40, 4)), rng.uniform(0, 0.01, 40)
    with pytest.warns(UserWarning, match="single group"):
        model = MinMaxFairPCA(2, centering=centering).fit(X, sensitive_features=["a"] * 40, sample_weight=weight)
    at = 0 if centering == "none" else np.average(X, axis=0, weights=weight)
    M = ((X - at) * weight[:, None]).T @ (X - at) / weight.sum()
    kept = np.trace(model.components_ @ M @ model.components_.T)
    np.testing.assert_allclose(model.variances_, [kept])
    np.testing.assert_allclose(model.errors_, [np.trace(M) - kept])
    np.testing.assert_array_equal(model.losses_, [0.0])

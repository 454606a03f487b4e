"""Moments against loops; weights, files and batches, against repetition, against numpy, against all rows at once."""

import itertools

import numpy as np
import pandas as pd
import pytest
from estimators import CONFIGURED
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fairpca import FPCA, MBFPCA, PCA, RFPCA, GroupMoments, LinearEraser, MeanFairPCA, MinMaxFairPCA
from fairpca.linalg import orthonormal, subspace_distance

MOMENTS_ONLY = [estimator for estimator in CONFIGURED if not estimator._needs_rows]


def slow_moments(X, labels):
    out = {}
    for label in sorted(set(labels)):
        rows = [x for x, s in zip(X, labels, strict=True) if s == label]
        mean = sum(rows) / len(rows)
        scatter = sum(np.outer(x - mean, x - mean) for x in rows)
        out[label] = (len(rows), mean, scatter)
    return out


@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_moments_match_a_loop_even_with_large_means(shift):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4)) * [1, 2, 3, 0.1]
    labels = rng.integers(0, 3, 300)
    # The shift must be exact in floating point, so that only our arithmetic is tested.
    X = np.round(X * 2**20) / 2**20 if shift else X
    moments = GroupMoments.from_data(X + shift, labels)
    for g, (n, mean, scatter) in slow_moments(X, labels).items():
        assert moments.counts[g] == n
        np.testing.assert_allclose(moments.means[g] - shift, mean, atol=1e-7 if shift else 1e-12)
        np.testing.assert_allclose(moments.scatters[g], scatter, rtol=1e-7 if shift else 1e-11, atol=1e-6)


@given(
    st.lists(st.integers(0, 2), min_size=3, max_size=40),
    st.lists(st.integers(1, 39), max_size=4),
    st.integers(0, 100),
)
def test_chunks_in_any_split_give_the_same_moments(labels, cuts, seed):
    X = np.random.default_rng(seed).standard_normal((len(labels), 3)) + 5
    labels = np.array(labels)
    edges = sorted({0, len(labels), *[c for c in cuts if c < len(labels)]})
    pairs = [(X[a:b], labels[a:b]) for a, b in itertools.pairwise(edges)]
    whole, parts = GroupMoments.from_data(X, labels), GroupMoments.from_chunks(pairs)
    backwards = GroupMoments.from_chunks(pairs[::-1])
    for other in (parts, backwards):
        assert other.labels == whole.labels
        np.testing.assert_array_equal(other.counts, whole.counts)
        np.testing.assert_allclose(other.means, whole.means, atol=1e-12)
        np.testing.assert_allclose(other.scatters, whole.scatters, atol=1e-10)


def test_moments_derived_quantities():
    rng = np.random.default_rng(1)
    X, s = rng.standard_normal((50, 3)) + [1, 2, 3], rng.integers(0, 2, 50)
    m = GroupMoments.from_data(pd.DataFrame(X, columns=list("abc")), s)
    np.testing.assert_allclose(m.covariance(ddof=1), np.cov(X.T))
    np.testing.assert_allclose(m.mean, X.mean(0))
    for g in (0, 1):
        A = X[s == g]
        np.testing.assert_allclose(m.covariances(ddof=1)[g], np.cov(A.T))
        np.testing.assert_allclose(m.second_moments("none")[g], A.T @ A / len(A))
        B = A - X.mean(0)
        np.testing.assert_allclose(m.second_moments("overall")[g], B.T @ B / len(A))
    scale, basis = np.array([1.0, 2.0, 4.0]), orthonormal(rng.standard_normal((3, 2)))
    moved = GroupMoments.from_data(X / scale @ basis, s)
    np.testing.assert_allclose(m.transformed(scale, basis).scatters, moved.scatters)
    assert m.feature_names == ("a", "b", "c")
    float32 = GroupMoments.from_data(X.astype(np.float32), s)
    assert float32.scatters.dtype == np.float64
    np.testing.assert_allclose(float32.scatters, m.scatters, rtol=1e-5)


@pytest.mark.parametrize("size", [1e155, 1e200, 1e300])
def test_values_whose_squares_overflow_are_refused_without_noise(size):
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[:, 1] *= size
    with pytest.raises(ValueError, match=r"feature\(s\) \[1\] of X vary so much .*their squares overflow; divide X"):
        GroupMoments.from_data(X, np.arange(20) % 2)


@pytest.mark.parametrize("size", [1e-154, 1e-200, 1e-300])
def test_values_whose_squares_underflow_are_refused(size):
    X = np.random.default_rng(0).uniform(-0.4, 0.4, (20, 3)) * size
    with pytest.raises(
        ValueError, match=r"varies by .* at most, and the squares of such numbers underflow; multiply X"
    ):
        GroupMoments.from_data(X, np.arange(20) % 2)
    assert GroupMoments.from_data(X * 0.0, np.arange(20) % 2).n_samples == 20  # constant is not small


@given(st.lists(st.integers(0, 3), min_size=4, max_size=30), st.integers(0, 100), st.sampled_from([0.0, 1e6]))
def test_a_weight_is_a_number_of_rows(weights, seed, offset):
    rng = np.random.default_rng(seed)
    weights = np.array(weights)
    weights[0] = max(weights[0], 1)
    X, groups = rng.standard_normal((len(weights), 3)) + offset, rng.integers(0, 3, len(weights))
    weighted = GroupMoments.from_data(X, groups, sample_weight=weights)
    repeated = GroupMoments.from_data(np.repeat(X, weights, axis=0), np.repeat(groups, weights))
    assert weighted.labels == repeated.labels
    np.testing.assert_allclose(weighted.counts, repeated.counts)
    np.testing.assert_allclose(weighted.means, repeated.means, rtol=1e-13)
    tolerance = 1e-10 if offset else 1e-12
    np.testing.assert_allclose(weighted.scatters, repeated.scatters, atol=tolerance * 30)
    np.testing.assert_allclose(weighted.covariance(ddof=1), repeated.covariance(ddof=1), atol=tolerance)


def test_scale_of_weights_is_free_where_only_shares_count():
    rng = np.random.default_rng(0)
    X, groups, weights = rng.standard_normal((50, 4)), rng.integers(0, 2, 50), rng.random(50)
    some, tiny = (GroupMoments.from_data(X, groups, sample_weight=weights * c) for c in (1.0, 1e-6))
    np.testing.assert_allclose(some.covariances(), tiny.covariances(), rtol=1e-12)
    np.testing.assert_allclose(some.covariance(), np.cov(X.T, aweights=weights, ddof=0), rtol=1e-12)
    np.testing.assert_allclose(some.weights, tiny.weights)
    assert np.all(tiny.covariance(ddof=1) == 0)  # weights count rows
    with pytest.raises(ValueError, match="as the sum of weights, which count rows, so far"):
        PCA().fit(tiny)


@pytest.mark.parametrize(
    "weights, error, message",
    [
        ([1.0, -1.0], ValueError, r"not negative; it is not in row\(s\) 1"),
        ([np.nan, 1.0], ValueError, r"finite"),
        ([0.0, 0.0], ValueError, "zero for every row"),
        ([1.0], ValueError, "sample_weight has 1 rows but X has 2"),
        ([[1.0], [1.0]], ValueError, "one number for each row"),
        (["a", "b"], TypeError, "give numbers"),
    ],
)
def test_bad_weights(weights, error, message):
    with pytest.raises(error, match=message):
        GroupMoments.from_data([[1.0], [2.0]], [0, 1], sample_weight=weights)


def test_counts_of_a_million_million_rows_merge():
    part = GroupMoments(("a",), np.array([10**12]), np.zeros((1, 2)), np.eye(2)[None] * 1e12)
    other = GroupMoments(("a",), np.array([10**12]), np.ones((1, 2)), np.eye(2)[None] * 1e12)
    merged = part.merge(other)
    assert merged.n_samples == 2 * 10**12
    np.testing.assert_allclose(merged.covariance(), [[1.25, 0.25], [0.25, 1.25]])


def of(rows, groups=(0, 1), columns=None):
    return GroupMoments.from_data(pd.DataFrame(rows, columns=columns) if columns else rows, list(groups))


ONE = [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (r"NaN or infinite values in feature\(s\) \[1\]", lambda: of([[1.0, np.nan], [2.0, 1.0]])),
        ("two dimensions", lambda: of([1.0, 2.0])),
        ("convert it to numbers", lambda: of([["a"], ["b"]])),
        ("real numbers", lambda: of(np.ones((2, 2)) * 1j)),
        ("masked", lambda: of(np.ma.masked_array(np.ones((2, 2)), mask=np.eye(2, dtype=bool)))),
        ("no chunk", lambda: GroupMoments.from_chunks([])),
        ("different columns", lambda: of(ONE, columns=["a"]).merge(of(ONE, columns=["b"]))),
        ("1 and 2 features", lambda: of(ONE, columns=["a"]).merge(of([[1.0, 2.0]], [0]))),
        ("groups of different types: numbers and", lambda: of(ONE).merge(of(ONE, ["0", "1"]))),
        ("groups of different types: numbers and", lambda: of(ONE).merge(of(ONE, [False, True]))),
        ("squares overflow", lambda: of([[0.0], [0.0]], [0, 0]).merge(of([[1e160], [1e160]], [0, 0]))),
        ("squares overflow", lambda: of([[0.0], [0.0]], [0, 0]).merge(of([[1e300], [1e300]], [0, 0]))),
    ],
)
def test_what_is_refused_is_explained(message, call):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_whole_numbers_are_the_same_groups_as_floats():
    assert of(ONE).merge(of(ONE, [0.0, 1])).n_samples == 4


# --------------------------------------------------------------------------------------------------------------------
# Files


def moments(labels=("a", "b"), names=("x", "y"), weight=None):
    rng = np.random.default_rng(1)
    groups = [labels[i % len(labels)] for i in range(20)]
    X = pd.DataFrame(rng.standard_normal((20, 2)), columns=names) if names else rng.standard_normal((20, 2))
    return GroupMoments.from_data(X, groups, sample_weight=weight)


@pytest.mark.parametrize("labels", [("a", "ü"), (1, 2), (True, False), (0.5, 1.5), (("f", 1), ("m", 2))])
@pytest.mark.parametrize("names", [("x", "y"), None])
def test_saved_moments_come_back_to_the_bit(tmp_path, labels, names):
    for weight in (None, np.linspace(0.1, 2, 20)):
        before = moments(labels, names, weight)
        before.save(tmp_path / "m.npz")
        after = GroupMoments.load(tmp_path / "m.npz")
        assert (after.labels, after.feature_names) == (before.labels, before.feature_names)
        assert list(map(type, after.labels)) == list(map(type, before.labels))
        for name in ("counts", "means", "scatters"):
            np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
            assert getattr(after, name).dtype == getattr(before, name).dtype
        assert before.to_bytes() == after.to_bytes()


def test_no_changed_byte_goes_unnoticed(tmp_path):
    content = moments().to_bytes()
    rng = np.random.default_rng(0)
    path = tmp_path / "m.npz"
    reference = GroupMoments.from_bytes(content)
    for at in [*range(0, 60), *rng.integers(0, len(content), 300)]:
        changed = bytearray(content)
        changed[at] ^= 1 << rng.integers(8)
        path.write_bytes(bytes(changed))
        try:
            found = GroupMoments.load(path)
        except ValueError as error:
            assert "m.npz" in str(error)
        else:  # a byte that carries nothing, such as the date in the container
            assert found.to_bytes() == reference.to_bytes()
    for length in (0, 10, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="damaged"):
            GroupMoments.load(path)


def test_files_that_hold_something_else(tmp_path):
    np.savez(tmp_path / "other.npz", counts=np.ones(2))
    with pytest.raises(ValueError, match=r"other\.npz' holds no fairpca moments"):
        GroupMoments.load(tmp_path / "other.npz")
    with pytest.raises(FileNotFoundError):
        GroupMoments.load(tmp_path / "nothing.npz")
    odd = GroupMoments.from_data([[1.0], [2.0]], pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"])))
    with pytest.raises(TypeError, match="name the groups by text, numbers or booleans"):
        odd.save(tmp_path / "odd.npz")
    assert not (tmp_path / "odd.npz").exists()


# --------------------------------------------------------------------------------------------------------------------
# partial_fit


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 6)) * [3, 2, 1.5, 1, 1, 0.5]
    sex = np.where(rng.random(120) < 0.4, "f", "m")
    X[sex == "f"] += [0.5, 0, 1, 0, 0, 0]
    X[sex == "f", 3] *= 2
    return pd.DataFrame(X, columns=list("abcdef")), sex


def apart(one, other):
    return subspace_distance(orthonormal(one.components_.T), orthonormal(other.components_.T))


@pytest.mark.parametrize("estimator", MOMENTS_ONLY, ids=repr)
@pytest.mark.filterwarnings("ignore:RFPCA. stopped at its iteration limit:sklearn.exceptions.ConvergenceWarning")
def test_batches_fit_as_all_rows_do(estimator, rows):
    X, sex = rows
    weights = np.random.default_rng(0).integers(0, 3, 120)
    for weight in (None, weights):
        whole = clone(estimator).fit(X, sensitive_features=sex, sample_weight=weight)
        model = clone(estimator)
        for edges in ((0, 1), (1, 2), (2, 50), (50, 120)):  # the first ones smaller than n_components
            batch = slice(*edges)
            given = None if weight is None else np.maximum(weight[batch], 0)
            if given is not None and not given.any():
                continue
            model.partial_fit(X.iloc[batch], sensitive_features=sex[batch], sample_weight=given, solve=False)
        assert "components_" not in vars(model)
        model.solve()
        # The interior-point solver moves its answer by up to 1.4e-7 when the moments move by rounding.
        assert apart(model, whole) < (1e-6 if getattr(estimator, "solver", "") == "sdp" else 1e-7)
        np.testing.assert_allclose(model.result_.objective, whole.result_.objective, rtol=1e-7)
        assert list(model.feature_names_in_) == list("abcdef")


ESTIMATORS = (PCA(), MinMaxFairPCA(), FPCA(), RFPCA(), MeanFairPCA(), LinearEraser(), MBFPCA(tau=0.5))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_looking_at_attributes_solves_nothing(rows, estimator):
    X, sex = rows
    model = clone(estimator)
    if not isinstance(model, MBFPCA):
        model.partial_fit(X, sensitive_features=sex, solve=False)
    before = set(vars(model))
    for name in [*dir(clone(estimator).fit(X, sensitive_features=sex)), "nothing_"]:
        if not name.startswith("__"):
            hasattr(model, name)
    assert set(vars(model)) == before and not hasattr(model, "components_") and not hasattr(model, "mean_")
    with pytest.raises(NotFittedError):
        model.transform(X)


def test_a_batch_is_solved_at_its_end_or_when_asked(rows):
    X, sex = rows
    model = RFPCA(2)
    with pytest.raises(NotFittedError, match="call partial_fit first"):
        model.solve()
    model.partial_fit(X[:60], sensitive_features=sex[:60])
    first = model.transform(X)
    model.partial_fit(X[60:], sensitive_features=sex[60:], solve=False)
    assert "components_" not in vars(model)
    assert not np.allclose(np.abs(model.solve().transform(X)), np.abs(first))
    moments = GroupMoments.from_data(X, sex)
    parts = RFPCA(2).partial_fit(GroupMoments.from_data(X[:60], sex[:60]))
    parts.partial_fit(X[60:], sensitive_features=sex[60:])
    assert subspace_distance(parts.components_.T, RFPCA(2).fit(moments).components_.T) < 1e-7
    model.fit(X[:60], sensitive_features=sex[:60])
    np.testing.assert_allclose(model.transform(X), first)
    with pytest.raises(NotFittedError, match="call partial_fit first"):  # fit keeps no rows
        model.solve()


def test_fewer_rows_than_a_fit_needs(rows):
    X, sex = rows
    model = PCA(1)
    with pytest.raises(ValueError, match=r"1 sample\(s\) so far.*solve=False"):
        model.partial_fit(X[:1], sensitive_features=sex[:1])
    with pytest.raises(NotFittedError):
        model.transform(X)
    model.partial_fit(X[:1], sensitive_features=sex[:1], solve=False)
    model.partial_fit(X[1:], sensitive_features=sex[1:])
    np.testing.assert_allclose(model.mean_, X.mean())  # the first row counts, and once


def test_batches_without_groups_and_with_other_columns(rows):
    X, sex = rows
    with pytest.warns(UserWarning, match="no sensitive_features"):
        model = MinMaxFairPCA(2).partial_fit(X[:50])
    model.partial_fit(X[50:])
    assert subspace_distance(model.components_.T, PCA(2).fit(X).components_.T) < 1e-10
    with pytest.raises(ValueError, match="different types"):
        model.partial_fit(X, sensitive_features=sex)
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(X.rename(columns={"a": "z"}))
    assert subspace_distance(model.components_.T, PCA(2).fit(X).components_.T) < 1e-10
    three = np.arange(120) % 3
    wrong = FPCA(2).partial_fit(X, sensitive_features=three, solve=False)
    for _ in range(2):
        with pytest.raises(ValueError, match="exactly two"):
            wrong.solve()


def test_who_needs_rows_has_no_partial_fit_and_no_weights(rows):
    X, sex = rows
    assert not hasattr(MBFPCA(), "partial_fit")
    with pytest.raises(ValueError, match="takes no sample_weight"):
        MBFPCA().fit(X, sensitive_features=sex, sample_weight=np.ones(120))
    with pytest.raises(ValueError, match="already know their weights"):
        PCA().fit(GroupMoments.from_data(X, sex), sample_weight=np.ones(120))


@given(st.integers(0, 10**6), st.integers(2, 4000), st.booleans())
def test_a_constant_column_has_no_scatter_at_all(seed, n, weighted):
    """Not even of rounding, which would choose between directions without variance."""
    rng = np.random.default_rng(seed)
    X, groups = rng.standard_normal((n, 3)), np.append([0, 1], rng.integers(0, 2, n - 2))
    X[:, 1] = rng.standard_normal() * 10.0 ** rng.integers(-5, 6)
    weights = rng.uniform(0.1, 3.0, n) if weighted else None
    moments = GroupMoments.from_data(X, groups, sample_weight=weights)
    assert not moments.scatters[:, 1].any()
    assert (moments.means[:, 1] == X[0, 1]).all()

"""Groups, moments and linear algebra against slow, obvious versions."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairpca import GroupMoments
from fairpca._validation import check_choice, check_number, encode_groups
from fairpca.linalg import (
    clip_to_trace,
    fix_signs,
    geodesic,
    orthonormal,
    principal_angles,
    project_fantope,
    subspace_distance,
    top_eigenpairs,
)


@pytest.mark.parametrize(
    "given, labels",
    [
        ([2, 0, 2], (0, 2)),
        ([True, False, True], (False, True)),
        (np.array(["b", "a", "b"]), ("a", "b")),
        (pd.Series(["b", "a", "b"], dtype="string"), ("a", "b")),
        (pd.Categorical(["lo", "hi", "lo"], categories=["lo", "mid", "hi"]), ("lo", "hi")),
        ([1.5, -1.0, 1.5], (-1.0, 1.5)),
        ([1, "a", 1], (1, "a")),
        ([[0, "x"], [1, "y"], [0, "y"]], ((0, "x"), (0, "y"), (1, "y"))),
        (pd.DataFrame({"s": ["m", "f", "m"], "o": [1, 1, 0]}), (("f", 1), ("m", 0), ("m", 1))),
    ],
)
def test_groups_of_any_type(given, labels):
    groups = encode_groups(given, 3)
    assert groups.labels == labels
    frame = pd.DataFrame(given)
    for i in range(3):
        row = tuple(frame.iloc[i])
        assert groups.labels[groups.codes[i]] == (row if len(row) > 1 else row[0])
    assert groups.counts.sum() == 3


@pytest.mark.parametrize(
    "given, message",
    [
        (["a", None, "b"], r"missing values in 1 row\(s\): 1"),
        ([1.0, float("nan"), 2.0], r"row\(s\): 1"),
        (pd.DataFrame({"s": ["a", "b", "c"], "t": [1, None, None]}), r"column 't' has missing values in 2 row"),
        ([1, 2], "2 rows but X has 3"),
        (np.zeros((3, 1, 1)), "one row for each row"),
        ("sex", "Pass the column itself"),
        (None, "Pass the column itself"),
        (np.zeros((3, 0)), "no columns"),
    ],
)
def test_bad_groups(given, message):
    with pytest.raises(ValueError, match=message):
        encode_groups(given, 3)


def test_choice_and_number_messages():
    with pytest.raises(ValueError, match="solver='x' is not known; choose one of 'a', 'b'"):
        check_choice("solver", "x", ("a", "b"))
    with pytest.raises(TypeError, match="mu must be a number; got '1'"):
        check_number("mu", "1")
    with pytest.raises(TypeError, match="must be an integer"):
        check_number("n", 1.5, integer=True)
    with pytest.raises(ValueError, match=r"mu=-1 is out of range; it must lie in \[0, inf\)"):
        check_number("mu", -1, low=0)
    with pytest.raises(ValueError, match="not a number"):
        check_number("tau", float("nan"))
    check_number("tau", np.float32(0.5), low=0, low_open=True)


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


def test_moments_refuse_bad_data():
    with pytest.raises(ValueError, match=r"NaN or infinite values in feature\(s\) \[1\]"):
        GroupMoments.from_data([[1.0, np.nan], [2.0, 1.0]], [0, 1])
    with pytest.raises(ValueError, match="two dimensions"):
        GroupMoments.from_data([1.0, 2.0], [0, 1])
    with pytest.raises(TypeError, match="convert it to numbers"):
        GroupMoments.from_data([["a"], ["b"]], [0, 1])
    one = GroupMoments.from_data(pd.DataFrame({"a": [1.0, 2.0]}), [0, 1])
    with pytest.raises(ValueError, match="different columns"):
        one.merge(GroupMoments.from_data(pd.DataFrame({"b": [1.0, 2.0]}), [0, 1]))
    with pytest.raises(ValueError, match="1 and 2 features"):
        one.merge(GroupMoments.from_data([[1.0, 2.0]], [0]))
    with pytest.raises(ValueError, match="no chunk"):
        GroupMoments.from_chunks([])


@pytest.mark.parametrize("size", [1e155, 1e200, 1e300])
def test_values_whose_squares_overflow_are_refused_without_noise(size):
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[:, 1] *= size
    with pytest.raises(ValueError, match=r"feature\(s\) \[1\] of X vary so much .*their squares overflow; divide X"):
        GroupMoments.from_data(X, np.arange(20) % 2)


@pytest.mark.parametrize("size", [1e-141, 1e-200, 1e-300])
def test_values_whose_squares_underflow_are_refused(size):
    X = np.random.default_rng(0).uniform(-0.4, 0.4, (20, 3)) * size
    with pytest.raises(
        ValueError, match=r"varies by .* at most, and the squares of such numbers underflow; multiply X"
    ):
        GroupMoments.from_data(X, np.arange(20) % 2)
    assert GroupMoments.from_data(X * 0.0, np.arange(20) % 2).n_samples == 20  # constant is not small


def test_top_eigenpairs_both_drivers():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((40, 40))
    A = A + A.T
    for k in (1, 3, 20, 40):
        w, V = top_eigenpairs(A, k)
        np.testing.assert_allclose(w, np.sort(np.linalg.eigvalsh(A))[::-1][:k])
        np.testing.assert_allclose(A @ V, V * w, atol=1e-10)


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=12),
    st.floats(0, 1),
)
def test_clip_to_trace_solves_its_projection(values, share):
    w = np.array(values)
    d = share * w.size
    x = clip_to_trace(w, d)
    assert np.all((x >= 0) & (x <= 1))
    assert abs(x.sum() - d) < 1e-9
    # Optimality of the projection: no feasible transfer between two coordinates brings x nearer to w.
    slope = w - x
    can_grow, can_shrink = x < 1 - 1e-9, x > 1e-9
    if can_grow.any() and can_shrink.any():
        assert slope[can_grow].max() <= slope[can_shrink].min() + 1e-7


def test_fantope_projection_against_cvxpy():
    import cvxpy as cp

    rng = np.random.default_rng(4)
    A = rng.standard_normal((5, 5))
    A = (A + A.T) / 2
    P = cp.Variable((5, 5), symmetric=True)
    cp.Problem(cp.Minimize(cp.sum_squares(P - A)), [P >> 0, np.eye(5) - P >> 0, cp.trace(P) == 2]).solve(
        solver="CLARABEL"
    )
    np.testing.assert_allclose(project_fantope(A, 2), P.value, atol=1e-5)


def test_principal_angles_are_accurate_at_both_ends():
    for angle in (1e-9, 1e-4, 0.7, np.pi / 2 - 1e-9):
        V = np.eye(4)[:, :2]
        W = np.column_stack((V[:, 0], np.cos(angle) * V[:, 1] + np.sin(angle) * np.eye(4)[:, 3]))
        np.testing.assert_allclose(principal_angles(V, W)[-1], angle, rtol=1e-7)
        np.testing.assert_allclose(subspace_distance(V, W), np.sin(angle), rtol=1e-7)
    with pytest.raises(ValueError, match="different spaces"):
        principal_angles(np.eye(3)[:, :1], np.eye(4)[:, :1])
    with pytest.raises(ValueError, match="different dimensions"):
        subspace_distance(np.eye(3)[:, :1], np.eye(3)[:, :2])


@pytest.mark.parametrize("wrong", [[1.0, 0.0], np.array(1.0), [["a"], ["b"]], None])
def test_angles_are_between_matrices_of_numbers(wrong):
    basis = np.eye(2)[:, :1]
    assert principal_angles([[1.0], [0.0]], basis).tolist() == [0.0]
    assert subspace_distance([[0.0], [1.0]], basis) == 1.0
    for bases, name in (((wrong, basis), "first"), ((basis, wrong), "second")):
        for function in (principal_angles, subspace_distance):
            with pytest.raises(ValueError, match=f"the {name} basis has shape .* give a matrix of numbers"):
                function(*bases)


def test_geodesic_ends_and_stays_orthonormal():
    rng = np.random.default_rng(5)
    A, B = orthonormal(rng.standard_normal((6, 3))), orthonormal(rng.standard_normal((6, 3)))
    path = geodesic(A, B)
    assert subspace_distance(path(0), A) < 1e-12 and subspace_distance(path(1), B) < 1e-12
    for u in (0.0, 0.3, 1.0):
        np.testing.assert_allclose(path(u).T @ path(u), np.eye(3), atol=1e-12)
    still = geodesic(A, A)
    assert subspace_distance(still(0.5), A) < 1e-12


def test_signs_are_deterministic():
    V = np.array([[0.6, -0.8], [-0.7, -0.7]])
    np.testing.assert_array_equal(fix_signs(V), [[-0.6, 0.8], [0.7, 0.7]])
    np.testing.assert_array_equal(fix_signs(-V), fix_signs(V))

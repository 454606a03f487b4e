"""MMD² and its gradient against double loops, finite differences, the paper's closed form; bits against threads."""

import tracemalloc

import numpy as np
import pytest
from bench_mmd import closed_form, closed_form_value
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from fairpca.solvers.mmd import (
    FourierRows,
    WeightedRows,
    contrast_weights,
    gaussian_frequencies,
    kernel_bytes,
    kernel_products,
    merge_duplicates,
    mmd2,
    stratified_rows,
    subsampled,
)
from fairpca.solvers.mmd import _blocks as _mmd_blocks
from fairpca.solvers.mmd._exp2 import exp2_negative


def grouped(n, p, seed=0, groups=2):
    rng = np.random.default_rng(seed)
    codes = np.concatenate((np.arange(groups), rng.integers(0, groups, n - groups)))
    X = rng.standard_normal((n, p)) * np.linspace(2, 0.5, p)
    X += np.linspace(-0.5, 0.5, groups)[codes, None]
    return X, codes


def frame(p, d, seed=1):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((p, d)))[0]


def double_loop(A, B, sigma):
    """MMD² of two samples by Lemma 1, with Python's own exp."""
    from math import exp

    def mean(S, T):
        return sum(
            exp(-sum((a - b) ** 2 for a, b in zip(s, t, strict=True)) / (2 * sigma**2)) for s in S for t in T
        ) / (len(S) * len(T))

    return mean(A, A) + mean(B, B) - 2 * mean(A, B)


def test_power_of_two_is_accurate_to_the_last_bits():
    power = njit(lambda t: exp2_negative(t))
    t = -np.concatenate((np.linspace(0, 3, 20001), np.linspace(3, 1020, 20001), [0.5, 1.5, 2.5]))
    ours = np.array([power(v) for v in t])
    np.testing.assert_allclose(ours, np.exp2(t), rtol=5e-16)
    assert power(-1e9) == pytest.approx(2.0**-1021)
    assert power(-1e300) < 1e-300


@given(
    n=st.integers(2, 40),
    d=st.integers(1, 5),
    seed=st.integers(0, 10**6),
    sigma=st.floats(0.3, 5),
)
def test_value_against_the_double_loop(n, d, seed, sigma):
    Z, codes = grouped(n, d, seed)
    expected = double_loop(Z[codes == 0].tolist(), Z[codes == 1].tolist(), sigma)
    assert mmd2(Z, contrast_weights(codes, 2), sigma) == pytest.approx(expected, abs=3e-15, rel=1e-12)


@pytest.mark.parametrize("n", [2, 7, 8, 255, 511, 512, 513, 1025, 2049])
@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_value_and_gradient_against_the_papers_closed_form(n, d):
    X, codes = grouped(n, d + 3)
    V = frame(d + 3, d)
    h, gradient = closed_form(X[codes == 0], X[codes == 1], V, 1.7)
    assert closed_form_value(X[codes == 0], X[codes == 1], V, 1.7) == pytest.approx(h, abs=1e-14)
    value, ours = WeightedRows.from_groups(X, codes).value_and_gradient(V, 1.7)
    assert value == pytest.approx(h, abs=1e-14)
    np.testing.assert_allclose(ours, gradient, atol=1e-13 * max(1, np.abs(gradient).max()))


@pytest.mark.parametrize("groups", [2, 3])
def test_gradient_against_finite_differences_of_fourth_order(groups):
    X, codes = grouped(300, 6, groups=groups)
    V, direction = frame(6, 3), np.random.default_rng(5).standard_normal((6, 3))
    term = WeightedRows.from_groups(X, codes, groups)
    step = 1e-3
    f = [term.value(V + t * step * direction, 1.1) for t in (-2, -1, 1, 2)]
    numeric = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)
    value, gradient = term.value_and_gradient(V, 1.1)
    assert np.sum(gradient * direction) == pytest.approx(numeric, rel=1e-8)
    assert value == pytest.approx(term.value(V, 1.1), abs=1e-15)


def test_products_with_any_matrix():
    Z, _ = grouped(700, 3)
    W = np.random.default_rng(2).standard_normal((5, 700))
    K = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2) / (2 * 0.8**2))
    np.testing.assert_allclose(kernel_products(Z, W, 0.8), W @ K, rtol=1e-12, atol=1e-12)


def test_merging_duplicates_is_exact():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (400, 4)).astype(float)
    codes = rng.integers(0, 2, 400)
    C = contrast_weights(codes, 2)
    rows, weights = merge_duplicates(X, C)
    assert len(rows) <= 81
    np.testing.assert_allclose(weights.sum(axis=1), 0, atol=1e-15)
    V = frame(4, 2)
    reference, slope = WeightedRows(X, C).value_and_gradient(V, 1.0)
    value, gradient = WeightedRows(rows, weights).value_and_gradient(V, 1.0)
    assert value == pytest.approx(reference, abs=1e-16)
    np.testing.assert_allclose(gradient, slope, atol=1e-15)


def test_weights_that_nearly_cancel_are_kept():
    """One row in each of two groups of nearly equal size, the others elsewhere: 1/m - 1/n is small and no rounding."""
    m, n = 10**6 + 1, 10**6
    X = np.array([[0.0], [0.0], [1.0], [2.0]])
    C = np.array([[1 / m, -1 / n, 1 - 1 / m, 1 / n - 1]])
    rows, weights = merge_duplicates(X, C)
    np.testing.assert_array_equal(rows.ravel(), [0.0, 1.0, 2.0])
    assert weights[0, 0] == pytest.approx(-1 / (m * n), rel=1e-9)
    # What cancels but for rounding is dropped.
    rows, _ = merge_duplicates(np.array([[0.0], [0.0], [1.0]]), np.array([[0.1 + 0.2, -0.3, 1.0]]))
    np.testing.assert_array_equal(rows, [[1.0]])


def test_equal_samples_have_no_discrepancy():
    A = np.random.default_rng(0).standard_normal((60, 3))
    term = WeightedRows.from_groups(np.vstack((A, A)), np.repeat([0, 1], 60))
    assert len(term.X) <= 1 or term.value(np.eye(3)[:, :2], 1.0) < 1e-28


@pytest.mark.parametrize("n", [1000, 5003])
def test_any_number_of_threads_gives_the_same_bits(n, monkeypatch):
    monkeypatch.setattr(_mmd_blocks, "_THREADING_PAYS", 0)
    X, codes = grouped(n, 6)
    term, V = WeightedRows.from_groups(X, codes), frame(6, 2)
    value, gradient = term.value_and_gradient(V, 1.0, n_threads=1)
    for threads in (2, 3, 7):
        other, slope = term.value_and_gradient(V, 1.0, n_threads=threads)
        assert other == value
        np.testing.assert_array_equal(slope, gradient)


@pytest.mark.parametrize("n_blocks", [1, 2, 6, 10])
def test_schedule_has_each_pair_once_and_disjoint_rounds(n_blocks):
    tasks = _mmd_blocks._schedule(n_blocks)
    assert sorted(map(tuple, tasks.tolist())) == [(a, b) for a in range(n_blocks) for b in range(a, n_blocks)]
    np.testing.assert_array_equal(tasks[:n_blocks, 0], tasks[:n_blocks, 1])
    for pairs in tasks[n_blocks:].reshape(n_blocks - 1, n_blocks // 2, 2):
        assert np.unique(pairs).size == pairs.size


def test_an_error_in_one_thread_ends_all_and_is_raised():
    def run(task):
        if task == 7:
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        _mmd_blocks._in_order(_mmd_blocks._schedule(6), run, 3)


def test_memory_is_linear():
    X, codes = grouped(20000, 3)
    term, V = WeightedRows(X, contrast_weights(codes, 2)), frame(3, 2)
    term.value_and_gradient(V[:, :1], 1.0)
    tracemalloc.start()
    term.value_and_gradient(V, 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * kernel_bytes(20000, 2) < 20000 * 20000 * 8 / 500


def test_fourier_features_converge_and_their_gradient_is_exact():
    X, codes = grouped(3000, 5)
    V, direction = frame(5, 2), np.random.default_rng(5).standard_normal((5, 2))
    exact, slope = WeightedRows.from_groups(X, codes).value_and_gradient(V, 1.0)
    draws = [FourierRows.from_groups(X, codes, 2, 64, seed).value(V, 1.0) for seed in range(40)]
    assert abs(np.mean(draws) - exact) < 4 * np.std(draws) / np.sqrt(len(draws)), "the estimate is biased"
    errors = []
    for size in (64, 4096):
        term = FourierRows.from_groups(X, codes, 2, size, 0)
        value, gradient = term.value_and_gradient(V, 1.0)
        errors.append(abs(value - exact) / exact)
        h = 1e-5
        numeric = (term.value(V + h * direction, 1.0) - term.value(V - h * direction, 1.0)) / (2 * h)
        assert np.sum(gradient * direction) == pytest.approx(numeric, rel=1e-6)
        assert abs(value - exact) < 4 * np.std(draws) * np.sqrt(64 / size)
    assert errors[1] < 0.02
    assert np.linalg.norm(gradient - slope) < 0.05 * np.linalg.norm(slope)
    assert gaussian_frequencies(100, 3, 0).shape == (128, 3)


def test_subsample_keeps_the_shares_and_its_error_is_of_the_stated_size():
    X, codes = grouped(6000, 4)
    V = frame(4, 2)
    exact = WeightedRows.from_groups(X, codes).value(V, 1.0)
    rows = stratified_rows(codes, 1000, np.random.default_rng(0))
    assert np.bincount(codes[rows])[0] == round(1000 * np.mean(codes == 0))
    assert np.all(np.diff(rows) > 0)
    term = subsampled(X, codes, 1000, 0)
    np.testing.assert_array_equal(term.X, subsampled(X, codes, 1000, 0).X)
    assert abs(term.value(V, 1.0) - exact) < 0.03
    tiny = stratified_rows(np.array([0] * 500 + [1] * 3), 20, np.random.default_rng(0))
    assert np.sum(tiny >= 500) == 2


@pytest.mark.parametrize("d", [3, 4, 7])
def test_rows_far_apart_in_bandwidths(d):
    """With |a|² + |b|² - 2ab a kernel value could be 2**1000 here."""
    rng = np.random.default_rng(d)
    X, codes = rng.standard_normal((40, d)), np.arange(40) % 2
    X[::4] += 1e12  # one cluster; its rows are apart by what is left of their digits
    sigma = 1e-3
    term = WeightedRows.from_groups(X, codes)
    value, gradient = term.value_and_gradient(np.eye(d), sigma)
    expected = double_loop(X[codes == 0].tolist(), X[codes == 1].tolist(), sigma)
    assert value == pytest.approx(expected, abs=1e-12) and term.value(np.eye(d), sigma) == pytest.approx(expected)
    assert np.isfinite(gradient).all()
    own = double_loop(X[:20].tolist(), X[20:].tolist(), sigma)
    members = np.repeat(np.eye(2), 20, axis=1)
    sums = kernel_products(X, members, sigma) @ members.T
    assert (sums[0, 0] + sums[1, 1] - 2 * sums[0, 1]) / 400 == pytest.approx(own, abs=1e-12)


@pytest.mark.parametrize("d, n_groups", [(1, 2), (3, 3), (5, 2)])
def test_many_values_and_gradients_are_those_of_each(d, n_groups):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((90, 7))
    term = WeightedRows.from_groups(X, np.arange(90) % n_groups)
    bases = np.array([np.linalg.qr(rng.standard_normal((7, d)))[0] for _ in range(4)])
    values, gradients = term.values_and_gradients(bases, 1.3)
    for V, value, gradient in zip(bases, values, gradients, strict=True):
        expected = term.value_and_gradient(V, 1.3)
        assert value == pytest.approx(expected[0], abs=1e-14)
        np.testing.assert_allclose(gradient, expected[1], atol=1e-14)

"""Metrics against slow double loops, hand-computed values and other libraries."""

import itertools
import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp
from sklearn.decomposition import PCA as SkPCA
from sklearn.svm import SVC

from fairpca import GroupMoments, metrics
from fairpca.linalg import orthonormal
from fairpca.metrics import _mmd
from fairpca.solvers.mmd import _blocks


def grouped(seed=0, n=40, p=5, m=2):
    rng = np.random.default_rng(seed)
    labels = np.concatenate((np.arange(m), np.arange(m), rng.integers(0, m, n - 2 * m)))
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + rng.standard_normal((m, p))[labels]
    return X, labels, orthonormal(rng.standard_normal((p, 2)))


# --- variance


def test_explained_variance_against_scikit_learn_and_by_hand():
    X, labels, V = grouped()
    pca = SkPCA(2).fit(X)
    expected = 100 * pca.explained_variance_ratio_.sum()
    assert metrics.explained_variance_percent(X, pca.components_.T) == pytest.approx(expected, rel=1e-12)
    # Rows (3, 0), (-3, 0), (0, 4), (0, -4): 18 of 50 along the first axis.
    cross = np.array([[3.0, 0], [-3, 0], [0, 4], [0, -4]])
    assert metrics.explained_variance_percent(cross, np.array([[1.0], [0]])) == pytest.approx(36.0)
    C = np.cov(X.T)
    assert metrics.explained_variance_percent(X, V) == pytest.approx(100 * np.trace(V.T @ C @ V) / np.trace(C))
    moments = GroupMoments.from_data(X, labels)
    assert metrics.explained_variance_percent(moments, V) == pytest.approx(metrics.explained_variance_percent(X, V))


def test_communality_is_a_property_of_the_subspace():
    V = np.array([[0.6, 0.0], [0.8, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(metrics.communality(V), [0.36, 0.64, 1.0])
    assert metrics.communality(V, 1) == pytest.approx(0.64)
    _, _, W = grouped(3)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    np.testing.assert_allclose(metrics.communality(W @ turn), metrics.communality(W))


# --- reconstruction


@pytest.mark.parametrize("centering", ["group", "overall", "none"])
@pytest.mark.parametrize("m", [2, 3])
def test_reconstruction_against_a_loop(centering, m):
    X, labels, V = grouped(1, m=m)
    expected, best = [], []
    for g in range(m):
        rows = [x for x, s in zip(X, labels, strict=True) if s == g]
        c = {"group": sum(rows) / len(rows), "overall": X.mean(0), "none": np.zeros(5)}[centering]
        total = 0.0
        for x in rows:
            residue = (x - c) - V @ (V.T @ (x - c))
            total += sum(r * r for r in residue)
        expected.append(total / len(rows))
        singular = np.linalg.svd(np.array(rows) - c, compute_uv=False)
        best.append(np.sum(singular[2:] ** 2) / len(rows))  # Eckart-Young for the group alone
    errors = metrics.reconstruction_errors(X, V, labels, centering=centering)
    losses = metrics.reconstruction_losses(X, V, labels, centering=centering)
    np.testing.assert_allclose(errors, expected)
    np.testing.assert_allclose(losses, np.array(expected) - best, atol=1e-12)
    assert metrics.max_reconstruction_loss(X, V, labels, centering=centering) == pytest.approx(losses.max())
    assert metrics.ab_difference(errors) == pytest.approx(max(expected) - min(expected))
    moments = GroupMoments.from_data(X, labels)
    np.testing.assert_allclose(metrics.reconstruction_errors(moments, V, centering=centering), expected)
    through_matrix = metrics.reconstruction_losses(
        X, None, labels, centering=centering, projection=V @ V.T, n_components=2
    )
    np.testing.assert_allclose(through_matrix, losses, atol=1e-12)


def test_criteria_of_vu_et_al_on_a_test_part():
    train, s_train, V = grouped(4)
    test, s_test, _ = grouped(5)
    P = 0.9 * V @ V.T  # not a projector, as in one of the published columns
    means = np.array([train[s_train == g].mean(0) for g in (0, 1)])
    by_hand = []
    for g in (0, 1):
        A = test[s_test == g] - means[g]
        by_hand.append(np.linalg.norm(A - A @ P, "fro") ** 2 / len(A))
    errors = metrics.reconstruction_errors(test, None, s_test, centers=means, projection=P)
    np.testing.assert_allclose(errors, by_hand)
    assert metrics.ab_difference(errors) == pytest.approx(abs(by_hand[0] - by_hand[1]))
    are = np.linalg.norm(test - test @ V @ V.T, "fro") ** 2 / len(test)
    assert metrics.average_reconstruction_error(test, V) == pytest.approx(are)
    assert metrics.average_reconstruction_error(GroupMoments.from_data(test, s_test), V) == pytest.approx(are)
    centred = test - test.mean(0)
    are = np.linalg.norm(centred - centred @ V @ V.T, "fro") ** 2 / len(test)
    assert metrics.average_reconstruction_error(test, V, center=test.mean(0)) == pytest.approx(are)


@given(st.integers(0, 200))
def test_losses_are_not_negative_and_vanish_on_the_own_subspace(seed):
    X, labels, V = grouped(seed)
    assert metrics.reconstruction_losses(X, V, labels).min() > -1e-10
    A = X[labels == 0]
    own = SkPCA(2).fit(A).components_.T
    assert metrics.reconstruction_losses(X, own, labels).loc[0] == pytest.approx(0.0, abs=1e-9)


# --- MMD


def slow_mmd(A, B, sigma, estimator):
    def k(x, y):
        return math.exp(-sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / (2 * sigma**2))

    drop = estimator == "unbiased"
    aa = sum(k(x, y) for i, x in enumerate(A) for j, y in enumerate(A) if not (drop and i == j))
    bb = sum(k(x, y) for i, x in enumerate(B) for j, y in enumerate(B) if not (drop and i == j))
    ab = sum(k(x, y) for x in A for y in B)
    m, n = len(A), len(B)
    if drop:
        return aa / (m * (m - 1)) + bb / (n * (n - 1)) - 2 * ab / (m * n)
    return aa / m**2 + bb / n**2 - 2 * ab / (m * n)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize("tile", [1024, 8])
def test_mmd_against_a_double_loop(estimator, tile, monkeypatch):
    monkeypatch.setattr(_blocks, "_BLOCK", tile)
    X, labels, V = grouped(2, m=3)
    Z = X @ V
    table = metrics.pairwise_mmd_squared(Z, labels, 1.3, estimator=estimator)
    for a, b in itertools.combinations(range(3), 2):
        slow = slow_mmd(Z[labels == a], Z[labels == b], 1.3, estimator)
        assert table.loc[a, b] == pytest.approx(slow, abs=1e-14)
        assert table.loc[b, a] == table.loc[a, b]
    expected = max(table.loc[a, b] for a, b in itertools.combinations(range(3), 2))
    assert metrics.mmd_squared(Z, labels, 1.3, estimator=estimator) == expected


def test_mmd_by_hand():
    # Points 0 | 1 with sigma 1: 1 + 1 - 2 exp(-1/2).
    assert metrics.mmd_squared([[0.0], [1.0]], [0, 1], 1.0) == pytest.approx(2 - 2 * math.exp(-0.5), abs=1e-15)


@given(st.integers(0, 1000), st.floats(0.1, 10))
def test_mmd_properties(seed, sigma):
    X, labels, V = grouped(seed, n=20)
    Z = X @ V
    value = metrics.mmd_squared(Z, labels, sigma)
    assert 0 <= value <= 2
    order = np.random.default_rng(seed).permutation(20)
    assert metrics.mmd_squared(Z[order], labels[order], sigma) == pytest.approx(value, abs=1e-13)
    assert metrics.mmd_squared(Z, 1 - labels, sigma) == pytest.approx(value, abs=1e-13)
    turn = orthonormal(np.random.default_rng(seed).standard_normal((2, 2)))
    assert metrics.mmd_squared(Z @ turn + 3, labels, sigma) == pytest.approx(value, abs=1e-12)
    twice = np.vstack((Z, Z))
    assert metrics.mmd_squared(twice, np.repeat([0, 1], 20), sigma) == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_permutation_null_is_that_of_explicit_permutations(estimator, monkeypatch):
    monkeypatch.setattr(_mmd, "_BATCH_BYTES", 8 * 40 * 20)  # several batches
    X, labels, V = grouped(6)
    Z = X @ V
    test = metrics.mmd_permutation_test(Z, labels, 2.0, estimator=estimator, n_permutations=50, random_state=3)
    assert test.value == pytest.approx(metrics.mmd_squared(Z, labels, 2.0, estimator=estimator), abs=1e-14)
    rng = np.random.default_rng(3)
    base = labels == 0
    slow = [metrics.mmd_squared(Z, rng.permutation(base), 2.0, estimator=estimator) for _ in range(50)]
    np.testing.assert_allclose(test.null, np.sort(slow), atol=1e-14)
    assert test.p_value == pytest.approx((1 + sum(v >= test.value - 1e-12 for v in slow)) / 51)
    assert test.quantile(0.95) == pytest.approx(np.quantile(slow, 0.95))


def test_labellings_that_swap_equal_rows_are_as_extreme_as_the_observed_one():
    """Of 924 labellings 2 separate the two values, and 72 misplace one row on each side, as the observed one does."""
    groups = [0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1]
    for seed in (2, 5, 11):  # in two of them sums in another order make labellings seem less extreme
        Z = np.repeat(np.random.default_rng(seed).standard_normal((2, 3)), 6, axis=0)
        found = metrics.mmd_permutation_test(Z, groups, 0.7, n_permutations=300, random_state=0)
        assert found.p_value == pytest.approx(74 / 924, abs=0.04)


def test_more_permutations_take_no_more_memory(monkeypatch):
    n, batch = 400, 20
    monkeypatch.setattr(_mmd, "_BATCH_BYTES", 8 * n * batch)
    Z, labels = np.random.default_rng(0).standard_normal((n, 2)), np.arange(n) % 2

    def peak(n_permutations):
        tracemalloc.start()
        try:
            metrics.mmd_permutation_test(Z, labels, 1.0, n_permutations=n_permutations, random_state=0)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)  # whatever is made once
    few, many = peak(2 * batch), peak(40 * batch)
    assert many < few + 8 * n * batch  # a table of all labellings would take forty times as much


def test_permutation_test_tells_equal_from_different():
    rng = np.random.default_rng(0)
    Z, labels = rng.standard_normal((200, 2)), np.repeat(["a", "b"], 100)
    same = metrics.mmd_permutation_test(Z, labels, 1.0, n_permutations=200, random_state=0)
    assert same.p_value > 0.05 and same.value < same.quantile(0.99)
    Z[:100] += 1
    different = metrics.mmd_permutation_test(Z, labels, 1.0, n_permutations=200, random_state=0)
    assert different.p_value == pytest.approx(1 / 201) and different.value > different.null.max()
    # Under the null the unbiased estimator is zero on average, the biased one is not.
    unbiased = metrics.mmd_permutation_test(
        Z, labels, 1.0, estimator="unbiased", n_permutations=400, random_state=1
    ).null
    assert abs(unbiased.mean()) < 4 * unbiased.std() / 20 and same.null.mean() > 10 * abs(unbiased.mean())


@pytest.mark.parametrize("n", [9, 10, 60, 61])
@pytest.mark.parametrize("kind", ["normal", "integers"])
def test_bandwidth_in_memory_and_in_passes(n, kind, monkeypatch):
    rng = np.random.default_rng(n)
    Z = rng.standard_normal((n, 2)) if kind == "normal" else rng.integers(0, 4, (n, 2)).astype(float)
    distances = [math.dist(a, b) for a, b in itertools.combinations(Z, 2)]
    expected = np.median(distances), math.sqrt(np.median(np.square(distances)) / 2)
    for limit in (5_000_000, 10, 0):
        monkeypatch.setattr(_mmd, "_ALL_PAIRS", limit)
        monkeypatch.setattr(_mmd, "_TILE", 8)
        assert metrics.median_bandwidth(Z, "median") == pytest.approx(expected[0], rel=1e-14)
        assert metrics.median_bandwidth(Z, "code") == pytest.approx(expected[1], rel=1e-14)


# --- separation by linear classifiers


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=4, max_size=30))
def test_ks_against_scipy_with_ties(rows):
    scores, labels = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    if labels.all() or not labels.any():
        labels[0] = not labels[0]
    expected = ks_2samp(scores[labels], scores[~labels]).statistic
    assert metrics.ks_separation(scores, labels) == pytest.approx(expected, abs=1e-12)
    assert metrics.ks_separation(-2 * scores + 1, labels) == pytest.approx(expected, abs=1e-12)


def test_ks_of_three_groups_is_the_largest_pair():
    rng = np.random.default_rng(0)
    scores, labels = rng.standard_normal(90) + np.repeat([0, 1, 0.5], 30), np.repeat([0, 1, 2], 30)
    pairs = [ks_2samp(scores[labels == a], scores[labels == b]).statistic for a, b in ((0, 1), (0, 2), (1, 2))]
    assert metrics.ks_separation(scores, labels) == pytest.approx(max(pairs))


def svm_problem(n, k, shift, share, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    Z = rng.standard_normal((n, k))
    Z[y, 0] += shift
    return Z, y


@pytest.mark.parametrize("cost", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("shift, share", [(0.5, 0.3), (2.0, 0.5), (8.0, 0.5)])
@pytest.mark.parametrize("balanced", [False, True])
def test_linear_svm_against_cvxpy(cost, shift, share, balanced):
    import cvxpy as cp

    Z, y = svm_problem(80, 3, shift, share)
    machine = metrics.linear_svm(Z, y, cost, balanced=balanced)
    w, b, sign = cp.Variable(3), cp.Variable(), np.where(y, 1.0, -1.0)
    weight = np.where(y, 80 / (2 * y.sum()), 80 / (2 * (~y).sum())) if balanced else np.ones(80)
    loss = 0.5 * cp.sum_squares(w) + (cost * weight) @ cp.pos(1 - cp.multiply(sign, Z @ w + b))
    problem = cp.Problem(cp.Minimize(loss))
    problem.solve(solver="CLARABEL")
    assert machine.gap <= 1e-11 and machine.lower_bound <= machine.objective
    assert machine.objective == pytest.approx(problem.value, rel=1e-6)
    assert machine.objective <= problem.value * (1 + 1e-9)
    np.testing.assert_allclose(machine.weights, w.value, atol=1e-5)
    margins = sign * (Z @ machine.weights + machine.intercept)
    by_hand = 0.5 * machine.weights @ machine.weights + cost * weight @ np.maximum(0, 1 - margins)
    assert machine.objective == pytest.approx(by_hand, rel=1e-12)


def test_linear_svm_against_libsvm_and_rare_class():
    Z, y = svm_problem(300, 3, 1.0, 0.4, seed=1)
    machine = metrics.linear_svm(Z, y, 0.7)
    other = SVC(C=0.7, kernel="linear", tol=1e-8).fit(Z, y)
    np.testing.assert_allclose(machine.weights, other.coef_[0], atol=1e-5)
    assert not machine.degenerate
    # One positive in the middle of the others: a constant prediction is optimal, whatever the cost.
    Z = np.vstack((Z, np.zeros((1, 3))))
    alone = np.r_[np.zeros(300, dtype=bool), True]
    for cost in (1e-4, 1.0, 1e4):
        machine = metrics.linear_svm(Z, alone, cost)
        assert machine.degenerate and machine.objective == pytest.approx(2 * cost, rel=1e-10)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("power", [-150, -100, -20, -8, 8, 20, 100, 150, 200, 300])
def test_linear_machines_of_rows_in_any_unit(power):
    """The limits in closed form: of small rows all hinges are active, of large ones the norm counts nothing."""
    Z, y = svm_problem(200, 3, 1.0, 0.5)
    y = np.arange(200) % 2 == 0
    Z[y, 0] += 1.0
    sign, unit = np.where(y, 1.0, -1.0), 10.0**power
    machine = metrics.linear_svm(Z * unit, y)
    assert np.isfinite(machine.weights).all() and not machine.degenerate
    assert 0.0 <= machine.lower_bound <= machine.objective
    if power < 0:
        np.testing.assert_allclose(machine.weights / unit, sign @ Z, rtol=1e-4)  # all multipliers at their limit
        assert machine.gap <= 1e-11
    else:
        usual = metrics.linear_svm(Z, y, 1e8)  # nearly the least hinge loss
        assert machine.objective == pytest.approx(usual.objective / 1e8, rel=1e-6)
        np.testing.assert_allclose(machine.weights * unit, usual.weights, rtol=1e-5)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("power", [-300, -150, 150, 300])
@pytest.mark.parametrize("protocol", ["printed", "stated"])
def test_separation_has_no_unit(power, protocol):
    Z, y = svm_problem(120, 2, 1.5, 0.5, seed=1)
    units = 10.0 ** np.array([power, 0])
    plain, scaled = (
        metrics.delta_f_lin(A[:60], y[:60], A[60:], y[60:], protocol=protocol, costs=(0.1, 10.0), random_state=0)
        for A in (Z, Z * units)
    )
    assert scaled.value == pytest.approx(plain.value) and plain.value > 0.3
    np.testing.assert_allclose(scaled.weights, plain.weights, rtol=1e-8)


def slow_delta_f_lin(Z, y, costs, order):
    """The printed protocol transcribed with libsvm: only for problems whose optimum is not w = 0."""
    Z = (Z - Z.mean(0)) / Z.std(0)
    n, totals = len(y), []
    folds = [order[int(i * n / 5) : int((i + 1) * n / 5)] for i in range(5)]
    for cost in costs:
        total = 0.0
        for fold in folds:
            rest = np.setdiff1d(np.arange(n), fold)
            if y[fold].all() or not y[fold].any() or y[rest].all() or not y[rest].any():
                continue
            w = SVC(C=cost, kernel="linear", tol=1e-8).fit(Z[rest], y[rest]).coef_[0]
            total += ks_2samp(Z[fold][y[fold]] @ w, Z[fold][~y[fold]] @ w).statistic
        totals.append(total)
    w = SVC(C=costs[int(np.argmax(totals))], kernel="linear", tol=1e-8).fit(Z, y).coef_[0]
    return ks_2samp(Z[y] @ w, Z[~y] @ w).statistic, totals


def test_printed_delta_f_lin_against_a_transcription():
    Z, y = svm_problem(200, 3, 1.5, 0.45, seed=2)
    costs = (1e-2, 1.0, 1e2)
    result = metrics.delta_f_lin(Z, y, protocol="printed", costs=costs, random_state=7)
    order = np.arange(200)
    np.random.RandomState(7).shuffle(order)
    value, totals = slow_delta_f_lin(Z, y, costs, order)
    assert not result.degenerate
    assert result.value == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(result.cross_validation, totals, atol=1e-12)


def test_delta_f_lin_consumes_the_stream_it_is_given():
    Z, y = svm_problem(100, 3, 1.0, 0.5)
    stream, twin = np.random.RandomState(5), np.random.RandomState(5)
    metrics.delta_f_lin(Z, y, protocol="printed", random_state=stream)
    twin.shuffle(np.arange(100))
    assert stream.rand() == twin.rand()


def test_stated_delta_f_lin():
    Z, y = svm_problem(400, 3, 3.0, 0.5, seed=3)
    clear = metrics.delta_f_lin(Z[:200], y[:200], Z[200:], y[200:], random_state=0)
    assert clear.value > 0.8 and not clear.degenerate
    scores = (Z[:200] - Z[200:].mean(0)) / Z[200:].std(0) @ clear.weights
    assert clear.value == pytest.approx(ks_2samp(scores[y[:200]], scores[~y[:200]]).statistic)
    # Equal group means in training: w = 0 is optimal for every cost, balanced or not, and nothing is separated.
    A = np.random.default_rng(0).standard_normal((50, 3))
    train, s = np.vstack((A, -A, A, -A)), np.repeat([0, 1], 100)
    fair = metrics.delta_f_lin(Z[:200], y[:200].astype(int), train, s, random_state=0)
    assert fair.degenerate and fair.value == 0.0
    assert not np.any(fair.cross_validation < 0)


# --- classification


@pytest.mark.parametrize("protocol", ["printed", "stated"])
def test_a_coordinate_that_does_not_vary_separates_nothing_and_harms_nothing(protocol):
    Z, y = svm_problem(120, 2, 1.5, 0.5, seed=1)
    constant = np.column_stack((Z[:, :1], np.full(120, 3.0), Z[:, 1:]))
    found, expected = (
        metrics.delta_f_lin(A[:60], y[:60], A[60:], y[60:], protocol=protocol, costs=(0.1, 10.0), random_state=0)
        for A in (constant, Z)
    )
    assert found.value == pytest.approx(expected.value) and found.value > 0.3
    np.testing.assert_allclose(found.weights[[0, 2]], expected.weights, atol=1e-6)
    assert found.weights[1] == 0.0


def test_svm_protocols_against_scikit_learn():
    rng = np.random.default_rng(0)
    Z, y = rng.standard_normal((120, 2)), rng.integers(0, 2, 120)
    s = rng.integers(0, 2, 60)
    train, test = slice(60, None), slice(0, 60)
    printed = metrics.rbf_svm_report(Z[test], y[test], s, protocol="printed")
    on_test = SVC(C=1, gamma=1).fit(Z[test], y[test]).predict(Z[test])
    np.testing.assert_array_equal(printed.predictions, on_test)
    assert printed.accuracy == pytest.approx(100 * np.mean(on_test == y[test]))
    stated = metrics.rbf_svm_report(Z[test], y[test], s, Z[train], y[train])
    on_train = SVC(C=1, gamma=1).fit(Z[train], y[train]).predict(Z[test])
    np.testing.assert_array_equal(stated.predictions, on_train)
    assert stated.accuracy < printed.accuracy
    constant = metrics.rbf_svm_predictions(Z[test], np.zeros(60), protocol="printed")
    assert not constant.any()


def loop_differences(y, p, s):
    """Share of positive predictions among rows that satisfy a condition, group by group."""

    def share(condition):
        return [
            sum(pi for yi, pi, si in zip(y, p, s, strict=True) if si == g and condition(yi))
            / sum(1 for yi, si in zip(y, s, strict=True) if si == g and condition(yi))
            for g in (0, 1)
        ]

    dp, tpr, fpr = share(lambda v: True), share(lambda v: v == 1), share(lambda v: v == 0)
    sizes = [sum(1 for si in s if si == g) for g in (0, 1)]
    hits = [sum(1 for yi, pi, si in zip(y, p, s, strict=True) if si == g and yi == pi == 1) for g in (0, 1)]
    dp, eop, fp = abs(dp[0] - dp[1]), abs(tpr[0] - tpr[1]), abs(fpr[0] - fpr[1])
    wrong = abs(hits[0] / sizes[0] - hits[1] / sizes[1])
    return dp, eop, max(eop, fp), wrong, max(wrong, dp)


def test_group_differences_by_hand():
    y = [1, 1, 0, 0, 1, 0, 0, 0]
    p = [1, 0, 1, 0, 1, 0, 0, 0]
    s = [0, 0, 0, 0, 1, 1, 1, 1]
    assert metrics.delta_dp(p, s) == pytest.approx(0.25)  # 2/4 and 1/4
    assert metrics.delta_eop(y, p, s) == pytest.approx(0.5)  # 1/2 and 1/1
    assert metrics.delta_eop(y, p, s, protocol="printed") == pytest.approx(0.0)  # 1/4 and 1/4
    assert metrics.delta_eod(y, p, s) == pytest.approx(0.5)
    assert metrics.delta_eod(y, p, s, protocol="printed") == pytest.approx(0.25)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_group_differences_against_loops(seed):
    rng = np.random.default_rng(seed)
    cells = np.array(list(itertools.product((0, 1), repeat=2)))  # every group has both labels
    y, s = np.concatenate((cells, rng.integers(0, 2, (20, 2)))).T
    p = rng.integers(0, 2, 24)
    expected = loop_differences(y, p, s)
    ours = (
        metrics.delta_dp(p, s),
        metrics.delta_eop(y, p, s),
        metrics.delta_eod(y, p, s),
        metrics.delta_eop(y, p, s, protocol="printed"),
        metrics.delta_eod(y, p, s, protocol="printed"),
    )
    np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_groups_may_have_any_labels():
    X, labels, V = grouped()
    names = pd.Series(np.where(labels == 0, "women", "men"))
    errors = metrics.reconstruction_errors(X, V, names)
    assert list(errors.index) == ["men", "women"]
    both = pd.DataFrame({"sex": names, "old": np.arange(len(names)) % 2 == 0})
    assert len(metrics.reconstruction_errors(X, V, both)) == 4
    assert metrics.mmd_squared(X @ V, names, 1.0) == pytest.approx(metrics.mmd_squared(X @ V, labels, 1.0))


def test_mmd_of_extreme_widths_has_its_limits():
    Z = np.random.default_rng(0).standard_normal((40, 3))
    groups = np.arange(40) % 4 == 0
    assert metrics.mmd_squared(Z, groups, 1e300) == pytest.approx(0.0, abs=1e-15)  # every two rows look alike
    assert metrics.mmd_squared(Z, groups, 1e-300) == pytest.approx(1 / 10 + 1 / 30)  # a row is like itself only


def test_a_basis_in_single_precision_loses_what_the_definition_says():
    """``||x - VV'x||²`` and not the trace that is left, which is only the same where V'V = I to the last digit."""
    rng = np.random.default_rng(3)
    V = orthonormal(rng.standard_normal((6, 2)))
    rough = V.astype(np.float32)
    X = rng.standard_normal((40, 2)) @ V.T + 1e-6 * rng.standard_normal((40, 6))
    groups = np.arange(40) % 2
    errors = metrics.reconstruction_errors(X, rough, groups, centering="none")
    P = rough.astype(np.float64) @ rough.astype(np.float64).T
    for g in (0, 1):
        expected = np.mean([np.sum((x - P @ x) ** 2) for x in X[groups == g]])
        assert expected < 1e-10 and errors[g] == pytest.approx(expected, rel=1e-3)


def test_folds_with_a_single_group_do_not_count():
    """Three rows of the second group in five folds: at least two folds say nothing about separation."""
    Z, _ = svm_problem(60, 3, 0.0, 0.5, seed=4)
    order, costs = np.arange(60), (1.0, 1e2)
    np.random.RandomState(7).shuffle(order)
    for rare in (order[[1, 20, 40]], order[[1, 3, 30]], order[[1, 3, 5]]):  # the last: all others are of one group
        y = np.isin(np.arange(60), rare)
        rows = Z + 4.0 * y[:, None]
        found = metrics.delta_f_lin(rows, y, protocol="printed", costs=costs, random_state=7)
        value, totals = slow_delta_f_lin(rows, y, costs, order)
        assert found.value == pytest.approx(value, abs=1e-12)
        np.testing.assert_allclose(found.cross_validation, totals, atol=1e-12)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("protocol", ["printed", "stated"])
@pytest.mark.parametrize("offset", [1e3, 1e12, 1e17, 1e160])
def test_rbf_machines_of_rows_far_from_zero(offset, protocol):
    """The kernel sees differences alone. Those that the offset leaves are whole numbers here, or nothing."""
    Z, y = svm_problem(60, 2, 1.0, 0.5)
    Z, s = np.round(Z) * (1 if offset < 1e16 else 64), np.arange(60) % 2
    near, far = (
        metrics.rbf_svm_report(A[:30], y[:30], s[:30], A[30:], y[30:], protocol=protocol) for A in (Z, Z + offset)
    )
    if offset < 1e100:
        np.testing.assert_array_equal(far.predictions, near.predictions)
    assert np.isfinite(far.accuracy)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("unit", [1e100, 1e200, 1e300])
def test_rbf_machines_of_rows_far_from_each_other(unit):
    Z, y = svm_problem(60, 2, 1.0, 0.5)
    found = metrics.rbf_svm_report(Z * unit, y, np.arange(60) % 2, protocol="printed")
    assert found.accuracy == 100.0  # every row is alone, and fitted


X, LABELS, V = grouped()
MOMENTS, ZEROS, SCORES = GroupMoments.from_data(X, LABELS), np.zeros((4, 2)), np.arange(6.0)[:, None]


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("no variance", lambda: metrics.explained_variance_percent(np.ones((3, 2)), np.eye(2))),
        (r"row\(s\) \[1\]", lambda: metrics.explained_variance_percent([[0.0, 1.0], [np.nan, 0.0]], np.eye(2))),
        (
            r"shape \(5,\); it must have two dim",
            lambda: metrics.average_reconstruction_error(np.arange(5.0), np.eye(5)),
        ),
        ("numbered from 0", lambda: metrics.communality(V, 5)),
        ("feature must be an integer", lambda: metrics.communality(V, 1.5)),
        (r"pass components_\.T", lambda: metrics.reconstruction_errors(X, V.T, LABELS)),
        ("not orthonormal", lambda: metrics.reconstruction_errors(X, 2 * V, LABELS)),
        ("not orthonormal", lambda: metrics.reconstruction_errors(X, (1 + 1e-5) * V, LABELS)),
        ("not orthonormal", lambda: metrics.reconstruction_errors(X, V * np.nan, LABELS)),
        *(
            ("not orthonormal", lambda lengths=lengths: metrics.explained_variance_percent(X, np.eye(5, 2) * lengths))
            for lengths in ([0.5, 1.0], [0.5, 0.5], [1.0, 0.0])
        ),
        ("the second basis is not orthonormal", lambda: metrics.subspace_distance(V, 3 * V)),
        ("the second basis is not orthonormal", lambda: metrics.subspace_distance(V, V * np.nan)),
        ("either V", lambda: metrics.reconstruction_errors(X, V, LABELS, projection=V @ V.T)),
        ("give n_components", lambda: metrics.reconstruction_losses(X, None, LABELS, projection=V @ V.T)),
        ("n_components", lambda: metrics.reconstruction_losses(X, V, LABELS, n_components=9)),
        ("n_components", lambda: metrics.reconstruction_losses(X, V, LABELS, n_components=-1)),
        ("n_components", lambda: metrics.reconstruction_losses(X, V, LABELS, n_components=2.0)),
        ("one for each group", lambda: metrics.reconstruction_errors(X, V, LABELS, centers=np.zeros(3))),
        ("leave sensitive_features out", lambda: metrics.reconstruction_errors(MOMENTS, V, LABELS)),
        ("must be 5 × 5", lambda: metrics.reconstruction_errors(X, None, LABELS, projection=np.eye(2))),
        ("at least two groups", lambda: metrics.ab_difference([1.0])),
        ("errors contains NaN", lambda: metrics.ab_difference([1.0, np.nan])),
        ("more than half of the pairs", lambda: metrics.median_bandwidth(ZEROS)),
        ("choose one of 'median', 'code'", lambda: metrics.median_bandwidth(ZEROS, "mean")),
        ("at least two rows", lambda: metrics.median_bandwidth(ZEROS[:1])),
        ("single group", lambda: metrics.mmd_squared(ZEROS, [1, 1, 1, 1], 1.0)),
        ("group 0 has one row", lambda: metrics.mmd_squared(ZEROS, [0, 1, 1, 1], 1.0, estimator="unbiased")),
        ("sigma=0", lambda: metrics.mmd_squared(ZEROS, [0, 1, 1, 1], 0)),
        ("sigma=1e-200 is so small beside Z", lambda: metrics.mmd_squared(X * 1e200, LABELS, 1e-200)),
        ("compares two groups", lambda: metrics.mmd_permutation_test(ZEROS, [0, 1, 2, 1], 1.0)),
        ("single group", lambda: metrics.ks_separation(SCORES[:, 0], np.zeros(6))),
        ("NaN", lambda: metrics.ks_separation([np.nan, 1.0], [0, 1])),
        ("both must occur", lambda: metrics.linear_svm(SCORES, np.ones(6))),
        ("give Z_train", lambda: metrics.delta_f_lin(X, LABELS)),
        ("groups differ", lambda: metrics.delta_f_lin(X, LABELS, X, np.where(LABELS, "a", "b"))),
        ("give Z_train and y_train", lambda: metrics.rbf_svm_report(X, LABELS, LABELS)),
        ("0 and 1 only; it also holds", lambda: metrics.delta_dp([0, 2], [0, 1])),
        ("choose one of 'printed', 'stated'", lambda: metrics.delta_eop([0, 1], [0, 1], [0, 1], protocol="paper")),
    ],
)
def test_what_is_refused_is_explained(message, call):
    with pytest.raises((ValueError, TypeError), match=message):
        call()

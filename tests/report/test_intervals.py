"""Intervals for new rows: against simulations with known truth, and where nothing can be said."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fairpca.report import auc_interval, difference_interval, gap_interval, mean_interval
from fairpca.report.intervals import _dependence, placements


def parts(n, k=5):
    return np.arange(n) % k


@pytest.mark.parametrize("n", [20, 60])
def test_coverage_of_skewed_means(n):
    """Chi-square with three degrees of freedom, as a squared error in three dimensions has."""
    rng = np.random.default_rng(n)
    held, student = 0, 0
    for _ in range(600):
        x = rng.chisquare(1.5, n)
        interval = mean_interval(x, parts(n))
        held += interval.low <= 1.5 <= interval.high
        low, high = stats.t.interval(0.95, n - 1, x.mean(), x.std(ddof=1) / np.sqrt(n))
        student += low <= 1.5 <= high
    assert 0.92 * 600 <= held <= 0.98 * 600
    assert held > student, "the correction for skewness does something"


def test_models_that_differ_between_parts_are_no_noise():
    rng = np.random.default_rng(0)
    x, where = rng.normal(10, 1, 100), parts(100)
    shifted = x + 3.0 * where
    plain, moved = mean_interval(x, where), mean_interval(shifted, where)
    assert moved.high - moved.low == pytest.approx(plain.high - plain.low, rel=0.2)
    assert moved.estimate == pytest.approx(shifted.mean())


def test_coverage_of_differences_and_gaps():
    rng = np.random.default_rng(1)
    held = {"difference": 0, "gap": 0, "none": 0}
    for _ in range(400):
        a, b = rng.chisquare(4, 25), rng.chisquare(3, 100)
        interval = difference_interval(a, parts(25), b, parts(100))
        held["difference"] += interval.low <= 1.0 <= interval.high
        gap = gap_interval([a, b], [parts(25), parts(100)])
        held["gap"] += gap.low <= 1.0 <= gap.high
        same = gap_interval(list(rng.normal(size=(5, 25))), [parts(25)] * 5)
        held["none"] += same.low == 0.0
    assert 0.92 * 400 <= held["difference"] <= 0.98 * 400
    assert held["gap"] >= 0.93 * 400 and held["none"] >= 0.93 * 400


def test_coverage_of_areas():
    """Two normal samples at distance one: the area is Φ(1/√2)."""
    rng = np.random.default_rng(2)
    truth, held = stats.norm.cdf(1 / np.sqrt(2)), 0
    for _ in range(600):
        positive = np.r_[np.ones(25, bool), np.zeros(75, bool)]
        scores = rng.normal(size=100) + positive
        where = np.r_[parts(25), parts(75)]
        interval = auc_interval(scores + 100 * where, positive, where)  # scores of parts have no common scale
        held += interval.low <= truth <= interval.high
    assert 0.92 * 600 <= held <= 0.985 * 600


def test_area_is_the_slow_count():
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 5, 13).astype(float), rng.integers(0, 5, 9).astype(float)
    slow = [np.mean([(x > y) + 0.5 * (x == y) for y in b]) for x in a]
    np.testing.assert_allclose(placements(a, b), slow)
    both = auc_interval(np.r_[a, b], np.r_[np.ones(13, bool), np.zeros(9, bool)], np.zeros(22))
    assert both.estimate == pytest.approx(np.mean(slow)) and np.isnan(both.low) and both.n == 9


def test_few_rows_have_no_interval():
    assert np.isnan(mean_interval(np.ones(9), parts(9)).low)
    assert np.isnan(gap_interval([np.ones(9), np.ones(50)], [parts(9), parts(50)]).high)
    assert np.isnan(auc_interval(np.zeros(0), np.zeros(0, bool), np.zeros(0)).estimate)
    with pytest.raises(ValueError, match="level"):
        mean_interval(np.ones(20), parts(20), level=1.0)


def test_perfect_separation_is_no_certainty():
    positive = np.r_[np.ones(20, bool), np.zeros(20, bool)]
    found = auc_interval(positive * 1.0, positive, np.r_[parts(20), parts(20)])
    assert found.estimate == 1.0 and 0.8 < found.low < 0.999 and found.high == 1.0


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=10, max_size=40), st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_hold_their_estimate(values, level):
    found = mean_interval(np.array(values), parts(len(values), 2), level)
    assert found.low <= found.estimate * (1 + 1e-9) + 1e-9 and found.estimate <= found.high * (1 + 1e-9) + 1e-9


def test_a_small_group_borrows_the_shape_of_others():
    """Far values of one row in twenty, which many a sample of twenty rows does not contain; groups differ by scale."""
    rng = np.random.default_rng(4)

    def drawn(n):
        return rng.chisquare(3, n) * np.where(rng.random(n) < 0.05, 20.0, 1.0)

    truth, held = 3.0 * (0.95 + 0.05 * 20.0), {"alone": 0, "borrowed": 0, "difference": 0}
    for _ in range(500):
        small, large = drawn(20), 2.0 * drawn(80)
        for name, others in (("alone", []), ("borrowed", [large])):
            found = mean_interval(small, parts(20), others=others)
            held[name] += found.low <= truth <= found.high
        found = difference_interval(large, parts(80), small, parts(20))
        held["difference"] += found.low <= truth <= found.high
    assert held["alone"] < 0.8 * 500 and held["borrowed"] >= 0.9 * 500 and held["difference"] >= 0.92 * 500, held


@pytest.mark.parametrize("dimensions", [1, 2, 8])
def test_dependence_doubles_the_variance_where_there_is_nothing_to_find(dimensions):
    """Means of five parts, each projected on the direction of the mean of the other four; no true difference."""
    rng = np.random.default_rng(dimensions)
    means = rng.normal(size=(20000, 5, dimensions))
    others = means.sum(axis=1, keepdims=True) - means
    along = np.sum(means * others, axis=2) / np.linalg.norm(others, axis=2)
    assert along.mean(axis=1).var() * 5 == pytest.approx(_dependence(0.0, dimensions), rel=0.06)
    assert _dependence(20.0, dimensions) == pytest.approx(1.0, abs=0.03)


def test_coverage_of_a_recovery_that_is_none():
    """Cross-fitted discriminants of two alike groups: the interval holds one half as often as it says."""
    rng = np.random.default_rng(5)
    positive, where = np.r_[np.ones(20, bool), np.zeros(80, bool)], np.r_[parts(20), parts(80)]
    held = {True: 0, False: 0}
    for _ in range(400):
        X, scores = rng.normal(size=(100, 3)), np.empty(100)
        for part in range(5):
            keep = where != part
            direction = X[keep & positive].mean(axis=0) - X[keep & ~positive].mean(axis=0)
            scores[~keep] = X[~keep] @ direction
        for fair in held:
            found = auc_interval(scores, positive, where, dimensions=3 if fair else 10**-9)
            held[fair] += found.low <= 0.5 <= found.high
    assert held[False] < 0.92 * 400 <= held[True] <= 0.99 * 400, "without the widening it holds too seldom"

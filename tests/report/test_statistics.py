"""Intervals, ranks and dominance against loops and published tables."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from fairpca.report.statistics import dominated, paired_differences, rank_methods

# Critical values for 2 to 10 methods at 5 %, as printed in Table 5(a) of Demšar (2006).
NEMENYI = (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)


def cells(values, *, d=2):
    """values: data sets × splits × methods."""
    index = [(f"t{i}", s, d, "abcdefghijkl"[m]) for i, s, m in np.ndindex(values.shape)]
    frame = pd.DataFrame(index, columns=["dataset", "split", "d", "method"])
    return frame.assign(x=values.ravel())


def test_paired_differences_by_a_loop():
    values = np.random.default_rng(0).standard_normal((2, 7, 3)) + [0, 1, 5]
    found = paired_differences(cells(values), "x", against="b", test_share=0.25)
    assert list(zip(found["dataset"], found["method"], strict=True)) == [
        (table, method) for table in ("t0", "t1") for method in "ac"
    ]
    for _, row in found.iterrows():
        table, method = int(row["dataset"][1]), "abc".index(row["method"])
        difference = values[table, :, method] - values[table, :, 1]
        half = student.ppf(0.975, 6) * np.sqrt((1 / 7 + 1 / 3) * difference.var(ddof=1))
        assert row["difference"] == pytest.approx(difference.mean())
        assert [row["low"], row["high"]] == pytest.approx([difference.mean() - half, difference.mean() + half])
        assert row["n"] == 7


def test_the_interval_covers_what_overlapping_splits_estimate():
    """Means of a random third of 60 numbers: the plain interval misses the truth far more often than it says."""
    rng = np.random.default_rng(1)
    missed, plain_missed, trials = 0, 0, 150
    for _ in range(trials):
        rows = rng.standard_normal(60)
        estimates = np.array([rng.permutation(rows)[:20].mean() for _ in range(10)])
        frame = cells(np.stack([np.zeros(10), estimates], axis=1)[None])
        found = paired_differences(frame, "x", against="a").iloc[0]
        missed += not found["low"] <= 0 <= found["high"]
        half = student.ppf(0.975, 9) * estimates.std(ddof=1) / np.sqrt(10)
        plain_missed += abs(estimates.mean()) > half
    assert plain_missed > 0.2 * trials
    assert missed < 0.12 * trials


def test_missing_splits_do_not_count_and_unknown_methods_are_named():
    frame = cells(np.random.default_rng(2).standard_normal((1, 5, 2)))
    found = paired_differences(frame[~((frame["split"] == 3) & (frame["method"] == "b"))], "x", against="a")
    assert found["n"].tolist() == [4]
    with pytest.raises(ValueError, match="'z' has no value"):
        paired_differences(frame, "x", against="z")


@pytest.mark.parametrize("k", range(3, 11))
def test_critical_differences_are_the_published_ones(k):
    values = np.random.default_rng(k).standard_normal((12, 1, k))
    found = rank_methods(cells(values), "x", better="low")
    assert found.critical_difference == pytest.approx(NEMENYI[k - 2] * np.sqrt(k * (k + 1) / (6 * 12)), rel=4e-4)


def test_ranks_of_a_clear_order_and_of_noise():
    values = np.arange(4.0)[None, None, :] + np.zeros((8, 3, 4))
    clear = rank_methods(cells(values), "x", better="low")
    assert clear.ranks.to_dict() == {"a": 1, "b": 2, "c": 3, "d": 4} and clear.p_value < 1e-3
    assert clear.tied("a") == ["a", "b"]
    assert list(rank_methods(cells(values), "x", better="high").ranks.index) == list("dcba")
    noise = rank_methods(cells(np.random.default_rng(0).standard_normal((8, 3, 4))), "x", better="low")
    assert noise.p_value > 0.05 and set(noise.tied(noise.ranks.index[0])) == set("abcd")


def test_tables_where_a_method_is_missing_do_not_count():
    frame = cells(np.random.default_rng(0).standard_normal((5, 2, 3)))
    frame.loc[(frame["dataset"] == "t1") & (frame["method"] == "c"), "x"] = np.nan
    assert rank_methods(frame, "x", better="low").tables == ("t0", "t2", "t3", "t4")
    with pytest.raises(ValueError, match="three methods"):
        rank_methods(frame, "x", better="low", methods=["a", "b"])


@settings(max_examples=8)
@given(st.integers(0, 10_000))
def test_dominance_by_definition(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, 4)[None, None, :] + 0.2 * rng.standard_normal((1, 6, 4))
    y = rng.integers(0, 3, 4)[None, None, :] + 0.2 * rng.standard_normal((1, 6, 4))
    frame = cells(x).assign(y=y.ravel())
    found = dominated(frame, {"x": "low", "y": "high"})
    pairs = set(zip(found["method"], found["by_whom"], strict=True))
    for a, b in np.ndindex(4, 4):
        dx, dy = x[0, :, a] - x[0, :, b], y[0, :, a] - y[0, :, b]
        half = [student.ppf(0.975, 5) * np.sqrt((1 / 6 + 1 / 2) * d.var(ddof=1)) for d in (dx, dy)]
        clearly = dx.mean() - half[0] > 0 or dy.mean() + half[1] < 0
        expected = a != b and dx.mean() >= 0 and dy.mean() <= 0 and clearly
        assert (("abcd"[a], "abcd"[b]) in pairs) == expected

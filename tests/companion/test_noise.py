"""How far a summary moves when its runs are repeated: against repeating all of them."""

import numpy as np
import pytest

from fairpca.companion.noise import STATISTICS, noise


def summary(values, statistic):
    levels = {"min": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "max": 1.0}
    if statistic in levels:
        return np.quantile(values, levels[statistic])
    return np.std(values, ddof=1) if statistic == "sd" else np.mean(values)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_is_the_deviation_between_two_computations(statistic):
    """Ten splits whose runs scatter by 0.3: draw both computations anew, many times."""
    rng = np.random.default_rng(1)
    truth = rng.normal(0, 2, 10)
    # Around the first computation, as here, and not around the truth, which nobody knows.
    values = truth + rng.normal(0, 0.3, 10)
    differences = rng.normal(0, 0.3 * np.sqrt(2), 400)
    moved = [summary(values + rng.normal(0, 0.3 * np.sqrt(2), 10), statistic) for _ in range(3000)]
    expected = np.std(np.array(moved) - summary(values, statistic))
    assert noise(values, differences, [statistic])[statistic] == pytest.approx(expected, rel=0.1)


def test_mean_by_its_formula_and_the_same_whenever_asked():
    found = noise(np.arange(10.0), np.array([0.5, -1.0, 2.0]), ["mean", "value"])
    assert found["mean"] == found["value"] == pytest.approx(np.sqrt((0.25 + 1 + 4) / 3 / 10), rel=0.05)
    assert found == noise(np.arange(10.0), np.array([0.5, -1.0, 2.0]), ["mean", "value"])


def test_what_was_not_repeated_allows_nothing():
    assert noise(np.arange(4.0), np.empty(0), ["mean", "max"]) == {"mean": 0.0, "max": 0.0}
    assert noise(np.arange(4.0), np.zeros(3), ["max"]) == {"max": 0.0}


def test_each_statistic_by_hand_for_two_runs():
    """Runs 0 and 10, each moved up or down by 1: the mean moves by 0 or 1, the deviation by 0 or √2."""
    found = noise(np.array([0.0, 10.0]), np.array([1.0]), STATISTICS)
    assert found["mean"] == pytest.approx(np.sqrt(1 / 2), rel=0.05)
    assert found["sd"] == pytest.approx(1.0, rel=0.05) and found["min"] == pytest.approx(1.0, rel=0.05)
    assert found["median"] == pytest.approx(found["mean"]) and found["max"] == pytest.approx(1.0, rel=0.05)

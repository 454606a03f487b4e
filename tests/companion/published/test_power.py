"""Power of the tolerances, as the scoreboard counts it, by hand."""

import pandas as pd
import pytest
from pages import functions

PAGE = functions("appendix/scoreboard")


def rows(**columns):
    base = {
        "dataset": ["a", "b", "c"],
        **dict.fromkeys(("method", "setting", "metric", "statistic"), "x"),
        "d": 2,
        "p": float("nan"),
        "printed": [100.0, 104.0, 200.0],
        "ours": [100.0, 104.0, 250.0],
        "allowed": [6.0, 0.5, 6.0],
        "accepted": [True, True, False],
    }
    return pd.DataFrame(base | columns)


def test_power_by_hand():
    # 105 is within 6 of 100, 110 is not; 109.2 is not within half a unit of 104.
    assert [PAGE["enlarged"](rows(), factor) for factor in (1.0, 1.05, 1.1)] == [2, 1, 0]
    # For a both 104 (accepted) and 250 are possible; for b neither 100 nor 250 is within half a unit.
    assert PAGE["exchanged"](rows()) == pytest.approx(0.5)


def test_dimensions_are_exchanged_where_there_is_one_data_set():
    assert PAGE["exchanged"](rows(dataset="s", p=[20, 30, 40])) == pytest.approx(0.5)

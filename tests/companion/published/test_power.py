"""Power of the tolerances, by hand."""

import pandas as pd
import pytest

from fairpca.companion.published import scoreboard
from fairpca.companion.published.comparison import _verdict
from fairpca.companion.published.power import power


def board(**columns):
    base = {
        "paper": "p",
        "exhibit": "table1",
        "kind": "number",
        "dataset": ["a", "b", "c"],
        "method": "m",
        "metric": "x",
        "statistic": "mean",
        "printed": [100.0, 104.0, 200.0],
        "ours": [100.0, 104.0, 250.0],
        "tolerance": [6.0, 0.0, 6.0],
        "verdict": ["close", "equal", "differs"],
        "printed_text": ["100", "104", "200"],
    }
    return pd.DataFrame(base | columns)


def test_power_by_hand():
    row = power(board()).iloc[0]
    # 105 is within 6 of 100, 110 is not; 109.2 is not within half a unit of 104.
    assert row[["accepted", "x1.05", "x1.1"]].tolist() == [2, 1, 0]
    # For a both 104 (accepted) and 250 may stand; for b neither 100 nor 250 is within half a unit.
    assert row["permuted"] == pytest.approx(0.5)


def test_dimensions_are_exchanged_where_there_is_one_data_set():
    row = power(board(dataset="s", p=[20, 30, 40])).iloc[0]
    assert row["permuted"] == pytest.approx(0.5)


def test_claims_and_what_is_not_judged_do_not_count():
    assert power(board(kind="claim")).empty and power(board(verdict="not judged")).empty


def test_every_exhibit_with_numbers_has_its_power():
    found = scoreboard()
    numbers = found[found["verdict"].isin(["equal", "close", "differs"])]
    table = power(found)
    assert set(zip(table["paper"], table["exhibit"], strict=True)) == set(
        zip(numbers["paper"], numbers["exhibit"], strict=True)
    )
    assert (table[["x1.05", "permuted"]].le(table["accepted"], axis=0)).all(axis=None)


def test_a_number_on_the_edge_of_its_tolerance_counts_as_it_is_judged():
    """2.1 is 0.1 from 2.0, though not in binary form: what the verdict calls close is accepted here too."""
    tolerances = [0.1, 0.0999, 0.1]
    judged = [_verdict(2.0, "2.0", 1.05 * 2.0, 1, tolerance) for tolerance in tolerances]
    assert judged == ["close", "differs", "close"] and abs(1.05 * 2.0 - 2.0) > 0.1
    same = {"printed": [2.0] * 3, "ours": [2.0] * 3, "printed_text": ["2.0"] * 3, "verdict": ["equal"] * 3}
    assert power(board(**same, tolerance=tolerances)).iloc[0]["x1.05"] == judged.count("close")


def test_numbers_that_belong_to_no_method_or_dimension_are_permuted_too():
    """Each of the other two is as likely to stand in a number's place; two of the three are equal."""
    ours, tolerance = [100.0, 104.0, 104.0], [6.0, 0.0, 0.0]
    columns = {"method": None, "p": float("nan"), "printed": [100.0, 104.0, 104.0], "ours": ours}
    row = power(board(**columns, tolerance=tolerance, verdict="equal")).iloc[0]
    allowed = [max(width, 0.5) for width in tolerance]
    survivors = [abs(other - ours[i]) <= allowed[i] for i in range(3) for j, other in enumerate(ours) if i != j]
    assert row["accepted"] == 3
    assert row["permuted"] == pytest.approx(sum(survivors) / 2)
    assert sum(survivors) == 4

"""The study of scale: values that can be checked, a process of its own for each, and the stored tables."""

import bench_scale as bench
import numpy as np
import pandas as pd
import pytest

from fairpca import GroupMoments
from fairpca.companion import stored
from fairpca.companion._frames import canonical_json


def test_generated_rows_are_the_same_at_every_pass():
    generated = bench.Generated(1000, 3, 4, size=300)
    first, second = list(generated), list(generated)
    assert [len(frame) for frame in first] == [300, 300, 300, 100] and generated.seconds > 0
    pd.testing.assert_frame_equal(pd.concat(first), pd.concat(second))
    np.testing.assert_allclose(pd.concat(first).groupby("group")["x0"].mean(), np.arange(4), atol=0.3)


def test_measures_are_made_in_a_process_of_their_own(monkeypatch):
    found = bench.measured("rows", n=3000, p=4, m=2)
    assert found["resident_megabytes"] > 50 and 0 < found["standardised_error"] < 6 and found["seconds"] > 0
    with pytest.raises(ValueError):
        bench.measured("accuracy", offset=1e4, n=-1)


def test_accuracy_is_against_an_exact_covariance(monkeypatch):
    """Steps of 1/128 about the offset: NumPy's covariance of the same rows, where nothing is large."""
    seen = []
    original = GroupMoments.from_batches
    monkeypatch.setattr(
        GroupMoments, "from_batches", lambda frames, **options: seen.append(frames) or original(frames, **options)
    )
    exact = bench.accuracy(offset=5.0, n=3000)
    assert exact["error_naive"] < 1e-13 and exact["error_batches"] < 1e-14
    rows = pd.concat(seen[0])[list("abc")].to_numpy()
    np.testing.assert_allclose(np.cov(rows.T), np.eye(3), atol=0.08)
    np.testing.assert_allclose(rows.mean(axis=0), 5.0, atol=0.1)
    shifted = bench.accuracy(offset=1e8, n=3000)
    assert shifted["error_batches"] < 1e-8 and shifted["error_naive"] > 1e-3 > exact["error_naive"]


@pytest.mark.parametrize("name", ["cost", "mmd"])
def test_the_stored_tables_are_those_of_the_study(name):
    kept = stored(f"scale/{name}")
    assert {canonical_json(cell) for cell in bench.settings(False)[name]} == set(kept.cells["cell"])
    keys = [column for column in kept.table if column != "value"]
    again, expected = (table.set_index(keys).sort_index() for table in (bench.tabulate(kept.cells), kept.table))
    pd.testing.assert_frame_equal(again[["value"]], expected, check_dtype=False)


def test_the_discrepancy_of_a_stored_size_is_found_again():
    """Rows follow from the size alone, so a quick run says whether a machine agrees with what is stored."""
    kept = stored("scale/mmd").cells.set_index(["method", "n"])["mmd2"]
    assert bench.block_pairs(n=10_000, d=10)["mmd2"] == pytest.approx(kept["block_pairs", 10_000], rel=1e-6)

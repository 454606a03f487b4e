"""The measurements: sizes as asked, values that can be checked, a process of its own for each."""

import numpy as np
import pandas as pd
import pytest

from fairpca import GroupMoments
from fairpca.experiments.engine.codehash import code_pieces
from fairpca.experiments.engine.runner import get, load_results
from fairpca.experiments.scale import cost, mmd, rows


def test_generated_rows_are_the_same_at_every_pass():
    generated = rows.Generated(1000, 3, 4, offset=5.0, size=300)
    first, second = list(generated), list(generated)
    assert [len(frame) for frame in first] == [300, 300, 300, 100] and generated.seconds > 0
    for one, other in zip(first, second, strict=True):
        pd.testing.assert_frame_equal(one, other)
    frame = pd.concat(first)
    assert set(frame["group"]) == {0, 1, 2, 3}
    means = frame.groupby("group")["x0"].mean()
    np.testing.assert_allclose(means, 5 + np.arange(4), atol=0.3)


def test_measures():
    found = cost.in_batches(n=3000, p=4, m=2)
    assert found["resident_megabytes"] > 50 and 0 < found["standardised_error"] < 6 and found["seconds"] > 0
    exact, shifted = cost.accuracy(offset=1.0, n=3000), cost.accuracy(offset=1e8, n=3000)
    assert exact["error_batches"] < 1e-14 and shifted["error_batches"] < 1e-8
    assert shifted["error_naive"] > 1e-3 > exact["error_naive"]
    value = mmd.block_pairs(n=600, d=3)
    assert value["mmd2"] > 0 and value["nanoseconds_a_pair"] > 0


def test_exact_reference_of_the_accuracy_is_exact():
    rng = np.random.default_rng(0)
    steps = rng.integers(-220, 221, (500, 3)) / 128.0
    moments = GroupMoments.from_data(steps, np.zeros(500))
    np.testing.assert_allclose(moments.covariance(), np.cov(steps.T, ddof=0), rtol=1e-13)
    assert cost.accuracy(offset=0.0, n=500)["error_batches"] < 1e-14


def test_accuracy_is_that_of_unit_variances_about_the_offset(monkeypatch):
    """Uniform steps of 1/128 between -220 and 220: so large that variances are about one, and centred at the offset."""
    seen = []

    def spied(frames, **options):
        seen.append(pd.concat(frames)[list("abc")].to_numpy())
        return moments_of_batches(frames, **options)

    moments_of_batches = cost.moments_of_batches
    monkeypatch.setattr(cost, "moments_of_batches", spied)
    cost.accuracy(offset=5.0, n=3000)
    np.testing.assert_allclose(np.cov(seen[0].T), np.eye(3), atol=0.08)
    np.testing.assert_allclose(seen[0].mean(axis=0), 5.0, atol=0.1)


def test_a_process_of_its_own_and_its_errors():
    found = rows.in_own_process(cost.accuracy, offset=1e4, n=2000)
    assert found == cost.accuracy(offset=1e4, n=2000)
    with pytest.raises(RuntimeError, match=r"(?s)accuracy\(.*\) failed: .*unexpected keyword"):
        rows.in_own_process(cost.accuracy, nonsense=1)


def test_grids_and_tables():
    for name in ("scale/cost", "scale/mmd"):
        experiment = get(name)
        assert len(experiment.grid("paper")) >= len(experiment.grid("smoke"))
        frame = pd.DataFrame([{**cell, "seconds": 1.0} for cell in experiment.grid("paper")])
        table = experiment.tabulate(frame)
        assert len(table) == len(frame) and set(table["metric"]) == {"seconds"}
    assert any(cell["n"] == 10**8 and cell["p"] == 20 for cell in get("scale/cost").grid("paper"))
    assert any(cell["n"] == 3 * 10**5 and cell["d"] == 10 for cell in get("scale/mmd").grid("paper"))


def test_results_depend_on_the_code_that_reads():
    assert any("fairpca.scale.frames:add_batch" in name for name in code_pieces(cost.run_cell))
    assert any("fairpca.scale.mbf:solve_in_batches" in name for name in code_pieces(mmd.run_fit))
    assert any("pair_sums" in name for name in code_pieces(mmd.run_pairs))


def test_seconds_are_those_of_all_rows_without_the_first_call(monkeypatch):
    """A clock that runs only while something is computed: fifty seconds to compile, then three for the rows."""
    clock = [100.0]

    def computed(Z, groups, sigma):
        clock[0] += 3.0 if len(Z) == 600 else 50.0
        return 0.25

    monkeypatch.setattr(mmd, "process_time", lambda: clock[0])
    monkeypatch.setattr(mmd.scale, "mmd_squared", computed)
    found = mmd.block_pairs(n=600, d=3)
    assert (found["seconds"], found["mmd2"]) == (3.0, 0.25)
    assert found["nanoseconds_a_pair"] == pytest.approx(3e9 / (600 * 600 / 2))


def test_a_smoke_run_finds_again_the_discrepancy_of_a_stored_size():
    """Rows follow from the size alone, so that a quick run says whether a machine agrees with what is stored."""
    stored = load_results("scale/mmd").cells
    stored = stored[stored["method"] == "block_pairs"].set_index(["n", "d"])["mmd2"]
    smoke = [cell for cell in get("scale/mmd").grid("smoke") if cell["method"] == "block_pairs"]
    again = [(cell["n"], cell["d"]) for cell in smoke if (cell["n"], cell["d"]) in stored.index]
    assert len(again) == 1
    assert mmd.block_pairs(n=again[0][0], d=again[0][1])["mmd2"] == pytest.approx(stored[again[0]], rel=1e-6)

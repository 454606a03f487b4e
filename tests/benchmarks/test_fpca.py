"""The benchmark of FPCA measures what it says."""

import bench_fpca as bench
import numpy as np

from fairpca.solvers.fpca import RefereeOutcome


def test_each_row_is_a_certified_or_compared_solve(monkeypatch, capsys):
    real = bench.instance
    monkeypatch.setattr(bench, "instance", lambda name: real("synthetic2 p=12"))
    frame = bench.run(quick=True)
    ours = frame[frame["solver"].str.startswith("splitting")]
    others = frame[frame["solver"].isin(["scs", "clarabel"])]
    assert len(ours) == 10 and len(others) == 10
    assert np.all(ours["error"] <= 1e-7) and set(ours["note"]) == {"optimal"}
    assert np.all(others["error"] < 1e-4) and np.all(others["ratio"] > 0)
    assert "clarabel" in capsys.readouterr().out


def test_clarabel_at_ninety_seven_features_is_shown_and_not_run(monkeypatch):
    real = bench.instance("synthetic2 p=70")
    monkeypatch.setattr(bench, "solve_fpca_cvxpy", lambda *a, **k: RefereeOutcome(real.S, 1.0, 1.0, 1.0, "optimal", 1))
    rows = bench._compare("adult", real, quick=False)
    notes = {row["solver"]: row["note"] for row in rows}
    assert "not run: needs about" in notes["clarabel"] and notes["scs"] == "optimal"

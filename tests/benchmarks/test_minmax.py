"""The benchmark of the min-max solvers runs, and its rival solves the same problem."""

import bench_minmax as minmax
import numpy as np
import pytest
from minmax_cases import moments

from fairpca.solvers.minmax import solve_minmax


def test_rival_solves_the_same_problem():
    M = moments("wishart", 2, 12, 0)
    for d in (1, 4):
        V, loss, points = minmax.eigopt(M, d)
        np.testing.assert_allclose(V.T @ V, np.eye(d), atol=1e-12)
        assert loss == pytest.approx(solve_minmax(M, d).objective, rel=1e-5)
        assert points > 8


def test_quick_run_gives_the_ratios(monkeypatch):
    monkeypatch.setattr(minmax, "_timed", lambda call, unit=0.0: (1.0, call()))
    table = minmax.run(quick=True)
    assert set(table["data"]) == {"credit", "synthetic p=60"}
    assert {"eigh", "dual", "eigopt", "mw", "sdp", "sklearn PCA", "dual, path"} == set(table["method"])
    exact = table[table["method"] == "dual"]
    assert (exact["gap"] <= 1e-9).all()
    assert (exact["ratio"] == 1).all()
    assert (exact["columns"] > 0).all()
    assert (table["excess"].dropna() >= -1e-9).all()

"""The benchmarks compare methods that solve the same problem, and say what they leave out; nothing is timed here."""

import bench_fpca
import bench_mean
import bench_minmax
import bench_rfpca
import numpy as np
import pytest
from minmax_cases import moments

from fairpca.datasets import DataError, load, where
from fairpca.solvers.minmax import solve_minmax


def untimed(*calls, **_):
    return 1.0, calls[0]()


def test_fpca_rows_are_certified_or_compared(monkeypatch):
    real, names = bench_fpca.instance, iter((12, 12, 70, 12, 12))
    monkeypatch.setattr(bench_fpca, "instance", lambda name: real(f"synthetic2 p={next(names)}"))
    monkeypatch.setattr(bench_fpca, "median_seconds", untimed)
    frame = bench_fpca.run(quick=True)
    ours = frame[frame["solver"].str.startswith("splitting")]
    others = frame[frame["solver"].isin(["scs", "clarabel"])]
    assert len(ours) == len(others) == 10
    assert np.all(ours["error"] <= 1e-7) and set(ours["note"]) == {"optimal"}
    left_out = others["note"].str.startswith("not run: takes minutes and about 11 GB")
    assert list(others[left_out]["instance"]) == ["adult"]
    assert np.all(others["error"][~left_out] < 1e-4) and np.all(others["ratio"][~left_out] > 0)


def test_mean_errors_and_leaks_are_in_the_order_of_the_theorem(monkeypatch):
    monkeypatch.setattr(bench_mean, "median_seconds", untimed)
    # Packages of the extra are slow to import, and what they do is not ours to test.
    monkeypatch.setattr(bench_mean, "_leace", lambda *_, **__: (_ for _ in ()).throw(ImportError("none", name="it")))
    table = bench_mean.run(quick=True)
    missing = table[table["note"].notna()]
    assert set(missing["method"]) == {"concept-erasure + PCA", "concept-erasure + PCA, its default"}
    assert missing["note"].str.contains("fairpca[bench]", regex=False).all()
    found = table[table["error"].notna()]
    error = found.pivot(index="data", columns="method", values="error")
    assert (error["sklearn PCA"] < error["oblique"]).all() and (error["oblique"] < error["orthogonal"]).all()
    np.testing.assert_allclose(error["orthogonal"], error["null space"], rtol=1e-9)
    np.testing.assert_allclose(error["orthogonal"], error["rows"], rtol=1e-6)
    leak = found.pivot(index="data", columns="method", values="leak")
    assert (leak[["oblique", "orthogonal", "CorrelationRemover + PCA"]] < 1e-10).all(axis=None)
    assert (leak["sklearn PCA"] > 1e-3).all()


def test_minmax_rival_solves_the_same_problem(monkeypatch):
    M = moments("wishart", 2, 12, 0)
    for d in (1, 4):
        V, loss, points = bench_minmax.eigopt(M, d)
        np.testing.assert_allclose(V.T @ V, np.eye(d), atol=1e-12)
        assert loss == pytest.approx(solve_minmax(M, d).objective, rel=1e-5) and points > 8
    monkeypatch.setattr(bench_minmax, "median_seconds", untimed)
    table = bench_minmax.run(quick=True)
    assert set(table["data"]) == {"credit", "synthetic p=60"}
    assert {"eigh", "dual", "eigopt", "mw", "sdp", "sklearn PCA", "dual, path"} == set(table["method"])
    exact = table[table["method"] == "dual"]
    assert (exact["gap"] <= 1e-9).all() and (exact["ratio"] == 1).all()
    assert (table["excess"].dropna() >= -1e-9).all()


@pytest.mark.mirror
def test_rfpca_compares_like_with_like(monkeypatch):
    def bundled(name):
        if where(name) == "missing":
            raise DataError(f"{name} is not on this machine")
        return load(name)

    monkeypatch.setattr(bench_rfpca, "best_of_each", lambda *calls, repeats: [(call(), 1.0)[1] for call in calls])
    monkeypatch.setattr(bench_rfpca, "load", bundled)
    table = bench_rfpca.run(quick=True)
    here = {name for name in ("default_credit", "biodeg", "german_credit") if where(name) != "missing"}
    assert set(table["data"]) == here and len(here) >= 2  # two are bundled
    assert table["relative_gap"].max() <= 1e-9 and table["eigs"].max() <= 20
    assert table["v_form_excess"].min() >= -1e-9  # Algorithm 1 is never below the exact optimum
    np.testing.assert_allclose(table["slow/v_form"], 21 * 1000 / table["slow_steps"])

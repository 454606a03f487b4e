"""The benchmark of mean matching runs, and what it says of the methods is true."""

import bench_mean as mean
import numpy as np
import pytest

from fairpca import MeanFairPCA, WideRows


@pytest.fixture(scope="module")
def table():
    patch = pytest.MonkeyPatch()
    patch.setattr(mean, "_timed", lambda call: (1.0, call()))
    # Packages of the extra are slow to import, and what they do is not ours to test.
    patch.setattr(mean, "_leace", lambda *_, **__: (_ for _ in ()).throw(ImportError("none", name="package")))
    yield mean.run(quick=True)
    patch.undo()


def test_quick_run_has_every_method_and_says_what_is_missing(table):
    missing = table[table["note"].astype(str).str.startswith("not run")]
    assert set(missing["method"]) == {
        "concept-erasure + PCA",
        "concept-erasure + PCA, its default",
    }
    assert missing["note"].str.contains("fairpca[bench]", regex=False).all()
    assert {"MeanFairPCA, wide", "MeanFairPCA, moments", "MinMaxFairPCA, wide", "power steps"} <= set(table["method"])


def test_errors_and_leaks_are_in_the_order_of_the_theorem(table):
    small = table[table["error"].notna()].pivot(index="data", columns="method", values="error")
    assert (small["sklearn PCA"] < small["oblique"]).all() and (small["oblique"] < small["orthogonal"]).all()
    np.testing.assert_allclose(small["orthogonal"], small["null space"], rtol=1e-9)
    leak = table[table["leak"].notna()].pivot(index="data", columns="method", values="leak")
    assert (leak[["oblique", "orthogonal", "CorrelationRemover + PCA"]] < 1e-10).all(axis=None)
    assert (leak["sklearn PCA"] > 1e-3).all()
    wide = table[table["method"] == "MeanFairPCA, wide"]
    assert (wide["excess"].dropna().abs() < 1e-6).all() and (wide["certificate"] == "estimate").all()


def test_power_steps_end_at_the_optimum():
    rng = np.random.default_rng(0)
    group = np.arange(200) % 2
    X = rng.standard_normal((200, 20)) * np.geomspace(5, 1, 20) + np.outer(group, np.ones(20))
    model = MeanFairPCA(2).fit(X, sensitive_features=group)
    best = model.result_.objective
    error, steps = mean.power_steps(WideRows(X, group), model.excluded_.T, 2, 500, best, 1e-9)
    assert error == pytest.approx(best, rel=2e-9)
    assert steps < 500

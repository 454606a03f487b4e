"""Data in any unit: the same subspaces and certificates, and the right answers where nothing varies."""

import warnings

import numpy as np
import pytest

from fairpca import RFPCA, MinMaxFairPCA
from fairpca.solvers.frontier import solve_frontier
from fairpca.solvers.spectral import in_units, safe_unit, unit_of

FAR = [
    2.0**-455,
    2.0**-300,
    2.0**-100,
    2.0**100,
    2.0**300,
    2.0**490,
]  # 1e-137 (less is refused) to 1e148
MODELS = {
    "least loss": (MinMaxFairPCA(2), 3),
    "two losses": (MinMaxFairPCA(2), 2),
    "least variance": (MinMaxFairPCA(2, objective="variance"), 2),
    "product": (MinMaxFairPCA(2, objective="nash"), 3),
    "nested": (MinMaxFairPCA(2, nested=True), 2),
    "weights": (MinMaxFairPCA(2, solver="mw", max_iter=20, centering="overall", variant="samadi2018_code"), 3),
    "robust": (RFPCA(2, alpha=0.0), 2),
    "robust, three groups": (RFPCA(1, alpha=0.0, solver="mm", max_iter=50), 3),
}


def rows(groups):
    rng = np.random.default_rng(5)
    return rng.standard_normal((30, 4)) @ np.diag([2.0, 1.5, 1.0, 0.7]), np.arange(30) % groups


def test_units_are_exact_and_ordinary_moments_are_left_alone():
    values = np.array([3.7e-200, 1e-220])
    unit = unit_of(values)
    assert 0.125 <= values.max() * unit < 1.0
    assert np.frexp(unit)[0] == 0.5 and np.frexp(unit**0.5)[0] == 0.5
    assert np.array_equal(in_units(values, unit) / unit, values)
    for ordinary in (1e-6, 1.0, 1e15):
        assert safe_unit(np.array([ordinary, 0.0])) == 1.0
    assert unit_of(np.zeros(2)) == 1.0
    assert in_units(values, 1.0) is values


@pytest.mark.parametrize("name", MODELS)
def test_the_unit_of_the_data_changes_nothing(name):
    model, groups = MODELS[name]
    X, g = rows(groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "MinMaxFairPCA: stopped at its iteration limit")
        components = model.fit(X, sensitive_features=g).components_
        here = model.result_
        for scale in FAR[:: 5 if name.startswith("robust,") else 1]:
            model.fit(X * scale, sensitive_features=g)
            there = model.result_
            assert model.components_ == pytest.approx(components, abs=1e-9)
            assert there.status == here.status
            assert there.objective / scale / scale == pytest.approx(here.objective, rel=1e-12)
            assert there.bound / scale / scale == pytest.approx(here.bound, rel=1e-9, abs=1e-12, nan_ok=True)
            assert there.extra["errors"] / scale / scale == pytest.approx(here.extra["errors"], rel=1e-9)


@pytest.mark.parametrize("scale", [2.0**-800, 2.0**800])
def test_a_frontier_has_the_unit_of_its_data(scale):
    rng = np.random.default_rng(0)
    R = rng.standard_normal((2, 5, 5))
    M = R @ R.transpose(0, 2, 1)
    here, there = solve_frontier(M, 2), solve_frontier(M * scale, 2)
    assert there.errors / scale == pytest.approx(here.errors) and there.losses / scale == pytest.approx(here.losses)
    assert there.distance / scale == pytest.approx(here.distance)
    some = here.errors[::3] * 1.1
    assert there.missed(some * scale) == pytest.approx(here.missed(some))
    assert there.dominated(some * scale) == pytest.approx(here.dominated(some))
    wanted = float(here.errors[:, 0].mean())
    V, errors = there.with_error(wanted * scale)
    assert errors / scale == pytest.approx(here.with_error(wanted)[1])
    assert np.trace(M[0]) - np.trace(V.T @ M[0] @ V) == pytest.approx(wanted)
    assert there.at(0.3)[1] / scale == pytest.approx(here.at(0.3)[1])


@pytest.mark.parametrize("solver", ["exact", "subgradient", "mm"])
@pytest.mark.parametrize("constant", ["all", "one group"])
def test_groups_without_variance_have_a_robust_answer(solver, constant):
    rng = np.random.default_rng(1)
    X, g = rng.standard_normal((20, 3)), np.arange(20) % 2
    X[slice(None) if constant == "all" else g == 1] = 1.0
    model = RFPCA(1, solver=solver, centering="group", max_iter=50, random_state=0, options={"n_starts": 3})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "RFPCA: stopped at its iteration limit")
        model.fit(X, sensitive_features=g)
    result = model.result_
    assert model.components_ @ model.components_.T == pytest.approx(np.eye(1))
    if constant == "all" and solver != "subgradient":
        assert result.status == "optimal"
    if constant == "one group":  # ordinary PCA of the other, by symmetry of the penalty
        best = RFPCA(1, centering="group").fit(X, sensitive_features=g).result_
        assert result.objective >= best.bound - 1e-12
        assert result.objective == pytest.approx(best.objective, rel=1e-3)


@pytest.mark.parametrize("p", [4, 70])
def test_a_step_of_the_subgradient_may_be_out_of_all_proportion(p):
    rng = np.random.default_rng(2)
    X, g = rng.standard_normal((30, p)), np.arange(30) % 2
    X[0] *= 1e9
    model = RFPCA(2, solver="subgradient", max_iter=30, random_state=0, options={"n_starts": 3})
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "RFPCA: stopped at its iteration limit")
        model.fit(X, sensitive_features=g)
    assert model.components_ @ model.components_.T == pytest.approx(np.eye(2), abs=1e-9)
    assert np.isfinite(model.result_.objective)

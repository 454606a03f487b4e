"""FPCA on the data of Lee et al.: objectives and table values that were computed independently."""

import numpy as np
import pytest

from fairpca import FPCA
from fairpca.datasets import load
from fairpca.solvers.fpca import solve_fpca_cvxpy

OBJECTIVES = [("compas", 2, 0.01704305313), ("german", 10, 0.0718458542), ("adult", 10, 0.03120978)]


@pytest.fixture(scope="module")
def training_part():
    cache = {}

    def get(name, split=0):
        if (name, split) not in cache:
            train, test = load(name, split=split)
            cache[name, split] = tuple(np.asarray(a) for a in (train.X, train.sensitive_features, test.X))
        return cache[name, split]

    return get


@pytest.mark.parametrize(("name", "d", "objective"), OBJECTIVES)
def test_objective_on_real_data(training_part, name, d, objective):
    # The authors' program takes the first row of the training file for a header.
    X, group, _ = training_part(name)
    model = FPCA(d, mu=0.01, variant="lee2022_code").fit(X[1:], sensitive_features=group[1:])
    result = model.result_
    assert result.status == "optimal" and result.extra["relative_gap"] <= 1e-7
    assert result.objective <= objective * (1 + 1e-6) and result.bound >= objective * (1 - 1e-7)
    assert result.objective == pytest.approx(objective, rel=2e-7)


def test_slack_values_and_spectrum_on_german(training_part):
    X, group, _ = training_part("german")
    extra = FPCA(10, mu=0.01, variant="lee2022_code").fit(X[1:], sensitive_features=group[1:]).result_.extra
    assert sorted(extra["t"]) == pytest.approx([0.7253, 0.9041], abs=1e-4)
    assert extra["spectrum"][0] == pytest.approx(0.5309, abs=1e-4)
    assert extra["rank"] == 22 and extra["kappa"] == pytest.approx(3.0, abs=0.1)


@pytest.mark.parametrize("variant", ["printed", "lee2022_code", "vu2022_code"])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_compas_equals_clarabel(training_part, variant, delta):
    from fairpca import GroupMoments

    X, group, _ = training_part("compas")
    model = FPCA(2, mu=0.01, variant=variant, delta=delta, options={"standardise": True, "scale": "norm"})
    problem = model.problem(GroupMoments.from_data(X, group))
    ours = model.fit(X, sensitive_features=group).result_
    assert ours.objective == pytest.approx(solve_fpca_cvxpy(problem).value, rel=1e-6)


def test_explained_variance_of_table_1_on_compas(training_part):
    # d = 2, delta = 0: 34.43 in print, mean over ten splits.
    shares = []
    for split in range(10):
        X, group, test = training_part("compas", split)
        model = FPCA(2, mu=0.01, variant="lee2022_code").fit(X[1:], sensitive_features=group[1:])
        C = np.cov(test.T)
        shares.append(100 * np.trace(model.components_ @ C @ model.components_.T) / np.trace(C))
    assert np.mean(shares) == pytest.approx(34.43, abs=0.01)
    assert np.std(shares, ddof=1) == pytest.approx(5.02, abs=0.01)


def test_the_printed_scaling_makes_the_penalty_negligible(training_part):
    X, group, _ = training_part("german")
    with pytest.warns(UserWarning, match=r"hardly acts: mu=0.01 means kappa=.*would be kappa=1"):
        printed = FPCA(10, mu=0.01, options={"standardise": True}).fit(X, sensitive_features=group).result_.extra
    mean_only = (
        FPCA(10, constraints="mean", options={"standardise": True}).fit(X, sensitive_features=group).result_.extra
    )
    assert printed["kappa"] < 1e-3
    assert printed["kept"] == pytest.approx(mean_only["kept"], rel=1e-3)
    assert printed["spectrum"][9] > 0.99

"""What a solver's result says of itself."""

import math
from time import perf_counter

import numpy as np
import pytest

import fairpca
from fairpca.solvers import SolverResult
from fairpca.solvers.result import consistent_bound


def result(objective, bound, certificate="proof"):
    return SolverResult(np.eye(2)[:, :1], "optimal", objective, bound=bound, certificate=certificate)


@pytest.mark.parametrize(
    ("objective", "bound", "gap", "relative"),
    [
        (4.0, 3.0, 1.0, 0.25),
        (3.0, 4.0, 1.0, 0.25),
        (-2.0, -8.0, 6.0, 0.75),
        (-8.0, -2.0, 6.0, 0.75),
        (0.0, 0.0, 0.0, 0.0),
        (1e-3, 0.0, 1e-3, 1.0),
    ],
)
def test_gaps_are_absolute_and_relative_to_the_larger_side(objective, bound, gap, relative):
    assert result(objective, bound).gap == gap
    assert result(objective, bound).relative_gap == pytest.approx(relative)


def test_without_a_bound_there_is_no_gap():
    without = result(1.0, math.nan)
    assert math.isnan(without.gap) and without.certificate == "none"
    with pytest.raises(ValueError, match="say what the bound is worth"):
        result(1.0, 0.5, "none")


def test_a_bound_beyond_the_cost_is_lowered_for_rounding_only():
    assert consistent_bound(1.0, 0.5, 0.1) == 0.5
    assert consistent_bound(1.0, 1.05, 0.1) == 1.0
    with pytest.warns(RuntimeWarning, match="contradicts the cost"):
        assert math.isnan(consistent_bound(1.0, 1.2, 0.1))
    assert math.isnan(consistent_bound(1.0, 1.2, 0.1, proof=False))


@pytest.mark.parametrize(
    "model",
    [
        *(fairpca.MeanFairPCA(2, projection=projection) for projection in ("orthogonal", "oblique")),
        fairpca.PCA(2), fairpca.MinMaxFairPCA(2), fairpca.FPCA(2, mu=0.5), fairpca.RFPCA(2), fairpca.MBFPCA(2, tau=0.5),
    ],
    ids=str,
)  # fmt: skip
def test_seconds_are_within_those_that_passed(model):
    X, groups = np.random.default_rng(0).standard_normal((60, 5)), np.arange(60) % 2
    before = perf_counter()
    model.fit(X, sensitive_features=groups)
    assert 0 < model.result_.seconds <= perf_counter() - before

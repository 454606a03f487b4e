"""What a solver's result says of itself."""

import math

import numpy as np
import pytest

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

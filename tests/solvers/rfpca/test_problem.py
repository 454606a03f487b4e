"""What all solvers of the problem refuse."""

import numpy as np
import pytest

from fairpca.solvers.rfpca import solve_rfpca, solve_rfpca_groups, solve_rfpca_subgradient

MOMENTS = np.stack((np.eye(3), np.diag([1.0, 2.0, 3.0])))


@pytest.mark.parametrize("solve", [solve_rfpca, solve_rfpca_groups, solve_rfpca_subgradient])
def test_shares_that_were_rounded_to_six_digits_are_refused(solve):
    """Two thirds and a third, cut: the average error would be off by more than the 1e-9 that is certified."""
    for shares in ([0.666666, 0.333333], [0.666667, 0.333334], [0.67, 0.34]):
        with pytest.raises(ValueError, match="sum to 1"):
            solve(MOMENTS, np.array(shares), 1, 0.5, np.zeros(2))


def test_shares_that_sum_to_one_up_to_rounding_are_shares():
    exact, rounded = (solve_rfpca(MOMENTS, np.array([0.7, 0.3]) * f, 1, 0.5, np.zeros(2)) for f in (1.0, 1 + 1e-12))
    assert rounded.status == "optimal" and rounded.objective == pytest.approx(exact.objective)

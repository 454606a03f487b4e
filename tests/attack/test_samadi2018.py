"""Long searches against the bounds on the rounds of multiplicative weights."""

import numpy as np
import pytest
from pages import functions

pytestmark = pytest.mark.attack


def test_no_opponent_breaks_the_printed_count():
    attack, rng = functions("samadi2018/multiplicative_weights")["attack"], np.random.default_rng(11)
    assert max(attack(rng) for _ in range(4000)) <= 1 + 1e-9


def test_no_opponent_breaks_the_sharper_bound():
    """Only the range of the slacks, the exponential update and m'w >= 0 are kept."""
    rng, used = np.random.default_rng(12), []
    for _ in range(4000):
        k, T = int(rng.integers(2, 9)), int(rng.integers(1, 300))
        tilt = 10.0 ** rng.uniform(-4, 0)  # ell / rho
        step = min(1.0, np.sqrt(np.log(k) / (2 * tilt * T)))
        total, tactic = np.zeros(k), rng.integers(4)
        for _ in range(T):
            w = np.exp(-step * (total - total.min()))
            w /= w.sum()
            # One entry as low as m'w >= 0 allows, all others at their upper limit.
            j = (0, int(total.argmin()), int(w.argmin()), int(rng.integers(k)))[tactic]
            m = np.full(k, tilt)
            m[j] = -min(1.0, tilt * (1 - w[j]) / max(w[j], 1e-300))
            total += m
        used.append(-total.min() / T / (np.log(k) / (step * T) + 2 * step * tilt))
    assert 0.3 < max(used) <= 1, "the search comes near the bound and not above it"

"""Lemma A.1 and Theorem B.2: the attacks, and the printed objective beside a slow one."""

import numpy as np
import pytest

from fairpca.experiments.engine.runner import recompute
from fairpca.experiments.vu2022.claims_appendix import lemma_a1_ratios, printed_b2


def test_attack_on_the_lemma_comes_near_what_one_column_allows():
    """Half of (10) is reached: for one column the two factors of the product cannot both be largest."""
    rng = np.random.default_rng(3)
    ratios = np.array([lemma_a1_ratios(rng) for _ in range(2000)])
    assert 0.45 < ratios[:, 0].max() <= 1 and ratios[:, 1].max() <= 1


def test_printed_objective_with_the_missing_sum_is_the_robust_value():
    """For every distribution of groups: max over pairs of both suprema and of those of the other groups."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        m = int(rng.integers(2, 6))
        shares, s, eps = rng.dirichlet(np.ones(m)), rng.uniform(0.5, 3, m), rng.uniform(0, 0.4, m)
        lam = float(rng.uniform(0, 2))
        slow = []
        for a in range(m):
            for b in range(m):
                if a == b:
                    continue
                value = (shares[a] + lam) * (np.sqrt(s[a]) + np.sqrt(eps[a])) ** 2
                sign = 1 if shares[b] >= lam else -1
                value += (shares[b] - lam) * (np.sqrt(s[b]) + sign * np.sqrt(eps[b])) ** 2
                value += sum(shares[c] * (np.sqrt(s[c]) + np.sqrt(eps[c])) ** 2 for c in range(m) if c not in (a, b))
                slow.append(value)
        assert printed_b2(shares, lam, eps, s) + shares @ (s + eps) == pytest.approx(max(slow), rel=1e-12)
        assert printed_b2(shares, 0.0, np.zeros(m), s) == 0


def test_stored_verdicts_are_current():
    recompute("vu2022/claims_appendix")

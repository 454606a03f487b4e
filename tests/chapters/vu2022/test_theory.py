"""The theory of Vu et al., checked by other means: constructions, suprema solved as SDPs, and what the pages show."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import functions

from fairpca.companion.vu2022 import random_frame, random_problem
from fairpca.solvers.rfpca import (
    GroupObjective,
    fair_projection,
    fair_projection_exists,
    gap_range,
    polar_factor,
    solve_rfpca_subgradient,
)

definition, subgradient, convergence = (
    functions(f"vu2022/{name}") for name in ("definition", "subgradient", "convergence")
)
SEEDS = st.integers(0, 10**6)


def instance(rng, p, k, groups):
    X = [rng.standard_normal((3 * p, p)) * rng.uniform(0.3, 2, p) + rng.uniform(-0.5, 0.5, p) for _ in range(groups)]
    moments = [Y.T @ Y / len(Y) for Y in X]
    means = [Y.mean(axis=0) for Y in X]
    V = np.linalg.qr(rng.standard_normal((p, k)))[0]
    return moments, means, np.eye(p) - V @ V.T


def worst_case_error(weight, error, eps):
    """Proposition 3.3: the error's root moves by the root of the radius, towards the larger product."""
    moved = np.sqrt(error) + np.sign(weight) * np.sqrt(eps)
    return weight * max(moved, 0.0) ** 2


@pytest.mark.parametrize("weight", [1.3, 0.2, 0.0, -0.4, -2.0])
@pytest.mark.parametrize("share_of_error", [0.01, 0.05, 0.6, 2.5])
def test_proposition_3_3_is_the_supremum(weight, share_of_error):
    """Positive weight, negative with error above the radius, negative with error below it (value 0)."""
    rng = np.random.default_rng(int(10 * share_of_error) + 7)
    moments, means, left_out = instance(rng, 3, 1, 1)
    error = float(np.trace(left_out @ moments[0]))
    eps = share_of_error * error
    value = definition["worst_case"]([weight], moments, means, [eps], left_out)
    assert value == pytest.approx(worst_case_error(weight, error, eps), abs=2e-6 * max(error, 1))
    assert definition["proposition_33"](weight, error, eps) == pytest.approx(worst_case_error(weight, error, eps))
    if weight < 0 and share_of_error > 1:
        assert worst_case_error(weight, error, eps) == 0.0


@pytest.mark.parametrize("lam", [0.1, 0.45, 1.5])
@pytest.mark.parametrize("groups", [2, 3])
def test_the_exact_robust_value_is_the_supremum_over_all_groups(lam, groups):
    """Theorems 3.2 and B.2 without their conditions: also where a radius exceeds an error and lam a share."""
    rng = np.random.default_rng(groups)
    moments, means, left_out = instance(rng, 3, 1, groups)
    shares = rng.dirichlet(np.full(groups, 3.0))
    errors = np.array([np.trace(left_out @ M) for M in moments])
    eps = errors * np.array([0.1, 1.8, 0.4])[:groups]
    objective = GroupObjective(shares, lam, eps)
    suprema = []
    for a, b in objective.pairs:
        weights = shares + lam * (np.arange(groups) == a) - lam * (np.arange(groups) == b)
        suprema.append(definition["worst_case"](weights, moments, means, eps, left_out))
    np.testing.assert_allclose(objective.values(errors), suprema, atol=3e-6 * max(suprema))
    printed = GroupObjective(shares, lam, eps, "printed").values(errors)
    if lam > shares[1]:  # group 1's radius exceeds its error: formula (6c) is then not the supremum
        assert np.abs(printed - suprema).max() > 1e-3


def test_proposition_2_2_only_if_is_false():
    M0, M1 = np.diag([2.0, 1.0]), np.diag([1.0, 2.0])
    assert np.linalg.matrix_rank(M0 - M1) == 2 > 1  # so the proposition says there is no fair line
    assert fair_projection_exists(M0, M1, 1)
    V = fair_projection(M0, M1, 1)
    s = [np.trace(M) - np.trace(V.T @ M @ V) for M in (M0, M1)]
    assert s[0] == pytest.approx(s[1], abs=1e-14)
    np.testing.assert_allclose(np.abs(V[:, 0]), np.sqrt([0.5, 0.5]), atol=1e-12)


@given(seed=SEEDS, p=st.integers(2, 8), kind=st.integers(0, 4))
def test_the_right_condition(seed, p, kind):
    """Where it holds a fair plane is constructed; where it fails no plane comes near."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, p))
    w = [
        rng.standard_normal(p),
        rng.integers(-2, 3, p).astype(float),
        rng.uniform(0, 1, p),  # semidefinite: none, unless the rank is small
        np.where(np.arange(p) < k, rng.standard_normal(p), 0.0),  # rank <= k: the sufficient condition
        np.append(rng.uniform(0.5, 1, p - 1), -rng.uniform(0, 3)),
    ][kind]
    Q = np.linalg.qr(rng.standard_normal((p, p)))[0]
    M1 = 3 * np.eye(p)
    M0 = M1 + (Q * w) @ Q.T
    low, high = gap_range(M0, M1, k)
    if fair_projection_exists(M0, M1, k):
        V = fair_projection(M0, M1, k)
        np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
        gap = np.trace(M0 - M1) - np.trace(V.T @ (M0 - M1) @ V)
        assert abs(gap) < 1e-11
    else:
        assert low > 0 or high < 0
        for _ in range(20):
            V = np.linalg.qr(rng.standard_normal((p, k)))[0]
            gap = np.trace(M0 - M1) - np.trace(V.T @ (M0 - M1) @ V)
            assert low - 1e-12 <= gap <= high + 1e-12
        with pytest.raises(ValueError, match=r"no .*-dimensional subspace has equal errors"):
            fair_projection(M0, M1, k)
    if kind == 3:  # the sufficient half of the proposition
        assert fair_projection_exists(M0, M1, k)
    if kind == 2 and w.min() > 1e-3:
        assert not fair_projection_exists(M0, M1, k)


@given(seed=SEEDS, m=st.integers(2, 5))
def test_printed_objective_with_the_missing_sum_is_the_robust_value(seed, m):
    """For every distribution of groups: max over pairs of both suprema and of those of the other groups."""
    rng = np.random.default_rng(seed)
    shares, s, eps = rng.dirichlet(np.ones(m)), rng.uniform(0.5, 3, m), rng.uniform(0, 0.4, m)
    lam = float(rng.uniform(0, 2))
    slow = [
        sum(
            weight * (np.sqrt(s[c]) + (1 if weight >= 0 else -1) * np.sqrt(eps[c])) ** 2
            for c, weight in enumerate(shares + lam * (np.arange(m) == a) - lam * (np.arange(m) == b))
        )
        for a in range(m)
        for b in range(m)
        if a != b
    ]
    printed = definition["printed_b2"](shares, lam, eps, s)
    assert printed + shares @ (s + eps) == pytest.approx(max(slow), rel=1e-12)
    assert definition["printed_b2"](shares, 0.0, np.zeros(m), s) == 0
    if m == 2:
        assert definition["theorem_32"](shares, lam, s, eps) == pytest.approx(max(slow), rel=1e-12)


def test_attack_on_lemma_a1_comes_near_what_one_column_allows():
    """Half of (10) is reached: for one column the two factors of the product cannot both be largest."""
    rng = np.random.default_rng(3)
    ratios = np.array([subgradient["lemma_a1"](rng) for _ in range(2000)])
    assert 0.45 < ratios[:, 0].max() <= 1 and ratios[:, 1].max() <= 1


@given(seed=SEEDS, lam=st.sampled_from([0.1, 0.5, 1.0, 2.5]))
def test_visible_algorithm_1_is_that_of_the_package(seed, lam):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, lam)
    given = problem.moments, problem.shares
    U = random_frame(rng, problem)
    F, gradient = subgradient["lemma_41"](*given, lam, problem.eps, U)
    np.testing.assert_allclose(F, problem.values(U), rtol=1e-12)
    np.testing.assert_allclose(gradient, problem.subgradient(U), atol=1e-10 * problem.lipschitz)
    end = subgradient["algorithm_1"](*given, lam, problem.eps, U, 15)
    V = np.linalg.qr(U, mode="complete")[0][:, U.shape[1] :]
    solver = solve_rfpca_subgradient(
        *given, problem.n_components, lam, problem.eps, variant="printed", starts=V[None], max_iter=15
    )
    assert solver.history["objective"][0, -1] == pytest.approx(problem.values(end).max(), rel=1e-9)


def test_subgradient_with_a_wrong_sign_would_be_seen(monkeypatch):
    original = subgradient["lemma_41"]

    def wrong(M, p, lam, eps, U):
        F, gradient = original(M, p, lam, eps, U)
        return F, -gradient

    assert subgradient["slope_error"](np.random.default_rng(0), 1.0)[0] < 1e-6
    monkeypatch.setitem(subgradient, "lemma_41", wrong)
    assert subgradient["slope_error"](np.random.default_rng(0), 1.0)[0] > 1e-3


def test_printed_polar_factor_is_one_for_orthonormal_frames():
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((6, 3)))[0]
    xi = subgradient["random_tangent"](rng, U)
    np.testing.assert_allclose(subgradient["formula_8"](U, xi), polar_factor(U + xi), atol=1e-12)


def test_bounds_of_theorem_4_3_are_in_order():
    rng = np.random.default_rng(2)
    problem = random_problem(rng, 1.0)
    rows = pd.DataFrame(convergence["against_bound"](problem, random_frame(rng, problem), 30))
    assert set(rows["constant"]) == {"printed", "repaired"}
    assert (rows["measure"] <= rows["sharp"]).all() and (rows["sharp"] <= rows["bound"]).all()

"""Propositions 2.2 and 3.3 of Vu et al., checked by other means: constructions, and the supremum solved as an SDP."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairpca.experiments.vu2022 import claims_algorithm, claims_theory
from fairpca.experiments.vu2022.theory import supremum_by_sdp
from fairpca.solvers.rfpca import GroupObjective, fair_projection, fair_projection_exists, gap_range, worst_case_error


def instance(rng, p, k, groups):
    X = [rng.standard_normal((3 * p, p)) * rng.uniform(0.3, 2, p) + rng.uniform(-0.5, 0.5, p) for _ in range(groups)]
    moments = [Y.T @ Y / len(Y) for Y in X]
    means = [Y.mean(axis=0) for Y in X]
    V = np.linalg.qr(rng.standard_normal((p, k)))[0]
    return moments, means, np.eye(p) - V @ V.T


@pytest.mark.parametrize("weight", [1.3, 0.2, 0.0, -0.4, -2.0])
@pytest.mark.parametrize("share_of_error", [0.01, 0.05, 0.6, 2.5])
def test_proposition_3_3_is_the_supremum(weight, share_of_error):
    """Positive weight, negative with error above the radius, negative with error below it (value 0)."""
    rng = np.random.default_rng(int(10 * share_of_error) + 7)
    moments, means, left_out = instance(rng, 3, 1, 1)
    error = float(np.trace(left_out @ moments[0]))
    eps = share_of_error * error
    value = supremum_by_sdp([weight], moments, means, [eps], left_out)
    assert value == pytest.approx(worst_case_error(weight, error, eps), abs=2e-6 * max(error, 1))
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
        suprema.append(supremum_by_sdp(weights, moments, means, eps, left_out))
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


@given(seed=st.integers(0, 10**6), p=st.integers(2, 8), kind=st.integers(0, 4))
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


def test_bad_input_is_explained():
    with pytest.raises(ValueError, match="square and of equal size"):
        fair_projection_exists(np.eye(3), np.eye(2), 1)
    with pytest.raises(ValueError, match="between 1 and 2"):
        fair_projection(np.eye(3), np.eye(3), 3)


def test_formulas_of_the_suprema_are_refuted_by_programs_that_find_more(monkeypatch):
    found = []

    def solved(*problem):
        found.append(supremum_by_sdp(*problem))
        return found[-1]

    def judged(supremum):
        monkeypatch.setattr(claims_theory, "supremum_by_sdp", supremum)
        return {one.id: one.verdict for one in claims_theory._suprema(np.random.default_rng(5))}

    ids = ("thm3.2-reformulation", "prop3.3-supremum")
    assert judged(solved) == dict.fromkeys(ids, "proved")
    again = iter(found)
    assert judged(lambda *problem: 1.001 * next(again)) == dict.fromkeys(ids, "refuted")


@pytest.mark.parametrize("power", [-0.25, -0.6])
def test_observed_exponent_is_the_power_of_the_steps(monkeypatch, power):
    """Runs whose measure is a power of the number of iterates, each with a factor of its own."""

    def runs(problem, starts, lengths):
        rows = [
            {"start": start, "steps": n, "constant": constant, "measure": (start + 1) * (n + 1) ** power}
            for start in range(len(starts))
            for n in lengths
            for constant in ("printed", "repaired")
        ]
        known = {"bound": 10.0, "margin": 0.0, "gap": 0.0, "L": 1.0, "excess": 0.0, "nearby": 0.0}
        return pd.DataFrame(rows).assign(**known)

    monkeypatch.setattr(claims_algorithm, "convergence", runs)
    monkeypatch.setattr(claims_algorithm, "_largest_share", lambda rng: (0.5, 1))
    rate = next(claims_algorithm._rate(np.random.default_rng(0)))
    assert rate.id == "thm4.3-rate" and f"observed exponents {power:.2f} to {power:.2f} (bound" in rate.ours


@pytest.mark.parametrize("seed", range(4))
def test_the_rate_is_tried_where_the_objective_is_convex_and_where_it_is_not(monkeypatch, seed):
    """Whatever is drawn: at each scale of the data there is a penalty on either side of the smaller share."""
    tried = []

    def runs(problem, starts, lengths):
        tried.append((np.trace(problem.moments[0]) / len(problem.moments[0]), problem.lam <= problem.shares.min()))
        known = {"margin": 0.0, "gap": 0.0, "L": 1.0, "excess": 0.0, "nearby": 0.0, "measure": 1.0, "bound": 10.0}
        rows = [{"start": 0, "steps": n, "constant": which} for n in lengths for which in ("printed", "repaired")]
        return pd.DataFrame(rows).assign(**known)

    monkeypatch.setattr(claims_algorithm, "convergence", runs)
    monkeypatch.setattr(claims_algorithm, "_largest_share", lambda rng: (0.5, 1))
    next(claims_algorithm._rate(np.random.default_rng(seed)))
    sizes, convex = (np.array(values).reshape(3, 3) for values in zip(*tried, strict=True))
    assert np.all(sizes.max(axis=1)[:-1] < sizes.min(axis=1)[1:])
    assert np.all(convex.any(axis=1)) and not np.any(convex.all(axis=1))


@pytest.mark.parametrize(
    ("known", "certified"),
    [
        ({"L": 100.0, "gap": 5e-5, "margin": 0.0}, True),
        ({"L": 100.0, "gap": 2e-4, "margin": 0.0}, False),
        ({"L": 0.01, "gap": 5e-9, "margin": 0.0}, True),
        ({"L": 0.01, "gap": 5e-7, "margin": 0.0}, False),
        ({"L": 1.0, "gap": 0.0, "margin": -1e-9}, False),  # the bound is not proved for all matrices
    ],
)
def test_no_rate_is_told_of_proximal_points_without_a_proof(monkeypatch, known, certified):
    """Their gap may be a millionth of the Lipschitz constant, whatever the size of the data."""

    def runs(problem, starts, lengths):
        grid = [(start, n, constant) for start in range(3) for n in lengths for constant in ("printed", "repaired")]
        table = pd.DataFrame(grid, columns=["start", "steps", "constant"])
        return table.assign(measure=1.0 / table["steps"], bound=10.0, excess=0.0, nearby=0.0, **known)

    monkeypatch.setattr(claims_algorithm, "convergence", runs)
    monkeypatch.setattr(claims_algorithm, "_largest_share", lambda rng: (0.5, 1))
    rates = claims_algorithm._rate(np.random.default_rng(0))
    if certified:
        assert next(rates).id == "thm4.3-rate"
        return
    with pytest.raises(RuntimeError, match="not certified"):
        next(rates)

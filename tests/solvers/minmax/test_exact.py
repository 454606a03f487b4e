"""Exactly d components: against brute force, another ascent, and what every answer must satisfy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from minmax_cases import moments, own_sums

from fairpca.solvers.minmax import ExactDimension, solve_minmax, solve_minmax_path
from fairpca.solvers.minmax._ascent import ascend
from fairpca.solvers.minmax._criteria import GeometricMean, WorstGroup, simplex_minimum
from fairpca.solvers.spectral import Pencil

OBJECTIVES = ["loss", "error", "variance", "nash"]
EXACT = ExactDimension()


def reference(objective, M, d):
    if objective == "loss":
        return own_sums(M, d)
    return np.trace(M, axis1=1, axis2=2) if objective == "error" else np.zeros(len(M))


def worth(objective, M, V):
    """The criterion, to be maximised, of bases of shape (..., p, d)."""
    kept = np.einsum("...pk,gpq,...qk->...g", V, M, V)
    if objective == "nash":
        return np.exp(np.log(np.maximum(kept, 1e-300)).mean(axis=-1))
    return (kept - reference(objective, M, V.shape[-1])).min(axis=-1)


def signed(result):
    sign = 1.0 if result.sense == "max" else -1.0
    return sign * result.objective, sign * result.bound


def lines(m, p, seed):
    """Groups that vary along one direction each: with many of them the relaxation has extra dimensions."""
    u = np.random.default_rng(seed).standard_normal((m, p))
    return u[:, :, None] * u[:, None, :] + 0.01 * np.eye(p)


CASE = st.tuples(
    st.sampled_from(["wishart", "low_rank", "identity", "equal", "lines"]),
    st.integers(3, 20),
    st.integers(2, 8),
    st.integers(0, 10_000),
    st.floats(0, 1),
).map(
    lambda c: (
        lines(*c[1:4]) if c[0] == "lines" else moments(c[0], *c[1:4]),
        1 + int(c[4] * (c[2] - 1.001)),
    )
)


@pytest.mark.parametrize("objective", OBJECTIVES)
@settings(max_examples=12)
@given(case=CASE)
def test_d_orthonormal_components_below_the_bound(objective, case):
    M, d = case
    result, relaxed = solve_minmax(M, d, objective=objective, exact=EXACT), solve_minmax(M, d, objective=objective)
    scale = np.trace(M, axis1=1, axis2=2).max()
    assert result.V.shape == (M.shape[1], d)
    np.testing.assert_allclose(result.V.T @ result.V, np.eye(d), atol=1e-11)
    value, bound = signed(result)
    assert value == pytest.approx(worth(objective, M, result.V), abs=1e-11 * scale)
    assert value <= bound and bound == pytest.approx(signed(relaxed)[1], abs=1e-12 * scale)
    assert result.extra["extra_dimensions"] == 0
    if relaxed.V.shape[1] == d:
        assert (result.status, result.objective) == (relaxed.status, relaxed.objective)
        np.testing.assert_array_equal(result.V, relaxed.V)
        return
    assert result.status in ("converged", "optimal")
    assert (result.status == "optimal") == (result.relative_gap <= 1e-9 or result.gap <= 2e-14 * scale)
    costs = result.history["ascent"]
    assert np.all(np.diff(costs) < 0) or len(costs) == 1
    leading = np.linalg.qr(relaxed.extra["basis"][:, :d])[0]
    assert value >= worth(objective, M, leading) - 1e-12 * scale
    kept = np.einsum("pk,gpq,qk->g", result.V, M, result.V)
    assert result.extra["variances"] == pytest.approx(kept, abs=1e-12 * scale)
    assert result.extra["losses"] == pytest.approx(own_sums(M, d) - kept, abs=1e-11 * scale)
    assert max(result.extra["values"] * (1 if result.sense == "max" else -1)) == pytest.approx(value)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_no_plane_of_a_grid_of_all_planes_is_better(objective, d, seed):
    """In space the planes are the complements of the directions, and a hemisphere of those can be tried."""
    M = lines(8 + seed, 3, seed)
    z, angle = (g.ravel() for g in np.meshgrid(np.linspace(0, 1, 300), np.linspace(0, 2 * np.pi, 1200)))
    x = np.stack((np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z), axis=1)
    kept = np.einsum("ip,gpq,iq->ig", x, M, x)
    if d == 2:
        kept = np.trace(M, axis1=1, axis2=2) - kept
    tried = (
        np.exp(np.log(kept).mean(axis=1)) if objective == "nash" else (kept - reference(objective, M, d)).min(axis=1)
    )
    value = signed(solve_minmax(M, d, objective=objective, exact=EXACT))[0]
    assert tried.max() <= value + 1e-9
    assert tried.max() >= value - 0.05 * abs(value)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_neither_axes_nor_units_matter(objective):
    for seed in range(2):
        M = lines(14, 5, seed)
        Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((5, 5)))[0]
        base = solve_minmax(M, 2, objective=objective, exact=EXACT)
        turned = solve_minmax(Q @ M @ Q.T, 2, objective=objective, exact=EXACT)
        assert turned.objective == pytest.approx(base.objective, rel=1e-8)
        for unit in (1e6, 1e-40):
            scaled = solve_minmax(unit * M, 2, objective=objective, exact=EXACT)
            assert scaled.objective == pytest.approx(unit * base.objective, rel=1e-8)
            assert scaled.bound == pytest.approx(unit * base.bound, rel=1e-8)


def test_where_the_relaxation_has_a_gap_the_answer_is_known():
    """Three lines at 60 degrees: the best line keeps a quarter of the worst group, the relaxation promises a half."""
    u = np.stack((np.cos(np.deg2rad([0, 60, 120])), np.sin(np.deg2rad([0, 60, 120]))), axis=1)
    result = solve_minmax(u[:, :, None] * u[:, None, :], 1, objective="variance", exact=EXACT)
    assert result.status == "converged" and result.certificate == "proof"
    assert (result.objective, result.bound) == (pytest.approx(0.25), pytest.approx(0.5))
    assert result.extra["relaxed_dimensions"] == 2


def test_an_optimum_that_the_relaxation_misses_is_proved_by_its_bound():
    """The same lines, and a third axis of which each has one half: it alone reaches the bound, which proves it."""
    u = np.stack((np.cos(np.deg2rad([0, 60, 120])), np.sin(np.deg2rad([0, 60, 120])), np.zeros(3)), axis=1)
    M = u[:, :, None] * u[:, None, :]
    M[:, 2, 2] = 0.5
    result = solve_minmax(M, 1, objective="variance", exact=EXACT)
    assert result.status == "optimal" and result.objective == pytest.approx(0.5)
    np.testing.assert_allclose(np.abs(result.V[:, 0]), [0, 0, 1], atol=1e-6)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_optimum_in_a_basis_is_one_of_the_whole_matrices(objective):
    M = lines(12, 24, 3) + 0.1 * moments("wishart", 12, 24, 3) / 24
    result = solve_minmax(M, 3, objective=objective, pencil=Pencil(M, dense_limit=0), exact=EXACT)
    assert result.extra["relaxed_dimensions"] > 3
    assert signed(result)[0] <= signed(result)[1]
    assert signed(result)[0] == pytest.approx(worth(objective, M, result.V), rel=1e-9)
    criterion = GeometricMean() if objective == "nash" else WorstGroup(reference(objective, M, 3))
    whole = ascend(Pencil(M), criterion, result.V, result.extra["weights"], 100)
    assert whole.costs[-1] >= whole.costs[0] - 1e-7 * criterion.unit(whole.costs[0])


@pytest.mark.parametrize("objective", ["variance", "nash"])
def test_a_group_without_variance_decides_nothing(objective):
    M = lines(9, 4, 0)
    more = np.concatenate((np.zeros((1, 4, 4)), M))
    one, other = (solve_minmax(A, 1, objective=objective, exact=EXACT) for A in (M, more))
    assert other.objective == pytest.approx(one.objective, rel=1e-9) and other.V.shape == (4, 1)
    path = solve_minmax_path(more, 4, objective=objective, exact=EXACT)
    assert [result.V.shape[1] for result in path] == [1, 2, 3, 4]


def test_seed_starts_and_steps():
    M = lines(30, 6, 5)
    first, again = (solve_minmax(M, 2, objective="variance", exact=ExactDimension(12, 7)) for _ in range(2))
    np.testing.assert_array_equal(first.V, again.V)
    assert len(first.extra["values"]) <= 12
    one = solve_minmax(M, 2, objective="variance", exact=ExactDimension(1))
    assert len(one.extra["values"]) == 1 and one.objective <= first.objective + 1e-12
    with_few = solve_minmax(M, 2, objective="variance", exact=EXACT, max_iter=1)
    assert with_few.status == "max_iter" and with_few.V.shape == (6, 2)


@pytest.mark.parametrize("criterion", [WorstGroup(np.zeros(10)), GeometricMean()])
def test_an_ascent_ends_where_no_small_change_is_better(criterion):
    """Also from a bad start, and with random changes of any direction as the judge."""
    M = lines(10, 5, 1)
    rng = np.random.default_rng(0)
    for _ in range(4):
        start = np.linalg.qr(rng.standard_normal((5, 2)))[0]
        found = ascend(Pencil(M), criterion, start, np.full(10, 0.1), 200)
        assert found.stationary and np.all(np.diff(found.costs) < 0)
        for size in (1e-2, 1e-3, 1e-4):
            near = np.linalg.qr(found.V + size * rng.standard_normal((300, 5, 2)))[0]
            costs = [criterion.cost(kept) for kept in np.einsum("rpk,gpq,rqk->rg", near, M, near)]
            assert min(costs) >= found.costs[-1] - 1e-10


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 10_000))
def test_minimum_over_the_simplex(m, rank, seed):
    """Its optimality conditions: no group could have a lower slope than those that have a weight."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, rank))
    K, slopes = A @ A.T, rng.exponential(size=m) * 10.0 ** rng.uniform(-6, 3)
    slopes -= slopes.min()
    w = simplex_minimum(K, slopes, rng.exponential(size=m) * (rng.random(m) < 0.5) + 1e-9)
    assert w.min() >= 0 and w.sum() == pytest.approx(1)
    slope = 2 * K @ w + slopes
    size = np.abs(K).max() + slopes.max()
    assert slope.min() >= slope @ w - 1e-9 * size

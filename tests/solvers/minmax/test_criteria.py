"""Least variance and Nash welfare: against CVXPY, brute force, random points of the Fantope, and hostile spectra."""

import numpy as np
import pytest
from hostile_spectra import hostile_moments
from hypothesis import given
from hypothesis import strategies as st
from minmax_cases import KINDS, moments, own_sums

from fairpca.solvers.minmax import criterion_value, rank_bound, solve_minmax, solve_minmax_path, solve_minmax_sdp
from fairpca.solvers.minmax._criteria import GeometricMean
from fairpca.solvers.minmax._fantope import solve_fantope_minmax
from fairpca.solvers.minmax._nash import solve_fantope_nash
from fairpca.solvers.minmax._newton_polish import FacePoint, FaceProblem, reduce_rank
from fairpca.solvers.minmax._problem import certified_status, has_variance
from fairpca.solvers.spectral import Pencil

OBJECTIVES = ["loss", "error", "variance", "nash"]
CONCAVE = ["variance", "nash"]


def value(objective, M, kept, d):
    """The criterion from its definition, without the package."""
    if objective == "nash":
        return np.prod(kept ** (1 / len(kept)))
    traces = np.trace(M, axis1=1, axis2=2)
    return {"loss": (own_sums(M, d) - kept).max(), "error": (traces - kept).max(), "variance": kept.min()}[objective]


def check(M, d, result, objective):
    """Feasible, of low rank, worth what it says, and proved by weights that are tried here again."""
    m = len(M)
    U, lam = result.extra.get("basis", result.V), result.extra.get("eigenvalues", np.ones(d))
    np.testing.assert_allclose(U.T @ U, np.eye(len(lam)), atol=1e-11)
    assert np.all((lam > 0) & (lam <= 1)) and lam.sum() == pytest.approx(d, abs=1e-12)
    assert len(lam) - d == result.extra["extra_dimensions"] <= rank_bound(m)
    kept = np.einsum("ij,gik,kj,j->g", U, M, U, lam)
    traces = np.trace(M, axis1=1, axis2=2)
    assert result.extra["variances"] == pytest.approx(kept, rel=1e-9, abs=1e-13 * traces.max())
    varying = np.flatnonzero(has_variance(traces)) if objective in CONCAVE else np.arange(m)
    M, traces, kept = M[varying], traces[varying], kept[varying]
    direct = value(objective, M, kept, d)
    assert result.objective == pytest.approx(direct, rel=1e-9, abs=1e-13 * traces.max() * (objective != "nash"))
    assert result.sense == ("max" if objective in CONCAVE else "min")
    assert result.status == "optimal"
    w = result.extra["weights"][varying]
    total = np.linalg.eigvalsh(np.tensordot(w, M, 1))[-d:].sum()
    if objective == "nash":
        bound = total / len(w) / np.prod(w ** (1 / len(w)))
        assert -1e-13 <= bound / direct - 1 <= 1e-8
        return
    references = {"loss": own_sums(M, d), "error": traces, "variance": 0 * traces}[objective]
    cost = -direct if objective == "variance" else direct
    gap = cost - (w @ references - total)
    assert w.min() >= 0 and w.sum() == pytest.approx(1)
    deciding = traces[references - kept + 1e-14 * traces >= cost].max()
    assert -1e-13 * traces.max() <= gap <= 1e-8 * abs(cost) + 2e-14 * deciding


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(13))
def test_hostile_spectra_are_certified(objective, seed):
    M, d, _ = hostile_moments(seed)
    check(M, d, solve_minmax(M, d, objective=objective, tol=1e-8), objective)


@pytest.mark.parametrize("seed", [749, 1789])
def test_a_weight_that_rounding_drives_to_zero_ends_no_solution(seed):
    M, d, _ = hostile_moments(seed)
    check(M, d, solve_minmax(M, d, objective="variance"), "variance")


def by_cvxpy(objective, M, d):
    import cvxpy as cp

    p = M.shape[1]
    P = cp.Variable((p, p), PSD=True)
    kept = cp.hstack([cp.trace(C @ P) for C in M])
    goal = cp.min(kept) if objective == "variance" else cp.sum(cp.log(kept)) / len(M)
    problem = cp.Problem(cp.Maximize(goal), [np.eye(p) >> P, cp.trace(P) == d])
    problem.solve(solver=cp.CLARABEL)
    return problem.value if objective == "variance" else np.exp(problem.value)


@pytest.mark.parametrize("objective", CONCAVE)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "zero_group"])
def test_equals_cvxpy(kind, objective):
    for seed, (m, p, d) in enumerate([(2, 5, 2), (3, 4, 1), (6, 7, 4)]):
        M = moments(kind, m, p, seed)
        M = M / np.trace(M, axis1=1, axis2=2).max()
        result = solve_minmax(M, d, objective=objective)
        assert result.objective == pytest.approx(by_cvxpy(objective, M, d), rel=2e-6, abs=1e-7)
        check(M, d, result, objective)


@pytest.mark.parametrize("objective", CONCAVE)
@given(seed=st.integers(0, 10_000))
def test_two_groups_are_solved_by_a_projection_that_no_line_beats(objective, seed):
    """In the plane all lines can be tried."""
    M = moments(KINDS[seed % (len(KINDS) - 1)], 2, 2, seed)
    result = solve_minmax(M, 1, objective=objective)
    check(M, 1, result, objective)
    M = M[has_variance(np.trace(M, axis1=1, axis2=2))]
    t = np.linspace(0, np.pi, 2001)
    lines = np.stack((np.cos(t), np.sin(t)))
    kept = np.einsum("it,gij,jt->gt", lines, M, lines)
    best = kept.min(axis=0).max() if objective == "variance" else (kept ** (1 / len(M))).prod(axis=0).max()
    assert result.extra["extra_dimensions"] == 0
    assert best <= result.objective * (1 + 1e-9) + 1e-12
    assert best >= result.objective - 1e-2 * np.abs(M).max(initial=0)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_random_point_of_the_fantope_is_better(objective):
    rng = np.random.default_rng(0)
    for seed in range(6):
        M = moments("wishart", 5, 6, seed)
        result = solve_minmax(M, 2, objective=objective)
        for _ in range(300):
            U = np.linalg.qr(rng.standard_normal((6, 6)))[0]
            lam = rng.dirichlet(np.full(6, 0.3)) * 2
            if lam.max() > 1:
                continue
            found = value(objective, M, np.einsum("ij,gik,kj,j->g", U, M, U, lam), 2)
            assert found <= result.objective + 1e-12 if objective in CONCAVE else found >= result.objective - 1e-12


def test_nash_certificate_is_its_linearisation():
    """sum of the d largest eigenvalues of sum_g M_g / <M_g, P>, less the number of groups."""
    for m in (2, 5, 9):
        M = moments("wishart", m, 7, m)
        kept = solve_minmax(M, 3, objective="nash").extra["variances"]
        gap = np.linalg.eigvalsh((M / kept[:, None, None]).sum(axis=0))[-3:].sum() - m
        assert 0 <= gap + 1e-12 <= 1e-9


@given(st.integers(0, 10_000), st.lists(st.floats(-8, 8), min_size=3, max_size=3))
def test_nash_does_not_see_the_units_of_groups(seed, logs):
    M = moments("wishart", 3, 5, seed)
    units = 10.0 ** np.array(logs)
    one, other = (solve_minmax(A, 2, objective="nash") for A in (M, M * units[:, None, None]))
    assert other.objective == pytest.approx(one.objective * np.prod(units ** (1 / 3)), rel=1e-8)
    assert other.extra["variances"] == pytest.approx(one.extra["variances"] * units, rel=1e-4)


def test_two_groups_by_the_general_methods():
    for kind in KINDS[:-1]:
        M = moments(kind, 2, 8, 7)
        point, _ = solve_fantope_minmax(M, np.zeros(2), 3)
        assert -point.losses.max() == pytest.approx(solve_minmax(M, 3, objective="variance").objective, rel=1e-9)
        assert point.fractional.shape[1] == 0
        assert solve_fantope_nash(M, 3)[0].fractional.shape[1] == 0


@pytest.mark.parametrize("objective", CONCAVE)
@pytest.mark.parametrize("m", [2, 4])
def test_bundle_equals_the_dense_solution(objective, m):
    for kind in ("wishart", "low_rank", "near_crossing", "identity"):
        M = moments(kind, m, 30, 2)
        dense, bundle = (solve_minmax(M, 5, objective=objective, pencil=Pencil(M, dense_limit=n)) for n in (150, 0))
        assert bundle.objective == pytest.approx(dense.objective, rel=1e-8)
        check(M, 5, bundle, objective)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_path_and_the_whole_space(objective):
    M = moments("wishart", 3, 5, 3)
    path = solve_minmax_path(M, 5, objective=objective)
    for d, result in enumerate(path[:-1], start=1):
        check(M, d, result, objective)
    traces = np.trace(M, axis1=1, axis2=2)
    assert path[-1].objective == pytest.approx(value(objective, M, traces, 5), abs=1e-12)
    assert path[-1].sense == path[0].sense


def test_semidefinite_programme_maximises_the_least_variance():
    M = moments("wishart", 3, 6, 1)
    exact, sdp = solve_minmax(M, 2, objective="variance"), solve_minmax_sdp(M, 2, objective="variance")
    assert sdp.sense == "max" and sdp.bound >= sdp.objective
    assert sdp.objective == pytest.approx(exact.objective, rel=1e-6)


@pytest.mark.parametrize("objective", CONCAVE)
@pytest.mark.parametrize("m", [2, 3, 5])
def test_group_without_variance_decides_nothing(objective, m):
    M = moments("zero_group", m, 5, 0)
    for result in (solve_minmax(M, 2, objective=objective), solve_minmax_path(M, 2, objective=objective)[1]):
        check(M, 2, result, objective)
        alone = solve_minmax(M[1:], 2, objective=objective).objective if m > 2 else own_sums(M[1:], 2)[0]
        assert result.objective == pytest.approx(alone, rel=1e-9)
        assert result.extra["weights"][0] == result.extra["variances"][0] == 0


@pytest.mark.parametrize("objective", CONCAVE)
@pytest.mark.parametrize("m", [2, 3])
def test_nothing_varies(objective, m):
    result = solve_minmax(np.zeros((m, 4, 4)), 2, objective=objective)
    assert result.objective == 0 and result.status == "optimal"
    np.testing.assert_allclose(result.V.T @ result.V, np.eye(2), atol=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_value_of_a_criterion(objective):
    M = moments("wishart", 4, 5, 5)
    result = solve_minmax(M, 2, objective=objective)
    traces = np.trace(M, axis1=1, axis2=2)
    found = criterion_value(objective, result.extra["variances"], own_sums(M, 2), traces)
    assert found == pytest.approx(result.objective, rel=1e-12)


@pytest.mark.parametrize("objective", CONCAVE)
@pytest.mark.parametrize("m", [2, 3])
def test_a_path_has_every_dimension_once_where_a_group_does_not_vary(objective, m):
    M = moments("zero_group", m, 5, 0)
    for d_max in (1, 3, 5):
        path = solve_minmax_path(M, d_max, objective=objective)
        kept = [result.V.shape[1] - result.extra["extra_dimensions"] for result in path]
        assert kept == list(range(1, d_max + 1))


@pytest.mark.parametrize(("share", "expected"), [(0.9, "optimal"), (1.1, "max_iter")])
def test_the_tolerance_of_the_geometric_mean_is_relative(share, expected):
    """A mean that may be larger by a little less than the tolerance, in parts of itself, is the optimum; else not."""
    tol, criterion = 1e-6, GeometricMean()
    for variances in (np.array([2.0, 8.0]), np.array([2e9, 8e9]), np.array([0.25, 4.0])):
        largest = np.prod(variances**0.5) * (1 + share * tol)
        cost, bound = criterion.cost(variances), -np.log(largest)
        floor = criterion.floor(variances, variances)
        assert certified_status(cost, bound, tol, floor, criterion.unit(cost)) == expected


@pytest.mark.parametrize(("n_ones", "eigenvalue"), [(1, 1 - 1e-7), (2, 1e-7)])
def test_a_single_fractional_eigenvalue_is_rounded_to_the_trace(n_ones, eigenvalue):
    """Two dimensions are kept: the first two axes, whether the second is nearly kept or the third nearly left out."""
    S = np.array([np.diag([0.9, 0.5, 0.2, 0.1]), np.diag([0.3, 0.8, 0.4, 0.0])])
    problem = FaceProblem(S, np.array([2.0, 2.0]), np.ones(2), 2)
    axes, block = np.eye(4), np.array([[eigenvalue]])
    losses = problem.losses(S[:, range(n_ones), range(n_ones)].sum(axis=1) + eigenvalue * S[:, n_ones, n_ones])
    ones, fractional, zeros = np.split(axes, [n_ones, n_ones + 1], axis=1)
    point = FacePoint(np.full(2, 0.5), ones, fractional, block, zeros, np.zeros(4), losses, 0.0)
    reduced = reduce_rank(problem, point, tol=1e-9)
    np.testing.assert_array_equal(reduced.ones @ reduced.ones.T, np.diag([1.0, 1.0, 0.0, 0.0]))
    assert reduced.fractional.shape == (4, 0) and reduced.zeros.shape == (4, 2)
    assert reduced.losses == pytest.approx([2 - 0.9 - 0.5, 2 - 0.3 - 0.8])

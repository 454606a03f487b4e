"""Least variance and Nash welfare: against CVXPY, brute force, random points of the Fantope, and hostile spectra."""

import numpy as np
import pytest
from hostile_spectra import hostile_moments
from hypothesis import given, settings
from hypothesis import strategies as st
from minmax_cases import KINDS, certify, criterion, moments, own_sums, relaxation_value

from fairpca.solvers.minmax import solve_minmax, solve_minmax_path, solve_minmax_sdp
from fairpca.solvers.minmax._criteria import GeometricMean
from fairpca.solvers.minmax._newton_polish import FacePoint, FaceProblem, reduce_rank
from fairpca.solvers.minmax._problem import certified_status, has_variance
from fairpca.solvers.spectral import Pencil

OBJECTIVES = ["loss", "error", "variance", "nash"]
CONCAVE = ["variance", "nash"]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(13))
def test_hostile_spectra_are_certified(objective, seed):
    M, d, _ = hostile_moments(seed)
    certify(M, d, solve_minmax(M, d, objective=objective, tol=1e-8), objective, tol=1e-8)


@pytest.mark.parametrize("seed", [749, 1789])
def test_a_weight_that_rounding_drives_to_zero_ends_no_solution(seed):
    M, d, _ = hostile_moments(seed)
    certify(M, d, solve_minmax(M, d, objective="variance"), "variance")


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_semidefinite_relaxation(kind, objective):
    for seed, (m, p, d) in enumerate([(2, 4, 1), (2, 8, 5), (3, 4, 1), (4, 6, 3), (6, 7, 4)]):
        M = moments(kind, m, p, seed)
        M = (M / np.trace(M, axis1=1, axis2=2).max())[int(kind == "zero_group" and objective in CONCAVE) :]
        if len(M) == 1:
            continue
        result = solve_minmax(M, d, objective=objective)
        certify(M, d, result, objective)
        assert result.objective == pytest.approx(relaxation_value(objective, M, d), rel=2e-6, abs=1e-7)


@pytest.mark.parametrize("objective", OBJECTIVES)
@settings(max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_two_groups_are_solved_by_a_projection_that_no_line_beats(objective, seed):
    """In the plane all lines can be tried."""
    M = moments(KINDS[seed % (len(KINDS) - 1)], 2, 2, seed)
    result = solve_minmax(M, 1, objective=objective)
    certify(M, 1, result, objective)
    if objective in CONCAVE:
        M = M[has_variance(np.trace(M, axis1=1, axis2=2))]
    t = np.linspace(0, np.pi, 2001)
    lines = np.stack((np.cos(t), np.sin(t)))
    found = criterion(objective, M, np.einsum("it,gij,jt->tg", lines, M, lines), 1)
    sign = 1 if result.sense == "max" else -1
    best, value = (sign * found).max(), sign * result.objective
    assert result.extra["extra_dimensions"] == 0
    assert best <= value + 1e-9 * abs(value) + 1e-12
    assert best >= value - 1e-2 * np.abs(M).max(initial=0)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [2, 4])
def test_iterated_basis_equals_full_decompositions(m, kind, objective):
    M = moments(kind, m, 30, 3)
    for d in (1, 5):
        pencil = Pencil(M, dense_limit=0)
        dense, large = solve_minmax(M, d, objective=objective), solve_minmax(M, d, objective=objective, pencil=pencil)
        certify(M, d, large, objective)
        scale = np.trace(M, axis1=1, axis2=2).max()
        assert large.objective == pytest.approx(dense.objective, rel=1e-8, abs=1e-11 * scale)
        assert pencil.residual <= 1e-8


@given(st.integers(0, 10_000), st.lists(st.floats(-8, 8), min_size=3, max_size=3))
def test_nash_does_not_see_the_units_of_groups(seed, logs):
    M = moments("wishart", 3, 5, seed)
    units = 10.0 ** np.array(logs)
    one, other = (solve_minmax(A, 2, objective="nash") for A in (M, M * units[:, None, None]))
    assert other.objective == pytest.approx(one.objective * np.prod(units ** (1 / 3)), rel=1e-8)
    assert other.extra["variances"] == pytest.approx(one.extra["variances"] * units, rel=1e-4)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_path_and_the_whole_space(objective):
    M = moments("wishart", 3, 5, 3)
    path = solve_minmax_path(M, 5, objective=objective)
    for d, result in enumerate(path[:-1], start=1):
        certify(M, d, result, objective)
    traces = np.trace(M, axis1=1, axis2=2)
    assert path[-1].objective == pytest.approx(criterion(objective, M, traces, 5), abs=1e-12)
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
        certify(M, 2, result, objective)
        alone = solve_minmax(M[1:], 2, objective=objective).objective if m > 2 else own_sums(M[1:], 2)[0]
        assert result.objective == pytest.approx(alone, rel=1e-9)
        assert result.extra["weights"][0] == result.extra["variances"][0] == 0


@pytest.mark.parametrize("objective", CONCAVE)
@pytest.mark.parametrize("m", [2, 3])
def test_nothing_varies(objective, m):
    result = solve_minmax(np.zeros((m, 4, 4)), 2, objective=objective)
    assert result.objective == 0 and result.status == "optimal"
    np.testing.assert_allclose(result.V.T @ result.V, np.eye(2), atol=1e-12)


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

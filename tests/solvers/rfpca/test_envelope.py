"""Constants, inequalities and proximal points of the convergence theory of Vu et al., against other means."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rfpca_cases import adversarial_problem

from fairpca.companion.vu2022 import random_problem
from fairpca.linalg import orthonormal, subspace_distance
from fairpca.solvers.rfpca import ComplementObjective, polar_factor, solve_rfpca, solve_rfpca_subgradient

SEEDS = st.integers(0, 10**6)
ROUNDING = 1e-7  # square roots of errors near zero have half the digits
EXAMPLE = {
    "moments": np.array([[[1.5, 0.0], [0.0, 0.5]], [[0.5, 0.0], [0.0, 1.5]]]),
    "shares": np.array([0.5, 0.5]),
    "n_components": 1,
    "lam": 10.0,
    "eps": np.array([0.16, 0.0]),
}


def value(problem, U):
    return problem.values(U).max()


@given(seed=SEEDS)
def test_weak_convexity_on_the_whole_space(seed):
    rng = np.random.default_rng(seed)
    problem = adversarial_problem(rng)
    shape = (problem.moments.shape[1], problem.columns)
    U = rng.standard_normal(shape) * 10.0 ** rng.uniform(-2, 1)
    W = rng.standard_normal(shape) * 10.0 ** rng.uniform(-2, 1) if rng.random() < 0.7 else U + 1e-2 * U[::-1]
    gradient = problem.multipliers(U)[problem.values(U).argmax()] @ U
    curved = problem.weak_convexity / 2 * np.sum((W - U) ** 2)
    linear = np.sum(gradient * (W - U))
    size = abs(value(problem, U)) + abs(value(problem, W)) + np.abs(gradient * (W - U)).sum() + curved
    size += problem.lipschitz * (np.linalg.norm(U) + np.linalg.norm(W))
    assert value(problem, W) >= value(problem, U) + linear - curved - ROUNDING * size


def test_a_smaller_modulus_of_weak_convexity_is_violated():
    problem = ComplementObjective(**EXAMPLE)
    assert problem.weak_convexity > 0
    w, Q = np.linalg.eigh(problem.quadratic[0])
    U, W = 1e3 * Q[:, :1], 2e3 * Q[:, :1]
    gradient = problem.multipliers(U)[0] @ U
    rise = problem.values(W)[0] - problem.values(U)[0] - np.sum(gradient * (W - U))
    assert rise < -0.99 * problem.weak_convexity / 2 * np.sum((W - U) ** 2)


@given(seed=SEEDS)
def test_riemannian_subgradient_inequality_and_constants(seed):
    rng = np.random.default_rng(seed)
    problem = adversarial_problem(rng)
    p, n = problem.moments.shape[1], problem.columns
    U = orthonormal(rng.standard_normal((p, n)))
    if rng.random() < 0.3:  # eigenvectors, where the subgradient vanishes and curvature decides
        U = np.linalg.eigh(problem.quadratic[rng.integers(2)])[1][:, rng.permutation(p)[:n]]
    W = polar_factor(U + 10.0 ** rng.uniform(-4, 1) * rng.standard_normal((p, n)))
    L, size = problem.lipschitz, problem.lipschitz + 1e-12
    distance = np.linalg.norm(W - U)
    below = value(problem, U) + np.sum(problem.subgradient(U) * (W - U)) - problem.curvature / 2 * distance**2
    assert value(problem, W) >= below - ROUNDING * size
    assert abs(value(problem, W) - value(problem, U)) <= L * distance + ROUNDING * size
    assert np.linalg.norm(problem.multipliers(U)[problem.values(U).argmax()] @ U) <= L * (1 + 1e-11)
    assert problem.curvature <= 2 * L * (1 + 1e-11)
    if problem.weak_convexity == 0 and np.isfinite(problem.printed_lipschitz):
        assert problem.curvature <= (1 + 4 / 27**0.5) * problem.printed_lipschitz * (1 + 1e-11)
        assert np.linalg.norm(problem.subgradient(U)) <= problem.printed_lipschitz * (1 + 1e-11)


def test_a_smaller_curvature_is_violated():
    problem = ComplementObjective(np.array([np.diag([3.0, 1.0]), np.diag([3.0, 1.0])]), [0.5, 0.5], 1, 0.1, [0, 0])
    U, W = np.eye(2)[:, :1], polar_factor(np.array([[1.0], [1e-3]]))
    rise = value(problem, W) - value(problem, U) - np.sum(problem.subgradient(U) * (W - U))
    assert rise == pytest.approx(-problem.curvature / 2 * np.sum((W - U) ** 2), rel=1e-5)


@given(seed=SEEDS)
def test_polar_factor_is_nonexpansive_towards_the_unit_ball(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 8))
    U = orthonormal(rng.standard_normal((p, int(rng.integers(1, p)))))
    xi = rng.standard_normal(U.shape) * 10.0 ** rng.uniform(-2, 1)
    xi -= U @ (U.T @ xi)
    W = orthonormal(rng.standard_normal(U.shape)) @ np.diag(rng.uniform(0, 1, U.shape[1]) ** rng.integers(0, 2))
    moved = polar_factor(U + xi)
    assert np.linalg.norm(moved - W) <= np.linalg.norm(U + xi - W) + 1e-12
    assert subspace_distance(moved, np.linalg.qr(U + xi)[0]) < 1e-10  # QR: the same subspace


@pytest.mark.parametrize("reading", ["printed", "corrected"])
def test_subgradient_against_finite_differences(reading):
    rng = np.random.default_rng(3)
    for lam in (0.1, 1.0, 4.0):
        base = random_problem(rng, lam)
        eps = base.eps * (8.0 if reading == "corrected" else 1.0)  # also radii above the errors
        problem = ComplementObjective(base.moments, base.shares, base.n_components, lam, eps, reading)
        U = orthonormal(rng.standard_normal((problem.moments.shape[1], problem.columns)))
        xi = rng.standard_normal(U.shape)
        xi -= U @ (U.T @ xi + xi.T @ U) / 2
        a = problem.values(U).argmax()
        ahead, behind = (problem.values(polar_factor(U + h * xi))[a] for h in (1e-6, -1e-6))
        assert (ahead - behind) / 2e-6 == pytest.approx(np.sum(problem.subgradient(U) * xi), rel=1e-6, abs=1e-7)


def test_zero_errors_have_a_subgradient():
    problem = ComplementObjective(np.array([np.diag([1.0, 0, 0]), np.eye(3)]), [0.5, 0.5], 1, 2.0, [0.3, 0.1])
    U = np.eye(3)[:, 1:]
    assert problem.errors(U)[0] == 0
    assert np.all(np.isfinite(problem.subgradient(U)))
    assert np.isinf(problem.printed_lipschitz)
    assert np.isfinite(problem.lipschitz)


def test_proximal_points_against_all_lines():
    rng = np.random.default_rng(0)
    angles = np.linspace(0, 2 * np.pi, 20001)
    lines = np.array([np.cos(angles), np.sin(angles)]).T[:, :, None]
    for _ in range(20):
        moments = np.array([R @ R.T for R in rng.standard_normal((2, 2, 2))])
        problem = ComplementObjective(moments, [0.3, 0.7], 1, rng.choice([0.2, 3.0]), rng.uniform(0, 0.2, 2))
        mu = 1 / (4 * problem.lipschitz)
        U = orthonormal(rng.standard_normal((2, 1)))
        points = problem.proximal_points(U[None], mu)
        every = problem.values(lines).max(axis=1) + ((lines - U) ** 2).sum(axis=(1, 2)) / (2 * mu)
        assert points.margin[0] > 0
        assert points.gap[0] < 1e-9 * problem.lipschitz
        # The nearest line of the grid is half a spacing away; at a kink that is first order.
        assert points.envelope[0] - 1e-9 <= every.min() <= points.envelope[0] + 1e-3 * problem.lipschitz
        assert np.abs(lines[every.argmin()] - points.W[0]).max() < 1e-3


def test_measure_vanishes_at_an_optimum_on_the_kink_where_the_gradient_does_not():
    problem = ComplementObjective([np.diag([2.0, 1.0]), np.diag([1.0, 2.0])], [0.5, 0.5], 1, 0.3, [0.0, 0.0])
    U = np.full((2, 1), np.sqrt(0.5))
    assert value(problem, U) == pytest.approx(1.5)
    assert solve_rfpca(problem.moments, problem.shares, 1, 0.3, problem.eps).objective == pytest.approx(1.5)
    point = problem.proximal_points(U[None], 1 / (4 * problem.lipschitz))
    assert point.measure[0] < 1e-7
    assert np.linalg.norm(problem.subgradient(U)) == pytest.approx(0.6)


def test_descent_is_algorithm_1_and_its_envelope_falls_as_proved():
    rng = np.random.default_rng(1)
    for lam in (0.2, 1.0, 2.5):
        problem = random_problem(rng, lam)
        p, L = problem.moments.shape[1], problem.lipschitz
        V = orthonormal(rng.standard_normal((p, problem.n_components)))
        U = np.linalg.qr(V, mode="complete")[0][:, problem.n_components :]
        steps, mu = 60, 1 / (4 * L)
        iterates = problem.descend(U, steps)
        run = solve_rfpca_subgradient(
            problem.moments,
            problem.shares,
            problem.n_components,
            lam,
            problem.eps,
            variant="printed",
            starts=V[None],
            max_iter=steps,
        )
        np.testing.assert_allclose(problem.values(iterates).max(axis=1), run.history["objective"][0], rtol=1e-6)
        points = problem.proximal_points(iterates, mu)
        size = 1 / np.sqrt(steps + 1)
        norms = np.linalg.norm(problem.subgradient(iterates), axis=(1, 2))
        fall = size / 2 * (1 - mu * problem.curvature) * points.measure**2
        allowed = points.envelope - fall + size**2 * norms**2 / (2 * mu)
        assert np.all(points.envelope[1:] <= allowed[:-1] + 1e-8 * L)
        assert np.all(points.slope <= points.measure * (1 + 1e-6) + 1e-6)


def test_printed_lipschitz_constant_is_exceeded_within_the_paper_s_conditions():
    problem = ComplementObjective(**EXAMPLE)
    assert np.linalg.eigvalsh(problem.moments)[:, 0] == pytest.approx([0.5, 0.5])  # at least eps: condition (ii)
    U = np.full((2, 1), np.sqrt(0.5))
    turned = np.array([[np.cos(np.pi / 4 + 1e-4)], [np.sin(np.pi / 4 + 1e-4)]])
    slope = abs(value(problem, U) - value(problem, turned)) / np.linalg.norm(U - turned)
    assert slope > 1.05 * problem.printed_lipschitz
    assert slope < problem.lipschitz


def test_more_groups_are_refused():
    with pytest.raises(ValueError, match="3 groups"):
        ComplementObjective(np.array([np.eye(2)] * 3), np.full(3, 1 / 3), 1, 0.1, np.zeros(3))


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_constants_are_in_the_unit_of_the_data(unit):
    """Moments and radii in another unit give the same problem in that unit, so every slope and curvature has it too."""
    other = EXAMPLE | {"moments": unit * EXAMPLE["moments"], "eps": unit * EXAMPLE["eps"]}
    problem, same = ComplementObjective(**EXAMPLE), ComplementObjective(**other)
    U = np.array([[0.6], [0.8]])
    np.testing.assert_allclose(same.values(U), unit * problem.values(U))
    for name in ("lipschitz", "printed_lipschitz", "weak_convexity", "curvature"):
        assert getattr(same, name) == pytest.approx(unit * getattr(problem, name), rel=1e-9), name

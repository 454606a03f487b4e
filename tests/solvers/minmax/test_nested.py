"""One direction at a time: prefixes, brute force in small dimensions, and what a step proves."""

import numpy as np
import pytest
from minmax_cases import KINDS, moments, own_sums

from fairpca import MinMaxFairPCA
from fairpca.linalg import subspace_distance
from fairpca.solvers.minmax import criterion_value, solve_minmax, solve_minmax_nested

OBJECTIVES = ["loss", "error", "variance", "nash"]


def value(objective, M, V):
    kept = np.einsum("pk,gpq,qk->g", V, M, V)
    return criterion_value(objective, kept, own_sums(M, V.shape[1]), np.trace(M, axis1=1, axis2=2))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("kind", KINDS)
def test_each_direction_is_the_best_addition_for_two_groups(kind, objective):
    M = moments(kind, 2, 4, 5)
    result = solve_minmax_nested(M, 3, objective=objective)
    size = np.abs(M).sum()
    sign = -1 if result.sense == "max" else 1
    np.testing.assert_allclose(result.V.T @ result.V, np.eye(3), atol=1e-12)
    assert result.status == "optimal"
    rng = np.random.default_rng(0)
    for j in range(3):
        before = result.V[:, :j]
        reached = value(objective, M, result.V[:, : j + 1])
        assert result.history["value"][j] == pytest.approx(reached, rel=1e-9, abs=1e-12 * size)
        for _ in range(200):
            x = rng.standard_normal(4)
            x -= before @ (before.T @ x)
            other = np.column_stack((before, x / np.linalg.norm(x)))
            assert sign * value(objective, M, other) >= sign * reached - 1e-11 * size
    # Fewer directions are a prefix of more.
    fewer = solve_minmax_nested(M, 2, objective=objective)
    assert subspace_distance(fewer.V, result.V[:, :2]) < 1e-6
    best = solve_minmax(M, 3, objective=objective).objective
    assert sign * result.objective >= sign * best - 1e-11 * size


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(3))
def test_one_direction_of_the_plane_for_many_groups(objective, seed):
    """All lines of the plane are tried; the bound is that of the relaxation and holds for them all."""
    M = moments("wishart", 5, 2, seed)
    result = solve_minmax_nested(M, 1, objective=objective)
    angles = np.linspace(0, np.pi, 4001)
    lines = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    found = [value(objective, M, line[:, None]) for line in lines]
    best = max(found) if result.sense == "max" else min(found)
    sign = -1 if result.sense == "max" else 1
    assert sign * value(objective, M, result.V) <= sign * best + 1e-9
    assert result.objective == pytest.approx(value(objective, M, result.V))
    assert (best <= result.bound * (1 + 1e-9)) if result.sense == "max" else (best >= result.bound * (1 - 1e-9))
    assert result.status == ("optimal" if result.relative_gap <= 1e-9 else "converged")


def test_estimator_keeps_the_order_of_choice():
    rng = np.random.default_rng(0)
    X = np.concatenate((rng.standard_normal((50, 5)) * [1, 4, 1, 1, 1], rng.standard_normal((70, 5)) * [3, 1, 1, 2, 1]))
    s = np.repeat(["a", "b"], [50, 70])
    models = MinMaxFairPCA(objective="error", nested=True).path(X, sensitive_features=s, n_components=[1, 2, 4])
    for model in models[:-1]:
        np.testing.assert_allclose(model.components_, models[-1].components_[: len(model.components_)], atol=1e-8)
    errors = np.array([model.errors_.max() for model in models])
    assert np.all(np.diff(errors) < 0)


@pytest.mark.parametrize("objective", ["variance", "nash"])
@pytest.mark.parametrize("p", [1, 2, 3, 12])
def test_where_one_group_varies_the_directions_are_its_principal_axes(p, objective):
    """The other groups keep nothing whatever is chosen, so they do not count; also for all p directions."""
    rng = np.random.default_rng(p)
    Q = np.linalg.qr(rng.standard_normal((p, p)))[0]
    w = np.arange(p, 0, -1.0)
    M = np.stack((np.zeros((p, p)), (Q * w) @ Q.T, np.zeros((p, p))))
    result = solve_minmax_nested(M, p, objective=objective)
    np.testing.assert_allclose(np.abs(Q.T @ result.V), np.eye(p), atol=1e-9)
    assert result.status == "optimal"
    np.testing.assert_allclose(result.extra["variances"], [0.0, w.sum(), 0.0], atol=1e-9)


def test_nothing_to_keep():
    for objective in ("loss", "error", "variance", "nash"):
        result = solve_minmax_nested(np.zeros((3, 4, 4)), 2, objective=objective)
        assert result.objective == 0.0 and result.status == "optimal" and result.V.shape == (4, 2)

"""The descent for any number of groups: from bad planes to good ones, against closed forms and all directions."""

import numpy as np
import pytest
from referee import worst_case

from fairpca.solvers.rfpca import GroupObjective, random_starts, reconstruction_errors
from fairpca.solvers.rfpca._relaxation import ChordRelaxation
from fairpca.solvers.rfpca.groups import _descend, _simplex_qp


def group_moments(seed, m, p):
    rows = np.random.default_rng(seed).standard_normal((m, p + 2, p)) * np.linspace(2.0, 0.5, p)
    return rows.transpose(0, 2, 1) @ rows / (p + 2)


@pytest.mark.parametrize("seed", range(3))
def test_without_penalty_and_radius_the_descent_reaches_pca_from_anywhere(seed):
    """The average error has no local minimum but the global one, so the start cannot matter."""
    moments, shares = group_moments(seed, 3, 5), np.array([0.5, 0.3, 0.2])
    objective = GroupObjective(shares, 0.0, np.zeros(3))
    expected = np.linalg.eigvalsh(np.tensordot(shares, moments, axes=1))[:3].sum()
    for start in random_starts(5, 2, 3, seed):
        V, history, arrived = _descend(moments, objective, start, 1e-9, 1000)
        assert arrived and history[0] > 1.01 * expected
        assert history[-1] == pytest.approx(expected, rel=1e-6)
        assert np.tensordot(shares, reconstruction_errors(moments, V), axes=1) == pytest.approx(history[-1])


@pytest.mark.parametrize("lam", [0.5, 2.0])
def test_the_best_of_a_few_descents_is_the_best_direction_of_a_plane(lam):
    moments, shares, eps = group_moments(1, 3, 2), np.array([0.5, 0.3, 0.2]), np.array([0.05, 0.1, 0.0])
    objective = GroupObjective(shares, lam, eps)
    angles = np.linspace(0.0, np.pi, 5001)
    lines = np.stack((np.cos(angles), np.sin(angles)), axis=1)[:, :, None]
    best = min(float(objective.values(reconstruction_errors(moments, line)).max()) for line in lines)
    starts = lines[[300, 1700, 3100, 4500]]
    reached = [_descend(moments, objective, start, 1e-9, 1000)[1][-1] for start in starts]
    assert min(reached) == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("lam", [0.5, 2.0])
def test_slopes_count_also_where_a_group_is_nearly_reconstructed(lam):
    """The axes are close to each other, so at the optimum every error is small and every slope steep."""
    axes = np.array([[1.0, 0.0, 0.0], [1.0, 0.03, 0.0], [1.0, 0.01, 0.05]])
    moments = np.einsum("gi,gj->gij", axes, axes) + 1e-4 * np.eye(3)
    shares, eps = np.array([0.5, 0.3, 0.2]), np.array([1e-3, 2e-3, 5e-4])
    objective = GroupObjective(shares, lam, eps)
    x, y = np.meshgrid(np.linspace(-0.02, 0.06, 401), np.linspace(-0.02, 0.06, 401))
    lines = np.stack((np.ones_like(x), x, y), axis=-1).reshape(-1, 3)
    lines /= np.linalg.norm(lines, axis=1)[:, None]
    errors = np.trace(moments, axis1=1, axis2=2) - np.einsum("ni,gij,nj->ng", lines, moments, lines, optimize=True)
    best = float(worst_case(errors, shares, lam, eps)[0].min())
    for start in lines[[0, -1]]:
        assert _descend(moments, objective, start[:, None], 1e-9, 1000)[1][-1] <= best * (1 + 1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_in_a_box_of_errors_holds_for_all_planes_in_it(seed):
    """Small boxes away from the optimum, so that the multipliers of their sides count."""
    rng = np.random.default_rng(seed)
    moments, shares, lam = group_moments(seed, 3, 2), rng.dirichlet(np.ones(3)), float(rng.choice([0.0, 0.3, 2.0]))
    eps = rng.uniform(0.0, 0.2, 3)
    angles = np.linspace(0.0, np.pi, 20001)
    normals = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    errors = np.einsum("ni,gij,nj->ng", normals, moments, normals)
    values = worst_case(errors, shares, lam, eps)[0]
    share = 0.02 * (errors.max(axis=0) - errors.min(axis=0))
    for index in rng.integers(len(errors), size=5):
        relaxation = ChordRelaxation(moments, 1, GroupObjective(shares, lam, eps))
        relaxation.low, relaxation.high = np.maximum(errors[index] - share, 0.0), errors[index] + share
        inside = np.all((errors >= relaxation.low) & (errors <= relaxation.high), axis=1)
        relaxation.planes.append(np.array([[-normals[index, 1]], [normals[index, 0]]]))
        bound, least = relaxation.solve(), float(values[inside].min())
        assert least - 0.1 * abs(least) - 0.05 <= bound <= least + 1e-9


def test_where_nothing_falls_all_weights_are_equal():
    np.testing.assert_array_equal(_simplex_qp(np.zeros((3, 3)), np.zeros(3)), np.full(3, 1 / 3))

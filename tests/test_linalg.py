"""Linear algebra against slow, obvious versions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairpca.linalg import (
    clip_to_trace,
    fix_signs,
    geodesic,
    orthonormal,
    principal_angles,
    project_fantope,
    subspace_distance,
    top_eigenpairs,
)


def test_top_eigenpairs_both_drivers():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((40, 40))
    A = A + A.T
    for k in (1, 3, 20, 40):
        w, V = top_eigenpairs(A, k)
        np.testing.assert_allclose(w, np.sort(np.linalg.eigvalsh(A))[::-1][:k])
        np.testing.assert_allclose(A @ V, V * w, atol=1e-10)


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=12),
    st.floats(0, 1),
)
def test_clip_to_trace_solves_its_projection(values, share):
    w = np.array(values)
    d = share * w.size
    x = clip_to_trace(w, d)
    assert np.all((x >= 0) & (x <= 1))
    assert abs(x.sum() - d) < 1e-9
    # Optimality of the projection: no feasible transfer between two coordinates brings x nearer to w.
    slope = w - x
    can_grow, can_shrink = x < 1 - 1e-9, x > 1e-9
    if can_grow.any() and can_shrink.any():
        assert slope[can_grow].max() <= slope[can_shrink].min() + 1e-7


def test_fantope_projection_against_cvxpy():
    import cvxpy as cp

    rng = np.random.default_rng(4)
    A = rng.standard_normal((5, 5))
    A = (A + A.T) / 2
    P = cp.Variable((5, 5), symmetric=True)
    cp.Problem(cp.Minimize(cp.sum_squares(P - A)), [P >> 0, np.eye(5) - P >> 0, cp.trace(P) == 2]).solve(
        solver="CLARABEL"
    )
    np.testing.assert_allclose(project_fantope(A, 2), P.value, atol=1e-5)


def test_principal_angles_are_accurate_at_both_ends():
    for angle in (1e-9, 1e-4, 0.7, np.pi / 2 - 1e-9):
        V = np.eye(4)[:, :2]
        W = np.column_stack((V[:, 0], np.cos(angle) * V[:, 1] + np.sin(angle) * np.eye(4)[:, 3]))
        np.testing.assert_allclose(principal_angles(V, W)[-1], angle, rtol=1e-7)
        np.testing.assert_allclose(subspace_distance(V, W), np.sin(angle), rtol=1e-7)
    with pytest.raises(ValueError, match="different spaces"):
        principal_angles(np.eye(3)[:, :1], np.eye(4)[:, :1])
    with pytest.raises(ValueError, match="different dimensions"):
        subspace_distance(np.eye(3)[:, :1], np.eye(3)[:, :2])


@pytest.mark.parametrize("wrong", [[1.0, 0.0], np.array(1.0), [["a"], ["b"]], None])
def test_angles_are_between_matrices_of_numbers(wrong):
    basis = np.eye(2)[:, :1]
    assert principal_angles([[1.0], [0.0]], basis).tolist() == [0.0]
    assert subspace_distance([[0.0], [1.0]], basis) == 1.0
    for bases, name in (((wrong, basis), "first"), ((basis, wrong), "second")):
        for function in (principal_angles, subspace_distance):
            with pytest.raises(ValueError, match=f"the {name} basis has shape .* give a matrix of numbers"):
                function(*bases)


def test_geodesic_ends_and_stays_orthonormal():
    rng = np.random.default_rng(5)
    A, B = orthonormal(rng.standard_normal((6, 3))), orthonormal(rng.standard_normal((6, 3)))
    path = geodesic(A, B)
    assert subspace_distance(path(0), A) < 1e-12 and subspace_distance(path(1), B) < 1e-12
    for u in (0.0, 0.3, 1.0):
        np.testing.assert_allclose(path(u).T @ path(u), np.eye(3), atol=1e-12)
    still = geodesic(A, A)
    assert subspace_distance(still(0.5), A) < 1e-12


def test_signs_are_deterministic():
    V = np.array([[0.6, -0.8], [-0.7, -0.7]])
    np.testing.assert_array_equal(fix_signs(V), [[-0.6, 0.8], [0.7, 0.7]])
    np.testing.assert_array_equal(fix_signs(-V), fix_signs(V))

"""Planes from which the descent begins, against convex problems whose solution is known."""

import numpy as np

from fairpca.linalg import subspace_distance
from fairpca.solvers.rfpca.groups import tangent_planes
from fairpca.solvers.rfpca.objective import GroupObjective


def test_leading_eigenvectors_stand_for_a_solution_that_is_no_projection():
    """Six groups on the diagonals of an icosahedron, of sizes at which one P alone makes their errors equal.

    The squares of these six directions span the symmetric matrices. A large penalty on gaps asks for equal errors, and
    without radii the objective is its own tangent, so that P, with eigenvalues below one, solves the convex problem.
    """
    golden = (1 + 5**0.5) / 2
    U = np.array([[0, 1, golden], [0, 1, -golden], [1, golden, 0], [1, -golden, 0], [golden, 0, 1], [golden, 0, -1]])
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    P = (Q * [0.8, 0.7, 0.5]) @ Q.T
    sizes = 1 / np.einsum("gi,ij,gj->g", U, np.eye(3) - P, U)
    moments = np.einsum("g,gi,gj->gij", sizes, U, U)
    begin = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 2)))[0]
    plane = next(tangent_planes(moments, GroupObjective(np.full(6, 1 / 6), 20.0, np.zeros(6)), begin))
    assert plane.shape == (3, 2)
    np.testing.assert_allclose(plane.T @ plane, np.eye(2), atol=1e-12)
    assert subspace_distance(plane, Q[:, :2]) < 1e-8

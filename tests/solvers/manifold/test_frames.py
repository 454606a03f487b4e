"""Frames one at a time: the same operations as pymanopt's, which work on stacks."""

import numpy as np
import pytest
from pymanopt import manifolds

from fairpca.linalg import principal_angles
from fairpca.solvers.manifold import bfgs as frames


@pytest.mark.parametrize(("n", "p"), [(7, 3), (5, 1), (4, 4), (60, 10)])
def test_operations_are_those_of_pymanopt(n, p):
    rng = np.random.default_rng(n * p)
    mine, reference = frames.Grassmann(n, p), manifolds.Grassmann(n, p)
    x, new = (np.linalg.qr(rng.standard_normal((n, p)))[0] for _ in range(2))
    a = rng.standard_normal((n, p))
    assert np.allclose(mine.projection(x, a), reference.projection(x, a), atol=1e-13)
    assert np.allclose(mine.projection(new, a), reference.transport(x, new, a), atol=1e-13)
    tangent = reference.projection(x, a)
    for step in (1e-3, 1.0, 1e6):
        there = mine.retraction(x, step * tangent)
        assert np.allclose(there.T @ there, np.eye(p), atol=1e-12)
        assert principal_angles(there, reference.retraction(x, step * tangent)).max() < 1e-6
    assert (mine.dim, mine.typical_dist) == (reference.dim, reference.typical_dist)


def test_many_transposed_vectors_are_carried_in_place():
    rng = np.random.default_rng(0)
    new = np.linalg.qr(rng.standard_normal((9, 4)))[0]
    vectors = rng.standard_normal((6, 9, 4))
    rows = np.ascontiguousarray(vectors.transpose(0, 2, 1))
    frames.Grassmann(9, 4).transport_rows(new, rows)
    expected = np.array([manifolds.Grassmann(9, 4).projection(new, vector) for vector in vectors])
    assert np.allclose(rows.transpose(0, 2, 1), expected, atol=1e-13)

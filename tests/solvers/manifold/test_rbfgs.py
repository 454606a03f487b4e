"""Full BFGS on the Stiefel manifold, against pymanopt's manifold, textbook formulas, scipy and eigenvalues."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymanopt.manifolds import Stiefel

from fairpca.solvers.manifold.rbfgs import Frame, _shorter, stiefel_rbfgs, updated

SHAPES = [(7, 3), (5, 1), (4, 4), (60, 10)]


def frame(p, d, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((p, d)))[0]


def trace_problem(p, d, seed=0):
    """-tr N V'AV, whose minimum pairs the largest eigenvalues of A with the largest weights."""
    A = np.random.default_rng(seed).standard_normal((p, p))
    A, N = A + A.T, np.diag(np.arange(d, 0.0, -1.0))

    def function(V):
        return -float(np.trace(N @ V.T @ A @ V)), -2.0 * A @ V @ N

    return function, -float(np.diagonal(N) @ np.sort(np.linalg.eigvalsh(A))[::-1][:d])


@pytest.mark.parametrize(("p", "d"), SHAPES)
def test_coordinates_are_those_of_the_tangent_part(p, d):
    V, manifold = frame(p, d), Stiefel(p, d)
    at = Frame(V * 3.0)
    assert np.allclose(at.V, V * np.sign(np.sum(at.V * V, axis=0))) and np.allclose(at.V.T @ at.V, np.eye(d))
    G, other = np.random.default_rng(1).standard_normal((2, p, d))
    tangent = manifold.projection(at.V, G)
    assert len(at.coordinates(G)) == manifold.dim
    assert np.allclose(at.coordinates(G), at.coordinates(tangent))
    inner = manifold.inner_product(at.V, tangent, manifold.projection(at.V, other))
    assert at.coordinates(G) @ at.coordinates(other) == pytest.approx(inner)
    t = 1e-7
    assert np.allclose((at.retraction(t * at.coordinates(G)).V - at.V) / t, tangent, atol=1e-5)
    assert np.allclose(at.retraction(at.coordinates(G)).V, manifold.retraction(at.V, tangent), atol=1e-10)


@given(st.integers(0, 1000), st.integers(1, 12))
def test_the_update_is_the_textbook_one_and_meets_the_secant_equation(seed, n):
    rng = np.random.default_rng(seed)
    L, s, y = rng.standard_normal((n, n)), *rng.standard_normal((2, n))
    H = L @ L.T + np.eye(n)
    y = y if s @ y > 0.1 else s + 0.1 * y / (1 + np.linalg.norm(y)) * np.linalg.norm(s)
    c, left = s @ y, np.eye(n) - np.outer(s, y) / (s @ y)
    expected = left @ H @ left.T + np.outer(s, s) / c
    lower = np.tril(updated(np.asfortranarray(H), s, y))
    result = lower + np.tril(lower, -1).T
    assert np.allclose(result, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    assert np.allclose(result @ y, s, rtol=1e-7, atol=1e-7 * np.abs(result).max() * np.abs(y).max())


def test_a_shorter_step_is_the_minimiser_of_the_interpolant():
    def cubic(t):
        return 2.0 * t**3 + t**2 - t

    slope, least = -1.0, (-2.0 + np.sqrt(4 + 24)) / 12
    excess = {t: cubic(t) - slope * t for t in (1.0, 0.6)}
    assert _shorter(0.6, excess[0.6], (1.0, excess[1.0]), slope) == pytest.approx(least)
    assert _shorter(2.0, 4.0, None, slope) == pytest.approx(0.5)  # of t² - t
    assert _shorter(1.0, 1e9, None, slope) == pytest.approx(0.1)
    assert _shorter(1.0, np.nan, None, slope) == pytest.approx(0.9)


@pytest.mark.parametrize(("p", "d"), [(7, 3), (5, 1), (4, 4), (30, 5)])
def test_the_minimum_is_that_of_the_eigenvalues(p, d):
    function, least = trace_problem(p, d)
    V = stiefel_rbfgs(function, frame(p, d, 3), 1e-8, 1000)
    assert np.allclose(V.T @ V, np.eye(d))
    if (p, d) != (4, 4):  # orthogonal matrices have two components, and a minimum in each
        assert function(V)[0] == pytest.approx(least, rel=1e-10)
    gradient = Frame(V).coordinates(function(V)[1])
    assert np.linalg.norm(gradient) <= 1e-8


def test_where_it_stops():
    function, _ = trace_problem(20, 2)
    calls = []

    def counted(V):
        calls.append(V)
        return function(V)

    V = frame(20, 2, 1)
    norm = np.linalg.norm(Frame(V).coordinates(function(V)[1]))
    assert stiefel_rbfgs(counted, V, 1.01 * norm, 100) is V and len(calls) == 1, "no step where the test holds"
    steps = []
    stiefel_rbfgs(function, V, 1e-12, 7, callback=lambda: steps.append(1))
    assert len(steps) == 7
    end = stiefel_rbfgs(function, V, 1e-3, 1000, relative=True)
    assert 1e-9 * norm < np.linalg.norm(Frame(end).coordinates(function(end)[1])) <= 1e-3 * norm

"""Limited-memory BFGS on frames, against eigenvalues, pymanopt's trust regions and the Wolfe conditions."""

from collections import Counter

import numpy as np
import pymanopt
import pytest
from pymanopt.optimizers import ConjugateGradient, TrustRegions

from fairpca.solvers.manifold import Grassmann, limited_rbfgs
from fairpca.solvers.manifold._memory import SecantPairs
from fairpca.solvers.manifold.bfgs import _weak_wolfe


def symmetric(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return (A + A.T) / 2


def frame(n, p, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, p)))[0]


def sum_of_squares(A):
    """A function whose minimum over subspaces is not an eigenspace, so that methods have work to do."""
    B = symmetric(len(A), 9) / np.sqrt(len(A))

    def function(V):
        inner = V.T @ B @ V
        value = np.sum(inner**2) - np.trace(V.T @ A @ V)
        return float(value), 4 * B @ V @ inner - 2 * A @ V

    return function


class Flat:
    """Euclidean space, whose vectors stand as columns."""

    typical_dist = 100.0

    def retraction(self, point, vector):
        return point + vector

    def projection(self, point, vector):
        return vector

    def transport_rows(self, point, rows):
        pass


def quadratic(weights):
    return lambda x: (float(np.sum(weights * x * x)), 2 * weights * x)


def test_the_leading_eigenspace():
    A = symmetric(96, 1)
    V = limited_rbfgs(lambda V: (-np.trace(V.T @ A @ V), -2 * A @ V), Grassmann(96, 3), frame(96, 3), 1e-8, 1000)
    assert np.trace(V.T @ A @ V) == pytest.approx(np.linalg.eigvalsh(A)[-3:].sum(), rel=1e-12)
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)


def test_same_optimum_as_pymanopt_with_fewer_gradients():
    function = sum_of_squares(symmetric(60, 2))
    for seed in range(3):
        start, calls = frame(60, 3, seed), Counter()

        def counted(V, name="ours", calls=calls):
            calls[name] += 1
            return function(V)

        V = limited_rbfgs(counted, Grassmann(60, 3), start, 1e-6, 1000)
        manifold = pymanopt.manifolds.Grassmann(60, 3)
        cost = pymanopt.function.numpy(manifold)(lambda V: function(V)[0])
        for rival in (ConjugateGradient, TrustRegions):
            gradient = pymanopt.function.numpy(manifold)(lambda V, name=rival: counted(V, name)[1])
            hessian = pymanopt.function.numpy(manifold)(
                lambda V, U, name=rival: (counted(V + 1e-6 * U, name)[1] - function(V - 1e-6 * U)[1]) / 2e-6
            )
            problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian)
            theirs = rival(verbosity=0).run(problem, initial_point=start)
            assert function(V)[0] <= theirs.cost + 1e-9 * abs(theirs.cost)
            assert calls["ours"] < calls[rival]


def test_preconditioner_saves_evaluations():
    weights = np.logspace(0, 4, 40)[:, None]
    counts = []
    for precondition in (lambda x, u: u, lambda x, u: u / (2 * weights)):
        calls = []
        x = limited_rbfgs(
            lambda x, calls=calls: calls.append(1) or quadratic(weights)(x), Flat(), np.ones((40, 1)), 1e-6, 1000,
            precondition=precondition, memory=5,
        )  # fmt: skip
        assert quadratic(weights)(x)[0] < 1e-10
        counts.append(len(calls))
    assert counts[1] <= 5 < counts[0] / 3


def test_where_a_preconditioner_points_uphill_the_step_is_the_one_without_it():
    weights = np.logspace(0, 2, 12)[:, None]
    for seed in range(5):
        x0, ends = np.random.default_rng(seed).standard_normal((12, 1)), []
        for sign in (1.0, -1.0):
            step = limited_rbfgs(quadratic(weights), Flat(), x0, 1e-9, 1, precondition=lambda x, u, s=sign: s * u)
            ends.append(step)
        assert ends[1] == pytest.approx(ends[0], rel=1e-12)
        slope, moved = 2 * weights * x0, x0 - ends[0]
        assert moved == pytest.approx(slope * np.linalg.norm(moved) / np.linalg.norm(slope))
        fall = quadratic(weights)(x0)[0] - quadratic(weights)(ends[0])[0]
        assert fall >= 1e-4 * np.vdot(moved, slope)  # Armijo
    end = limited_rbfgs(quadratic(weights), Flat(), x0, 1e-9, 1000, precondition=lambda x, u: -u)
    assert quadratic(weights)(end)[0] < 1e-10


def test_what_stops_a_run():
    function, start = sum_of_squares(symmetric(40, 3)), frame(40, 3)

    def run(tolerance=1e-6, max_steps=1000, **options):
        seen = []

        def callback(iteration, V):
            assert iteration == len(seen) + 1
            seen.append(function(V)[0])
            return iteration == options.get("stop")

        kept = {name: value for name, value in options.items() if name != "stop"}
        end = limited_rbfgs(function, Grassmann(40, 3), start, tolerance, max_steps, callback=callback, **kept)
        assert np.all(np.diff([function(start)[0], *seen]) <= 0) and function(end)[0] == min([*seen, function(end)[0]])
        slope = Grassmann(40, 3).projection(end, function(end)[1])
        return len(seen), float(np.linalg.norm(slope))

    steps, norm = run()
    assert norm < 1e-6 and steps > 10
    assert run(tolerance=1e-2)[0] < steps and run(tolerance=1e-2)[1] < 1e-2
    assert run(max_steps=3)[0] == 3 and run(stop=4)[0] == 4
    stalled = run(tolerance=0.0, min_decrease=1e-4, max_stalled=4)
    assert 4 < stalled[0] < steps and stalled[1] > 1e-6
    assert run(tolerance=1e9)[0] == 0


def test_no_descent_leaves_the_start():
    x = np.ones((2, 1))
    calls = []
    assert limited_rbfgs(lambda x: (float(np.sum(x * x)), -2 * x), Flat(), x, 1e-9, 100) is x
    assert limited_rbfgs(lambda x: calls.append(1) or (0.0, 0 * x), Flat(), x, 1e-9, 100) is x and len(calls) == 1


def test_line_search_meets_the_weak_wolfe_conditions():
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b, phase = rng.uniform(0.1, 2, 3)

        def function(x, a=a, b=b, phase=phase):
            return float(a * x[0, 0] ** 2 + b * np.cos(3 * x[0, 0] + phase)), 2 * a * x - 3 * b * np.sin(3 * x + phase)

        x = rng.uniform(-4, 4, (1, 1))
        cost, gradient = function(x)
        slope = -float(np.vdot(gradient, gradient))
        found = _weak_wolfe(function, Flat(), x, cost, -gradient, slope, 10 ** rng.uniform(-3, 3))
        assert found.cost <= cost + 1e-4 * found.step * slope
        assert np.vdot(function(found.point)[1], -gradient) >= 0.9 * slope
    # A long step along a curve that has levelled off falls, but by too little for its length.
    decay = lambda x: (float(np.exp(-x[0, 0])), -np.exp(-x))  # noqa: E731
    found = _weak_wolfe(decay, Flat(), np.zeros((1, 1)), 1.0, np.ones((1, 1)), -1.0, 1e6)
    assert found.cost <= 1.0 - 1e-4 * found.step


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_which_secant_pairs_are_kept_does_not_depend_on_the_unit_of_the_cost(unit):
    """Those with positive curvature, however long they are; and the inverse Hessian has the inverse unit."""
    rng, manifold = np.random.default_rng(0), Grassmann(8, 2)
    new = frame(8, 2, 2)
    G = rng.standard_normal((8, 2))
    images = []
    for size in (1.0, unit):
        stream, pairs = np.random.default_rng(1), SecantPairs(5)
        for bend in (1.0, -1.0, 3.0, 0.5):
            s = manifold.projection(new, stream.standard_normal((8, 2)))
            pairs.append(s, size * bend * s)
        pairs.move(manifold, new)
        assert len(pairs) == 3  # all but the one with negative curvature
        images.append(size * pairs.apply(manifold.projection(new, G), lambda vector: vector))
    np.testing.assert_allclose(images[1], images[0], rtol=1e-12)


@pytest.mark.parametrize("count", [1, 4, 11])
def test_pairs_give_the_two_loop_recursion(count):
    """The newest five of them, in one array or moved to its front."""
    rng = np.random.default_rng(count)
    pairs, kept = SecantPairs(5), []
    H = symmetric(6, 4) @ symmetric(6, 4) + np.eye(6)
    for _ in range(count):
        s = rng.standard_normal((3, 2))
        y = (H @ s.ravel()).reshape(3, 2)
        pairs.append(s, y)
        kept = [*kept, (s, y)][-5:]
    G, shares = rng.standard_normal((3, 2)), []
    q = G.copy()
    for s, y in kept[::-1]:
        shares.append(np.vdot(s, q) / np.vdot(s, y))
        q -= shares[-1] * y
    s, y = kept[-1]
    r = q / 3 * np.vdot(s, y) / np.vdot(y, y / 3)
    for (s, y), share in zip(kept, shares[::-1], strict=True):
        r += (share - np.vdot(y, r) / np.vdot(s, y)) * s
    np.testing.assert_allclose(pairs.apply(G, lambda vector: vector / 3), r, rtol=1e-9)

"""RiemannianBFGS on pymanopt's example problems, against its conjugate gradient and trust regions."""

from collections import Counter

import numpy as np
import pymanopt
import pytest
from pymanopt.manifolds import Euclidean, FixedRankEmbedded, Grassmann, Sphere, Stiefel
from pymanopt.optimizers import ConjugateGradient, TrustRegions
from pymanopt.optimizers.optimizer import Optimizer

from fairpca.solvers.manifold import RiemannianBFGS
from fairpca.solvers.manifold import bfgs as frames
from fairpca.solvers.manifold._memory import FlatMemory
from fairpca.solvers.manifold.bfgs import weak_wolfe


def counted(manifold, cost, gradient, hessian=None, preconditioner=None):
    """A pymanopt problem whose calls are counted."""
    calls = Counter()

    def wrapped(name, function):
        @pymanopt.function.numpy(manifold)
        def call(*arguments):
            calls[name] += 1
            return function(*arguments)

        return call

    problem = pymanopt.Problem(
        manifold,
        wrapped("cost", cost),
        euclidean_gradient=wrapped("gradient", gradient),
        euclidean_hessian=wrapped("hessian", hessian) if hessian else None,
        preconditioner=preconditioner,
    )
    return problem, calls


def symmetric(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return (A + A.T) / 2


def rayleigh():
    A = symmetric(128)
    return Sphere(128), lambda x: x @ A @ x, lambda x: 2 * A @ x, lambda x, u: 2 * A @ u


def invariant_subspace():
    A = symmetric(96, 1)
    return Grassmann(96, 3), lambda X: -np.trace(X.T @ A @ X), lambda X: -2 * A @ X, lambda X, H: -2 * A @ H


def weighted_subspace():
    A, N = symmetric(60, 2), np.diag([3.0, 2.0, 1.0])
    return (
        Stiefel(60, 3),
        lambda X: -np.trace(X.T @ A @ X @ N),
        lambda X: -2 * A @ X @ N,
        lambda X, H: -2 * A @ H @ N,
    )


def procrustes():
    rng = np.random.default_rng(3)
    R, M = np.linalg.qr(rng.standard_normal((6, 6)))[0], rng.standard_normal((6, 100))
    B = R @ M + 0.1 * rng.standard_normal(M.shape)
    return (
        Stiefel(6, 6),
        lambda X: np.sum((X @ M - B) ** 2),
        lambda X: 2 * (X @ M - B) @ M.T,
        lambda X, H: 2 * H @ M @ M.T,
    )


def completion():
    rng = np.random.default_rng(4)
    target = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 30))
    seen = rng.random(target.shape) < 0.6

    def cost(u, s, vt):
        return 0.5 * np.sum(((u * s) @ vt - target)[seen] ** 2)

    def gradient(u, s, vt):
        residual = np.where(seen, (u * s) @ vt - target, 0.0)
        return residual @ vt.T * s, np.diag(u.T @ residual @ vt.T).copy(), (u * s).T @ residual

    return FixedRankEmbedded(40, 30, 3), cost, gradient, None


PROBLEMS = [rayleigh, invariant_subspace, weighted_subspace, procrustes, completion]


def start(manifold, seed=1):
    np.random.seed(seed)  # noqa: NPY002 - pymanopt draws from the global generator
    return manifold.random_point()


@pytest.mark.parametrize("example", PROBLEMS, ids=lambda f: f.__name__)
def test_same_optimum_with_fewer_gradients(example):
    manifold, cost, gradient, hessian = example()
    rivals = [ConjugateGradient(verbosity=0)] + ([TrustRegions(verbosity=0)] if hessian else [])
    ours_total, theirs_total = 0, [0] * len(rivals)
    for seed in range(3):
        x0 = start(manifold, seed)
        problem, calls = counted(manifold, cost, gradient)
        ours = RiemannianBFGS(verbosity=0).run(problem, initial_point=x0)
        ours_total += calls["gradient"]
        for i, rival in enumerate(rivals):
            same, rival_calls = counted(manifold, cost, gradient, hessian)
            theirs = rival.run(same, initial_point=x0)
            assert ours.cost == pytest.approx(theirs.cost, abs=1e-9 * max(1, abs(theirs.cost)))
            theirs_total[i] += rival_calls["gradient"]
    assert ours_total < min(theirs_total)


def test_exact_optima():
    A = symmetric(128)
    problem, _ = counted(*rayleigh()[:3])
    assert RiemannianBFGS(verbosity=0).run(problem).cost == pytest.approx(np.linalg.eigvalsh(A)[0])
    problem, _ = counted(*invariant_subspace()[:3])
    best = -np.linalg.eigvalsh(symmetric(96, 1))[-3:].sum()
    assert RiemannianBFGS(verbosity=0).run(problem).cost == pytest.approx(best)


@pytest.mark.parametrize("example", [invariant_subspace, weighted_subspace, procrustes], ids=lambda f: f.__name__)
def test_flat_memory_is_the_same_method(example):
    manifold, cost, gradient, _ = example()
    x0 = start(manifold)
    results = []
    for flat in (False, True):
        problem, calls = counted(manifold, cost, gradient)
        results.append(RiemannianBFGS(verbosity=0, flat_memory=flat).run(problem, initial_point=x0))
    assert results[0].cost == pytest.approx(results[1].cost, rel=1e-10)
    few = []
    for flat in (False, True):
        problem, _ = counted(manifold, cost, gradient)
        few.append(RiemannianBFGS(verbosity=0, flat_memory=flat, max_iterations=8).run(problem, initial_point=x0))
    assert few[0].cost == pytest.approx(few[1].cost, rel=1e-2)


@pytest.mark.parametrize("memory", [1, 3, 30])
def test_frames_one_at_a_time_are_the_same_method(memory):
    """pymanopt's manifold with transported copies, and ours in place: the same steps, also when pairs are dropped."""
    A = symmetric(30, 2)
    x0 = start(Stiefel(30, 3))
    costs = []
    for kind in (Grassmann, frames.Grassmann):
        problem, _ = counted(kind(30, 3), lambda X: -np.trace(X.T @ A @ X), lambda X: -2 * A @ X)
        options = {"verbosity": 0, "memory": memory, "flat_memory": True}
        run = RiemannianBFGS(max_iterations=8, **options).run(problem, initial_point=x0)
        end = RiemannianBFGS(**options).run(problem, initial_point=x0)
        costs.append((run.cost, end.cost))
    assert costs[0] == pytest.approx(costs[1], rel=1e-8)


def test_preconditioner_saves_iterations():
    weights = np.logspace(0, 4, 40)
    manifold = Euclidean(40)
    counts = []
    for preconditioner in (None, lambda x, u: u / (2 * weights)):
        problem, calls = counted(manifold, lambda x: x @ (weights * x), lambda x: 2 * weights * x, None, preconditioner)
        optimizer = RiemannianBFGS(verbosity=0, scale_initial=preconditioner is None, memory=5)
        result = optimizer.run(problem, initial_point=np.ones(40))
        assert result.cost < 1e-10
        counts.append(calls["gradient"])
    assert counts[1] <= 3 < counts[0] / 3
    bad, _ = counted(manifold, lambda x: x @ (weights * x), lambda x: 2 * weights * x, None, lambda x, u: -u)
    assert RiemannianBFGS(verbosity=0).run(bad, initial_point=np.ones(40)).cost < 1e-6


def test_stopping_reasons_log_and_output(capsys):
    assert issubclass(RiemannianBFGS, Optimizer)
    problem, _ = counted(*invariant_subspace()[:3])
    x0 = start(problem.manifold)

    def run(**options):
        return RiemannianBFGS(**{"verbosity": 0, **options}).run(problem, initial_point=x0)

    assert "min grad norm" in run().stopping_criterion
    assert "max iterations" in run(max_iterations=3).stopping_criterion
    assert run(max_iterations=3).iterations == 3
    assert "max time" in run(max_time=0).stopping_criterion
    assert "max cost evals" in run(max_cost_evaluations=5).stopping_criterion
    assert "min step_size" in run(min_step_size=1e3).stopping_criterion
    assert "stalled for 8 steps" in run(min_gradient_norm=0, min_step_size=0, min_decrease=1e-9).stopping_criterion
    seen = []
    stopped = run(callback=lambda i, x, cost, norm: seen.append(cost) or i == 4)
    assert "stopped by the callback after 4" in stopped.stopping_criterion
    assert np.all(np.diff(seen) <= 0)
    log = run(log_verbosity=1, max_iterations=6).log
    assert log["optimizer"] == "RiemannianBFGS"
    assert log["iterations"]["iteration"] == list(range(7))
    assert np.all(np.diff(log["iterations"]["cost"]) <= 0)
    run(verbosity=2, max_iterations=2)
    printed = capsys.readouterr().out
    assert "Gradient norm" in printed
    assert "Terminated - max iterations" in printed


def test_start_at_the_optimum_and_no_descent():
    problem, _ = counted(Euclidean(2), lambda x: x @ x, lambda x: 2 * x)
    assert RiemannianBFGS(verbosity=0).run(problem, initial_point=np.zeros(2)).iterations == 0
    wrong, _ = counted(Euclidean(2), lambda x: x @ x, lambda x: -2 * x)
    result = RiemannianBFGS(verbosity=0, min_step_size=0).run(wrong, initial_point=np.ones(2))
    assert "no decrease" in result.stopping_criterion
    assert result.cost == 2.0


def test_line_search_meets_the_weak_wolfe_conditions():
    rng = np.random.default_rng(0)
    manifold = Euclidean(1)
    for _ in range(50):
        a, b, phase = rng.uniform(0.1, 2, 3)

        def cost(x, a=a, b=b, phase=phase):
            return float(a * x[0] ** 2 + b * np.cos(3 * x[0] + phase))

        def gradient(x, a=a, b=b, phase=phase):
            return np.array([2 * a * x[0] - 3 * b * np.sin(3 * x[0] + phase)])

        x = rng.uniform(-4, 4, 1)
        direction = -gradient(x)
        slope = float(gradient(x) @ direction)
        found = weak_wolfe(cost, gradient, manifold, x, cost(x), direction, slope, 10 ** rng.uniform(-3, 3))
        assert found.cost <= cost(x) + 1e-4 * found.step * slope
        assert gradient(found.point) @ direction >= 0.9 * slope


def test_where_a_preconditioner_points_uphill_the_step_is_the_one_without_it():
    weights = np.logspace(0, 2, 12)
    for seed in range(5):
        x0, ends = np.random.default_rng(seed).standard_normal(12), []
        for preconditioner in (None, lambda x, u: -u):
            problem, calls = counted(
                Euclidean(12), lambda x: x @ (weights * x), lambda x: 2 * weights * x, None, preconditioner
            )
            result = RiemannianBFGS(verbosity=0, max_iterations=1).run(problem, initial_point=x0)
            ends.append((result.point, calls["cost"]))
        assert ends[1][0] == pytest.approx(ends[0][0], rel=1e-12) and ends[1][1] == ends[0][1]
        slope = 2 * weights * x0
        fall, moved = x0 @ (weights * x0) - result.cost, x0 - result.point
        assert moved == pytest.approx(slope * np.linalg.norm(moved) / np.linalg.norm(slope))
        assert fall >= 1e-4 * moved @ slope  # Armijo


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_which_secant_pairs_are_kept_does_not_depend_on_the_unit_of_the_cost(unit):
    """Those with positive curvature, however long they are; and the inverse Hessian has the inverse unit."""
    rng, manifold = np.random.default_rng(0), frames.Grassmann(8, 2)
    x, new = start(manifold, 1), start(manifold, 2)
    G = rng.standard_normal((8, 2))
    images = []
    for size in (1.0, unit):
        stream, memory = np.random.default_rng(1), FlatMemory(5)
        for bend in (1.0, -1.0, 3.0, 0.5):
            s = manifold.projection(new, stream.standard_normal((8, 2)))
            memory.append(s, size * bend * s, size * bend * np.vdot(s, s))
        memory.move(manifold, x, new)
        assert len(memory) == 3  # all but the one with negative curvature
        images.append(size * memory.apply(manifold, new, manifold.projection(new, G), lambda vector: vector, True))
    np.testing.assert_allclose(images[1], images[0], rtol=1e-12)

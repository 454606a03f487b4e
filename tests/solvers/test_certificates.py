"""Every certificate on every path, recomputed by a referee that shares nothing with the solvers."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from minmax_cases import moments
from referee import faults

from fairpca import WideRows
from fairpca.solvers.erasure import cross_moments, solve_mean_fair
from fairpca.solvers.fpca import fpca_problem, solve_fpca, solve_mean_only, solve_splitting
from fairpca.solvers.minmax import (
    ExactDimension,
    solve_minmax,
    solve_minmax_nested,
    solve_minmax_sdp,
    solve_minmax_weights,
    solve_minmax_wide,
    weights,
)
from fairpca.solvers.minmax.dual import dense_limit
from fairpca.solvers.rfpca import solve_rfpca, solve_rfpca_groups
from fairpca.solvers.rfpca._boundary import PencilBoundary
from fairpca.solvers.spectral import PairBasis, Pencil

OBJECTIVES = ["loss", "error", "variance", "nash"]
EACH_OBJECTIVE = pytest.mark.parametrize("objective", OBJECTIVES)
LINEAR = pytest.mark.parametrize("objective", OBJECTIVES[:3])


def spread(m, p, seed, falling=0.9):
    """Moments of m groups with axes of their own, sizes of their own, and a slowly falling spectrum."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((m, p, p)))[0]
    w = falling ** np.arange(p) * rng.uniform(0.5, 2.0, (m, p)) * rng.uniform(0.5, 2.0, (m, 1))
    return (axes * w[:, None, :]) @ axes.transpose(0, 2, 1)


@EACH_OBJECTIVE
@pytest.mark.parametrize("m", [2, 5])
@pytest.mark.parametrize("path", ["dense", "basis", "large", "rough basis"])
def test_minmax(path, m, objective):
    p, d = {"dense": 9, "basis": 30, "large": 170, "rough basis": 60}[path], 4
    M = spread(m, p, m) if path != "large" else spread(m, p, m, 0.97)
    # A rough basis misses much, so that what is added for it shows in the bound.
    pencil = {"basis": Pencil(M, dense_limit=0), "rough basis": Pencil(M, dense_limit=0, tol=1e-3)}.get(path)
    if pencil is not None:
        assert not pencil.is_dense
    result = solve_minmax(M, d, objective=objective, pencil=pencil)
    assert not faults("minmax", result, M, d, objective)
    assert result.status == "optimal" or path == "rough basis"


def rough_basis(seed):
    """Two moments, a dimension, a weight, and leading eigenvectors there, with errors and perhaps without the first."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 13))
    d = int(rng.integers(1, p))
    axes = np.linalg.qr(rng.standard_normal((2, p, p)))[0]
    axes[1] = axes[rng.integers(2)]
    w = rng.uniform(0.3, 1.0, (2, 1)) ** np.arange(p) * rng.uniform(0.5, 1.5, (2, p))
    w[:, 0] += rng.uniform()
    M = (axes * w[:, None, :]) @ axes.transpose(0, 2, 1)
    t = float(rng.choice([rng.uniform(), rng.uniform(-0.5, 1.5)]))
    vectors = np.linalg.eigh(t * M[0] + (1 - t) * M[1])[1][:, ::-1]
    size = int(rng.choice([p - 1, rng.integers(d, p)]))
    block = vectors[:, np.arange(size) + (rng.random() < 0.3)]
    return M, d, t, block + 10.0 ** rng.uniform(-4.0, 0.3) * rng.standard_normal(block.shape) / p**0.5


def test_no_basis_proves_less_than_the_sum_of_the_leading_eigenvalues():
    """The upper bound behind every proof from a basis, however little the basis knows of the matrices."""
    for seed in range(800):
        M, d, t, block = rough_basis(seed)
        pair = PairBasis(M)
        pair.append(block)
        for s in (0.0, 1.0, 0.5, t):  # what is proved at one weight serves the next
            bounds = (
                pair.top_sum_bound(s, d, *pair.pairs(s, d), tight=bool(seed % 2)),
                Pencil(M, dense_limit=0, block=block).top_sum_bound((s, 1 - s), d),
            )
            least = np.linalg.eigvalsh(s * M[0] + (1 - s) * M[1])[-d:].sum()
            assert min(bounds) >= least - 1e-13 * np.abs(M).sum(), seed


@pytest.mark.parametrize("objective", OBJECTIVES[1:])  # losses need the groups' own optima, which it misses, too
@pytest.mark.parametrize("m", [2, 5])
def test_minmax_in_a_basis_that_cannot_see_what_it_misses(m, objective):
    """The basis spans an invariant subspace, so that all residuals vanish and only the proof can tell."""
    M = spread(m, 30, m)
    M[:, :20, 20:] = M[:, 20:, :20] = 0.0
    M[:, 20:, 20:] *= 2.0
    result = solve_minmax(M, 4, objective=objective, pencil=Pencil(M, dense_limit=0, block=np.eye(30)[:, :20]))
    assert not faults("minmax", result, M, 4, objective)
    assert result.status != "optimal" and result.certificate == "proof"


@EACH_OBJECTIVE
@pytest.mark.parametrize("p", [6, 160])
def test_minmax_with_exactly_d_dimensions(p, objective):
    angles = np.arange(3) * np.pi / 3  # each group varies along its own axis of a plane: no direction serves all
    plane = np.linalg.qr(np.random.default_rng(0).standard_normal((p, 2)))[0]
    axes = np.stack((np.cos(angles), np.sin(angles)), axis=1) @ plane.T
    M = axes[:, :, None] * axes[:, None, :] + 1e-2 * spread(3, p, 1)
    result = solve_minmax(M, 1, objective=objective, exact=ExactDimension(n_starts=5))
    assert not faults("minmax", result, M, 1, objective)
    assert result.V.shape == (p, 1) and result.extra["relaxed_dimensions"] > 1


@EACH_OBJECTIVE
@pytest.mark.parametrize("m", [2, 4])
def test_minmax_one_direction_after_the_other(m, objective):
    M = spread(m, 7, 10 + m)
    for d in (1, 2, 4):
        assert not faults("nested", solve_minmax_nested(M, d, objective=objective), M, d, objective)


@LINEAR
def test_minmax_one_direction_after_the_other_in_a_basis(objective):
    M = spread(2, 200, 12, 0.8)
    assert dense_limit(M, 1) < 200
    result = solve_minmax_nested(M, 3, objective=objective)
    assert not faults("nested", result, M, 3, objective)
    assert result.status == "optimal"


@LINEAR
@pytest.mark.parametrize("m", [2, 4])
def test_minmax_by_interior_points_and_multiplicative_weights(m, objective):
    M = spread(m, 8, 20 + m)
    for steps in (7, 100):  # few leave a matrix whose value is not that of the map
        result = solve_minmax_sdp(M, 3, objective=objective, max_iter=steps)
        assert not faults("minmax", result, M, 3, objective, rounding=1e-9, tol=1e-5)
    for large in (M, spread(m, 160, m)):
        result = solve_minmax_weights(large, 3, objective=objective, n_iter=30)
        assert not faults("minmax", result, large, 3, objective)


@pytest.mark.parametrize("objective", OBJECTIVES[1:3])  # the groups' own optima would be rough, too
def test_multiplicative_weights_in_a_rough_basis(objective, monkeypatch):
    monkeypatch.setattr(weights, "Pencil", partial(Pencil, dense_limit=0, tol=0.1))
    for m in (2, 4):
        M = spread(m, 60, m, 0.95)
        result = solve_minmax_weights(M, 3, objective=objective, n_iter=30)
        assert not faults("minmax", result, M, 3, objective)


@EACH_OBJECTIVE
@pytest.mark.parametrize("m", [2, 3])
def test_minmax_from_rows_that_are_only_multiplied(m, objective):
    rng = np.random.default_rng(m)
    group = rng.integers(m, size=60)
    X = rng.standard_normal((60, 200)) * 0.9 ** np.arange(200) + group[:, None] * rng.standard_normal(200)
    for centering in ("group", "overall", "none"):
        centre = {"group": None, "overall": X.mean(axis=0), "none": 0.0}[centering]
        parts = [X[group == g] - (X[group == g].mean(axis=0) if centre is None else centre) for g in range(m)]
        M = np.stack([part.T @ part / len(part) for part in parts])
        result = solve_minmax_wide(WideRows(X, group), 3, objective=objective, centering=centering)
        # The bound is an estimate from residuals.
        assert not faults("minmax", result, M, 3, objective, rounding=1e-9)
        assert result.certificate == "estimate"


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("lam", [0.0, 0.4, 3.0])
@pytest.mark.parametrize("path", ["dense", "basis", "rough basis"])
def test_rfpca_for_two_groups(path, lam, printed):
    p, d = (6, 2) if path == "dense" else (30, 3)
    for seed in range(3):
        M = spread(2, p, 30 + seed, 0.8)
        shares, eps = np.array([0.3, 0.7]), np.array([0.2, 0.05]) * seed
        variant = "printed" if printed else "corrected"
        boundary = PencilBoundary(M, d, tol=1e-7 if path == "basis" else 0.3) if path != "dense" else None
        result = solve_rfpca(M, shares, d, lam, eps, variant=variant, boundary=boundary)
        assert not faults("rfpca", result, M, shares, d, lam, eps, printed, tol=1e-6, rounding=1e-9)
        assert result.status == "optimal"


@pytest.mark.parametrize("lam", [0.0, 0.4, 3.0])
def test_rfpca_that_is_stopped_far_from_the_optimum(lam):
    M, shares, eps = spread(2, 30, 40, 0.8), np.array([0.3, 0.7]), np.array([0.2, 0.05])
    for boundary in (PencilBoundary(M, 3, tol=0.1), None):
        result = solve_rfpca(M, shares, 3, lam, eps, max_iter=1, boundary=boundary)
        assert result.status != "optimal"
        assert not faults("rfpca", result, M, shares, 3, lam, eps, rounding=1e-9, tol=1e-6)


@pytest.mark.parametrize("lam", [0.0, 0.3, 2.0])
def test_rfpca_for_several_groups(lam):
    for seed in range(6):
        M = moments(("wishart", "integer_diagonal", "low_rank")[seed % 3], 3 + seed % 2, 2, seed)
        shares = np.random.default_rng(seed).dirichlet(np.ones(len(M)))
        eps = 0.1 * (seed // 3) * np.trace(M, axis1=1, axis2=2)
        result = solve_rfpca_groups(M, shares, 1, lam, eps)
        assert not faults("rfpca", result, M, shares, 1, lam, eps, tol=1e-4, rounding=1e-7)
        assert lam < 2 or result.gap <= 0.02  # without its tightening the bound is as far as .17


def two_groups(seed, p=7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2, 60, p)) @ rng.standard_normal((p, p)) / p**0.5
    X[1] = X[1] * rng.uniform(0.5, 2.0, p) + rng.normal(0, 0.3, p)
    A = X.reshape(-1, p)
    return np.cov(A.T, bias=True), X[0].mean(axis=0) - X[1].mean(axis=0), np.cov(X[0].T) - np.cov(X[1].T)


@pytest.mark.parametrize("variant", ["printed", "lee2022_code", "vu2022_code"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("mu", [0.02, 0.5])
def test_fpca(variant, share, mu):
    S, f, Q = two_groups(4)
    delta = share * float(np.linalg.norm(f))
    problem = fpca_problem(S, f, Q, 3, delta=delta, mu=mu, variant=variant)
    result = solve_fpca(problem, tol=1e-8)
    reduced, (Y1, Y2, nu, y) = problem.reduce(), result.extra["dual"]
    unit, B = reduced.scale / (problem.c1 + problem.c2) ** 0.5, reduced.B
    dual = unit * B @ Y1 @ B.T, unit * B @ Y2 @ B.T, reduced.scale * nu, reduced.scale * B @ y
    assert not faults("fpca", result, problem, dual, rounding=1e-11, tol=1e-7)
    assert result.status == "optimal"


@pytest.mark.parametrize("share", [0.0, 0.05, 0.4, 1.5])
def test_fpca_with_the_mean_constraint_alone(share):
    S, f, Q = two_groups(5)
    delta = share * float(np.linalg.norm(f))
    problem = fpca_problem(S, f, Q, 3, delta=delta, constraints="mean")
    nu = solve_mean_only(S, f, 3, level=delta**2).multiplier
    none = np.zeros_like(S)
    dual = none, none, 0.0 if share == 0 else nu, np.zeros(len(f))
    result = solve_fpca(problem)
    assert not faults("fpca", result, problem, dual)
    assert result.status == "optimal"


@pytest.mark.parametrize("penalty", ["max", "sum"])
@pytest.mark.parametrize("form", ["quadratic", "operator"])
def test_fpca_adds_what_eliminating_the_mean_leaves_out(penalty, form):
    S, f, Q = two_groups(6)
    f, mu, b = f * 1e8, 0.7, 1e-25
    problem = replace(fpca_problem(S, f, Q, 3, mu=mu), penalty=penalty, mean_form=form, mean_level=b * float(f @ f))
    assert problem.eliminates_mean
    r = b if form == "operator" else b**0.5
    sizes = problem.c1 + problem.c2 + np.abs(np.linalg.eigvalsh(Q)).max()
    expected = 2 * r * np.linalg.norm(S @ f) / np.linalg.norm(f) + r**2 * np.linalg.eigvalsh(S)[-1]
    expected += (1 if penalty == "max" else 2) * 2 * mu * r * sizes
    assert problem.elimination_error == pytest.approx(expected, rel=1e-10)
    upper = solve_splitting(problem, tol=1e-7).upper
    assert solve_fpca(problem).bound >= upper + 0.99 * expected


@pytest.mark.parametrize("projection", ["orthogonal", "oblique"])
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_mean_matching(projection, scale):
    rng = np.random.default_rng(8)
    group = rng.integers(3, size=90)
    X = rng.standard_normal((90, 8)) @ rng.standard_normal((8, 8)) + rng.standard_normal((3, 8))[group]
    X *= np.geomspace(1.0, scale, 8)
    X -= X.mean(axis=0)
    D = np.eye(3)[group][:, 1:]
    D -= D.mean(axis=0)
    S, C = X.T @ X / len(X), X.T @ D / len(X)
    result = solve_mean_fair(cross_moments(S, C, D.std(axis=0)), 3, projection=projection)
    assert not faults("means", result, S, C, 3, projection, rounding=1e-10)
    assert result.status == "optimal"

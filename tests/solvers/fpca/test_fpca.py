"""FPCA: the splitting against Clarabel and SCS, the certificate, closed forms, branches, rounding, messages."""

import dataclasses
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh_tridiagonal

from fairpca import FPCA, GroupMoments
from fairpca.linalg import subspace_distance, top_eigenpairs
from fairpca.solvers.fpca import (
    _kernel,
    fpca_problem,
    solve_fpca,
    solve_fpca_cvxpy,
    solve_mean_only,
    upper_bound,
)
from fairpca.solvers.fpca import mean as fpca_mean
from fairpca.solvers.fpca._rounding import describe, projector, round_to_subspace

VARIANTS = ("printed", "lee2022_code", "vu2022_code")
EACH_VARIANT = pytest.mark.parametrize("variant", VARIANTS)


def moments_of(seed, p, n=150, sided=False, rank=None):
    """S, f, Q of two random groups; `sided` makes Q positive semidefinite, `rank` makes the data low-rank."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((2 * n, rank or p)) @ rng.standard_normal((rank or p, p)) / np.sqrt(p)
    A[:n] = A[:n] * rng.uniform(0.5, 2.0, p) + rng.normal(0, 0.3, p)
    first, second = np.cov(A[:n].T, bias=True), np.cov(A[n:].T, bias=True)
    if sided:
        first = second + np.diag(rng.uniform(0, 1, p))
    S = np.cov(A.T, bias=True)
    return S / np.trace(S), A[:n].mean(0) - A[n:].mean(0), first - second


def assert_feasible(problem, P):
    w = np.linalg.eigvalsh(P)
    assert w[0] > -1e-10 and w[-1] < 1 + 1e-10
    trace = np.trace(P)
    assert trace <= problem.n_components + 1e-9
    if problem.trace == "equal":
        assert trace == pytest.approx(problem.n_components, abs=1e-9)
    if problem.constrains_mean:
        f = problem.f
        value = f @ P @ f if problem.mean_form == "quadratic" else np.linalg.norm(f) * np.linalg.norm(P @ f)
        assert value - problem.mean_level <= 1e-10 * max(f @ f, 1.0)


# ---------------------------------------------------------------- against third-party solvers


@EACH_VARIANT
@pytest.mark.parametrize(
    ("p", "d", "delta", "mu", "sided"),
    [
        (6, 2, 0.0, 0.01, False),
        (8, 3, 0.1, 0.03, False),
        (10, 4, 0.0, 0.5, False),
        (9, 2, 0.2, 0.1, True),
        (7, 6, 0.0, 0.05, False),
        (7, 1, 0.1, 0.05, False),
        (16, 5, 0.0, 0.02, False),
    ],
)
def test_objective_equals_clarabel(variant, p, d, delta, mu, sided):
    problem = fpca_problem(*moments_of(p, p, sided=sided), d, delta=delta, mu=mu, variant=variant)
    result = solve_fpca(problem, tol=1e-8)
    assert result.status == "optimal"
    assert_feasible(problem, result.extra["P"])
    referee = solve_fpca_cvxpy(problem)
    assert_feasible(problem, referee.P)
    scale = max(abs(result.objective), np.vdot(problem.S, result.extra["P"]))
    assert abs(result.objective - referee.value) < 1e-6 * scale
    # each one's certificate bounds the other one's solution
    assert referee.objective <= result.bound + 1e-12
    assert result.objective <= referee.upper + 1e-12


@EACH_VARIANT
@pytest.mark.parametrize("delta", [0.0, 0.3])
def test_the_printed_program_is_the_one_that_is_solved(variant, delta):
    problem = fpca_problem(*moments_of(4, 6), 2, delta=delta, mu=0.1, variant=variant)
    ours = solve_fpca(problem, tol=1e-9)
    printed = solve_fpca_cvxpy(problem, form="printed")
    assert np.isnan(printed.upper)
    # <ff', P> = 0 leaves no Slater point: a residue of 1e-8 there is worth its square root in the objective.
    assert printed.value == pytest.approx(ours.objective, rel=3e-4 if delta == 0 else 1e-6)


@EACH_VARIANT
@pytest.mark.parametrize("case", ["rank", "repeated", "diagonal", "tiny_f"])
def test_degenerate_problems(variant, case):
    S, f, Q = moments_of(11, 8, rank=4 if case == "rank" else None)
    if case == "repeated":
        S = np.eye(8)
        S[0, 0] = 2.0
    if case == "diagonal":
        S, Q, f = np.diag(np.arange(8.0, 0, -1)), np.diag([1.0, -1, 1, -1, 0, 0, 0, 0]), np.eye(8)[0]
    if case == "tiny_f":
        f = f * 1e-7
    problem = fpca_problem(S, f, Q, 3, mu=0.05, delta=0.0, variant=variant)
    result = solve_fpca(problem)
    assert result.status == "optimal"
    assert_feasible(problem, result.extra["P"])
    assert result.objective == pytest.approx(solve_fpca_cvxpy(problem).value, rel=1e-6)


# ---------------------------------------------------------------- the certificate


@given(st.integers(0, 10_000), st.sampled_from(VARIANTS), st.booleans(), st.floats(1e-3, 30.0))
def test_any_dual_point_bounds_any_feasible_point(seed, variant, free_mean, size):
    rng = np.random.default_rng(seed)
    p, d = int(rng.integers(3, 9)), 2
    delta = float(rng.uniform(0.05, 1.0)) if free_mean else 0.0
    S, f, Q = moments_of(seed, p, n=12)
    problem = fpca_problem(S, f, Q, d, delta=delta, mu=10 ** rng.uniform(-3, 1), variant=variant)
    q = len(problem.reduce().S)
    Y1, Y2 = (rng.standard_normal((q, q)) * size * rng.uniform(0, 1) ** 3 for _ in "12")
    y = rng.standard_normal(q) * size * rng.uniform()
    bound = upper_bound(problem, Y1, Y2, float(rng.exponential(size)), y)
    for P in feasible_points(problem, rng):
        assert problem.objective(P) <= bound + 1e-10 * max(1.0, abs(bound))


def feasible_points(problem, rng):
    reduced = problem.reduce()
    q, d = len(reduced.S), problem.n_components
    for _ in range(5):
        V = np.linalg.qr(rng.standard_normal((q, d)))[0]
        W = np.linalg.qr(rng.standard_normal((q, d)))[0]
        X = reduced.meet_mean(0.7 * V @ V.T + 0.3 * W @ W.T, d, problem.mean_form)
        P = reduced.restore(X)
        assert_feasible(problem, P)
        yield P
    if problem.trace == "at_most":
        yield np.zeros_like(problem.S)


def test_a_negative_multiplier_is_refused():
    problem = fpca_problem(*moments_of(0, 4), 2, delta=0.1)
    with pytest.raises(ValueError, match="must not be negative"):
        upper_bound(problem, np.zeros((4, 4)), np.zeros((4, 4)), -1.0)


def test_not_enough_iterations_is_said():
    problem = fpca_problem(*moments_of(21, 12), 4, mu=0.2)
    result = solve_fpca(problem, max_iter=10)
    assert result.status == "max_iter" and result.extra["relative_gap"] > 1e-7
    assert result.gap == pytest.approx(result.bound - result.objective)
    kept = np.vdot(problem.S, result.extra["P"])
    assert result.extra["relative_gap"] == pytest.approx(result.gap / max(kept, abs(result.bound)))
    assert result.objective == pytest.approx(result.history["lower"].max())
    assert result.bound == pytest.approx(result.history["upper"].min() + problem.elimination_error)


def test_a_gap_that_is_not_rounding_is_not_optimal():
    problem = fpca_problem(*moments_of(21, 12), 4, mu=0.2)
    history = solve_fpca(problem, tol=1e-15, max_iter=3000).history
    gaps = history["upper"] - history["lower"]
    small = history["iteration"][(gaps > 1e-12) & (gaps < 8e-11)][0]
    assert solve_fpca(problem, tol=1e-15, max_iter=int(small)).status == "max_iter"


def test_referee_without_a_bound_is_not_called_optimal():
    problem = fpca_problem(*moments_of(4, 6), 2, delta=0.3, mu=0.1)
    assert solve_fpca(problem, solver="cvxpy", form="printed").status == "converged"
    rotated = solve_fpca(problem, solver="cvxpy", form="rotated")
    assert rotated.status == "optimal" and rotated.extra["relative_gap"] < 1e-7


@EACH_VARIANT
@pytest.mark.parametrize("level", [0.3, 1e-3])
@pytest.mark.parametrize("shape", ["sum", "max", "at_most"])
def test_leading_pairs_stand_for_the_whole_spectrum(monkeypatch, variant, level, shape):
    """The iteration asks for the eigenpairs that it needs; each step is the one that all of them give."""
    p, d = 60, 3
    S, f, Q = moments_of(11, p, n=100)
    problem = fpca_problem(S, f, Q, d, delta=np.sqrt(level * (f @ f)), mu=0.05, variant=variant)
    changed = {"max": {"penalty": "max"}, "sum": {"penalty": "sum"}, "at_most": {"trace": "at_most"}}[shape]
    problem = dataclasses.replace(problem, **changed)
    settled = []
    refined = _kernel._refined

    def watched(*given):
        found = refined(*given)
        settled.append(found is not None)
        return found

    monkeypatch.setattr(_kernel, "_refined", watched)
    monkeypatch.setattr(_kernel, "_PER_ROUND", 1)  # as many steps as a large matrix is given
    one, other = (_kernel.Kernel(problem, problem.reduce()) for _ in range(2))
    for leading in (one.leading, *one.singular):
        leading.accuracy = 1e-11
    for _ in range(40):
        for leading in (other.leading, *other.singular):
            leading.count, leading.V = np.inf, None
        np.testing.assert_allclose(one.step(), other.step(), atol=1e-8)
        assert one.upper() == pytest.approx(other.upper(), rel=1e-9)
    assert any(settled) or len(settled) < 10  # where a constraint is felt in most directions, all are asked for


@pytest.mark.parametrize("count", [2, 6])
def test_too_few_leading_pairs_are_noticed(count):
    """Of the last matrix two were needed, of this one nine, and it does not resemble the last one."""
    rng = np.random.default_rng(0)
    w = np.append(np.linspace(3.0, 2.0, 9), np.linspace(0.5, 0.0, 51))
    turn = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    A = (turn * w) @ turn.T
    leading = _kernel._Leading()
    leading.count, leading.V = count, np.linalg.qr(rng.standard_normal((60, count)))[0]
    found, V = leading.of(A.__matmul__, lambda: A, lambda w: int(np.sum(w > 1.0)))
    np.testing.assert_allclose(found, w[:9], atol=1e-9)
    np.testing.assert_allclose(V @ V.T, turn[:, :9] @ turn[:, :9].T, atol=1e-6)


# ---------------------------------------------------------------- the mean constraint alone


@given(st.integers(0, 10_000), st.floats(0.001, 0.999))
def test_mean_only_is_tight(seed, share):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 9))
    d = int(rng.integers(1, p))
    S, f, _ = moments_of(seed, p, n=10)
    if seed % 3 == 0:  # integers make ties
        S = np.diag(rng.integers(0, 3, p).astype(float))
        f = rng.integers(-1, 2, p).astype(float) + np.eye(p)[0] * 0.5
    level = share * (f @ f)
    solution = solve_mean_only(S, f, d, level=level)
    V = solution.V
    np.testing.assert_allclose(V.T @ V, np.eye(d), atol=1e-10)
    assert np.sum((V.T @ f) ** 2) <= level * (1 + 1e-9)
    assert solution.objective == pytest.approx(solution.upper, rel=1e-9, abs=1e-10)


def test_mean_only_rotates_inside_a_tied_eigenspace():
    S, f = np.diag([2.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0])
    for level in (0.1, 0.5, 0.9):
        solution = solve_mean_only(S, f, 2, level=level)
        assert solution.objective == pytest.approx(3.0) and solution.upper == pytest.approx(3.0)
        assert np.sum((solution.V.T @ f) ** 2) <= level + 1e-9
    # A crossing at a positive multiplier: the constraint then holds with equality.
    S, f = np.diag([3.0, 1.0, 0.5]), np.array([1.0, 0.0, 0.0])
    solution = solve_mean_only(S, f, 1, level=0.3)
    assert np.sum((solution.V.T @ f) ** 2) == pytest.approx(0.3, abs=1e-9)
    assert solution.objective == pytest.approx(0.3 * 3 + 0.7 * 1)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_mean_only_is_the_same_where_bisection_gives_up(d, monkeypatch):
    """Some ties across the cut make LAPACK's bisection fail; which ones depends on rounding, so here it always does."""
    S, f, _ = moments_of(3, 6)
    level = 0.2 * np.sum((top_eigenpairs(S, d)[1].T @ f) ** 2)
    expected = solve_mean_only(S, f, d, level=level)

    def whole_only(*args, select="a", **options):
        if select != "a":
            raise np.linalg.LinAlgError("stebz did not converge")
        return eigh_tridiagonal(*args, **options)

    monkeypatch.setattr(fpca_mean, "eigh_tridiagonal", whole_only)
    solution = solve_mean_only(S, f, d, level=level)
    assert solution.V.shape == (6, d) and solution.multiplier > 0
    assert subspace_distance(solution.V, expected.V) < 1e-6
    assert np.sum((solution.V.T @ f) ** 2) == pytest.approx(level)
    fh = f / np.linalg.norm(f)
    dual = np.linalg.eigvalsh(S - solution.multiplier * np.outer(fh, fh))[-d:].sum()
    dual += solution.multiplier * level / (f @ f)
    assert solution.objective == pytest.approx(dual, rel=1e-9) and solution.upper == pytest.approx(dual, rel=1e-9)


@pytest.mark.parametrize("delta", [0.05, 0.3, 1.0])
def test_operator_norm_mean_constraint(delta):
    problem = fpca_problem(*moments_of(8, 7), 3, delta=delta, constraints="mean", variant="vu2022_code")
    result = solve_fpca(problem, tol=1e-9)
    assert result.status == "optimal"
    assert_feasible(problem, result.extra["P"])
    assert result.objective == pytest.approx(solve_fpca_cvxpy(problem, form="printed").value, rel=2e-6)


# ---------------------------------------------------------------- branches


def test_without_penalty_or_difference_only_the_means_matter():
    S, f, Q = moments_of(3, 6)
    expected = solve_mean_only(S, f, 2)
    for problem in (
        fpca_problem(S, f, Q, 2, mu=0.0),
        fpca_problem(S, f, np.zeros_like(Q), 2, mu=0.5),
        fpca_problem(S, f, Q, 2, constraints="mean", mu=0.5),
    ):
        result = solve_fpca(problem)
        assert result.extra["method"] == "mean only" and result.status == "optimal"
        assert subspace_distance(result.V, expected.V) < 1e-9


def test_equal_means_leave_the_covariances():
    S, f, Q = moments_of(6, 6)
    problem = fpca_problem(S, np.zeros_like(f), Q, 2, mu=0.1, variant="lee2022_code")
    result = solve_fpca(problem)
    assert not problem.constrains_mean
    assert result.objective == pytest.approx(solve_fpca_cvxpy(problem, form="printed").value, rel=1e-6)
    # d = p is possible then, and P = I is the only point
    whole = solve_fpca(fpca_problem(S, np.zeros_like(f), Q, 6, mu=0.1, variant="lee2022_code"))
    np.testing.assert_array_equal(whole.extra["P"], np.eye(6))
    assert whole.status == "optimal"


@EACH_VARIANT
def test_one_dimension_less_than_the_features(variant):
    S, f, Q = moments_of(6, 6)
    problem = fpca_problem(S, f, Q, 5, mu=0.05, variant=variant)
    result = solve_fpca(problem)
    assert result.status == "optimal"
    assert subspace_distance(result.V, np.linalg.svd(f[None])[2][1:].T) < 1e-6
    if variant != "printed":
        assert result.extra["method"] == "only feasible point"


@EACH_VARIANT
def test_whole_space_is_refused_where_the_means_differ(variant):
    S, f, Q = moments_of(6, 6)
    with pytest.raises(ValueError, match=r"between 1 and 5; choose a smaller n_components"):
        fpca_problem(S, f, Q, 6, variant=variant)


def test_whole_space_is_possible_with_a_loose_tolerance():
    S, f, Q = moments_of(6, 6)
    result = solve_fpca(fpca_problem(S, f, Q, 6, delta=1.01 * np.linalg.norm(f), mu=0.01, variant="lee2022_code"))
    np.testing.assert_array_equal(result.extra["P"], np.eye(6))


def test_shifts():
    S, f, Q = moments_of(9, 6)
    ell = np.linalg.eigvalsh(Q)
    norm = np.abs(ell).max()

    def shifts(name):
        problem = fpca_problem(S, f, Q, 2, shift=name)
        return problem.c1, problem.c2

    assert shifts("norm") == pytest.approx((norm, norm))
    assert shifts("padded") == pytest.approx((norm + 0.5, norm + 0.5))
    assert shifts("extremes") == pytest.approx((-ell[0], ell[-1]))
    inner = np.linalg.eigvalsh(np.linalg.svd(f[None])[2][1:] @ Q @ np.linalg.svd(f[None])[2][1:].T)
    assert shifts("tight") == pytest.approx((-inner[0], inner[-1]))


# ---------------------------------------------------------------- rounding


def test_ties_go_to_variance_and_are_deterministic():
    P = np.diag([0.9, 0.5, 0.5, 0.1])
    S = np.diag([0.0, 1.0, 2.0, 9.0])
    S[1, 2] = S[2, 1] = 0.5
    rounded = round_to_subspace(P, S, 2)
    assert rounded.eigengap == pytest.approx(0.0) and rounded.tied == 2
    w, U = np.linalg.eigh(S[1:3, 1:3])
    expected = np.zeros((4, 2))
    expected[0, 0], expected[1:3, 1] = 1.0, U[:, 1]
    assert subspace_distance(rounded.V, expected) < 1e-12
    turned = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    again = round_to_subspace(turned @ P @ turned.T, turned @ S @ turned.T, 2)
    assert subspace_distance(again.V, turned @ expected) < 1e-9


def test_of_three_tied_directions_the_two_with_most_variance_are_kept():
    """By trying all planes of coordinate axes inside the tie, also where the axes are turned."""
    P, S = np.diag([0.9, 0.5, 0.5, 0.5, 0.1]), np.diag([0.0, 3.0, 1.0, 2.0, 9.0])
    best = max(combinations([1, 2, 3], 2), key=lambda axes: sum(S[i, i] for i in axes))
    turned = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5)))[0]
    for R in (np.eye(5), turned):
        rounded = round_to_subspace(R @ P @ R.T, R @ S @ R.T, 3)
        assert rounded.V.shape == (5, 3) and rounded.tied == 3
        assert subspace_distance(rounded.V, R[:, [0, *best]]) < 1e-9


def test_fair_rounding_repairs_the_mean_constraint():
    problem = fpca_problem(*moments_of(17, 10), 3, delta=0.05, mu=0.2, variant="lee2022_code")
    plain, fair = solve_fpca(problem), solve_fpca(problem, rounding="fair")
    assert plain.extra["mean_gap"] > 0.05 * 1.01
    assert fair.extra["mean_gap"] <= 0.05 * (1 + 1e-9)
    assert fair.objective == plain.objective
    np.testing.assert_allclose(fair.V.T @ fair.V, np.eye(3), atol=1e-12)


def test_result_describes_itself():
    problem = fpca_problem(*moments_of(18, 8), 3, mu=0.1, variant="lee2022_code")
    extra = solve_fpca(problem, tol=1e-9).extra
    V, P = solve_fpca(problem, tol=1e-9).V, extra["P"]
    inner = np.linalg.eigvalsh(V.T @ problem.Q @ V)
    assert extra["covariance_gap"] == pytest.approx(np.abs(inner).max())
    assert extra["spread"] == pytest.approx(inner[-1] - inner[0])
    assert extra["mean_gap"] < 1e-12
    roots = [
        np.linalg.cholesky(A + 1e-14 * np.eye(8))
        for A in (
            problem.Q + problem.c1 * np.eye(8) + 1e-12 * np.eye(8),
            problem.c2 * np.eye(8) - problem.Q + 1e-12 * np.eye(8),
        )
    ]
    for t, M in zip(extra["t"], roots, strict=True):
        assert t == pytest.approx(np.linalg.norm(M.T @ P, 2) ** 2, rel=1e-6)
    np.testing.assert_allclose(extra["spectrum"], np.linalg.eigvalsh(P)[::-1], atol=1e-12)
    assert extra["eigengap"] == pytest.approx(extra["spectrum"][2] - extra["spectrum"][3])
    V = np.eye(8)[:, :3]
    assert describe(problem, V @ V.T, projector(V))["t"] == pytest.approx(problem.slacks(V @ V.T))
    tiny = describe(problem, 1e-4 * P, round_to_subspace(1e-4 * P, problem.S, 3))
    assert tiny["rank"] == extra["rank"] == np.linalg.matrix_rank(P, tol=1e-5)


# ---------------------------------------------------------------- the estimator


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((300, 7)) * [4, 3, 2, 1, 1, 0.5, 0.5]
    z = rng.random(300) < 0.4
    X[z] += [1, 0, 0.5, 0, 0, 0, 0]
    X[z, 1] *= 1.8
    return X, z


@EACH_VARIANT
def test_estimator_solves_the_published_problem(rows, variant):
    X, z = rows
    mu = 5.0 if variant == "printed" else 0.02
    model = FPCA(3, variant=variant, mu=mu).fit(X, sensitive_features=z)
    A = X - X.mean(0)
    if variant != "printed":
        A = A / A.std(0)
    S = A.T @ A / (1 if variant == "printed" else len(A) * np.linalg.norm(A))
    f, Q = A[z].mean(0) - A[~z].mean(0), np.cov(A[z].T, bias=True) - np.cov(A[~z].T, bias=True)
    expected = solve_fpca(fpca_problem(S, f, Q, 3, mu=mu, variant=variant, data_norm=np.linalg.norm(A)))
    assert model.result_.objective == pytest.approx(expected.objective, rel=1e-9)
    assert subspace_distance(model.components_.T, expected.V) < 1e-6
    Z = model.transform(X)
    assert np.linalg.norm(Z[z].mean(0) - Z[~z].mean(0)) < 1e-10
    np.testing.assert_allclose(Z, A @ model.components_.T, atol=1e-10)
    np.testing.assert_allclose(
        model.inverse_transform(Z),
        X.mean(0) + (A @ model.components_.T @ model.components_) * (X.std(0) if variant != "printed" else 1),
        atol=1e-9,
    )


def test_estimator_standardises_only_where_asked(rows):
    X, z = rows
    model = FPCA(2, variant="lee2022_code").fit(X * 100, sensitive_features=z)
    again = FPCA(2, variant="lee2022_code").fit(X, sensitive_features=z)
    assert subspace_distance(model.components_.T, again.components_.T) < 1e-6
    np.testing.assert_allclose(model.scale_, 100 * X.std(0))
    assert not hasattr(FPCA(2).fit(X, sensitive_features=z), "scale_")
    standardised = FPCA(2, variant="lee2022_code", options={"standardise": False}).fit(
        (X - X.mean(0)) / X.std(0), sensitive_features=z
    )
    assert subspace_distance(standardised.components_.T, again.components_.T) < 1e-6


def test_estimator_with_one_group_is_pca_of_the_standardised_data(rows):
    X, z = rows
    with pytest.warns(UserWarning, match="single group"):
        model = FPCA(2, options={"standardise": True}).fit(X, sensitive_features=np.zeros(len(X)))
    U = np.linalg.svd((X - X.mean(0)) / X.std(0))[2][:2].T
    assert subspace_distance(model.components_.T, U) < 1e-9
    np.testing.assert_allclose(model.transform(X).mean(0), 0, atol=1e-12)


def test_centring_is_a_choice(rows):
    X, z = rows
    shifted = X + 10
    centred = FPCA(2, constraints="mean").fit(shifted, sensitive_features=z)
    assert (
        subspace_distance(centred.components_.T, FPCA(2, constraints="mean").fit(X, sensitive_features=z).components_.T)
        < 1e-9
    )
    raw = FPCA(2, constraints="mean", centering="none", options={"scale": "mean"})
    np.testing.assert_allclose(raw.problem(GroupMoments.from_data(shifted, z)).S, shifted.T @ shifted / len(X))
    raw.fit(shifted, sensitive_features=z)
    np.testing.assert_allclose(raw.transform(shifted), shifted @ raw.components_.T)


def test_scales(rows):
    X, z = rows
    moments = GroupMoments.from_data(X, z)
    A = X - X.mean(0)
    for scale, factor in (("sum", 1), ("mean", 1 / len(X)), ("norm", 1 / (len(X) * np.linalg.norm(A)))):
        np.testing.assert_allclose(FPCA(options={"scale": scale}).problem(moments).S, factor * A.T @ A)


def test_constant_columns_get_no_weight(rows):
    X, z = rows
    X = np.column_stack([X[:, :3], np.full(len(X), 7.3), X[:, 3:], np.zeros(len(X))])
    model = FPCA(3, variant="lee2022_code").fit(X, sensitive_features=z)
    assert model.result_.status == "optimal" and np.all(np.isfinite(model.components_))
    assert model.scale_[3] == 1.0 and model.scale_[-1] == 1.0
    np.testing.assert_allclose(model.components_[:, [3, -1]], 0, atol=1e-8)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_components": 7}, ValueError, "between 1 and 6"),
        ({"delta": -1}, ValueError, "delta=-1 is out of range"),
        ({"mu": float("nan")}, ValueError, "mu=nan is not a number"),
        ({"mu": "strong"}, ValueError, "mu='strong' is not known; choose one of 'auto'"),
        ({"mu": 1e200}, ValueError, r"mu=1e\+200 makes the covariance penalty 7e\+197 times as heavy"),
        ({"tol": 0}, ValueError, "tol=0 is out of range"),
        ({"max_iter": 1.5}, TypeError, "max_iter must be an integer"),
        ({"variant": "olfat"}, ValueError, "choose one of 'printed', 'lee2022_code', 'vu2022_code'"),
        ({"constraints": "cov"}, ValueError, "choose one of 'both', 'mean'"),
        ({"solver": "mosek"}, ValueError, "choose one of 'splitting', 'cvxpy'"),
        ({"options": {"scale": "n"}}, ValueError, "choose one of 'sum', 'mean', 'norm'"),
        ({"options": {"shift": "big"}}, ValueError, "choose one of 'norm', 'extremes', 'padded', 'tight'"),
        ({"options": {"trace": "le"}}, ValueError, "choose one of 'at_most', 'equal'"),
        ({"options": {"rounding": "up"}}, ValueError, "choose one of 'plain', 'fair'"),
        ({"options": {"backend": "mosek"}}, ValueError, "choose one of 'clarabel', 'scs'"),
        ({"options": {"form": "dual"}}, ValueError, "choose one of 'printed', 'rotated'"),
    ],
)
def test_bad_parameters_are_explained(rows, parameters, error, message):
    X, z = rows
    with pytest.raises(error, match=message):
        FPCA(**parameters).fit(X, sensitive_features=z)


@EACH_VARIANT
def test_the_default_weight_acts_whatever_the_scale(rows, variant):
    X, z = rows
    d = 1 if variant == "printed" else 3
    without = FPCA(d, variant=variant, constraints="mean").fit(X, sensitive_features=z).result_.extra
    for scale in ("sum", "mean", "norm"):
        model = FPCA(d, variant=variant, options={"scale": scale}).fit(X, sensitive_features=z)
        assert model.result_.extra["kappa"] == pytest.approx(1.0)
        measure = "spread" if variant == "lee2022_code" else "covariance_gap"
        assert model.result_.extra[measure] < 0.5 * without[measure]
    again = FPCA(d, variant=variant, options={"scale": "norm"})
    again.fit(np.vstack((X, X)), sensitive_features=np.tile(z, 2))
    assert subspace_distance(again.components_.T, model.components_.T) < 1e-4


def test_a_weight_that_does_nothing_is_announced(rows):
    X, z = rows
    with pytest.warns(UserWarning, match=r"hardly acts: mu=0.01 means kappa=.*mu=\"auto\" takes"):
        weak = FPCA(3, mu=0.01).fit(X, sensitive_features=z)
    assert weak.result_.extra["kappa"] < 1e-2
    means = FPCA(3, constraints="mean").fit(X, sensitive_features=z)
    assert subspace_distance(weak.components_.T, means.components_.T) < 0.02
    assert fpca_problem(np.eye(3), np.ones(3), np.zeros((3, 3)), 1).mu == 0.0  # nothing to penalise


def test_equal_rows_twice_change_what_a_fixed_weight_means(rows):
    # As published: with "norm" the weight counts with the root of n, with "sum" against n, with "mean" neither.
    X, z = rows
    for scale, factor in (("norm", np.sqrt(2)), ("sum", 0.5), ("mean", 1.0)):
        model = FPCA(3, mu=5.0, variant="lee2022_code", options={"scale": scale})
        once = model.problem(GroupMoments.from_data(X, z)).kappa
        twice = model.problem(GroupMoments.from_data(np.vstack((X, X)), np.tile(z, 2))).kappa
        assert twice / once == pytest.approx(factor)


@pytest.mark.parametrize("factor", [1e-130, 1e-13, 1e13, 1e140])
@pytest.mark.parametrize("constraints", ["both", "mean"])
def test_units_do_not_matter(rows, factor, constraints):
    X, z = rows
    reference = FPCA(3, constraints=constraints).fit(X, sensitive_features=z)
    model = FPCA(3, constraints=constraints).fit(X * factor, sensitive_features=z)
    assert subspace_distance(model.components_.T, reference.components_.T) < 1e-5
    assert np.linalg.norm(model.components_ @ (X[z].mean(0) - X[~z].mean(0))) < 1e-9


def test_means_that_differ_by_rounding_are_equal():
    X = np.random.default_rng(0).standard_normal((40, 4))
    both = np.vstack((X, X[::-1])) + 1e8
    model = FPCA(4, constraints="mean").fit(both, sensitive_features=np.repeat([0, 1], 40))
    assert not model.result_.extra["problem"].constrains_mean


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_huge_tolerance_is_none(rows, variant):
    X, z = rows
    free = FPCA(3, variant=variant, delta=1e308).fit(X, sensitive_features=z)
    wide = FPCA(3, variant=variant, delta=1e9).fit(X, sensitive_features=z)
    assert subspace_distance(free.components_.T, wide.components_.T) < 1e-9
    assert np.isfinite(free.result_.bound)


@pytest.mark.parametrize("seed", range(6))
def test_the_trace_is_met_however_tight_the_mean_constraint(seed):
    S, f, Q = moments_of(seed, 6)
    for d in (2, 5):
        problem = fpca_problem(S, f, Q, d, delta=1e-8 * np.linalg.norm(f), mu=0.05, variant="lee2022_code")
        P = solve_fpca(problem, max_iter=200).extra["P"]
        assert abs(np.trace(P) - d) < 1e-12


def test_bad_matrices_are_explained():
    with pytest.raises(ValueError, match="with one p"):
        fpca_problem(np.eye(3), np.ones(2), np.eye(3), 1)
    with pytest.raises(ValueError, match="Q contains NaN"):
        fpca_problem(np.eye(2), np.ones(2), np.full((2, 2), np.nan), 1)


def test_undetermined_subspaces_are_announced():
    # All directions alike, one group twice as wide as the other: P = I/2, and any plane is as good.
    X = np.vstack([np.eye(4), -np.eye(4), 2 * np.eye(4), -2 * np.eye(4)])
    z = np.arange(16) < 8
    with pytest.warns(UserWarning, match="hardly determined: eigenvalues 2 and 3 of the optimal P are 0.5 and 0.5"):
        model = FPCA(2, variant="lee2022_code", mu=1.0).fit(X, sensitive_features=z)
    assert model.result_.status == "optimal"


def test_max_iter_reaches_the_user(rows):
    from sklearn.exceptions import ConvergenceWarning

    X, z = rows
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        FPCA(3, variant="lee2022_code", max_iter=2, mu=0.05, tol=1e-12).fit(X, sensitive_features=z)


def test_problem_needs_two_groups(rows):
    X, _ = rows
    with pytest.raises(ValueError, match="needs two groups; got 1"):
        FPCA().problem(GroupMoments.from_data(X, np.zeros(len(X))))
    with pytest.raises(ValueError, match=r"3 groups \('a', 'b', 'c'\).*exactly two.*MinMaxFairPCA"):
        FPCA().fit(X, sensitive_features=np.array(list("abc"))[np.arange(len(X)) % 3])

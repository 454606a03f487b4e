"""Algorithm 1 (SDP and LP) and Algorithms 2-3 (multiplicative weights) against the exact dual and the paper."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from minmax_cases import KINDS, moments, own_sums

from fairpca.linalg import subspace_distance
from fairpca.solvers.minmax import solve_minmax, solve_minmax_sdp, solve_minmax_weights
from fairpca.solvers.minmax._problem import affine_map, eigenvalues_of, round_by_lp


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_sdp_and_lp_agree_with_the_dual(kind, m):
    for seed, (p, d) in enumerate([(5, 2), (7, 4)]):
        M = moments(kind, m, p, seed)
        M = M / np.trace(M, axis1=1, axis2=2).max()
        exact = solve_minmax(M, d)
        result = solve_minmax_sdp(M, d)
        assert result.objective == pytest.approx(exact.objective, abs=1e-7)
        assert result.extra["relaxation"] == pytest.approx(exact.objective, abs=1e-7)
        assert result.bound <= exact.objective + 1e-13
        assert result.objective >= exact.objective - 1e-12
        lam = result.extra["eigenvalues"]
        fractional = np.sum((lam > 0) & (lam < 1))
        assert fractional <= m  # a vertex
        assert len(lam) <= d + m - 1  # Theorems 5.1 and 5.2
        unrounded = solve_minmax_sdp(M, d, rounding="none")
        assert unrounded.objective == pytest.approx(exact.objective, abs=1e-6)


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(2, 9), st.floats(0, 1))
def test_linear_programme_returns_a_vertex(seed, m, n, share):
    rng = np.random.default_rng(seed)
    d = 1 + int(share * (n - 1.001))
    sums = rng.integers(0, 4, (m, n)).astype(float)
    references = np.sort(sums, axis=1)[:, ::-1][:, :d].sum(axis=1)
    lam = round_by_lp(sums, references, d)
    assert lam.sum() <= d + 1e-9
    assert np.sum((lam > 1e-9) & (lam < 1 - 1e-9)) <= m
    value = (references - sums @ lam).max()
    for _ in range(30):  # no feasible point is better
        other = rng.random(n)
        other *= min(1.0, d / other.sum())
        assert (references - sums @ other).max() >= value - 1e-8


def test_affine_map_has_the_losses_of_the_relaxation():
    rng = np.random.default_rng(1)
    U, _ = np.linalg.qr(rng.standard_normal((6, 4)))
    lam = np.array([1.0, 0.7, 0.3, 0.0])
    V = affine_map(U, lam)
    C = moments("wishart", 1, 6, 0)[0]
    rest = np.eye(6) - V @ V.T
    assert np.trace(rest @ C @ rest) == pytest.approx(np.trace(C) - np.trace(C @ (U * lam) @ U.T))
    np.testing.assert_allclose(np.linalg.eigvalsh(V @ V.T)[::-1][:4], 1 - np.sqrt(1 - lam), atol=1e-14)
    back, basis = eigenvalues_of((U * lam) @ U.T)
    np.testing.assert_allclose(back, lam[:3], atol=1e-14)
    assert subspace_distance(basis, U[:, :3]) < 1e-12


@settings(max_examples=30)
@given(
    st.sampled_from(KINDS),
    st.integers(2, 4),
    st.integers(0, 1000),
    st.sampled_from(["printed", "samadi2018_code", "vu2022_code"]),
)
def test_dual_is_never_above_multiplicative_weights(kind, m, seed, variant):
    M = moments(kind, m, 6, seed)
    scale = np.trace(M, axis1=1, axis2=2).max()
    exact = solve_minmax(M, 2).objective
    for rounding in ("lp", "none"):
        result = solve_minmax_weights(M, 2, variant=variant, n_iter=12, rounding=rounding)
        assert result.objective >= exact - 1e-11 * scale
        assert result.bound <= exact + 1e-11 * scale
        rest = np.eye(6) - result.V @ result.V.T
        errors = [np.trace(rest @ C @ rest) for C in M]
        assert result.extra["errors"] == pytest.approx(errors, abs=1e-10 * scale)


def slow_weights(rows, d, eta, T):
    """Algorithms 2 and 3 on the rows, written as printed: every oracle call is a PCA of the scaled rows."""
    counts = [len(A) for A in rows]
    best = [np.sum(np.linalg.svd(A, compute_uv=False)[:d] ** 2) / n for A, n in zip(rows, counts, strict=True)]
    p = np.full(len(rows), 1 / len(rows))
    total, seen = 0, []
    for _ in range(T):
        stacked = np.concatenate([np.sqrt(w / n) * A for A, n, w in zip(rows, counts, p, strict=True)])
        V = np.linalg.svd(stacked)[2][:d].T
        P = V @ V.T
        z = np.array([b - np.sum((A.T @ A) * P) / n for A, n, b in zip(rows, counts, best, strict=True)])
        seen.append((p, z))
        p = p * np.exp(eta * z)
        p = p / p.sum()
        total = total + P
    average = total / T
    z = [b - np.sum((A.T @ A) * average) / n for A, n, b in zip(rows, counts, best, strict=True)]
    return average, max(z), P, max(seen[-1][1]), seen


@pytest.mark.parametrize("eta", [0.3, 3.0])
def test_iterates_are_those_of_the_printed_algorithm(eta):
    rng = np.random.default_rng(2)
    rows = [rng.standard_normal((20, 5)) * [3, 1, 1, 1, 0.2], rng.standard_normal((33, 5)) * [1, 2, 1, 1.5, 0.2]]
    rows = [A - A.mean(axis=0) for A in rows]
    M = np.stack([A.T @ A / len(A) for A in rows])
    average, z, last, z_last, seen = slow_weights(rows, 2, eta, 9)
    paper = solve_minmax_weights(M, 2, eta=eta, n_iter=9, rounding="none")
    np.testing.assert_allclose(paper.history["weights"], [p for p, _ in seen], atol=1e-12)
    np.testing.assert_allclose(paper.history["losses"], [z for _, z in seen], atol=1e-12)
    assert paper.objective == pytest.approx(z)
    # V V' is the affine projection I - sqrt(I - P) of the average
    w, U = np.linalg.eigh(np.eye(5) - average)
    np.testing.assert_allclose(paper.V @ paper.V.T, np.eye(5) - (U * np.sqrt(np.clip(w, 0, None))) @ U.T, atol=1e-7)
    code = solve_minmax_weights(M, 2, eta=eta, n_iter=9, variant="samadi2018_code")
    assert (code.extra["average_loss"], code.extra["last_loss"]) == pytest.approx((z, z_last))
    assert code.objective == pytest.approx(min(z, z_last))
    assert code.extra["chosen"] == ("average" if z < z_last else "last")
    port = solve_minmax_weights(M, 2, eta=eta, n_iter=9, variant="vu2022_code")
    best = own_sums(M, 2)
    scores = [max(b - np.sum(C @ P) for C, b in zip(M, best, strict=True)) for P in (average, last)]
    assert port.extra["chosen"] == ("average" if scores[0] < scores[1] else "last")
    rounded = solve_minmax_weights(M, 2, eta=eta, n_iter=9)
    assert rounded.objective <= paper.objective + 1e-12
    assert len(rounded.extra["eigenvalues"]) <= 3


def test_average_kept_as_bases_or_as_a_matrix():
    M = moments("wishart", 2, 30, 4)
    few = solve_minmax_weights(M, 2, n_iter=14, eta=0.1, rounding="none")  # 28 columns: bases
    many = solve_minmax_weights(M, 2, n_iter=15, eta=0.1, rounding="none")  # 30 columns: matrix
    for result in (few, many):
        assert result.extra["eigenvalues"].sum() == pytest.approx(2)
        assert result.objective == pytest.approx(result.history["average_losses"][-1].max())


def test_recentred_calls_are_those_of_the_published_code():
    """Rows that are not centred: the code's PCA subtracts means that its losses do not."""
    from sklearn.decomposition import PCA

    rng = np.random.default_rng(5)
    rows = [rng.standard_normal((15, 4)) + [1, 0, 0, 0.5], rng.standard_normal((22, 4)) * 1.3 + [0, 2, 0, 0]]
    M = np.stack([A.T @ A / len(A) for A in rows])
    means, counts = np.stack([A.mean(axis=0) for A in rows]), np.array([15, 22])
    result = solve_minmax_weights(M, 2, eta=0.5, n_iter=5, variant="samadi2018_code", recentred=(means, counts))
    w, best = np.full(2, 0.5), []
    for A in rows:
        V = PCA(2).fit(A).components_.T
        best.append(np.sum((A @ V) ** 2) / len(A))
    for step in range(5):
        V = PCA(2).fit(np.concatenate([np.sqrt(w[g] / len(A)) * A for g, A in enumerate(rows)])).components_.T
        z = np.array([b - np.sum((A @ V) ** 2) / len(A) for A, b in zip(rows, best, strict=True)])
        np.testing.assert_allclose(result.history["weights"][step], w, atol=1e-10)
        np.testing.assert_allclose(result.history["losses"][step], z, atol=1e-10)
        w = w * np.exp(0.5 * z)
        w /= w.sum()
    assert np.isnan(result.bound)


def test_everything_kept():
    M = moments("wishart", 2, 3, 0)
    assert solve_minmax_sdp(M, 3).objective == solve_minmax_weights(M, 3).objective == 0


def test_missing_cvxpy_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r"fairpca\[sdp\]"):
        solve_minmax_sdp(moments("wishart", 2, 4, 0), 2)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda M: solve_minmax_weights(M, 2, variant="best"), "'printed', 'samadi2018_code', 'vu2022_code'"),
        (lambda M: solve_minmax_weights(M, 2, rounding="up"), "'lp', 'none'"),
        (lambda M: solve_minmax_sdp(M, 2, rounding="up"), "'lp', 'none'"),
        (lambda M: solve_minmax_weights(M, 2, eta=0.0), "eta=0.0 is out of range"),
        (lambda M: solve_minmax_weights(M, 2, n_iter=0), "n_iter=0 is out of range"),
        (lambda M: solve_minmax_sdp(M, 9), "between 1 and 4"),
        (lambda M: solve_minmax_sdp(M, 2, max_iter=1.5), "max_iter must be an integer"),
        (lambda M: solve_minmax_sdp(M, 2, tol=0.0), "tol=0.0 is out of range"),
    ],
)
def test_wrong_arguments_are_explained(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(moments("wishart", 2, 4, 0))


@pytest.mark.parametrize("variant", ["printed", "samadi2018_code", "vu2022_code"])
@pytest.mark.parametrize(("eta", "n_iter"), [(0.5, 400), (2.0, 401), (4.25, 77)])
def test_rounds_that_repeat_count_as_if_they_were_computed(variant, eta, n_iter):
    """Every round carried out, for steps with which the weights soon settle or alternate."""
    rng = np.random.default_rng(5)
    halves = [rng.standard_normal((40, 6)) * rng.uniform(0.5, 2, 6) for _ in range(2)]
    M = np.array([X.T @ X / 40 for X in halves])
    best = np.array([np.linalg.eigvalsh(C)[-2:].sum() for C in M])
    logs, projections, losses = np.zeros(2), [], []
    for _ in range(n_iter):
        weights = np.exp(logs - logs.max())
        V = np.linalg.eigh(np.tensordot(weights / weights.sum(), M, 1))[1][:, -2:]
        projections.append(V @ V.T)
        losses.append(best - [np.vdot(C, projections[-1]) for C in M])
        logs = logs + eta * losses[-1]
        logs -= logs.max()
    result = solve_minmax_weights(M, 2, variant=variant, eta=eta, n_iter=n_iter, rounding="none")
    np.testing.assert_allclose(result.history["losses"], losses, atol=1e-7)
    np.testing.assert_allclose(result.extra["average_loss"], np.mean(losses, axis=0).max(), atol=1e-8)
    P = np.mean(projections, axis=0) if result.extra["chosen"] == "average" else projections[-1]
    U, lam = result.extra["basis"], result.extra["eigenvalues"]
    np.testing.assert_allclose((U * lam) @ U.T, P, atol=1e-6)
    repeated = {row.tobytes() for row in result.history["weights"]}
    assert len(repeated) < n_iter  # there was something to save


def test_a_time_limit_ends_the_iterations_and_says_so():
    M = moments("wishart", 3, 5, 0)
    result = solve_minmax_weights(M, 2, n_iter=10**6, time_limit=1e-9)
    assert result.n_iter == 1 and result.status == "max_iter"
    assert result.history["weights"].shape == result.history["losses"].shape == (1, 3)
    assert "time limit after 1 iterations" in result.extra["message"]
    alone = solve_minmax_weights(M, 2, n_iter=1, eta=result.extra["eta"])
    assert (result.objective, result.bound) == pytest.approx((alone.objective, alone.bound), rel=1e-10)


def test_more_iterations_than_can_be_kept_are_refused():
    with pytest.raises(ValueError, match=r"1000000000 iterations .* are too many: .* take 1000000 at most, or solver"):
        solve_minmax_weights(moments("wishart", 2, 4, 0), 2, n_iter=10**9)


def test_nothing_to_lose_keeps_all_dimensions():
    result = solve_minmax_weights(np.zeros((2, 4, 4)), 3, n_iter=5)
    assert result.V.shape == (4, 3) and result.status == "optimal"
    np.testing.assert_allclose(result.V.T @ result.V, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("constant", [(1,), (0, 2)])
@pytest.mark.parametrize("variant", ["printed", "samadi2018_code", "vu2022_code"])
def test_groups_without_variance_do_not_count_for_the_least_variance(constant, variant):
    M = moments("wishart", 4, 5, 3)
    M[list(constant)] = 0.0
    rest = np.delete(M, constant, axis=0)
    exact = solve_minmax(M, 2, objective="variance")
    few = solve_minmax_weights(M, 2, objective="variance", variant=variant, n_iter=300)
    alone = solve_minmax_weights(rest, 2, objective="variance", variant=variant, n_iter=300)
    assert few.objective == pytest.approx(alone.objective) and few.bound == pytest.approx(alone.bound)
    assert exact.objective <= few.bound + 1e-12 and few.objective <= exact.bound + 1e-12
    assert few.history["weights"].shape == (300, 4) and np.all(few.history["weights"][:, list(constant)] == 0)
    programme = solve_minmax_sdp(M, 2, objective="variance", rounding="none")
    assert programme.objective == pytest.approx(exact.objective, rel=1e-6)
    assert np.all(programme.extra["weights"][list(constant)] == 0) and len(programme.extra["losses"]) == 4


def test_the_linear_programme_keeps_the_trace():
    """Its own tolerance allowed a sum 8e-11 above d, and with it a loss below the optimum."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        M = rng.integers(0, 9, (7, 3)) / 16.0 + 1e-10 * rng.random((7, 3))
        lam = round_by_lp(M, np.sort(M, axis=1)[:, 1:].sum(axis=1), 2)
        assert lam.sum() <= 2 + 1e-15 and lam.min() >= 0 and lam.max() <= 1


def test_rounded_eigenvalues_descend_with_their_directions():
    """As those of an average do: whole directions first, each eigenvalue with its own vector."""
    fractional = 0
    for seed in range(10):
        M = moments("wishart", 3, 6, seed)
        result = solve_minmax_weights(M, 2, n_iter=12)
        lam, U = result.extra["eigenvalues"], result.extra["basis"]
        assert np.all(np.diff(lam) <= 0)
        errors = np.trace(M, axis1=1, axis2=2) - np.einsum("ij,gik,kj,j->g", U, M, U, lam)
        assert result.extra["errors"] == pytest.approx(errors)
        fractional += lam.min() < lam.max()
    assert fractional


def test_a_solver_that_gives_no_multipliers_leaves_a_bound(monkeypatch):
    """A bound that equal weights prove, since any weights prove one."""
    cp = pytest.importorskip("cvxpy")
    solve, M = cp.Problem.solve, moments("wishart", 3, 5, 1)

    def without_multipliers(self, **options):
        solve(self, **options)
        for constraint in self.constraints:
            for dual in constraint.dual_variables:
                dual.save_value(np.zeros(dual.shape))

    monkeypatch.setattr(cp.Problem, "solve", without_multipliers)
    result = solve_minmax_sdp(M, 2)
    assert result.extra["weights"] == pytest.approx(np.full(3, 1 / 3))
    assert result.bound == pytest.approx(own_sums(M, 2).mean() - np.linalg.eigvalsh(M.mean(axis=0))[-2:].sum())
    assert result.bound <= solve_minmax(M, 2).objective <= result.objective + 1e-9


@pytest.mark.parametrize("seed", [0, 1, 2, 264])
def test_the_linear_programme_is_solved_where_its_columns_are_equal_but_for_rounding(seed):
    """Groups without directions: which eigenvectors are taken hardly matters, and some are."""
    sums = (1.0 - 1e-8 * np.random.default_rng(seed).random((7, 8))) / 11
    lam = round_by_lp(sums, np.ones(7), 6)
    assert lam.sum() == pytest.approx(6.0) and lam.min() >= 0.0 and lam.max() <= 1.0
    assert np.count_nonzero((lam > 0.0) & (lam < 1.0)) <= 7

"""Mean matching and linear erasure against CVXPY, brute force, slow double loops and the theorem itself."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from fairpca import GroupMoments, LinearEraser, MeanFairPCA
from fairpca.linalg import orthonormal, subspace_distance, top_eigenpairs
from fairpca.solvers.erasure import cross_moments, erase_linearly, solve_mean_fair
from fairpca.solvers.erasure.means import orthonormal_basis
from fairpca.solvers.spectral import avoiding_eigenpairs


def rows(seed, n=90, p=6, n_groups=3, rank=None):
    rng = np.random.default_rng(seed)
    mix = rng.standard_normal((p, p)) * 0.7 ** np.arange(p)
    if rank is not None:
        mix = mix @ np.diag(np.arange(p) < rank)
        mix = rng.standard_normal((p, p)) @ mix.T
    else:
        mix = mix.T
    group = rng.integers(n_groups, size=n)
    Z = rng.standard_normal((n, p)) + 0.8 * rng.standard_normal((n_groups, p))[group]
    return Z @ mix.T, group


def problem(X, group):
    """Covariance and covariances with membership, the slow way."""
    Xc = X - X.mean(axis=0)
    labels = np.unique(group)
    S = sum(np.outer(x, x) for x in Xc) / len(X)
    member = np.array([[float(g == label) for label in labels] for g in group])
    C = sum(np.outer(x, z) for x, z in zip(Xc, member - member.mean(axis=0), strict=True)) / len(X)
    return S, C, member.std(axis=0)


def moments_of(X, group):
    return cross_moments(*problem(X, group), np.abs(X.mean(axis=0)))


def error(S, A, B):
    M = np.eye(len(S)) - B @ A
    return float(np.trace(M @ S @ M.T))


def null(C):
    U, s, _ = np.linalg.svd(C)
    return U[:, int(np.sum(s > 1e-10 * s[0])) :]


@given(seed=st.integers(0, 10**6), p=st.integers(3, 9), k=st.integers(2, 4), data=st.data())
@settings(max_examples=40, deadline=None)
def test_orthogonal_and_oblique_are_feasible_ordered_and_what_they_say(seed, p, k, data):
    X, group = rows(seed, p=p, n_groups=min(k, p - 1))
    S, C, _ = problem(X, group)
    cross = moments_of(X, group)
    d = data.draw(st.integers(1, p - cross.n_directions))
    best = S.trace() - top_eigenpairs(S, d)[0].sum()
    found = {}
    for projection in ("orthogonal", "oblique"):
        result = solve_mean_fair(cross, d, projection=projection)
        A, B = result.V.T, result.extra["decoder"]
        assert np.linalg.norm(A @ C, 2) <= 1e-13 * np.linalg.norm(A, 2) * np.linalg.norm(C, 2)
        np.testing.assert_allclose(B.T @ B, np.eye(d), atol=1e-12)
        np.testing.assert_allclose(A @ B, np.eye(d), atol=1e-8)
        found[projection] = error(S, A, B)
        assert result.objective == pytest.approx(found[projection], rel=1e-8, abs=1e-10 * S.trace())
        assert result.bound <= result.objective and result.status == "optimal"
    R = null(C)
    reference = S.trace() - top_eigenpairs(R.T @ S @ R, d)[0].sum()
    assert found["orthogonal"] == pytest.approx(reference, abs=1e-10 * S.trace())
    slack = 1e-10 * S.trace()
    assert best - slack <= found["oblique"] <= found["orthogonal"] + slack


@pytest.mark.parametrize("seed", range(6))
def test_no_search_beats_the_oblique_code(seed):
    """Brute force: BFGS over all A in the complement and all B, from many starts."""
    X, group = rows(seed, p=5, n_groups=2 + seed % 2)
    S, C, _ = problem(X, group)
    R, d = null(C), 1 + seed % 2
    claimed = solve_mean_fair(moments_of(X, group), d, projection="oblique").objective
    rng = np.random.default_rng(seed)

    def value(flat):
        A = flat[: d * R.shape[1]].reshape(d, -1) @ R.T
        return error(S, A, flat[d * R.shape[1] :].reshape(-1, d))

    found = [
        minimize(value, rng.standard_normal(d * R.shape[1] + 5 * d), method="BFGS", options={"gtol": 1e-9}).fun
        for _ in range(3)
    ]
    assert min(found) >= claimed - 1e-9 * S.trace()
    assert min(found) == pytest.approx(claimed, rel=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_erasure_is_the_best_projection_by_cvxpy(seed):
    """minimise E|x - Px|² subject to P C = 0, a least-squares problem with linear constraints."""
    cp = pytest.importorskip("cvxpy")
    X, group = rows(seed, p=5)
    S, C, _ = problem(X, group)
    L = np.linalg.cholesky(S)
    P = cp.Variable((5, 5))
    program = cp.Problem(cp.Minimize(cp.sum_squares((np.eye(5) - P) @ L)), [P @ C == 0])
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    erasure = erase_linearly(moments_of(X, group))
    np.testing.assert_allclose(erasure.apply(np.eye(5)).T, P.value, atol=1e-5)
    change = (np.eye(5) - erasure.apply(np.eye(5)).T) @ L
    assert np.sum(change**2) == pytest.approx(program.value, rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_orthogonal_code_is_the_best_by_cvxpy(seed):
    """The Fantope relaxation <S, P>, 0 ≤ P ≤ I, tr P = d, P C = 0 is tight and bounds it."""
    cp = pytest.importorskip("cvxpy")
    X, group = rows(seed, p=5)
    S, C, _ = problem(X, group)
    R = null(C)  # without it no feasible P is positive definite, and interior-point methods fail
    P = cp.Variable((R.shape[1], R.shape[1]), symmetric=True)
    constraints = [P >> 0, np.eye(R.shape[1]) - P >> 0, cp.trace(P) == 2]
    program = cp.Problem(cp.Maximize(cp.trace(R.T @ S @ R @ P)), constraints)
    program.solve(solver=cp.CLARABEL)
    result = solve_mean_fair(moments_of(X, group), 2)
    assert S.trace() - result.objective == pytest.approx(program.value, rel=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_oblique_is_pca_of_erased_rows_and_leace_in_its_published_form(seed):
    """P = I - S^½ U U' S^-½ with U = orth(S^-½ C); PCA of the rows after it gives the same reconstruction."""
    X, group = rows(seed, p=7)
    S, C, _ = problem(X, group)
    w, E = np.linalg.eigh(S)
    half, inverse = (E * np.sqrt(w)) @ E.T, (E / np.sqrt(w)) @ E.T
    U = np.linalg.svd(inverse @ C)[0][:, :2]
    P = np.eye(7) - half @ U @ U.T @ inverse
    eraser = LinearEraser().fit(X, sensitive_features=group)
    np.testing.assert_allclose(eraser.projection_, P, atol=1e-9 * np.linalg.norm(P))
    erased = X.mean(axis=0) + (X - X.mean(axis=0)) @ P.T
    np.testing.assert_allclose(eraser.transform(X), erased, atol=1e-9)
    _, _, Vt = np.linalg.svd(erased - erased.mean(axis=0))
    by_pca = erased.mean(axis=0) + (erased - erased.mean(axis=0)) @ Vt[:3].T @ Vt[:3]
    model = MeanFairPCA(3, projection="oblique").fit(X, sensitive_features=group)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), by_pca, atol=1e-8)
    # A second form: V of the SVD of S^½ N, A = V' S^-½, B = S^½ N V.
    V = np.linalg.svd(half @ (np.eye(7) - U @ U.T))[2][:3].T
    np.testing.assert_allclose(half @ V @ V.T @ inverse, model.decoder_.T @ model.components_, atol=1e-8)


@given(
    seed=st.integers(0, 10**6),
    rank=st.integers(3, 6),
    exponent=st.integers(-8, 8) | st.sampled_from([-130, 130]),
    offset=st.sampled_from([0, 1e4]),
)
@settings(max_examples=30, deadline=None)
def test_units_offsets_and_missing_rank_change_nothing(seed, rank, exponent, offset):
    X, group = rows(seed, p=6, n_groups=2, rank=rank)
    scale = 10.0**exponent
    for projection in ("orthogonal", "oblique"):
        model = MeanFairPCA(2, projection=projection).fit(X, sensitive_features=group)
        other = MeanFairPCA(2, projection=projection).fit((X + offset) * scale, sensitive_features=group)
        code, again = model.transform(X), other.transform((X + offset) * scale) / scale
        size = np.abs(X - X.mean(axis=0)).max()
        left_out = model.result_.objective
        assert other.result_.objective / scale**2 == pytest.approx(left_out, rel=1e-6, abs=1e-9 * size**2)
        gap = np.abs(again[group == 0].mean(axis=0) - again[group == 1].mean(axis=0)).max()
        assert gap <= 1e-12 * max(size, offset)
        assert code.shape == again.shape
    eraser = LinearEraser().fit((X + offset) * scale, sensitive_features=group)
    plain = LinearEraser().fit(X, sensitive_features=group)
    shifted = eraser.transform((X + offset) * scale) / scale - offset
    np.testing.assert_allclose(shifted, plain.transform(X), atol=1e-6 * size)


def test_erasure_does_not_depend_on_the_units_of_single_features():
    X, group = rows(4, p=5)
    units = 10.0 ** np.array([-8, 8, 0, 3, -3])
    plain = LinearEraser().fit(X, sensitive_features=group).transform(X)
    other = LinearEraser().fit(X * units, sensitive_features=group).transform(X * units)
    np.testing.assert_allclose(other / units, plain, atol=1e-10)


@pytest.mark.filterwarnings("ignore:component.*have no variance beyond rounding")
@pytest.mark.parametrize("far", [1e5, 1e6, 1e7, 1e8, 1e10])
@pytest.mark.parametrize("seed", range(6))
def test_one_far_row_hides_no_difference_and_costs_no_optimality(seed, far):
    # Its square dwarfs all else, so that second moments hardly know the other directions.
    X, group = rows(seed, n=40, p=5, n_groups=3)
    X[0] *= far
    X = X / X.std(axis=0)
    Z = LinearEraser().fit(X, sensitive_features=group).transform(X)
    member = (group[:, None] == np.arange(3)) - np.bincount(group) / len(group)
    assert np.abs(member.T @ (Z - Z.mean(axis=0))).max() / len(X) < 1e-10
    found = {
        projection: MeanFairPCA(2, projection=projection).fit(X, sensitive_features=group).result_
        for projection in ("orthogonal", "oblique")
    }
    total = X.var(axis=0).sum()
    assert found["oblique"].objective <= found["orthogonal"].objective + 1e-9 * total
    for projection, result in found.items():
        assert result.objective <= (1 + 1e-9) * total
        assert result.certificate != "proof" or result.gap <= 1e-9 * total
        seen = result.V.T @ result.extra["excluded"]  # zero however long the rows of the map are
        assert np.abs(seen).max() <= 1e-15 * np.linalg.norm(result.V)
        assert projection == "oblique" or result.certificate == "proof" or result.gap > 1e-9 * total


@pytest.mark.parametrize("far", [1.0, 1e2, 1e3, 1e4, 1e5, 3e5, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_a_proof_is_one_of_the_maps_in_exact_arithmetic(seed, far):
    """The error tr (I - BA) S (I - BA)' in fractions: one far row makes A so long that floats lose its digits."""
    X, group = rows(seed, n=40, p=5, n_groups=3)
    X[0] *= far
    moments = moments_of(X / X.std(axis=0), group)
    result = solve_mean_fair(moments, 2, projection="oblique")
    S, A, B = (exact(M) for M in (moments.covariance, result.V, result.extra["decoder"]))
    left = exact(np.eye(5)) - B @ A.T
    error, total = np.trace(left @ S @ left.T), np.trace(S)
    more_digits = np.finfo(np.longdouble).eps < np.finfo(float).eps  # where the platform has them
    assert far > (1e4 if more_digits else 100) or result.certificate == "proof"
    if result.certificate == "proof":
        assert result.status == "optimal"
        assert abs(Fraction(float(result.objective)) - error) <= Fraction(1, 10**9) * total


def exact(M):
    return np.vectorize(Fraction, otypes=[object])(M)


def test_what_pca_of_the_erased_rows_leaves_is_the_bound_also_where_it_is_not_reached():
    """Far rows, so that maps and eigenvalues differ by more than rounding: then the result is not called optimal."""
    missed = 0
    for seed in range(12):
        X, group = rows(seed, n=40, p=5, n_groups=3)
        X[0] *= 5e4
        moments = moments_of(X / X.std(axis=0), group)
        S = moments.covariance
        result = solve_mean_fair(moments, 2, projection="oblique")
        total = np.trace(S)
        left = total - np.linalg.eigvalsh(result.extra["erasure"].covariance_after(S))[-2:].sum()
        assert not result.bound > left + 1e-9 * total
        if result.objective > left + 2e-9 * total:
            missed += 1
            assert (result.status, result.certificate) == ("converged", "estimate")
    assert missed > 0


def test_basis_of_directions_does_not_depend_on_their_lengths():
    rng = np.random.default_rng(3)
    directions = rng.standard_normal((6, 2)) * np.logspace(0, -4, 6)[:, None]
    basis = orthonormal_basis(directions)
    for lengths in ((1e-170, 1e-170), (1e170, 1e170), (1e-170, 1e170)):
        other = orthonormal_basis(directions * lengths)
        np.testing.assert_allclose(other.T @ other, np.eye(2), atol=1e-14)
        np.testing.assert_allclose(other @ (other.T @ basis), basis, rtol=1e-10, atol=0)


def test_eigenvectors_that_avoid_directions_are_those_of_the_compression():
    rng = np.random.default_rng(0)
    S = rng.standard_normal((8, 8))
    S = S @ S.T
    Q = orthonormal(rng.standard_normal((8, 3)))
    N = np.linalg.svd(Q)[0][:, 3:]
    for d in (1, 3, 5):
        w, V = avoiding_eigenpairs(S, Q, d)
        reference, W = top_eigenpairs(N.T @ S @ N, d)
        np.testing.assert_allclose(w, reference, rtol=1e-12)
        assert subspace_distance(V, N @ W) < 1e-10
        assert np.abs(Q.T @ V).max() < 1e-15
    # Where the complement has no variance left, directions in it are still found.
    w, V = avoiding_eigenpairs(Q @ Q.T, Q, 4)
    assert np.abs(Q.T @ V).max() < 1e-15 and np.abs(w).max() < 1e-14


def test_equal_means_exclude_nothing_also_far_from_zero():
    X, group = rows(1, n=60, n_groups=2)
    X = X - np.array([X[group == g].mean(axis=0) for g in (0, 1)])[group] + 1e6
    model = MeanFairPCA(6).fit(X, sensitive_features=group)
    assert model.excluded_.shape == (0, 6)
    assert LinearEraser().fit(X, sensitive_features=group).predictor_.shape == (0, 6)


def test_too_many_components_are_refused_with_the_reason():
    X, group = rows(0, p=6, n_groups=3)
    for projection in ("orthogonal", "oblique"):
        with pytest.raises(ValueError, match=r"between 1 and 4.*avoid 2 direction"):
            MeanFairPCA(5, projection=projection).fit(X, sensitive_features=group)


def test_covariances_are_matched_as_in_the_papers_two_group_form():
    """Eigenvalues of R'(S1 - S0)R by magnitude, the smallest kept, PCA inside."""
    X, group = rows(3, n=200, p=7, n_groups=2)
    S, C, _ = problem(X, group)
    R = null(C)
    moments = GroupMoments.from_data(X, group)
    covariances = moments.covariances()
    w, T = np.linalg.eigh(R.T @ (covariances[1] - covariances[0]) @ R)
    candidates = R @ T[:, np.argsort(np.abs(w))[:4]]
    V = candidates @ top_eigenpairs(candidates.T @ S @ candidates, 2)[1]
    for count in (4, 4 / 6, 4.9 / 6):
        model = MeanFairPCA(2, match="mean+covariance", n_candidates=count).fit(moments)
        assert subspace_distance(V, model.components_.T) < 1e-7
        assert model.result_.extra["candidates"] == 4
    most = MeanFairPCA(2, match="mean+covariance", n_candidates=6).fit(moments)
    assert subspace_distance(most.components_.T, MeanFairPCA(2).fit(moments).components_.T) < 1e-7
    for wrong in (7, 0.0):
        with pytest.raises(ValueError, match="must lie in"):
            MeanFairPCA(2, match="mean+covariance", n_candidates=wrong).fit(moments)


def test_covariances_are_matched_where_the_data_vary():
    """In directions without variance the groups agree, and a code of them would be empty."""
    rng = np.random.default_rng(5)
    X, group = rows(5, n=200, p=6, n_groups=2)
    turned = np.linalg.qr(rng.standard_normal((10, 10)))[0][:, :6]
    kept = MeanFairPCA(2, match="mean+covariance").fit(X, sensitive_features=group)
    for wide in (X @ turned.T, np.column_stack((X, np.full(200, 7.0), np.zeros(200)))):
        model = MeanFairPCA(2, match="mean+covariance").fit(wide, sensitive_features=group)
        assert model.result_.objective == pytest.approx(kept.result_.objective, rel=1e-9)
    with pytest.raises(ValueError, match=r"between 1 and 5.*vary in no more directions"):
        MeanFairPCA(6, match="mean+covariance").fit(X @ turned.T, sensitive_features=group)

"""The exact two-group solver against all planes (p = 2), local search, special cases and dense algebra."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rfpca_cases import KINDS, brute_force, random_instance

from fairpca.linalg import subspace_distance, top_eigenpairs
from fairpca.solvers.rfpca import (
    GroupObjective,
    TwoGroupObjective,
    published_lam,
    search_interval,
    solve_rfpca,
    solve_rfpca_path,
)
from fairpca.solvers.rfpca import exact as rfpca_exact
from fairpca.solvers.rfpca._boundary import Boundary, PencilBoundary, Support
from fairpca.solvers.rfpca._certificate import lower_bound
from fairpca.solvers.spectral import PairBasis

SEEDS = st.integers(0, 10**6)
KIND = st.sampled_from(KINDS)


def scale_of(moments, value):
    return max(abs(value), 1e-13 * np.trace(moments.sum(axis=0)), 1e-300)


@pytest.mark.parametrize("kind", KINDS)
def test_every_plane_of_two_dimensions(kind):
    """2 x 800 certified values against brute force over all planes: the bound never above, the plane never worse."""
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(100):
        moments, shares, lam, eps = random_instance(rng, 2, kind)
        for form in ("corrected", "printed"):
            result = solve_rfpca(moments, shares, 1, lam, eps, variant=form)
            best = brute_force(moments, shares, lam, eps, form == "printed")
            scale = scale_of(moments, best)
            assert result.bound <= best + 1e-10 * scale
            assert result.objective <= best + 1e-9 * scale
            assert result.status == "optimal"
            assert result.gap <= 1e-9 * scale


def test_counterexample_to_a_certificate_without_the_breakpoints_zero_and_one():
    M = np.array([[[3.0625, -0.63], [-0.63, 0.1296]], [[0.0, 0.0], [0.0, 1.0]]])
    shares, eps = np.array([0.9, 0.1]), np.array([0.04, 2.5])
    result = solve_rfpca(M, shares, 1, 20.0, eps, variant="printed")
    assert result.objective == pytest.approx(29.722250, abs=5e-7)
    assert brute_force(M, shares, 20.0, eps, True) == pytest.approx(result.objective, rel=1e-10)
    assert result.status == "optimal"
    # The arc from -19.1 to 20.9 without 0 and 1 gives a bound above the optimum: this is what went wrong.
    boundary = Boundary(M, 1)
    objective = TwoGroupObjective((0.9, 0.1), 20.0, (0.04, 2.5), "printed")
    assert search_interval(objective) == (pytest.approx(-19.1), pytest.approx(20.9))
    assert lower_bound(boundary, objective) <= result.objective
    assert {0.0, 1.0} <= set(boundary.supports)


@given(seed=SEEDS, kind=KIND, k=st.integers(1, 4))
def test_without_penalty_and_radius_it_is_pca(seed, kind, k):
    rng = np.random.default_rng(seed)
    moments, shares, _, _ = random_instance(rng, 5, kind)
    result = solve_rfpca(moments, shares, k, 0.0, np.zeros(2))
    mixture = np.tensordot(shares, moments, axes=1)
    w = np.linalg.eigvalsh(mixture)
    assert result.objective == pytest.approx(w[: 5 - k].sum(), abs=1e-12 * w.sum())
    if w[5 - k] - w[4 - k] > 1e-6 * w[-1]:
        assert subspace_distance(result.V, top_eigenpairs(mixture, k)[1]) < 1e-7


@given(seed=SEEDS, kind=KIND, form=st.sampled_from(["corrected", "printed"]))
def test_objective_is_concave_and_matches_the_general_form(seed, kind, form):
    rng = np.random.default_rng(seed)
    _, shares, lam, eps = random_instance(rng, 4, kind)
    two = TwoGroupObjective(tuple(shares), lam, tuple(eps), form)
    general = GroupObjective(shares, lam, eps, form)
    s, q = rng.uniform(0, 4, 2), rng.uniform(0, 4, 2)
    np.testing.assert_allclose(two.values(*s), general.values(s), rtol=1e-12)
    np.testing.assert_allclose([two.slopes(a, *s) for a in (0, 1)], general.slopes(s), rtol=1e-12)
    middle = np.array(two.values(*(0.5 * (s + q))))
    ends = 0.5 * (np.array(two.values(*s)) + np.array(two.values(*q)))
    assert np.all(middle >= ends - 1e-12 * (1 + np.abs(ends)))
    step = 1e-6
    for b in range(2):
        shift = np.eye(2)[b] * step * s[b]
        difference = np.subtract(two.values(*(s + shift)), two.values(*(s - shift))) / (2 * step * s[b])
        assert np.allclose(difference, [two.slopes(a, *s)[b] for a in (0, 1)], rtol=1e-4, atol=1e-4 * (1 + lam))
    d = rng.uniform(0, 1, 2)
    change = np.abs(np.subtract(two.values(*(s + d)), two.values(*s))).max()
    assert change <= two.increase(*s, *d) * (1 + 1e-12)


def test_published_reset_of_the_penalty():
    moments = np.array([np.diag([3.0, 2.0, 1.0]), np.diag([1.0, 1.0, 0.01])])
    shares = np.array([0.7, 0.3])
    small, large = np.array([0.01, 0.005]), np.array([0.01, 0.5])
    assert published_lam(moments, shares, large, 2, 0.2) == 0.2  # condition (i)
    assert published_lam(moments, shares, small, 2, 1.0) == 1.0  # condition (ii) in both groups
    assert published_lam(moments, shares, large, 2, 1.0) == 0.3  # fails in one of them


def test_tied_spaces_are_mixed_without_leaving_rank_k():
    moments = np.array([np.diag([3.0, 1.0, 0.5]), np.diag([1.0, 3.0, 0.5])])
    shares = np.array([0.5, 0.5])
    result = solve_rfpca(moments, shares, 1, 1.0, np.zeros(2))
    np.testing.assert_allclose(result.extra["errors"], [2.5, 2.5], atol=1e-12)
    assert result.status == "optimal" and result.V.shape == (3, 1)
    same = np.array([np.eye(4) * 2, np.eye(4)])
    result = solve_rfpca(same, shares, 2, 3.0, np.array([0.1, 0.0]))
    assert result.status == "optimal" and result.extra["errors"] == pytest.approx([4.0, 2.0])


def test_vanishing_moments_have_a_certified_zero():
    moments = np.zeros((2, 4, 4))
    moments[0, :2, :2] = np.eye(2)
    result = solve_rfpca(moments, np.array([0.5, 0.5]), 2, 1.0, np.zeros(2))
    assert result.status == "optimal" and result.objective == pytest.approx(0, abs=1e-14)
    both_zero = solve_rfpca(np.zeros((2, 3, 3)), np.array([0.5, 0.5]), 1, 1.0, np.array([0.1, 0.2]))
    assert both_zero.status == "optimal" and np.isfinite(both_zero.objective)


def test_a_path_shares_the_curve_and_agrees_with_single_solves():
    rng = np.random.default_rng(8)
    moments, shares, _, _ = random_instance(rng, 9, "wishart")
    settings = [(lam, np.full(2, radius)) for radius in (0.0, 0.02, 0.1) for lam in (0.0, 0.4, 1.0, 2.5)]
    together = solve_rfpca_path(moments, shares, 3, settings)
    for (lam, eps), result in zip(settings, together, strict=True):
        alone = solve_rfpca(moments, shares, 3, lam, eps)
        assert result.status == alone.status == "optimal"
        assert result.objective == pytest.approx(alone.objective, rel=2e-9)
    alone_total = sum(solve_rfpca(moments, shares, 3, *setting).n_iter for setting in settings)
    assert sum(result.n_iter for result in together) < alone_total
    for lam, eps in settings:
        boundary = Boundary(moments, 3)
        for t in np.linspace(20.0, 40.0, 200):  # support points that others asked for do not count
            boundary.at(float(t))
        needed = solve_rfpca(moments, shares, 3, lam, eps).n_iter
        assert solve_rfpca(moments, shares, 3, lam, eps, boundary=boundary, max_iter=needed).status == "optimal"
    assert solve_rfpca_path(moments, shares, 3, []) == []


def decaying(rng, p, rank=None):
    """Two moments with falling spectra, as faces have, or of low rank."""
    result = []
    for _ in range(2):
        Q = np.linalg.qr(rng.standard_normal((p, p)))[0]
        w = 1.0 / np.arange(1, p + 1) ** 1.5
        if rank is not None:
            w[rank:] = 0.0
        result.append((Q * w) @ Q.T)
    mixed = result[0] + 0.3 * result[1]
    return np.array([mixed + mixed.T, result[1] + result[1].T]) / 2


def large_moments(kind):
    rng = np.random.default_rng(6)
    if kind == "decaying":
        return decaying(rng, 180)
    if kind == "slowly falling":  # falls back to whole decompositions
        return np.array([Y.T @ Y / 400 for Y in rng.standard_normal((2, 400, 160))])
    falling = 1.0 / np.arange(1, 161) ** 1.2
    # Ties that no small basis shows.
    diagonals = {
        "integers": rng.integers(0, 4, (2, 160)), "mirrored": (falling, falling[::-1]), "equal ranks": np.eye(160)[:2],
    }[kind]  # fmt: skip
    return np.array([np.diag(np.asarray(w, dtype=float)) for w in diagonals])


@pytest.mark.parametrize("kind", ["decaying", "slowly falling", "integers", "mirrored", "equal ranks"])
@pytest.mark.parametrize("k, lam", [(1, 3.0), (3, 0.5), (8, 1.0)])
def test_large_problems_agree_with_whole_decompositions_and_their_bound_is_valid(kind, k, lam):
    moments, shares, eps = large_moments(kind), np.array([0.6, 0.4]), np.array([0.002, 0.004])
    dense = solve_rfpca(moments, shares, k, lam, eps, boundary=Boundary(moments, k))
    large = solve_rfpca(moments, shares, k, lam, eps)
    assert isinstance(rfpca_exact.make_boundary(moments, k), PencilBoundary)
    assert large.status == dense.status == "optimal"
    assert large.objective == pytest.approx(dense.objective, rel=2e-9)
    assert large.bound <= dense.objective * (1 + 1e-12)
    np.testing.assert_allclose(large.V.T @ large.V, np.eye(k), atol=1e-12)
    assert kind != "decaying" or subspace_distance(large.V, dense.V) < 1e-4


@pytest.mark.parametrize("tol", [1e-7, 1e-2])
def test_proven_deficits_bound_what_the_basis_misses(tol):
    """Also with a basis that is far too coarse: then the bound is poor, but it stays a bound."""
    rng = np.random.default_rng(4)
    moments, shares, eps = decaying(rng, 170), np.array([0.5, 0.5]), np.full(2, 0.003)
    boundary = PencilBoundary(moments, 3, tol=tol)
    weights = [-2.0, -0.4, 0.0, 0.3, 0.55, 0.9, 1.0, 1.7, 3.0]
    supports = [boundary.at(t) for t in weights]
    deficits = boundary.deficits(supports)
    for t, support, deficit in zip(weights, supports, deficits, strict=True):
        least = np.linalg.eigvalsh(t * moments[0] + (1 - t) * moments[1])[:167].sum()
        missed = t * support.left.s0 + (1 - t) * support.left.s1 - least
        assert -1e-12 <= missed <= deficit + 1e-13
    if tol == 1e-7:
        assert deficits.max() < 1e-10
    exact = solve_rfpca(moments, shares, 3, 1.0, eps, boundary=Boundary(moments, 3))
    objective = TwoGroupObjective((0.5, 0.5), 1.0, (0.003, 0.003))
    assert lower_bound(boundary, objective) <= exact.objective * (1 + 1e-12)


@pytest.mark.parametrize("unit", [2.0**-20, 1.0, 2.0**20])
def test_proven_deficits_allow_for_rounding_in_the_unit_of_the_data(unit):
    """Errors are differences from the traces, so they are never known better than to a rounding of these."""
    rng = np.random.default_rng(4)
    boundary = PencilBoundary(unit * decaying(rng, 170), 3)
    supports = [boundary.at(t) for t in (-2.0, 0.0, 0.55, 1.0, 3.0)]
    traces = np.array(boundary.traces)
    deficits = boundary.deficits(supports)
    for support, deficit in zip(supports, deficits, strict=True):
        size = np.abs([support.t, 1 - support.t]) @ traces
        assert np.finfo(float).eps * size <= deficit <= 1e-10 * size


def test_large_groups_of_low_rank():
    rng = np.random.default_rng(3)
    moments = decaying(rng, 160, rank=4)
    result = solve_rfpca(moments, np.array([0.5, 0.5]), 4, 0.5, np.full(2, 0.01))
    dense = solve_rfpca(moments, np.array([0.5, 0.5]), 4, 0.5, np.full(2, 0.01), boundary=Boundary(moments, 4))
    assert result.objective == pytest.approx(dense.objective, rel=1e-7)
    assert result.bound <= dense.objective * (1 + 1e-9)


def test_status_says_what_was_not_proved():
    rng = np.random.default_rng(1)
    moments, shares, lam, eps = random_instance(rng, 6, "wishart")
    quick = solve_rfpca(moments, shares, 2, 1.0, eps + 0.1, certified=False)
    assert quick.status == "converged" and np.isnan(quick.gap)
    short = solve_rfpca(moments, shares, 2, 1.0, eps + 0.1, max_iter=1)
    assert short.status in ("max_iter", "converged") and short.relative_gap > 1e-9
    assert short.bound <= solve_rfpca(moments, shares, 2, 1.0, eps + 0.1).objective


@pytest.mark.parametrize(
    "change, message",
    [
        ({"lam": -0.1}, "lam=-0.1 must be a finite number"),
        ({"lam": np.inf}, "must be a finite number"),
        ({"eps": np.array([0.1])}, "eps has 1 value"),
        ({"eps": np.array([0.1, -0.2])}, "not negative"),
        ({"n_components": 3}, "between 1 and 2"),
        ({"n_components": 0}, "between 1 and 2"),
        ({"shares": np.array([0.5, 0.6])}, "sum to 1"),
        ({"shares": np.array([1.5, -0.5])}, "2 positive numbers"),
        ({"shares": np.array([1.0, 0.0])}, "2 positive numbers"),
        ({"moments": np.eye(3)}, "must be"),
        ({"moments": np.full((2, 3, 3), np.nan)}, "NaN"),
        ({"moments": np.stack([np.eye(3)] * 3), "shares": np.ones(3) / 3, "eps": np.zeros(3)}, "two groups"),
    ],
)
def test_bad_problems_are_explained(change, message):
    given_values = {
        "moments": np.stack([np.eye(3)] * 2),
        "shares": np.array([0.5, 0.5]),
        "n_components": 1,
        "lam": 0.5,
        "eps": np.zeros(2),
    } | change
    with pytest.raises(ValueError, match=message):
        solve_rfpca(**given_values)


class MissingPoints(Boundary):
    """Support points that are turned away from their optima by some amounts, which the boundary declares."""

    proves_bounds = True

    def __init__(self, moments, rng):
        super().__init__(moments, 1)
        self.rng, self.size, self.all_miss = rng, 10.0 ** rng.uniform(-6, -0.5), rng.random() < 0.3

    def _compute(self, t):
        support = super()._compute(t)
        angle = self.size * self.rng.standard_normal() * self.rng.integers(self.all_miss, 2)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        point = self._point(t, turn @ support.left.plane)
        return Support(t, point, point, None)

    def deficits(self, supports):
        least = [np.linalg.eigvalsh(s.t * self.moments[0] + (1 - s.t) * self.moments[1])[0] for s in supports]
        reach = [s.t * s.left.s0 + (1 - s.t) * s.left.s1 for s in supports]
        loose = 10.0 ** self.rng.uniform(-12, -2, len(supports)) * self.rng.integers(0, 2, len(supports))
        return np.maximum(np.subtract(reach, least), 0.0) + loose * self.traces[0]


def test_points_that_miss_and_tangents_below_the_axes_leave_the_bound_valid():
    """All planes of two dimensions; a weak tangent at 0 or 1 must not let a polygon lose a part of the boundary."""
    rng = np.random.default_rng(1)
    for _ in range(600):
        one, other = rng.standard_normal((2, 2, 2))
        moments = np.array([np.outer(one[0], one[0]), other @ other.T])  # the first error can vanish
        share, lam = rng.uniform(0.02, 0.98), float(rng.choice([0, 0.1, 0.5, 2.0]))
        eps = rng.uniform(0, 2, 2) * [1, rng.integers(0, 2)]
        objective = TwoGroupObjective((share, 1 - share), lam, tuple(eps))
        boundary, (low, high) = MissingPoints(moments, rng), search_interval(objective)
        for t in (low, high, 0.0, 1.0, *rng.uniform(low, high, rng.integers(0, 8))):
            boundary.at(float(t))
        best = brute_force(moments, np.array([share, 1 - share]), lam, eps, False)
        # Rounding of an error near zero counts with its square root.
        assert lower_bound(boundary, objective) <= best + 1e-6 * scale_of(moments, best)


@pytest.mark.parametrize("k, lam", [(1, 0.3), (3, 2.5), (6, 0.5)])
def test_rough_points_far_from_the_optimum_leave_the_bound_valid(k, lam):
    """Tangents without points: polygons instead of triangles, never above the optimum, however many are rough."""
    rng = np.random.default_rng(10 + k)
    for seed in range(3):
        moments, shares, eps = decaying(rng, 160), np.array([0.55, 0.45]), np.array([0.003, 0.02])
        exact = solve_rfpca(moments, shares, k, lam, eps, boundary=Boundary(moments, k))
        objective = TwoGroupObjective((0.55, 0.45), lam, (0.003, 0.02))
        boundary = PencilBoundary(moments, k)
        low, high = search_interval(objective)
        boundary.coarse = True
        for t in (low, 0.0, 1.0, high, *rng.uniform(low, high, 4)):
            boundary.at(float(t))
        boundary.coarse = False
        bounds = [lower_bound(boundary, objective)]
        for t in (exact.extra["t"], exact.extra["t"] + 0.01, exact.extra["t"] - 0.01, 0.0, 1.0):
            boundary.at(float(t))
            bounds.append(lower_bound(boundary, objective))
        assert boundary.deficits(list(boundary.supports.values())).max() > 1e-9  # some are rough indeed
        assert max(bounds) <= exact.objective * (1 + 1e-12)
        assert bounds[-1] > exact.objective * (1 - 0.05)
        assert boundary.sharpen()
        assert boundary.deficits(list(boundary.supports.values())).max() < 1e-9
        assert lower_bound(boundary, objective) <= exact.objective * (1 + 1e-12), seed


@pytest.mark.parametrize("rank", [None, 20])
def test_basis_of_a_pair_of_matrices(rank):
    """Eigenpairs to the residual asked for, and products that stay right as the basis grows."""
    rng = np.random.default_rng(5)
    moments, k = decaying(rng, 150, rank=rank), 4
    basis = PairBasis(moments)
    for t in (0.4, 1.6, -0.7, 0.41):
        basis.solve(t, k, 1e-7)
        w, Y = basis.pairs(t, k)
        assert basis.accurate(t, k, 1e-7, w, Y)
        M = t * moments[0] + (1 - t) * moments[1]
        values, vectors = top_eigenpairs(M, k)
        np.testing.assert_allclose(w[::-1][:k], values, atol=1e-10 * np.abs(values).max())
        assert subspace_distance(basis.lift(Y[:, -k:]), vectors) < 1e-4
    Q = basis.lift(np.eye(basis.size))
    np.testing.assert_allclose(Q.T @ Q, np.eye(basis.size), atol=1e-13)
    products = moments @ Q
    np.testing.assert_allclose(basis.small, Q.T @ products, atol=1e-13)
    np.testing.assert_allclose(basis.gram, np.einsum("gpq,hpr->ghqr", products, products), atol=1e-13)


@pytest.mark.parametrize("max_iter", [5, 8])
def test_search_and_proof_each_keep_to_the_limit(max_iter):
    """Whole decompositions are never rough, so that a proof that was cut short is not tried a second time."""
    cut = 0
    for seed in range(12):
        problem = random_instance(np.random.default_rng(seed), 8, "wishart")
        moments, shares, lam, eps = problem
        result = solve_rfpca(moments, shares, 3, lam, eps, max_iter=max_iter, tol=1e-12)
        cut += result.status == "max_iter"
        assert result.n_iter <= 2 * max_iter + 4  # the ends of the range come on top
    assert cut > 0

"""The exact two-group solver against brute force, an SDP, the paper's statements, and difficult spectra."""

import numpy as np
import pytest
from hostile_spectra import hostile_moments
from hypothesis import given
from hypothesis import strategies as st
from minmax_cases import certify, moments, own_sums, problems

from fairpca.linalg import subspace_distance
from fairpca.solvers.minmax import _line_search, solve_minmax, solve_minmax_path
from fairpca.solvers.minmax._line_search import maximise_on_line
from fairpca.solvers.minmax.dual import dense_limit
from fairpca.solvers.spectral import Pencil

CASE = problems(st.just(2), st.integers(2, 9))


@given(CASE)
def test_certified_with_equal_losses_on_difficult_spectra(case):
    M, d = case
    scale = np.trace(M, axis1=1, axis2=2).max()
    result, least = solve_minmax(M, d), solve_minmax(M, d, objective="error")
    values = certify(M, d, result)
    certify(M, d, least, "error")
    assert abs(values[0] - values[1]) <= 1e-10 * max(1.0, scale)
    assert values.min() >= -1e-12 * scale
    assert least.objective <= result.extra["errors"].max() + 1e-11 * scale


def test_slope_of_the_dual_is_the_difference_of_losses():
    M = moments("wishart", 2, 6, 4)
    result = solve_minmax(M, 2)
    a = own_sums(M, 2)

    def phi(t):
        return t * a[0] + (1 - t) * a[1] - own_sums((t * M[0] + (1 - t) * M[1])[None], 2)[0]

    for t, dual, slope in zip(*(result.history[key] for key in ("t", "dual", "slope")), strict=True):
        assert dual == pytest.approx(phi(t), abs=1e-12)
        if 1e-4 < t < 1 - 1e-4:
            assert slope == pytest.approx((phi(t + 1e-6) - phi(t - 1e-6)) / 2e-6, abs=1e-5)
    assert max(phi(t) for t in np.linspace(0, 1, 501)) <= result.objective + 1e-12
    assert len(result.history["t"]) < 15


def test_tie_is_resolved_by_turning_inside_the_eigenspace():
    M = np.stack([np.diag([2.0, 0.0, 0.0]), np.diag([0.0, 1.0, 0.0])])
    result = solve_minmax(M, 1)
    # The two leading eigenvalues cross at t = 1/3, where neither eigenvector is fair.
    assert result.extra["weights"] == pytest.approx([1 / 3, 2 / 3])
    assert result.objective == pytest.approx(2 / 3)
    assert np.ptp(result.extra["losses"]) < 1e-15
    assert result.V[:, 0] ** 2 == pytest.approx([2 / 3, 1 / 3, 0])


def test_path_equals_single_solves():
    for p, d_max in ((9, 9), (170, 6)):
        M = moments("wishart", 2, p, 1) + 0.01 * np.eye(p)
        path = solve_minmax_path(M, d_max)
        assert [r.V.shape[1] for r in path] == list(range(1, d_max + 1))
        for d, result in enumerate(path, start=1):
            certify(M, d, result)
            single = solve_minmax(M, d)
            assert result.objective == pytest.approx(single.objective, abs=1e-11)
            if d < p:
                assert subspace_distance(result.V, single.V) < 1e-5


def test_path_of_a_large_problem_needs_few_large_solves():
    M = moments("wishart", 2, 200, 5) + 0.01 * np.eye(200)
    path = solve_minmax_path(M, 8)
    assert sum(r.extra["large_solves"] for r in path) <= 4
    assert all(r.relative_gap <= 1e-9 for r in path)


@given(CASE, st.integers(0, 1000))
def test_invariances(case, seed):
    M, d = case
    p, scale = M.shape[1], np.trace(M, axis1=1, axis2=2).max()
    base = solve_minmax(M, d).objective
    R, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((p, p)))
    assert solve_minmax(R @ M @ R.T, d).objective == pytest.approx(base, abs=1e-11 * scale)
    assert solve_minmax(M[::-1], d).objective == pytest.approx(base, abs=1e-11 * scale)
    assert solve_minmax(7 * M, d).objective == pytest.approx(7 * base, abs=1e-10 * scale)
    order = np.random.default_rng(seed).permutation(p)
    assert solve_minmax(M[:, order][:, :, order], d).objective == pytest.approx(base, abs=1e-11 * scale)


def test_everything_kept_loses_nothing():
    M = moments("wishart", 2, 4, 0)
    result = solve_minmax(M, 4)
    assert (result.objective, result.gap, result.status) == (0, 0, "optimal")
    assert result.extra["best_sums"] == pytest.approx(np.trace(M, axis1=1, axis2=2))


def test_moments_are_not_changed():
    for p in (6, 160):
        M = moments("wishart", 2, p, 2)
        before = M.copy()
        solve_minmax(M, 2)
        np.testing.assert_array_equal(M, before)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"n_components": 0}, "between 1 and 4"),
        ({"n_components": 5}, "between 1 and 4"),
        ({"objective": "lose"}, "choose one of 'loss', 'error'"),
        ({"tol": 0.0}, "tol=0.0 is out of range"),
        ({"max_iter": 0}, "max_iter=0 is out of range"),
        ({"moments": np.eye(4)}, "two groups or more"),
        ({"moments": np.eye(4)[None]}, "two groups or more"),
        ({"moments": np.full((2, 4, 4), np.nan)}, "NaN or infinite"),
    ],
)
def test_wrong_arguments_are_explained(change, message):
    arguments = {"moments": moments("wishart", 2, 4, 0), "n_components": 2} | change
    with pytest.raises(ValueError, match=message):
        solve_minmax(**arguments)


def test_iteration_limit_is_reported():
    M = moments("near_crossing", 2, 9, 1)
    a = own_sums(M, 4)
    cut = maximise_on_line(M[0], M[1], a[0], a[1], 4, max_iter=1)
    assert cut.phi <= solve_minmax(M, 4).objective
    result = solve_minmax(M, 4, max_iter=1)
    assert result.status == "max_iter"
    assert result.gap > 0


@pytest.mark.parametrize("seed", [226088, 258679, 287513])
def test_three_eigenvalues_that_nearly_cross_are_separated(seed):
    """Each pair alone says that the optimum is elsewhere; slopes of both signs come in turns and never get small."""
    M, d, kind = hostile_moments(seed)
    assert kind == "near ties"
    M = M[:2] / M[:2].max()
    result = solve_minmax(M, d, objective="error")
    certify(M, d, result, "error")
    assert result.n_iter < 60


@pytest.mark.parametrize("seed", range(4))
def test_the_second_half_of_the_steps_closes_the_bracket(seed, monkeypatch):
    """Whatever the model proposes: here always a point next to the one it starts from."""
    M = moments("wishart", 2, 7, seed)
    a = own_sums(M, 3)
    monkeypatch.setattr(_line_search, "_model_root", lambda x, slope, low, high: x.t + np.copysign(1e-12, slope))
    monkeypatch.setattr(_line_search, "_tangents_meet", lambda low, high: low.t + 1e-12)
    found = maximise_on_line(M[0], M[1], a[0], a[1], 3)
    assert found.phi == pytest.approx(solve_minmax(M, 3).objective, rel=1e-12)
    assert (a - found.sums).max() == pytest.approx(found.phi, rel=1e-12)


@pytest.mark.parametrize("size", [1e-3, 1e-4, 1e-5, 1e-6])
def test_nearly_equal_large_groups_are_certified_relative_to_the_data(size):
    """Losses far below the trace, where the proof from the basis alone has rounding over a small spectral gap."""
    p, d = 151, 11
    for seed in range(4):
        rng = np.random.default_rng(seed)
        root = rng.standard_normal((p, p)) * 0.8 ** np.arange(p)
        A = root + rng.standard_normal((2, p, p)) * size
        M = A @ A.transpose(0, 2, 1)
        certify(M, d, solve_minmax(M, d))


def test_sums_of_a_group_in_a_far_smaller_unit_are_its_own():
    rng = np.random.default_rng(8)
    R = rng.standard_normal((2, 5, 5))
    M = R @ R.transpose(0, 2, 1) * np.array([1e-8, 1e8])[:, None, None]
    for S in (M, M[::-1]):
        result = solve_minmax(S, 2, objective="error")
        kept = np.array([np.trace(result.V.T @ C @ result.V) for C in S])
        assert result.extra["variances"] == pytest.approx(kept, rel=1e-12)


@pytest.mark.parametrize("decay", [0.8, 0.99])
def test_whole_decompositions_and_a_basis_agree_where_one_takes_over(decay):
    rng = np.random.default_rng(0)
    roots = (np.eye(190) + 0.02 * rng.standard_normal((2, 190, 190))) * decay ** (np.arange(190) / 2)
    M = roots @ roots.transpose(0, 2, 1)
    found = [solve_minmax(M, 2, pencil=Pencil(M, dense_limit=limit)).objective for limit in (0, 1000)]
    assert solve_minmax(M, 2).objective == pytest.approx(found[0], rel=1e-9)
    assert found[0] == pytest.approx(found[1], rel=1e-9)
    assert (dense_limit(M, 2) > 190) == (decay > 0.9)  # slow spectra need a large basis
    assert dense_limit(M, 1) < dense_limit(M, 3)

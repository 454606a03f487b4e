"""The exact frontier: against all lines of the plane, random subspaces, weighted sums, and its own ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from minmax_cases import moments, problems
from scipy.optimize import minimize_scalar

from fairpca import RFPCA, GroupMoments, MinMaxFairPCA
from fairpca.solvers.frontier import missed_share, solve_frontier
from fairpca.solvers.rfpca import reconstruction_errors

CASE = problems(st.just(2), st.integers(2, 9))


def excess(frontier, errors):
    """How far pairs lie outside the frontier's tangents (it must not be positive)."""
    normals = np.column_stack((frontier.t, 1 - frontier.t))
    values = np.einsum("ij,ij->i", normals, frontier.errors)
    return (values[:, None] - normals @ errors.T).max()


@given(CASE)
def test_every_point_is_reached_and_no_subspace_is_better(case):
    M, d = case
    frontier = solve_frontier(M, d, tol=1e-3)
    size = np.trace(M, axis1=1, axis2=2).sum() or 1.0
    assert frontier.distance <= max(1e-3 * frontier.scale, 1e-13 * size)
    assert np.all(np.diff(frontier.t) >= 0) and frontier.t[0] >= 0 and frontier.t[-1] <= 1
    for i in range(len(frontier)):
        V = frontier.subspace(i)
        np.testing.assert_allclose(V.T @ V, np.eye(d), atol=1e-10)
        assert reconstruction_errors(M, V) == pytest.approx(frontier.errors[i], abs=1e-10 * size)
    # From end to end one error falls and the other rises: nothing on the path dominates anything else on it.
    assert np.all(np.diff(frontier.errors[:, 0]) <= 1e-10 * size)
    assert np.all(np.diff(frontier.errors[:, 1]) >= -1e-10 * size)
    rng = np.random.default_rng(0)
    planes = np.linalg.qr(rng.standard_normal((50, M.shape[1], d)))[0]
    errors = np.array([reconstruction_errors(M, V) for V in planes])
    assert excess(frontier, errors) <= 1e-10 * size
    assert frontier.losses.min() >= -1e-10 * size and frontier.losses.min(axis=0).max() <= 1e-10 * size


@pytest.mark.parametrize("seed", range(8))
def test_all_lines_of_the_plane(seed):
    """In the plane every line can be tried: those that no other dominates lie within the proven distance."""
    M = moments(["wishart", "low_rank", "identity", "integer_diagonal"][seed % 4], 2, 2, seed)
    frontier = solve_frontier(M, 1, tol=1e-4)
    angles = np.linspace(0, np.pi, 4001)
    lines = np.stack((np.cos(angles), np.sin(angles)))
    errors = np.trace(M, axis1=1, axis2=2)[None] - np.einsum("it,gij,jt->tg", lines, M, lines)
    order = np.lexsort((errors[:, 1], errors[:, 0]))
    lowest = np.minimum.accumulate(np.append(np.inf, errors[order, 1]))[:-1]
    best = errors[order][errors[order, 1] < lowest - 1e-9]
    a, b = frontier.errors[:-1], frontier.errors[1:]
    along = b - a
    length = np.maximum((along**2).sum(axis=1), 1e-300)
    for pair in best:
        u = np.clip(((pair - a) * along).sum(axis=1) / length, 0, 1)[:, None]
        to_path = np.linalg.norm(a + u * along - pair, axis=1).min() if len(a) else 0.0
        assert to_path <= frontier.distance + 1e-3 * np.abs(M).sum()  # the second is the angles' spacing
    assert excess(frontier, errors) <= 1e-12 * np.abs(M).sum() + 1e-15


def test_ties_are_segments_of_the_frontier():
    """Commuting matrices: the frontier is a polygon, and its faces are mixed to any error asked for."""
    M = np.stack((np.diag([4.0, 2.0, 1.0, 0.0]), np.diag([0.0, 1.0, 2.5, 3.0])))
    frontier = solve_frontier(M, 2)
    assert len(frontier) < 12 and frontier.distance <= 1e-13
    for group in (0, 1):
        for u in (0.0, 0.11, 0.5, 0.77, 1.0):
            error = (1 - u) * frontier.errors[0, group] + u * frontier.errors[-1, group]
            V, errors = frontier.with_error(error, group)
            assert errors[group] == pytest.approx(error, abs=1e-11)
            assert reconstruction_errors(M, V) == pytest.approx(errors, abs=1e-11)
            assert frontier.dominated(errors[None]) == pytest.approx(0, abs=1e-11)


@given(CASE, st.floats(0.01, 0.99), st.integers(0, 1))
def test_the_error_asked_for(case, u, group):
    """Also between points far apart, where some weight has to make it the best."""
    M, d = case
    frontier = solve_frontier(M, d, tol=0.05)
    size = np.trace(M, axis1=1, axis2=2).sum() or 1.0
    error = (1 - u) * frontier.errors[0, group] + u * frontier.errors[-1, group]
    V, errors = frontier.with_error(error, group)
    assert errors[group] == pytest.approx(error, abs=1e-9 * size)
    assert reconstruction_errors(M, V) == pytest.approx(errors, abs=1e-10 * size)

    def beyond(t):  # convex in t, so that one search finds its minimum
        return t * errors[0] + (1 - t) * errors[1] - np.linalg.eigvalsh(t * M[0] + (1 - t) * M[1])[:-d].sum()

    best = minimize_scalar(beyond, bounds=(0, 1), method="bounded", options={"xatol": 1e-10})
    assert min(best.fun, beyond(0.0), beyond(1.0)) <= 1e-7 * size


def test_share_that_a_search_misses():
    corner = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    assert missed_share(corner, corner[[0, 2]]) == 1.0
    assert missed_share(corner, corner[[1]]) == pytest.approx(0.5)
    assert missed_share(corner, np.array([[0.25, 0.75], [0.75, 0.25], [0.8, 0.9]])) == pytest.approx(1 - 0.3125 / 0.5)
    assert missed_share(corner, np.empty((0, 2))) == 1.0
    M = moments("wishart", 2, 6, 1)
    frontier = solve_frontier(M, 2, tol=1e-6)
    assert frontier.missed(frontier.errors) < 5e-3
    assert frontier.missed(frontier.errors[[0, -1]]) == 1.0
    with pytest.raises(ValueError, match="one row of two errors"):
        frontier.missed([1.0, 2.0])


def test_where_only_one_error_varies_nothing_is_missed():
    line = np.array([[0.0, 2.0], [1.0, 2.0], [3.0, 2.0]])
    for frontier in (line, line[:, ::-1], line[:1]):
        for found in (frontier[:1], np.array([[5.0, 5.0]]), np.empty((0, 2))):
            assert missed_share(frontier, found) == 0.0


def test_large_matrices_share_a_basis():
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((2, 160, 160)) * 0.8 ** np.arange(160)
    M = roots @ roots.transpose(0, 2, 1)
    frontier = solve_frontier(M, 3, tol=1e-2)
    for i in (0, len(frontier) // 2, -1):
        t = frontier.t[i]
        total = np.linalg.eigvalsh(t * M[0] + (1 - t) * M[1])[-3:].sum()
        least = t * np.trace(M[0]) + (1 - t) * np.trace(M[1]) - total
        assert frontier.errors[i] @ [t, 1 - t] == pytest.approx(least, rel=1e-9)
    assert frontier.distance <= 1.1e-2 * frontier.scale


@pytest.mark.parametrize("estimator", [MinMaxFairPCA(2), RFPCA(2)])
def test_estimators_share_it(estimator):
    rng = np.random.default_rng(3)
    X = np.concatenate((rng.standard_normal((40, 5)) * [3, 2, 1, 1, 1], rng.standard_normal((60, 5)) * [1, 1, 2, 3, 1]))
    s = np.repeat(["a", "b"], [40, 60])
    frontier = estimator.frontier(X, sensitive_features=s)
    same = estimator.frontier(GroupMoments.from_data(X, s))
    np.testing.assert_array_equal(frontier.errors, same.errors)
    assert frontier.groups == ("a", "b")
    table = frontier.to_frame()
    assert list(table.columns) == ["t", "error of a", "error of b", "loss of a", "loss of b"] and len(table) > 5
    assert " _" not in repr(frontier)  # what it works with is not shown
    V, errors = frontier.at(0.5)
    M = GroupMoments.from_data(X, s).second_moments(estimator.centering)
    assert reconstruction_errors(M, V) == pytest.approx(errors)
    with pytest.raises(ValueError, match="is not on the frontier; it reaches from"):
        frontier.with_error(1e6)
    with pytest.raises(ValueError, match="frontier needs sensitive_features"):
        estimator.frontier(X)
    with pytest.raises(ValueError, match="a frontier is of two groups and the data have 3"):
        estimator.frontier(X, sensitive_features=np.repeat(["a", "b", "c"], [40, 30, 30]))
    with pytest.raises(ValueError, match="n_components=5 is out of range"):
        estimator.__class__(5).frontier(X, sensitive_features=s)

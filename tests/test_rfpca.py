"""The estimator RFPCA, its path over a grid, more than two groups, and the messages for bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA as Reference
from sklearn.exceptions import ConvergenceWarning

from fairpca import RFPCA, GroupMoments
from fairpca.linalg import subspace_distance
from fairpca.solvers.rfpca import (
    GroupObjective,
    ambiguity_radii,
    reconstruction_errors,
    solve_rfpca,
    solve_rfpca_groups,
    solve_rfpca_subgradient,
)
from fairpca.solvers.rfpca._relaxation import ChordRelaxation


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 7)) * [2, 1.5, 1.2, 1, 0.8, 0.6, 0.3]
    group = np.where(rng.random(300) < 0.3, "b", "a")
    X[group == "b"] = X[group == "b"][:, [2, 0, 4, 1, 3, 6, 5]] + 0.4
    return X, group


def test_it_solves_the_stated_problem_from_rows(data):
    X, group = data
    model = RFPCA(3, lam=0.4, alpha=0.1).fit(X, sensitive_features=group)
    centred = X - X.mean(axis=0)
    parts = [centred[group == g] for g in ("a", "b")]
    moments = np.array([A.T @ A / len(A) for A in parts])
    counts = np.array([len(A) for A in parts])
    eps = 0.1 / np.sqrt(counts)
    np.testing.assert_allclose(model.eps_, eps)
    np.testing.assert_allclose(ambiguity_radii(0.1, counts), eps)
    shares = counts / counts.sum()
    objective = GroupObjective(shares, 0.4, eps)
    assert objective.values(reconstruction_errors(moments, model.components_.T)).max() == pytest.approx(
        model.result_.objective, rel=1e-10
    )
    assert model.result_.status == "optimal" and model.result_.relative_gap <= 1e-9
    # What the rows say: mean squared reconstruction error of each group.
    lost = [((A - A @ model.components_.T @ model.components_) ** 2).sum(axis=1).mean() for A in parts]
    np.testing.assert_allclose(model.result_.extra["errors"], lost, rtol=1e-10)


def test_remark_3_4_recovers_pca(data):
    X, group = data
    model = RFPCA(3, lam=0.0, alpha=0.0).fit(X, sensitive_features=group)
    assert subspace_distance(model.components_.T, Reference(3).fit(X).components_.T) < 1e-8


def test_the_gap_closes_as_lam_grows(data):
    X, group = data
    models = RFPCA(3).path(X, sensitive_features=group, alpha=[0.0], lam=[0.0, 0.05, 0.2, 1.0])
    gaps = [abs(np.subtract(*model.result_.extra["errors"])) for model in models]
    assert np.all(np.diff(gaps) <= 1e-9) and gaps[-1] < 1e-6 < gaps[0]


def test_path_equals_single_fits_in_the_papers_order(data):
    X, group = data
    frame = pd.DataFrame(X, columns=list("tuvwxyz"))
    models = RFPCA(2).path(frame, sensitive_features=group, alpha=(0.05, 0.15), lam=(0.0, 0.5, 2.5))
    assert [(m.alpha, m.lam) for m in models] == [(a, x) for a in (0.05, 0.15) for x in (0.0, 0.5, 2.5)]
    for model in models:
        alone = RFPCA(2, lam=model.lam, alpha=model.alpha).fit(frame, sensitive_features=group)
        assert model.result_.objective == pytest.approx(alone.result_.objective, rel=2e-9)
        assert model.result_.status == "optimal"
        assert subspace_distance(model.components_.T, alone.components_.T) < 1e-4
        assert list(model.feature_names_in_) == list("tuvwxyz")
        np.testing.assert_allclose(model.transform(frame), (X - model.mean_) @ model.components_.T, atol=1e-12)
    by_moments = RFPCA(2).path(GroupMoments.from_data(frame, group), lam=[0.5])
    assert len(by_moments) == 1 and by_moments[0].alpha == 0.15
    assert RFPCA(2).path(X, sensitive_features=group, lam=[]) == []


def test_path_of_the_subgradient_method_runs_on_one_stream(data):
    X, group = data
    options = {"n_starts": 3}
    base = RFPCA(2, solver="subgradient", variant="printed", max_iter=60, random_state=4, options=options)
    models = base.path(X, sensitive_features=group, lam=[0.05, 0.1])
    moments = GroupMoments.from_data(X, group)
    stream = np.random.RandomState(4)
    for model in models:
        reference = solve_rfpca_subgradient(
            moments.second_moments("overall"),
            moments.weights,
            2,
            model.lam,
            model.eps_,
            variant="printed",
            n_starts=3,
            max_iter=60,
            random_state=stream,
        )
        assert model.result_.objective == reference.objective
        assert model.random_state == 4


def test_radii_by_group_and_by_position(data):
    X, group = data
    by_position = RFPCA(2, eps=(0.1, 0.3)).fit(X, sensitive_features=group)
    by_name = RFPCA(2, eps={"b": 0.3, "a": 0.1}).fit(X, sensitive_features=group)
    assert by_name.result_.objective == by_position.result_.objective
    np.testing.assert_array_equal(by_name.eps_, [0.1, 0.3])


def test_centering_and_the_published_reset(data):
    X, group = data
    objectives = {
        c: RFPCA(2, centering=c).fit(X + 1, sensitive_features=group).result_.objective
        for c in ("overall", "group", "none")
    }
    assert objectives["group"] < objectives["overall"] < objectives["none"]
    free = RFPCA(2, lam=2.0, eps=(0.0, 50.0), variant="printed").fit(X, sensitive_features=group)
    reset = RFPCA(2, lam=2.0, eps=(0.0, 50.0), variant="vu2022_code").fit(X, sensitive_features=group)
    assert free.result_.extra["lam"] == 2.0
    assert reset.result_.extra["lam"] == pytest.approx(np.mean(group == "b"))
    kept = RFPCA(2, lam=2.0, alpha=0.01, variant="vu2022_code").fit(X, sensitive_features=group)
    assert kept.result_.extra["lam"] == 2.0


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), m=st.integers(2, 5), lam=st.sampled_from([0.0, 0.2, 1.0, 3.0]))
def test_more_groups_descend_and_keep_a_valid_bound(seed, m, lam):
    rng = np.random.default_rng(seed)
    p, k = 6, int(rng.integers(1, 4))
    X = [rng.standard_normal((int(rng.integers(2, 12)), p)) * rng.uniform(0.3, 2, p) for _ in range(m)]
    moments = np.array([Y.T @ Y / len(Y) for Y in X])
    shares, eps = rng.dirichlet(np.full(m, 3.0)), rng.uniform(0, 0.5, m) * rng.choice([0.0, 1.0])
    result = solve_rfpca_groups(moments, shares, k, lam, eps)
    history = result.history["objective"]
    assert np.all(np.diff(history) < 0)
    assert result.bound <= result.objective
    objective = GroupObjective(shares, lam, eps)
    assert objective.values(reconstruction_errors(moments, result.V)).max() == pytest.approx(result.objective)
    other = solve_rfpca_subgradient(
        moments, shares, k, lam, eps, n_starts=6, max_iter=200, keep="best", random_state=seed
    )
    scale = max(other.objective, 1e-9)
    assert result.bound <= other.objective + 1e-8 * scale
    if m == 2:
        exact = solve_rfpca(moments, shares, k, lam, eps)
        assert exact.bound <= result.objective + 1e-9 * scale
        assert result.bound <= exact.objective + 1e-8 * scale


def test_the_relaxation_is_tight_without_penalty_and_radius():
    rng = np.random.default_rng(1)
    moments = np.array([np.cov(rng.standard_normal((30, 5)).T) for _ in range(3)])
    shares = np.array([0.5, 0.3, 0.2])
    objective = GroupObjective(shares, 0.0, np.zeros(3))
    expected = np.linalg.eigvalsh(np.tensordot(shares, moments, axes=1))[:3].sum()
    assert ChordRelaxation(moments, 2, objective).solve() == pytest.approx(expected, rel=1e-9)
    assert solve_rfpca_groups(moments, shares, 2, 0.0, np.zeros(3)).status == "optimal"


def test_the_relaxation_matches_the_fantope_programme():
    import cvxpy as cp

    rng = np.random.default_rng(6)
    moments = np.array([np.cov(rng.standard_normal((20, 5)).T * rng.uniform(0.5, 2, (5, 1))) for _ in range(3)])
    shares, lam, k = np.array([0.2, 0.3, 0.5]), 0.8, 2
    objective = GroupObjective(shares, lam, np.zeros(3))  # without radii every J is linear: its own chord
    P = cp.Variable((5, 5), PSD=True)
    errors = cp.hstack([np.trace(M) - cp.trace(M @ P) for M in moments])
    problem = cp.Problem(cp.Minimize(cp.max(objective.weights @ errors)), [cp.trace(P) == k, np.eye(5) - P >> 0])
    assert ChordRelaxation(moments, k, objective).solve() == pytest.approx(problem.solve(solver="CLARABEL"), rel=1e-6)


def test_few_chords_of_many_groups_prove_the_same_bound(monkeypatch):
    rng = np.random.default_rng(8)
    m, p, k = 12, 6, 2
    moments = np.array([A @ A.T for A in rng.standard_normal((m, p, p))]) * rng.uniform(0.2, 2, (m, 1, 1))
    objective = GroupObjective(np.full(m, 1 / m), 0.7, np.full(m, 0.05), "corrected")
    bounds, boxes, known = [], [], []
    for chords in (m * m, 8):
        monkeypatch.setattr("fairpca.solvers.rfpca._relaxation._CHORDS", chords)
        relaxation = ChordRelaxation(moments, k, objective)
        bounds.append(relaxation.solve())
        relaxation.tighten(1.02 * bounds[-1])
        boxes.append((relaxation.low, relaxation.high))
        known.append(len(relaxation._used))
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-8)
    assert known[0] == m * (m - 1) and known[1] < known[0] / 2
    slack = 1e-6 * boxes[0][1]  # fewer chords leave a larger box, never a smaller one
    assert np.all(boxes[1][0] <= boxes[0][0] + slack) and np.all(boxes[1][1] >= boxes[0][1] - slack)


def test_three_groups_through_the_estimator(data):
    X, group = data
    three = np.where(X[:, 6] > 0.2, "c", group)
    with pytest.raises(ValueError, match="solver='exact' is for two groups and the data have 3; choose solver='mm'"):
        RFPCA(2).fit(X, sensitive_features=three)
    mm = RFPCA(2, solver="mm", lam=0.3).fit(X, sensitive_features=three)
    local = RFPCA(2, solver="subgradient", lam=0.3, random_state=0, options={"keep": "best"}).fit(
        X, sensitive_features=three
    )
    assert mm.groups_ == ("a", "b", "c") and mm.result_.status in ("converged", "optimal")
    assert mm.result_.objective <= local.result_.objective * (1 + 1e-6)
    assert mm.result_.bound <= mm.result_.objective
    with pytest.raises(ValueError, match="defined for two groups"):
        RFPCA(2, solver="mm", variant="vu2022_code").fit(X, sensitive_features=three)


@pytest.mark.parametrize(
    "options, kind, message",
    [
        ({"lam": -0.5}, ValueError, r"lam=-0.5 is out of range; it must lie in \[0, inf\)"),
        ({"lam": np.inf}, ValueError, "lam=inf is out of range"),
        ({"lam": "big"}, TypeError, "lam must be a number"),
        ({"alpha": -1}, ValueError, "alpha=-1 is out of range"),
        ({"eps": [0.1]}, ValueError, r"eps has 1 value\(s\) but there are 2 groups \('a', 'b'\)"),
        ({"eps": [0.1, 0.2, 0.3]}, ValueError, "eps has 3 value"),
        ({"eps": 0.1}, ValueError, "give one radius for each"),
        ({"eps": [0.1, -0.2]}, ValueError, "not negative"),
        ({"eps": [0.1, "x"]}, TypeError, "eps must hold numbers"),
        ({"eps": {"a": 0.1, "c": 0.2}}, ValueError, r"eps names the groups 'a', 'c', the data have 'a', 'b'"),
        ({"solver": "sdp"}, ValueError, "solver='sdp' is not known; choose one of 'exact', 'subgradient', 'mm'"),
        ({"options": {"retraction": "exp"}}, ValueError, "choose one of 'qr', 'polar'"),
        ({"options": {"keep": "all"}}, ValueError, "choose one of 'last', 'best'"),
        ({"centering": "mean"}, ValueError, "choose one of 'group', 'overall', 'none'"),
        ({"variant": "paper"}, ValueError, "choose one of 'corrected', 'printed', 'vu2022_code'"),
        ({"options": {"n_starts": 0}}, ValueError, "n_starts=0 is out of range"),
        ({"max_iter": 1.5}, TypeError, "max_iter must be an integer"),
        ({"options": {"tol": -1e-9}}, ValueError, "tol=-1e-09 is out of range"),
        ({"options": ["keep"]}, TypeError, "give a mapping with some of the names n_starts, retraction, keep, tol"),
        ({"n_components": 7}, ValueError, "must lie between 1 and 6"),
        ({"n_components": 0}, ValueError, "must lie between 1 and 6"),
    ],
)
def test_bad_parameters_are_explained(data, options, kind, message):
    X, group = data
    with pytest.raises(kind, match=message):
        RFPCA(**options).fit(X, sensitive_features=group)


@pytest.mark.parametrize(
    ("parameters", "grid", "message"),
    [
        ({"eps": (0.1, 0.1)}, {"lam": [0.1], "alpha": [0.1]}, "leave one of them out"),
        ({}, {"lam": [0.1], "sensitive_features": None}, "path needs sensitive_features"),
        ({}, {"lam": [0.1], "sensitive_features": np.zeros(300)}, "path needs two groups"),
        ({}, {"lam": [0.1, -1]}, "lam=-1 is out of range"),
        ({"n_components": 7}, {"lam": [0.1]}, "between 1 and 6"),
    ],
)
def test_bad_paths_are_explained(data, parameters, grid, message):
    X, group = data
    with pytest.raises(ValueError, match=message):
        RFPCA(**parameters).path(X, **({"sensitive_features": group} | grid))


@pytest.mark.parametrize("seed", [1, 5, 8])
def test_many_groups_reach_the_best_direction_of_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(3, 5)), int(rng.integers(1, 3))
    R = rng.standard_normal((m, 3, 3))
    M = R @ R.transpose(0, 2, 1)
    shares, lam, eps = rng.dirichlet(np.full(m, 3.0)), float(rng.choice([0.5, 2.0])), rng.uniform(0, 0.5, m)
    result = solve_rfpca_groups(M, shares, d, lam, eps)
    z = np.linspace(-1, 1, 4000)
    angle = np.arange(len(z)) * np.pi * (3 - 5**0.5)
    U = np.column_stack((np.sqrt(1 - z * z) * np.cos(angle), np.sqrt(1 - z * z) * np.sin(angle), z))
    along = np.einsum("ni,gij,nj->ng", U, M, U)
    errors = np.trace(M, axis1=1, axis2=2) - along if d == 1 else along  # U: the direction, or the plane's normal
    objective = GroupObjective(shares, lam, eps)
    best = min(objective.values(s).max() for s in errors)
    assert result.bound <= best
    assert result.objective <= best * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["mm", "subgradient"])
def test_a_time_limit_leaves_an_answer(solver):
    rng = np.random.default_rng(0)
    X, group = rng.standard_normal((30, 4)), np.arange(30) % 3
    model = RFPCA(2, solver=solver, max_iter=20, random_state=0, options={"time_limit": 1e-9})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, sensitive_features=group)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-10)
    if solver == "subgradient":
        assert len(model.result_.history["objective"]) == 1
    with pytest.raises(ValueError, match="time_limit"):
        RFPCA(2, solver=solver, options={"time_limit": -1}).fit(X, sensitive_features=group)


def test_a_time_limit_that_is_not_reached_changes_nothing():
    rng = np.random.default_rng(0)
    moments = np.array([Y.T @ Y / 9 for Y in rng.standard_normal((3, 9, 4)) * rng.uniform(0.3, 2, (3, 1, 4))])
    problem = (moments, np.full(3, 1 / 3), 2, 0.5, np.full(3, 0.05))
    free, limited = solve_rfpca_groups(*problem), solve_rfpca_groups(*problem, time_limit=1e6)
    np.testing.assert_array_equal(limited.V, free.V)
    assert (limited.bound, limited.status) == (free.bound, free.status)


def test_values_of_all_pairs_are_those_of_the_formula():
    """The J of Theorem B.2, their slopes and chords, by a double loop."""
    rng = np.random.default_rng(1)
    m, lam = 5, 0.25
    shares, eps = rng.dirichlet(np.full(m, 3.0)), rng.uniform(0, 0.4, m)
    shares[0] = lam  # the weight of a pair's second group vanishes
    low = rng.uniform(0.1, 2.0, m)
    high = low + rng.uniform(0.0, 1.0, m)
    high[2] = low[2]
    for variant in ("corrected", "printed"):
        objective = GroupObjective(shares, lam, eps, variant)

        def value(s, a, b, variant=variant):
            r, e = np.sqrt(s), np.sqrt(eps)
            total = sum(shares[g] * (r[g] + e[g]) ** 2 for g in range(m) if g not in (a, b))
            total += (shares[a] + lam) * (r[a] + e[a]) ** 2
            down = r[b] - e[b] if variant == "printed" else max(r[b] - e[b], 0.0)
            return total + (shares[b] - lam) * ((r[b] + e[b]) if shares[b] >= lam else down) ** 2

        values, slopes = objective.values(low), objective.slopes(low)
        constants, rises = objective.chords(low, high)
        for row, (a, b) in enumerate(objective.pairs):
            assert values[row] == pytest.approx(value(low, a, b), rel=1e-13)
            for g in range(m):
                step = np.zeros(m)
                step[g] = 1e-6
                slope = (value(low + step, a, b) - value(low - step, a, b)) / 2e-6
                assert slopes[row, g] == pytest.approx(slope, rel=1e-6, abs=1e-9)
                corner = low.copy()
                corner[g] = high[g]
                assert constants[row] + rises[row] @ corner == pytest.approx(value(corner, a, b), rel=1e-12)
        np.testing.assert_array_equal(objective.slopes(low, 0.0, np.array([3, 7])), slopes[[3, 7]])
        sizes = rng.uniform(size=m)
        assert objective.largest_weight(sizes) == pytest.approx((np.abs(objective.weights) @ sizes).max())


@pytest.mark.parametrize("unit", [1e-2, 1.0])
def test_chords_left_out_are_exceeded_by_the_tolerance_at_most(monkeypatch, unit):
    """The tolerance is relative to the value, in whatever unit the moments are."""
    monkeypatch.setattr("fairpca.solvers.rfpca._relaxation._CHORDS", 2)
    tol, left_out = 0.05, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        m, p = 8, 5
        moments = unit * np.array([A @ A.T for A in rng.standard_normal((m, p, p))]) * rng.uniform(0.2, 2, (m, 1, 1))
        relaxation = ChordRelaxation(moments, 2, GroupObjective(np.full(m, 1 / m), 0.7, np.full(m, 0.05 * unit)))
        constants, slopes = relaxation.chords()
        solution = relaxation._mixture(constants, slopes, tol)
        assert solution.status == 0
        errors = solution.x[:-1] @ [reconstruction_errors(moments, V) for V in relaxation.planes]
        assert (constants + slopes @ errors).max() <= solution.x[-1] * (1 + tol) + 1e-6 * unit
        left_out += len(constants) - len(relaxation._used)
    assert left_out > 0

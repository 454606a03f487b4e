"""MBF-PCA: feasibility and optimality against brute force and Algorithm 1, bad input, interruption."""

import itertools
import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize
from pymanopt.manifolds import Grassmann
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from fairpca import MBFPCA
from fairpca.companion import published
from fairpca.datasets import load
from fairpca.linalg import orthonormal, subspace_distance, top_eigenpairs
from fairpca.metrics import median_bandwidth, mmd_squared
from fairpca.solvers.mbf import (
    ComparedRows,
    MBFProblem,
    MBFSettings,
    REPMSOptions,
    minimise,
    row_space,
    solve_mbf,
    solve_repms,
)
from fairpca.solvers.mbf import solve as mbf_module
from fairpca.solvers.mbf._problem import Budget
from fairpca.solvers.mbf._scouts import send_scouts
from fairpca.solvers.mbf._subproblem import GaussNewton
from fairpca.solvers.mbf.continuation import _in_infeasible_minimum, along_constraint, penalty_path, solve_continuation
from fairpca.solvers.mmd import FourierRows, WeightedRows, contrast_weights


def two_groups(n=240, p=6, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(2.5, 0.7, p)
    codes = (rng.random(n) < 0.4).astype(int)
    X[codes == 1, 0] += 1.6 * shift
    X[codes == 1, 2] *= 1 + 0.8 * shift
    return X, codes


def problem_of(X, codes, d, tau, sigma=2.0, **options):
    centred = X - X.mean(axis=0)
    basis, spectrum, rank = row_space(centred.T @ centred / len(X), d)
    term = WeightedRows.from_groups(centred @ basis, codes)
    return MBFProblem(spectrum, rank, [term], sigma, d, tau, **options)


# ---------------------------------------------------------------------------------------------- the estimator


@pytest.mark.parametrize("tau", [0.05, 0.02, 0.012])
def test_feasible_by_an_independent_evaluation_and_uses_the_tolerance(tau):
    X, codes = two_groups()
    model = MBFPCA(2, tau=tau).fit(X, sensitive_features=codes)
    value = mmd_squared(model.transform(X), codes, model.bandwidth_)
    assert value == pytest.approx(model.mmd2_, abs=1e-13)
    assert 0.998 * tau - 1e-6 <= value <= tau
    assert model.result_.status == "converged"
    assert model.result_.objective == pytest.approx(model.explained_variance_.sum() * (len(X) - 1) / len(X))
    assert model.result_.extra["variance_ratio"] == pytest.approx(model.explained_variance_ratio_.sum())


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_brute_force_over_all_subspaces_in_three_dimensions(d, seed):
    X, codes = two_groups(120, 3, seed=seed)
    tau = 0.01 if d == 1 else 0.05
    model = MBFPCA(d, tau=tau, random_state=0).fit(X, sensitive_features=codes)
    covariance = np.cov(X.T, ddof=0)
    weights = contrast_weights(codes, 2)[0]
    term = WeightedRows(X - X.mean(axis=0), weights[None])
    best = 0.0
    for azimuth in np.linspace(0, np.pi, 120, endpoint=False):
        for height in np.linspace(-1, 1, 81):
            side = np.sqrt(1 - height**2)
            normal = np.array([[side * np.cos(azimuth)], [side * np.sin(azimuth)], [height]])
            V = normal if d == 1 else np.linalg.svd(normal.T)[2][1:].T
            variance = np.vdot(V, covariance @ V)
            if variance > best and term.value(V, model.bandwidth_) <= tau:
                best = variance
    assert best > 0
    assert model.result_.objective >= best - 1e-3 * np.trace(covariance)  # ends within .2 % of τ
    assert model.result_.objective <= 1.05 * best  # the grid is fine: nothing much better can hide


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(60, 120)), int(rng.integers(3, 5))
    X = rng.standard_normal((n, p)) * np.exp(rng.normal(0, 0.6, p)) @ orthonormal(rng.standard_normal((p, p)))
    codes = (np.arange(n) < rng.uniform(0.25, 0.6) * n).astype(int)
    X[codes == 1] += rng.standard_normal(p) * rng.uniform(0, 1)
    X[codes == 1] *= np.exp(rng.normal(0, 0.3, p))
    return X, codes, int(rng.integers(1, p))


@pytest.mark.parametrize("seed", range(5))
def test_random_small_problems_against_many_starts_of_another_optimiser(seed):
    """Stationary, feasible, above coordinate subspaces, and within .1 points of the best of ten SLSQP runs."""
    X, codes, d = random_problem(seed)
    tau = 0.05
    model = MBFPCA(d, tau=tau, random_state=0).fit(X, sensitive_features=codes)
    assert model.result_.status in ("optimal", "converged")  # optimal: PCA is feasible
    assert model.mmd2_ <= tau
    centred, p = X - X.mean(axis=0), X.shape[1]
    covariance = centred.T @ centred / len(X)
    covariance /= np.trace(covariance)
    term = WeightedRows.from_groups(centred, codes)
    V = model.components_.T
    h_slope = term.value_and_gradient(V, model.bandwidth_)[1]
    slopes = [slope - V @ (V.T @ slope) for slope in (2 * covariance @ V, h_slope)]
    multiplier = np.vdot(*slopes) / max(np.vdot(slopes[1], slopes[1]), 1e-300)
    residual = np.linalg.norm(slopes[0] - multiplier * slopes[1]) / max(np.linalg.norm(slopes[0]), 1e-3)
    if model.result_.extra["n_starts"]:  # otherwise PCA is feasible, where the multiplier is zero
        assert residual <= 1.1e-3
        assert residual == pytest.approx(model.result_.extra["kkt_residual"], rel=0.2)
        assert multiplier >= 0

    def span(v):
        return orthonormal(v.reshape(p, d))

    def objective(v):
        return -np.vdot(span(v), covariance @ span(v))

    def slack(v):
        return (tau - term.value(span(v), model.bandwidth_)) / tau

    share = model.result_.extra["variance_ratio"]
    for columns in itertools.combinations(range(p), d):
        V = np.eye(p)[:, columns]
        if term.value(V, model.bandwidth_) <= tau:
            assert share >= np.trace(V.T @ covariance @ V) - 1e-9
    rng = np.random.default_rng(0)
    for _ in range(10):
        constraint = {"type": "ineq", "fun": slack}
        run = scipy.optimize.minimize(
            objective, rng.standard_normal(p * d), method="SLSQP", constraints=constraint, options={"maxiter": 60}
        )
        if slack(run.x) >= 0:
            assert share >= -objective(run.x) - 1e-3


def test_feasible_pca_is_optimal_and_nothing_is_searched():
    X, codes = two_groups()
    _, V = top_eigenpairs(np.cov(X.T), 2)
    free = MBFPCA(2, tau=10.0).fit(X, sensitive_features=codes)
    model = MBFPCA(2, tau=free.mmd2_ * (1 + 1e-9)).fit(X, sensitive_features=codes)
    for result in (free.result_, model.result_):
        assert result.status == "optimal" and result.certificate == "proof" and result.sense == "max"
        assert result.gap <= 1e-12 * result.objective
        assert result.n_iter == 0 and result.extra["n_evaluations"] == 0
    assert subspace_distance(model.components_.T, V) < 1e-9
    less = MBFPCA(2, tau=free.mmd2_ * 0.999).fit(X, sensitive_features=codes).result_
    assert less.status == "converged" and less.n_iter > 0
    assert less.bound == pytest.approx(free.result_.objective) and less.objective < less.bound


def test_algorithm_1_is_not_told_that_pca_is_feasible():
    X, codes = two_groups()
    model = MBFPCA(2, tau=10.0, solver="repms", random_state=0).fit(X, sensitive_features=codes)
    assert model.result_.status == "converged" and model.result_.n_iter > 0


def test_directions_without_variance_are_feasible():
    X, codes = two_groups(60, 3)
    flat = np.column_stack((X, np.ones((60, 2)) * X[:, :1]))  # rank 3 in five columns
    narrow = {"tau": 1e-9, "bandwidth": 0.01}  # no two rows are alike at this width
    with pytest.warns(UserWarning, match=r"nothing but 2 directions without variance.*rank 3 in 5 columns"):
        model = MBFPCA(2, **narrow).fit(flat, sensitive_features=codes)
    assert model.result_.status == "converged" and model.mmd2_ <= 1e-12
    np.testing.assert_allclose(model.explained_variance_, 0, atol=1e-12)
    with pytest.warns(ConvergenceWarning, match="no subspace"):  # two directions: not enough for three components
        assert MBFPCA(3, **narrow).fit(flat, sensitive_features=codes).result_.status == "not_found"


@pytest.mark.parametrize("factor", [2.0**-430, 2.0**-40, 2.0**40, 2.0**460])
def test_units_do_not_matter(factor):
    X, codes = two_groups()
    reference = MBFPCA(2, tau=0.02, random_state=0).fit(X, sensitive_features=codes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MBFPCA(2, tau=0.02, random_state=0).fit(X * factor, sensitive_features=codes)
    np.testing.assert_allclose(model.components_, reference.components_, atol=1e-9)
    assert model.bandwidth_ == pytest.approx(reference.bandwidth_ * factor)
    assert model.result_.objective == pytest.approx(reference.result_.objective * factor**2)
    assert model.result_.extra["sigma"] == model.bandwidth_


def test_bandwidths_out_of_proportion_are_explained():
    X, codes = two_groups()
    for bandwidth in (1e-300, 1e-40, 1e40, 1e300):
        with pytest.raises(ValueError, match=r"out of proportion to the data: row \d+ lies .* from the mean"):
            MBFPCA(2, bandwidth=bandwidth).fit(X, sensitive_features=codes)
    X[7, 1] = 1e100
    with pytest.raises(ValueError, match=r"row 7 lies 9.96e\+99 from the mean\. Remove rows that are errors"):
        MBFPCA(2).fit(X, sensitive_features=codes)
    X[7, 1] = 1e25
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*directions without variance", UserWarning)  # beside this row there is none
        assert MBFPCA(2, tau=0.05).fit(X, sensitive_features=codes).mmd2_ <= 0.05


@pytest.mark.parametrize("rule", ["code", "median", 1.7])
def test_bandwidth(rule):
    X, codes = two_groups()
    model = MBFPCA(2, tau=0.05, bandwidth=rule).fit(X, sensitive_features=codes)
    centred = X - X.mean(axis=0)
    _, V = top_eigenpairs(np.cov(X.T), 2)
    expected = rule if isinstance(rule, float) else median_bandwidth(centred @ V, rule)
    assert model.bandwidth_ == pytest.approx(expected)


def test_the_same_seed_gives_the_same_bits_and_threads_do_not_matter(monkeypatch):
    from fairpca.solvers.mmd import _blocks as _mmd_blocks

    X, codes = two_groups(1300)
    monkeypatch.setattr(_mmd_blocks, "_THREADING_PAYS", 0)
    fits = [
        MBFPCA(2, tau=0.01, n_starts=2, random_state=3, n_jobs=jobs).fit(X, sensitive_features=codes)
        for jobs in (None, None, 2)
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.components_, fits[0].components_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fits[0])).components_, fits[0].components_)


def test_more_starts_are_never_worse():
    X, codes = two_groups(200, 8, seed=2)
    values = [
        MBFPCA(3, tau=0.012, n_starts=k, random_state=0).fit(X, sensitive_features=codes).result_.objective
        for k in (1, 2, 4)
    ]
    assert values[0] <= values[1] + 1e-9 <= values[2] + 2e-9


def test_duplicates_constant_columns_and_rotations_are_undone():
    X, codes = two_groups(160, 5)
    reference = MBFPCA(2, tau=0.03, bandwidth=2.0, n_starts=1, random_state=0).fit(X, sensitive_features=codes)
    wide = np.column_stack((X[:, :2], np.full(160, 7.0), X[:, 2:], X[:, 0] * 0))
    model = MBFPCA(2, tau=0.03, bandwidth=2.0, n_starts=1, random_state=0).fit(wide, sensitive_features=codes)
    assert model.result_.objective == pytest.approx(reference.result_.objective, rel=1e-4)
    np.testing.assert_allclose(model.components_[:, [2, 6]], 0, atol=1e-8)
    twice = MBFPCA(2, tau=0.03, bandwidth=2.0, n_starts=1, random_state=0).fit(
        np.vstack((X, X)), sensitive_features=np.tile(codes, 2)
    )
    assert twice.result_.objective == pytest.approx(reference.result_.objective, rel=1e-4)


def test_dimension_at_and_above_the_rank():
    X, codes = two_groups(200, 3)
    flat = np.column_stack((X, X @ np.ones((3, 2))))  # rank 3 in five columns
    model = MBFPCA(3, tau=0.03, random_state=0).fit(flat, sensitive_features=codes)
    assert model.result_.extra["rank"] == 3
    assert model.mmd2_ <= 0.03
    with pytest.warns(ConvergenceWarning, match="choose fewer than 4 components.*keep nearly all of the 3 dimensions"):
        most = MBFPCA(4, tau=1e-3).fit(flat, sensitive_features=codes)
    assert most.result_.status == "not_found"
    with pytest.warns(ConvergenceWarning, match="the whole space is the only one"):
        whole = MBFPCA(5, tau=1e-3).fit(flat, sensitive_features=codes)
    assert whole.result_.status == "infeasible"
    np.testing.assert_allclose(whole.components_ @ whole.components_.T, np.eye(5), atol=1e-10)


def test_not_found_is_said_and_the_least_unfair_subspace_is_returned():
    X, codes = two_groups(200, 3)
    with pytest.warns(ConvergenceWarning, match=r"no subspace with MMD² <= tau was found.*> tau=1e-09"):
        model = MBFPCA(2, tau=1e-9).fit(X, sensitive_features=codes)
    assert model.result_.status == "not_found"
    assert model.result_.extra["mmd2"] > 1e-9
    rng = np.random.default_rng(0)
    random = [mmd_squared(X @ orthonormal(rng.standard_normal((3, 2))), codes, model.bandwidth_) for _ in range(200)]
    assert model.mmd2_ <= min(random)


def test_one_component_is_not_advised_to_be_fewer():
    X, codes = two_groups(60, 3)
    with pytest.warns(ConvergenceWarning, match="no subspace") as caught:
        model = MBFPCA(1, tau=1e-12, bandwidth=0.01).fit(X, sensitive_features=codes)
    assert model.result_.status == "not_found" and "components" not in str(caught[0].message)


def test_equal_opportunity_and_equalised_odds():
    X, codes = two_groups(400, 6)
    rng = np.random.default_rng(1)
    y = np.where(rng.random(400) < 0.5, "yes", "no")
    X[(y == "yes") & (codes == 1), 1] += 2.0
    eop = MBFPCA(2, tau=0.05, fairness="eop").fit(X, y, sensitive_features=codes)
    rows = y == "yes"
    assert mmd_squared(eop.transform(X)[rows], codes[rows], eop.bandwidth_) == pytest.approx(eop.mmd2_, abs=1e-13)
    other = MBFPCA(2, tau=0.05, fairness="eop", options={"positive_label": "no"}).fit(X, y, sensitive_features=codes)
    assert mmd_squared(other.transform(X)[~rows], codes[~rows], eop.bandwidth_) == pytest.approx(other.mmd2_, abs=1e-13)
    eod = MBFPCA(2, tau=0.08, fairness="eod").fit(X, y, sensitive_features=codes)
    parts = [mmd_squared(eod.transform(X)[y == c], codes[y == c], eod.bandwidth_) for c in ("no", "yes")]
    assert sum(parts) == pytest.approx(eod.mmd2_, abs=1e-13)
    assert eod.mmd2_ <= 0.08
    check_estimator(MBFPCA(tau=0.05, fairness="eop"), on_skip=None)
    check_estimator(MBFPCA(tau=0.05, fairness="eod"), on_skip=None)


test_equal_opportunity_and_equalised_odds = pytest.mark.filterwarnings(
    "ignore:.*no sensitive_features:UserWarning", "ignore::sklearn.exceptions.SkipTestWarning"
)(test_equal_opportunity_and_equalised_odds)


def test_three_groups_sum_over_pairs():
    X, _ = two_groups(300, 6)
    codes = np.arange(300) % 3
    X[codes == 2, 1] += 1.5
    model = MBFPCA(2, tau=0.08).fit(X, sensitive_features=codes)
    Z = model.transform(X)
    pairs = [
        mmd_squared(Z[np.isin(codes, pair)], codes[np.isin(codes, pair)], model.bandwidth_)
        for pair in ((0, 1), (0, 2), (1, 2))
    ]
    assert sum(pairs) == pytest.approx(model.mmd2_, abs=1e-13)
    assert sum(pairs) <= 0.08


@pytest.mark.parametrize("kind", ["subsample", "fourier"])
def test_approximations_are_verified_with_the_exact_kernel(kind, monkeypatch):
    monkeypatch.setattr(mbf_module, "_FOURIER_PAYS", 1)
    X, codes = two_groups(600, 6)
    exact = MBFPCA(2, tau=0.02).fit(X, sensitive_features=codes)
    model = MBFPCA(2, tau=0.02, bandwidth=exact.bandwidth_, random_state=0)
    model.set_params(options={"approximation": kind, "approximation_size": 256})
    model.fit(X, sensitive_features=codes)
    assert model.result_.status == "converged"
    assert model.mmd2_ == pytest.approx(mmd_squared(model.transform(X), codes, model.bandwidth_), abs=1e-13)
    assert model.mmd2_ <= 0.02
    assert model.result_.extra["mmd2_approximate"] != model.mmd2_
    assert model.result_.objective > 0.85 * exact.result_.objective


@pytest.mark.parametrize(("factor", "offset"), [(1.7, 0.0), (0.4, 0.0), (1.0, 0.004), (1.0, -0.006)])
def test_a_guide_that_is_wrong_by_a_factor_or_an_offset_is_corrected(factor, offset, monkeypatch):
    """The exact kernel, made larger or smaller than its guide: near τ from below, in few searches."""
    X, codes = two_groups(300, 6)
    targets, search = [], mbf_module._search
    monkeypatch.setattr(
        mbf_module, "_search", lambda problem, *rest: targets.append(problem.tau) or search(problem, *rest)
    )
    total = mbf_module.total_mmd2
    monkeypatch.setattr(mbf_module, "total_mmd2", lambda *given: factor * total(*given) + offset)
    monkeypatch.setattr(mbf_module, "subsampled", lambda rows, codes, size, seed: WeightedRows.from_groups(rows, codes))
    options = {"approximation": "subsample", "approximation_size": 200}
    model = MBFPCA(2, tau=0.02, n_starts=1, random_state=0, options=options).fit(X, sensitive_features=codes)
    assert model.result_.status == "converged"
    assert 0.8 * 0.02 <= model.mmd2_ <= 0.02 and len(targets) <= 4
    monkeypatch.setattr(mbf_module, "total_mmd2", lambda *given: 1.0 + total(*given))
    targets.clear()
    with pytest.warns(ConvergenceWarning, match="MMD² of the result"):
        model.fit(X, sensitive_features=codes)
    assert model.result_.status == "not_found" and len(targets) <= 6 and np.all(np.diff(targets) < 0)


# ------------------------------------------------------------------------------------------------- bad input


CODES, CLASSES = two_groups(60, 4)[1], np.arange(60) % 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"tau": tau}, "tau") for tau in (0, -1e-3)),
        ({"tau": "small"}, "tau must be a number"),
        ({"n_components": 5}, "between 1 and 4"),
        ({"fairness": "eop"}, "needs y"),
        ({"fairness": "eop", "y": CODES}, r"group\(s\) 0 have no row of class 1"),
        ({"fairness": "eod", "y": CODES}, "have no row of class 0"),
        ({"fairness": "eop", "y": np.arange(60)}, r"y has 60 class.*\[0, 1, .*, 8, 9\] and so on as positive_label"),
        ({"fairness": "eop", "y": CLASSES}, "name the positive one"),
        ({"fairness": "eop", "y": CLASSES, "options": {"positive_label": "x"}}, "is not a class of y"),
        ({"fairness": "eod", "y": CODES[:-1]}, "y has 59 rows"),
        ({"fairness": "eod", "y": np.where(np.arange(60) < 2, np.nan, 1.0)}, "without missing values"),
        ({"X": np.full((60, 4), 3.3)}, "X is constant"),
        *(({name: "x"}, f"{name}='x' is not known") for name in ("fairness", "bandwidth", "solver", "variant")),
        *(({name: 0}, name) for name in ("n_starts", "bandwidth")),
        ({"options": {"repms": {"rho": 1.0}}}, "options has no 'rho'; REPMSOptions knows start, rho_start"),
        ({"options": {"repms": {"rho_limit": "go"}}}, "rho_limit='go' is not known"),
        *(
            ({"options": {"repms": {name: value}}}, f"{name}={value}")
            for name, value in (
                ("rho_factor", 1),
                ("rho_factor", 1.0),
                ("epsilon_factor", 0.0),
                ("epsilon_factor", 1.0),
            )
        ),
        *(
            ({"options": {"repms": {name: 0.0}}}, f"{name}=0")
            for name in ("rho_start", "rho_max", "epsilon_start", "epsilon_min", "distance_min")
        ),
        ({"options": {"repms": 1}}, "of type int; give a mapping"),
        ({"options": {"approximation": "nystrom"}}, "approximation='nystrom' is not known"),
        ({"options": {"max_iter": 0}}, "max_iter=0"),
        ({"options": {"tol": 0}}, "tol=0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_explained(options, message):
    given = {"X": two_groups(60, 4)[0], "y": None, "n_components": 2} | options
    X, y = given.pop("X"), given.pop("y")
    with pytest.raises((ValueError, TypeError), match=message):
        MBFPCA(**given).fit(X, y, sensitive_features=CODES)


def test_the_smallest_settings_are_allowed():
    MBFSettings(max_iter=1, approximation_size=4).check()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_group_one_sample_and_little_memory_warn():
    X, codes = two_groups(60, 4)
    with pytest.warns(UserWarning, match="single group"):
        MBFPCA(2).fit(X, sensitive_features=np.zeros(60))
    with pytest.warns(UserWarning, match=r"group\(s\) 'lonely' have one sample"):
        MBFPCA(2, tau=0.5).fit(X, sensitive_features=["lonely"] + ["others"] * 59)
    with pytest.warns(UserWarning, match=r"takes about 0 MB for 60 rows, more than memory_limit"):
        MBFPCA(2, tau=0.05, options={"memory_limit": 1000}).fit(X, sensitive_features=codes)


# -------------------------------------------------------------------------------- interruption, budget, progress


def test_budget_and_progress(capsys):
    X, codes = two_groups()
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        model = MBFPCA(2, tau=0.02, options={"max_iter": 3}).fit(X, sensitive_features=codes)
    assert model.result_.n_iter == 3
    assert (model.mmd2_ <= 0.02) == (model.result_.status == "max_iter")
    assert capsys.readouterr().out == ""
    model = MBFPCA(2, tau=0.02, options={"verbose": 1}).fit(X, sensitive_features=codes)
    printed = capsys.readouterr().out
    assert printed.count("best feasible") == len(model.result_.history["rho"])
    assert printed.count("exact kernel on all rows: MMD²") == 2  # PCA's, and that of the answer
    assert printed.startswith("[MBFPCA] median distance of 240 rows")
    assert "240 different rows, rank 6" in printed


def test_a_budget_that_ends_before_the_first_whole_subspace():
    X = np.random.default_rng(0).standard_normal((8, 4))
    with pytest.warns(ConvergenceWarning, match="max_iter=50"):
        model = MBFPCA(3, tau=1e-6, options={"max_iter": 50}).fit(X, sensitive_features=np.arange(8) % 2)
    assert model.result_.status == "not_found" and model.components_.shape == (3, 4)


# ------------------------------------------------------------------------------------------- Algorithm 1


def test_algorithm_1_matches_continuation_at_its_own_tolerance():
    X, codes = two_groups(300, 8, seed=5)
    paper = MBFPCA(3, tau=0.015, solver="repms", options={"repms": {"start": "pca"}}).fit(X, sensitive_features=codes)
    assert paper.result_.status == "converged"
    matched = MBFPCA(3, tau=paper.mmd2_ * 1.0001, n_starts=3).fit(X, sensitive_features=codes)
    assert matched.result_.objective >= (1 - 2e-3) * paper.result_.objective
    rho = paper.result_.history["rho"]
    assert np.all(np.isin(np.round(rho[1:] / rho[:-1], 6), (1.0, 2.0)))


@pytest.mark.parametrize("variant", ["lee2022_code", "printed"])
def test_paper_variants_end_feasibly_and_say_when_not(variant):
    X, codes = two_groups(200, 5)
    options = {"solver": "repms", "variant": variant, "bandwidth": 2.0, "random_state": 0}
    model = MBFPCA(2, tau=0.03, **options).fit(X, sensitive_features=codes)
    assert model.mmd2_ <= 0.03
    with pytest.warns(ConvergenceWarning, match="Algorithm 1 ended at an iterate that violates"):
        bad = MBFPCA(4, tau=1e-7, **options, options={"repms": {"max_outer": 12}}).fit(X, sensitive_features=codes)
    assert bad.result_.status == "not_found"
    assert bad.mmd2_ > 1e-7


@pytest.mark.parametrize(
    "name, variance, mmd2", [("german", 36.9829, 6.466e-4), ("adult", 21.2951, 5.1105e-4)], ids=["german", "adult"]
)
def test_algorithm_1_lands_on_the_published_optimum(name, variance, mmd2):
    # The authors' stored solution of split 0 with d = 10 and tau = 1e-3.
    train = load(name, split=0)[0]
    model = MBFPCA(10, solver="repms", options={"repms": {"start": "pca"}})
    model.fit(train.X, sensitive_features=train.sensitive_features)
    assert 100 * model.result_.extra["variance_ratio"] == pytest.approx(variance, abs=2e-3)
    assert model.mmd2_ == pytest.approx(mmd2, rel=2e-3)


def test_algorithm_1_ends_where_the_gradients_balance_at_its_last_penalty():
    """What lets one read the penalty from a stored solution: there grad f = rho grad h."""
    X, codes = two_groups(200, 6, seed=3)
    problem = problem_of(X, codes, 2, 0.01)
    end = problem.evaluate(solve_repms(problem, REPMSOptions(start="pca"), 0, 1.0))
    rho = problem.record.history[-1][1]
    assert end.h <= problem.tau and end.multiplier == pytest.approx(rho, rel=1e-4)


def test_a_subproblem_that_is_solved_already_is_left_alone():
    """The program tests the gradient before its first step: it does not make one step at least."""
    X, codes = two_groups(200, 6)
    problem = problem_of(X, codes, 2, 0.5)
    options = REPMSOptions(start="pca", epsilon_start=1e6, epsilon_min=1e6)
    np.testing.assert_allclose(solve_repms(problem, options, 0, 1.0), problem.pca(), atol=1e-14)
    assert problem.record.n_iter == 0 and len(problem.record.history) == 1


def test_algorithm_1_draws_its_frames_in_the_space_of_all_features(monkeypatch):
    """Eight features of rank three: five directions without variance, of which one would do for one component."""
    X, codes = two_groups(200, 3)
    X, drawn = X @ np.random.default_rng(0).standard_normal((3, 8)), []
    monkeypatch.setattr(MBFProblem, "random", lambda self, rng: drawn.append(self.size) or self.pca())
    options = {"repms": {"start": "random", "max_outer": 1}}
    MBFPCA(1, tau=10.0, solver="repms", options=options, random_state=0).fit(X, sensitive_features=codes)
    assert set(drawn) == {8}


def test_algorithm_1_doubles_its_penalty_where_the_authors_runs_did():
    """At the stored loadings the gradients balance at 1/h, 2/h, 2/h and 1/h (d = 2, tau = 1e-3)."""
    model = MBFPCA(2, solver="repms", options={"repms": {"start": "pca"}})
    doubled = []
    for split in (0, 2, 8, 5):
        train = load("german", split=split)[0]
        rho = model.fit(train.X, sensitive_features=train.sensitive_features).result_.history["rho"]
        doubled.append(rho[-1] / rho[0])
    np.testing.assert_allclose(doubled, [1, 2, 2, 1])


def test_algorithm_1_ends_on_the_stored_plane():
    train = load("german", split=5)[0]
    model = MBFPCA(2, tau=1e-6, solver="repms", options={"repms": {"start": "pca"}})
    V = model.fit(train.X, sensitive_features=train.sensitive_features).components_.T
    stored = published.load_loadings("lee2022", "german", "mbfpca", "tau=1e-6")
    assert subspace_distance(V, orthonormal(stored)) < 1e-5


def test_choices_of_algorithm_1():
    assert REPMSOptions.named("printed").rho_limit == "clamp"
    assert REPMSOptions.named("lee2022_code").start == "auxiliary"
    X, codes = two_groups(200, 5)
    complete = REPMSOptions(keep="best")
    assert REPMSOptions.named("printed", complete) is complete
    last = MBFPCA(2, tau=0.03, solver="repms", random_state=0)
    best = MBFPCA(2, tau=0.03, solver="repms", random_state=0, options={"repms": complete})
    last.fit(X, sensitive_features=codes)
    with pytest.warns(ConvergenceWarning, match="not stationary: relative KKT residual"):
        best.fit(X, sensitive_features=codes)
    assert last.result_.extra["kkt_residual"] <= 1e-3 < best.result_.extra["kkt_residual"]
    assert best.result_.objective >= last.result_.objective - 1e-12


# -------------------------------------------------------------------------------------------------- the pieces


def test_no_search_leaves_the_row_space_by_itself_and_tilted_pca_does():
    X, codes = two_groups(150, 3)
    X = np.column_stack((X, np.zeros((150, 2))))
    problem = problem_of(X, codes, 3, 0.01)
    rho, rng = 200.0, np.random.default_rng(0)
    e = problem.evaluate(problem.pca())
    gradient = rho * e.h_slope - e.variance_slope
    assert np.abs(gradient - e.V @ (e.V.T @ gradient)).max() < 1e-12
    assert minimise(problem, e.V, rho).h == pytest.approx(e.h, abs=1e-14)
    end = minimise(problem, problem.tilted_pca(rng), rho)
    assert rho * end.h - end.variance < rho * e.h - e.variance - 0.1
    assert problem.evaluate(problem.nearly_null(rng)).variance < 0.5
    full = problem_of(*two_groups(150, 4), 2, 0.01)
    np.testing.assert_array_equal(full.tilted_pca(rng), full.pca())


def test_multiplier_and_residual():
    X, codes = two_groups()
    problem = problem_of(X, codes, 2, 0.02)
    e = problem.evaluate(problem.random(np.random.default_rng(0)))
    some = np.vstack((orthonormal(e.V[:4]), np.zeros((2, 2))))  # the last principal axes have no part in it
    for point in (some, e.V):
        e = problem.evaluate(point)
        variance, h = (slope - e.V @ (e.V.T @ slope) for slope in (e.variance_slope, e.h_slope))
        best = max(np.linalg.lstsq(h.reshape(-1, 1), variance.ravel(), rcond=None)[0][0], 0.0)
        assert e.multiplier == pytest.approx(best)
        assert e.kkt_residual == pytest.approx(np.linalg.norm(variance - best * h) / np.linalg.norm(variance))
    assert problem.evaluate(problem.pca()).kkt_residual < 1e-9
    # Near PCA, but not so near that rounding is all that is left of the variance's slope along the Grassmannian.
    near = problem.evaluate(np.linalg.qr(problem.pca() + 3e-3 * e.V)[0])
    along = near.variance_slope - near.V @ (near.V.T @ near.variance_slope)
    assert 2e-3 < np.linalg.norm(along) / np.linalg.norm(near.variance_slope) < 5e-2
    assert near.scale == pytest.approx(np.linalg.norm(along))


def test_trapped_is_what_no_feasible_point_can_cost():
    problem = SimpleNamespace(tau=1.0)
    for h, trapped in ((1.5, False), (3.0, True)):
        assert _in_infeasible_minimum(problem, 1.5, SimpleNamespace(h=h, variance=1.0)) is trapped


def test_climb_ends_on_the_constraint_from_either_side():
    X, codes = two_groups()
    problem = problem_of(X, codes, 2, 0.02)
    above, fair = minimise(problem, problem.pca(), 0.3), minimise(problem, problem.pca(), 1e4)
    assert fair.h < 0.02 < above.h
    for start in (above, fair):
        end = along_constraint(problem, start.V)
        assert 0.998 * 0.02 <= end.at.h <= 0.02
        assert end.at.kkt_residual <= 1e-3
        assert end.value == end.at.variance
    given_up = along_constraint(problem, above.V, worth=1.0)
    assert given_up.value < 1.0
    assert given_up.value > end.value - 2e-3  # the Lagrangian after one round does not underestimate the end


def test_a_trapped_path_is_left_for_the_fair_side():
    """Adult, τ = 1e-6, d = 10: from PCA the minimisers end in a local minimum of h fourteen times above τ."""
    train = load("adult", split=0)[0]
    X = train.X - train.X.mean(axis=0)
    codes = np.unique(train.sensitive_features, return_inverse=True)[1]
    problem = problem_of(X, codes, 10, 1e-6, sigma=4.045)
    rho = 1.0 / problem.evaluate(problem.pca()).h
    assert penalty_path(problem, problem.pca(), rho) is None


@pytest.mark.parametrize("d", [2, 5])
def test_preconditioner_solves_its_own_model(d):
    X, codes = two_groups(200, 12)
    problem = problem_of(X, codes, d, 0.01)
    V = problem.pca()
    weights = GaussNewton(problem, 50.0, d, 16)
    direction = Grassmann(12, d).random_tangent_vector(V)
    weights.refresh(V)
    J = (weights._rows[:, :, None] * weights._waves[:, None, :]).reshape(len(weights._rows), -1)
    B = weights._weight * J.T @ J + weights._delta * np.eye(12 * d)
    expected = np.linalg.solve(B, direction.ravel()).reshape(12, d)
    np.testing.assert_allclose(weights(V, direction), expected - V @ (V.T @ expected), rtol=1e-7, atol=1e-10)


def test_fourier_features_approach_the_exact_kernel():
    X, codes = two_groups(300, 5)
    V = np.eye(5, 2)
    exact = WeightedRows(X, contrast_weights(codes, 2))
    rough = FourierRows.from_groups(X, codes, 2, 8192, 0)
    (value, gradient), (close, slope) = (term.value_and_gradient(V, 2.0) for term in (exact, rough))
    assert close == pytest.approx(value, rel=0.03)
    np.testing.assert_allclose(slope, gradient, atol=0.05 * np.abs(gradient).max())
    np.testing.assert_allclose(-2 / 2.0**2 * exact.laplacian(V, 2.0) @ V, gradient, atol=1e-12)
    directions = V @ rough.frequencies[:7].T / 2.0
    np.testing.assert_allclose(exact.jacobian(V, directions, 2.0), rough.jacobian(V, directions, 2.0), atol=1e-12)


def test_solver_takes_arrays_and_counts():
    X, codes = two_groups()
    result = solve_mbf(X, [ComparedRows(np.arange(len(X)), codes)], 2, 0.02, 2.0, MBFSettings(n_starts=2))
    assert result.V.shape == (6, 2)
    assert result.extra["n_starts"] >= 2
    assert result.extra["n_evaluations"] == pytest.approx(result.history["evaluations"][-1], abs=60)
    with pytest.raises(Budget):
        problem = problem_of(X, codes, 2, 0.02, max_iter=1)
        problem.spend()
    assert mbf_module._INSIDE < 1


@pytest.mark.parametrize("rho_limit", ["stop", "clamp"])
def test_at_its_largest_penalty_algorithm_1_stops_or_stays(rho_limit):
    """A tolerance that cannot be met: the run ends after a penalty beyond the largest, or keeps the largest."""
    X, codes = two_groups(80, 4)
    problem = problem_of(X, codes, 3, 1e-12)
    start = 1.0 / problem.evaluate(problem.pca()).h
    options = REPMSOptions(start="pca", rho_max=5 * start, rho_limit=rho_limit, max_outer=6, max_inner=20)
    solve_repms(problem, options, 0, 1.0)
    factors = {"stop": [1, 2, 4, 8], "clamp": [1, 2, 4, 5, 5, 5, 5]}
    np.testing.assert_allclose([rho for _, rho, *_ in problem.record.history], start * np.array(factors[rho_limit]))


def test_scouts_end_where_a_start_would():
    """Their values are those of the kernel, and where a scout met the tolerance a climb ends near its worth."""
    X, codes = two_groups(100, 4)
    problem = problem_of(X, codes, 2, 0.01)
    scouts = send_scouts(problem, np.random.default_rng(0))
    near = [scout for scout in scouts if scout.worth >= 0]
    assert len(scouts) == 70 and len(near) > 10
    for scout in near[:5]:
        np.testing.assert_allclose(scout.V.T @ scout.V, np.eye(2), atol=1e-12)
        assert problem.evaluate(scout.V).h <= 4 * problem.tau
    best = max(near, key=lambda scout: scout.worth)
    end = along_constraint(problem, best.V)
    assert end.at.h <= problem.tau and end.value == pytest.approx(best.worth, abs=0.01)


def test_two_equal_ends_do_not_settle_a_search_of_few_starts():
    """The best optimum has to be reached twice, and only after six starts."""
    X, codes = two_groups(400, 6)
    assert solve_continuation(problem_of(X, codes, 1, 0.002), None, 0)[1] >= 6

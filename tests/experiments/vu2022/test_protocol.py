"""The protocol of Vu et al.: its split and evaluation written out row by row, and rows of Tables 1 and 3."""

import numpy as np
import pytest

from fairpca import published
from fairpca.datasets import load
from fairpca.experiments.vu2022._methods import BOTH_GRID, fit_both_printed
from fairpca.experiments.vu2022._protocol import (
    RFPCA_GRID,
    Evaluation,
    Rows,
    choose_setting,
    fit_pca,
    fit_rfpca_exact,
    fit_rfpca_printed,
    run_split,
    split_rows,
    standardise,
)


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5)) * [3, 2, 1, 1, 0.5] + [0, 5, 0, -2, 1]
    groups = (rng.random(80) < 0.4).astype(int)
    X[groups == 1, 2] *= 2
    return X, groups


def test_split_is_stratified_disjoint_and_complete(small):
    _, groups = small
    train, test = split_rows(groups, 0.3, 7)
    assert sorted([*train, *test]) == list(range(80))
    for a in (0, 1):
        assert np.sum(groups[train] == a) == int(0.3 * np.sum(groups == a))
    assert not np.array_equal(train, np.sort(train))
    np.testing.assert_array_equal(train, split_rows(groups, 0.3, 7)[0])
    everything, nothing = split_rows(groups, 1, 7)
    assert list(everything) == list(range(80)) and nothing.size == 0


def test_evaluation_is_the_rows_own_error(small):
    X, groups = small
    train, test = Rows(X[:40], groups[:40]), Rows(X[40:], groups[40:])
    means = np.array([train.X[train.groups == a].mean(axis=0) for a in (0, 1)])
    V = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 2)))[0]
    for P in (V, 0.5 * V @ V.T):  # a basis, and a matrix that is no projection
        full = P if P.shape == (5, 5) else P @ P.T
        own = [test.X[test.groups == a] - means[a] for a in (0, 1)]
        error = [np.linalg.norm(A - A @ full) ** 2 / len(A) for A in own]
        got = Evaluation.of(test.X, test, means).errors(P)
        assert got["are"] == pytest.approx(np.linalg.norm(test.X - test.X @ full) ** 2 / 40)
        assert got["abdiff"] == pytest.approx(abs(error[0] - error[1]))
        assert [got["error_0"], got["error_1"]] == pytest.approx(error)


def test_constant_columns_stay_zero():
    train = np.column_stack((np.full(7, 0.1), np.arange(7.0)))
    other = np.array([[0.3, 3.0]])
    standard, moved = standardise(train, other)
    assert np.abs(standard[:, 0]).max() < 1e-15
    np.testing.assert_allclose(moved, [[0.2, 0.0]], atol=1e-15)
    np.testing.assert_allclose([standard[:, 1].mean(), standard[:, 1].std()], [0, 1], atol=1e-15)


def test_cross_validation_score_and_order_of_the_stream(small):
    X, groups = small
    seen = []

    def fit(rows, k, settings, stream):
        seen.append((len(rows.X), stream.rand()))
        np.testing.assert_allclose(rows.X.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(rows.X.std(axis=0), 1, atol=1e-12)
        return [np.eye(5)[:, [int(setting["column"])]] for setting in settings]

    grid = [{"column": j} for j in (4, 0, 2, 0)]
    train = Rows(X, groups)
    best, scores = choose_setting(train, 1, grid, fit, np.random.RandomState(3), seed=3)
    reference = np.random.RandomState(3)
    assert [draw for _, draw in seen] == [reference.rand() for _ in range(3)]
    assert scores[1] == scores[3] and best == int(np.argmin(scores)) and best != 3
    outcome = run_split(X, groups, fit, grid, k=1, seed=3, share=0.5)
    assert outcome.inside["are"] > 0 and outcome.outside["are"] > 0
    assert run_split(X, groups, fit, grid[:1], k=1, seed=3, share=1).outside == {}


@pytest.mark.parametrize("name", ["energy", "e_coli"])
def test_rows_of_tables_1_and_3(name):
    """As printed: all four numbers to all four decimals; exactly solved: the objective's optimum is another point."""
    data = load(name)
    outcomes = [run_split(data.X, data.group_code, fit_rfpca_printed, RFPCA_GRID, seed=seed) for seed in range(10)]
    for exhibit, where in (("table1", "outside"), ("table3", "inside")):
        table = published.load("vu2022", exhibit)
        rows = table[(table["dataset"] == name) & (table["method"] == "rfpca")].set_index("metric")["value"]
        for metric in ("abdiff", "are"):
            mean = np.mean([getattr(outcome, where)[metric] for outcome in outcomes])
            assert round(mean, 4) == rows[metric]
    data_exact = run_split(data.X, data.group_code, fit_rfpca_exact, RFPCA_GRID, seed=0)
    plain = run_split(data.X, data.group_code, fit_pca, [{}], seed=0)
    assert plain.inside["are"] <= min(data_exact.inside["are"], outcomes[0].inside["are"]) + 1e-12


def test_printed_cfpca_both_is_met_where_the_third_eigenvalue_is_nearly_tied():
    """Statlog, mean over ten splits: the print needs the three largest eigenvalues although they nearly tie."""
    data = load("statlog")
    outcomes = [
        run_split(np.asarray(data.X, float), data.group_code, fit_both_printed, BOTH_GRID[:1], k=3, seed=seed)
        for seed in range(10)
    ]
    for table, side in (("table1", "outside"), ("table3", "inside")):
        for metric in ("abdiff", "are"):
            mean = np.mean([getattr(outcome, side)[metric] for outcome in outcomes])
            rows = published.load("vu2022", table)
            printed = rows[(rows.dataset == "statlog") & (rows.method == "cfpca_both") & (rows.metric == metric)]
            assert round(mean, 4) == pytest.approx(printed.value.item(), abs=1e-9)

"""Rows that are only multiplied: the same answers as from moments, whatever form the rows have."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from fairpca import FPCA, PCA, GroupMoments, MeanFairPCA, MinMaxFairPCA, WideRows
from fairpca.linalg import principal_angles
from fairpca.solvers.erasure.means import Directions
from fairpca.solvers.erasure.wide import _erase
from fairpca.solvers.minmax import solve_minmax_wide
from fairpca.solvers.spectral import Pencil, StreamedPencil


def table(n_groups, n=300, p=260, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=n)
    X = rng.standard_normal((n, 12)) @ rng.standard_normal((12, p)) * np.geomspace(3, 0.5, p)
    X += rng.standard_normal((n, p)) + 0.4 * rng.standard_normal((n_groups, p))[group] + 5
    X[group == 1] *= np.linspace(0.5, 1.5, p)
    X[np.abs(X) < 1] = 0.0
    return X, group


FORMS = {
    "dense": lambda X, g: WideRows(X, g),
    "frame": lambda X, g: WideRows(pd.DataFrame(X), pd.Series(g)),
    "sparse": lambda X, g: WideRows(sparse.csc_matrix(X), g),
    "batches": lambda X, g: WideRows([(X[:50], g[:50]), (sparse.csr_array(X[50:70]), g[50:70]), (X[70:], g[70:])]),
    "function": lambda X, g: WideRows(lambda: ((X[i : i + 60], g[i : i + 60]) for i in range(0, len(X), 60))),
}


@pytest.mark.parametrize("form", FORMS)
def test_means_variances_and_products_are_those_of_the_moments(form):
    X, group = table(3)
    rows, moments = FORMS[form](X, group), GroupMoments.from_data(X, group)
    V = np.random.default_rng(1).standard_normal((X.shape[1], 4))
    assert rows.labels == moments.labels
    np.testing.assert_array_equal(rows.counts, moments.counts)
    np.testing.assert_allclose(rows.means, moments.means, rtol=1e-12)
    np.testing.assert_allclose(rows.variances, np.diagonal(moments.covariance()), rtol=1e-11)
    np.testing.assert_allclose(rows.group_totals, np.trace(moments.covariances(), axis1=1, axis2=2), rtol=1e-11)
    np.testing.assert_allclose(rows.group_products(V), moments.covariances() @ V, atol=1e-8)
    np.testing.assert_allclose(rows.covariance_product(V), moments.covariance() @ V, atol=1e-8)
    assert rows.n_passes == 4


@pytest.mark.parametrize("n_groups", [2, 4])
@pytest.mark.parametrize(
    "estimator",
    [
        PCA(4),
        MeanFairPCA(4),
        MeanFairPCA(4, projection="oblique", tol=1e-7),
        MinMaxFairPCA(4),
        MinMaxFairPCA(4, objective="error"),
        MinMaxFairPCA(4, centering="overall"),
    ],
    ids=repr,
)
def test_answers_are_those_from_moments(estimator, n_groups):
    X, group = table(n_groups, n=900)
    dense = estimator.fit(GroupMoments.from_data(X, group))
    reference, span = dense.result_, np.linalg.qr(getattr(dense, "decoder_", dense.components_).T)[0]
    ratio, variances = dense.explained_variance_ratio_, dense.explained_variance_
    wide = estimator.fit(WideRows(sparse.csr_array(X), group))
    assert wide.result_.status == "optimal" and wide.result_.certificate == "estimate"
    assert wide.result_.objective == pytest.approx(reference.objective, rel=1e-7)
    assert wide.result_.bound <= wide.result_.objective
    found = np.linalg.qr(getattr(wide, "decoder_", wide.components_).T)[0]
    assert principal_angles(found, span).max() < 1e-3
    np.testing.assert_allclose(wide.explained_variance_ratio_, ratio, rtol=1e-5)
    np.testing.assert_allclose(wide.explained_variance_, variances, rtol=1e-5)
    assert wide.groups_ == tuple(range(n_groups))
    assert wide.transform(X).shape == (len(X), len(wide.components_))


@pytest.mark.parametrize("projection", ["orthogonal", "oblique"])
def test_more_columns_than_rows_and_a_loose_tolerance_leave_no_covariance(projection):
    rng = np.random.default_rng(3)
    group = np.arange(80) % 2
    X = rng.standard_normal((80, 400)) + np.outer(group, rng.standard_normal(400))
    model = MeanFairPCA(3, projection=projection, tol=1e-2).fit(WideRows(X, group))
    Z = model.transform(X)
    gap = np.abs(Z[group == 1].mean(axis=0) - Z[group == 0].mean(axis=0))
    assert np.all(gap < 1e-11 * Z.std(axis=0))
    assert np.mean((X - model.inverse_transform(Z)) ** 2) * 400 == pytest.approx(model.result_.objective)


def test_several_columns_each_by_itself():
    X, group = table(4)
    columns = np.column_stack((group % 2, group // 2))
    wide = MeanFairPCA(2, columns="each").fit(WideRows(X, columns))
    dense = MeanFairPCA(2, columns="each").fit(X, sensitive_features=columns)
    assert wide.excluded_.shape == (2, X.shape[1])
    assert principal_angles(wide.components_.T, dense.components_.T).max() < 1e-5


def test_an_iteration_that_does_not_end_says_so():
    X, group = table(2)
    with pytest.warns(UserWarning, match="stopped at its iteration limit"):
        model = MeanFairPCA(2, projection="oblique", max_iter=1).fit(WideRows(X, group))
    assert model.result_.status == "max_iter"
    assert np.abs(model.components_ @ model.excluded_.T).max() < 1e-12


def test_the_residual_of_predictions_is_that_of_the_worst():
    X, group = table(4)
    member = (group[:, None] == np.arange(3)).astype(float)
    C = (X - X.mean(axis=0)).T @ (member - member.mean(axis=0)) / len(X)
    rows, deviations = WideRows(X, group), X.std(axis=0)
    together, *alone = (
        _erase(rows, Directions(c, np.linalg.qr(c)[0], deviations, 0.0), 1e-3, 5)[1]
        for c in (C, C[:, :1], C[:, 1:2], C[:, 2:])
    )
    assert together == pytest.approx(max(alone)) and min(alone) < 0.99 * max(alone)


def test_streamed_pencil_finds_what_the_pencil_finds():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((3, 200, 200))
    M = M @ M.transpose(0, 2, 1)
    streamed = StreamedPencil(lambda X: M @ X, np.trace(M, axis1=1, axis2=2), 200, tol=1e-8)
    for weights in ([1, 0, 0], [0.2, 0.3, 0.5]):
        w, V = streamed.top(weights, 4)
        reference, W = Pencil(M).top(weights, 4)
        np.testing.assert_allclose(w, reference, rtol=1e-10)
        assert principal_angles(V, W).max() < 1e-5
        assert streamed.top_sum_bound(weights, 4) >= w.sum()
    assert streamed.basis.shape[1] < 200


@pytest.mark.parametrize("shift", [1.0, -1e3])
def test_a_multiple_of_the_identity_moves_the_sum_and_not_its_error(shift):
    """Also where all eigenvalues become negative; the basis is rough, so that there is an error."""
    rng = np.random.default_rng(2)
    A = rng.standard_normal((120, 120))
    M = np.stack([A @ A.T, np.eye(120)])
    streamed = StreamedPencil(lambda X: M @ X, np.trace(M, axis1=1, axis2=2), 120, tol=1e-2)
    streamed.refine([(1.0, 0.0)], 3)
    sums = [streamed.whole_top_sum(weights, 3) for weights in ((1.0, 0.0), (1.0, shift))]
    assert sums[0] > streamed.top((1.0, 0.0), 3, refine=False)[0].sum() * (1 + 1e-6)
    assert sums[1] - 3 * shift == pytest.approx(sums[0], rel=1e-9)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("read once", lambda X, group, _: WideRows(iter([(X, group)]))),
        ("no rows", lambda *_: WideRows(lambda: [])),
        (
            r"infinite values in feature\(s\) \[3\]",
            lambda X, group, _: WideRows(np.where(np.arange(12) == 3, np.nan, X), group),
        ),
        ("already know their groups", lambda X, group, rows: PCA().fit(rows, sensitive_features=group)),
        ("WideRows are for", lambda X, group, rows: FPCA().fit(rows)),
        ('fairness="dp"', lambda X, group, rows: MeanFairPCA(fairness="eop").fit(rows)),
        ('solver="dual" only', lambda X, group, rows: MinMaxFairPCA(solver="mw").fit(rows)),
        ("between 1 and 11", lambda X, group, rows: solve_minmax_wide(rows, 12)),
        ("between 1 and 11", lambda X, group, rows: MeanFairPCA(12).fit(rows)),
        ("max_iter must be an integer", lambda X, group, rows: solve_minmax_wide(rows, 3, max_iter=2.5)),
    ],
)
def test_what_is_wrong_is_said(message, call):
    X, group = table(2, n=40, p=12)
    with pytest.raises((ValueError, TypeError), match=message):
        call(X, group, WideRows(X, group))


def test_rows_that_change_between_passes_and_a_single_group():
    X, group = table(2, n=40, p=12)
    with pytest.warns(UserWarning, match="single group"):
        MeanFairPCA(2).fit(WideRows(X))
    calls = []

    def shrinking():
        calls.append(1)
        return [(X[: 40 - len(calls)], group[: 40 - len(calls)])]

    with pytest.raises(ValueError, match="must be the same each time"):
        PCA().fit(WideRows(shrinking))


@pytest.mark.parametrize("centering", ["group", "overall", "none"])
@pytest.mark.parametrize("objective", ["error", "loss"])
def test_errors_of_groups_contain_their_distance_from_what_is_subtracted(centering, objective):
    """Row by row: the mean square of what the map leaves out of each group's rows, once the centre is subtracted."""
    X, group = table(2, n=200, p=40)
    model = MinMaxFairPCA(3, objective=objective, centering=centering).fit(WideRows(X, group))
    centre = {"group": None, "overall": X.mean(axis=0), "none": 0.0}[centering]
    V, lost = model.result_.V, []
    for g in (0, 1):
        rows = X[group == g] - (X[group == g].mean(axis=0) if centre is None else centre)
        lost.append(np.mean(np.sum((rows - rows @ V @ V.T) ** 2, axis=1)))
    assert model.result_.extra["errors"] == pytest.approx(lost, rel=1e-9)
    if objective == "error":
        assert model.result_.objective == pytest.approx(max(lost), rel=1e-9)

"""MeanFairPCA and LinearEraser as users meet them: guarantees on every data set, kinds of sensitive features, traps."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairpca import GroupMoments, LinearEraser, MeanFairPCA
from fairpca.datasets import load, names
from fairpca.datasets._catalog import CATALOG
from fairpca.linalg import subspace_distance


@pytest.fixture
def table():
    """Rows with two sensitive columns that interact, an age, and an outcome."""
    rng = np.random.default_rng(8)
    n = 400
    sex, old = rng.integers(2, size=n), (rng.random(n) < 0.3).astype(int)
    X = rng.standard_normal((n, 7)) @ rng.standard_normal((7, 7))
    X += np.outer(sex, rng.standard_normal(7)) + np.outer(old, rng.standard_normal(7))
    X += 2 * np.outer(sex * old, rng.standard_normal(7))
    age = 40 + 20 * old + X[:, 0] + rng.standard_normal(n)
    y = (X[:, 1] + rng.standard_normal(n) > 0).astype(int)
    columns = pd.DataFrame({"sex": np.where(sex, "f", "m"), "old": old})
    return pd.DataFrame(X, columns=list("abcdefg")), columns, age, y


def correlations(Z, z):
    """Largest correlation of a coordinate of Z with a column of z."""
    z = np.asarray(z, dtype=float).reshape(len(Z), -1)
    Z, z = np.asarray(Z) - np.mean(Z, axis=0), z - z.mean(axis=0)
    return float(np.abs(Z.T @ z / np.outer(np.linalg.norm(Z, axis=0), np.linalg.norm(z, axis=0))).max())


def probes(Z, group):
    """R² of least squares, accuracy of logistic regression over that of a constant."""
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    member = (np.asarray(group)[:, None] == np.unique(group)).astype(float)
    fitted = np.linalg.lstsq(np.column_stack((Z, np.ones(len(Z)))), member, rcond=None)[0]
    rest = member - np.column_stack((Z, np.ones(len(Z)))) @ fitted
    r2 = 1 - np.sum(rest**2) / np.sum((member - member.mean(axis=0)) ** 2)
    machine = LogisticRegression(C=1e6, max_iter=500).fit(Z, group)
    return r2, machine.score(Z, group) - member.mean(axis=0).max(), np.abs(machine.coef_).max()


@pytest.mark.parametrize("projection", ["orthogonal", "oblique"])
@pytest.mark.parametrize(
    "name",
    [
        name if CATALOG[name].bundled else pytest.param(name, marks=pytest.mark.mirror(name))
        for name in names()
        if name != "lfw"
    ],
)
def test_linear_probes_are_at_chance_on_every_data_set(name, projection):
    """Raw columns as published, whatever their units; the larger faces have the same groups as the smaller ones."""
    data = load(name)
    X, group = np.asarray(data.X, dtype=float), np.asarray(data.sensitive_features)
    moments = GroupMoments.from_data(X, group)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = MeanFairPCA(min(10, X.shape[1] - len(moments.labels) + 1), projection=projection).fit(moments)
    if told:  # not so many directions vary at all
        (warning,) = told
        least = int(str(warning.message).rsplit("=", 1)[1].split()[0])
        model = MeanFairPCA(least, projection=projection).fit(moments)
    Z = model.transform(X)
    member = np.asarray(group)[:, None] == np.array(moments.labels)
    cross = (X - X.mean(axis=0)).T @ (member - member.mean(axis=0)) / len(X)
    sizes = np.linalg.norm(model.components_, axis=1)[:, None] * np.linalg.norm(cross, axis=0)
    assert np.abs(model.components_ @ cross / sizes).max() <= 1e-12
    assert correlations(Z, member) < 1e-8
    r2, above_chance, slope = probes(Z, group)
    assert r2 < 1e-12 and above_chance <= 0 and slope < 1e-3
    assert model.result_.status == "optimal" and model.result_.certificate == "proof"


def test_columns_each_by_itself_or_combined(table):
    X, columns, _, _ = table
    combined = MeanFairPCA(2).fit(X, sensitive_features=columns)
    each = MeanFairPCA(2, columns="each").fit(X, sensitive_features=columns)
    assert combined.groups_ == each.groups_ and len(each.groups_) == 4
    assert combined.excluded_.shape == (3, 7) and each.excluded_.shape == (2, 7)
    dummies = pd.get_dummies(columns, columns=["sex", "old"]).to_numpy(float)
    pairs = pd.get_dummies(columns["sex"] + columns["old"].astype(str)).to_numpy(float)
    for model, zero in ((combined, dummies), (combined, pairs), (each, dummies)):
        assert correlations(model.transform(X), zero) < 1e-12
    assert correlations(each.transform(X), pairs) > 1e-3
    assert each.result_.objective < combined.result_.objective
    by_numbers = MeanFairPCA(2, sensitive="numeric").fit(X, sensitive_features=dummies)
    assert subspace_distance(by_numbers.components_.T, each.components_.T) < 1e-9
    swapped = columns[["old", "sex"]]
    again = MeanFairPCA(2, columns="each").fit(X, sensitive_features=swapped)
    assert subspace_distance(again.components_.T, each.components_.T) < 1e-9
    both = {"match": "mean+covariance", "n_candidates": 3}
    narrow = MeanFairPCA(2, columns="each", **both).fit(X, sensitive_features=columns)
    assert correlations(narrow.transform(X), dummies) < 1e-12


@pytest.mark.parametrize("projection", ["orthogonal", "oblique"])
def test_numbers_are_uncorrelated_with_the_code(table, projection):
    X, _, age, _ = table
    numbers = np.column_stack((age, np.abs(age - 50)))
    for given in (age, numbers, pd.Series(age, name="age")):
        model = MeanFairPCA(3, projection=projection, sensitive="numeric").fit(X, sensitive_features=given)
        assert correlations(model.transform(X), given) < 1e-12
        assert model.excluded_.shape == (np.ndim(given), 7)
    moments = GroupMoments.from_data(X.assign(age=age), np.zeros(len(X)))
    by_moments = MeanFairPCA(3, projection=projection, sensitive="numeric").fit(moments, sensitive_features=["age"])
    np.testing.assert_allclose(by_moments.transform(X), model.transform(X), atol=1e-9)
    assert by_moments.groups_ == model.groups_ == ("age",)
    assert list(by_moments.feature_names_in_) == list(X.columns)
    with pytest.warns(UserWarning, match="same in all rows"):
        MeanFairPCA(sensitive="numeric").fit(X, sensitive_features=np.full(len(X), 0.1))


@pytest.mark.parametrize("projection", ["orthogonal", "oblique"])
def test_equal_opportunity_matches_the_positives_and_standardises_nothing(table, projection):
    X, columns, age, y = table
    sex, positive = columns["sex"], y == 1
    model = MeanFairPCA(2, fairness="eop", projection=projection).fit(X, y, sensitive_features=sex)
    Z, member = model.transform(X), (sex == "f").to_numpy()
    assert correlations(Z[positive], member[positive]) < 1e-12
    assert correlations(Z, member) > 1e-3
    assert model.groups_ == ("f", "m")
    assert model.result_.objective == pytest.approx(np.sum((X - model.inverse_transform(Z)) ** 2, axis=1).mean())
    np.testing.assert_allclose(model.mean_, X.mean(axis=0))
    # From moments, with the outcome as the last column; and for numbers.
    moments = GroupMoments.from_data(X, pd.DataFrame({"sex": sex, "y": y}))
    again = MeanFairPCA(2, fairness="eop", projection=projection).fit(moments)
    np.testing.assert_allclose(again.transform(X), Z, atol=1e-9)
    numbers = MeanFairPCA(2, fairness="eop", sensitive="numeric", projection=projection)
    Z = numbers.fit(X, y, sensitive_features=age).transform(X)
    assert correlations(Z[positive], age[positive]) < 1e-12 < correlations(Z, age)
    with pytest.warns(UserWarning, match="'m' have no row with outcome 1"):
        MeanFairPCA(fairness="eop").fit(X, y * member, sensitive_features=sex)


def test_path_is_fit(table):
    X, columns, age, y = table
    cases = (
        (MeanFairPCA(columns="each"), columns, {"projection": ["orthogonal", "oblique"], "n_components": [1, 3]}),
        (MeanFairPCA(sensitive="numeric"), age, {"n_components": [1, 2]}),
        (MeanFairPCA(fairness="eop"), columns["sex"], {"n_components": [1, 2]}),
    )
    for estimator, sensitive, grid in cases:
        for model in estimator.path(X, y, sensitive_features=sensitive, **grid):
            alone = clone(model).fit(X, y, sensitive_features=sensitive)
            np.testing.assert_allclose(model.transform(X), alone.transform(X), atol=1e-9)
            assert model.groups_ == alone.groups_


def numeric(X, **given):
    return MeanFairPCA(sensitive="numeric").fit(GroupMoments.from_data(X, np.zeros(len(X))), **given)


def oracle(X, given, **parameters):
    return LinearEraser(method="oracle", **parameters).fit(X, sensitive_features=given)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            "goes with",
            lambda X, s, _: MeanFairPCA(projection="oblique", match="mean+covariance").fit(X, sensitive_features=s),
        ),
        (
            "compares the covariances of",
            lambda X, s, _: MeanFairPCA(sensitive="numeric", match="mean+covariance").fit(X, sensitive_features=s),
        ),
        (
            "choose one of 'orthogonal', 'oblique'",
            lambda X, s, _: MeanFairPCA(projection="skew").fit(X, sensitive_features=s),
        ),
        (
            "leave sensitive_features out",
            lambda X, s, _: LinearEraser().fit(GroupMoments.from_data(X, s), sensitive_features=s),
        ),
        ("which of their columns", lambda X, *_: numeric(X)),
        ("names 'sex'", lambda X, *_: numeric(X, sensitive_features=["sex"])),
        ("some that are not", lambda X, *_: numeric(X, sensitive_features=list(X))),
        ("needs numbers", lambda X, *_: MeanFairPCA(sensitive="numeric").fit(X, sensitive_features=["f"] * len(X))),
        ("pass the outcome as y", lambda X, s, _: MeanFairPCA(fairness="eop").fit(X, sensitive_features=s["sex"])),
        (
            "two values; y has 3",
            lambda X, s, _: MeanFairPCA(fairness="eop").fit(X, np.arange(len(X)) % 3, sensitive_features=s["sex"]),
        ),
        ("last column", lambda X, s, _: MeanFairPCA(fairness="eop").fit(GroupMoments.from_data(X, s["sex"]))),
        ("fairness cannot vary", lambda X, s, _: MeanFairPCA().path(X, sensitive_features=s, fairness=["dp", "eop"])),
        ("needs sensitive_features too", lambda X, s, _: oracle(X, s["sex"]).transform(X)),
        (
            "'x' were not seen in fit",
            lambda X, s, _: oracle(X, s["sex"]).transform(X, sensitive_features=["x"] * len(X)),
        ),
        (
            "2 columns; fit had 1",
            lambda X, _, age: oracle(X, age, sensitive="numeric").transform(X, sensitive_features=np.c_[age, age]),
        ),
    ],
)
def test_what_is_refused_is_explained(table, message, call):
    X, columns, age, _ = table
    with pytest.raises(ValueError, match=message):
        call(X, columns, age)


# --------------------------------------------------------------------------------------------------------------------
# Erasure as a transformer


def test_oracle_moves_each_group_to_the_mean_and_changes_less(table):
    X, columns, age, _ = table
    sex = columns["sex"]
    leace = LinearEraser().fit(X, sensitive_features=sex)
    oracle = LinearEraser(method="oracle").fit(X, sensitive_features=sex)
    erased = oracle.transform(X, sensitive_features=sex)
    for group in ("f", "m"):
        np.testing.assert_allclose(erased[sex == group].mean(axis=0), X.mean(axis=0), atol=1e-12)
    changes = [np.sum((X.to_numpy() - Z) ** 2) for Z in (erased, leace.transform(X))]
    assert changes[0] < changes[1]
    numeric = LinearEraser(method="oracle", sensitive="numeric").fit(X, sensitive_features=age)
    assert correlations(numeric.transform(X, sensitive_features=age), age) < 1e-12
    slope = np.cov(np.column_stack((age, X)).T, ddof=0)
    np.testing.assert_allclose(numeric.coefficients_[0], slope[0, 1:] / slope[0, 0])
    # Several columns: the regression on all dummies at once, by least squares on the rows.
    each = LinearEraser(method="oracle", columns="each").fit(X, sensitive_features=columns)
    dummies = pd.get_dummies(columns, columns=["sex", "old"]).to_numpy(float)
    centred = dummies - dummies.mean(axis=0)
    fitted = np.linalg.lstsq(centred, X.to_numpy() - X.to_numpy().mean(axis=0), rcond=None)[0]
    np.testing.assert_allclose(each.transform(X, sensitive_features=columns), X - centred @ fitted, atol=1e-10)


def test_eraser_from_moments_in_a_pipeline_and_pickled(table):
    X, columns, age, y = table
    model = LinearEraser(columns="each").fit(X, sensitive_features=columns)
    again = LinearEraser(columns="each").fit(GroupMoments.from_data(X, columns))
    np.testing.assert_allclose(model.transform(X), again.transform(X))
    rows = X.to_numpy()
    by_matrix = (rows - rows.mean(axis=0)) @ model.projection_.T + rows.mean(axis=0)
    np.testing.assert_allclose(model.transform(X), by_matrix, atol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    moments = GroupMoments.from_data(X.assign(age=age), np.zeros(len(X)))
    numeric = LinearEraser(sensitive="numeric").fit(moments, sensitive_features=["age"])
    assert correlations(numeric.transform(X), age) < 1e-12
    pipe = make_pipeline(StandardScaler(), LinearEraser(), LogisticRegression())
    pipe.fit(X, columns["sex"], lineareraser__sensitive_features=columns["sex"])
    assert pipe.score(X, columns["sex"]) == pytest.approx(columns["sex"].value_counts(normalize=True).max())
    framed = LinearEraser().set_output(transform="pandas").fit(X, sensitive_features=columns).transform(X)
    assert list(framed.columns) == list(X.columns)
    with pytest.warns(UserWarning, match="single group"):
        same = LinearEraser().fit(X, sensitive_features=[0] * len(X)).transform(X)
    np.testing.assert_array_equal(same, X)


# --------------------------------------------------------------------------------------------------------------------
# What goes wrong elsewhere


def test_a_tiny_but_certain_difference_of_means_is_erased():
    """A million rows, a gap of five standard errors: far below an absolute tolerance of 0.01 on correlations."""
    rng = np.random.default_rng(0)
    n = 10**6
    group = rng.integers(2, size=n)
    X = rng.standard_normal((n, 3))
    X[:, 0] += (5 * 2 / np.sqrt(n)) * group
    moments = GroupMoments.from_data(X, group)
    gap = np.abs(np.diff(moments.means, axis=0)).max()
    assert 3 < gap / (2 / np.sqrt(n)) < 7
    for model in (LinearEraser(), MeanFairPCA(2), MeanFairPCA(2, projection="oblique")):
        Z = model.fit(moments).transform(X)
        assert np.abs(Z[group == 1].mean(axis=0) - Z[group == 0].mean(axis=0)).max() < 1e-12 * gap * n**0.5


def test_a_singular_covariance_needs_no_ridge_and_the_code_has_d_columns():
    """Duplicated and constant columns, more columns than rows: the group stays hidden, nothing is appended."""
    rng = np.random.default_rng(2)
    n = 40
    group = np.arange(n) % 2
    base = rng.standard_normal((n, 12)) + np.outer(group, np.linspace(0, 2, 12))
    X = np.column_stack((base, base[:, :5], np.full(n, 1e6), 1e-6 * base @ rng.standard_normal((12, 40))))
    for projection in ("orthogonal", "oblique"):
        model = MeanFairPCA(3, projection=projection).fit(X, sensitive_features=group)
        Z = model.transform(X)
        assert Z.shape == (n, 3)
        assert correlations(Z, group) < 1e-9
        assert model.result_.status == "optimal"
    erased = LinearEraser().fit(X, sensitive_features=group).transform(X)
    gap = np.abs(erased[group == 1].mean(axis=0) - erased[group == 0].mean(axis=0))
    assert np.all(gap <= 1e-9 * np.maximum(np.abs(X).max(axis=0), 1e-6))


def test_batches_and_weights_are_the_rows(table):
    """Some batches have one outcome or one group only; weights count like repeated rows."""
    X, columns, age, y = table
    order = np.argsort(y, kind="stable")
    for estimator, given in (
        (MeanFairPCA(columns="each"), columns),
        (MeanFairPCA(fairness="eop", projection="oblique"), columns["sex"]),
        (MeanFairPCA(sensitive="numeric"), pd.Series(age, name="age")),
        (MeanFairPCA(sensitive="numeric", fairness="eop"), pd.Series(age)),
    ):
        whole, parts = clone(estimator).fit(X, y, sensitive_features=given), clone(estimator)
        for rows in np.array_split(order, 7):
            parts.partial_fit(X.iloc[rows], y[rows], sensitive_features=given.iloc[rows], solve=False)
        parts.solve()
        np.testing.assert_allclose(parts.transform(X), whole.transform(X), atol=1e-9)
        assert parts.groups_ == whole.groups_
        weights = np.arange(len(X)) % 3
        twice = np.repeat(np.arange(len(X)), weights)
        weighted = clone(estimator).fit(X, y, sensitive_features=given, sample_weight=weights)
        repeated = clone(estimator).fit(X.iloc[twice], y[twice], sensitive_features=given.iloc[twice])
        np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-9)
    for eraser, given in ((LinearEraser(), columns), (LinearEraser(sensitive="numeric"), pd.Series(age))):
        parts = clone(eraser)
        for rows in np.array_split(order, 7):
            parts.partial_fit(X.iloc[rows], sensitive_features=given.iloc[rows], solve=False)
        parts.solve()
        whole = eraser.fit(X, sensitive_features=given)
        np.testing.assert_allclose(parts.transform(X), whole.transform(X), atol=1e-9)
        assert parts.groups_ == whole.groups_
    weighted = LinearEraser().fit(X, sensitive_features=columns, sample_weight=weights)
    repeated = LinearEraser().fit(X.iloc[twice], sensitive_features=columns.iloc[twice])
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-9)

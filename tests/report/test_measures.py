"""Measures against slow and independent ones."""

import numpy as np
import pytest
from scipy.stats import f, norm
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score

from fairpca.metrics import mmd_permutation_test, reconstruction_errors, reconstruction_losses
from fairpca.report import MEASURES, Method, Rows, Settings, Split, evaluate, fit_method, get_method
from fairpca.report.measures import code_dimensions, get_measure, own_decoder

SETTINGS = Settings(kernel_rows=150, permutations=99, tree_rounds=5)


def table(seed, n, groups=2, p=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(3, 1, p)
    group = rng.integers(0, groups, n)
    X[:, 0] += 1.5 * group
    X[group == 1] *= 1.4
    return Rows(X, group, (X[:, 1] + rng.standard_normal(n) > 0).astype(int))


@pytest.fixture(scope="module")
def split():
    return Split(table(0, 300), table(1, 200), 2, SETTINGS)


@pytest.fixture(scope="module", params=["pca", "minmax_loss", "minmax_nash", "fpca_mean"])
def found(request, split):
    fitted = fit_method(get_method(request.param), split.train, 2)
    return fitted, evaluate(fitted, split)


def test_every_number_is_declared_and_finite(found):
    for name, value in found[1].items():
        assert get_measure(name).name in MEASURES
        assert np.isfinite(value), name


def test_errors_are_those_of_least_squares(found, split):
    fitted, values = found
    train, test = split.train, split.test
    decoder = LinearRegression().fit(fitted.model.transform(train.X), train.X)
    squares = ((test.X - decoder.predict(fitted.model.transform(test.X))) ** 2).sum(axis=1)
    total = train.X.var(axis=0).sum()
    errors = [100 * squares[test.groups.codes == g].mean() / total for g in (0, 1)]
    assert [values["error:0"], values["error:1"]] == pytest.approx(errors, rel=1e-9)
    assert values["worst_error"] == max(values["error:0"], values["error:1"])
    assert values["error_gap"] == pytest.approx(abs(errors[0] - errors[1]), rel=1e-8)
    spread = ((test.X - train.X.mean(axis=0)) ** 2).sum()
    assert values["variance"] == pytest.approx(100 * (1 - squares.sum() / spread), rel=1e-9)


def test_losses_are_those_of_the_metrics(found, split):
    fitted, values = found
    train, test, V = split.train, split.test, found[0].model.components_.T
    errors = reconstruction_errors(test.X, V, test.groups, centers=train.moments.means)
    for g in (0, 1):
        own = fit_method(get_method("pca"), Rows(train.X[train.groups.codes == g], np.zeros(train.groups.counts[g])), 2)
        best = reconstruction_errors(test.X, own.model.components_.T, test.groups, centers=train.moments.means)
        assert values[f"loss:{g}"] == pytest.approx(100 * (errors[g] - best[g]) / split.total, abs=1e-9)


def test_mmd_and_its_permutations_are_those_of_the_metrics(found, split):
    fitted, values = found
    rows = split.kernel_rows
    assert len(rows) < len(split.test)
    Z, groups = fitted.model.transform(split.test.X)[rows], split.test.groups.codes[rows]
    distances = [((Z[i] - Z[j]) ** 2).sum() for i in range(len(Z)) for j in range(i)]
    sigma = np.sqrt(np.median(distances))
    slow = mmd_permutation_test(Z, groups, sigma, n_permutations=2000, random_state=0)
    assert values["mmd2"] == pytest.approx(slow.value, rel=1e-9)
    assert values["mmd2_chance"] == pytest.approx(slow.quantile(0.95), rel=0.25)
    assert values["mmd2_p"] == pytest.approx(slow.p_value, abs=0.1)


def test_gaps_are_zero_for_the_method_whose_objective_it_is(found, split):
    fitted, values = found
    own = {"pca": "variance", "minmax_loss": "loss", "minmax_nash": "nash"}.get(fitted.method.name)
    for name in ("variance", "loss", "error", "least_variance", "nash", "rfpca"):
        assert values[f"gap:{name}"] >= -1e-7
        assert (values[f"gap:{name}"] < 1e-6) == (name == own)
    moments, V = split.train.moments, fitted.model.components_.T
    optimum = fit_method(get_method("minmax_loss"), split.train, 2).model.components_.T
    difference = reconstruction_losses(moments, V).max() - reconstruction_losses(moments, optimum).max()
    assert values["gap:loss"] == pytest.approx(100 * difference / split.total, abs=1e-7)


def test_area_under_curve_is_that_of_scikit_learn():
    from fairpca.report.measures import area_under_curve

    rng = np.random.default_rng(3)
    for levels in (3, 50):  # many ties, and few
        scores, positive = rng.integers(0, levels, 200).astype(float), rng.random(200) < 0.3
        assert area_under_curve(scores, positive) == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)
    assert np.isnan(area_under_curve(scores, np.ones(200, dtype=bool)))


def test_recovery_sees_what_is_there_and_nothing_else():
    """A group that is noise is not found, a shifted one is by both, a hidden variance by the kernel only."""
    rng = np.random.default_rng(5)
    group = np.repeat([0, 1], 400)
    noise, shift, spread = (rng.standard_normal((800, 4)) for _ in range(3))
    shift[group == 1, 0] += 2.0
    spread[group == 1] *= 2.5
    identity = Method("identity", "Identity", "x", "Nothing.", lambda rows, d: Identity())
    by_shift = norm.cdf(2.0 / np.sqrt(2.0))  # what nobody can exceed, from the distributions
    by_spread = f.cdf(2.5**2, 4, 4)
    for X, linear, kernel in ((noise, 0.5, 0.5), (shift, by_shift, by_shift), (spread, 0.5, by_spread)):
        rows = Rows(X, group)
        values = evaluate(fit_method(identity, rows, 4), Split(rows, rows, 4, Settings(permutations=99)))
        assert values["linear_auc"] == pytest.approx(linear, abs=0.06)
        assert values["kernel_auc"] == pytest.approx(kernel, abs=0.06)
        assert (values["mmd2"] <= values["mmd2_chance"]) == (X is noise)
        assert not [name for name in values if name.startswith(("accuracy", "selection"))]


class Identity:
    def transform(self, X):
        return X


def test_many_groups():
    split = Split(table(0, 400, 5), table(1, 300, 5), 2, SETTINGS)
    values, others = (
        evaluate(fit_method(get_method(name), table(0, 400, 5), 2), split) for name in ("minmax_loss", "pca")
    )
    assert {f"error:{g}" for g in range(5)} <= set(values)
    assert 0 <= values["gap:loss"] < others["gap:loss"]  # the bound may need more dimensions than two
    assert 0.5 < values["linear_auc"] < 1


@pytest.mark.parametrize(("spread", "components"), [(3.0, 3), (0.0, 2)])
def test_a_code_of_more_dimensions_has_its_own_way_back(spread, components):
    """Columns that others determine are no dimensions: with two, the decoder is learnt as for everybody."""

    class Three:
        def transform(self, X):
            return np.column_stack([X[:, :2], X[:, 0] + spread * X[:, 2]])

        def inverse_transform(self, Z):
            return np.column_stack([Z[:, :2], np.zeros((len(Z), 4))])

    rows = table(0, 200)
    fitted = fit_method(Method("t", "T", "x", "T.", lambda rows, d: Three()), rows, 2)
    Z = fitted.model.transform(rows.X)
    assert code_dimensions(Z, 2) == components and (own_decoder(fitted, Z, 2) is None) == (components == 2)
    values = evaluate(fitted, Split(rows, rows, 2, SETTINGS))
    learnt = LinearRegression().fit(Z, rows.X).predict(Z)
    back = fitted.model.inverse_transform(Z) if components == 3 else learnt
    lost = ((rows.X - back) ** 2).sum() / ((rows.X - rows.X.mean(axis=0)) ** 2).sum()
    assert values["variance"] == pytest.approx(100 * (1 - lost))


def test_a_method_that_looks_at_the_group_has_no_linear_map():
    class Shifted:
        def transform(self, X, sensitive_features):
            return X[:, :2] - sensitive_features.codes[:, None]

    method = Method("s", "S", "x", "S.", lambda rows, d: Shifted(), groups_at_prediction=True)
    rows = table(0, 200)
    values = evaluate(fit_method(method, rows, 2), Split(rows, rows, 2, SETTINGS))
    assert "variance" in values and not [name for name in values if name.startswith(("gap:", "loss:"))]


def test_groups_that_a_part_lacks_are_named():
    rows = table(0, 100)
    index = np.concatenate([rows.groups.rows(0), rows.groups.rows(1)[:1]])
    few = Rows(rows.X[index], rows.groups.of_rows(index))
    with pytest.raises(ValueError, match=r"group\(s\) 1 have"):
        Split(rows, few, 2)

"""scikit-learn's own checks on each configured estimator, and what the package promises on top."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from estimators import CONFIGURED, MORE
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import fairpca
from fairpca import GroupMoments, LinearEraser
from fairpca.linalg import subspace_distance

EACH = pytest.mark.parametrize("estimator", CONFIGURED, ids=repr)
# The paper's own schedule, one of the configurations, may keep a point that is not stationary, and says so.
ENDS_EARLY = pytest.mark.filterwarnings(
    "ignore:MBFPCA. ended where the variance is not stationary:sklearn.exceptions.ConvergenceWarning"
)


# pytest 9 refuses generators, so the checks are listed here.
_checks = parametrize_with_checks([*CONFIGURED, *MORE])
_checks = pytest.mark.parametrize("estimator, check", list(_checks.args[1]), ids=_checks.kwargs["ids"])


@_checks
@pytest.mark.filterwarnings("ignore:.*no sensitive_features:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 6)) * [3, 2, 1.5, 1, 1, 0.5]
    sex = np.where(rng.random(120) < 0.4, "f", "m")
    X[sex == "f"] += [0.5, 0, 1, 0, 0, 0]
    X[sex == "f", 3] *= 2
    return pd.DataFrame(X, columns=list("abcdef")), pd.Series(sex, name="sex")


def span(model):
    """Orthonormal basis of what the code sees; components need not be orthonormal."""
    return np.linalg.qr(model.components_.T)[0]


@EACH
def test_components_are_orthonormal_and_ordered(estimator, data):
    X, sex = data
    model = clone(estimator).fit(X, sex == "f", sensitive_features=sex)
    V, decoder = model.components_, getattr(model, "decoder_", model.components_)
    np.testing.assert_allclose(decoder @ decoder.T, np.eye(len(V)), atol=1e-10)
    np.testing.assert_allclose(V @ decoder.T, np.eye(len(V)), atol=1e-10)
    assert np.all(np.diff(model.explained_variance_ratio_) <= 1e-12)
    # The result speaks of the same basis in the same order: the columns of V are the components.
    np.testing.assert_array_equal(model.result_.V, V.T)
    assert model.groups_ == ("f", "m")
    assert np.all(V[np.arange(len(V)), np.argmax(np.abs(V), axis=1)] > 0)


@EACH
def test_frames_lists_and_label_types_give_one_answer(estimator, data):
    X, sex = data
    y = (sex == "f").to_numpy()
    reference = clone(estimator).fit(X.to_numpy(), y, sensitive_features=sex.to_numpy())
    for given in (sex, list(sex), sex.astype("category"), sex == "f", (sex == "f").astype(int), sex.to_frame()):
        model = clone(estimator).fit(X, y, sensitive_features=given)
        assert subspace_distance(span(model), span(reference)) < 1e-6


@EACH
def test_transform_needs_no_groups_and_keeps_names(estimator, data):
    X, sex = data
    model = clone(estimator).set_output(transform="pandas").fit(X, sex == "f", sensitive_features=sex)
    Z = model.transform(X)
    assert list(Z.columns) == list(model.get_feature_names_out())
    np.testing.assert_allclose(Z.to_numpy(), (X.to_numpy() - model.mean_) @ model.components_.T)
    restored = model.inverse_transform(Z.to_numpy())
    decoder = getattr(model, "decoder_", model.components_)  # an oblique code is read by another map than written
    np.testing.assert_allclose(restored, model.mean_ + (X.to_numpy() - model.mean_) @ model.components_.T @ decoder)


@EACH
@ENDS_EARLY
def test_pickle_and_pipeline(estimator, data):
    X, sex = data
    y = (sex == "f").to_numpy()
    model = clone(estimator).fit(X, y, sensitive_features=sex)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    pipe = make_pipeline(StandardScaler(), clone(estimator))
    step = type(estimator).__name__.lower()
    Z = pipe.fit_transform(X, y, **{f"{step}__sensitive_features": sex})
    assert Z.shape == (120, 2)


@EACH
@ENDS_EARLY
def test_grid_search_with_metadata_routing(estimator, data):
    import sklearn

    X, sex = data
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(estimator).set_fit_request(sensitive_features=True)
        search = GridSearchCV(
            model,
            {"n_components": [1, 2]},
            cv=2,
            scoring=lambda m, A, y=None: float(m.explained_variance_ratio_.sum()),
        )
        search.fit(X, (sex == "f").to_numpy(), sensitive_features=sex)
    assert search.best_params_ == {"n_components": 2}


@EACH
def test_moments_and_rows_agree(estimator, data):
    X, sex = data
    moments = GroupMoments.from_data(X, sex)
    if estimator._needs_rows:
        with pytest.raises(TypeError, match="needs the rows"):
            clone(estimator).fit(moments)
        return
    by_rows = clone(estimator).fit(X, sensitive_features=sex)
    by_moments = clone(estimator).fit(moments)
    assert subspace_distance(span(by_rows), span(by_moments)) < 1e-9
    assert list(by_moments.feature_names_in_) == list("abcdef")
    with pytest.raises(ValueError, match="already know their groups"):
        clone(estimator).fit(moments, sensitive_features=sex)


@EACH
def test_bad_groups_are_explained(estimator, data):
    X, sex = data
    holes = sex.mask(sex.index.isin([4, 7]))
    with pytest.raises(ValueError, match=r"missing values in 2 row\(s\): 4, 7"):
        clone(estimator).fit(X, sensitive_features=holes)
    with pytest.raises(ValueError, match="119 rows but X has 120"):
        clone(estimator).fit(X, sensitive_features=sex[:-1])
    with pytest.raises(ValueError, match=r"between 1 and"):
        clone(estimator).set_params(n_components=7).fit(X, sex == "f", sensitive_features=sex)
    with pytest.raises(TypeError, match="must be an integer"):
        clone(estimator).set_params(n_components=1.5).fit(X, sex == "f", sensitive_features=sex)


@EACH
def test_without_groups_it_is_pca_and_says_so(estimator, data):
    from sklearn.decomposition import PCA as Reference

    X, sex = data
    reference = Reference(2).fit(X).components_.T
    if not estimator._uses_groups:
        model = clone(estimator).fit(X)
        assert subspace_distance(span(model), reference) < 1e-10
        return
    with pytest.warns(UserWarning, match="no sensitive_features"):
        model = clone(estimator).fit(X)
    assert subspace_distance(span(model), reference) < 1e-10
    with pytest.warns(UserWarning, match="single group"):
        clone(estimator).fit(X, sensitive_features=np.zeros(len(X)))


def test_every_public_name_resolves():
    for name in fairpca.__all__:
        assert getattr(fairpca, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = fairpca.nonsense


@pytest.mark.parametrize("method", ["leace", "oracle"])
def test_linear_eraser_in_a_pipeline_with_metadata_routing(method, data):
    X, sex = data
    y = np.random.default_rng(0).random(len(X)) < 0.5
    with sklearn.config_context(enable_metadata_routing=True):
        eraser = LinearEraser(method=method).set_fit_request(sensitive_features=True)
        if method == "oracle":
            eraser.set_transform_request(sensitive_features=True)
        pipeline = make_pipeline(StandardScaler(), eraser, LogisticRegression())
        given = {"sensitive_features": sex}
        models = [pipeline.fit(X, y, **given)]
        assert models[0].predict(X, **(given if method == "oracle" else {})).shape == y.shape
        if method == "leace":  # scorers of scikit-learn 1.6 pass nothing on to a transform
            found = cross_validate(pipeline, X, y, params=given, cv=3, error_score="raise", return_estimator=True)
            models += found["estimator"]
    assert all(model[1].groups_ == ("f", "m") for model in models)


@pytest.mark.filterwarnings("error")
def test_linear_eraser_oracle_transforms_with_the_groups_it_is_fitted_with(data):
    X, sex = data
    weights = np.arange(len(X)) % 3 + 1.0
    for routing in (False, True):
        with sklearn.config_context(enable_metadata_routing=routing):
            eraser = LinearEraser(method="oracle")
            found = eraser.fit_transform(X, sensitive_features=sex, sample_weight=weights)
            expected = eraser.fit(X, sensitive_features=sex, sample_weight=weights).transform(X, sex)
            np.testing.assert_array_equal(found, expected)

"""scikit-learn's own checks on each configured estimator, and what the package promises on top."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from estimators import CONFIGURED, MORE
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA as SklearnPCA
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
    with pytest.raises((TypeError, ValueError), match="must be an integer"):
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


@pytest.mark.parametrize("shape", [(50, 7), (6, 20)])
@pytest.mark.parametrize("n_components", [None, 2, 0.5, 0.9, 0.999])
def test_pca_is_that_of_scikit_learn(shape, n_components):
    rng = np.random.default_rng(len(str(n_components)))
    X = rng.standard_normal(shape) * np.linspace(1, 3, shape[1]) + 2
    ours, theirs = fairpca.PCA(n_components).fit(X), SklearnPCA(n_components, svd_solver="full").fit(X)
    assert ours.n_components_ == theirs.n_components_
    names = ["explained_variance_", "explained_variance_ratio_", "singular_values_", "noise_variance_", "mean_"]
    for name in names:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-10)
    if n_components is not None:
        np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-10)
        if theirs.noise_variance_ > 1e-20:  # below it is rounding, and so is the score
            np.testing.assert_allclose(ours.score(X), theirs.score(X), rtol=1e-9)
            np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-9)


@pytest.mark.parametrize("n_components", ["mle", 1.5, 0.0, True, 0, 51])
def test_pca_says_what_n_components_may_be(n_components):
    X = np.random.default_rng(0).standard_normal((50, 60))
    with pytest.raises((TypeError, ValueError), match="n_components="):
        fairpca.PCA(n_components).fit(X)


@pytest.mark.parametrize("projection", ["orthogonal", "oblique"])
def test_shares_of_the_variance_without_the_group(projection, data):
    X, sex = data
    whole = fairpca.MeanFairPCA(None, projection=projection).fit(X, sensitive_features=sex)
    reached = np.cumsum(whole.explained_variance_ratio_)
    assert len(reached) == 5
    for count in range(1, 5):
        share = float((reached[count - 1] + (reached[count - 2] if count > 1 else 0.0)) / 2)
        some = fairpca.MeanFairPCA(share, projection=projection).fit(X, sensitive_features=sex)
        np.testing.assert_allclose(some.explained_variance_ratio_, whole.explained_variance_ratio_[:count], rtol=1e-9)
    with pytest.raises(ValueError, match="more of the variance than the 5 components"):
        fairpca.MeanFairPCA(0.9999, projection=projection).fit(X, sensitive_features=sex)


@pytest.mark.parametrize("estimator", [fairpca.PCA(2), fairpca.MeanFairPCA(2), fairpca.MinMaxFairPCA(2)], ids=repr)
@pytest.mark.parametrize("limit", [2000, 3])
def test_sparse_rows_are_never_made_dense(estimator, limit, data, monkeypatch):
    """Their moments are taken in blocks, or products with them."""
    X, sex = data
    monkeypatch.setattr("fairpca._base._WIDE", limit)
    rows = sparse.csr_array(np.where(np.random.default_rng(0).random(X.shape) < 0.5, X, 0.0))
    dense = clone(estimator).fit(rows.toarray(), sensitive_features=sex)
    expected = dense.transform(rows.toarray())
    if limit == 3:
        monkeypatch.setattr(sparse.csr_array, "toarray", None)
    found = clone(estimator).fit(rows, sensitive_features=sex)
    np.testing.assert_allclose(found.explained_variance_, dense.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(np.abs(found.transform(rows)), np.abs(expected), atol=1e-4)
    monkeypatch.undo()
    assert (found.result_.certificate == "estimate") == (limit == 3)
    weighted = clone(estimator).fit(rows, sensitive_features=sex, sample_weight=np.full(len(sex), 2.0))
    np.testing.assert_allclose(weighted.explained_variance_ratio_, dense.explained_variance_ratio_, rtol=1e-6)


@EACH
def test_single_precision_and_missing_values_on_the_way_back(estimator, data):
    X, sex = data
    model = clone(estimator).fit(X, sex == "f", sensitive_features=sex)
    single = model.transform(X.astype(np.float32))
    assert single.dtype == np.float32 and model.inverse_transform(single).dtype == np.float32
    np.testing.assert_allclose(single, model.transform(X), atol=1e-4)
    with pytest.raises(ValueError, match="NaN"):
        model.inverse_transform(np.full_like(single, np.nan))


@EACH
def test_rows_are_transformed_in_blocks(estimator, data, monkeypatch):
    X, sex = data
    model = clone(estimator).fit(X, sex == "f", sensitive_features=sex)
    whole = model.transform(X)
    monkeypatch.setattr("fairpca._base._BLOCK_BYTES", 8 * 6 * 7)
    np.testing.assert_allclose(model.transform(X), whole, atol=1e-13)

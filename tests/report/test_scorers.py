"""Scorers in scikit-learn's searches, with metadata routing switched on."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairpca import PCA, LinearEraser, MinMaxFairPCA
from fairpca.report import GroupScorer

WORST, GAP, RECOVERY = map(GroupScorer, ("worst_group_error", "group_gap", "recovery_auc"))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    sex = rng.permutation(np.repeat(["f", "m"], [60, 120]))
    X = rng.normal(size=(180, 5)) * np.where(sex[:, None] == "f", [1, 1, 1, 2, 3], [3, 2, 1, 1, 1]) + 4
    X[:, 0] += 2.0 * (sex == "f")
    return X, sex


@pytest.fixture(autouse=True)
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_scores_are_the_slow_ones(rows):
    X, sex = rows
    model = PCA(n_components=2).fit(X, sensitive_features=sex)
    V, total = model.components_.T, X.var(axis=0).sum()
    errors = {}
    for group in "fm":
        centred = X[sex == group] - X.mean(axis=0)
        errors[group] = np.mean([np.sum((row - V @ (V.T @ row)) ** 2) for row in centred]) / total
    assert WORST(model, X, sensitive_features=sex) == pytest.approx(-max(errors.values()))
    assert GAP(model, X, sensitive_features=sex) == pytest.approx(-abs(errors["f"] - errors["m"]))
    assert -1 <= RECOVERY(model, X, sensitive_features=sex) < -0.6


@pytest.mark.parametrize("scorer", [WORST, GAP, RECOVERY])
def test_grid_search_over_a_pipeline(rows, scorer):
    X, sex = rows
    model = MinMaxFairPCA().set_fit_request(sensitive_features=True)
    pipeline = make_pipeline(StandardScaler(), model)
    grid = {"minmaxfairpca__n_components": [1, 2, 4]}
    search = GridSearchCV(pipeline, grid, scoring=scorer, cv=3, error_score="raise").fit(X, sensitive_features=sex)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all() and len(set(scores)) == 3
    if scorer is WORST:
        assert search.best_params_ == {"minmaxfairpca__n_components": 4}


def test_cross_validate_with_several(rows):
    X, sex = rows
    model = PCA(n_components=2).set_fit_request(sensitive_features=True)
    scoring = {"worst": WORST, "gap": GAP}
    found = cross_validate(model, X, scoring=scoring, cv=3, params={"sensitive_features": sex})
    assert (found["test_gap"] >= found["test_worst"]).all()


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("got no sensitive_features", lambda model, X, sex: GAP(model, X)),
        (
            "group_gap needs two",
            lambda model, X, sex: GAP(model, X, sensitive_features=["f"] * len(X)),
        ),
        ("what='worst_error'", lambda model, X, sex: GroupScorer("worst_error")(model, X, sensitive_features=sex)),
        (
            "needs two groups",
            lambda model, X, sex: RECOVERY(model, X, sensitive_features=["f"] * len(X)),
        ),
        ("all equal", lambda model, X, sex: GAP(model, np.ones_like(X), sensitive_features=sex)),
        (
            "transform",
            lambda _, X, sex: GAP(LogisticRegression().fit(X, sex), X, sensitive_features=sex),
        ),
    ],
)
def test_errors(rows, message, call):
    X, sex = rows
    model = PCA(n_components=2).fit(X, sensitive_features=sex)
    with pytest.raises((ValueError, TypeError, AttributeError), match=message):
        call(model, X, sex)


def test_recovery_needs_no_way_back(rows):
    X, sex = rows
    eraser = LinearEraser().fit(X, sensitive_features=sex)
    assert -0.6 < RECOVERY(eraser, X, sensitive_features=sex) < -0.3  # near one half, by whatever rows
    with pytest.raises(TypeError, match="LinearEraser has no inverse_transform"):
        GAP(eraser, X, sensitive_features=sex)


def test_groups_in_another_order_are_refused(rows):
    X, sex = rows
    frame = pd.DataFrame(X, index=[f"row {i}" for i in range(len(X))])
    model = PCA(n_components=2).fit(frame, sensitive_features=sex)
    turned = pd.Series(sex, index=frame.index).sample(frac=1.0, random_state=0)
    for scorer in (WORST, GAP, RECOVERY):
        with pytest.raises(ValueError, match="sensitive_features has the index of X in another order"):
            scorer(model, frame, sensitive_features=turned)
    assert GAP(model, frame, sensitive_features=turned.loc[frame.index]) == GroupScorer("group_gap")(
        model, frame, sensitive_features=sex
    )

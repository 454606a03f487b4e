"""With the tools that users have: strict types, pandas, Polars and Arrow, routing through pipelines and searches."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import fairpca
from fairpca import PCA, MeanFairPCA, MinMaxFairPCA
from fairpca.report import GroupScorer, Settings, compare
from fairpca.tables import as_table, prepare

SCRIPT = Path(__file__).parents[1] / "cases" / "typed_script.py"
QUICK = Settings(kernel_rows=60, permutations=5, folds=2, tree_rounds=0)

WORST = GroupScorer("worst_group_error")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    sex = rng.permutation(np.repeat(["f", "m"], [50, 70]))
    table = pd.DataFrame(rng.normal(size=(120, 4)) + (sex == "f")[:, None], columns=list("abcd"))
    return table.assign(word=np.where(table["a"] > 0, "up", "down"), sex=sex)


def test_a_strictly_typed_script_passes_and_runs(people, tmp_path):
    root = Path(fairpca.__file__).parents[1]
    # Only this package is followed: numpy and pandas would cost half a minute, and are not ours to check.
    options = ["--strict", "--no-site-packages", "--ignore-missing-imports", "--follow-imports=silent"]
    command = [sys.executable, "-m", "mypy", *options, "--python-version=3.11", "--cache-dir=cache", str(SCRIPT)]
    environment = {**os.environ, "MYPYPATH": str(root)}
    checked = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        SCRIPT.read_text().replace('drop=("word",)', "drop=3").replace('prepare(table, ["sex"]', "prepare(1, 2")
    )
    checked = subprocess.run(
        [*command[:-1], str(wrong)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 1 and "arg-type" in checked.stdout, "the types of the package say something"
    spec = importlib.util.spec_from_file_location("typed_script", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    prepared = script.read(path)
    assert "word" not in prepared.frame and script.projected(people[list("abcd")], people["sex"]).shape == (120, 3)
    table, interval = script.compared(prepared)
    assert list(table.index) == ["pca"] and interval.low < 9.5 < interval.high


KINDS = {"pandas": lambda t: t, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_three_libraries_are_one(people, kind):
    table = KINDS[kind](people)
    prepared, usual = (prepare(as_table(t), ["sex"]) for t in (table, people))
    pd.testing.assert_frame_equal(prepared.frame, usual.frame, check_dtype=False)
    assert prepared.labels.tolist() == usual.labels.tolist()
    numbers = KINDS[kind](people[list("abcd")])
    model = MinMaxFairPCA().fit(numbers, sensitive_features=prepared.labels.tolist())
    reference = MinMaxFairPCA().fit(people[list("abcd")].to_numpy(), sensitive_features=people["sex"].to_numpy())
    np.testing.assert_allclose(model.components_, reference.components_, atol=1e-10)
    found = np.asarray(model.transform(numbers))
    np.testing.assert_allclose(found, reference.transform(people[list("abcd")].to_numpy()), atol=1e-10)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_projections_come_out_as_frames(people, kind):
    model = PCA().set_output(transform=kind).fit(people[list("abcd")], sensitive_features=people["sex"])
    found = model.transform(people[list("abcd")])
    assert type(found).__module__.split(".")[0] == kind and list(found.columns) == ["pca0", "pca1"]


def test_comparisons_take_groups_of_three_libraries(people):
    X = people[list("abcd")].to_numpy()
    frames = [
        compare(X, groups, methods=["pca"], n_parts=2, settings=QUICK).frame
        for groups in (people["sex"], pl.Series(people["sex"].tolist()), pa.array(people["sex"].tolist()))
    ]
    usual, *others = (frame[frame["metric"] != "seconds"] for frame in frames)
    for frame in others:
        pd.testing.assert_frame_equal(frame, usual)


def test_routing_through_a_preparing_pipeline_and_a_classifier(people):
    y = (people["b"] + people["c"] > 1).to_numpy()
    steps = [
        ("prepare", ColumnTransformer([("numbers", StandardScaler(), list("abcd"))])),
        ("project", MeanFairPCA()),
        ("decide", LogisticRegression()),
    ]
    with sklearn.config_context(enable_metadata_routing=True):
        steps[1][1].set_fit_request(sensitive_features=True)
        pipeline = Pipeline(steps)
        search = GridSearchCV(pipeline, {"project__n_components": [1, 2]}, cv=3, error_score="raise")
        search.fit(people, y, sensitive_features=people["sex"])
        scores = cross_validate(
            pipeline, people, y, cv=3, params={"sensitive_features": people["sex"]}, error_score="raise"
        )
        model = search.best_estimator_[:2]
        Z = model.transform(people)
    gap = np.abs(Z[people["sex"] == "f"].mean(axis=0) - Z[people["sex"] == "m"].mean(axis=0)).max()
    assert gap < 1e-8, "the groups reached the projection"
    assert len(scores["test_score"]) == 3


def test_scores_may_be_weighted_by_the_fit_alone(people):
    """Weights go to the fit, groups to fit and score."""
    X, sex = people[list("abcd")].to_numpy(), people["sex"].to_numpy()
    weights = np.where(sex == "f", 3.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = PCA(n_components=1).set_fit_request(sensitive_features=True, sample_weight=True)
        params = {"sensitive_features": sex, "sample_weight": weights}
        found = cross_validate(model, X, cv=2, scoring=WORST, params=params, return_estimator=True)
        alone = cross_validate(
            PCA(n_components=1).set_fit_request(sensitive_features=True), X, cv=2, scoring=WORST,
            params={"sensitive_features": sex}, return_estimator=True,
        )  # fmt: skip
    first, second = found["estimator"][0].components_, alone["estimator"][0].components_
    assert np.abs(first - second).max() > 1e-4, "the weights reached the fit"

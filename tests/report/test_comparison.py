"""Comparisons: what is tabulated is what a slow loop finds; what cannot be said is said."""

import json

import numpy as np
import pandas as pd
import pytest
from extra_dimensions import three_axes
from sklearn.preprocessing import StandardScaler

from fairpca import cli
from fairpca._validation import encode_groups
from fairpca.report import Settings, compare
from fairpca.report.cells import parts_of

QUICK = Settings(kernel_rows=120, permutations=20, folds=3, tree_rounds=5)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 240
    sex = np.where(rng.random(n) < 0.3, "f", "m")
    X = rng.normal(size=(n, 6)) * np.where(sex[:, None] == "f", [1, 1, 1, 2, 3, 1], [3, 2, 1, 1, 1, 1])
    X[:, 0] += sex == "f"
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    return X, sex, y


@pytest.fixture(scope="module")
def found(rows):
    X, sex, y = rows
    return compare(X, sex, y, n_components=[2, 3], methods=["pca", "minmax_loss"], settings=QUICK)


def test_errors_are_those_of_a_slow_loop(rows, found):
    X, sex, y = rows
    parts = parts_of(encode_groups(sex), y, 5, 0)
    squares = np.empty(len(X))
    for part in range(5):
        scaler = StandardScaler().fit(X[parts != part])
        train, test = scaler.transform(X[parts != part]), scaler.transform(X[parts == part])
        V = np.linalg.svd(train, full_matrices=False)[2][:2].T
        squares[parts == part] = ((test - test @ V @ V.T) ** 2).sum(axis=1) / (train**2).sum(axis=1).mean() * 100
    for group in "fm":
        row = found.frame.query(
            "method == 'pca' and n_components == 2 and metric == @name", local_dict={"name": f"error:{group}"}
        )
        assert row["estimate"].item() == pytest.approx(squares[sex == group].mean())
        assert row["low"].item() < row["estimate"].item() < row["high"].item()


def test_parts_hold_every_group_and_class(rows):
    _, sex, y = rows
    parts = parts_of(encode_groups(sex), y, 5, 0)
    table = pd.crosstab(parts, [sex, y])
    assert (table.max() - table.min() <= 1).all()


def test_frame_table_and_text(found):
    assert set(found.frame["n_components"]) == {2, 3}
    assert {"variance", "error_gap", "kernel_auc", "linear_auc", "selection_gap:trees", "base_tpr_gap:logistic"} <= set(
        found.frame["metric"]
    )
    table = found.table(2, ["variance", "worst_loss"])
    assert list(table.index) == ["pca", "minmax_loss"]
    assert table["worst_loss"]["minmax_loss"] < table["worst_loss"]["pca"]
    assert (found.statuses["status"] == "optimal").all()
    means = found.values.query("metric == 'variance'").groupby(["method", "n_components"])["value"].mean()
    assert table["variance"]["pca"] == pytest.approx(means["pca", 2])
    loaded = json.loads(found.json_text())
    assert loaded["groups"] == dict(found.groups) and len(loaded["results"]) == len(found.frame)
    with pytest.raises(ValueError, match="the dimensions are 2, 3"):
        found.table(7)
    with pytest.raises(ValueError, match="no measure 'beauty'"):
        found.plot(y="beauty")


def test_small_groups_are_left_out_and_said(rows):
    X, sex, _ = rows
    sex = sex.astype(object)
    sex[:4], sex[4:34] = "x", "z"
    found = compare(X, sex, methods=["pca", "fpca_mean"], settings=QUICK)
    assert "'x' (4 rows)" in found.notes[0] and "'z' (30)" in found.notes[1]
    assert set(found.groups) == {"f", "m", "z"} and "fpca_mean" in found.skipped


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ["tsne"]}, "'tsne' is not known"),
        ({"methods": "pca"}, "is one word"),
        ({"n_components": 0}, "n_components=0 is out of range"),
        ({"n_components": []}, "at least one dimension"),
        ({"n_components": 9}, "No method could be used"),
        ({"n_parts": 1}, "n_parts=1"),
        ({"sensitive_features": ["f"] * 240}, "needs two such groups"),
        ({"y": [1]}, "y has 1 rows"),
    ],
)
def test_wrong_input(rows, changes, message):
    X, sex, _ = rows
    arguments = {"sensitive_features": sex, "methods": ["pca"], "settings": QUICK, **changes}
    with pytest.raises((ValueError, TypeError), match=message):
        compare(X, **arguments)


def test_command(rows, tmp_path, capsys):
    X, sex, y = rows
    data = tmp_path / "t.csv"
    pd.DataFrame(X, columns=list("abcdef")).assign(sex=sex, paid=y).to_csv(data, index=False)
    files = {kind: tmp_path / f"c.{kind}" for kind in ("csv", "json")}
    command = ["compare", str(data), "--sensitive", "sex", "--target", "paid", "--methods", "pca,minmax_loss"]
    command += ["--parts", "3", "--out", str(files["csv"]), "--json", str(files["json"])]
    assert cli.main(command) == 0
    printed = capsys.readouterr().out
    assert "2 components, new rows" in printed and "95% intervals for the gap" in printed
    assert all(path.exists() for path in files.values())
    frame = pd.read_csv(files["csv"])
    assert {"method", "n_components", "metric", "estimate", "low", "high", "chance", "n"} == set(frame.columns)
    assert cli.main([*command, "--components", "two"]) == 1
    assert "not a list of dimensions" in capsys.readouterr().err


def test_one_thread_computes(monkeypatch):
    """Threads spin while they wait; on a busy machine that took most of the time of a comparison."""
    from threadpoolctl import threadpool_info, threadpool_limits

    from fairpca.report import comparison

    seen, real = set(), comparison.measured_cell

    def watched(*arguments):
        seen.update((pool["user_api"], pool["num_threads"]) for pool in threadpool_info())
        return real(*arguments)

    monkeypatch.setattr(comparison, "measured_cell", watched)
    rng = np.random.default_rng(0)
    with threadpool_limits(2):
        comparison.compare(rng.normal(size=(60, 3)), np.repeat(["a", "b"], 30), methods=["pca"], n_parts=2)
    assert seen == {("openmp", 1), ("blas", 1)}


def test_rows_in_another_order_are_refused(rows):
    X, sex, y = rows
    frame = pd.DataFrame(X, index=[f"row {i}" for i in range(len(X))])
    turned = pd.Series(sex, index=frame.index).sample(frac=1.0, random_state=0)
    with pytest.raises(ValueError, match="sensitive_features has the index of X in another order"):
        compare(frame, turned, methods=["pca"], settings=QUICK)
    with pytest.raises(ValueError, match="y has the index of X in another order"):
        compare(frame, sex, pd.Series(y, index=frame.index).iloc[::-1], methods=["pca"], settings=QUICK)


def test_dimensions_of_numpy_and_missing_targets(rows):
    X, sex, y = rows
    found = compare(X, sex, methods=["pca"], n_components=np.int64(2), settings=QUICK)
    assert list(found.table(2).index) == ["pca"]
    for show in (found.table, found.plot):
        with pytest.raises(ValueError, match="n_components=7 was not compared; the dimensions are 2"):
            show(n_components=7)
    with pytest.raises(ValueError, match="y has missing values"):
        compare(X, sex, np.where(y == 1, 1.0, np.nan), methods=["pca"], settings=QUICK)


def test_three_groups_get_as_many_components_as_asked_for():
    found = compare(*three_axes(), n_components=[1, 2], methods=["pca", "minmax_loss"], n_parts=2, settings=QUICK)
    assert (found.statuses["components"] == found.statuses["n_components"]).all()
    table = found.table(1)
    assert table.loc["minmax_loss", "variance"] < table.loc["pca", "variance"]

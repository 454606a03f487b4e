"""What holds rows and groups, and what would be passed over in silence."""

import numpy as np
import pandas as pd
import pytest

from fairpca import PCA, GroupMoments, LinearEraser, MeanFairPCA, MinMaxFairPCA
from fairpca._validation import check_weights, encode_groups

SEX, AGE = ["f", "m", "f", "m"], [1, 1, 2, 2]


def holders():
    """The same columns in everything that holds columns: (what it is, two columns, one column)."""
    frame = pd.DataFrame({"sex": SEX, "age": AGE})
    yield "pandas", frame, frame["sex"]
    yield "lists", [list(row) for row in zip(SEX, AGE, strict=True)], SEX
    yield "objects", frame.to_numpy(dtype=object), np.array(SEX, dtype=object)
    yield "columns by name", {"sex": SEX, "age": AGE}, {"sex": np.array(SEX)}
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"sex": SEX, "age": AGE})
    yield "polars", table, table["sex"]
    yield "polars frame of one", table, table.select("sex")
    yield "polars categories", table, table["sex"].cast(polars.Categorical)
    pa = pytest.importorskip("pyarrow")
    arrow = pa.table({"sex": SEX, "age": AGE})
    yield "arrow", arrow, arrow.column("sex")
    yield "arrow batch", arrow.to_batches()[0], arrow.to_batches()[0].column(0)
    yield "arrow dictionary", arrow, arrow.column("sex").dictionary_encode()


@pytest.mark.parametrize("holder", holders(), ids=lambda holder: holder[0])
def test_groups_are_the_same_whatever_holds_them(holder):
    _, two, one = holder
    assert encode_groups(one, 4).labels == ("f", "m")
    assert encode_groups(one, 4).codes.tolist() == [0, 1, 0, 1]
    groups = encode_groups(two, 4)
    assert groups.labels == (("f", 1), ("f", 2), ("m", 1), ("m", 2))
    assert groups.codes.tolist() == [0, 2, 1, 3]


def missing():
    pa, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    yield pa.array(["a", None, "a"])
    yield pa.table({"g": [1, None, 2]})
    yield polars.Series(["a", None, "a"])
    yield polars.DataFrame({"g": [1.0, float("nan"), 2.0]})
    yield np.ma.array([1, 2, 1], mask=[0, 1, 0])


@pytest.mark.parametrize("groups", missing(), ids=lambda groups: type(groups).__name__)
def test_a_missing_group_is_named_whatever_holds_it(groups):
    with pytest.raises(ValueError, match=r"missing values in 1 row\(s\): 1\."):
        encode_groups(groups)


@pytest.mark.parametrize("rows", [{1, 2, 3}, 5.0j, object()], ids=["set", "number", "object"])
def test_what_has_no_rows_in_order_is_refused(rows):
    with pytest.raises((TypeError, ValueError), match="sensitive_features"):
        encode_groups(rows)


def test_a_lazy_frame_is_to_be_collected():
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="collect a lazy frame first"):
        encode_groups(polars.LazyFrame({"g": [1, 2]}))


@pytest.mark.parametrize("model", [PCA(1), MinMaxFairPCA(1), MeanFairPCA(1), LinearEraser()], ids=str)
def test_hidden_values_and_another_order_are_errors(model):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(20, 3)), columns=list("abc"), index=[f"row {i}" for i in range(20)])
    groups = pd.Series(np.arange(20) % 2, index=X.index, name="group")
    hidden = np.ma.masked_greater(X.to_numpy(), 1.0)
    with pytest.raises(ValueError, match=r"X is a masked array with \d+ hidden value"):
        model.fit(hidden, sensitive_features=groups.to_numpy())
    with pytest.raises(ValueError, match="has the index of X in another order"):
        model.fit(X, sensitive_features=groups.sample(frac=1.0, random_state=0))
    fitted = model.fit(X, sensitive_features=groups)
    with pytest.raises(ValueError, match="X is a masked array"):
        fitted.transform(hidden)
    # Other indexes are matched by position, as everywhere in scikit-learn, and so are masks that hide nothing.
    for same in (groups.reset_index(drop=True), groups.to_frame(), groups.to_numpy()):
        np.testing.assert_array_equal(model.fit(X, sensitive_features=same).mean_, fitted.mean_)
    open_rows = np.ma.array(X.to_numpy())
    np.testing.assert_array_equal(model.fit(open_rows, sensitive_features=groups.to_numpy()).mean_, fitted.mean_)


def test_batches_and_weights_are_looked_at_too():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0]}, index=["x", "y", "z"])
    groups = pd.Series([0, 1, 0], index=X.index)
    turned = groups.iloc[::-1]
    with pytest.raises(ValueError, match="sample_weight has the index of X in another order"):
        GroupMoments.from_data(X, groups, sample_weight=pd.Series([1.0, 2.0, 3.0], index=turned.index))
    with pytest.raises(ValueError, match="sensitive_features has the index of X in another order"):
        MinMaxFairPCA(1).partial_fit(X, sensitive_features=turned)
    with pytest.raises(ValueError, match=r"sample_weight is a masked array with 1 hidden value"):
        check_weights(np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1]), 3)


@pytest.mark.parametrize("numeric", [False, True])
def test_paths_are_looked_at_too(numeric):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 4)), index=[f"row {i}" for i in range(30)])
    y, group = pd.Series(np.arange(30) % 2, index=X.index), pd.Series(np.arange(30) % 3, index=X.index, name="g")
    model = MeanFairPCA(1, sensitive="numeric") if numeric else MeanFairPCA(1, fairness="eop")
    sensitive = group.to_frame().astype(float) if numeric else group
    with pytest.raises(ValueError, match="has the index of X in another order"):
        if numeric:
            model.path(X, sensitive_features=sensitive.iloc[::-1], n_components=[1, 2])
        else:
            model.path(X, y.iloc[::-1], sensitive_features=sensitive, n_components=[1, 2])
    assert len(model.path(X, y, sensitive_features=sensitive, n_components=[1, 2])) == 2

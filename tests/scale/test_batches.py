"""Moments from files, readers and frames, against those of all rows in memory."""

import gzip

import numpy as np
import pandas as pd
import pytest

from fairpca import PCA, GroupMoments, scale

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    n = 997
    frame = pd.DataFrame(rng.standard_normal((n, 3)) + [5, -1, 1e4], columns=["a", "b", "c"])
    frame["n"] = rng.integers(0, 9, n)
    frame["yes"] = rng.random(n) < 0.3
    frame["sex"] = rng.choice(["m", "f"], n, p=[0.7, 0.3])
    frame["age"] = rng.choice([20, 30, 40], n)
    frame["w"] = rng.integers(0, 4, n).astype(float)
    return frame


FEATURES = ["a", "b", "c", "n", "yes"]


def in_memory(frame, sensitive="sex", weight=None, features=FEATURES):
    return GroupMoments.from_data(
        frame[features].astype(float), frame[sensitive], sample_weight=None if weight is None else frame[weight]
    )


def assert_same(found, expected):
    assert found.labels == expected.labels
    assert list(map(type, found.labels)) == list(map(type, expected.labels))
    assert found.feature_names == expected.feature_names
    assert found.counts.dtype == expected.counts.dtype
    np.testing.assert_allclose(found.counts, expected.counts)
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-13)
    size = np.abs(expected.scatters).max()
    np.testing.assert_allclose(found.scatters, expected.scatters, atol=1e-12 * size, rtol=1e-12)


def write(frame, folder, pieces=3, **options):
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), pieces)):
        part = frame.iloc[rows]
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), folder / f"part{number}.parquet", **options)
    return folder


def sources(frame, folder):
    """Every kind of source, holding the same rows."""
    write(frame, folder, row_group_size=100)
    yield str(folder / "*.parquet")
    yield folder
    yield sorted(folder.glob("*.parquet"))
    yield frame
    yield pa.Table.from_pandas(frame)
    yield pa.record_batch(frame)
    yield (frame.iloc[i : i + 100] for i in range(0, len(frame), 100))
    yield pa.Table.from_pandas(frame).to_batches(max_chunksize=64)
    yield pytest.importorskip("pyarrow.dataset").dataset(folder)
    duckdb = pytest.importorskip("duckdb")
    yield duckdb.sql(f"select * from '{folder}/*.parquet'")
    polars = pytest.importorskip("polars")
    yield polars.scan_parquet(str(folder / "*.parquet"))
    yield polars.from_pandas(frame)
    yield [polars.from_pandas(frame.iloc[:10]), polars.from_pandas(frame.iloc[10:])]


@pytest.mark.parametrize("sensitive, weight", [("sex", None), ("age", None), (["sex", "age"], "w")])
def test_every_source_gives_the_moments_of_the_rows(people, tmp_path, sensitive, weight):
    expected = in_memory(people, sensitive, weight)
    seen = []
    for source in sources(people, tmp_path):
        found = GroupMoments.from_batches(
            source, sensitive=sensitive, features=FEATURES, weight=weight, progress=lambda where, n: seen.append(n)
        )
        assert_same(found, expected)
    assert sum(seen) == 13 * len(people)


def test_features_are_all_other_columns(people, tmp_path):
    frame = people.drop(columns="age")
    features = frame.drop(columns=["sex", "w"]).astype(float)
    expected = GroupMoments.from_data(features, frame["sex"], sample_weight=frame["w"])
    assert_same(GroupMoments.from_batches(frame, sensitive="sex", weight="w"), expected)
    frame.index = frame.index.to_numpy() ** 2  # which pandas writes into the file as a column
    frame.iloc[::2].to_parquet(tmp_path / "a.parquet")
    frame.iloc[1::2].to_parquet(tmp_path / "b.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "a.parquet").names
    assert_same(GroupMoments.from_batches(tmp_path, sensitive="sex", weight="w"), expected)


def test_csv_in_blocks_agrees_with_pandas(people, tmp_path, monkeypatch):
    frame = people.drop(columns=["sex", "yes"])
    frame["n"] = frame["n"].astype(object)
    frame.loc[900, "n"] = 1.5  # the first block looks like integers
    frame.iloc[:500].to_csv(tmp_path / "a.csv", index=False)
    with gzip.open(tmp_path / "b.csv.gz", "wt") as file:
        frame.iloc[500:].to_csv(file, index=False)
    together = pd.concat([pd.read_csv(path) for path in sorted(tmp_path.iterdir())], ignore_index=True)
    expected = GroupMoments.from_data(together[["a", "b", "c", "n"]], together["age"], sample_weight=together["w"])
    assert_same(GroupMoments.from_batches(tmp_path, sensitive="age", weight="w"), expected)
    assert_same(GroupMoments.from_batches(str(tmp_path / "*"), sensitive="age", weight="w"), expected)


@pytest.mark.parametrize(
    "texts, labels",
    [
        (["1", "1.0", "2"], (1.0, 2.0)),
        (["01", "1", "2"], (1, 2)),
        (["True", "false"], (False, True)),
        (["1", "x"], ("1", "x")),
        (["1", "inf"], ("1", "inf")),
    ],
)
def test_groups_of_csv_files_get_the_type_that_all_of_them_allow(tmp_path, texts, labels):
    lines = ["x,g", *(f"{number}.5,{text}" for number, text in enumerate(texts))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    found = GroupMoments.from_batches(tmp_path / "t.csv", sensitive="g")
    assert found.labels == labels and list(map(type, found.labels)) == list(map(type, labels))
    assert found.n_samples == len(texts)


def test_groups_are_told_apart_by_value_not_by_dictionary_code(tmp_path):
    X = np.arange(12.0).reshape(6, 2)
    names = [["b", "a"], ["a", "b"]]
    for number, dictionary in enumerate(names):
        group = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1]), pa.array(dictionary))
        rows = X[3 * number : 3 * number + 3]
        table = pa.table({"x": rows[:, 0], "y": rows[:, 1], "g": group})
        pq.write_table(table, tmp_path / f"{number}.parquet")
        assert table["g"].chunk(0).indices.to_pylist() == [0, 0, 1]
    expected = GroupMoments.from_data(pd.DataFrame(X, columns=["x", "y"]), ["b", "b", "a", "a", "a", "b"])
    assert_same(GroupMoments.from_batches(tmp_path, sensitive="g"), expected)
    tables = [pq.read_table(path) for path in sorted(tmp_path.iterdir())]
    assert_same(GroupMoments.from_batches(tables, sensitive="g"), expected)


def test_decimals_and_partition_columns(people, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select 1.5 as x, 2 as g union all select 2.5, 3 union all select 0.5, 3")
    expected = GroupMoments.from_data(pd.DataFrame({"x": [1.5, 2.5, 0.5]}), [2, 3, 3])
    assert_same(GroupMoments.from_batches(relation, sensitive="g"), expected)
    ds = pytest.importorskip("pyarrow.dataset")
    table = pa.Table.from_pandas(people[["a", "b", "sex"]], preserve_index=False)
    parts = ds.partitioning(pa.schema([("sex", pa.string())]), flavor="hive")
    ds.write_dataset(table, tmp_path, format="parquet", partitioning=parts)
    dataset = ds.dataset(tmp_path, partitioning=parts)
    assert_same(GroupMoments.from_batches(dataset, sensitive="sex"), in_memory(people, features=["a", "b"]))
    young = people[people["a"] > 5]
    kept = dataset.filter(ds.field("a") > 5)
    assert_same(GroupMoments.from_batches(kept, sensitive="sex"), in_memory(young, features=["a", "b"]))


@pytest.mark.parametrize("bad, message", [(None, "no value"), (np.nan, "no value"), (-np.inf, "an infinite value")])
def test_bad_values_are_found_by_file_row_group_and_column(people, tmp_path, bad, message):
    write(people, tmp_path, row_group_size=100)
    table = pq.read_table(tmp_path / "part1.parquet")
    values = table["b"].to_pylist()
    values[217] = bad
    table = table.set_column(table.schema.get_field_index("b"), "b", pa.array(values, pa.float64()))
    pq.write_table(table, tmp_path / "part1.parquet", row_group_size=100)
    with pytest.raises(ValueError, match=rf"part1\.parquet, row group 2: column 'b' has {message} in row 17 "):
        GroupMoments.from_batches(tmp_path, sensitive="sex", features=FEATURES)
    frame = people.copy()
    frame.loc[5, "sex"] = None
    write(frame, tmp_path)
    with pytest.raises(
        ValueError, match=r"part0\.parquet, row group 0: the sensitive column 'sex' has missing values in 1 row"
    ):
        GroupMoments.from_batches(tmp_path, sensitive="sex", features=FEATURES)
    with pytest.raises(ValueError, match=r"the frame: the sensitive column 'sex' has missing values in 1 row\(s\): 5"):
        GroupMoments.from_batches(frame, sensitive="sex", features=FEATURES)


def change(frame, folder, **columns):
    """Write two files; the second has other columns."""
    write(frame, folder, pieces=2)
    second = frame.iloc[500:].assign(**columns)
    pq.write_table(pa.Table.from_pandas(second, preserve_index=False), folder / "part1.parquet")
    return folder


def test_types_and_columns_are_compared_between_files(people, tmp_path):
    read = lambda **options: GroupMoments.from_batches(tmp_path, **{"sensitive": "age", **options})  # noqa: E731
    frame = people[["a", "b", "age"]]
    change(frame, tmp_path, age=frame["age"].astype(str))
    with pytest.raises(ValueError, match=r"part1.*'age' holds text, but numbers in .*part0"):
        read()
    change(frame, tmp_path, age=frame["age"] > 20)
    with pytest.raises(ValueError, match=r"part1.*'age' holds booleans, but numbers in .*part0"):
        read()
    change(frame, tmp_path, age=frame["age"].astype("int8"), a=frame["a"].astype("float32"))
    assert read().labels == (20, 30, 40)
    change(frame, tmp_path, b=frame["b"].astype(str))
    with pytest.raises(ValueError, match=r"part1.*column\(s\) 'b' hold no numbers \(text\)"):
        read()
    change(frame, tmp_path, z=1.0)
    with pytest.raises(ValueError, match=r"part1.*there are columns 'z', which .*part0.* does not have"):
        read()
    assert read(features=["b"]).feature_names == ("b",)
    change(frame.drop(columns="b"), tmp_path)
    change(frame, tmp_path)
    with pytest.raises(ValueError, match=r"there is no column 'q'; there are 'a', 'b', 'age'"):
        read(features=["q"])
    pq.write_table(pa.table({"a": [1.0], "age": [20]}), tmp_path / "part1.parquet")
    with pytest.raises(ValueError, match=r"part1.*there is no column 'b'"):
        read()


@pytest.mark.parametrize(
    "source, options, error, message",
    [
        (3, {}, TypeError, "source is of type int"),
        ([(np.zeros((2, 1)), [0, 1])], {}, TypeError, "from_chunks"),
        ("nowhere.parquet", {}, FileNotFoundError, "There is no file 'nowhere.parquet'"),
        ("nowhere/*.csv", {}, FileNotFoundError, "matches no file"),
        (__file__, {}, ValueError, "neither Parquet .* nor CSV"),
        ([], {}, ValueError, "there is no row"),
        (pd.DataFrame({"g": [1]}), {}, ValueError, "no column is left"),
        (pd.DataFrame({"g": [1], "x": [1.0]}), {"weight": "g"}, ValueError, "named twice"),
        (pd.DataFrame({"g": [1], "x": [1.0]}), {"features": "x"}, ValueError, "must be a list"),
        (pd.DataFrame({"g": [1], "x": [1.0]}), {"features": []}, ValueError, "features is empty"),
        (pd.DataFrame({"g": [1], "x": [-1.0]}), {"weight": "x", "features": ["x"]}, ValueError, "named twice"),
        (pd.DataFrame({"g": [1], "x": [1.0], "w": [-1.0]}), {"weight": "w"}, ValueError, "'w' is -1.0 in row 0"),
        (pd.DataFrame([[1, 2.0, 3.0]], columns=["g", "x", "x"]), {}, ValueError, "'x' occur twice"),
        (pd.DataFrame({"g": [1], "x": [1e200]}), {}, None, ""),
        (pd.DataFrame({"g": [1, 1], "x": [1e200, 2.0]}), {}, ValueError, "the frame: .*squares overflow"),
    ],
)
def test_what_cannot_be_read_is_explained(source, options, error, message):
    if error is None:
        assert GroupMoments.from_batches(source, sensitive="g", **options).n_samples == 1
        return
    with pytest.raises(error, match=message):
        GroupMoments.from_batches(source, sensitive="g", **options)


def test_pyarrow_is_asked_for(monkeypatch, tmp_path):
    from fairpca.scale import readers

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(readers, "import_module", absent)
    (tmp_path / "a.csv").write_text("x,g\n1,2\n")
    with pytest.raises(ImportError, match=r"pip install 'fairpca\[scale\]'"):
        GroupMoments.from_batches(tmp_path / "a.csv", sensitive="g")


def test_projections_are_those_of_transform_and_bring_their_groups(people):
    model = PCA(2).fit(people[FEATURES], sensitive_features=people["sex"])
    batches = [people.iloc[start : start + 160] for start in range(0, len(people), 160)]
    Z, groups = scale.project(batches, model, sensitive="sex", features=FEATURES)
    np.testing.assert_allclose(Z, model.transform(people[FEATURES]))
    assert [groups.labels[code] for code in groups.codes] == people["sex"].tolist()
    with pytest.raises(ValueError, match="column 'a' has no value in row 3"):
        people.loc[3, "a"] = np.nan
        scale.project(people, model, sensitive="sex", features=FEATURES)

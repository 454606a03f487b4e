"""Moments of Dask frames and arrays: the same bits whoever computes them."""

import itertools

import numpy as np
import pandas as pd
import pytest

from fairpca import GroupMoments

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((1000, 3)) + [5, -1, 1e4], columns=["a", "b", "c"])
    frame["sex"] = rng.choice(["m", "f"], 1000, p=[0.7, 0.3])
    frame["w"] = rng.integers(1, 4, 1000).astype(float)
    return frame


def assert_bits(found, expected):
    assert found.labels == expected.labels and found.feature_names == expected.feature_names
    for name in ("counts", "means", "scatters"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def assert_close(found, expected, tolerance=1e-12):
    assert found.labels == expected.labels
    np.testing.assert_allclose(found.counts, expected.counts)
    np.testing.assert_allclose(found.means, expected.means, rtol=tolerance)
    size = np.abs(expected.scatters).max()
    np.testing.assert_allclose(found.scatters, expected.scatters, rtol=tolerance, atol=tolerance * size)


def tree_by_hand(frame, edges):
    level = [
        GroupMoments.from_data(part[["a", "b", "c"]], part["sex"], sample_weight=part["w"])
        for part in (frame.iloc[a:b] for a, b in itertools.pairwise(edges))
    ]
    while len(level) > 1:
        level = [level[i].merge(level[i + 1]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    return level[0]


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_frame(people, scheduler):
    frame = dd.from_pandas(people, npartitions=7, sort=False)
    with dask.config.set(scheduler=scheduler):
        found = GroupMoments.from_dask(frame, sensitive="sex", weight="w")
    edges = np.cumsum([0, *frame.map_partitions(len).compute(scheduler="synchronous")])
    assert_bits(found, tree_by_hand(people, edges))
    whole = GroupMoments.from_data(people[["a", "b", "c"]], people["sex"], sample_weight=people["w"])
    assert_close(found, whole)
    one = GroupMoments.from_dask(frame, sensitive="sex", features=["c"])
    assert one.feature_names == ("c",) and one.counts.dtype == np.int64


def test_array_with_blocks_of_unknown_size(people):
    X = people[["a", "b", "c"]].to_numpy()
    sex = people["sex"].to_numpy()
    expected = GroupMoments.from_data(X, sex)
    array = da.from_array(X, chunks=(130, -1))
    for groups in (sex, people["sex"], da.from_array(sex.astype("U1"), chunks=130)):
        assert_close(GroupMoments.from_dask(array, groups), expected)
    unknown = dd.from_pandas(people, npartitions=5, sort=False)
    block = unknown[["a", "b", "c"]].to_dask_array()
    assert np.isnan(block.chunks[0]).all()
    assert_close(GroupMoments.from_dask(block, unknown["sex"]), expected)
    weighted = GroupMoments.from_dask(block, unknown["sex"], weight=unknown["w"], features=["a", "b", "c"])
    assert_close(weighted, GroupMoments.from_data(X, sex, sample_weight=people["w"]))
    assert weighted.feature_names == ("a", "b", "c")
    with pytest.raises(ValueError, match=r"unknown numbers of rows.*compute_chunk_sizes"):
        GroupMoments.from_dask(block, sex)
    with pytest.raises(ValueError, match="sensitive_features has 5 blocks, data has 8"):
        GroupMoments.from_dask(array, unknown["sex"])
    with pytest.raises(ValueError, match="sensitive_features has 10 rows but data has 1000"):
        GroupMoments.from_dask(array, sex[:10])


def test_empty_partitions_count_for_nothing(people):
    frame = dd.from_pandas(people, npartitions=4, sort=False)
    some = frame[frame["a"] > 6.5]
    chosen = people[people["a"] > 6.5]
    assert_close(
        GroupMoments.from_dask(some, sensitive="sex", weight="w"),
        GroupMoments.from_data(chosen[["a", "b", "c"]], chosen["sex"], sample_weight=chosen["w"]),
    )
    with pytest.raises(ValueError, match="there is no row"):
        GroupMoments.from_dask(frame[frame["a"] > 100], sensitive="sex")


def test_bad_partitions_are_named(people):
    people.loc[700, "b"] = np.inf
    frame = dd.from_pandas(people, npartitions=4, sort=False)
    with pytest.raises(ValueError, match="partition 2: column 'b' has an infinite value"):
        GroupMoments.from_dask(frame, sensitive="sex")
    array = da.from_array(people[["a", "b"]].to_numpy(), chunks=(250, -1))
    with pytest.raises(ValueError, match=r"partition 2: X contains NaN or infinite values in feature\(s\) \[1\]"):
        GroupMoments.from_dask(array, people["sex"])
    with pytest.raises(ValueError, match="2 blocks of columns"):
        GroupMoments.from_dask(array.rechunk((250, 1)), people["sex"])
    with pytest.raises(ValueError, match="name the column"):
        GroupMoments.from_dask(frame)
    with pytest.raises(TypeError, match="Dask DataFrame or a Dask array"):
        GroupMoments.from_dask(people, sensitive="sex")
    with pytest.raises(ValueError, match="no column 'q'"):
        GroupMoments.from_dask(frame, sensitive="q")

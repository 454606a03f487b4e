"""The recipes for other engines, run as they stand on the page; where an engine is missing, so is its test."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairpca import GroupMoments, scale

PAGE = Path(__file__).parents[2] / "chapters/beyond/scale.md"
ENGINES = {"pyspark": "mapInPandas", "ray": "map_batches"}


def recipe(call):
    """Return the one block of the page that calls an engine."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf8"), re.DOTALL | re.MULTILINE)
    (found,) = (block for block in blocks if call in block)
    return found


def run(call, people):
    # As in a script: functions of the main module travel to the workers by value.
    names = {"__name__": "__main__", "people": people, "scale": scale}
    exec(compile(recipe(call), str(PAGE), "exec"), names)
    return names["moments"]


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 3)) * [1, 2, 3] + [0, 10, 1e4], columns=list("abc"))
    frame["sex"] = rng.choice(["f", "m"], len(frame), p=[0.3, 0.7])
    return frame


@pytest.fixture
def limit(frame):
    """Beyond it there are three rows, so that some parts have none."""
    return float(np.sort(frame["a"])[-4])


def assert_same(found, frame):
    expected = GroupMoments.from_data(frame.drop(columns="sex"), frame["sex"])
    assert found.labels == expected.labels and found.feature_names == expected.feature_names
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-12)
    size = np.abs(expected.scatters).max()
    np.testing.assert_allclose(found.scatters, expected.scatters, rtol=1e-12, atol=1e-12 * size)


def missing(engine):
    return pytest.mark.skipif(
        importlib.util.find_spec(engine) is None, reason=f"{engine} is not installed; pip install {engine} to try this"
    )


def test_the_page_has_a_recipe_for_each_engine():
    for call in ENGINES.values():
        text = recipe(call)
        compile(text, "recipe", "exec")
        assert "merge_parts" in text and len([line for line in text.splitlines() if line.strip()]) <= 13


@missing("pyarrow")
@missing("dask")
def test_files_and_dask(frame, tmp_path):
    """The recipe that needs the extra `scale`, which readers of the book do not have."""
    names = {"people": frame, "folder": tmp_path, "GroupMoments": GroupMoments}
    exec(compile(recipe("from_dask"), str(PAGE), "exec"), names)
    assert_same(names["files"], frame)
    assert_same(names["cluster"], frame)


@missing("pyspark")
@pytest.mark.filterwarnings("ignore")  # Spark's own, of newer versions of pandas
def test_spark(frame, limit, monkeypatch, tmp_path):
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    frame.to_parquet(tmp_path / "people.parquet")
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        people = session.read.parquet(str(tmp_path / "people.parquet")).repartition(5)
        assert_same(run("mapInPandas", people), frame)
        assert_same(run("mapInPandas", people.filter(people.a > limit)), frame[frame["a"] > limit])
    finally:
        session.stop()


@missing("ray")
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray(frame, limit):
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        people = ray.data.from_pandas(frame).repartition(5)
        assert_same(run("map_batches", people), frame)
        # Blocks with the same content are two blocks.
        assert_same(run("map_batches", ray.data.from_pandas([frame, frame])), pd.concat([frame, frame]))
        assert_same(run("map_batches", people.filter(expr=f"a > {limit!r}")), frame[frame["a"] > limit])
    finally:
        ray.shutdown()

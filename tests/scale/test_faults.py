"""Killed workers, truncated and replaced files: the bits of an undisturbed run, or an error."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairpca import GroupMoments
from fairpca.scale import merge_parts

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    found = pd.DataFrame(rng.standard_normal((1200, 3)) + [5, -1, 1e4], columns=["a", "b", "c"])
    found["sex"] = rng.choice(["m", "f"], 1200)
    return found


@pytest.fixture
def files(frame, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(3):
        table = pa.Table.from_pandas(frame.iloc[400 * number : 400 * (number + 1)], preserve_index=False)
        pq.write_table(table, folder / f"part{number}.parquet", row_group_size=100, write_page_checksum=True)
    return folder


def assert_bits(found, expected):
    assert found.to_bytes() == expected.to_bytes()


# --------------------------------------------------------------------------------------------------------------------
# Merging by key


def parts(frame, n=7):
    return [
        (f"part {i}", GroupMoments.from_data(piece[["a", "b", "c"]], piece["sex"]))
        for i, piece in enumerate(frame.iloc[rows] for rows in np.array_split(np.arange(len(frame)), n))
    ]


def test_every_key_counts_once_whatever_the_order(frame):
    given = parts(frame)
    keys = [key for key, _ in given]
    expected = merge_parts(given, keys)
    shuffled = [given[i] for i in np.random.default_rng(0).permutation(7)]
    assert_bits(merge_parts(shuffled, keys), expected)
    assert_bits(merge_parts([*shuffled, *given[2:5]], keys), expected)
    assert_bits(merge_parts([(key, part.to_bytes()) for key, part in shuffled], keys), expected)
    whole = GroupMoments.from_data(frame[["a", "b", "c"]], frame["sex"])
    np.testing.assert_allclose(expected.scatters, whole.scatters, rtol=1e-11, atol=1e-8)
    assert_bits(merge_parts([*given, ("empty", None)], [*keys, "empty"]), expected)


def test_what_is_missing_or_does_not_agree_is_an_error(frame):
    given = parts(frame)
    keys = [key for key, _ in given]
    with pytest.raises(ValueError, match="1 of 7 parts are missing: 'part 3'"):
        merge_parts(given[:3] + given[4:], keys)
    with pytest.raises(ValueError, match="part 'part 1' came twice with different content"):
        merge_parts([*given, ("part 1", given[2][1])], keys)
    with pytest.raises(ValueError, match="'part 1' came twice"):
        merge_parts([*given, ("part 1", None)], keys)
    with pytest.raises(ValueError, match="nobody asked for: 'other'"):
        merge_parts([*given, ("other", given[2][1])], keys)
    with pytest.raises(ValueError, match="names a part twice"):
        merge_parts(given, [*keys, "part 1"])
    with pytest.raises(ValueError, match=r"'part 0'.* holds no fairpca moments, or is damaged"):
        merge_parts([("part 0", given[0][1].to_bytes()[:-9]), *given[1:]], keys)
    with pytest.raises(ValueError, match="there is no row"):
        merge_parts([("empty", None)], ["empty"])


# --------------------------------------------------------------------------------------------------------------------
# Files


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_truncated_files_are_named(files, share):
    path = files / "part1.parquet"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"part1\.parquet cannot be read"):
        GroupMoments.from_batches(files, sensitive="sex")


def test_damaged_pages_are_named(files):
    path = files / "part1.parquet"
    content = bytearray(path.read_bytes())
    content[40:400] = bytes(360)
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"part1\.parquet"):
        GroupMoments.from_batches(files, sensitive="sex")


def test_truncated_text_is_named(frame, tmp_path):
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    content = path.read_bytes()
    path.write_bytes(content[: content.rindex(b"\n", 0, len(content) - 1) + 15])  # in the middle of the last line
    with pytest.raises(ValueError, match=r"t\.csv cannot be read: .*Expected 4 columns"):
        GroupMoments.from_batches(path, sensitive="sex")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_file_that_is_replaced_during_the_run_is_named(files, frame, number):
    """Before, while and after it is read."""
    seen = []

    def replace(where, rows):
        seen.append(where)
        if len(seen) == 5:  # in the first row group of the second file
            new = files / "new.parquet"
            pq.write_table(pa.Table.from_pandas(frame.iloc[:400], preserve_index=False), new, row_group_size=100)
            os.replace(new, files / f"part{number}.parquet")

    with pytest.raises(ValueError, match=rf"part{number}\.parquet was changed during the run"):
        GroupMoments.from_batches(files, sensitive="sex", progress=replace)
    assert GroupMoments.from_batches(files, sensitive="sex").n_samples == 1200


# --------------------------------------------------------------------------------------------------------------------
# A cluster of two processes


def slow_parts(frame, folder, n=10):
    """Partitions that note when they were made, and take a moment."""
    import dask
    import dask.dataframe as dd

    def piece(number):
        time.sleep(0.15)
        Path(folder, f"{number}-{time.monotonic_ns()}").touch()
        return frame.iloc[number * 120 : (number + 1) * 120]

    made = [dask.delayed(piece, pure=True)(number, dask_key_name=f"piece-{number}") for number in range(n)]
    return dd.from_delayed(made, meta=frame.iloc[:0], verify_meta=False)


def when_made(folder, count, action):
    """Do something in the background as soon as so many partitions were made."""

    def watch():
        deadline = time.monotonic() + 60
        while len(list(folder.iterdir())) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        action()

    watcher = threading.Thread(target=watch)
    watcher.start()
    return watcher


def test_bits_do_not_depend_on_workers_or_on_one_that_is_killed(frame, tmp_path):
    distributed, dask = (pytest.importorskip(name) for name in ("distributed", "dask"))

    folder = tmp_path / "made"
    folder.mkdir()
    with dask.config.set(scheduler="synchronous"):
        expected = GroupMoments.from_dask(slow_parts(frame, folder), sensitive="sex")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    with distributed.LocalCluster(**options) as two, distributed.Client(two):
        for old in folder.iterdir():
            old.unlink()
        victim = next(worker.pid for worker in two.workers.values() if worker.pid is not None)
        watcher = when_made(folder, 5, lambda: os.kill(victim, signal.SIGKILL))
        found = GroupMoments.from_dask(slow_parts(frame, folder), sensitive="sex")
        watcher.join()
        assert_bits(found, expected)

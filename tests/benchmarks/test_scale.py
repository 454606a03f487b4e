"""The benchmark of scale runs and reports what it measured."""

import bench_scale as scale
import pytest

pytest.importorskip("pyarrow")


def test_quick_run_reports(capsys, monkeypatch):
    monkeypatch.setattr(scale, "_ROWS", {True: 3000, False: 3000})
    monkeypatch.setattr(scale, "_GENERATED", {True: 2000, False: 2000})
    monkeypatch.setattr(scale, "in_own_process", lambda function, **size: function(**size))
    monkeypatch.setattr(scale, "on_workers", lambda **size: {"seconds_1": 2.0, "seconds_2": 1.0, "same_bits": 1.0})
    table = scale.run(quick=True).set_index("measured")
    assert table.loc["Dask, two processes, seconds", "ratio"] == 0.5
    unknown = table.index[table["value"].isna()]
    assert all(name.startswith("dask-ml") and "pip install dask-ml" in name for name in unknown), unknown
    assert (
        any(name.startswith("dask-ml") for name in table.index)
        and "scikit-learn IncrementalPCA, seconds" in table.index
    )
    measured = table["value"].drop(["error at offset 1", *unknown])
    assert (table.loc[[f"{kind}: reading, CPU seconds" for kind in ("Parquet", "CSV")], "ratio"] == 1.0).all() and (
        measured >= 0
    ).all()
    assert table.loc["permuted partitions, relative difference", "value"] < 1e-12
    assert table.loc["error at offset 1e+08", "value"] < 1e-8
    printed = capsys.readouterr().out
    assert printed.count("\n") == len(table) and printed.count("not measured") == len(unknown)

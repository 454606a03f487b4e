"""The benchmark of scale runs and reports what it measured."""

import pytest

from fairpca.bench import scale

pytest.importorskip("pyarrow")


def test_quick_run_reports(capsys, monkeypatch):
    monkeypatch.setattr(scale, "_ROWS", {True: 3000, False: 3000})
    monkeypatch.setattr(scale, "_GENERATED", {True: 2000, False: 2000})
    monkeypatch.setattr(scale, "in_own_process", lambda function, **size: function(**size))
    monkeypatch.setattr(scale, "on_workers", lambda **size: {"seconds_1": 2.0, "seconds_2": 1.0, "same_bits": 1.0})
    table = scale.run(quick=True).set_index("measured")
    assert table.loc["Dask, two processes, seconds", "ratio"] == 0.5
    assert table.loc["reading, seconds", "ratio"] == 1.0 and (table["value"].drop("error at offset 1") >= 0).all()
    assert table.loc["permuted partitions, relative difference", "value"] < 1e-12
    assert table.loc["error at offset 1e+08", "value"] < 1e-8
    assert capsys.readouterr().out.count("\n") == len(table)

"""Declared inputs: what a cell reads decides what is computed again, and nothing else may be read."""

from pathlib import Path

import pandas as pd
import pytest

from fairpca.experiments.engine.inputs import InputError
from fairpca.experiments.engine.runner import (
    Cell,
    ResultsError,
    in_order,
    load_results,
    register,
    run,
    save_results,
    status,
)
from fairpca.published.declarations import papers

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _numbers(tree):
    folder = tree / "data" / "published" / "toy"
    folder.mkdir()
    (folder / "numbers.csv").write_text("metric,value\nerror,1.5\n")


def make(name, value, **more):
    def cell(*, split):
        return {"value": value() if callable(value) else value}

    register(
        name,
        cells=lambda profile: [Cell(split=0)],
        run_cell=cell,
        tabulate=lambda frame: frame[["value"]],
        **more,
    )


def save(name, tree, store):
    run(name, "paper", store=store, verbose=0)
    save_results(name, "paper", store=store, folder=tree / "data" / "results")


def test_published_numbers_are_inputs(tree, tmp_path):
    path = tree / "data" / "published" / "toy" / "numbers.csv"
    make("toy/judge", lambda: len(path.read_text()), inputs=("published/toy/numbers",))
    save("toy/judge", tree, tmp_path / "store")
    path.write_text(path.read_text() + "\n")
    assert load_results("toy/judge").stale_reasons == ["the input published/toy/numbers has changed"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_undeclared_inputs_are_refused_however_they_are_read(tree, tmp_path, jobs):
    make("toy/source", 1.0)
    save("toy/source", tree, tmp_path / "store")
    ways = {
        "'toy/source'": lambda: float(load_results("toy/source").table["value"][0]),
        "'toy/source' ": lambda: len((tree / "data/results/toy/source.cells.csv.gz").read_bytes()),
        "'published/toy/numbers'": lambda: len(pd.read_csv(tree / "data/published/toy/numbers.csv")),
    }
    for said, read in ways.items():
        make("toy/reader", read)
        with pytest.raises(RuntimeError, match=rf"reads {said.strip()}, .*not declared.*inputs=\({said.strip()},\)"):
            run("toy/reader", store=tmp_path / "store", verbose=0)
    make("toy/reader", ways["'toy/source'"], inputs=("toy/source",))
    assert run("toy/reader", store=tmp_path / "store", verbose=0)["value"].tolist() == [1.0]
    # A table may not read in passing either.
    register(
        "toy/table",
        cells=lambda profile: [Cell(split=0)],
        run_cell=lambda split: {"value": 1.0},
        tabulate=lambda frame: load_results("toy/source").table,
    )
    with pytest.raises(InputError, match="not declared"):
        run("toy/table", store=tmp_path / "store", verbose=0)


def test_an_input_that_changes_meanwhile(tree, tmp_path):
    make("toy/source", 1.0)
    save("toy/source", tree, tmp_path / "store")

    def change():
        path = tree / "data" / "results" / "toy" / "source.csv"
        path.write_text(path.read_text() + "\n")
        return 1.0

    make("toy/reader", change, inputs=("toy/source",))
    with pytest.raises(RuntimeError, match=r"'toy/source'.* is not the one with which this run began"):
        run("toy/reader", store=tmp_path / "store", verbose=0)


def test_missing_inputs_say_how_to_make_them(tree, tmp_path):
    make("toy/reader", 1.0, inputs=("toy/nothing",))
    with pytest.raises(InputError, match="fairpca run toy/nothing --profile paper --save"):
        run("toy/reader", store=tmp_path / "store", verbose=0)
    assert status("toy/reader", store=tmp_path / "store").done == 0
    for wrong in ("toy", "toy/reader", "published/x"):
        with pytest.raises(ValueError, match="cannot have the input"):
            make("toy/reader", 1.0, inputs=(wrong,))


def test_experiments_come_after_what_they_read():
    make("toy/a", 1.0, inputs=("toy/b", "published/toy/numbers"))
    make("toy/b", 1.0, inputs=("toy/c",))
    make("toy/c", 1.0)
    make("toy/d", 1.0)
    assert in_order(["toy/a", "toy/d", "toy/b", "toy/c"]) == ["toy/d", "toy/c", "toy/b", "toy/a"]
    assert in_order(["toy/a", "toy/c"]) == ["toy/c", "toy/a"]
    make("toy/c", 1.0, inputs=("toy/a",))
    with pytest.raises(ValueError, match="in a circle"):
        in_order(["toy/a"])


def test_edited_and_mixed_files_are_refused_by_name(tree, tmp_path):
    make("toy/source", 1.0)
    save("toy/source", tree, tmp_path / "store")
    folder = tree / "data" / "results" / "toy"
    for suffix in ("csv", "cells.csv.gz", "json"):
        path = folder / f"source.{suffix}"
        before = path.read_bytes()
        path.write_bytes(before[:-3])
        with pytest.raises(ResultsError, match=rf"source\.{suffix}.*fairpca run toy/source"):
            load_results("toy/source")
        path.unlink()
        with pytest.raises((ResultsError, LookupError), match="fairpca run toy/source"):
            load_results("toy/source")
        path.write_bytes(before)
    (folder / ".fairpca-0123456789abcdef").write_text("left by a killed run")
    save_results("toy/source", "paper", store=tmp_path / "store", folder=tree / "data" / "results")
    assert sorted(path.name for path in folder.iterdir()) == ["source.cells.csv.gz", "source.csv", "source.json"]


def test_the_engine_names_no_paper():
    # Studies stand in folders called by plain words, such as "scale".
    names = [paper.name for paper in papers() if paper.kind == "paper"]
    assert len(names) >= 3
    for path in (ROOT / "fairpca" / "experiments" / "engine").glob("*.py"):
        assert not [name for name in names if name in path.read_text(encoding="utf8")], path.name

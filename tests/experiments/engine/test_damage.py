"""What goes wrong around a run: damaged stores, processes that end, clusters that are not there, shared stores."""

import gc
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import toy_experiment

from fairpca import cli
from fairpca.experiments import Cell, register, run, save_results
from fairpca.experiments.engine import attendance, provenance, results
from fairpca.experiments.engine.claims import Claims, _place
from fairpca.experiments.engine.runner import ClusterError, ResultsError, RunFailed, Store, StoreError, get

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store.sqlite"


def change(store, statement):
    with sqlite3.connect(store) as connection:
        assert connection.execute(statement).rowcount == 1


# Damaged stores ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "assignment",
    [
        "payload = replace(payload, '\"rank\": 3', '\"rank\": 4')",
        "payload = substr(payload, 2)",
        "payload = CAST(x'ff' || payload AS TEXT)",
        "payload = NULL",
        "payload = '[]'",
        "wall_seconds = wall_seconds + 1",
        "versions = '{'",
        "checksum = NULL",
    ],
)
def test_a_damaged_cell_is_named_and_can_be_taken_out(store, capsys, assignment):
    run("toy/table", store=store, verbose=0)
    where = "json_extract(cell, '$.split') = 1 AND json_extract(cell, '$.method') = 'two'"
    change(store, f"UPDATE cells SET {assignment} WHERE {where}")
    with pytest.raises(StoreError, match=r'store\.sqlite.*"method":"two","split":1.*toy/table.*--drop-damaged'):
        run("toy/table", store=store, verbose=0)
    assert cli.main(["run", "toy/table", "--store", str(store), "--drop-damaged"]) == 0
    assert "1 damaged cells taken out" in capsys.readouterr().out
    run("toy/table", store=store, verbose=0)


def test_databases_of_other_programs_are_left_alone(store):
    for table in ("bookmarks (x)", "cells (x)"):
        store.unlink(missing_ok=True)
        with sqlite3.connect(store) as connection:
            connection.execute(f"CREATE TABLE {table}")
        before = store.read_bytes()
        with pytest.raises(StoreError, match=rf"another program .*{table.partition(' ')[0]}.*nothing was changed"):
            run("toy/table", store=store, verbose=0)
        assert store.read_bytes() == before


def test_a_cell_returns_something(store):
    register("toy/none", cells=lambda p: [Cell(split=0)], run_cell=lambda split: [], tabulate=lambda frame: frame)
    with pytest.raises(RunFailed, match="returned no record"):
        run("toy/none", store=store, verbose=0)


# Processes that end --------------------------------------------------------------------------------------------------


def deadly(way):
    def cell(*, split):
        if split == 1:
            os.kill(os.getpid(), signal.SIGKILL) if way == "killed" else os._exit(3)
        return {"value": split}

    register(
        f"toy/{way}",
        cells=lambda profile: [Cell(split=split) for split in range(6)],
        run_cell=cell,
        tabulate=lambda frame: frame,
    )


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_cell_that_ends_its_process_is_named_and_the_others_are_computed(store, jobs):
    deadly("killed")
    for _ in range(2):
        with pytest.raises(RunFailed, match="1 of 6 cells") as caught:
            run("toy/killed", store=store, jobs=jobs, isolated=True, verbose=0)
        assert list(caught.value.failures) == [Cell(split=1)]
        assert "died (SIGKILL" in next(iter(caught.value.failures.values()))
        with sqlite3.connect(store) as connection:
            assert connection.execute("SELECT count(*) FROM cells WHERE status = 'done'").fetchone() == (5,)


def test_the_next_experiment_still_runs(store, capsys):
    deadly("left")
    assert cli.main(["run", "toy/left", "toy/table", "--store", str(store)]) == 1
    told = capsys.readouterr()
    assert "failed: Cell(split=1)" in told.err and "toy/table (smoke)" in told.out
    assert [line.split()[0] for line in told.out.splitlines()[-4:]] == ["experiment", "toy/left", "toy/table", "all"]


# Clusters ------------------------------------------------------------------------------------------------------------


def in_cluster(address, store):
    began = time.monotonic()
    with pytest.raises(ClusterError) as caught:
        run("toy/table", "paper", store=store, cluster=address, verbose=0)
    assert time.monotonic() - began < attendance.PATIENCE + 15
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def impatient(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(attendance, "PATIENCE", 3.0)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nowhere://x", "127.0.0.1"])
def test_no_cluster(store, impatient, address):
    from distributed import Client

    assert "There is no Dask scheduler at" in in_cluster(address, store)
    left = [thing for thing in gc.get_objects() if issubclass(type(thing), Client) and thing.status != "closed"]
    assert not left, "a client that is collected while another one starts blocks both for ever"


@pytest.fixture
def scheduler():
    pytest.importorskip("distributed")
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    process = subprocess.Popen([*command, "--no-dashboard"], stderr=subprocess.PIPE, text=True)
    address = next(line.split()[-1] for line in process.stderr if "Scheduler at:" in line)
    reader = threading.Thread(target=process.stderr.read, daemon=True)
    reader.start()
    yield process, address
    process.kill()
    process.wait()
    reader.join()
    process.stderr.close()


def test_cluster_without_workers(store, impatient, scheduler):
    assert "has had no workers for 3 s. Start some" in in_cluster(scheduler[1], store)


def stored(store):
    with sqlite3.connect(store, timeout=10) as connection:
        try:
            return connection.execute("SELECT count(*) FROM cells WHERE status = 'done'").fetchone()[0]
        except sqlite3.OperationalError:
            return 0  # The file is there, its table not yet.


# Shared stores -------------------------------------------------------------------------------------------------------


def test_runs_on_one_store_share_the_work(store, tmp_path):
    """Nothing is computed twice, also when one run is killed: the others take over what it was computing."""
    runs = []
    for number in range(3):
        environment = {
            **os.environ,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests/cases'}",
            "TOY_TRACE": str(tmp_path / f"trace{number}"),
            "TOY_SLEEP": "0.5",
        }
        command = [sys.executable, str(ROOT / "tests/cases/toy_experiment.py"), str(store), "1"]
        runs.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    while not stored(store) if store.exists() else True:
        time.sleep(0.05)
    runs[0].kill()
    outputs = [process.communicate(timeout=120)[0] for process in runs]
    assert outputs[1] == outputs[2] and outputs[1]
    traces = [path.read_text().splitlines() for path in sorted(tmp_path.glob("trace*"))]
    every = [line for trace in traces for line in trace]
    assert len(set(every)) == 2 * toy_experiment.SPLITS
    # At most the one cell that the killed run was at.
    assert len(every) <= len(set(every)) + 1


# What saved results tell ---------------------------------------------------------------------------------------------


def repository(folder):
    def git(*arguments):
        name = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", "-C", str(folder), *name, *arguments], check=True, capture_output=True)

    (folder / "data" / "results").mkdir(parents=True)
    (folder / "file").write_text("1")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "one")


def test_results_are_saved_from_a_clean_tree_only(store, tmp_path, monkeypatch):
    tree = tmp_path / "tree"
    repository(tree)
    monkeypatch.setattr(provenance, "_root", lambda: tree)
    monkeypatch.setattr(results, "_results_folder", lambda *name: tree / "data" / "results")
    run("toy/table", "paper", store=store, verbose=0)
    for _ in range(2):  # what was saved before does not count as a change
        save_results("toy/table", "paper", store=store)
    commit, changes = provenance.commit_and_changes()
    told = results.load_results("toy/table", tree / "data" / "results").provenance
    assert told["commit"] == commit and changes == [] and provenance.is_ancestor(commit)
    assert provenance.is_ancestor("0" * 40) is False
    (tree / "file").write_text("2")
    with pytest.raises(ResultsError, match=r"uncommitted changes \(file\)"):
        save_results("toy/table", "paper", store=store)


def test_looking_at_a_repository_never_locks_it(tmp_path, monkeypatch):
    """A run may be killed at any moment; git, asked for the changes, writes its index anew unless told not to."""
    repository(tmp_path)
    monkeypatch.setattr(provenance, "_root", lambda: tmp_path)
    (tmp_path / "file").touch()
    os.utime(tmp_path / "file", (1, 1))
    index = tmp_path / ".git" / "index"
    before = index.read_bytes()
    assert provenance.commit_and_changes()[1] == []
    assert index.read_bytes() == before
    subprocess.run(["git", "-C", str(tmp_path), "status"], check=True, capture_output=True)
    assert index.read_bytes() != before, "the check must be able to fail"


def test_versions_are_those_of_the_process_that_computed(store, tmp_path):
    """Not those of the one that saves."""
    run("toy/table", "paper", store=store, verbose=0)
    file, experiment = Store(store), get("toy/table")
    with sqlite3.connect(store) as connection:
        connection.execute("DELETE FROM cells WHERE json_extract(cell, '$.split') = 0")
    known = file.get("toy/table", experiment.hashes().values())
    (_, code), one = next(iter(known.items()))
    for cell in experiment.grid("paper")[:2]:
        other = replace(one, versions={**one.versions, "numpy": "1.0"}, source={**one.source, "commit": "0" * 40})
        file.put("toy/table", cell.json, code, other)
    save_results("toy/table", "paper", store=store, folder=tmp_path)
    kinds = results.load_results("toy/table", tmp_path).provenance["computed_by"]
    assert sorted((kind["cells"], kind["packages"]["numpy"] == "1.0", kind["commit"]) for kind in kinds)[0] == (
        2,
        True,
        None,
    )
    assert [kind["cells"] for kind in kinds] == [2, 10]


def test_tables_have_their_columns_in_one_order(store):
    def tabulate(frame):
        return frame[["value", "split", "dataset"]].assign(protocol="stated", n=1, metric="x")

    register(
        "toy/columns",
        cells=lambda p: [Cell(split=0, dataset="a")],
        run_cell=lambda split, dataset: {"value": 1.0},
        tabulate=tabulate,
    )
    table = run("toy/columns", store=store, verbose=0)
    assert table.columns.tolist() == ["dataset", "split", "metric", "protocol", "value", "n"]


def test_saving_makes_the_table_once(store, tmp_path):
    made = []

    def tabulate(frame):
        made.append(len(frame))
        return frame

    register("toy/once", cells=lambda p: [Cell(split=0)], run_cell=lambda split: {"x": 1.0}, tabulate=tabulate)
    assert cli.main(["run", "toy/once", "--store", str(store), "--save", "--out", str(tmp_path), "--quiet"]) == 0
    assert made == [1]


@pytest.mark.parametrize("count", [1, 3, 4])
def test_refusal_to_save_names_three_changes_and_says_when_there_are_more(store, monkeypatch, count):
    run("toy/table", "paper", store=store, verbose=0)
    changes = [f"file{number}" for number in range(count)]
    monkeypatch.setattr(results, "commit_and_changes", lambda: ("0" * 40, changes))
    monkeypatch.setattr(results, "_results_folder", lambda *name: Path("nowhere"))
    told = {1: "(file0)", 3: "(file0, file1, file2)", 4: "(file0, file1, file2, …)"}[count]
    with pytest.raises(ResultsError, match=re.escape(f"uncommitted changes {told}. Commit")):
        save_results("toy/table", "paper", store=store)


def test_a_claim_takes_the_cell_and_not_its_neighbour(tmp_path):
    pytest.importorskip("fcntl")
    claims = Claims(tmp_path / "store.sqlite")
    assert claims.take("an experiment", "a cell")
    place = _place(("an experiment", "a cell"))
    # Another process, because locks are between processes.
    code = "import sys; from fcntl import *; lockf(open(sys.argv[1], 'a+b'), LOCK_EX | LOCK_NB, 1, int(sys.argv[2]))"

    def is_free(byte):
        command = [sys.executable, "-c", code, str(tmp_path / "store.sqlite.claims"), str(byte)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    assert [is_free(byte) for byte in (place - 1, place, place + 1)] == [True, False, True]
    claims.free("an experiment", "a cell")
    assert is_free(place)
    claims.close()

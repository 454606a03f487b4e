"""The runner: resumed, shared, parallel and failing runs; values exact; stored results."""

import contextlib
import gzip
import hashlib
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import toy_experiment
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from fairpca.experiments.engine import frames as _frames
from fairpca.experiments.engine import plan
from fairpca.experiments.engine import store as _store
from fairpca.experiments.engine.claims import Claims
from fairpca.experiments.engine.runner import (
    Cell,
    InputError,
    RunFailed,
    Store,
    StoreError,
    cell_seed,
    collect,
    default_store,
    get,
    in_steps,
    load_results,
    names,
    recompute,
    register,
    run,
    run_each,
    save_results,
    status,
    stored_names,
    tidy,
)

ROOT = Path(__file__).resolve().parents[3]
TOTAL = 2 * toy_experiment.SPLITS


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store.sqlite"


def start(store, jobs, trace, sleep="0", **more):
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests/cases'}",
        "TOY_TRACE": str(trace),
        "TOY_SLEEP": sleep,
        **more,
    }
    command = [sys.executable, str(ROOT / "tests/cases/toy_experiment.py"), str(store), str(jobs)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def computed(trace):
    return trace.read_text().splitlines() if trace.exists() else []


def finish(process):
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return output


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """Output of an undisturbed run."""
    folder = tmp_path_factory.mktemp("reference")
    return finish(start(folder / "store.sqlite", 1, folder / "trace"))


@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_run_goes_on_where_it_stopped(store, tmp_path, reference, jobs):
    trace = tmp_path / "trace"
    process = start(store, jobs, trace, sleep="0.3")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and stored_cells(store) < 3:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    before = stored_cells(store)
    assert 3 <= before < TOTAL

    again = tmp_path / "again"
    assert finish(start(store, jobs, again)) == reference
    assert len(computed(again)) == TOTAL - before
    assert len(set(computed(trace)) | set(computed(again))) == TOTAL

    third = tmp_path / "third"
    assert finish(start(store, 1, third)) == reference
    assert computed(third) == []


def test_workers_end_with_a_killed_run(store, tmp_path):
    psutil = pytest.importorskip("psutil")
    process = start(store, 2, tmp_path / "trace", sleep="0.3")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and stored_cells(store) < 2:
        time.sleep(0.02)
    workers = psutil.Process(process.pid).children(recursive=True)
    assert len(workers) >= 2
    # Only the run itself, not its group: what `kill -9` of one process does.
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert alive == []


def stored_cells(store):
    if not store.exists():
        return 0
    connection = sqlite3.connect(store, timeout=10)
    try:
        return connection.execute("SELECT count(*) FROM cells WHERE status = 'done'").fetchone()[0]
    except sqlite3.OperationalError:
        # The file is there, its table not yet.
        return 0
    finally:
        connection.close()


def test_two_runs_at_once_lose_nothing(store, tmp_path, reference):
    runs = [start(store, 1, tmp_path / f"trace{number}", sleep="0.02") for number in range(2)]
    assert [finish(process) for process in runs] == [reference, reference]
    assert stored_cells(store) == TOTAL


def test_many_writers_lose_nothing(store):
    outcome = _store.StoredCell("done", [{"x": 1.0}], "", 0.0, 0.0, "")
    Store(store)

    def write(writer):
        own = Store(store)
        for number in range(25):
            own.put("toy/writers", f"{writer}-{number}", "code", outcome)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Store(store).get("toy/writers", ["code"])) == 100


def test_number_of_workers_does_not_matter(tmp_path):
    tables = [run("toy/table", "paper", store=tmp_path / f"{jobs}", jobs=jobs, verbose=0) for jobs in (1, 2)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    frames = [collect("toy/table", "paper", store=tmp_path / f"{jobs}") for jobs in (1, 2)]
    for one, two in zip(frames[0]["spectrum"], frames[1]["spectrum"], strict=True):
        np.testing.assert_array_equal(one, two)


def test_dask_cluster(store, tmp_path, reference, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'tests/cases'}")
    # Two worker processes; a free port for the status page, no address but this machine's.
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    ) as cluster:
        table = run("toy/table", "paper", store=store, cluster=cluster.scheduler_address, verbose=0)
        workers = len(cluster.workers)
    assert workers == 2
    assert table.to_csv(index=False) + "\n" == reference
    assert stored_cells(store) == TOTAL


@pytest.fixture
def fresh_workers():
    """Worker processes live on between runs; those of this test see its environment, and later ones do not."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)
    yield
    get_reusable_executor().shutdown(wait=True)


@pytest.mark.parametrize("jobs", [1, 2])
def test_failing_cells(store, monkeypatch, jobs, fresh_workers):
    monkeypatch.setenv("TOY_FAIL", "1,4")
    with pytest.raises(RunFailed, match="4 of 12 cells") as caught:
        run("toy/table", "paper", store=store, jobs=jobs, verbose=0)
    assert {cell["split"] for cell in caught.value.failures} == {1, 4}
    assert all("split" in text and "Traceback" in text for text in caught.value.failures.values())
    assert stored_cells(store) == TOTAL - 4
    told = status("toy/table", "paper", store=store)
    assert (told.total, told.done, told.failed, told.saved) == (TOTAL, TOTAL - 4, 4, "none")
    with pytest.raises(LookupError, match="4 of 12 cells"):
        collect("toy/table", "paper", store=store)

    # Repaired, the next run tries only the failed ones again.
    monkeypatch.setenv("TOY_FAIL", "")
    steps = []
    run("toy/table", "paper", store=store, jobs=1, verbose=0, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(TOTAL - 4 + number, TOTAL) for number in range(1, 5)]
    assert status("toy/table", "paper", store=store).failed == 0


def test_cells_take_no_more_seconds_than_passed_meanwhile(store):
    """Here one cell follows the other, so what all of them took, on the wall and of the processor, is a part of it."""
    clocks = (time.perf_counter, time.process_time)
    began = [clock() for clock in clocks]
    run("toy/table", store=store, jobs=1, verbose=0)
    passed = [clock() - begin for clock, begin in zip(clocks, began, strict=True)]
    with contextlib.closing(sqlite3.connect(store)) as connection:
        taken = np.array(connection.execute("SELECT wall_seconds, cpu_seconds FROM cells").fetchall())
    assert taken.shape == (4, 2) and np.all(taken >= 0)
    assert np.all(taken.sum(axis=0) <= passed)


def test_a_worker_that_dies_is_explained(store):
    def deadly(**key):
        if key["split"] == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"value": 1.0}

    grid = [Cell(split=split) for split in range(4)]
    register("toy/deadly", cells=lambda profile: grid, run_cell=deadly, tabulate=lambda frame: frame)
    with pytest.raises(RuntimeError, match="died"):
        run("toy/deadly", store=store, jobs=2, verbose=0)


def test_changed_code_is_computed_again(store):
    def version_one(*, split):
        return {"value": 1.0}

    def version_two(*, split):
        return {"value": 2.0}

    for function, value in ((version_one, 1.0), (version_two, 2.0), (version_one, 1.0)):
        register("toy/changing", cells=lambda profile: [Cell(split=0)], run_cell=function, tabulate=lambda frame: frame)
        assert run("toy/changing", store=store, verbose=0)["value"].tolist() == [value]
    assert stored_cells(store) == 2


def test_methods_have_their_own_code(store):
    def first(*, method):
        return {"value": 1.0}

    def second(*, method):
        return {"value": 2.0}

    def second_changed(*, method):
        return {"value": 3.0}

    grid = [Cell(method="a"), Cell(method="b")]
    for function in (second, second_changed):
        steps = []
        register(
            "toy/methods",
            cells=lambda profile: grid,
            run_cell={"a": first, "b": function},
            tabulate=lambda frame: frame,
        )
        run("toy/methods", store=store, verbose=0, progress=lambda done, total, steps=steps: steps.append(done))
    assert steps == [2]
    register("toy/methods", cells=lambda profile: [Cell(method="c")], run_cell={"a": first}, tabulate=lambda f: f)
    with pytest.raises(ValueError, match=r"no function for method 'c'.*\['a'\]"):
        run("toy/methods", store=store, verbose=0)


def test_seeds_depend_on_name_and_key_alone():
    one = Cell(dataset="a", split=1)
    assert cell_seed("x/y", one) == cell_seed("x/y", {"split": 1, "dataset": "a"})
    # Pinned: a change would make every stored result irreproducible.
    assert cell_seed("x/y", one) == 3921931900
    seeds = {cell_seed(name, Cell(split=split)) for name in ("x/y", "x/z") for split in range(200)}
    assert len(seeds) == 400


def test_cell_is_a_frozen_key():
    cell = Cell(dataset="a", split=np.int64(3), rate=0.1)
    assert cell == Cell(rate=0.1, split=3, dataset="a") and hash(cell) == hash(Cell(rate=0.1, split=3, dataset="a"))
    assert dict(cell) == {"dataset": "a", "split": 3, "rate": 0.1}
    assert "dataset='a'" in repr(cell)
    with pytest.raises(TypeError, match="plain values"):
        Cell(values=np.zeros(2))
    with pytest.raises(TypeError):
        cell["split"] = 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: get("toy/nothing"), "Unknown experiment 'toy/nothing'; known are .*toy/table"),
        (lambda: get("toy/table").grid("large"), "Unknown profile 'large'; allowed are 'smoke', 'paper'"),
        (lambda: run("toy/table", jobs=0), "jobs is a number of processes"),
        (lambda: register("toy", cells=list, run_cell=dict, tabulate=list), "<paper>/<exhibit>"),
        (
            lambda: register("toy/empty", cells=lambda p: [], run_cell=dict, tabulate=list).grid("smoke"),
            "has no cells in the profile 'smoke'",
        ),
        (
            lambda: register("toy/twice", cells=lambda p: [{"a": 1}] * 2, run_cell=dict, tabulate=list).grid("smoke"),
            r"a cell twice: Cell\(a=1\)",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_damaged_store(tmp_path):
    path = tmp_path / "store.sqlite"
    path.write_text("this is not a database, whatever its name says\n" * 50)
    with pytest.raises(StoreError, match=r"damaged or not an SQLite file.*--store FILE"):
        run("toy/table", store=path, verbose=0)
    assert path.read_text().startswith("this is not")


def test_locked_store(store):
    Store(store)
    holder = sqlite3.connect(store)
    holder.execute("BEGIN EXCLUSIVE")
    outcome = _store.StoredCell("done", [{"x": 1.0}], "", 0.0, 0.0, "")
    try:
        with pytest.raises(StoreError, match="stayed locked by another program"):
            Store(store, busy_seconds=0.01).put("toy/table", "{}", "code", outcome)
    finally:
        holder.close()


def test_store_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be made.*FAIRPCA_STORE"):
        Store(tmp_path / "file" / "store.sqlite")
    with pytest.raises(StoreError, match="cannot be used"):
        Store(tmp_path)


def test_place_of_the_store(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRPCA_STORE", str(tmp_path / "chosen.sqlite"))
    assert default_store() == tmp_path / "chosen.sqlite"
    monkeypatch.delenv("FAIRPCA_STORE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_store() == tmp_path / "fairpca" / "results.sqlite"


# Values ------------------------------------------------------------------------------------------------------------

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False), st.text(max_size=5)
)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), scalars, min_size=1), min_size=1, max_size=5))
def test_values_survive_store_and_file(records):
    assert _store.decode_value(json.loads(json.dumps(_store.encode_value(records)))) == records
    cells = [('{"k":1}', records)]
    written = _frames.write_cells(cells)
    assert written == _frames.write_cells(cells)
    read = _frames.read_cells(written)
    pd.testing.assert_frame_equal(_frames.cells_frame(read), _frames.cells_frame(cells), check_exact=True)


def test_odd_floats_and_arrays_are_exact():
    values = [0.1 + 0.2, 5e-324, -0.0, float("inf"), float("nan"), np.float32(0.1), np.nextafter(1.0, 2.0)]
    back = _store.decode_value(json.loads(json.dumps(_store.encode_value(values))))
    for before, after in zip(values, back, strict=True):
        assert np.float64(before).tobytes() == np.float64(after).tobytes()
    for array in (np.array(values), np.arange(6, dtype=np.float32).reshape(2, 3).T, np.array([], dtype=int)):
        copy = _store.decode_value(json.loads(json.dumps(_store.encode_value(array))))
        assert copy.dtype == array.dtype
        np.testing.assert_array_equal(copy, array)
    with pytest.raises(TypeError, match="array of objects"):
        _store.encode_value(np.array([object()]))
    with pytest.raises(TypeError, match="type set"):
        _store.encode_value({1})


def test_returned_names_must_differ_from_the_key(store):
    register("toy/clash", cells=lambda p: [Cell(d=1)], run_cell=lambda d: {"d": 2}, tabulate=lambda frame: frame)
    with pytest.raises(ValueError, match=r"\['d'\].*names of its key"):
        run("toy/clash", store=store, verbose=0)


def test_tidy_against_a_loop():
    frame = pd.DataFrame({"dataset": list("aabb"), "d": [1, 1, 2, 2], "x": [1.0, 4.0, np.nan, 2.0], "y": [1, 2, 3, 5]})
    table = tidy(frame, ["x", "y"], protocol={"x": "printed", "y": "stated"})
    assert table.columns.tolist() == ["dataset", "d", "metric", "protocol", "mean", "sd", "n"]
    rows = table.set_index(["dataset", "metric"])
    assert rows.loc[("a", "x"), "mean"] == 2.5 and rows.loc[("a", "x"), "sd"] == pytest.approx(4.5**0.5)
    assert rows.loc[("b", "x"), "n"] == 1 and np.isnan(rows.loc[("b", "x"), "sd"])
    assert rows.loc[("b", "y"), "protocol"] == "stated"
    assert tidy(frame, ["y"], ddof=0)["sd"].tolist() == [0.5, 1.0]


# Stored results ----------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(store, tmp_path):
    run("toy/table", "paper", store=store, verbose=0)
    folder = tmp_path / "results"
    return save_results("toy/table", "paper", store=store, folder=folder), folder


def test_saved_results_read_back(saved, store):
    files, folder = saved
    assert sorted(path.name for path in files) == ["table.cells.csv.gz", "table.csv", "table.json"]
    results = load_results("toy/table", folder)
    frame = collect("toy/table", "paper", store=store)
    pd.testing.assert_frame_equal(results.cells.drop(columns="spectrum"), frame.drop(columns="spectrum"))
    for one, two in zip(results.cells["spectrum"], frame["spectrum"], strict=True):
        np.testing.assert_array_equal(one, two)
    pd.testing.assert_frame_equal(results.table, toy_experiment.tabulate(frame), check_exact=True)
    assert not results.stale and results.stale_reasons == []
    assert stored_names(folder) == ["toy/table"]
    told = json.loads((folder / "toy" / "table.json").read_text())
    assert told["cells"] == TOTAL and told["profile"] == "paper"
    (computer,) = told["computed_by"]
    assert computer["cells"] == TOTAL and "numpy" in computer["packages"]
    text = json.dumps(told)
    import getpass
    import socket

    assert socket.gethostname() not in text and str(Path.home()) not in text
    assert f'"{getpass.getuser()}"' not in text


def test_saving_twice_gives_the_same_cells(saved, store, tmp_path):
    files, _ = saved
    again = save_results("toy/table", "paper", store=store, folder=tmp_path / "second")
    for one, two in zip(files, again, strict=True):
        if not one.name.endswith(".json"):
            assert one.read_bytes() == two.read_bytes()


def test_saving_needs_all_cells(store, tmp_path):
    run("toy/table", "smoke", store=store, verbose=0)
    with pytest.raises(LookupError, match=r"8 of 12 cells.*fairpca run toy/table --profile paper"):
        save_results("toy/table", "paper", store=store, folder=tmp_path)
    assert list(tmp_path.glob("toy/*")) == []


def test_stale_results(saved):
    _, folder = saved
    register(
        "toy/table",
        cells=lambda profile: toy_experiment.cells(profile)[1:],
        run_cell=lambda **key: {"score": 1.0},
        tabulate=toy_experiment.tabulate,
    )
    results = load_results("toy/table", folder)
    assert results.stale
    assert results.stale_reasons == ["the code has changed", "the grid of cells has changed"]


def test_recompute_agrees_or_says_what_differs(saved):
    _, folder = saved
    where = {"split": [0, 3], "method": "one"}
    table = recompute("toy/table", where, rtol=0, atol=0, folder=folder)
    assert set(table["split"]) == {0, 3} and set(table["method"]) == {"one"}
    assert set(table["metric"]) == {"score", "spectrum", "rank", "label", "none"}
    assert (table["difference"] == 0).all()

    file = folder / "toy" / "table.cells.csv.gz"
    cells = _frames.read_cells(file.read_bytes())
    cells[0][1][0]["spectrum"][1] *= 1 + 1e-4
    file.write_bytes(_frames.write_cells(cells))
    record = folder / "toy" / "table.json"
    told = json.loads(record.read_text())
    told["files"][file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    record.write_text(json.dumps(told))
    recompute("toy/table", where, rtol=1e-3, folder=folder)
    with pytest.raises(AssertionError, match="spectrum"):
        recompute("toy/table", where, rtol=1e-6, folder=folder)
    recompute("toy/table", where, rtol=1e-6, folder=folder, ignore=["spectrum"])
    with pytest.raises(LookupError, match="No stored cell"):
        recompute("toy/table", {"split": 99}, folder=folder)
    with pytest.raises(ValueError, match="no column 'fold'"):
        recompute("toy/table", {"fold": 1}, folder=folder)


def test_missing_results_say_how_to_make_them(tmp_path):
    with pytest.raises(LookupError, match="fairpca run toy/table --profile paper --save"):
        load_results("toy/table", tmp_path)


def test_names_include_what_is_registered():
    assert "toy/table" in names()


def test_gzip_has_no_time(saved):
    files, _ = saved
    content = files[0].read_bytes()
    assert content[4:8] == b"\0\0\0\0" and gzip.decompress(content).startswith(b"cell,")


def test_a_header_says_bool_only_where_every_value_is_there():
    cells = [("{}", [{"whole": True, "part": False, "count": 1}, {"whole": False, "count": None}])]
    header = gzip.decompress(_frames.write_cells(cells)).decode().splitlines()[0]
    assert header == "cell,whole:bool,part:json,count:int"


@pytest.mark.parametrize(("verbose", "terminal"), [(1, True), (0, True), (1, False)])
def test_progress_is_shown_on_a_terminal_to_those_who_want_it(store, monkeypatch, verbose, terminal):
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    run("toy/table", "smoke", store=store, verbose=verbose)
    assert ("toy/table" in screen.getvalue()) == (verbose == 1 and terminal)
    assert (verbose == 1 and terminal) or screen.getvalue() == ""


@pytest.mark.parametrize(("parent", "then", "code"), [("os.getppid()", "", 0), ("0", "time.sleep(60)", 1)])
def test_a_worker_ends_with_its_work_or_with_its_run(parent, then, code):
    """The watch over the run does not keep a worker that is done; a run that is gone ends one that is not."""
    program = "import os, time; from fairpca.experiments.engine.places import _prepare_worker; "
    program += f"_prepare_worker({parent}); {then}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run([sys.executable, "-c", program], env=environment, timeout=30).returncode == code


def test_a_cell_that_another_process_has_is_left_to_it_until_that_ends(tmp_path):
    """A lock on the whole file by a program that knows nothing of cells."""
    program = "import fcntl, sys; file = open(sys.argv[1], 'a+b'); fcntl.lockf(file, fcntl.LOCK_EX); print(); input()"
    mine = Claims(tmp_path / "store.sqlite")
    command = [sys.executable, "-S", "-c", program, str(tmp_path / "store.sqlite.claims")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"\n"
        assert not mine.take("toy/table", "a cell")
        other.communicate(b"\n")
    assert mine.take("toy/table", "a cell")
    mine.close()


@pytest.mark.parametrize(
    ("hidden", "expected"),
    [(False, ["about 18.0", "about 17.0", "1/2 finished, toy/b just now: about 11.0"]), (True, [])],
)
def test_a_run_says_what_is_left(monkeypatch, capsys, store, hidden, expected):
    """Where no bar can be drawn: 12 and 6 missing cells, of a second each as long as nothing else is known."""
    told = {"toy/a": SimpleNamespace(total=15, done=3), "toy/b": SimpleNamespace(total=8, done=2)}
    monkeypatch.setattr(plan, "status", lambda name, profile, store: told[name])
    with plan.Plan(list(told), "paper", store, 1, hidden=hidden) as shown:
        shown.advance("toy/a", 4, 15)
        shown._say("")
        shown.ended("toy/b", 90.0)
        shown.ended("toy/a", 30.0)
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition(" s left")[0] for line in lines] == expected
    first, *rows, (everything, sums) = shown.times()
    assert rows == [("toy/a", "30.0 s"), ("toy/b", "2 min")]
    assert everything == "all" and sums.endswith("for 2 min of computing")


def test_several_experiments_share_the_processes(store):
    """The second begins before the first has ended: its one cell is not waited for."""

    def slow(*, split):
        time.sleep(1.5)
        return {"began": time.time() - 1.5}

    def quick(*, split):
        return {"began": time.time()}

    for name, function, splits in (("toy/long", slow, range(1)), ("toy/short", quick, range(5))):
        grid = [Cell(split=split) for split in splits]
        register(name, cells=lambda profile, grid=grid: grid, run_cell=function, tabulate=lambda frame: frame)
    outcomes = {o.name: o for o in run_each(["toy/long", "toy/short"], jobs=2, isolated=True, store=store)}
    assert list(outcomes) == ["toy/short", "toy/long"]
    assert outcomes["toy/short"].result["began"].max() < outcomes["toy/long"].result["began"].min() + 1.5
    assert outcomes["toy/long"].seconds >= 1.5 > outcomes["toy/short"].seconds
    again = list(run_each(["toy/long", "toy/short"], jobs=2, isolated=True, store=store))
    assert [(o.name, o.seconds) for o in again] == [("toy/long", 0.0), ("toy/short", 0.0)]


def test_each_of_several_experiments_fails_for_itself(store, tmp_path):
    def cell(*, split):
        if split:
            raise ValueError("no")
        return {"value": 1.0}

    for name, splits, inputs in (("toy/fails", 2, ()), ("toy/lacks", 1, ("toy/nowhere",)), ("toy/works", 1, ())):
        grid = [Cell(split=split) for split in range(splits)]
        register(
            name, cells=lambda profile, grid=grid: grid, run_cell=cell, tabulate=lambda frame: frame, inputs=inputs
        )
    told = {o.name: o.result for o in run_each(["toy/fails", "toy/lacks", "toy/works"], store=store)}
    assert isinstance(told["toy/fails"], RunFailed) and list(told["toy/fails"].failures) == [Cell(split=1)]
    assert isinstance(told["toy/lacks"], InputError) and "toy/nowhere" in str(told["toy/lacks"])
    assert told["toy/works"]["value"].tolist() == [1.0]


def test_steps_hold_what_does_not_read_each_other():
    reads = {"toy/c": ("toy/b",), "toy/b": ("toy/a",), "toy/a": (), "toy/z": ()}
    for name, inputs in reads.items():
        register(name, cells=lambda profile: [], run_cell=dict, tabulate=lambda frame: frame, inputs=inputs)
    assert in_steps(reads) == [["toy/a", "toy/z"], ["toy/b"], ["toy/c"]]
    assert in_steps(["toy/c", "toy/z"]) == [["toy/z"], ["toy/c"]]


def test_a_run_that_ends_early_ends_its_workers(store, tmp_path):
    """The cell that another process computes is given up, not waited for."""
    finished = tmp_path / "finished"

    def slow(*, split):
        if split:
            time.sleep(10.0)
            finished.touch()
        return {"value": 1.0}

    def stop(done, total):
        raise RuntimeError("enough")

    grid = [Cell(split=split) for split in range(2)]
    register("toy/slow", cells=lambda profile: grid, run_cell=slow, tabulate=lambda frame: frame)
    with pytest.raises(RuntimeError, match="enough"):
        run("toy/slow", store=store, jobs=2, verbose=0, progress=stop)
    assert not finished.exists()


def test_a_cell_has_one_thread_whatever_its_caller_has(store):
    """Sums over several threads would depend on how many there are."""

    def threads(*, split):
        np.ones((2, 2)) @ np.ones((2, 2))
        return {"threads": max(pool["num_threads"] for pool in threadpool_info())}

    register(
        "toy/threads",
        cells=lambda profile: [Cell(split=0)],
        run_cell=threads,
        tabulate=lambda frame: frame,
    )
    with threadpool_limits(3):
        assert run("toy/threads", store=store, verbose=0)["threads"].tolist() == [1]
        assert threads(split=0) == {"threads": 3}, "and the caller has its own again"

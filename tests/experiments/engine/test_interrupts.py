"""Interrupted runs: nothing computed after the interrupt is stored, whatever a cell does with it."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import stubborn_experiment

from fairpca._interrupts import HeedInterrupts
from fairpca.experiments.engine.runner import Cell, Interrupted, Store, recompute, register, run, save_results

ROOT = Path(__file__).resolve().parents[3]


def interrupt():
    signal.raise_signal(signal.SIGINT)


# The context ---------------------------------------------------------------------------------------------------------


def swallow():
    with contextlib.suppress(KeyboardInterrupt):
        interrupt()


def convert():
    try:
        interrupt()
    except KeyboardInterrupt:
        raise ValueError("no solution") from None


@pytest.mark.parametrize("action", [interrupt, swallow, convert])
def test_an_interrupt_ends_the_context(action):
    before = signal.getsignal(signal.SIGINT)
    passed = False
    with pytest.raises(KeyboardInterrupt), HeedInterrupts():
        action()
        passed = True
    assert passed == (action is swallow)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_context_leaves_everything_else_alone():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="other"), HeedInterrupts():
        raise ValueError("other")
    seen = []

    def elsewhere():
        with HeedInterrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]
    # What `nohup` and shells do for programs in the background.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with HeedInterrupts():
            interrupt()
    finally:
        signal.signal(signal.SIGINT, before)


# Runs ----------------------------------------------------------------------------------------------------------------


def start(store, way, trace, *more):
    environment = {
        **os.environ,
        "PYTHONWARNINGS": "ignore:resource_tracker:UserWarning",  # loky's clean-up after killed workers speaks up
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests/cases'}",
        "STUBBORN_TRACE": str(trace),
    }
    command = [sys.executable, str(ROOT / "tests/cases/stubborn_experiment.py"), "run", f"stubborn/{way}"]
    return subprocess.Popen(
        [*command, "--store", str(store), "--quiet", *more],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def begun(trace):
    """Process and split of the cells that have begun."""
    return [tuple(map(int, line.split())) for line in trace.read_text().splitlines()] if trace.exists() else []


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def stored(store, way):
    """Records of the cells in the store; no cell may have failed either."""
    with sqlite3.connect(store) as connection:
        codes = [code for (code,) in connection.execute("SELECT DISTINCT code FROM cells")]
    found = Store(store).get(f"stubborn/{way}", codes).values()
    assert {outcome.status for outcome in found} <= {"done"}
    return [outcome.records[0] for outcome in found]


def check_stopped_and_resumed(process, store, way, trace):
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert output == ""
    records = stored(store, way)
    lines = [line for line in errors.splitlines() if line]
    if way == "loses":
        lines = lines[-1:]  # Python itself tells of an error that it ignores
    assert lines == [
        f"fairpca: Stopped 'stubborn/{way}' (smoke): {len(records)} of {stubborn_experiment.SPLITS} cells are stored "
        f"in {store}; start the same run again to go on from there."
    ]
    assert 1 <= len(records) < stubborn_experiment.SPLITS
    assert all(record["whole"] for record in records)
    trace.unlink()
    again = start(store, way, trace)
    assert again.communicate(timeout=60)[1] == "" and again.returncode == 0
    assert len(begun(trace)) == stubborn_experiment.SPLITS - len(records)
    assert sorted(record["value"] for record in stored(store, way)) == list(range(stubborn_experiment.SPLITS))


@pytest.mark.parametrize(
    ("way", "jobs", "target"),
    [
        ("swallows", 1, "run"),
        ("converts", 1, "run"),
        ("loses", 1, "run"),
        ("swallows", 2, "group"),
        ("swallows", 2, "run"),
        ("swallows", 2, "worker"),
        ("converts", 2, "worker"),
    ],
)
def test_nothing_computed_after_an_interrupt_is_stored(tmp_path, way, jobs, target):
    store, trace = tmp_path / "store.sqlite", tmp_path / "trace"
    process = start(store, way, trace, "--jobs", str(jobs))
    wait_for(lambda: len(begun(trace)) > jobs)
    time.sleep(0.1)
    if target == "group":
        os.killpg(process.pid, signal.SIGINT)
    else:
        os.kill(process.pid if target == "run" else begun(trace)[-1][0], signal.SIGINT)
    check_stopped_and_resumed(process, store, way, trace)


def test_interrupted_run_on_a_cluster(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    store, trace = tmp_path / "store.sqlite", tmp_path / "trace"
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'tests/cases'}")
    monkeypatch.setenv("STUBBORN_TRACE", str(trace))
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    ) as cluster:
        process = start(store, "swallows", trace, "--cluster", cluster.scheduler_address)
        wait_for(lambda: len(begun(trace)) > 2)
        process.send_signal(signal.SIGINT)
        process.wait(60)
    check_stopped_and_resumed(process, store, "swallows", trace)


def test_terminated_run_stores_nothing_more(tmp_path):
    store, trace = tmp_path / "store.sqlite", tmp_path / "trace"
    process = start(store, "swallows", trace)
    wait_for(lambda: len(begun(trace)) > 1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    assert [record["value"] for record in stored(store, "swallows")] == [0]


def test_interrupted_call(tmp_path):
    store = tmp_path / "store.sqlite"

    def cell(*, split):
        if split == 2:
            swallow()
        return {"value": split}

    grid = [Cell(split=split) for split in range(4)]
    register("stubborn/call", cells=lambda profile: grid, run_cell=cell, tabulate=lambda frame: frame)
    with pytest.raises(Interrupted, match="2 of 4 cells are stored"):
        run("stubborn/call", store=store, verbose=0)
    # While a table is made, too.
    register(
        "stubborn/table", cells=lambda profile: grid[:2], run_cell=cell, tabulate=lambda frame: (swallow(), frame)[1]
    )
    with pytest.raises(Interrupted, match="2 of 2 cells are stored"):
        run("stubborn/table", store=store, verbose=0)
    with pytest.raises(KeyboardInterrupt):
        save_results("stubborn/table", "smoke", store=store, folder=tmp_path)
    assert not (tmp_path / "stubborn").exists()


def test_interrupted_recomputation(tmp_path):
    grid = [Cell(split=0)]
    register(
        "stubborn/again", cells=lambda profile: grid, run_cell=lambda split: {"x": 1.0}, tabulate=lambda frame: frame
    )
    run("stubborn/again", store=tmp_path / "store.sqlite", verbose=0)
    save_results("stubborn/again", "smoke", store=tmp_path / "store.sqlite", folder=tmp_path)
    register(
        "stubborn/again",
        cells=lambda profile: grid,
        run_cell=lambda split: (swallow(), {"x": 1.0})[1],
        tabulate=lambda frame: frame,
    )
    with pytest.raises(KeyboardInterrupt):
        recompute("stubborn/again", folder=tmp_path)

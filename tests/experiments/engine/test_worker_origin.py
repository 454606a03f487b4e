"""Workers that compute with other code or other versions than the run: refused, and nothing of theirs is stored."""

import importlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairpca import __version__
from fairpca.experiments.engine.origin import Origin, OriginError, origin, refuse_other_origin
from fairpca.experiments.engine.runner import Cell, Store, get, register, run

_OURS = re.escape(__version__)
OTHER_VERSION = rf"it has fairpca 99\.{_OURS}, this run {_OURS}\. Nothing that it computed is stored\. Install"
ROOT = Path(__file__).resolve().parents[3]
EXPERIMENT = """
from fairpca.linalg import fix_signs
from fairpca.experiments.engine.runner import Cell, register
import numpy as np

def run_cell(*, split):
    return {"value": float(fix_signs(np.array([[-split - 1.0]])).sum())}

register(
    "workers/shared",
    cells=lambda profile: [Cell(split=split) for split in range(2)],
    run_cell=run_cell,
    tabulate=lambda frame: frame,
)
"""
CLUSTER = """
import sys
from distributed import LocalCluster
with LocalCluster(
    n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The experiment in a module of its own; its folder."""
    folder = tmp_path / "driver"
    folder.mkdir()
    (folder / "shared_experiment.py").write_text(EXPERIMENT)
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module("shared_experiment")
    sys.modules.pop("shared_experiment", None)


def stored_cells(store):
    with sqlite3.connect(store) as connection:
        return connection.execute("SELECT count(*) FROM cells").fetchone()[0]


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def same(folder):
    pass


def other_experiment(folder):
    change(folder / "shared_experiment.py", "-split - 1.0", "-split - 2.0")


def other_library(folder):
    change(folder / "fairpca" / "linalg.py", "def fix_signs(", "def fix_signs(*rows):\n    return 2.0\n\ndef unused(")


def other_version(folder):
    change(folder / "fairpca" / "__init__.py", '__version__ = "', '__version__ = "99.')


def other_runner(folder):
    change(folder / "fairpca" / "experiments" / "engine" / "attempts.py", "class Attempt:", "class Outcome:")


def no_experiment(folder):
    (folder / "shared_experiment.py").unlink()


@pytest.mark.parametrize(
    ("alter", "message"),
    [
        (same, None),
        (other_experiment, r"its code hash is {not_ours}, that of this run {ours}\. Nothing .* is stored"),
        (other_library, r"its code hash is {not_ours}, that of this run {ours}\. Nothing"),
        (other_version, OTHER_VERSION),
        (other_runner, r"cannot compute cells of 'workers/shared' .*the same fairpca, experiments and packages"),
        (no_experiment, r"cannot compute cells of 'workers/shared' .*the same fairpca, experiments and packages"),
    ],
)
def test_cluster_with_a_copy_of_the_code(tmp_path, module, alter, message):
    pytest.importorskip("distributed")
    store, copy = tmp_path / "store.sqlite", tmp_path / "copy"
    shutil.copytree(ROOT / "fairpca", copy / "fairpca", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "shared_experiment.py").write_text(EXPERIMENT)
    alter(copy)
    process = subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        env={**os.environ, "PYTHONPATH": str(copy)},
        cwd=copy,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        address = process.stdout.readline().strip()
        if message is None:
            assert run("workers/shared", store=store, cluster=address, verbose=0)["value"].tolist() == [1.0, 2.0]
        else:
            ours = get("workers/shared").hashes()[""]
            expected = message.format(ours=ours, not_ours=f"(?!{ours})[0-9a-f]{{32}}") if "ours" in message else message
            with pytest.raises(RuntimeError, match=expected) as caught:
                run("workers/shared", store=store, cluster=address, verbose=0)
            if isinstance(caught.value, OriginError):
                assert f"fairpca from {copy / 'fairpca'}" in str(caught.value)
            Store(store)
            assert stored_cells(store) == 0
    finally:
        process.communicate("", timeout=60)


def test_a_run_has_processes_of_its_own(tmp_path, module):
    """In one session a module may be edited and loaded again: no process with the older code computes after that."""
    assert run("workers/shared", store=tmp_path / "one", jobs=2, verbose=0)["value"].tolist() == [1.0, 2.0]
    other_experiment(Path(module.__file__).parent)
    importlib.invalidate_caches()
    shutil.rmtree(Path(module.__file__).parent / "__pycache__", ignore_errors=True)
    importlib.reload(module)
    assert run("workers/shared", store=tmp_path / "one", jobs=2, verbose=0)["value"].tolist() == [2.0, 3.0]


def test_functions_that_no_worker_can_import(tmp_path):
    """Those of a notebook: the source is known to this process alone."""
    import linecache

    source = "def run_cell(*, split):\n    return {'value': split + 0.5}\n"
    linecache.cache["<cell 1>"] = (len(source), None, source.splitlines(keepends=True), "<cell 1>")
    space = {"__name__": "__main__"}
    exec(compile(source, "<cell 1>", "exec"), space)
    register(
        "workers/notebook",
        cells=lambda profile: [Cell(split=split) for split in range(3)],
        run_cell=space["run_cell"],
        tabulate=lambda frame: frame,
    )
    assert run("workers/notebook", store=tmp_path / "store", jobs=2, verbose=0)["value"].tolist() == [0.5, 1.5, 2.5]


def test_refusal_names_what_differs():
    ours = Origin("a" * 32, {"python": "3.11.7", "numpy": "2.4.6"}, "process 1 on here")
    refuse_other_origin("workers/shared", ours, Origin(ours.code, dict(ours.versions), "process 2 on there"))
    theirs = Origin("b" * 32, {"python": "3.11.7", "numpy": "2.0.0", "numba": "0.6"}, "process 2 on there")
    with pytest.raises(OriginError) as caught:
        refuse_other_origin("workers/shared", ours, theirs)
    text = str(caught.value)
    assert "process 2 on there" in text and "process 1 on here" in text
    assert f"its code hash is {'b' * 32}, that of this run {'a' * 32}" in text
    assert "it has numpy 2.0.0, this run 2.4.6" in text and "it has numba 0.6, this run none" in text
    assert "python" not in text and "Install the same code" in text


def test_versions_are_stored_with_each_cell(tmp_path, module):
    store = Store(tmp_path / "store.sqlite")
    run("workers/shared", store=store, verbose=0)
    found = store.get("workers/shared", get("workers/shared").hashes().values())
    here = origin(module.run_cell)
    assert {"python", "fairpca", "numpy", "scipy"} <= set(here.versions)
    assert [outcome.versions for outcome in found.values()] == [here.versions] * 2


def test_stores_without_versions_stay_readable(tmp_path, module):
    path = tmp_path / "store.sqlite"
    run("workers/shared", store=path, verbose=0)
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE cells DROP COLUMN versions")
        connection.execute("DELETE FROM cells WHERE cell LIKE '%1%'")
    steps = []
    table = run("workers/shared", store=path, verbose=0, progress=lambda done, total: steps.append(done))
    assert steps == [2] and table["value"].tolist() == [1.0, 2.0]
    found = Store(path).get("workers/shared", get("workers/shared").hashes().values())
    assert sorted(bool(outcome.versions) for outcome in found.values()) == [False, True]


def test_workers_end_with_a_run_killed_right_after_its_start(tmp_path):
    psutil = pytest.importorskip("psutil")
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "tests/cases/toy_experiment.py"), str(tmp_path / "store.sqlite"), "2"],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests/cases'}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    parent, workers = psutil.Process(process.pid), []
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not workers:
        workers = [child for child in parent.children() if "loky" in " ".join(child.cmdline())]
        time.sleep(0.005)
    # The workers know what to load and are busy with that, which takes them a second.
    time.sleep(0.25)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert workers
    _, alive = psutil.wait_procs(workers, timeout=20)
    try:
        assert alive == []
    finally:
        for worker in alive:
            worker.kill()

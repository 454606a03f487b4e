"""The attacks behind the fault table: they run, and they notice a runner that does not hold."""

import contextlib
import functools
import itertools
import os
import sqlite3
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fairpca.experiments import get
from fairpca.experiments.engine import store
from fairpca.experiments.faults import clusters, files, fits, processes, runs, table, victim
from fairpca.experiments.faults.table import FAULTS, engine_digest


def problems(found):
    return [one.problem for one in found if one.problem]


def test_a_store_without_checksums_does_not_hold(tmp_path, monkeypatch):
    assert problems(files.damaged_store(tmp_path / "a", 40, np.random.default_rng(0), change="byte")) == []
    monkeypatch.setattr(store, "_checksum", lambda row: "")
    assert problems(files.damaged_store(tmp_path / "b", 40, np.random.default_rng(0), change="byte"))


def test_a_run_that_loses_a_cell_or_gives_another_result_does_not_hold(tmp_path):
    reference = processes.undisturbed(tmp_path / "reference")
    path = tmp_path / "reference" / "store.sqlite"
    assert processes.resumed(path, tmp_path / "one", reference) == ""
    other = {name: content + b" " for name, content in reference.items()}
    assert "another result" in processes.resumed(path, tmp_path / "two", other)
    run = processes.Victim(tmp_path / "three", direct=True, sleep=0.0)
    assert run.wait() == 0 and run.begun() == [str(split) for split in range(victim.CELLS)]


def test_runs_that_share_a_store(tmp_path):
    found = runs.together(tmp_path, 1, np.random.default_rng(0), runs=2)
    assert [one.problem for one in found] == [""]


def test_no_attack_is_forgotten():
    experiment = get("faults/runner")
    cells = experiment.grid("paper")
    assert {(cell["method"], cell["fault"]) for cell in cells} == set(FAULTS)
    assert {(cell["method"], cell["fault"]) for cell in experiment.grid("smoke")} < set(FAULTS)
    assert {"killed", "stopped", "together", "deadly cell", "disk", "damaged store", "cluster", "fit"} <= {
        family for family, _ in FAULTS
    }
    assert processes.CELLS == victim.CELLS and len(engine_digest()) == 32


@pytest.mark.parametrize("death", [death for death in victim.DEATHS if death.startswith("exit code")])
def test_a_deadly_cell_ends_its_process_as_it_says(monkeypatch, death):
    codes = []

    def leave(code):
        codes.append(code)
        raise SystemExit

    monkeypatch.setattr(victim.os, "_exit", leave)
    with pytest.raises(SystemExit):
        victim.run_deadly(method="plain", setting=death, split=victim.CELLS // 2, cell_seed=0)
    assert codes == [int(death.removeprefix("exit code "))]


@pytest.mark.parametrize(
    ("what", "sign", "code", "held"),
    [
        ("process", "SIGKILL", -9, True),
        ("process", "SIGKILL", 0, True),  # it was faster
        ("process", "SIGKILL", 9, False),
        ("group", "SIGTERM", -15, True),
        ("group", "SIGTERM", 1, False),
        ("process", "SIGINT", 130, True),
        ("process", "SIGINT", -2, False),
        ("worker", "SIGKILL", 0, True),
        ("worker", "SIGKILL", -9, False),
    ],
)
def test_how_a_killed_run_may_end(monkeypatch, tmp_path, what, sign, code, held):
    monkeypatch.setattr(runs, "resumed", lambda *given: "")
    ended = SimpleNamespace(wait=lambda: code, group_ends=lambda: True, errors=lambda: "lost", store=tmp_path)
    problem = runs._after(ended, tmp_path, {}, what, sign, "victim/plain")
    assert problem == ("" if held else f"exit code {code}: lost")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [("stopped", ""), ("interrupted", ""), ("solved", "it did not end as stopped, but with solved")],
)
def test_every_interrupted_fit_counts(monkeypatch, tmp_path, answer, problem):
    program = f"""
import sys, time
for _ in range(int(sys.argv[3])):
    try:
        print("go", flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        print({answer!r}, flush=True)
"""
    children, original = [], subprocess.Popen

    def started(*given, **options):
        children.append(original(*given, **options))
        return children[-1]

    monkeypatch.setattr(subprocess, "Popen", started)
    monkeypatch.setattr(fits, "_CHILD", program)
    at_once = SimpleNamespace(uniform=lambda low, high: 0.02)
    found = fits.interrupted_fits(tmp_path / "fits", 2, at_once, kind="PCA")
    children[0].stdout.close()
    assert found == [processes.Try(True, problem)] * 2


def test_one_whole_page_of_a_store_is_zeroed():
    """SQLite's pages of 4096 bytes: one of them, each in its turn, and nothing else of the file."""
    seen = set()
    for seed in range(40):
        content = bytearray(b"x" * 4096 * 3)
        files._zeroed_page(content, np.random.default_rng(seed))
        pages = [bytes(content[start : start + 4096]) for start in range(0, len(content), 4096)]
        assert sorted(pages) == [bytes(4096), b"x" * 4096, b"x" * 4096]
        seen.add(pages.index(bytes(4096)))
    assert seen == {0, 1, 2}


def test_only_attacks_on_disks_need_one(monkeypatch):
    """Where no disk can be mounted they are told as not tried; all others are made."""
    made = []

    def attack(here, tries, random):
        made.append(tries)
        return [processes.Try(True)] * tries

    monkeypatch.setattr(runs, "mounts", lambda: False)
    told = {}
    for key in (("disk", "the disk of the store is full"), ("damaged store", "cut short")):
        monkeypatch.setitem(FAULTS, key, (2, attack))
        told[key[0]] = table._run_cell(method=key[0], fault=key[1], tries=2, cell_seed=0)
    assert made == [2]
    assert told["disk"]["tried"] == 0 and "no small disk" in told["disk"]["problems"]
    assert told["damaged store"]["tried"] == told["damaged store"]["held"] == 2


@pytest.mark.parametrize(
    ("what", "code", "text", "held"),
    [
        ("one worker", 0, "", True),
        ("one worker", 1, "lost", False),
        ("all workers", 1, "fairpca: error: tcp://here has no workers", True),
        ("all workers", 1, "fairpca: error: no workers", False),  # the cluster is not named
        ("all workers", 0, "", False),
        ("scheduler", 1, "fairpca: error: tcp://here is gone", True),
        ("scheduler", 1, "fairpca: error: tcp://here is gone\nTraceback", False),
    ],
)
def test_how_a_run_that_lost_its_cluster_may_end(monkeypatch, tmp_path, what, code, text, held):
    """And who was killed: one worker, both, or the scheduler alone."""
    killed = []
    named = [SimpleNamespace(kill=functools.partial(killed.append, name)) for name in ("scheduler", "first", "second")]
    ended = SimpleNamespace(reached=lambda cells: True, wait=lambda: code, errors=lambda: text, store=tmp_path)
    monkeypatch.setattr(clusters, "_scheduler", lambda: contextlib.nullcontext((named[0], "tcp://here")))
    monkeypatch.setattr(clusters, "_workers", lambda *given: contextlib.nullcontext(named[1:]))
    monkeypatch.setattr(clusters, "Victim", lambda *given, **options: ended)
    monkeypatch.setattr(clusters, "undisturbed", lambda folder: {})
    monkeypatch.setattr(clusters, "resumed", lambda *given: "")
    found = clusters.lost(tmp_path, 1, np.random.default_rng(0), what=what)
    assert found == [processes.Try(True, "" if held else f"exit code {code}: {text}")]
    assert killed == {"one worker": ["first"], "all workers": ["first", "second"], "scheduler": ["scheduler"]}[what]


@pytest.mark.parametrize(
    ("code", "text", "held"),
    [
        (1, "fairpca: error: There is no Dask scheduler at 'tcp://127.0.0.1:1'.", True),
        (1, "fairpca: error: There is no scheduler at the address that was given.", False),  # it is not named
        (1, "Traceback (most recent call last):\nOSError: [Errno 111] tcp://127.0.0.1:1", False),
        (1, "fairpca: error: no scheduler at tcp://127.0.0.1:1.\nTraceback (most recent call last):", False),
        (0, "It is computed here, because nobody answers at tcp://127.0.0.1:1.", False),
    ],
)
def test_how_a_run_without_a_cluster_may_end(monkeypatch, tmp_path, code, text, held):
    ended = SimpleNamespace(wait=lambda: code, errors=lambda: text)
    monkeypatch.setattr(clusters, "Victim", lambda *given, **options: ended)
    found = clusters.never_there(tmp_path, 2, np.random.default_rng(0), workers=True)
    assert found == [processes.Try(True, "" if held else f"exit code {code}: {text}")] * 2


def test_interrupts_come_at_any_moment_from_the_first_on(monkeypatch, tmp_path):
    """A fit that is interrupted as soon as it has begun is one of the tries; none waits longer than half a second."""
    waited, words = [], itertools.cycle(["go", "stopped"])
    monkeypatch.setattr(fits, "_line", lambda child, seconds: next(words))
    monkeypatch.setattr(fits, "time", SimpleNamespace(sleep=waited.append))
    child = SimpleNamespace(send_signal=lambda sign: None)
    found = fits._interrupted(child, tmp_path / "errors", 200, np.random.default_rng(0))
    assert found == [processes.Try(True)] * 200
    assert 0 <= min(waited) < 0.05 and 0.45 < max(waited) <= 0.5


def test_what_is_no_store_is_of_six_kinds(monkeypatch, tmp_path):
    """Bytes, text, databases of others with and without a table of our name, a folder, and the null device."""
    offered, original = [], store.Store

    def opened(path):
        tables = None
        if path.is_file() and path.read_bytes().startswith(b"SQLite"):
            with contextlib.closing(sqlite3.connect(path)) as connection:
                tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
        kind = "folder" if path.is_dir() else "device" if path == Path(os.devnull) else "text"
        if path.is_file() and b"\xff" in path.read_bytes():
            kind = "bytes"
        offered.append(tables or kind)
        return original(path)

    monkeypatch.setattr(store, "Store", opened)
    assert problems(files.foreign_store(tmp_path, 7, np.random.default_rng(0))) == []
    assert offered == ["bytes", "text", ["bookmarks"], ["cells"], "folder", "device", "bytes"]

"""A grid of cells: computed, kept, stored and compared."""

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import toy_paper

from fairpca.companion import _grid, grid, run, seed, statement, stored
from fairpca.companion._store import build, distance

profile = "smoke"
CALLS = []
note = CALLS.append  # the list itself would be a constant that changes
FACTOR = 2.0
EXHIBIT = "toy2030/squares"


def square(n):
    note(n)
    yield {"value": FACTOR * n**2, "row": np.arange(n + 1.0)}


def long(cells):
    return cells[["n", "value"]].rename(columns={"value": "mean"}).assign(metric="square", protocol="stated")


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """A checkout with a paper of its own, in place of the real one, and a build folder."""
    toy_paper.write(tmp_path / "root")
    monkeypatch.setattr("fairpca._resources._PACKAGE", tmp_path / "root" / "fairpca")
    monkeypatch.setenv("FAIRPCA_BUILD", str(tmp_path / "build"))
    CALLS.clear()
    yield tmp_path / "root" / "data" / "results" / "toy2030"


@pytest.fixture
def full(monkeypatch):
    monkeypatch.setitem(globals(), "profile", "paper")


def move(paper):
    """Do what the runner does after a chapter has passed."""
    for path in (build() / "results" / "toy2030").iterdir():
        paper.mkdir(parents=True, exist_ok=True)
        path.replace(paper / path.name)
    (build() / "results" / "toy2030").rmdir()


@pytest.fixture
def results(paper, monkeypatch):
    """The stored results of four cells."""
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "profile", "paper")
        run(square, grid(n=range(4)), exhibit=EXHIBIT, table=long)
    move(paper)
    CALLS.clear()
    return paper


def compute(**options):
    return run(square, grid(n=range(4)), exhibit=EXHIBIT, table=long, **options)


def test_paper_run_stores_table_cells_and_record(results):
    found = stored(EXHIBIT)
    assert list(found.table.columns) == ["metric", "protocol", "mean", "n"]
    assert found.table["mean"].tolist() == [0.0, 2.0, 8.0, 18.0]
    np.testing.assert_array_equal(found.cells["row"][2], [0.0, 1.0, 2.0])
    (own,) = found.record["computed_by"]
    assert own["cells"] == 4 and own["part"] == {} and own["data"] == {}
    assert {"commit", "clean", "python", "packages", "processor", "wall_seconds", "blas"} <= set(own)
    for name, digest in found.record["files"].items():
        assert hashlib.sha256((results / name).read_bytes()).hexdigest() == digest


def test_smoke_never_reads_kept_cells(results, monkeypatch, capsys):
    found = compute(smoke=grid(n=[3]))
    assert CALLS == [3]
    assert found.table["mean"].tolist() == [0.0, 2.0, 8.0, 18.0]
    assert "1 of 4 cells. They agree with the stored ones" in capsys.readouterr().out
    for file in (build() / "cells").rglob("*.pkl"):
        file.write_bytes(b"damaged")
    compute()
    assert CALLS == [3, 0, 1, 2, 3]


def test_without_slice_smoke_computes_everything(results):
    compute()
    assert CALLS == [0, 1, 2, 3]


def test_without_stored_results_there_is_nothing_to_compare_with(paper, capsys):
    found = compute(smoke=grid(n=[2]))
    assert found.table["mean"].tolist() == [8.0]
    assert "There are no stored results to compare them with" in capsys.readouterr().out


def test_another_number_in_the_slice_fails(results, monkeypatch):
    monkeypatch.setitem(globals(), "FACTOR", 2.0 + 1e-5)
    with pytest.raises(AssertionError, match=r'"n":2.*differs from what is stored by 5\.0e-06'):
        compute(smoke=grid(n=[2]))


def test_another_number_outside_the_slice_fails(results):
    """The table is made again from the stored cells by the lines of the page."""
    alter(results, ".csv", "18.0", "18.1")
    with pytest.raises(AssertionError, match="table made from all stored cells"):
        compute(smoke=grid(n=[2]))


def alter(results, ending, old, new, digest=True):
    path = results / f"squares{ending}"
    content = path.read_bytes()
    packed = ending.endswith("gz")
    text = gzip.decompress(content) if packed else content
    assert old.encode() in text
    text = text.replace(old.encode(), new.encode())
    path.write_bytes(gzip.compress(text) if packed else text)
    if digest:
        record = json.loads((results / "squares.json").read_text())
        record["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        (results / "squares.json").write_text(json.dumps(record))


def test_files_that_were_altered_consistently_are_found_by_their_digests(results):
    for ending in (".csv", ".cells.csv.gz"):
        alter(results, ending, "18.0", "18.1", digest=False)
    with pytest.raises(ValueError, match="is not the file that squares"):
        compute(smoke=grid(n=[2]))


def test_a_wheel_shows_the_stored_table_without_cells(results, capsys):
    whole = compute(smoke=grid(n=[2])).table
    (results / "squares.cells.csv.gz").unlink()
    found = compute(smoke=grid(n=[2]))
    pd.testing.assert_frame_equal(found.table, whole)
    assert len(found.cells) == 1 and "a wheel has no cells to compare them with" in capsys.readouterr().out


def test_another_grid_fails(results):
    with pytest.raises(AssertionError, match=r'4 stored cells and 5 on this page; only one of the two has {"n":4}'):
        run(square, grid(n=range(5)), grid(n=[1]), exhibit=EXHIBIT, table=long)


def test_a_failing_cell_does_not_stop_the_others(paper, full):
    def cursed(n):
        note(n)
        return {"value": 1 / (n - 1)}

    with pytest.raises(RuntimeError, match=r"(?s)1 of 4 cells failed, the others are kept.*{'n': 1}.*ZeroDivision"):
        run(cursed, grid(n=range(4)), exhibit=EXHIBIT, table=lambda cells: cells)
    assert CALLS == [0, 1, 2, 3]
    assert len(list((build() / "cells").rglob("*.pkl"))) == 3
    assert not (build() / "results").exists()


def test_a_cell_without_rows_is_a_failure(paper):
    with pytest.raises(RuntimeError, match="one row at least"):
        run(lambda n: [], grid(n=[1]), exhibit=EXHIBIT, table=lambda cells: cells)


def test_warnings_are_kept_with_their_cell(paper, full):
    def careful(n):
        if n == 2:
            warnings.warn("careful", stacklevel=1)
            warnings.warn("old", DeprecationWarning, stacklevel=1)
        return {"value": n}

    run(careful, grid(n=range(4)), exhibit=EXHIBIT, table=lambda cells: cells[["n", "value"]])
    record = json.loads((build() / "results" / "toy2030" / "squares.json").read_text())
    assert record["computed_by"][0]["warnings"] == {'{"n":2}': {"UserWarning": 1}}


def test_numbers_that_agree_keep_their_digits(results, full, monkeypatch):
    before = {path.name: path.read_bytes() for path in results.iterdir()}
    monkeypatch.setitem(globals(), "FACTOR", 2.0 + 1e-8)
    compute()
    move(results)
    after = {path.name: path.read_bytes() for path in results.iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"squares.json"}
    monkeypatch.setitem(globals(), "FACTOR", 2.0 + 1e-6)
    compute()
    move(results)
    assert "18.000009" in (results / "squares.csv").read_text()


def test_an_unchanged_result_is_not_written(results, full):
    compute()
    assert not (build() / "results" / "toy2030").exists()
    assert CALLS == []


def test_parts_of_two_pages(results, full, monkeypatch):
    def both(kind, n):
        return {"value": {"a": 1, "b": 10}[kind] * n}

    def part(kind, numbers):
        cells = grid(kind=[kind], n=numbers)
        return run(both, cells, exhibit="toy2030/parts", part={"kind": kind}, table=lambda c: c[["kind", "n", "value"]])

    part("a", range(3))
    move(results)
    assert part("b", range(3)).table["value"].tolist() == [0, 1, 2, 0, 10, 20]
    move(results)
    assert part("a", range(4)).table["value"].tolist() == [0, 1, 2, 0, 10, 20, 3]
    move(results)
    record = stored("toy2030/parts").record
    assert [entry["part"]["kind"] for entry in record["computed_by"]] == ["b", "a"] and record["cells"] == 7
    monkeypatch.setitem(globals(), "profile", "smoke")
    assert part("b", range(3)).table["value"].tolist() == [0, 1, 2, 0, 10, 20, 3]
    with pytest.raises(AssertionError, match="3 stored cells and 2 on this page"):
        part("b", range(2))


def test_cells_without_data_are_counted_by_name(results, monkeypatch, capsys):
    def rows_of(dataset):
        return {"value": len(dataset)}

    cells = grid(dataset=["biodeg", "energy"])
    monkeypatch.setattr(_grid, "where", lambda name: "missing" if name == "biodeg" else "bundled")
    monkeypatch.setitem(globals(), "profile", "paper")
    found = run(rows_of, cells, exhibit="toy2030/data", table=lambda c: c[["dataset", "value"]])
    assert found.table["dataset"].tolist() == ["energy"]
    assert not (build() / "results" / "toy2030").exists(), "what cannot be computed is left alone"
    assert "because the data are not available: Biodeg (1 cell)." in capsys.readouterr().out
    monkeypatch.setattr(_grid, "where", lambda name: "bundled")
    run(rows_of, cells, exhibit="toy2030/data", table=lambda c: c[["dataset", "value"]])
    move(results)
    monkeypatch.setattr(_grid, "where", lambda name: "missing")
    for now in ("smoke", "paper"):
        monkeypatch.setitem(globals(), "profile", now)
        found = run(rows_of, cells, exhibit="toy2030/data", table=lambda c: c[["dataset", "value"]])
        assert found.table["dataset"].tolist() == ["biodeg", "energy"]
        assert "Computed here: 0 of 2 cells. Stored at" in capsys.readouterr().out
    assert not list((build() / "results").rglob("data.*"))


def test_seed_is_a_function_of_exhibit_and_key():
    assert seed("a/b", n=1, m=2) == seed("a/b", m=2, n=1)
    assert len({seed("a/b", n=1), seed("a/b", n=2), seed("a/c", n=1)}) == 3
    assert seed("a/table1", d=2, split=0) == 1662903813, "stored results were made with these seeds"


def test_distance_is_relative_and_absolute_near_zero():
    def apart(a, b):
        return distance([{"x": a}], [{"x": b}])

    assert apart(2.0, 2.0 + 2e-6) == pytest.approx(1e-6)
    assert apart(0.0, 1e-9) == pytest.approx(1e-3)
    assert apart(np.array([0.0, 4.0]), np.array([4e-6, 4.0])) == pytest.approx(1e-6)
    assert apart(None, np.nan) == apart("a", "a") == apart(True, 1) == 0
    assert apart("a", "b") == apart(1.0, None) == apart(1.0, np.array([1.0, 1.0])) == np.inf
    assert distance([{"seconds": 1.0}], [{"seconds": 2.0}]) == 0
    assert distance([{"x": 1.0}], []) == np.inf


# --- statements -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["paper", "statements"])
def test_a_verdict_is_stored_and_compared(paper, monkeypatch, capsys, profile):
    statement("toy2030/most", holds=True, evidence="21")
    assert "Verdict: holds. Computed: 21." in capsys.readouterr().out
    monkeypatch.setitem(globals(), "profile", profile)
    statement("toy2030/most", holds=[True, False], evidence="20", reason="One is less.")
    move(paper)
    table = pd.read_csv(paper / "statements.csv")
    assert table.to_dict("records") == [
        {"id": "most", "ours": 20, "verdict": "holds in part", "reason": "One is less."}
    ]
    monkeypatch.setitem(globals(), "profile", "smoke")
    statement("toy2030/most", holds=[False, True], evidence="20", reason="One is less.")
    with pytest.raises(AssertionError, match="is stored as 'holds in part'; here it is 'fails'"):
        statement("toy2030/most", holds=False, evidence="19", reason="All are less.")


def test_words_of_theorems_and_settings(paper, capsys):
    statement("toy2030/most", holds=True, evidence="0", proof="toy2030/coins")
    statement("toy2030/most", holds=False, evidence="1", proof="toy2030/coins", reason="A counterexample.")
    statement("toy2030/most", holds=True, evidence="none", attempts="9 attempts")
    statement("toy2030/splits", holds=True, evidence="4")
    statement("toy2030/most", holds=None, evidence="8", reason="It is about another program.")
    lines = capsys.readouterr().out.splitlines()
    for line, verdict in zip(lines, ("proved", "refuted", "not refuted", "as stated", "not judged"), strict=True):
        assert f"Verdict: {verdict}. " in line
    with pytest.raises(ValueError, match="a reason if one of them is not true"):
        statement("toy2030/most", holds=False, evidence="1")
    with pytest.raises(KeyError, match="no erratum 'nothing'"):
        statement("toy2030/most", holds=False, evidence="1", reason="It is less.", erratum="nothing")
    with pytest.raises(KeyError, match="no statement 'nobody-said-this'"):
        statement("toy2030/nobody-said-this", holds=True, evidence="1")


def test_what_the_errata_have_is_corrected(paper, monkeypatch, capsys):
    monkeypatch.setattr("fairpca.companion._statements.load_errata", lambda paper: pd.DataFrame({"id": ["most-of-it"]}))
    for proof in ("", "toy2030/coins"):
        statement("toy2030/most", holds=False, evidence="1", reason="Less.", proof=proof, erratum="most-of-it")
        assert "Verdict: corrected. " in capsys.readouterr().out


# --- processes --------------------------------------------------------------------------------------------------------

SCRIPT = """
import os, time
from fairpca.companion import grid, run
profile = "paper"

def cell(n):
    with open(os.environ["TRACE"], "a") as file:
        file.write(f"{n} {os.getpid()}\\n")
    time.sleep(0.3)
    import warnings
    warnings.warn("careful")
    return {"value": n}

run(cell, grid(n=range(12)), exhibit="toy2030/killed", table=lambda cells: cells[["n", "value"]], jobs=2)
"""


def start(tmp_path, **variables):
    script = tmp_path / "page.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"TRACE": str(tmp_path / "trace"), "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen([sys.executable, script], env=environment, stderr=subprocess.PIPE, text=True)


def calls(tmp_path):
    path = tmp_path / "trace"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def test_two_workers_and_kill_and_resume(paper, tmp_path):
    """After kill -9 of the page the workers end, too, and finished cells are not computed again."""
    first = start(tmp_path)
    deadline = time.monotonic() + 120
    while len({pid for _, pid in calls(tmp_path)} - {str(first.pid)}) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    workers = {int(pid) for _, pid in calls(tmp_path)} - {first.pid}
    assert len(workers) == 2
    deadline = time.monotonic() + 30
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in workers if alive(pid)], "workers outlive the page"
    kept = {path.stem for path in (build() / "cells").rglob("*.pkl")}
    done = len(calls(tmp_path))
    second = start(tmp_path)
    assert second.communicate()[1] == "", "warnings of workers must not reach the page"
    assert second.returncode == 0
    assert len(calls(tmp_path)) - done == 12 - len(kept)
    record = json.loads((build() / "results" / "toy2030" / "killed.json").read_text())
    assert record["cells"] == 12 and len(record["computed_by"][0]["warnings"]) == 12


def alive(pid):
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False

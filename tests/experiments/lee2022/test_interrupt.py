"""A run of Table 1 that is interrupted."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_interrupted_table(tmp_path):
    """The solver of MBF-PCA returns its best iterate after an interrupt, and its experiment shows no warnings."""
    store = tmp_path / "store.sqlite"
    process = subprocess.Popen(
        [sys.executable, "-m", "fairpca", "run", "lee2022/table1", "--store", str(store), "--quiet"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def finished():
        return len(cells_of(store)) if store.exists() else 0

    # The last of seven cells is Algorithm 1 with a small tolerance, which takes seconds.
    wait_for(lambda: finished() == 6)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip().startswith("fairpca: Stopped 'lee2022/table1' (smoke): 6 of 7 cells are stored in")
    assert [status for _, status in cells_of(store)] == ["done"] * 6
    assert [method for method, _ in cells_of(store)].count("mbfpca") == 1


def cells_of(store):
    with contextlib.closing(sqlite3.connect(store, timeout=10)) as connection:
        try:
            return connection.execute("SELECT json_extract(cell, '$.method'), status FROM cells").fetchall()
        except sqlite3.OperationalError:
            return []  # The file is there, its table not yet.

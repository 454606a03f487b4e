"""Two commands with one lock never run at the same time, and a killed holder blocks nobody."""

import subprocess
import sys
import time
from pathlib import Path

ALONE = Path(__file__).resolve().parents[2] / "scripts" / "alone.py"
NOTE = "import sys, time; f = open(sys.argv[1], 'a'); f.write('('); f.flush(); time.sleep(0.3); f.write(')')"


def start(lock, *command):
    return subprocess.Popen([sys.executable, ALONE, lock, *command], stderr=subprocess.PIPE, text=True)


def test_one_after_the_other(tmp_path):
    notes = tmp_path / "notes"
    both = [start(tmp_path / "new" / "lock", sys.executable, "-c", NOTE, notes) for _ in range(2)]
    told = "".join(process.communicate(timeout=30)[1] for process in both)
    assert notes.read_text() == "()()"
    assert told.count("waiting") == 1


def test_a_killed_holder_blocks_nobody_and_the_result_is_the_commands(tmp_path):
    first = start(tmp_path / "lock", "sleep", "3")
    while not (tmp_path / "lock").exists():
        time.sleep(0.01)
    first.kill()
    first.communicate(timeout=10)
    second = start(tmp_path / "lock", sys.executable, "-c", "raise SystemExit(3)")
    second.communicate(timeout=10)
    assert second.returncode == 3

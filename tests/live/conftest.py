"""The modules of the live pages, asked under Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def ask():
    """Return a function that sends cases to the modules and returns their answers."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed, so the scripts of the live pages are not tested here")

    def send(what, *cases):
        given = json.dumps([{"what": what, **case} for case in cases])
        script = Path(__file__).with_name("solve_case.mjs")
        run = subprocess.run([node, str(script)], input=given, capture_output=True, text=True, timeout=120, check=False)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    return send

"""Every chapter runs from top to bottom; an execution that is current is reused by the book's build."""

from __future__ import annotations

from pathlib import Path

import notebooks
import pytest

ROOT = notebooks.ROOT


@pytest.mark.filterwarnings("default")  # a kernel's own machinery warns; what a chapter writes to stderr fails it
@pytest.mark.parametrize("source", notebooks.executable_chapters(), ids=notebooks.title)
def test_chapter_runs(source: Path) -> None:
    done = notebooks.execute(source)
    assert done.path == notebooks.executed_path(source, "smoke")
    record = notebooks.stored_record(done.path)
    assert record["parameters"]["profile"] == "smoke"
    assert record["stamp"] == notebooks.stamp(source, record["parameters"])

"""Every chapter runs from top to bottom; an execution that is current is reused by the book's build."""

from __future__ import annotations

from pathlib import Path

import notebooks
import pytest

ROOT = notebooks.ROOT
# This chapter describes every data set; it alone is executed again when those that are not bundled are here.
WITH_DATA = "start/data"
CHAPTERS = [
    pytest.param(source, marks=[pytest.mark.mirror] if notebooks.title(source) == WITH_DATA else [])
    for source in notebooks.executable_chapters()
]


@pytest.mark.filterwarnings("default")  # a kernel's own machinery warns; what a chapter writes to stderr fails it
@pytest.mark.parametrize("source", CHAPTERS, ids=notebooks.title)
def test_chapter_runs(source: Path) -> None:
    done = notebooks.execute(source)
    assert done.path == notebooks.executed_path(source, "smoke")
    record = notebooks.stored_record(done.path)
    assert record["parameters"]["profile"] == "smoke"
    assert record["stamp"] == notebooks.stamp(source, record["parameters"])

"""Which functions of the package a test calls, and how long it takes: a pytest plugin, see `mutate.py`.

It listens to calls only, so that it costs little; what runs in other processes or is compiled is not seen.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numba.core.event
import pytest


class Listener(numba.core.event.Listener):
    """Collects, test by test, the names of the package's functions that are called."""

    def __init__(self, root: Path, out: Path) -> None:
        self.package = f"{root / 'fairpca'}{os.sep}"
        self.root = root
        self.names: dict[CodeType, str | None] = {}
        self.called: set[str] = set()
        self.out = out
        self.known = set(read(out))
        self.passed = True
        self.listening = False

    def name(self, code: CodeType) -> str | None:
        """Return "file:function" of a piece of code, None where it is not of the package."""
        if code not in self.names:
            inside = code.co_filename.startswith(self.package)
            file = os.path.relpath(code.co_filename, self.root)
            self.names[code] = f"{file}:{code.co_qualname}" if inside else None
        return self.names[code]

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and (name := self.name(frame.f_code)):
            self.called.add(name)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Listen while one test runs, its fixtures included."""
        self.called, start = set(), time.perf_counter()
        threading.setprofile(self)
        sys.setprofile(self)
        self.listening = True
        try:
            return (yield)
        finally:
            self.listening = False
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            entry = {"test": item.nodeid, "passed": self.passed, "seconds": time.perf_counter() - start}
            self.passed = True
            with self.out.open("a", encoding="utf8") as file:
                file.write(json.dumps(entry | {"called": sorted(self.called)}) + "\n")

    def on_start(self, event: object) -> None:
        """Be deaf while numba compiles: it makes millions of calls, none of them the package's."""
        sys.setprofile(None)

    def on_end(self, event: object) -> None:
        """Listen again."""
        if self.listening:
            sys.setprofile(self)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what did not pass."""
        self.passed &= report.passed

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what an earlier run has heard."""
        items[:] = [item for item in items if item.nodeid not in self.known]


def read(out: Path) -> dict[str, dict[str, Any]]:
    """Return what is known of each test."""
    if not out.exists():
        return {}
    entries = map(json.loads, out.read_text(encoding="utf8").splitlines())
    return {entry["test"]: entry for entry in entries}


def run(arguments: list[str], root: Path, out: Path) -> None:
    """Run tests and add a line for each: whether it passed, its seconds and what it called."""
    listener = Listener(root, out)
    numba.core.event.register("numba:compile", listener)
    pytest.main(arguments, plugins=[listener])

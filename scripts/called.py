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

    def __init__(self, root: Path) -> None:
        self.package = f"{root / 'fairpca'}{os.sep}"
        self.root = root
        self.names: dict[CodeType, str | None] = {}
        self.called: set[str] = set()
        self.tests: dict[str, dict[str, Any]] = {}
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
            entry = self.tests.setdefault(item.nodeid, {"passed": True})
            entry |= {"seconds": time.perf_counter() - start, "called": sorted(self.called)}

    def on_start(self, event: object) -> None:
        """Be deaf while numba compiles: it makes millions of calls, none of them the package's."""
        sys.setprofile(None)

    def on_end(self, event: object) -> None:
        """Listen again."""
        if self.listening:
            sys.setprofile(self)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what did not pass."""
        if not report.passed:
            self.tests.setdefault(report.nodeid, {})["passed"] = False


def run(arguments: list[str], root: Path, out: Path) -> None:
    """Run tests and write, for each, whether it passed, its seconds and what it called."""
    listener = Listener(root)
    numba.core.event.register("numba:compile", listener)
    pytest.main(arguments, plugins=[listener])
    out.write_text(json.dumps(listener.tests), encoding="utf8")

"""Runs in processes of their own, what is left of them, and what a later run makes of it."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import fairpca

__all__ = [
    "CELLS",
    "PLAIN",
    "Try",
    "Victim",
    "command",
    "environment",
    "resumed",
    "saved",
    "stored_cells",
    "undisturbed",
]

PLAIN = "victim/plain"
CELLS = 8  # of each victim
_MODULE = "fairpca.experiments.faults.victim"
_ENDS_WITHIN = 20.0
_PATIENCE = 120.0


@dataclass(frozen=True)
class Try:
    """One fault: whether it hit a run that was computing, and what went wrong (nothing, if it held)."""

    live: bool
    problem: str = ""


def command(*arguments: str) -> list[str]:
    """Command line of a victim, with the arguments of ``fairpca``."""
    return [sys.executable, "-m", _MODULE, *arguments]


def environment(**more: str) -> dict[str, str]:
    """Environment of a victim: this package, and nothing of it elsewhere."""
    root = str(Path(fairpca.__file__).resolve().parents[1])
    former = os.environ.get("PYTHONPATH", "")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [root, former])),
        "PYTHONWARNINGS": "ignore:resource_tracker:UserWarning",  # loky's clean-up after killed workers speaks up
        **more,
    }


class _Process:
    """A process that leads a group, forked from this one or started."""

    def __init__(self, what: Callable[[], int] | Sequence[str], more: Mapping[str, str], errors: Path) -> None:
        self.code: int | None = None
        if callable(what):
            sys.stdout.flush()
            sys.stderr.flush()
            self.pid = os.fork()
            if self.pid == 0:
                _become(what, more, errors)
            return
        with errors.open("wb") as file:
            started = subprocess.Popen(
                what, env=environment(**more), stdout=subprocess.DEVNULL, stderr=file, start_new_session=True
            )
        self.pid = started.pid
        started.returncode = 0  # waited for here

    def poll(self) -> int | None:
        """Exit code, or minus the signal that ended it; None while it runs."""
        if self.code is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def wait(self, seconds: float) -> int | None:
        """Exit code, as soon as there is one, or None after so many seconds."""
        deadline = time.monotonic() + seconds
        while self.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        return self.code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


def _commanded(arguments: Sequence[str]) -> int:
    return int(importlib.import_module("fairpca.cli").main(arguments))


def _called(name: str, store: Path, out: Path | None, largest_file: int | None) -> int:
    runner = importlib.import_module("fairpca.experiments.engine.runner")
    if largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    try:
        runner.run(name, "smoke", store=store, verbose=0)
        if out:
            runner.save_results(name, "smoke", store=store, folder=out)
    except runner.StoreError as error:
        print(f"fairpca: error: {error}", file=sys.stderr)  # as the command does
        return 1
    return 0


def _become(what: Callable[[], int], more: Mapping[str, str], errors: Path) -> NoReturn:
    """In a forked process: be the run."""
    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, path in ((0, os.devnull), (1, os.devnull), (2, str(errors))):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), number)
        # Whoever started this process may have put other things there than files.
        sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(number, "w"), line_buffering=True) for number in (1, 2))
        os.environ.update(environment(**more))
        code = what()
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stderr.flush()
        os._exit(code)


class Victim:
    """A run in a process group of its own.

    It is forked where it can be, as loading everything anew would take most of the time.

    Parameters
    ----------
    folder : Path
        Gets the store, the trace of the cells that began, and what is printed.
    name : str
        The experiment.
    *options : str
        More arguments of ``fairpca run``.
    store : Path, optional
        Default: one in the folder.
    out : Path, optional
        Where to save the results.
    direct : bool
        Whether to call the functions behind the command, with all cells in the run's own process: much faster.
    before : sequence of str
        A command that starts this one, which then is not forked.
    sleep : float
        Seconds that a cell takes.
    shift : int
        Added to the values.
    largest_file : int, optional
        Limit on the size of the files that it writes, in bytes.
    """

    def __init__(
        self,
        folder: Path,
        name: str = PLAIN,
        *options: str,
        store: Path | None = None,
        out: Path | None = None,
        direct: bool = False,
        before: Sequence[str] = (),
        sleep: float = 0.1,
        shift: int = 0,
        largest_file: int | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.store = store or folder / "store.sqlite"
        self.trace = folder / "trace"
        self._errors = folder / "errors"
        saving = ["--save", "--out", str(out)] if out else []
        arguments = ["run", name, "--quiet", "--store", str(self.store), *saving, *options]
        more = {"VICTIM_TRACE": str(self.trace), "VICTIM_SLEEP": str(sleep), "VICTIM_SHIFT": str(shift)}
        if before:
            self.process = _Process([*before, *command(*arguments)], more, self._errors)
            return
        # Known before the fork, so that no child reads the sources again.
        importlib.import_module(_MODULE).register_all()
        target = functools.partial(_commanded, arguments)
        if direct:
            target = functools.partial(_called, name, self.store, out, largest_file)
        self.process = _Process(target, more, self._errors)

    def begun(self) -> list[str]:
        """The cells that have begun."""
        return self.trace.read_text(encoding="utf-8").split() if self.trace.exists() else []

    def wait(self) -> int | None:
        """Exit code, or None if it does not end."""
        code = self.process.wait(_PATIENCE)
        if code is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(_PATIENCE)
        return code

    def errors(self) -> str:
        """What it said on standard error."""
        return self._errors.read_text(encoding="utf-8", errors="replace").strip()

    def group_ends(self) -> bool:
        """Whether all processes of the run end soon after it; those that do not are ended here."""
        deadline = time.monotonic() + _ENDS_WITHIN
        while time.monotonic() < deadline:
            try:
                os.killpg(self.process.pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(0.05)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        return False

    def workers(self) -> list[int]:
        """Processes that compute cells for the run."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                line = (entry / "cmdline").read_bytes()
                if parent == self.process.pid and b"loky" in line and b"resource_tracker" not in line:
                    found.append(int(entry.name))
        return found

    def reached(self, begun: int) -> bool:
        """Wait until so many cells have begun; False if the run ends before."""
        while len(self.begun()) < begun:
            if self.process.poll() is not None:
                return False
            time.sleep(0.01)
        return self.process.poll() is None


def stored_cells(store: Path) -> int:
    """How many cells are done in a store."""
    if not store.exists():
        return 0
    with contextlib.closing(sqlite3.connect(store, timeout=30)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM cells WHERE status = 'done'").fetchone()[0])
        except sqlite3.OperationalError:
            return 0  # The file is there, its table not yet.


def saved(folder: Path, name: str = PLAIN) -> dict[str, bytes]:
    """The table and the cells that a run has saved, byte by byte."""
    base = folder / name
    return {
        suffix: base.with_name(base.name + suffix).read_bytes()
        for suffix in (".csv", ".cells.csv.gz")
        if base.with_name(base.name + suffix).exists()
    }


def undisturbed(folder: Path, name: str = PLAIN, shift: int = 0) -> Mapping[str, bytes]:
    """What a run gives that nobody disturbs."""
    victim = Victim(folder, name, out=folder / "out", direct=True, sleep=0.0, shift=shift)
    if victim.wait() != 0:
        raise RuntimeError(f"an undisturbed run failed: {victim.errors()}")
    return saved(folder / "out", name)


def resumed(store: Path, folder: Path, reference: Mapping[str, bytes], name: str = PLAIN) -> str:
    """Run again on a store; say what is wrong with that: cells lost or repeated, or another result."""
    before = stored_cells(store)
    again = Victim(folder / "again", name, store=store, out=folder / "out", direct=True, sleep=0.0)
    if again.wait() != 0:
        return f"the next run failed: {again.errors()[-300:]}"
    if len(again.begun()) != CELLS - before:
        return f"{before} cells were stored, and {len(again.begun())} of {CELLS} computed again"
    if saved(folder / "out", name) != reference:
        return "the next run gave another result"
    return ""

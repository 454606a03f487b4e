"""Draw cases, one family after the other, and count what is wrong."""

from __future__ import annotations

import signal
import threading
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from time import perf_counter, process_time

import numpy as np

from fairpca.selfcheck._finding import Family, Finding

__all__ = ["Tally", "check_case", "families", "run"]

_LONGEST = 60.0  # seconds of the processor that a case may take; the longest takes some six


@dataclass
class Tally:
    """What became of the cases of one family."""

    family: str
    cases: int = 0
    checks: int = 0
    worst: float = 0.0
    longest: float = 0.0  # seconds
    violations: dict[int, list[str]] = field(default_factory=dict)  # by number of the case
    elapsed: float = 0.0

    def add(self, number: int, findings: Iterable[Finding], seconds: float) -> None:
        """Count one case."""
        self.cases += 1
        self.elapsed += seconds
        self.longest = max(self.longest, seconds)
        for finding in findings:
            self.checks += 1
            if finding.gap == finding.gap:
                self.worst = max(self.worst, finding.gap)
            if finding.wrong:
                text = f"{finding.what}: {finding.gap:.3g}, allowed {finding.allowed:.3g}"
                self.violations.setdefault(number, []).append(text)


def families() -> dict[str, Family]:
    """Return the families that can run here, by name; those against CVXPY need it."""
    from fairpca.selfcheck import _linear, _minmax, _mmd, _robust, _shapes

    found = {**_linear.FAMILIES, **_minmax.FAMILIES, **_robust.FAMILIES, **_mmd.FAMILIES, **_shapes.FAMILIES}
    if find_spec("cvxpy") is None:
        found = {name: family for name, family in found.items() if not name.endswith("against CVXPY")}
    return found


def check_case(name: str, family: Family, seed: int, number: int) -> list[Finding]:
    """Run one case. An exception, a warning about numbers, and a case without an end are findings too."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
    findings: list[Finding] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            with _ended_after(_LONGEST):
                findings.extend(family(rng))
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{place.filename.rpartition('/')[2]}:{place.lineno}"
            findings.append(Finding(f"{type(error).__name__} at {where}: {str(error)[:200]}", float("nan"), 0.0))
    return findings


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    """Raise a `TimeoutError` in what takes longer; where there is no such clock (not a main thread, Windows), wait."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def give_up(number: int, frame: object) -> None:
        raise TimeoutError(f"no end after {seconds:g} s of the processor")

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def run(
    seconds: float,
    seed: int,
    chosen: Iterable[str] | None = None,
    progress: Callable[[list[Tally]], None] | None = None,
) -> list[Tally]:
    """Attack for some time; every family gets the same share of it, and one case at least.

    Parameters
    ----------
    seconds : float
        How long, by the clock.
    seed : int
        Any; the same seed draws the same cases.
    chosen : iterable of str, optional
        Names of the families; all of them by default.
    progress : callable, optional
        Called with the tallies after every case.

    Returns
    -------
    list of Tally
    """
    known = families()
    names = list(known) if chosen is None else list(chosen)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise ValueError(f"there is no family {', '.join(map(repr, unknown))}; known are {', '.join(known)}.")
    tallies = [Tally(name) for name in names]
    started = perf_counter()
    while True:
        tally = min(tallies, key=lambda one: (one.cases > 0, one.elapsed))
        if tally.cases and perf_counter() - started >= seconds:
            return tallies
        number, before = tally.cases, process_time()
        findings = check_case(tally.family, known[tally.family], seed, number)
        tally.add(number, findings, process_time() - before)
        if progress is not None:
            progress(tallies)

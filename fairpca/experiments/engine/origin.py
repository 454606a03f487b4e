"""Which code and which versions compute in this process, and whether they are those that a run expects."""

from __future__ import annotations

import functools
import linecache
import os
import platform
import socket
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import fairpca
from fairpca.experiments.engine.codehash import code_hash
from fairpca.experiments.engine.provenance import package_versions

_HASHES: weakref.WeakKeyDictionary[Callable[..., Any], str] = weakref.WeakKeyDictionary()


class OriginError(RuntimeError):
    """A worker has other code or other versions than the run that gave it work; nothing of it is stored."""


@dataclass(frozen=True)
class Origin:
    """What computes a cell.

    Attributes
    ----------
    code : str
        Code hash of the function, as the process that runs it sees it.
    versions : mapping of str to str
        Of Python, fairpca and the packages that results depend on.
    worker : str
        Machine, process and place of fairpca, for messages only.
    """

    code: str
    versions: Mapping[str, str]
    worker: str

    def agrees(self, other: Origin) -> bool:
        """Whether code and versions are the same."""
        return (self.code, dict(self.versions)) == (other.code, dict(other.versions))


def loaded_code_hash(function: Callable[..., Any]) -> str:
    """Code hash of a function, taken once: what is loaded stays, even when its files change later."""
    if function not in _HASHES:
        _HASHES[function] = code_hash(function)
    return _HASHES[function]


def origin(function: Callable[..., Any], sources: Mapping[str, list[str]] | None = None) -> Origin:
    """Tell what computes `function` in this process.

    Parameters
    ----------
    function : callable
        What computes a cell.
    sources : mapping of str to list of str, optional
        Lines of scripts and notebook cells by file name (`script_sources`): functions from there are sent to
        workers as they are, without their source.
    """
    for name, lines in (sources or {}).items():
        linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    return Origin(loaded_code_hash(function), versions(), _worker())


@functools.cache
def versions() -> dict[str, str]:
    """Versions of Python, fairpca and the packages that results depend on."""
    return {"fairpca": fairpca.__version__, "python": platform.python_version(), **package_versions()}


def _worker() -> str:
    return f"process {os.getpid()} on {socket.gethostname()} (fairpca from {os.path.dirname(fairpca.__file__)})"


def refuse_other_origin(experiment: str, expected: Origin, found: Origin) -> None:
    """Raise an `OriginError` that says what differs, if something does."""
    if found.agrees(expected):
        return
    differences = []
    if found.code != expected.code:
        differences.append(f"its code hash is {found.code}, that of this run {expected.code}")
    for name in sorted({*expected.versions, *found.versions}):
        theirs, ours = found.versions.get(name, "none"), expected.versions.get(name, "none")
        if theirs != ours:
            differences.append(f"it has {name} {theirs}, this run {ours}")
    raise OriginError(
        f"A worker of {experiment!r}, {found.worker}, computes with something else than this run, "
        f"{expected.worker}: {'; '.join(differences)}. Nothing that it computed is stored. Install the same code and "
        "the same packages for both, restart the workers, and start again; the cells finished so far are kept."
    )

"""What a cell may read besides data sets: stored results and published tables, declared and known by a digest.

A name is ``"<paper>/<exhibit>"`` for stored results and ``"published/<paper>/<table>"`` for a file of a paper's folder
in ``data/published``. The declaration is enforced where files are opened, so that no way of reading them is missed.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fairpca._resources import data_path

__all__ = ["InputError", "check_input_names", "input_digest", "input_files", "reading"]

_SUFFIXES = {"results": (".json", ".csv", ".cells.csv.gz"), "published": (".csv",)}


class InputError(RuntimeError):
    """A cell read what its experiment has not declared, or what changed while it was computed."""


@dataclass(frozen=True)
class _Permission:
    """Whose cell is computed, which files it may open, and the folders to which that applies."""

    experiment: str
    names: frozenset[str]
    folders: tuple[tuple[str, str], ...]


_CURRENT: ContextVar[_Permission | None] = ContextVar("_CURRENT", default=None)


def check_input_names(experiment: str, names: tuple[str, ...]) -> None:
    """Raise a `ValueError` for a name that cannot be an input of this experiment."""
    for name in names:
        if name.removeprefix("published/").count("/") != 1 or name == experiment:
            raise ValueError(
                f"{experiment!r} cannot have the input {name!r}; inputs are other stored results, '<paper>/<exhibit>', "
                "and published tables, 'published/<paper>/<table>'."
            )


def input_files(name: str) -> list[Path]:
    """Files behind an input whose contents count: table and cells of stored results, or one published table."""
    if name.startswith("published/"):
        paper, table = name.removeprefix("published/").split("/")
        return [data_path("published") / paper / f"{table}.csv"]
    paper, exhibit = name.split("/")
    return [data_path("results") / paper / f"{exhibit}{suffix}" for suffix in (".csv", ".cells.csv.gz")]


def input_digest(name: str) -> str:
    """Digest of an input's contents; empty if it is not there."""
    files = input_files(name)
    if not all(path.is_file() for path in files):
        return ""
    parts = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    return parts[0] if len(parts) == 1 else hashlib.sha256(" ".join(parts).encode()).hexdigest()


def _folders(kind: str) -> list[Path]:
    try:
        return [data_path(kind)]
    except FileNotFoundError:  # a worker with the code alone: what is not there is not read either
        return []


@contextmanager
def reading(experiment: str, inputs: Mapping[str, str]) -> Iterator[None]:
    """Let the code within read these inputs only, and only as long as they are those with these digests.

    Parameters
    ----------
    experiment : str
        Whose code runs, for messages.
    inputs : mapping of str to str
        Digest by name of input.

    Raises
    ------
    InputError
        Another stored result or published table was read, or an input is not the one with that digest.
    """
    _watch_openings()
    folders = tuple((kind, os.path.realpath(path) + os.sep) for kind in _SUFFIXES for path in _folders(kind))
    token = _CURRENT.set(_Permission(experiment, frozenset(inputs), folders))
    try:
        yield
    finally:
        _CURRENT.reset(token)
    for name, digest in inputs.items():
        if input_digest(name) != digest:
            raise InputError(
                f"{name!r}, which {experiment!r} reads, is not the one with which this run began: it has changed since "
                "(another run saved it), or this machine has another copy. Start again when it stands still."
            )


@cache
def _watch_openings() -> None:
    """Install the check, once a process; such a hook stays, and does nothing outside `reading`."""
    sys.addaudithook(_check_opening)


def _check_opening(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or (permission := _CURRENT.get()) is None or not isinstance(arguments[0], str | bytes):
        return
    path = os.path.realpath(os.fsdecode(arguments[0]))
    for kind, folder in permission.folders:
        suffixes = [suffix for suffix in _SUFFIXES[kind] if path.endswith(suffix)]
        if not path.startswith(folder) or not suffixes:
            continue
        stem = path.removeprefix(folder).removesuffix(max(suffixes, key=len)).replace(os.sep, "/")
        name = stem if kind == "results" else f"{kind}/{stem}"
        if name not in permission.names:
            raise InputError(
                f"{permission.experiment!r} reads {name!r}, which it has not declared, so its results would not be "
                f"computed again when that changes. Add it where the experiment is registered: "
                f"inputs=({', '.join(map(repr, sorted({*permission.names, name})))},)."
            )

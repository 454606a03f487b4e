"""Finished cells in one SQLite file that several runs may share and that survives a killed run."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

_BUSY_SECONDS = 30.0
_ATTEMPTS = 5
_SCHEMA = """
CREATE TABLE IF NOT EXISTS cells (
    experiment TEXT NOT NULL,
    cell TEXT NOT NULL,
    code TEXT NOT NULL,
    status TEXT NOT NULL,
    payload TEXT,
    error TEXT,
    wall_seconds REAL NOT NULL,
    cpu_seconds REAL NOT NULL,
    finished TEXT NOT NULL,
    versions TEXT,
    source TEXT,
    checksum TEXT,
    PRIMARY KEY (experiment, cell, code)
)
"""
_COLUMNS = (
    "experiment",
    "cell",
    "code",
    "status",
    "payload",
    "error",
    "wall_seconds",
    "cpu_seconds",
    "finished",
    "versions",
    "source",
)
# Those that the first stores did not have.
_LATER = ("versions", "source", "checksum")
# A cell that is done stays as it is: a second run that computed it too, or failed on it, changes nothing.
_INSERT = """
INSERT INTO cells (
    experiment, cell, code, status, payload, error, wall_seconds, cpu_seconds, finished, versions, source, checksum
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (experiment, cell, code) DO UPDATE SET
    status = excluded.status, payload = excluded.payload, error = excluded.error,
    wall_seconds = excluded.wall_seconds, cpu_seconds = excluded.cpu_seconds, finished = excluded.finished,
    versions = excluded.versions, source = excluded.source, checksum = excluded.checksum
WHERE cells.status != 'done'
"""


class StoreError(RuntimeError):
    """The store cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class StoredCell:
    """One line of the store.

    Attributes
    ----------
    status : {"done", "failed"}
        Whether the cell finished.
    records : list of dict
        What the cell returned (empty when it failed).
    error : str
        Traceback of a failed cell.
    wall_seconds, cpu_seconds : float
        What it cost.
    finished : str
        Date and time (UTC).
    versions : mapping of str to str
        Of Python and packages where it was computed; empty for cells stored before this was recorded.
    source : mapping of str to any
        Commit, platform and processor of the process that computed it; empty as before.
    """

    status: str
    records: list[dict[str, Any]]
    error: str
    wall_seconds: float
    cpu_seconds: float
    finished: str
    versions: Mapping[str, str] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)


def default_store() -> Path:
    """`FAIRPCA_STORE`, or ``fairpca/results.sqlite`` in the user's cache folder."""
    chosen = os.environ.get("FAIRPCA_STORE")
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(cache) if cache else Path.home() / ".cache") / "fairpca" / "results.sqlite"


# --------------------------------------------------------------------------------------------------------------------
# Values, exact in both directions


def encode_value(value: Any) -> Any:
    """Return `value` as something JSON can hold without losing a bit; arrays become their npy bytes."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("a cell returned an array of objects; allowed are arrays of numbers, booleans and text.")
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(value), allow_pickle=False)
        return {"__npy__": base64.b64encode(buffer.getvalue()).decode("ascii")}
    if isinstance(value, list | tuple):
        return [encode_value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode_value(item) for key, item in value.items()}
    raise TypeError(
        f"a cell returned a value of type {type(value).__name__}; "
        "allowed are numbers, text, booleans, None, arrays, lists and dicts of those."
    )


def decode_value(value: Any) -> Any:
    """Invert `encode_value` (a tuple comes back as a list)."""
    if isinstance(value, list):
        return [decode_value(item) for item in value]
    if isinstance(value, dict):
        if set(value) == {"__npy__"}:
            return np.lib.format.read_array(io.BytesIO(base64.b64decode(value["__npy__"])), allow_pickle=False)
        return {key: decode_value(item) for key, item in value.items()}
    return value


def canonical_json(value: Any) -> str:
    """Encode JSON with sorted keys and no spaces: one text for one value."""
    return json.dumps(encode_value(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


# --------------------------------------------------------------------------------------------------------------------


def _checksum(row: Sequence[Any]) -> str:
    """Checksum of a row of `_COLUMNS`, as it is written in the row itself."""
    return hashlib.sha256("\0".join(map(repr, row)).encode("utf-8", "surrogateescape")).hexdigest()


def _columns(connection: sqlite3.Connection) -> set[str]:
    return {row[1] for row in connection.execute("PRAGMA table_info(cells)")}


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the table, or give an older one the columns that it lacks; nothing is done to another program's file."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and ("cells" not in tables or not set(_COLUMNS) - set(_LATER) <= _columns(connection)):
        raise _ForeignFileError(", ".join(sorted(tables)))
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(_SCHEMA)
    if set(_LATER) <= _columns(connection):
        return
    # Another run may open the store at the same moment: only one of them changes it.
    connection.execute("BEGIN IMMEDIATE")
    for name in sorted(set(_LATER) - _columns(connection)):
        connection.execute(f"ALTER TABLE cells ADD COLUMN {name} TEXT")
    for number, *row in connection.execute(f"SELECT rowid, {', '.join(_COLUMNS)} FROM cells").fetchall():
        connection.execute("UPDATE cells SET checksum = ? WHERE rowid = ?", (_checksum(row), number))


class _ForeignFileError(Exception):
    """The file belongs to another program; the message lists its tables."""


class Store:
    """Access to one store file; every call opens, commits and closes, so that nothing is lost when a run is killed."""

    def __init__(self, path: str | os.PathLike[str] | None = None, *, busy_seconds: float = _BUSY_SECONDS) -> None:
        self.path = Path(path) if path is not None else default_store()
        self.busy_seconds = busy_seconds
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"The folder of the result store, {self.path.parent}, cannot be made ({error.strerror}). "
                "Choose another with --store FILE or the environment variable FAIRPCA_STORE."
            ) from error
        self._transact(_prepare)

    def put(self, experiment: str, cell: str, code: str, outcome: StoredCell) -> None:
        """Store one finished or failed cell at once."""
        # Not sorted: the order of what a cell returns is the order of the columns.
        payload = json.dumps(encode_value(outcome.records)) if outcome.status == "done" else None
        row = (
            experiment,
            cell,
            code,
            outcome.status,
            payload,
            outcome.error,
            outcome.wall_seconds,
            outcome.cpu_seconds,
            outcome.finished,
            json.dumps(dict(outcome.versions)),
            json.dumps(dict(outcome.source)),
        )
        self._transact(lambda connection: connection.execute(_INSERT, (*row, _checksum(row))))

    def get(self, experiment: str, codes: Iterable[str], cell: str | None = None) -> dict[tuple[str, str], StoredCell]:
        """Cells of an experiment computed by the given codes (all of them, or one), by ``(cell, code)``.

        A row that is not as it was written is an error that names file and cell.
        """
        found = {}
        for row in self._rows(experiment, codes, cell):
            outcome = _decoded(row)
            if outcome is None:
                raise StoreError(
                    f"In the result store {self.path} the cell {row[1]} of {experiment!r} is damaged: it is not as it "
                    f"was written. Take such cells out, so that they are computed again: "
                    f"fairpca run {experiment} --drop-damaged; if there are many, check the disk."
                )
            found[row[1], row[2]] = outcome
        return found

    def drop_damaged(self, experiment: str, codes: Iterable[str]) -> int:
        """Take out the damaged cells of an experiment, so that they are computed again; returns how many."""
        damaged = [row[:3] for row in self._rows(experiment, codes, None) if _decoded(row) is None]
        remove = "DELETE FROM cells WHERE experiment = ? AND cell = ? AND code = ?"
        self._transact(lambda connection: connection.executemany(remove, damaged))
        return len(damaged)

    def _rows(self, experiment: str, codes: Iterable[str], cell: str | None) -> list[tuple[Any, ...]]:
        wanted = sorted(set(codes))
        query = (
            f"SELECT {', '.join(_COLUMNS)}, checksum FROM cells "
            f"WHERE experiment = ? AND code IN ({','.join('?' * len(wanted))}) AND (? IS NULL OR cell = ?)"
        )
        values = [experiment, *wanted, cell, cell]
        return self._transact(lambda connection: connection.execute(query, values).fetchall())  # type: ignore[no-any-return]

    def _transact(self, action: Any) -> Any:
        for attempt in range(_ATTEMPTS):
            try:
                with closing(sqlite3.connect(self.path, timeout=self.busy_seconds)) as connection, connection:
                    # Text that is no text any more is found by its checksum, not by an error that names no cell.
                    connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
                    connection.execute("PRAGMA synchronous=NORMAL")
                    return action(connection)
            except _ForeignFileError as error:
                raise StoreError(
                    f"{self.path} is the database of another program (it has the tables {error}); nothing was changed "
                    "in it. Choose another file with --store FILE or the environment variable FAIRPCA_STORE."
                ) from None
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) and "busy" not in str(error):
                    raise StoreError(
                        f"The result store {self.path} cannot be used: {error}. "
                        "Choose another file with --store FILE or the environment variable FAIRPCA_STORE."
                    ) from error
                if attempt == _ATTEMPTS - 1:
                    raise StoreError(
                        f"The result store {self.path} stayed locked by another program for "
                        f"{_ATTEMPTS} attempts of {self.busy_seconds:g} s. Stop that program, or choose another file "
                        "with --store FILE; the cells finished so far are kept."
                    ) from error
                time.sleep(0.05 * 2**attempt)
            except sqlite3.DatabaseError as error:
                raise StoreError(
                    f"The result store {self.path} is damaged or not an SQLite file ({error}). "
                    "Move it away, or choose another file with --store FILE."
                ) from error
        raise AssertionError("unreachable")


def _decoded(row: tuple[Any, ...]) -> StoredCell | None:
    """What a row says, or None if it is damaged."""
    *values, checksum = row
    if checksum != _checksum(values):
        return None
    _, _, _, status, payload, error, wall, cpu, finished, versions, source = values
    records = decode_value(json.loads(payload)) if payload else []
    if status == "done" and not records:
        return None
    return StoredCell(
        status,
        records,
        error or "",
        wall,
        cpu,
        finished,
        json.loads(versions) if versions else {},
        json.loads(source) if source else {},
    )

"""Stores and saved results that somebody changed: refused with a message that names the file, or read as they were."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fairpca.experiments.faults.processes import CELLS, PLAIN, Try, saved, undisturbed

__all__ = ["damaged_results", "damaged_store", "foreign_store"]

Random = np.random.Generator


def _engine(module: str) -> Any:
    # By name: which engine is attacked is recorded beside the result, and does not make it another attack.
    return importlib.import_module(f"fairpca.experiments.engine.{module}")


def _codes(store: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(store)) as connection:
        return [code for (code,) in connection.execute("SELECT DISTINCT code FROM cells")]


def _read(store: Path, codes: list[str]) -> dict[tuple[str, str], str]:
    """Everything that a store says of the cells, as text that is equal only if all values are."""
    encode = _engine("store").canonical_json
    found = _engine("store").Store(store).get(PLAIN, codes)
    return {key: outcome.status + encode(outcome.records) for key, outcome in found.items()}


def _changed_byte(content: bytearray, random: Random) -> None:
    place = int(random.integers(len(content)))
    content[place] ^= int(random.integers(1, 256))


def _flipped_bit(content: bytearray, random: Random) -> None:
    content[int(random.integers(len(content)))] ^= 1 << int(random.integers(8))


def _truncated(content: bytearray, random: Random) -> None:
    del content[int(random.integers(len(content))) :]


def _zeroed_page(content: bytearray, random: Random) -> None:
    start = 4096 * int(random.integers(len(content) // 4096))
    content[start : start + 4096] = bytes(4096)


_CHANGES: dict[str, Callable[[bytearray, Random], None]] = {
    "byte": _changed_byte,
    "bit": _flipped_bit,
    "truncation": _truncated,
    "page": _zeroed_page,
}


def damaged_store(folder: Path, tries: int, random: Random, *, change: str) -> list[Try]:
    """Change a complete store: each read gives the values as they were, or fewer of them, or an error that names it."""
    undisturbed(folder)
    store = folder / "store.sqlite"
    codes = _codes(store)
    whole, content = _read(store, codes), store.read_bytes()
    if len(whole) != CELLS:
        raise RuntimeError(f"the store has {len(whole)} of {CELLS} cells")
    found = []
    for number in range(tries):
        # A name for each: SQLite keeps logs beside its files.
        copy = folder / f"damaged{number}.sqlite"
        changed = bytearray(content)
        _CHANGES[change](changed, random)
        copy.write_bytes(changed)
        live, problem = True, ""
        try:
            values = _read(copy, codes)
            # What is missing is computed again; what is there must be as it was written.
            if any(whole.get(key) != value for key, value in values.items()):
                problem = "another value was read"
            live = values != whole
        except _engine("store").StoreError as error:
            if copy.name not in str(error) or "\n" in str(error):
                problem = f"the message names no file: {error}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        found.append(Try(live, problem))
        for path in folder.glob(f"{copy.name}*"):
            path.unlink()
    return found


def foreign_store(folder: Path, tries: int, random: Random) -> list[Try]:
    """Name something as the store that is none: refused, and left as it was."""
    found = []
    for number in range(tries):
        path = folder / f"foreign{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        kind = number % 6
        if kind == 0:
            path.write_bytes(random.bytes(10_000))
        elif kind == 1:
            path.write_text("not a database\n" * 100)
        elif kind == 2:
            _database(path, "CREATE TABLE bookmarks (address TEXT)")
        elif kind == 3:
            _database(path, "CREATE TABLE cells (something TEXT)")
        elif kind == 4:
            path.mkdir()
        else:
            path = Path(os.devnull)
        before = path.read_bytes() if path.is_file() else None
        problem = "it was taken for a store"
        try:
            _engine("store").Store(path)
        except _engine("store").StoreError as error:
            problem = "" if str(path) in str(error) else f"the message names no file: {error}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if path.is_file() and path.read_bytes() != before:
            problem = "the file was changed"
        found.append(Try(True, problem))
    return found


def _database(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def damaged_results(folder: Path, tries: int, random: Random, *, suffix: str) -> list[Try]:
    """Change one byte, or the end, of a saved file: it is refused by name, or says the same numbers as before."""
    results = _engine("results")
    undisturbed(folder)
    before = saved(folder / "out")
    intact = results.load_results(PLAIN, folder / "out")
    found = []
    for number in range(tries):
        copy = folder / f"copy{number}"
        shutil.copytree(folder / "out", copy)
        path = (copy / PLAIN).with_name(Path(PLAIN).name + suffix)
        content = bytearray(path.read_bytes())
        (_truncated if number % 4 == 3 else _changed_byte)(content, random)
        path.write_bytes(content)
        live, problem = True, ""
        try:
            read = results.load_results(PLAIN, copy)
            live = read.provenance != intact.provenance
            if saved(copy) != before or not read.table.equals(intact.table):
                problem = "other numbers were read"
        except (results.ResultsError, LookupError) as error:
            problem = "" if path.name.partition(".")[0] in str(error) else f"the message names no file: {error}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        shutil.rmtree(copy)
        found.append(Try(live, problem))
    return found

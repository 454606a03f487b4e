"""Stored results: ``data/results/<paper>/<exhibit>.csv``, ``.cells.csv.gz`` and ``.json``."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_info

import fairpca
from fairpca._resources import data_path, read_table
from fairpca.companion._frames import Cells, canonical_json, cells_frame, read_cells, write_cells
from fairpca.datasets import cache_folder

ROOT = Path(fairpca.__file__).resolve().parents[1]
PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "pymanopt", "numba", "cvxpy", "clarabel")
SAME = 1e-7  # numbers that agree so closely keep their last digits


@dataclass(frozen=True)
class Results:
    """Results of an exhibit.

    Attributes
    ----------
    table : DataFrame
        The table made from all cells.
    cells : DataFrame
        One row for each row that a cell returned, with the cell's arguments.
    record : dict
        Where stored results come from: commit, versions, seconds, and digests of the files.
    """

    table: pd.DataFrame
    cells: pd.DataFrame
    record: Mapping[str, Any]


def build() -> Path:
    """Return the folder of kept cells and new results: ``_build`` of a checkout, else the user's cache."""
    own = ROOT / "_build" if (ROOT / "data" / "results").is_dir() else cache_folder()
    return Path(os.environ.get("FAIRPCA_BUILD", own))


def place(paper: str, file: str, staged: bool = False) -> Path:
    """Return the path of a stored file, or of its successor that a paper run has made and not yet moved."""
    new = build() / "results" / paper / file
    return new if staged and new.exists() else data_path("results") / paper / file


def stored(exhibit: str) -> Results:
    """Read the stored results of another page.

    Parameters
    ----------
    exhibit : str
        ``"<paper>/<exhibit>"``.

    Returns
    -------
    Results
    """
    cells, table, record = read(exhibit)
    if not record:
        raise LookupError(f"There are no stored results of {exhibit!r}. Compute them with `make results`.")
    return Results(table, cells_frame(cells), record)


def records() -> dict[str, dict[str, Any]]:
    """Read where all stored results come from.

    Returns
    -------
    dict of str to dict
        By ``"<paper>/<exhibit>"``: commit, versions, seconds, and digests of the files.
    """
    files = sorted(data_path("results").glob("*/*.json"))
    return {f"{file.parent.name}/{file.stem}": json.loads(file.read_text(encoding="utf-8")) for file in files}


def read(exhibit: str, staged: bool = False) -> tuple[Cells, pd.DataFrame, dict[str, Any]]:
    """Return stored cells, table and record of an exhibit; all three are empty if there is nothing.

    A wheel has the table and the record without the cells.
    """
    paper, name = exhibit.split("/")
    try:
        path = place(paper, f"{name}.json", staged)
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:  # also where a package has no results at all
        return [], pd.DataFrame(), {}
    cells = path.with_name(f"{name}.cells.csv.gz")
    for file, expected in record["files"].items():
        if (file != cells.name or cells.exists()) and _digest(path.with_name(file).read_bytes()) != expected:
            raise ValueError(f"{file} is not the file that {path.name} describes. Restore it with git checkout.")
    return read_cells(cells.read_bytes()) if cells.exists() else [], read_table(path.with_name(f"{name}.csv")), record


def keep_digits(before: Cells, cells: Cells) -> Cells:
    """Return the cells as they read from their file, or those before if all numbers agree."""
    cells = read_cells(write_cells(cells))
    pairs = list(zip(before, cells, strict=False))
    agree = len(before) == len(cells) and all(
        old[0] == new[0] and distance(old[1], new[1]) <= SAME for old, new in pairs
    )
    return before if agree else cells


def write(exhibit: str, cells: Cells, table: pd.DataFrame, own: Mapping[str, Any]) -> None:
    """Write the three files for the runner to move; `own` describes this page's part."""
    paper, name = exhibit.split("/")
    _, old, before = read(exhibit, staged=True)
    if distance(old.to_dict("records"), as_stored(table).to_dict("records")) <= SAME:
        table = old
    csv = table.to_csv(index=False, lineterminator="\n").encode()
    contents = {f"{name}.cells.csv.gz": write_cells(cells), f"{name}.csv": csv}
    files = {file: _digest(content) for file, content in contents.items()}
    written = before.get("computed_by", [])
    if before.get("files") == files and any(
        all(entry.get(key) == own[key] for key in ("part", "code", "data")) for entry in written
    ):
        return
    parts = [entry for entry in written if entry.get("part", own["part"]) != own["part"]] + [dict(own)]
    record = {
        "exhibit": exhibit,
        "profile": "paper",
        "files": files,
        "cells": sum(entry["cells"] for entry in parts),
        "wall_seconds": round(sum(entry["wall_seconds"] for entry in parts), 3),
        "cpu_seconds": round(sum(entry["cpu_seconds"] for entry in parts), 3),
        "computed_to": max(entry["computed_to"] for entry in parts),
        "commit": own["commit"],
        "computed_by": parts,
    }
    contents[f"{name}.json"] = (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode()
    for file, content in contents.items():  # the digests come last
        put(build() / "results" / paper / file, content)


def put(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def origin() -> dict[str, Any]:
    """Return commit, versions and processor; no host names and no paths."""
    description = Path("/proc/cpuinfo")
    lines = description.read_text(encoding="utf-8", errors="replace").splitlines() if description.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    commit = _git("rev-parse", "HEAD")
    return {
        "fairpca": fairpca.__version__,
        "python": platform.python_version(),
        "packages": {found.name: found.version for found in distributions() if found.name in PACKAGES},
        "commit": commit or None,
        "clean": bool(commit) and not _git("status", "--porcelain", "--", ".", ":(exclude)data/results"),
        "platform": f"{platform.system()} {platform.machine()}",
        "processor": models[0] if models else platform.processor() or "unknown",
        "processors": os.cpu_count(),
        "blas": sorted({f"{pool['internal_api']} {pool.get('architecture')}" for pool in threadpool_info()}),
    }


def _git(*arguments: str) -> str:
    if not (ROOT / ".git").exists():
        return ""
    # Without locks, so that a killed run does not leave the repository locked.
    command = ["git", "--no-optional-locks", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def as_stored(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table as it reads from its file."""
    return read_table(io.BytesIO(table.to_csv(index=False, lineterminator="\n").encode()))


def distance(
    before: Sequence[Mapping[Any, Any]], now: Sequence[Mapping[Any, Any]], ignore: Sequence[str] = ("seconds",)
) -> float:
    """Return the largest relative difference between two lists of records; infinity if text or shape differs.

    Numbers below 1e-6 are compared absolutely, and arrays relative to their largest entry.
    """
    if len(before) != len(now):
        return np.inf
    found = [0.0]
    for old, new in zip(before, now, strict=True):
        found += [_apart(old.get(name), new.get(name)) for name in (old.keys() | new.keys()) - set(ignore)]
    return max(found)


def _apart(before: Any, now: Any) -> float:
    if isinstance(before, str) and before == now:
        return 0.0
    try:
        x, y = (np.asarray(np.nan if value is None else value, dtype=float) for value in (before, now))
    except (TypeError, ValueError):
        return 0.0 if canonical_json(before) == canonical_json(now) else np.inf
    if x.shape != y.shape:
        return np.inf
    gone = (x == y) | (np.isnan(x) & np.isnan(y))
    scale = max(np.abs(x[np.isfinite(x)]).max(initial=0.0), 1e-6)
    return float(np.nan_to_num(np.where(gone, 0.0, np.abs(x - y)) / scale, nan=np.inf).max(initial=0.0))

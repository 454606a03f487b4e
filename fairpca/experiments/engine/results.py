"""Results that belong to the book: ``data/results/<paper>/<exhibit>.csv``, ``.json`` and ``.cells.csv.gz``."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from fairpca._files import Outputs
from fairpca._interrupts import HeedInterrupts
from fairpca._resources import data_path, read_table
from fairpca.experiments.engine.attempts import compute
from fairpca.experiments.engine.frames import CELL, cells_frame, read_cells, write_cells
from fairpca.experiments.engine.inputs import input_digest
from fairpca.experiments.engine.provenance import commit_and_changes, is_ancestor
from fairpca.experiments.engine.registry import Cell, Experiment, Profile, get
from fairpca.experiments.engine.store import Store, StoredCell

_ATTEMPTS = 5


class ResultsError(RuntimeError):
    """Stored files do not belong together, or may not be written; the message says what to do."""


def finished_cells(experiment: Experiment, profile: Profile, store: Store) -> list[tuple[Cell, StoredCell]]:
    """Cells of a profile with what the store has of them for the current code; missing ones are an error."""
    keys = experiment.keys(experiment.digests())
    known = store.get(experiment.name, keys.values())
    found, missing = [], 0
    for cell in experiment.grid(profile):
        outcome = known.get((cell.json, keys[experiment.label(cell)]))
        if outcome is None or outcome.status != "done":
            missing += 1
        else:
            found.append((cell, outcome))
    if missing:
        raise LookupError(
            f"{missing} of {missing + len(found)} cells of {experiment.name!r} ({profile}) are not in "
            f"{store.path.name} for the current code and inputs. Compute them: "
            f"fairpca run {experiment.name} --profile {profile}."
        )
    return found


def table_text(table: pd.DataFrame) -> str:
    """CSV text of a table; floats in the shortest form that reads back exactly."""
    return table.to_csv(index=False, lineterminator="\n")


def grid_hash(cells: Sequence[str]) -> str:
    """Identify a set of cells, whatever their order."""
    return hashlib.sha256("\n".join(sorted(cells)).encode()).hexdigest()[:32]


def save_results(
    name: str,
    profile: Profile = "paper",
    *,
    store: Any = None,
    folder: str | os.PathLike[str] | None = None,
    table: pd.DataFrame | None = None,
) -> list[Path]:
    """Write an experiment's finished results: the table, its provenance and the values of every cell.

    Parameters
    ----------
    name : str
        ``"<paper>/<exhibit>"``.
    profile : {"smoke", "paper"}
        All its cells must be in the store, computed by the current code.
    store : path, optional
        The store that has them.
    folder : path, optional
        Default: ``data/results`` of the source tree, which must be a clean tree of a commit (changes in
        ``data/results`` itself do not count).
    table : DataFrame, optional
        What `run` has just returned; without it the table is made from the cells again.

    Returns
    -------
    list of Path
        The files written: all of them, or none.
    """
    experiment = get(name)
    base = (Path(folder) if folder is not None else _results_folder(name)) / name
    commit = _commit_to_name(required=folder is None)
    found = finished_cells(experiment, profile, store if isinstance(store, Store) else Store(store))
    cells = [(cell.json, outcome.records) for cell, outcome in found]
    if table is None:
        with HeedInterrupts():
            table = experiment.table(cells_frame(cells))
    contents = {
        base.with_name(base.name + ".cells.csv.gz"): write_cells(cells),
        base.with_name(base.name + ".csv"): table_text(table).encode(),
    }
    record = {
        "experiment": name,
        "title": experiment.title,
        "profile": profile,
        "code": experiment.hashes(),
        "inputs": experiment.digests(),
        "grid": grid_hash([cell for cell, _ in cells]),
        "files": {path.name: hashlib.sha256(content).hexdigest() for path, content in contents.items()},
        "cells": len(cells),
        "wall_seconds": round(sum(outcome.wall_seconds for _, outcome in found), 3),
        "cpu_seconds": round(sum(outcome.cpu_seconds for _, outcome in found), 3),
        "computed_from": min(outcome.finished for _, outcome in found),
        "computed_to": max(outcome.finished for _, outcome in found),
        "computed_by": _computed_by([outcome for _, outcome in found]),
        "commit": commit,
    }
    # Last, so that the digests in it fit only when everything is there.
    contents[base.with_name(base.name + ".json")] = (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode()
    outputs = Outputs({path.name: path for path in contents})
    with _alone_in(base.parent):
        outputs.write({path.name: content for path, content in contents.items()})
    return list(contents)


def _commit_to_name(required: bool) -> str | None:
    """The commit whose code this is; None if there is none and none is required."""
    commit, changes = commit_and_changes()
    if required and (commit is None or changes):
        what = f"has uncommitted changes ({', '.join(changes[:3])}{', …' if len(changes) > 3 else ''})"
        raise ResultsError(
            f"Results are saved to data/results with the commit whose code computed them, but this source tree "
            f"{what if changes else 'is not a git repository'}. Commit first, or write elsewhere with --out FOLDER; "
            "the cells are kept."
        )
    return None if changes else commit


def _computed_by(outcomes: Sequence[StoredCell]) -> list[dict[str, Any]]:
    """Versions, commit and machine of the processes that computed cells, with how many each kind computed.

    A commit that this tree's history does not have says nothing to a reader and is left out: the code is the one whose
    hash stands in the record, and ``commit`` has it.
    """
    kinds: dict[str, dict[str, Any]] = {}
    for outcome in outcomes:
        packages = dict(outcome.versions)
        own = {name: packages.pop(name, None) for name in ("fairpca", "python")}
        kind = {**own, "packages": packages, **outcome.source}
        kinds.setdefault(json.dumps(kind, sort_keys=True), {"cells": 0, **kind})["cells"] += 1
    for kind in kinds.values():
        if kind.get("commit") and is_ancestor(kind["commit"]) is False:
            kind["commit"] = None
    return list(kinds.values())


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Let one process at a time write to a folder, and remove what killed ones have left there."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        if fcntl is not None:
            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
            for left in folder.glob(".fairpca-*"):
                left.unlink(missing_ok=True)
        yield


def _results_folder(name: str) -> Path:
    folder = data_path("results")
    if folder.parent.name == "_data":
        raise ValueError("fairpca is installed, not run from its source tree; say where to write with --out FOLDER.")
    return folder


@dataclass(frozen=True)
class StoredResults:
    """Results read from the repository.

    Attributes
    ----------
    name : str
        ``"<paper>/<exhibit>"``.
    table : DataFrame
        The tidy table.
    cells : DataFrame
        Values of every cell.
    provenance : dict
        Code hashes, inputs, versions, machines, commits, cost, digests of the other two files.
    """

    name: str
    table: pd.DataFrame
    cells: pd.DataFrame
    provenance: Mapping[str, Any]

    @property
    def stale_reasons(self) -> list[str]:
        """What has changed since: code of a method, an input, or the grid of cells."""
        experiment = get(self.name)
        stored, current = self.provenance["code"], experiment.hashes()
        read, now = self.provenance["inputs"], {name: input_digest(name) for name in experiment.inputs}
        labels = sorted(set(stored) | set(current))
        reasons = [
            f"the code{' of ' + label if label else ''} has changed"
            for label in labels
            if stored.get(label) != current.get(label)
        ]
        reasons += [
            f"the input {name} has changed" for name in sorted({*read, *now}) if read.get(name) != now.get(name)
        ]
        if self.provenance["grid"] != grid_hash([cell.json for cell in experiment.grid(self.provenance["profile"])]):
            reasons.append("the grid of cells has changed")
        return reasons

    @property
    def stale(self) -> bool:
        """Whether the results were computed by other code, from other inputs or on other cells than today's."""
        return bool(self.stale_reasons)


def stored_names(folder: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the names of the experiments whose results are in the repository.

    Parameters
    ----------
    folder : str or path, optional
        Where results are kept; by default the repository, or what was installed with the package.

    Returns
    -------
    list of str
    """
    bases = [Path(folder)] if folder is not None else [data_path("results")]
    return sorted(path.relative_to(base).with_suffix("").as_posix() for base in bases for path in base.glob("*/*.json"))


def load_results(name: str, folder: str | os.PathLike[str] | None = None) -> StoredResults:
    """Read an experiment's results from the repository (or the installed package).

    Parameters
    ----------
    name : str
        ``<paper>/<exhibit>``.
    folder : str or path, optional
        Where results are kept; by default the repository, or what was installed with the package.

    Returns
    -------
    StoredResults
    """
    base = (Path(folder) if folder is not None else data_path("results")) / name
    record = base.with_name(base.name + ".json")
    if not record.is_file():
        raise LookupError(
            f"There are no stored results of {name!r}; there are {', '.join(stored_names(folder)) or 'none'}. "
            f"Make them: fairpca run {name} --profile paper --save."
        )
    paths = [base.with_name(base.name + suffix) for suffix in (".csv", ".cells.csv.gz")]
    for attempt in range(_ATTEMPTS):
        try:
            told = json.loads(record.read_text(encoding="utf-8"))
            contents = [path.read_bytes() for path in paths]
            digests = {
                path.name: hashlib.sha256(content).hexdigest() for path, content in zip(paths, contents, strict=True)
            }
            wrong = [path.name for path in paths if told["files"][path.name] != digests[path.name]]
        except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
            missing = getattr(error, "filename", None)
            wrong = [Path(missing).name if missing else record.name]
        if not wrong:
            table, cells = contents
            return StoredResults(name, read_table(io.BytesIO(table)), cells_frame(read_cells(cells)), told)
        # Another process may be putting new files in place.
        if attempt < _ATTEMPTS - 1:
            time.sleep(0.05 * 2**attempt)
    raise ResultsError(
        f"The files of {name!r} in {base.parent} do not belong together: {', '.join(wrong)} is not what {record.name} "
        "describes (edited by hand, or left by a run that was killed). "
        f"Restore them (git checkout -- 'data/results/{name}.*') or make them again: "
        f"fairpca run {name} --profile paper --save."
    )


# --------------------------------------------------------------------------------------------------------------------
# A slice computed again


def recompute(
    name: str,
    where: Mapping[str, Any] | None = None,
    *,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    ignore: Sequence[str] = ("seconds",),
    folder: str | os.PathLike[str] | None = None,
) -> pd.DataFrame:
    """Compute some stored cells again, here and now, and check that they agree with what is stored.

    Parameters
    ----------
    name : str
        ``"<paper>/<exhibit>"``.
    where : mapping, optional
        Which cells: a value, or a list of values, by key column; without it all of them.
    rtol, atol : float
        Allowed difference, as in `numpy.allclose`.
    ignore : sequence of str
        Returned columns that may differ, such as times.
    folder : path, optional
        Other place of the stored results.

    Returns
    -------
    DataFrame
        Key columns, ``metric, stored, live, difference``; arrays are represented by their largest difference.

    Raises
    ------
    AssertionError
        If a value differs by more than allowed.
    LookupError
        If no stored cell matches.
    """
    experiment, stored = get(name), load_results(name, folder)
    chosen = stored.cells[_matches(stored.cells, where or {})]
    if chosen.empty:
        raise LookupError(f"No stored cell of {name!r} matches {dict(where or {})!r}.")
    rows: list[dict[str, Any]] = []
    digests = experiment.digests()
    for cell, part in chosen.groupby(CELL, sort=False):
        key = json.loads(str(cell))
        live = compute(experiment.functions[experiment.label(key)], name, key, digests)
        # The stored records go through the same frame, so that types and missing values are alike.
        fresh = cells_frame([(str(cell), live)])
        if len(fresh) != len(part):
            raise AssertionError(f"{name}: {len(part)} stored and {len(fresh)} live records of {key}.")
        for column in [column for column in fresh.columns if column != CELL and column not in key]:
            if column not in ignore:
                rows += _compare(key, column, part[column], fresh[column])
    table = pd.DataFrame(rows)
    wrong = table[table["difference"] > atol + rtol * table["scale"]]
    if len(wrong):
        raise AssertionError(f"{name}: stored and live values differ:\n{wrong.drop(columns='scale').to_string()}")
    return table.drop(columns="scale")


def _matches(cells: pd.DataFrame, where: Mapping[str, Any]) -> pd.Series:
    mask = pd.Series(True, index=cells.index)
    for column, wanted in where.items():
        if column not in cells.columns:
            raise ValueError(f"There is no column {column!r}; columns are {', '.join(cells.columns)}.")
        allowed = list(wanted) if isinstance(wanted, list | tuple | set | range) else [wanted]
        mask &= cells[column].isin(allowed)
    return mask


def _compare(key: Mapping[str, Any], column: str, stored: pd.Series, live: pd.Series) -> list[dict[str, Any]]:
    rows = []
    for old, new in zip(stored, live, strict=True):
        row = {**key, "metric": column, "stored": old, "live": new}
        try:
            before, after = np.asarray(old, dtype=float), np.asarray(new, dtype=float)
        except (TypeError, ValueError):
            # Text: equal or not.
            rows.append({**row, "difference": 0.0 if old == new else np.inf, "scale": 0.0})
            continue
        if before.shape != after.shape:
            rows.append({**row, "difference": np.inf, "scale": 0.0})
            continue
        both_missing = np.isnan(before) & np.isnan(after)
        difference = np.where(both_missing | (before == after), 0.0, np.abs(after - before))
        largest = float(np.nan_to_num(difference, nan=np.inf).max(initial=0.0))
        scale = float(np.nan_to_num(np.abs(before)).max(initial=0.0))
        rows.append({**row, "difference": largest, "scale": scale})
    return rows

"""Compute a grid of cells, keep every finished one, and compare with what is stored."""

from __future__ import annotations

import datetime
import hashlib
import html
import itertools
import json
import os
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from fairpca.companion._code import Code
from fairpca.companion._frames import Cells, canonical_columns, canonical_json, cells_frame
from fairpca.companion._store import Results, as_stored, build, distance, keep_digits, origin, read, write
from fairpca.datasets import facts, names, where

Setting = dict[str, Any]
ABOUT_CODE = (
    DeprecationWarning,
    FutureWarning,
    PendingDeprecationWarning,
)  # and not about a result
IN_PROCESS = 2.0  # seconds; a grid that takes longer gets worker processes


def grid(**values: Iterable[Any]) -> list[Setting]:
    """Return every combination of the given values, the last one changing fastest.

    Parameters
    ----------
    **values : iterable
        The values of each argument of the cell function. Add lists for a grid that is not a product.

    Returns
    -------
    list of dict
    """
    return [dict(zip(values, some, strict=True)) for some in itertools.product(*values.values())]


def seed(exhibit: str, **key: Any) -> int:
    """Return the seed of a cell, which depends on the exhibit and on the values that identify the cell.

    Parameters
    ----------
    exhibit : str
        ``"<paper>/<exhibit>"``.
    **key
        The arguments of the cell function.

    Returns
    -------
    int
    """
    content = hashlib.sha256(f"{exhibit}\0{canonical_json(key)}".encode()).digest()
    words = np.frombuffer(content, dtype="<u4").astype(np.uint32)
    return int(np.random.SeedSequence(words.tolist()).generate_state(1, dtype=np.uint32)[0])


def show(text: str, mark: str = "checked", markup: str = "") -> None:
    """Display a line on a page, as a paragraph of the class `mark`, or print it elsewhere."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        paragraph = f'<p class="{mark}">{markup or html.escape(text)}</p>'
        ipython.display.display({"text/plain": text, "text/html": paragraph}, raw=True)
    else:
        print(text)


def run(
    function: Callable[..., Any],
    full: Iterable[Setting],
    smoke: Iterable[Setting] | None = None,
    *,
    exhibit: str,
    table: Callable[[pd.DataFrame], pd.DataFrame],
    part: Setting | None = None,
    needs: Sequence[str] | Callable[[Setting], Sequence[str]] = (),
    jobs: int | None = None,
    rtol: float = 1e-6,
    ignore: Sequence[str] = ("seconds",),
) -> Results:
    """Compute a grid of cells, or a slice that must agree with the stored results.

    The page's variable `profile` decides. With ``profile = "paper"`` all of `full` is computed, every finished cell is
    kept, and cells and table are written to ``_build/results``. Otherwise `smoke` is computed and compared with the
    stored cells, the stored table is made again from all stored cells, and these stored results are returned.

    Parameters
    ----------
    function : callable
        Computes one cell from keyword arguments: a dict, or an iterable of dicts, of numbers, text and arrays.
    full : iterable of dict
        The arguments of all cells.
    smoke : iterable of dict, optional
        A slice of `full`; by default all of it, which suits grids of less than ten seconds.
    exhibit : str
        ``"<paper>/<exhibit>"``, the name of the stored results.
    table : callable
        Makes the table from the data frame of all cells.
    part : dict, optional
        Arguments that all cells of this page have and those of other pages of the same exhibit have not.
    needs : sequence of str or callable
        Data sets that every cell needs, next to those that are values of its arguments; or a function of the cell
        that returns all data sets it needs.
    jobs : int, optional
        Worker processes; by default what the environment variable ``JOBS`` says, or one.
    rtol : float
        Relative difference to the stored cells that is allowed.
    ignore : sequence of str
        Values that may differ, such as times.

    Returns
    -------
    Results
    """
    paper = sys._getframe(1).f_globals.get("profile", "smoke") == "paper"
    full, own = list(full), part or {}
    chosen = full if paper or smoke is None else list(smoke)
    before, old, record = read(exhibit, staged=paper)
    known = {key: kept for key, kept in before if own.items() <= json.loads(key).items()}
    code = Code(function, full)
    absent = {canonical_json(setting): _absent(setting, needs) for setting in chosen}
    here = [setting for setting in chosen if not absent[canonical_json(setting)]]
    # A slice that came from kept cells would only be compared with itself.
    outcomes = _compute(function, here, build() / "cells" / exhibit / code.digest if paper else None, code, jobs)
    live: Cells = [(canonical_json(setting), outcome["rows"]) for setting, outcome in zip(here, outcomes, strict=True)]
    cells, made = before, old
    text = f"Computed here: {len(live)} of {len(full)} cells."
    if paper and len(live) == len(full):
        order = {key: number for number, (key, _) in enumerate(before)}
        cells = live + [cell for cell in before if cell[0] not in known]
        cells = keep_digits(before, sorted(cells, key=lambda cell: order.get(cell[0], len(order))))
        made = canonical_columns(table(cells_frame(cells)))
        write(exhibit, cells, made, _describe(own, code, live, outcomes))
    elif known:
        _check_grid(exhibit, known, full)
        again = as_stored(canonical_columns(table(cells_frame(before)))).to_dict("records")
        _check(exhibit, "the table made from all stored cells", old.to_dict("records"), again, rtol, ignore)
        apart = [_check(exhibit, key, known[key], found, rtol, ignore) for key, found in live]
        text += f" They agree with the stored ones (largest relative difference {max(apart):.0e})." if live else ""
        text += _stored(record, own, code)
    elif record and not before:
        cells = live
        text += " The table is the stored one; a wheel has no cells to compare them with."
    else:
        cells, made = live, canonical_columns(table(cells_frame(live))) if live else old
        text += " There are no stored results to compare them with."
    counts = Counter(title for missing in absent.values() for title in missing)
    if counts:
        lacking = (f"{title} ({count} {'cell' if count == 1 else 'cells'})" for title, count in counts.items())
        text += f" Not computed, because the data are not available: {', '.join(lacking)}."
    show(text)
    return Results(made, cells_frame(cells), record)


def _absent(setting: Setting, needs: Sequence[str] | Callable[[Setting], Sequence[str]]) -> list[str]:
    """Return the titles of the data sets that a cell needs and that are not on this computer."""
    text = [value for value in setting.values() if isinstance(value, str)]
    named = dict.fromkeys(needs(setting) if callable(needs) else [*needs, *text])
    return [facts(name).title for name in named if name in names() and where(name) == "missing"]


def _stored(record: Mapping[str, Any], own: Setting, code: Code) -> str:
    entry = next((entry for entry in record["computed_by"] if entry.get("part") == own), None)
    if entry is None:  # from before the page computed them
        return f" Stored at commit {str(record.get('commit'))[:7]}."
    commit = str(entry["commit"])[:7] + ("" if entry["clean"] else " with uncommitted changes")
    changed = "" if (entry["code"], entry["data"]) == (code.digest, code.data) else "; the code has changed since"
    return f" Stored at commit {commit}, after {entry['cpu_seconds']:.0f} s of computing{changed}."


def _describe(own: Setting, code: Code, live: Cells, outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "part": own,
        "chapter": os.environ.get("FAIRPCA_CHAPTER", ""),
        "code": code.digest,
        "data": code.data,
        "cells": len(outcomes),
        "wall_seconds": round(sum(outcome["wall"] for outcome in outcomes), 3),
        "cpu_seconds": round(sum(outcome["cpu"] for outcome in outcomes), 3),
        "computed_to": max(outcome["at"] for outcome in outcomes),
        "warnings": {key: each["warned"] for (key, _), each in zip(live, outcomes, strict=True) if each["warned"]},
        **origin(),
    }


def _check_grid(exhibit: str, known: Mapping[str, Any], full: Sequence[Setting]) -> None:
    keys = {canonical_json(setting) for setting in full}
    if keys != set(known):
        one = next(iter(keys ^ set(known)))
        raise AssertionError(
            f"{exhibit} has {len(known)} stored cells and {len(keys)} on this page; only one of the two has {one}. "
            'Compute them with profile = "paper" (make results).'
        )


def _check(exhibit: str, key: str, before: Any, now: Any, rtol: float, ignore: Sequence[str]) -> float:
    apart = distance(before, now, ignore)
    if apart > rtol:
        pairs = zip(before, now, strict=False)
        old, new = next(
            (pair for pair in pairs if distance(pair[:1], pair[1:], ignore) > rtol),
            (before, now),
        )
        raise AssertionError(
            f"{exhibit}: {key} differs from what is stored by {apart:.1e}, more than {rtol:.0e}.\n"
            f"stored:   {old}\ncomputed: {new}"
        )
    return apart


def _compute(
    function: Callable[..., Any],
    settings: Sequence[Setting],
    folder: Path | None,
    code: Code,
    jobs: int | None,
) -> list[Any]:
    """Call the function for every setting that has no file yet, and return what the files hold."""
    with TemporaryDirectory() if folder is None else nullcontext(str(folder)) as place:
        files = [Path(place) / f"{code.key(setting)}.pkl" for setting in settings]
        todo = [pair for pair in zip(settings, files, strict=True) if not pair[1].exists()]
        workers = max(1, min(jobs or int(os.environ.get("JOBS", "1")), len(todo)))
        failed, start = [], time.perf_counter()
        while todo and (workers == 1 or time.perf_counter() - start < IN_PROCESS):
            failed.append(_call(function, *todo.pop(0)))
        calls = (joblib.delayed(_call)(function, *pair, parent=os.getpid()) for pair in todo)
        failed += joblib.Parallel(workers, batch_size=1)(calls)
        if failed := [text for text in failed if text]:
            shown = "\n\n".join(failed[:3])
            raise RuntimeError(f"{len(failed)} of {len(settings)} cells failed, the others are kept.\n{shown}")
        return [joblib.load(file) for file in files]


def _call(
    function: Callable[..., Any],
    setting: Setting,
    file: Path,
    parent: int | None = None,
) -> str:
    """Compute one cell and keep it; return why it failed, or an empty text."""
    if parent is not None and os.getppid() == parent:
        _end_with(parent)
    start, used = time.perf_counter(), time.process_time()
    # A worker has its own warning filters, and what it writes to standard error would be shown on the page.
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(**setting)
            found = [dict(row) for row in ([result] if isinstance(result, Mapping) else result)]
            canonical_json(found)
        except Exception:
            return f"{setting}\n{traceback.format_exc()}"
    if not found or any(row.keys() & setting.keys() for row in found):
        return f"{setting}\nA cell returns one row at least, and no name that is one of its arguments."
    outcome = {
        "rows": found,
        "wall": time.perf_counter() - start,
        "cpu": time.process_time() - used,
        "at": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "warned": dict(Counter(each.category.__name__ for each in caught if not issubclass(each.category, ABOUT_CODE))),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(f".{os.getpid()}")
    joblib.dump(outcome, unfinished)
    unfinished.replace(file)
    return ""


@cache
def _end_with(parent: int) -> None:
    """End this worker process when its parent has ended, however that happened."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

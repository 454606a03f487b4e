"""One cell computed in some process, with what that process is."""

from __future__ import annotations

import inspect
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairpca._interrupts import HeedInterrupts
from fairpca.experiments.engine.inputs import reading
from fairpca.experiments.engine.origin import Origin, origin
from fairpca.experiments.engine.provenance import now, source
from fairpca.experiments.engine.registry import Function, cell_seed
from fairpca.experiments.engine.store import StoredCell, decode_value, encode_value

__all__ = ["Attempt", "Task", "attempt", "compute", "failed_attempt"]


@dataclass(frozen=True)
class Task:
    """A cell to be computed, here or in another process."""

    number: int
    experiment: str
    function: Function
    key: dict[str, Any]
    expected: Origin
    sources: dict[str, list[str]]
    inputs: dict[str, str]


@dataclass(frozen=True)
class Attempt:
    """What became of a task; there is no outcome after an interrupt, and where the code is not the expected one."""

    number: int
    origin: Origin
    outcome: StoredCell | None


def compute(
    function: Function, experiment: str, key: Mapping[str, Any], inputs: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Compute one cell in this process, with its own seed, reading these inputs only; returns its records."""
    arguments = dict(key)
    if "cell_seed" in inspect.signature(function).parameters:
        arguments["cell_seed"] = cell_seed(experiment, key)
    # A cell that catches an interrupt and goes on does not return the result asked for.
    with HeedInterrupts(), reading(experiment, inputs):
        returned = function(**arguments)
    records = [dict(returned)] if isinstance(returned, Mapping) else [dict(record) for record in returned]
    if not records:
        raise ValueError(f"A cell of {experiment!r} returned no record; it returns a dict, or a list of some.")
    # What comes back is what the store would give back, so that a fresh and a resumed run agree bit for bit.
    return [decode_value(encode_value(record)) for record in records]


def attempt(task: Task) -> Attempt:
    """Compute one cell with one BLAS thread; an error becomes a record."""
    from threadpoolctl import threadpool_limits

    # Functions of modules are sent by name: this process runs what it finds under that name, so it says what that is.
    here = origin(task.function, task.sources)
    if not here.agrees(task.expected):
        return Attempt(task.number, here, None)
    wall, cpu = time.perf_counter(), time.process_time()
    records: list[dict[str, Any]] = []
    error = ""
    try:
        with threadpool_limits(1):
            records = compute(task.function, task.experiment, task.key, task.inputs)
    except KeyboardInterrupt:
        return Attempt(task.number, here, None)
    except Exception:
        error = traceback.format_exc()
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    status = "failed" if error else "done"
    return Attempt(task.number, here, StoredCell(status, records, error, *seconds, now(), here.versions, source()))


def failed_attempt(task: Task, error: str) -> Attempt:
    """Say of a task that its process could not tell any more."""
    return Attempt(task.number, task.expected, StoredCell("failed", [], error, 0.0, 0.0, now()))

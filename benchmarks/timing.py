"""Times of calls that are compared."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

__all__ = ["best_of_each", "cpu_seconds", "wall_seconds"]


def cpu_seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor's seconds of a call, and what it returned."""
    start = process_time()
    outcome = call()
    return process_time() - start, outcome


def wall_seconds(call: Callable[[], Any]) -> float:
    """Return the seconds of a call on the clock."""
    start = perf_counter()
    call()
    return perf_counter() - start


def best_of_each(*calls: Callable[[], Any], repeats: int) -> list[float]:
    """Return the least seconds on the clock of each call, the calls taking turns (the first is not counted)."""
    rounds = [[wall_seconds(call) for call in calls] for _ in range(repeats + 1)]
    return [min(spent) for spent in zip(*rounds[1:], strict=True)]

"""Times of calls that are compared."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy as np

__all__ = ["best_of_each", "cpu_seconds", "median_seconds"]


def cpu_seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor's seconds of a call, and what it returned."""
    start = process_time()
    outcome = call()
    return process_time() - start, outcome


def median_seconds(call: Callable[[], Any], enough: float = 0.25, long: float = 2.0) -> tuple[float, Any]:
    """Return the median processor seconds of `enough` calls, or of one that takes `long`, and the result."""
    spent: list[float] = []
    while len(spent) < 3 or sum(spent) < enough:
        seconds, outcome = cpu_seconds(call)
        spent.append(seconds)
        if seconds > long:
            break
    return float(np.median(spent)), outcome


def best_of_each(*calls: Callable[[], Any], repeats: int) -> list[float]:
    """Return the least seconds on the clock of each call, the calls taking turns (the first is not counted)."""
    best = [float("inf")] * len(calls)
    for turn in range(repeats + 1):
        for i, call in enumerate(calls):
            start = perf_counter()
            call()
            if turn:
                best[i] = min(best[i], perf_counter() - start)
    return best

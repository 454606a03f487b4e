"""How far a summary of several runs moves when each run is repeated."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

__all__ = ["STATISTICS", "noise"]

_LEVELS = {"min": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "max": 1.0}
STATISTICS = ("value", "mean", "sd", *_LEVELS)
_DRAWS = 2000


def _summaries(values: np.ndarray, statistic: str) -> np.ndarray:
    if statistic in _LEVELS:
        return np.quantile(values, _LEVELS[statistic], axis=1)
    return values.std(axis=1, ddof=1) if statistic == "sd" else values.mean(axis=1)


def noise(
    values: np.ndarray, differences: np.ndarray, statistics: Iterable[str]
) -> dict[str, float]:
    """Return the deviation between a summary and that of the runs repeated.

    Each run is moved by one of the differences that repetitions were seen to make,
    drawn at random and with a random sign, so that a few repeated runs say what
    repeating all of them would do.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The runs, for instance one a split.
    differences : ndarray of shape (m,)
        Second run minus first run, where a run was repeated.
    statistics : iterable of str
        Which summaries, of `STATISTICS`.

    Returns
    -------
    dict of str to float
        By statistic; zero where nothing was repeated, so that nothing is allowed.
    """
    values = np.asarray(values, dtype=np.float64)
    differences = np.asarray(differences, dtype=np.float64)
    if not len(differences):
        return dict.fromkeys(statistics, 0.0)
    rng = np.random.default_rng(0)
    shape = (_DRAWS, len(values))
    moved = values + rng.choice(differences, shape) * rng.choice([-1.0, 1.0], shape)
    return {
        name: float(np.std(_summaries(moved, name) - _summaries(values[None], name)))
        for name in statistics
    }

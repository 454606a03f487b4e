"""Units of the data: what is far from one is multiplied by a power of four on the way in and divided on the way out.

Squares of second moments overflow or vanish long before the data do, and some thresholds are absolute. A power of four
changes no digit, its root neither, and moments of ordinary size are not touched at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import frexp
from typing import Any

import numpy as np

from fairpca.solvers.result import SolverResult

__all__ = ["in_units", "result_in_units", "safe_unit", "unit_of"]

_SMALLEST, _LARGEST = -30, 70  # exponents of the largest trace that are taken as they are
_LIMIT = 1020  # of an exponent, so that the unit and its reciprocal are numbers
_VALUES = frozenset(
    (
        *("objective", "bound", "value", "values", "upper", "dual", "slope", "relaxation", "subgradient_norm"),
        *("losses", "errors", "variances", "best_sums", "average_losses", "average_loss", "last_loss", "ascent"),
    )
)  # records that are in the units of the moments


def unit_of(traces: np.ndarray) -> float:
    """Return the power of four that brings the largest trace to between an eighth and one (1 if all are zero).

    Parameters
    ----------
    traces : ndarray
        Numbers of any shape, of which the largest magnitude counts.

    Returns
    -------
    float
        1 also where one is not finite.
    """
    largest = float(np.abs(traces).max())
    if not 0.0 < largest < np.inf:
        return 1.0
    exponent = frexp(largest)[1]
    return 2.0 ** -max(min(exponent + exponent % 2, _LIMIT), -_LIMIT)


def safe_unit(traces: np.ndarray) -> float:
    """Return what :func:`unit_of` says for moments of extraordinary size, and one for all others.

    Parameters
    ----------
    traces : ndarray
        As in :func:`unit_of`; sizes from about 2^-30 to 2^70 are not extraordinary.

    Returns
    -------
    float
    """
    unit = unit_of(traces)
    return 1.0 if 2.0**_SMALLEST <= 1.0 / unit <= 2.0**_LARGEST else unit


def in_units(values: Any, unit: float) -> Any:
    """Return values multiplied by the unit; the same object where that is one.

    Parameters
    ----------
    values : array-like
        What is in the units of the moments.
    unit : float
        From :func:`safe_unit`.

    Returns
    -------
    array-like
        `values` itself where the unit is one.
    """
    return values if unit == 1.0 else np.asarray(values, dtype=np.float64) * unit


def result_in_units(result: SolverResult, unit: float, *, logarithmic: bool = False) -> SolverResult:
    """Return a result for moments that were multiplied by `unit` in the units of the moments themselves.

    Parameters
    ----------
    result : SolverResult
        For the multiplied moments.
    unit : float
        What they were multiplied by.
    logarithmic : bool, default=False
        Whether the history holds minus logarithms of values.

    Returns
    -------
    SolverResult
        With ``objective``, ``bound`` and the records that have the moments' unit divided by it; the same object
        where that is one.
    """
    if unit == 1.0:
        return result

    def back(record: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value / unit if name in _VALUES else value for name, value in record.items()}

    history = back(result.history)
    if logarithmic:
        history = {name: value + np.log(unit) if name in _VALUES else value for name, value in result.history.items()}
    return replace(
        result,
        objective=result.objective / unit,
        bound=result.bound / unit,
        history=history,
        extra=back(result.extra),
    )

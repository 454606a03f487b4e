"""The exact dual for so many columns that nothing but products with the rows is possible."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any, get_args

import numpy as np

from fairpca._validation import check_choice, check_components, check_number
from fairpca.solvers.minmax._ascent import ExactDimension
from fairpca.solvers.minmax._groups import several_groups
from fairpca.solvers.minmax._problem import Objective, deadline_of, has_variance, told_of_limit
from fairpca.solvers.minmax.dual import TwoGroups
from fairpca.solvers.result import SolverResult
from fairpca.solvers.spectral import StreamedPencil, result_in_units, safe_unit

__all__ = ["solve_minmax_wide"]

_RESIDUAL = 1e-7  # of eigenpairs, relative; the objective's error is about its square


def solve_minmax_wide(
    rows: Any,
    n_components: int,
    *,
    objective: Objective = "loss",
    centering: str = "group",
    tol: float = 1e-9,
    max_iter: int = 100,
    time_limit: float | None = None,
    exact: ExactDimension | None = None,
) -> SolverResult:
    """Solve the problem of :func:`~fairpca.solvers.minmax.solve_minmax` by passes over the rows.

    The dual search is the same; the second moments of the groups are only multiplied, by the residuals of the
    eigenpairs that are not yet accurate (:class:`fairpca.solvers.spectral.StreamedPencil`).

    Parameters
    ----------
    rows : WideRows
        Rows, whose groups' covariances are multiplied with vectors; or an object with the same ``means``, ``mean``,
        ``group_totals`` and ``group_products``.
    n_components : int
        d, less than the number of columns.
    objective, tol, max_iter, time_limit, exact
        As in :func:`~fairpca.solvers.minmax.solve_minmax`.
    centering : {"group", "overall", "none"}
        What is subtracted before second moments are taken.

    Returns
    -------
    SolverResult
        As from the solver for moments, but `bound` is an estimate from residuals.
    """
    started = perf_counter()
    check_choice("centering", centering, ("group", "overall", "none"))
    check_number("tol", tol, low=0, low_open=True)
    check_number("max_iter", max_iter, low=1, integer=True)
    m, p = rows.means.shape
    d = check_components(n_components, p, high=p - 1, why="WideRows are for far fewer components than features.")
    shift = rows.means - (rows.mean if centering == "overall" else 0.0)

    def multiply(V: np.ndarray) -> np.ndarray:
        products = rows.group_products(V)
        if centering != "group":
            products += shift[:, :, None] * (shift @ V)[:, None, :]
        return products if unit == 1.0 else products * unit

    traces = rows.group_totals + (np.sum(shift**2, axis=1) if centering != "group" else 0.0)
    check_choice("objective", objective, get_args(Objective))
    if objective in ("variance", "nash") and not has_variance(traces).all():
        raise ValueError(
            f"group(s) {np.flatnonzero(~has_variance(traces)).tolist()} do not vary, so objective={objective!r} says "
            "nothing about them; leave their rows out."
        )
    unit = safe_unit(traces)
    pencil = StreamedPencil(multiply, traces * unit, p, tol=_RESIDUAL)
    pencil.deadline = deadline_of(time_limit, started)
    if m == 2 and objective != "nash":
        result = TwoGroups(pencil, objective, max_iter).solve(d, tol, started)
    else:
        result = several_groups(pencil, d, objective, tol, max_iter, started, exact)
    result = told_of_limit(result_in_units(result, unit, logarithmic=objective == "nash"), pencil.deadline)
    return replace(result, certificate="estimate")

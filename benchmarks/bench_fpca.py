"""FPCA's semidefinite program: the package's splitting against Clarabel and SCS, both through CVXPY.

One run and one thread, CPU seconds of this process (building the program included, as a user would wait for it; the
package's time is the median of several solves). The instances are synthetic data 2 of Lee et al. at 30, 200 and 576
features and the first splits of German (57) and Adult (97), with μ = 0.01 and δ = 0 in the form behind the numbers
of Lee et al. `error` is the certified relative gap for the package, and |value − best|/best for the value that a
third party reports. Third parties run in the rotated form, without which they fail beyond about twenty features, and
with their default tolerances (1e-8 Clarabel, 1e-5 SCS). At 97 features Clarabel is not run: the estimate of the
memory it needs is printed instead. ``quick=True`` skips Clarabel at 57 features, which takes minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits
from timing import cpu_seconds, median_seconds

from fairpca import FPCA, GroupMoments
from fairpca.solvers.fpca import FPCAProblem, solve_fpca, solve_fpca_cvxpy

__all__ = ["instance", "run"]

_CLARABEL = {"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-8}
_TOLERANCES = (1e-7, 1e-8)


def instance(name: str) -> FPCAProblem:
    """Return one of the benchmark's problems: ``"german"``, ``"adult"`` or ``"synthetic2 p=30"`` and so on."""
    if name in ("german", "adult"):
        from fairpca.datasets import load

        train, _ = load(name, split=0)
        X, group, d = np.asarray(train.X), np.asarray(train.sensitive_features), 10
    else:
        from fairpca.synthetic import lee_synthetic2

        X, group = lee_synthetic2(int(name.split("=")[1]), random_state=0)
        d = 5
    return FPCA(d, mu=0.01, variant="lee2022_code").problem(GroupMoments.from_data(X, group))


def run(quick: bool = False) -> pd.DataFrame:
    """Compare the solvers and return one row a solve.

    Parameters
    ----------
    quick : bool, default=False
        Leave out Clarabel at 57 features and everything at 576.

    Returns
    -------
    DataFrame
        Columns ``instance, p, solver, cpu_seconds, iterations, error, ratio, ratio_tight, note``; the ratios divide
        by the package's CPU seconds of the same run at certified gaps of 1e-7 (its default) and 1e-8.
    """
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for name in ("synthetic2 p=30", "german", "adult", "synthetic2 p=200", "synthetic2 p=576"):
            problem = instance(name)
            if not (quick and problem.n_features > 500):
                rows += [{"instance": name, "p": problem.n_features} | row for row in _compare(problem, quick)]
    return pd.DataFrame(rows)


def _compare(problem: FPCAProblem, quick: bool) -> Iterator[dict[str, Any]]:
    p, seconds = problem.n_features, []
    for tol in _TOLERANCES if p < 500 else (1e-5,):
        spent, result = median_seconds(lambda: solve_fpca(problem, tol=tol))  # noqa: B023
        seconds.append(spent)
        row = {"solver": f"splitting, tol={tol:g}", "cpu_seconds": spent, "iterations": result.n_iter}
        yield row | {"error": result.extra["relative_gap"], "note": result.status}
    if p > 100:
        return
    best = solve_fpca(problem, tol=1e-9).objective
    for backend in ("scs", "clarabel"):
        if backend == "clarabel" and p > (40 if quick else 60):
            # 4.98 GB were measured at p = 57
            yield {"solver": backend, "note": f"not run: takes minutes and about {4.98 * (p / 57) ** 4:.0f} GB"}
            continue
        options = _CLARABEL if backend == "clarabel" else {}
        spent, outcome = cpu_seconds(lambda: solve_fpca_cvxpy(problem, backend=backend, **options))  # noqa: B023
        row = {"solver": backend, "cpu_seconds": spent, "iterations": outcome.n_iter, "note": outcome.status}
        row["error"] = abs(outcome.value - best) / abs(best)
        yield row | {"ratio": spent / seconds[0], "ratio_tight": spent / seconds[1]}

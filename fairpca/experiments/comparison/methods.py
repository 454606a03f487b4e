"""One cell is one method on one split of one table in one dimension; what methods share is computed once a process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Any

import pandas as pd

from fairpca.experiments.comparison.tables import TABLES, dimensions, split_rows
from fairpca.experiments.engine.runner import Cell, Profile, register, tidy
from fairpca.report import MEASURES, Method, Settings, Skipped, Split, evaluate, fit_method, known_methods

__all__ = ["SETTINGS", "SPLITS", "run_method"]

SPLITS = 10
SETTINGS = Settings(kernel_rows=500, permutations=200, folds=3, tree_rounds=30)
_DIGITS = 6


@lru_cache(maxsize=4)
def _split_of(dataset: str, split: int, d: int) -> Split:
    return Split(*split_rows(dataset, split), d, SETTINGS, seed=split)


def run_method(*, dataset: str, split: int, d: int, method: str, fit: Any, **declared: Any) -> dict[str, Any]:
    """Fit a method on the training rows of a split and measure it on the others; numbers have six digits.

    Parameters
    ----------
    dataset, split, d : str, int, int
        Table, number of the split, number of components.
    method : str
        Name of the method.
    fit : callable
        What fits it; its code is part of what identifies the results.
    **declared
        What it needs, as fields of :class:`~fairpca.report.Method`.
    """
    held_out = _split_of(dataset, split, d)
    try:
        fitted = fit_method(Method(method, method, "", "", fit, **declared), held_out.train, d)
    except Skipped as skipped:
        return {"skipped": str(skipped)}
    values = {name: float(f"{value:.{_DIGITS}g}") for name, value in evaluate(fitted, held_out).items()}
    return values | ({"note": " ".join(fitted.notes)} if fitted.notes else {})


def _cells(profile: Profile) -> Iterable[Cell]:
    names = list(known_methods())
    if profile == "smoke":
        return [Cell(dataset="wine_quality", split=0, d=2, method=name) for name in names if "mbf" not in name]
    return [
        Cell(dataset=dataset, split=split, d=d, method=name)
        for dataset in TABLES
        for split in range(SPLITS)
        for d in dimensions(dataset)
        for name in names
    ]


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    """Mean over splits of what is measured for all tables; values of single groups stand in the cells."""
    metrics = [name for name in MEASURES if name in cells.columns and cells[name].notna().any()]
    table = tidy(cells, metrics, by=("dataset", "method", "d"), protocol="stated")
    for column in ("mean", "sd"):
        table[column] = [float(f"{value:.{_DIGITS}g}") for value in table[column]]
    return table[table["n"] > 0]


def for_each_method(run: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Bind `run` to what each method declares: what it does, not what it is called, makes results stale."""
    needs = ("fit", "groups_at_prediction", "max_groups", "requires")

    def bound(method: Method) -> Callable[..., Any]:
        return partial(run, **{need: getattr(method, need) for need in needs})

    return {name: bound(method) for name, method in known_methods().items()}


register(
    "comparison/methods",
    cells=_cells,
    run_cell=for_each_method(run_method),
    tabulate=_tabulate,
    title=f"Methods on twelve tables, {SPLITS} splits, two, five and ten dimensions",
)

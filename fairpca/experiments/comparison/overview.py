"""What the chapter shows of the cells: prices against a baseline, and who is dominated how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from fairpca.report import MEASURES
from fairpca.report.statistics import Better, dominated, paired_differences

__all__ = ["Prices", "dominance", "prices"]


@dataclass(frozen=True)
class Prices:
    """Differences from a baseline, methods by measures.

    Attributes
    ----------
    difference : DataFrame
        Mean over all tables and dimensions.
    better, worse : DataFrame
        In how many of them the difference is beyond its interval, to the wanted side or to the other.
    settings : DataFrame
        In how many there is one.
    """

    difference: pd.DataFrame
    better: pd.DataFrame
    worse: pd.DataFrame
    settings: pd.DataFrame

    @property
    def balance(self) -> pd.DataFrame:
        """Share of the settings where a method is better, less the share where it is worse."""
        return (self.better - self.worse) / self.settings


def prices(cells: pd.DataFrame, measures: Sequence[str], methods: Sequence[str], *, against: str = "pca") -> Prices:
    """Compare methods with a baseline on the same splits.

    Parameters
    ----------
    cells : DataFrame
        Columns ``dataset, split, d, method`` and `measures`.
    measures : sequence of str
        Names in :data:`fairpca.report.MEASURES`.
    methods : sequence of str
        Rows of the result, in this order.
    against : str
        The baseline.
    """
    columns: dict[str, dict[str, pd.Series]] = {name: {} for name in ("difference", "better", "worse", "settings")}
    for measure in measures:
        apart = paired_differences(cells, measure, against=against)
        lower, higher = apart["high"] < 0, apart["low"] > 0
        low_is_better = MEASURES[measure].better == "low"
        apart = apart.assign(
            better=lower if low_is_better else higher, worse=higher if low_is_better else lower, settings=1
        )
        groups = apart.groupby("method", sort=False)
        columns["difference"][measure] = groups["difference"].mean()
        for name in ("better", "worse", "settings"):
            columns[name][measure] = groups[name].sum()
    return Prices(**{name: pd.DataFrame(found).reindex(list(methods)) for name, found in columns.items()})


def dominance(cells: pd.DataFrame, aims: Mapping[str, Better], methods: Sequence[str]) -> pd.DataFrame:
    """Count in how many tables and dimensions each method is dominated, and by whom most often.

    Parameters
    ----------
    cells : DataFrame
        As for :func:`prices`.
    aims : mapping of str to {"low", "high"}
        What counts.
    methods : sequence of str
        Who takes part.

    Returns
    -------
    DataFrame
        Indexed by method: ``settings, dominated, by_whom`` (empty for nobody).
    """
    chosen = cells[cells["method"].isin(list(methods))]
    beaten = dominated(chosen, aims)
    settings = chosen.drop_duplicates(["dataset", "d", "method"])["method"].value_counts()
    times = beaten.drop_duplicates(["dataset", "d", "method"])["method"].value_counts()
    whom = beaten.groupby("method")["by_whom"].agg(lambda names: str(names.value_counts().index[0]))
    table = pd.DataFrame({"settings": settings, "dominated": times, "by_whom": whom}).reindex(list(methods))
    return table.fillna({"dominated": 0, "by_whom": ""}).astype({"settings": int, "dominated": int})

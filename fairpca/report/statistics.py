"""What differences between methods are worth: intervals over splits, ranks over tables, and no winner inside noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, rankdata, studentized_range
from scipy.stats import t as student

__all__ = ["Ranking", "dominated", "paired_differences", "rank_methods"]

Better = Literal["low", "high"]


def paired_differences(
    cells: pd.DataFrame,
    measure: str,
    *,
    against: str,
    by: Sequence[str] = ("dataset", "d"),
    test_share: float = 1 / 3,
    level: float = 0.95,
) -> pd.DataFrame:
    """Return each method's mean difference from one method over the same splits, with an interval.

    Training parts of random splits overlap, so that differences on splits are not independent and the usual interval
    is too short. The variance of the mean is taken as (1/n + n_test/n_train) s² instead of s²/n, with n - 1 degrees of
    freedom: the corrected resampled t statistic of Nadeau and Bengio (2003).

    Parameters
    ----------
    cells : DataFrame
        Columns `by`, ``split``, ``method`` and `measure`; one row a cell.
    measure : str
        What is compared.
    against : str
        The method whose value is subtracted.
    by : sequence of str
        What makes a comparison.
    test_share : float
        Share of the rows of a split that are held out.
    level : float
        Of the interval.

    Returns
    -------
    DataFrame
        Columns `by`, ``method, difference, low, high, n``; splits that either method lacks do not count.
    """
    keys = list(by)
    wide = cells.pivot_table(index=[*keys, "split"], columns="method", values=measure, sort=False)
    if against not in wide.columns:
        raise ValueError(f"against={against!r} has no value of {measure!r}; methods are {', '.join(wide.columns)}.")
    differences = wide.sub(wide[against], axis=0).drop(columns=against)
    groups = differences.groupby(level=keys, sort=False)
    n, mean, sd = groups.count(), groups.mean(), groups.std()
    spread = np.sqrt(1.0 / n.clip(lower=1) + test_share / (1.0 - test_share)) * sd
    half = spread * student.ppf(0.5 + level / 2.0, np.maximum(n - 1, 1))
    values = {"difference": mean, "low": mean - half, "high": mean + half, "n": n}
    index = mean.index.repeat(mean.shape[1])
    long = pd.DataFrame({name: frame.to_numpy().ravel() for name, frame in values.items()}, index=index)
    long.insert(0, "method", np.tile(mean.columns.to_numpy(), len(mean)))
    return long.dropna().reset_index()


@dataclass(frozen=True)
class Ranking:
    """Mean ranks over tables, and how far apart they must be to mean anything.

    Attributes
    ----------
    ranks : Series
        Mean rank of each method, 1 is best; ties share.
    critical_difference : float
        Methods whose mean ranks differ by less are not told apart (Nemenyi's test, Demšar 2006).
    p_value : float
        Of Friedman's test that all methods rank alike.
    tables : tuple
        The tables that count: those where all methods have a value.
    """

    ranks: pd.Series
    critical_difference: float
    p_value: float
    tables: tuple[Any, ...]

    def tied(self, method: str) -> list[str]:
        """Return the methods that are not told apart from this one."""
        distances = (self.ranks - self.ranks[method]).abs()
        return [str(name) for name in distances.index[distances <= self.critical_difference]]


def rank_methods(
    cells: pd.DataFrame, measure: str, *, better: Better, methods: Sequence[str] | None = None, level: float = 0.95
) -> Ranking:
    """Rank methods on each table by their mean over splits and dimensions, and average the ranks.

    Parameters
    ----------
    cells : DataFrame
        Columns ``dataset, d, method`` and `measure`.
    measure : str
        What is ranked.
    better : {"low", "high"}
        Which end gets rank 1.
    methods : sequence of str, optional
        Those that are ranked, all by default. Two names for one method would count it twice.
    level : float
        One minus the probability of finding any difference where there is none.
    """
    chosen = cells if methods is None else cells[cells["method"].isin(list(methods))]
    means = chosen.pivot_table(index=["dataset", "d"], columns="method", values=measure, sort=False)
    whole = means.dropna().groupby(level="dataset", sort=False).mean()
    n, k = whole.shape
    if n < 2 or k < 3:
        raise ValueError(f"ranks need three methods on two tables at least; {measure!r} has {k} on {n}.")
    sign = 1.0 if better == "low" else -1.0
    ranks = pd.DataFrame([rankdata(sign * row) for row in whole.to_numpy()], columns=whole.columns).mean()
    q = float(studentized_range.ppf(level, k, np.inf)) / np.sqrt(2.0)
    p_value = float(friedmanchisquare(*whole.to_numpy().T).pvalue)
    return Ranking(ranks.sort_values(), q * float(np.sqrt(k * (k + 1) / (6.0 * n))), p_value, tuple(whole.index))


def dominated(cells: pd.DataFrame, measures: Mapping[str, Better], **options: Any) -> pd.DataFrame:
    """Return who is beaten by whom: at least as good in all measures, and better in one beyond its interval.

    Parameters
    ----------
    cells : DataFrame
        As in :func:`paired_differences`.
    measures : mapping of str to {"low", "high"}
        What counts, and which end is better.
    **options
        ``by``, ``test_share`` and ``level`` of :func:`paired_differences`.

    Returns
    -------
    DataFrame
        Columns `by`, ``method``, ``by_whom``: one row for each pair. "At least as good" is meant for the means.
    """
    keys = list(options.get("by", ("dataset", "d")))
    found = []
    for winner in cells["method"].unique():
        parts = []
        for measure, better in measures.items():
            if cells.loc[cells["method"] == winner, measure].isna().all():
                break
            apart = paired_differences(cells, measure, against=winner, **options).set_index([*keys, "method"])
            sign = 1.0 if better == "low" else -1.0
            worse = apart["low"] > 0 if better == "low" else apart["high"] < 0
            parts.append(pd.DataFrame({"as_good": sign * apart["difference"] >= 0, "better": worse}))
        if len(parts) < len(measures):
            continue
        shared = parts[0].index
        for part in parts[1:]:
            shared = shared.intersection(part.index)
        as_good = np.all([part.loc[shared, "as_good"] for part in parts], axis=0)
        beaten = shared[as_good & np.any([part.loc[shared, "better"] for part in parts], axis=0)]
        found.append(beaten.to_frame(index=False).assign(by_whom=winner))
    columns = [*keys, "method", "by_whom"]
    return pd.concat(found, ignore_index=True)[columns] if found else pd.DataFrame(columns=columns)

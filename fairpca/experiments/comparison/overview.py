"""What the chapter shows of the cells: prices against a baseline, and who is dominated how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairpca.report import MEASURES
from fairpca.report.statistics import Better, dominated, paired_differences

__all__ = ["Prices", "dominance", "facts", "prices"]


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


def facts(cells: pd.DataFrame, bill: Prices) -> dict[str, str]:
    """Return what sentences about the comparison quote, formatted.

    Parameters
    ----------
    cells : DataFrame
        As for :func:`prices`, of tables where all methods are defined, so that means are about the same tables.
    bill : Prices
        Of these cells against PCA, with ``variance``, ``worst_loss``, ``auc:logistic``, ``selection_gap:logistic``
        and ``tpr_gap:logistic``.

    Returns
    -------
    dict of str to str
        ``linear-<method>, kernel-<method>, seconds-<method>``: means; ``price-<method>, auc-<method>``: what PCA has
        more. Underscores in names are hyphens.

    Raises
    ------
    AssertionError
        If the numbers do not bear the words that the chapter puts around them.
    """
    level = cells.groupby("method")[["linear_auc", "kernel_auc", "seconds"]].mean()
    difference: Any = bill.difference
    gap = difference["selection_gap:logistic"]
    _check_directions(level, difference)
    found: dict[str, str] = {}
    for name, row in level.iterrows():
        key = str(name).replace("_", "-")
        found |= {f"linear-{key}": f"{row['linear_auc']:.2f}", f"kernel-{key}": f"{row['kernel_auc']:.2f}"}
        found[f"seconds-{key}"] = f"{row['seconds']:.3f}"
    for name, row in bill.difference.iterrows():
        key = str(name).replace("_", "-")
        found |= {f"price-{key}": f"{-row['variance']:.1f}", f"auc-{key}": f"{-row['auc:logistic']:.3f}"}
    balancing = [name for name in bill.difference.index if str(name).startswith(("minmax", "rfpca"))]
    found["balancing-linear"] = f"{level.loc[balancing, 'linear_auc'].min():.2f}"
    found["balancing-gap"] = f"{gap[balancing].min():+.2f} to {gap[balancing].max():+.2f}".replace("-", "−")
    found["oblique-gap"] = f"{gap['mean_oblique']:+.2f}".replace("-", "−")
    found["loss-pca"] = f"{cells.loc[cells['method'] == 'pca', 'gap:loss'].mean():.1f}"
    # The gap to the certified optimum is one of the training rows; what is left of it on new rows is another number.
    found["loss-new"] = f"{-difference.loc['minmax_loss', 'worst_loss']:.1f}"
    counts: dict[str, Any] = {"sure": bill.better, "worse": bill.worse, "all": bill.settings}
    for name, table in counts.items():
        found[f"loss-new-{name}"] = str(int(table.loc["minmax_loss", "worst_loss"]))
    repair = paired_differences(cells, "auc:logistic", against="mean_oblique").query("method == 'gaussian_repair'")
    found |= {"repair-sure": str((repair["low"] > 0).sum()), "repair-all": str(len(repair))}
    found["seconds-others"] = f"{_others(level)['seconds'].max():.1f}"
    found["tpr-oblique"] = f"{-difference.loc['mean_oblique', 'tpr_gap:logistic']:.2f}"
    found["tpr-better"] = str(int(bill.better["tpr_gap:logistic"].max()))
    found["tpr-all"] = str(int(bill.settings["tpr_gap:logistic"].max()))
    oblique = paired_differences(cells, "variance", against="mean_orthogonal").query("method == 'mean_oblique'")
    found |= {"oblique-gain": f"{oblique['difference'].mean():.1f}", "oblique-all": str(len(oblique))}
    found |= {"oblique-sure": str((oblique["low"] > 0).sum()), "oblique-worse": str((oblique["high"] < 0).sum())}
    kept = cells.pivot_table(index="dataset", columns="method", values="variance")
    cost = kept["pca"] - kept["mean_oblique"]
    found |= {"cost-least": f"{cost.min():.1f}", "cost-least-table": str(cost.idxmin())}
    return found | {"cost-most": f"{cost.max():.1f}", "cost-most-table": str(cost.idxmax())}


def _check_directions(level: pd.DataFrame, difference: Any) -> None:
    """Hold the chapter to its words: what it calls lower or higher is."""
    linear, kernel, auc = level["linear_auc"], level["kernel_auc"], difference["auc:logistic"]
    balancing = [name for name in difference.index if str(name).startswith(("minmax", "rfpca"))]
    assert linear[balancing].min() > linear["mean_oblique"] + 0.05, "balancing errors hides the group"
    assert linear["mean_oblique"] < 0.56, "a linear model finds the group after linear erasure"
    assert kernel[["mean_oblique", "mean_orthogonal"]].min() > 0.56, "equal means are enough for a kernel"
    assert kernel["mbfpca_1e3"] < kernel["mean_orthogonal"], "matching distributions hides no more than means"
    assert kernel[["fpca_both", "mean_covariance"]].max() < kernel["mean_oblique"], "covariances do not matter"
    assert auc["gaussian_repair"] > auc["mean_oblique"], "knowing the group of new rows does not help"
    assert 5 * _others(level)["seconds"].max() < level.loc["mbfpca_1e3", "seconds"], "MBF-PCA is as fast as the others"
    assert difference.loc["minmax_loss", "worst_loss"] < 0, "on new rows PCA has the smaller worst loss"
    assert difference.loc["mean_oblique", "tpr_gap:logistic"] < 0, "the oblique code widens the gap of true positives"


def _others(level: pd.DataFrame) -> pd.DataFrame:
    return level.drop(index=["mbfpca_1e2", "mbfpca_1e3"])

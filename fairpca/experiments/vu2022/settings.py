"""What Vu et al. (2022) state about the settings of their experiments, beside what their program uses.

The protocol "printed" of the experiments repeats the program; its constants are compared with the numbers in the text.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairpca.datasets import describe
from fairpca.experiments.engine.runner import load_results
from fairpca.experiments.engine.statements import Setting, lists, numbers, register_settings
from fairpca.experiments.vu2022 import methods, table2
from fairpca.experiments.vu2022.protocol import run_split, split_rows
from fairpca.experiments.vu2022.tables import FACES, K

__all__ = ["SETTINGS"]


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _same(first: Sequence[float], second: Sequence[float]) -> bool:
    return len(first) == len(second) and bool(np.allclose(sorted(first), sorted(second), rtol=1e-12))


def _grid(*used: Sequence[float], reason: str = "Another grid.") -> Setting:
    """Compare the lists of a statement with the grids of the program."""

    def compare(statement: str, value: float) -> tuple[str, bool, str]:
        stated = lists(statement)
        good = len(stated) == len(used) and all(_same(a, b) for a, b in zip(stated, used, strict=True))
        return "; ".join(map(_listed, used)), good, reason

    return compare


def _number(used: float, what: str, reason: str = "Another number.") -> Setting:
    return lambda statement, value: (f"{used:g} {what}", used == value, reason)


def _cells(name: str, column: str, **chosen: Any) -> int:
    """Count the values of a column in stored cells."""
    cells = load_results(f"vu2022/{name}").cells
    for key, value in chosen.items():
        cells = cells[cells[key] == value]
    return int(cells[column].nunique())


def _step_sizes(statement: str, value: float) -> tuple[str, bool, str]:
    spaced, single = lists(statement)
    stated = [*np.linspace(spaced[0], spaced[1], int(value)), *single]
    return f"{len(methods.ETAS)} values: {_listed(methods.ETAS)}", _same(stated, methods.ETAS), "Another grid."


def _chosen_mu(statement: str, value: float) -> tuple[str, bool, str]:
    used = methods.cfpca_both("printed").grid["mu"]
    (stated,) = lists(statement)
    reason = "The program passes mu by position into an argument that it does not use; every fit has mu = 1."
    return f"mu = {_listed(used)}", _same(stated, used), reason


def _folds(statement: str, value: float) -> tuple[str, bool, str]:
    folds = inspect.signature(run_split).parameters["n_folds"].default
    return f"{folds} folds, first minimum of ABDiff + ARE", folds == value, "Another number of folds."


def _splits(statement: str, value: float) -> tuple[str, bool, str]:
    """Count the splits in the stored cells, and cut each data set's group sizes as the code does."""
    cells: Any = load_results("vu2022/tables").cells
    cells = cells[(cells["protocol"] == "printed") & (cells["dataset"] != FACES)]
    seeds = {int(found) for found in cells.groupby(["dataset", "method"])["split"].nunique()}
    share = inspect.signature(run_split).parameters["share"].default  # the tables pass none
    counts: Any = load_results("vu2022/table2").table.pivot_table(index="dataset", columns="metric", values="value")
    shares, different = [], set()
    for dataset in cells["dataset"].unique():
        groups = np.repeat([0, 1], counts.loc[dataset, ["n_group_0", "n_group_1"]].to_numpy(dtype=int))
        parts = [split_rows(groups, share, int(seed))[0] for seed in cells["split"].unique()]
        shares += [len(part) / len(groups) for part in parts]
        different.add(len({tuple(np.sort(part)) for part in parts}))
    text = (
        f"{', '.join(map(str, sorted(seeds)))} splits, {', '.join(map(str, sorted(different)))} of them different, "
        f"with {100 * min(shares):.1f} to {100 * max(shares):.1f} % of the rows for training"
    )
    stated = numbers(statement)[0] / 100
    # Each group's share is rounded down, so up to two rows are missing.
    good = seeds == different == {value} and stated - 2 / counts["n_samples"].min() <= min(shares)
    return text, good and max(shares) <= stated, "Another number of splits, or another share."


def _faces(statement: str, value: float) -> tuple[str, bool, str]:
    counts: Any = load_results("vu2022/table2").table
    faces = counts[counts["dataset"] == FACES].set_index("metric")["value"].astype(int)
    n_group, side, other = (int(number) for number in numbers(statement))
    sizes = [faces[f"n_group_{g}"] for g in (0, 1)]
    text = f"{sizes[0]} and {sizes[1]} images of {faces['n_features']} pixels, drawn and resized by the text's rule"
    return text, sizes == [n_group] * 2 and sum(sizes) == value and faces["n_features"] == side * other, "Other sizes."


def _small_deviations(statement: str, value: float) -> tuple[str, bool, str]:
    table = load_results("vu2022/table2").table
    left = table[(table["metric"] == "n_small_sd") & (table["value"] > 0)]
    text = f"{int(left['value'].sum())} such columns are left in {len(left)} of {table['dataset'].nunique()} data sets"
    return text, left.empty and value == table2.SMALL, "They are still in the files."


def _groups(name: str, reason: str = "Another threshold.") -> Setting:
    """Compare a threshold with the one by which the groups in the authors' file are known."""

    def compare(statement: str, value: float) -> tuple[str, bool, str]:
        said = next(line for line in describe(name).splitlines() if line.startswith("Group:"))
        return said.removeprefix("Group: "), value in numbers(said), reason

    return compare


SETTINGS: dict[str, Setting] = {
    "rfpca-grid": _grid(*methods.RFPCA_GRID.values()),
    "fairpca-iterations": _number(methods.MW_STEPS, "iterations"),
    "fairpca-grid": _step_sizes,
    "mean-grid": _grid(methods.MEAN_GRID["delta"]),
    "both-grid": _chosen_mu,
    "components": _number(K, "components"),
    "splits": _splits,
    "faces": _faces,
    "folds": _folds,
    "small-deviations": _small_deviations,
    "groups-energy": _groups("energy"),
    "groups-german": _groups(
        "german_credit", "The column is attribute 13, the age in years, which has no amounts of money."
    ),
    "groups-skillcraft": _groups("skillcraft"),
}


register_settings(
    "vu2022",
    SETTINGS,
    "What the paper says about its settings, beside those of its program",
    inputs=(f"vu2022/{stem}" for stem in ("table2", "tables")),
)

"""What Lee et al. (2022) state about the settings of their experiments, beside what their programs and files have.

The defaults of Algorithm 1 in this package are those of the published program. What a file can tell is measured in it.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from fairpca.experiments.engine.runner import load_results
from fairpca.experiments.engine.statements import Setting, lists, register_settings

from fairpca.companion import published
from fairpca.datasets import load
from fairpca.experiments.lee2022._protocol import DELTAS, FPCA_MU, MBF_METHODS, TAUS
from fairpca.experiments.lee2022.communality import drawn_features, table1_cells
from fairpca.experiments.lee2022.synthetic2 import WIDTHS
from fairpca.solvers.mbf import REPMSOptions

__all__ = ["SETTINGS"]

_PROGRAM = REPMSOptions.named(MBF_METHODS["mbfpca"]["variant"])


def _option(name: str) -> Setting:
    """Compare a stated number with an option of Algorithm 1 as the program sets it."""
    used = float(getattr(_PROGRAM, name))
    return lambda statement, value: (f"{used:g} in the program", used == value, "The program has another number.")


def _accuracies(statement: str, value: float) -> tuple[str, bool, str]:
    used = _PROGRAM.epsilon_factor
    stated = (_PROGRAM.epsilon_min / _PROGRAM.epsilon_start) ** (1 / value)
    return f"a factor of {used:g} in the program", bool(np.isclose(used, stated)), "Another factor."


def _inner_solver(statement: str, value: float) -> tuple[str, bool, str]:
    """Ours has ROPTLIB's rules and defaults; whether it takes the same steps, a stored plane shows."""
    planes = load_results("lee2022/planes").table
    planes = planes[(planes["method"] == "mbfpca") & (planes["metric"] == "angle")]
    angle = float(planes["value"].min())
    text = f"our code of that method with ROPTLIB's defaults; the nearest stored plane is {angle:.0e} degrees off"
    return text, angle < 1e-3, "No stored plane comes out."


def _fpca_solver(statement: str, value: float) -> tuple[str, bool, str]:
    cells = load_results("lee2022/table1").cells
    gap = float(cells.loc[cells["method"] == "fpca", "relative_gap"].max())
    reason = "MOSEK needs a licence and was not run. The program is that of the authors, solved to the gap stated here."
    return f"a solver of this package, relative gap {gap:.0e} at most", False, reason


def _standardised(statement: str, value: float) -> tuple[str, bool, str]:
    """Look at the training parts in the authors' files; columns without variance cannot be scaled."""
    said, good = [], []
    for name, (train, _) in {
        **{name: load(name, split=0) for name in ("compas", "german", "adult")},
        "synthetic2": load("synthetic2", p=20, split=0),
    }.items():
        mean, deviation = np.abs(train.X.mean(axis=0)).max(), train.X.std(axis=0, ddof=1)
        deviation = deviation[deviation > 0]
        good.append(mean < 1e-6 and bool(np.allclose(deviation, value, atol=1e-2)))
        said.append(f"{name}: means up to {mean:.1g}, deviations {deviation.min():.2f} to {deviation.max():.2f}")
    return "; ".join(said), all(good), "The files of the synthetic data are not standardised, and the program does not."


def _delta(statement: str, value: float) -> tuple[str, bool, str]:
    deltas = sorted(DELTAS.values())
    return f"delta = {deltas[0]:g}; Table 1 has {deltas[-1]:g} as well", deltas[0] == value, "Another tolerance."


def _mu(statement: str, value: float) -> tuple[str, bool, str]:
    reason = (
        f"The matrices that the authors stored belong to mu = {FPCA_MU:g}: the two labels are exchanged or misprinted."
    )
    return f"mu = {FPCA_MU:g} throughout", value == FPCA_MU, reason


def _leakage(column: str, wanted: Any) -> Setting:
    def compare(statement: str, value: float) -> tuple[str, bool, str]:
        cells = load_results("lee2022/table1").cells
        cells = cells[(cells["dataset"] == "german") & (cells["d"] == 10) & (cells["method"] == "mbfpca")]
        cells = cells[cells["setting"] == "tau=1e-3"]
        used = wanted(cells[column])
        return f"{used:g}", used == value, "Another number."

    return compare


def _widths(statement: str, value: float) -> tuple[str, bool, str]:
    (stated,) = lists(statement)
    stored = sorted(published.load("lee2022", "fig2_fig3_stored")["p"].unique())
    return f"{', '.join(map(str, stored))} in the authors' files", tuple(stored) == stated == WIDTHS, "Others."


def _shift(statement: str, value: float) -> tuple[str, bool, str]:
    """Estimate the length from the files: a random matrix keeps squared lengths, a column each, in the mean."""
    squares, noise = [], []
    for p in WIDTHS:
        data = load("synthetic2", p=p)
        parts = [data.X[data.group_code == g] for g in (0, 1)]
        squares.append((parts[0].mean(axis=0) - parts[1].mean(axis=0)) ** 2)
        noise.append(sum(part.var(axis=0, ddof=1) / len(part) for part in parts))
    columns = np.concatenate(squares) - np.concatenate(noise)
    length = float(np.sqrt(columns.mean()))
    # Three standard errors of a mean of squares of normal numbers.
    room = 3 * value * np.sqrt(2 / len(columns)) / 2
    return (
        f"{length:.2f}, estimated from {len(columns)} columns of the files",
        abs(length - value) < room,
        "Another length.",
    )


def _blocks(statement: str, value: float) -> tuple[str, bool, str]:
    """The ratio of the groups' total variances tells which coefficients the files have."""
    sums = [sum(1 / (1 - r * r) for r in coefficients) for coefficients in lists(statement)]
    totals = np.zeros(2)
    for p in WIDTHS:
        data = load("synthetic2", p=p)
        totals += [data.X[data.group_code == g].var(axis=0).sum() / p for g in (0, 1)]
    stated, found = max(sums) / min(sums), float(totals.max() / totals.min())
    text = f"ratio of the groups' total variances in the files {found:.2f}; the stated coefficients give {stated:.2f}"
    reason = "The files have the same variance in both groups: the program reverses the first list for the other group."
    # Half way to equal variances.
    return text, abs(found - stated) < (stated - 1) / 2, reason


def _dimensions(statement: str, value: float) -> tuple[str, bool, str]:
    (stated,) = lists(statement)
    used = tuple(sorted(published.load("lee2022", "table1")["d"].unique()))
    return f"{', '.join(map(str, used))} in Table 1", used == stated, "Others."


def _table_settings(statement: str, value: float) -> tuple[str, bool, str]:
    used = [tuple(DELTAS.values()), tuple(TAUS.values())]
    text = f"delta = {', '.join(f'{v:g}' for v in used[0])}; tau = {', '.join(f'{v:g}' for v in used[1])}"
    return text, lists(statement) == used, "Others."


def _datasets(statement: str, value: float) -> tuple[str, bool, str]:
    names = published.load("lee2022", "table1")["dataset"].unique()
    return f"{len(names)} in Table 1: {', '.join(names)}", len(names) == value, "Another number."


def _splits(statement: str, value: float) -> tuple[str, bool, str]:
    cells = table1_cells()
    counts = {int(n) for n in cells.groupby(["dataset", "d", "method", "setting"])["split"].nunique()}
    return f"{', '.join(map(str, sorted(counts)))} splits of every data set", counts == {int(value)}, "Another number."


def _arrows(statement: str, value: float) -> tuple[str, bool, str]:
    used = inspect.signature(drawn_features).parameters["n"].default
    return f"{used}, by their communality, and the protected attribute", used == value, "Another number."


SETTINGS: dict[str, Setting] = {
    "repms-rounds": _option("max_outer"),
    "repms-epsilon-min": _option("epsilon_min"),
    "repms-epsilon-start": _option("epsilon_start"),
    "repms-epsilon-factor": _accuracies,
    "repms-rho-max": _option("rho_max"),
    "repms-rho-factor": _option("rho_factor"),
    "repms-distance": _option("distance_min"),
    "repms-solver": _inner_solver,
    "fpca-solver": _fpca_solver,
    "standardised": _standardised,
    "fpca-delta": _delta,
    "fpca-mu": _mu,
    "fpca-mu-leakage": _mu,
    "leakage-tau": _leakage("setting", lambda column: float(column.iloc[0].removeprefix("tau="))),
    "leakage-splits": _leakage("split", lambda column: column.nunique()),
    "synthetic2-dimensions": _widths,
    "synthetic2-blocks": _blocks,
    "synthetic2-shift": _shift,
    "uci-dimensions": _dimensions,
    "uci-datasets": _datasets,
    "uci-settings": _table_settings,
    "communality-splits": _splits,
    "biplot-features": _arrows,
}


register_settings(
    "lee2022",
    SETTINGS,
    "What the paper says about its settings, beside those of its programs and files",
    inputs=(
        "lee2022/planes",
        "lee2022/table1",
        *(f"published/lee2022/{stem}" for stem in ("fig2_fig3_stored", "table1")),
    ),
)

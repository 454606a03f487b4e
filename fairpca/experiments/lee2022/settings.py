"""What Lee et al. (2022) state about the settings of their experiments, beside what their programs and files have.

The defaults of Algorithm 1 in this package are those of the published program. What a file can tell is measured in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from fairpca.experiments.engine.runner import load_results
from fairpca.experiments.engine.statements import Setting, lists, register_settings
from fairpca.experiments.lee2022.fig1 import TAU

from fairpca import published
from fairpca.datasets import load
from fairpca.experiments.lee2022._protocol import DELTAS, FPCA_MU, MBF_METHODS
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


def _mixture(statement: str, value: float) -> tuple[str, bool, str]:
    """Compare both groups of the authors' file with the stated distributions, within five standard errors."""
    data = load("synthetic1")
    groups = [data.X[data.group_code == g] for g in (0, 1)]
    heaps = max(groups, key=lambda X: float(np.abs(X.mean(axis=1)).mean()))
    single = groups[0] if heaps is groups[1] else groups[1]
    side = np.sign(heaps.mean(axis=1))
    within = np.concatenate([heaps[side == s] - heaps[side == s].mean(axis=0) for s in (-1, 1)])
    parts = {
        "noise of the clusters": (float(within.var()), value),
        "centres": (float(np.abs([heaps[side == s].mean(axis=0) for s in (-1, 1)]).mean()), 1.0),
        "noise of the other": (float(np.linalg.eigvalsh(np.cov(single.T))[:2].mean()), value),
        "its common factor": (float(np.linalg.eigvalsh(np.cov(single.T))[2] - value) / 3, 1.0),
    }
    room = 5 * np.sqrt(2 / len(single))
    good = all(abs(found - stated) < room * max(stated, value) for found, stated in parts.values())
    listed = ", ".join(f"{name} {found:.3f}" for name, (found, _) in parts.items())
    return f"{listed}; {100 * np.mean(side > 0):.0f} % in one cluster", good, "Other moments in the file."


def _fair_planes(statement: str, value: float) -> tuple[str, bool, str]:
    table = load_results("lee2022/fig1").table
    row = table[(table["setting"] == "n=5000") & (table["method"] == "sphere") & (table["metric"] == "any_feasible")]
    possible = bool(row["mean"].iloc[0] == 1)
    text = f"tau = {TAU:g} here; on the authors' points some plane meets it: {'yes' if possible else 'no'}"
    return text, value == TAU and possible, "No plane of the authors' points meets it."


def _planes(statement: str, value: float) -> tuple[str, bool, str]:
    stored = published.load_loadings("lee2022", "synthetic1", "fpca", "delta=0").shape[1]
    return f"{stored} columns in the authors' stored loadings", stored == value, "Another number."


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


SETTINGS: dict[str, Setting] = {
    "repms-rounds": _option("max_outer"),
    "repms-epsilon-min": _option("epsilon_min"),
    "repms-epsilon-start": _option("epsilon_start"),
    "repms-epsilon-factor": _accuracies,
    "repms-rho-max": _option("rho_max"),
    "repms-rho-factor": _option("rho_factor"),
    "repms-distance": _option("distance_min"),
    "repms-solver": _inner_solver,
    "synthetic1-distributions": _mixture,
    "synthetic1-tau": _fair_planes,
    "synthetic1-dimension": _planes,
    "fpca-delta": _delta,
    "fpca-mu": _mu,
    "fpca-mu-leakage": _mu,
    "leakage-tau": _leakage("setting", lambda column: float(column.iloc[0].removeprefix("tau="))),
    "leakage-splits": _leakage("split", lambda column: column.nunique()),
    "synthetic2-dimensions": _widths,
    "synthetic2-blocks": _blocks,
    "synthetic2-shift": _shift,
}


register_settings(
    "lee2022",
    SETTINGS,
    "What the paper says about its settings, beside those of its programs and files",
    inputs=(
        "lee2022/fig1",
        "lee2022/planes",
        "lee2022/table1",
        *(f"published/lee2022/{stem}" for stem in ("fig2_fig3_stored", "loadings", "table1")),
    ),
)

"""Figure 4 of Vu et al. (2022): test performance against the radius of the ambiguity set.

No program was published. The text fixes lambda = 0.1, eps_1 = alpha / sqrt(N_1) for 100 values of alpha in [0, 10],
100 training samples and one test sample; eps_0 is "fixed" at a value that is not given. Two readings are computed:
zero, and 0.15 / sqrt(N_0), the paper's largest alpha elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from fairpca.experiments.engine.runner import Cell, Profile, register, tidy
from fairpca.solvers.rfpca import solve_rfpca_path
from fairpca.synthetic import Sample, vu_radius

__all__ = ["run_radius"]

ALPHAS = np.linspace(0.0, 10.0, 100)
LAM = 0.1
SETTINGS = {"eps0=0": 0.0, "eps0=0.15/sqrt(N0)": 0.15}
_TEST_SEED = 2022


def _moments(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    groups = [sample.X[sample.sensitive_features == a] for a in (0, 1)]
    return np.array([X.T @ X / len(X) for X in groups]), np.array([len(X) for X in groups])


def run_radius(*, split: int, method: str, setting: str) -> list[dict[str, Any]]:
    """Return ARE, ABDiff and their sum on the test sample for every alpha, for one training sample."""
    test, test_counts = _moments(vu_radius("test", random_state=_TEST_SEED))
    train, counts = _moments(vu_radius("train", random_state=split))
    first = SETTINGS[setting] / np.sqrt(counts[0])
    radii = [(LAM, np.array([first, alpha / np.sqrt(counts[1])])) for alpha in ALPHAS]
    records = []
    # Without the certificate, which would take most of the time; a test compares with certified solutions.
    results = solve_rfpca_path(train, counts / counts.sum(), 1, radii, certified=False)
    for alpha, result in zip(ALPHAS, results, strict=True):
        v = result.V[:, 0]
        errors = np.trace(test, axis1=1, axis2=2) - np.einsum("i,gij,j->g", v, test, v)
        are, gap = float(test_counts @ errors / test_counts.sum()), float(abs(errors[0] - errors[1]))
        angle = float(np.degrees(np.arctan2(abs(v[1]), abs(v[0]))))
        records.append({"alpha": float(alpha), "sum": are + gap, "are": are, "abdiff": gap, "angle": angle})
    return records


def _cells(profile: Profile) -> Iterable[Cell]:
    simulations = range(100) if profile == "paper" else range(3)
    return [Cell(split=split, method="rfpca", setting=name) for name in SETTINGS for split in simulations]


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    return tidy(cells, ("sum", "are", "abdiff", "angle"), by=("method", "setting", "alpha"), protocol="stated")


register(
    "vu2022/radius",
    cells=_cells,
    run_cell=run_radius,
    tabulate=_tabulate,
    title="Figure 4: performance against the radius of the ambiguity set",
)

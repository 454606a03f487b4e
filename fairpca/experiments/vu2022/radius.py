"""Figure 4 of Vu et al. (2022): test performance against the radius of the ambiguity set.

No program was published. The text fixes lambda = 0.1, eps_1 = alpha / sqrt(N_1) for 100 values of alpha in [0, 10],
100 training samples and one test sample; eps_0 is "fixed" at a value that is not given. Two readings are computed:
zero, and 0.15 / sqrt(N_0), the paper's largest alpha elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairpca import RFPCA, GroupMoments
from fairpca.experiments.engine.runner import Cell, Profile, register, tidy
from fairpca.metrics import ab_difference, average_reconstruction_error, reconstruction_errors
from fairpca.synthetic import vu_radius

__all__ = ["ALPHAS", "LAM", "SETTINGS", "run_radius", "sample_moments"]

ALPHAS = np.linspace(0.0, 10.0, 100)
LAM = 0.1
SETTINGS = {"eps0=0": 0.0, "eps0=0.15/sqrt(N0)": 0.15}
_TEST_SEED = 2022


def sample_moments(part: Literal["train", "test"], seed: int) -> GroupMoments:
    """Return the moments of one sample."""
    sample = vu_radius(part, random_state=seed)
    return GroupMoments.from_data(sample.X, sample.sensitive_features)


def run_radius(*, split: int, method: str, setting: str) -> list[dict[str, Any]]:
    """Return ARE, ABDiff and their sum on the test sample for every alpha, for one training sample.

    Nothing is centred: the groups of the simulation have mean zero.
    """
    train, test = sample_moments("train", split), sample_moments("test", _TEST_SEED)
    first, second = SETTINGS[setting] / np.sqrt(train.counts[0]), ALPHAS / np.sqrt(train.counts[1])
    models = RFPCA(1, lam=LAM, centering="none").path(train, eps=[(first, eps) for eps in second])
    records = []
    for alpha, model in zip(ALPHAS, models, strict=True):
        if model.result_.status != "optimal":
            raise RuntimeError(f"no proof of optimality for {model}; raise max_iter.")
        V = model.components_.T
        are = average_reconstruction_error(test, V)
        gap = ab_difference(reconstruction_errors(test, V, centering="none"))
        angle = float(np.degrees(np.arctan2(*np.abs(V[::-1, 0]))))
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

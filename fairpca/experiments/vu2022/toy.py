"""Figure 1 of Vu et al. (2022): directions of PCA, FairPCA and RFPCA on two Gaussian groups in the plane.

The rows are the very sample of the authors' program; nothing is standardised. RFPCA has radius zero and the ten
penalties of that program.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from fairpca import GroupMoments
from fairpca.experiments.engine.runner import Cell, Profile, register
from fairpca.experiments.vu2022 import methods
from fairpca.experiments.vu2022.protocol import Rows
from fairpca.linalg import fix_signs, top_eigenpairs
from fairpca.metrics import ab_difference, average_reconstruction_error, reconstruction_errors
from fairpca.synthetic import vu_toy

__all__ = ["ETA", "LAMS", "SEED", "STARTS", "run_toy"]

LAMS = (0.0, 0.1, 0.15, 0.17, 0.2, 0.22, 0.23, 0.24, 0.25, 1.0)
SEED, STARTS, ETA = 10, 41, 0.1


def run_toy(*, method: str, setting: str, protocol: str) -> dict[str, Any]:
    """Return the direction of one method, its angle to the horizontal axis in degrees, and the groups' errors."""
    stream = np.random.RandomState(SEED)
    sample = vu_toy(random_state=stream)
    moments = GroupMoments.from_data(sample.X, sample.sensitive_features)
    if method == "pca":  # about zero, as everything in this figure but FairPCA
        v = top_eigenpairs(np.tensordot(moments.weights, moments.second_moments("none"), 1), 1)[1]
    else:
        if method == "fairpca":
            compared = methods.fairpca(protocol)
            setting_values: dict[str, Any] = {"options": {"eta": ETA}} if protocol == "printed" else {}
        else:
            compared = methods.rfpca(protocol, n_starts=STARTS)
            setting_values = {"alpha": 0.0, "lam": float(setting.removeprefix("lam="))}
        rows = Rows(sample.X, sample.sensitive_features)
        (model,) = compared.fit(rows, 1, stream, setting_values)
        components = model.components_.T
        v = top_eigenpairs(components @ components.T, 1)[1]
    errors = reconstruction_errors(moments, v, centering="none")
    direction = fix_signs(v.T)[0]
    return {
        "x": float(direction[0]),
        "y": float(direction[1]),
        "angle": float(np.degrees(np.arctan2(direction[1], direction[0]))),
        "error_0": float(errors.iloc[0]),
        "error_1": float(errors.iloc[1]),
        "are": average_reconstruction_error(moments, v),
        "abdiff": ab_difference(errors),
    }


def _cells(profile: Profile) -> Iterable[Cell]:
    cells = [Cell(method="pca", setting="", protocol="stated")]
    for protocol in ("printed", "stated"):
        cells.append(Cell(method="fairpca", setting="", protocol=protocol))
        cells += [Cell(method="rfpca", setting=f"lam={lam:g}", protocol=protocol) for lam in LAMS]
    return cells


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    metrics = ["x", "y", "angle", "error_0", "error_1", "are", "abdiff"]
    return cells.melt(
        id_vars=["method", "setting", "protocol"], value_vars=metrics, var_name="metric", value_name="value"
    )


register("vu2022/toy", cells=_cells, run_cell=run_toy, tabulate=_tabulate, title="Figure 1: directions in the plane")

"""Figure 1 of Vu et al. (2022): directions of PCA, FairPCA and RFPCA on two Gaussian groups in the plane.

The rows are the very sample of the authors' program; nothing is standardised. RFPCA has radius zero and the ten
penalties of that program.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from fairpca.experiments.engine.runner import Cell, Profile, register
from fairpca.experiments.vu2022._methods import port_map
from fairpca.linalg import top_eigenpairs
from fairpca.solvers.minmax import solve_minmax
from fairpca.solvers.rfpca import solve_rfpca, solve_rfpca_subgradient
from fairpca.synthetic import vu_toy

__all__ = ["LAMS", "run_toy"]

LAMS = (0.0, 0.1, 0.15, 0.17, 0.2, 0.22, 0.23, 0.24, 0.25, 1.0)
_SEED, _STARTS, _ETA = 10, 41, 0.1


def run_toy(*, method: str, setting: str, protocol: str) -> dict[str, Any]:
    """Return the direction of one method, its angle to the horizontal axis in degrees, and the groups' errors."""
    stream = np.random.RandomState(_SEED)
    sample = vu_toy(random_state=stream)
    groups = [sample.X[sample.sensitive_features == a] for a in (0, 1)]
    moments = np.array([X.T @ X / len(X) for X in groups])
    shares = np.array([len(X) for X in groups]) / len(sample.X)
    if method == "pca":
        v = top_eigenpairs(np.tensordot(shares, moments, 1), 1)[1]
    elif method == "fairpca":
        centred = np.array([np.cov(X.T, bias=True) for X in groups])
        printed = protocol == "printed"
        v = top_eigenpairs(port_map(centred, 1, _ETA), 1)[1] if printed else solve_minmax(centred, 1).V
    else:
        lam, eps = float(setting.removeprefix("lam=")), np.zeros(2)
        if protocol == "printed":
            v = solve_rfpca_subgradient(moments, shares, 1, lam, eps, n_starts=_STARTS, random_state=stream).V
        else:
            v = solve_rfpca(moments, shares, 1, lam, eps).V
    direction = v[:, 0] * (1.0 if v[np.argmax(np.abs(v[:, 0])), 0] > 0 else -1.0)
    errors = np.trace(moments, axis1=1, axis2=2) - np.einsum("i,gij,j->g", direction, moments, direction)
    return {
        "x": float(direction[0]),
        "y": float(direction[1]),
        "angle": float(np.degrees(np.arctan2(direction[1], direction[0]))),
        "error_0": float(errors[0]),
        "error_1": float(errors[1]),
        "are": float(shares @ errors),
        "abdiff": float(abs(errors[0] - errors[1])),
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

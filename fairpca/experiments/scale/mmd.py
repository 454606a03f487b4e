"""What an exact MMD² costs, and MBF-PCA of more rows than one would hold: the guide beside the exact value."""

from __future__ import annotations

from collections.abc import Iterable
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from fairpca import MBFPCA, scale
from fairpca.experiments.engine.runner import Cell, Profile, register
from fairpca.experiments.scale.cost import tabulate as tidy_sizes
from fairpca.experiments.scale.rows import Generated, in_own_process, resident_megabytes
from fairpca.scale.mbf import gather_rows, solve_in_batches

__all__ = ["TAU", "block_pairs", "fit"]

TAU = 1e-2
PARTS = (gather_rows, solve_in_batches)  # what MBFPCA.fit_batches calls by name: results depend on them
_COMPONENTS = 10
_FEATURES = 20


def block_pairs(*, n: int, d: int) -> dict[str, float]:
    """Exact MMD² of normal rows by pairs of blocks: processor seconds and memory."""
    random = np.random.default_rng(n)
    Z, groups = random.standard_normal((n, d)), random.integers(0, 2, n)
    scale.mmd_squared(Z[:500], groups[:500], 3.0)  # loads what is compiled
    began = process_time()
    value = scale.mmd_squared(Z, groups, 3.0)
    seconds = process_time() - began
    return {
        "seconds": seconds,
        "nanoseconds_a_pair": 1e9 * seconds / (n * n / 2),
        "resident_megabytes": resident_megabytes(),
        "mmd2": value,
    }


def fit(*, n: int, d: int, sample_size: int) -> dict[str, float]:
    """MBF-PCA in batches: processor seconds, memory, guide, bound and exact value."""
    assert all(map(callable, PARTS))
    rows = Generated(n, _FEATURES)
    model = MBFPCA(d, tau=TAU, n_starts=1, random_state=0)
    began = process_time()
    model.fit_batches(rows, sensitive="group", sample_size=sample_size)
    extra = model.result_.extra
    return {
        "seconds": process_time() - began,
        "resident_megabytes": resident_megabytes(),
        "mmd2": model.mmd2_,
        "mmd2_guide": extra["mmd2_guide"],
        "guide_bound": extra["guide_bound"],
        "searches": float(extra["n_searches"]),
        "feasible": float(model.mmd2_ <= TAU),
        "variance_percent": 100.0 * extra["variance_ratio"],
    }


def cells(profile: Profile) -> Iterable[Cell]:
    """Sizes from where the kernel is cheap to where it takes minutes; what more rows cost follows from n²."""
    paper = profile == "paper"
    for n in (10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6) if paper else (5000, 10**4):
        yield Cell(method="block_pairs", n=n, d=_COMPONENTS)
    for n in (10**4, 10**5) if paper else (5000,):
        yield Cell(method="fit", n=n, d=_COMPONENTS, sample_size=5000 if paper else 1000)


def run_pairs(*, method: str, **size: Any) -> dict[str, float]:
    """Measure exact values."""
    return in_own_process(block_pairs, **size)


def run_fit(*, method: str, **size: Any) -> dict[str, float]:
    """Measure a fit."""
    return in_own_process(fit, **size)


def tabulate(frame: pd.DataFrame) -> pd.DataFrame:
    """One row a number, with the sizes as columns."""
    return tidy_sizes(frame, ["method", "n", "d", "sample_size"])


register(
    "scale/mmd",
    cells=cells,
    run_cell={"block_pairs": run_pairs, "fit": run_fit},
    tabulate=tabulate,
    title="Exact MMD² by pairs of blocks, and MBF-PCA guided by a sample",
)

"""Group moments against the matrix products alone.

Compares ``GroupMoments.from_data`` (counts, means and centred second moments of each group, safe for data with
large means, checked for missing values) with the bare products ``X[g].T @ X[g]`` of the groups' rows, on 10^6 rows
of 50 features in float64. Both select the rows of a group; both run with as many BLAS threads as the process has
(set OMP_NUM_THREADS=1 for one). Each is repeated, alternating, and the smallest CPU times are compared.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from timing import cpu_seconds

from fairpca import GroupMoments
from fairpca._validation import encode_groups

__all__ = ["run"]

_ROWS = {True: 100_000, False: 1_000_000}  # by the argument quick
_REPEATS = {True: 3, False: 5}


def _bare_products(X: np.ndarray, groups: np.ndarray, n_groups: int) -> list[np.ndarray]:
    products = []
    for g in range(n_groups):
        rows = X[groups == g]
        products.append(rows.T @ rows)
    return products


def run(quick: bool = False) -> pd.DataFrame:
    """Time both and print the ratios.

    Parameters
    ----------
    quick : bool, default=False
        Use 10^5 rows and fewer repetitions.

    Returns
    -------
    DataFrame
        One row for each number and layout of groups: seconds of both, and their ratio.
    """
    n, p, repeats = _ROWS[quick], 50, _REPEATS[quick]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    layouts = {
        "2 groups, mixed": rng.integers(0, 2, n),
        "2 groups, one tenth": (rng.random(n) < 0.1).astype(np.int64),
        "2 groups, in order": (np.arange(n) >= n // 2).astype(np.int64),
        "10 groups, mixed": rng.integers(0, 10, n),
    }
    rows = []
    for name, codes in layouts.items():
        groups = encode_groups(codes)
        m = len(groups.labels)
        GroupMoments.from_data(X[:1000], codes[:1000])  # load what is loaded on first use
        ours, bare = [], []
        for _ in range(repeats):
            bare.append(cpu_seconds(lambda: _bare_products(X, codes, m))[0])  # noqa: B023 - called at once
            ours.append(cpu_seconds(lambda: GroupMoments.from_data(X, codes))[0])  # noqa: B023
        rows.append(
            {
                "groups": name,
                "rows": n,
                "features": p,
                "moments_seconds": min(ours),
                "products_seconds": min(bare),
                "ratio": min(ours) / min(bare),
            }
        )
        print(f"{name}: moments {min(ours):.3f} s, products {min(bare):.3f} s, ratio {min(ours) / min(bare):.2f}")
    return pd.DataFrame(rows)

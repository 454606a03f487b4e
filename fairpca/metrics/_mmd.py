"""Maximum mean discrepancy with the Gaussian kernel: exact, in blocks, with a permutation null."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist, pdist

from fairpca._options import MMDEstimator
from fairpca._validation import check_choice, check_number, check_rows, encode_groups
from fairpca.metrics._checks import two_groups
from fairpca.solvers.spectral.units import unit_of

__all__ = ["MMDTest", "median_bandwidth", "mmd_permutation_test", "mmd_squared", "pairwise_mmd_squared"]

_TILE = 1024  # rows of a tile: distances of a pair of tiles take 8 MB whatever n is
_BATCH_BYTES = 2**26  # permuted labels held at once
_ALL_PAIRS = 5_000_000  # up to this many pairs (40 MB) distances are held at once


def median_bandwidth(Z: Any, rule: Literal["median", "code"] = "median") -> float:
    """Return the kernel width sigma by the median heuristic, from the projected training data.

    Parameters
    ----------
    Z : array-like of shape (n_samples, k)
        Training data projected by ordinary PCA of the same dimension.
    rule : {"median", "code"}, default="median"
        "median": the median distance over all pairs of rows (text of Lee et al. 2022, Section 2.2).
        "code": the square root of half the median squared distance, which is what the authors' program uses
        and what reproduces their tables; smaller by the factor sqrt 2.

    Returns
    -------
    float
        Exact for any number of rows, without holding all distances when there are many.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.standard_normal((200, 2))
    >>> groups = np.repeat(['a', 'b'], 100)
    >>> Z[groups == 'b', 0] += 1
    >>> from fairpca.metrics import median_bandwidth
    >>> round(median_bandwidth(Z), 3)
    1.744
    """
    check_choice("rule", rule, ("median", "code"))
    rows = check_rows(Z, "Z")
    n = len(rows)
    if n < 2:
        raise ValueError("one row has no distance to another; give at least two rows.")
    unit = unit_of(rows)  # a power of two changes no digit, and squares neither vanish nor overflow
    low, high = _middle_squared_distances(rows * unit)
    sigma = 0.5 * (np.sqrt(low) + np.sqrt(high)) if rule == "median" else np.sqrt(0.25 * (low + high))
    sigma /= unit
    if sigma <= 0:
        raise ValueError(
            "the median distance is 0, because more than half of the pairs of rows coincide; choose sigma yourself."
        )
    return float(sigma)


def _middle_squared_distances(rows: np.ndarray) -> tuple[float, float]:
    """Return the two middle order statistics of the squared distances (equal for an odd number of pairs)."""
    n = len(rows)
    pairs = n * (n - 1) // 2
    first, second = (pairs - 1) // 2, pairs // 2
    if pairs <= _ALL_PAIRS:
        chosen = np.partition(pdist(rows, "sqeuclidean"), (first, second))
        return float(chosen[first]), float(chosen[second])
    low = _order_statistic(rows, first)
    if first == second:
        return low, low
    not_above, next_value = 0, np.inf
    for part in _squared_distances(rows):
        above = part[part > low]
        not_above += part.size - above.size
        next_value = min(next_value, float(above.min(initial=np.inf)))
    return low, (low if not_above > second else next_value)


def _order_statistic(rows: np.ndarray, rank: int) -> float:
    """Return the squared distance of a rank (from 0) without holding all distances.

    Non-negative doubles are ordered like their bit patterns, so the value is found 16 bits at a time by
    counting, until the candidates that share the leading bits are few enough to be held.
    """
    prefix, shift, below = 0, 48, 0
    while True:
        counts = np.zeros(1 << 16, dtype=np.int64)
        for part in _squared_distances(rows):
            bits = part.view(np.int64)
            if shift < 48:
                bits = bits[(bits >> (shift + 16)) == prefix]
            counts += np.bincount((bits >> shift) & 0xFFFF, minlength=1 << 16)
        cumulative = below + np.cumsum(counts)
        digit = int(np.searchsorted(cumulative, rank, side="right"))
        below = int(cumulative[digit] - counts[digit])
        prefix = (prefix << 16) | digit
        if shift == 0:
            return float(np.int64(prefix).view(np.float64))
        if counts[digit] <= _ALL_PAIRS:
            break
        shift -= 16
    kept = np.concatenate([part[(part.view(np.int64) >> shift) == prefix] for part in _squared_distances(rows)])
    return float(np.partition(kept, rank - below)[rank - below])


def _squared_distances(rows: np.ndarray) -> Iterator[np.ndarray]:
    tiles = [rows[start : start + _TILE] for start in range(0, len(rows), _TILE)]
    for i, tile in enumerate(tiles):
        if len(tile) > 1:
            yield pdist(tile, "sqeuclidean")
        for other in tiles[i + 1 :]:
            yield cdist(tile, other, "sqeuclidean").ravel()


def _kernel_product(rows: np.ndarray, sigma: float, W: np.ndarray) -> np.ndarray:
    """Return K @ W for the Gaussian kernel matrix K of `rows`, which is never formed."""
    from fairpca.solvers.mmd import kernel_products  # on use, because it loads numba

    with np.errstate(over="ignore", under="ignore"):
        rows = (rows - rows.mean(axis=0)) / sigma  # before squares are taken, whatever the unit
        if not np.all(np.isfinite(rows)):
            raise ValueError(
                f"sigma={sigma:g} is so small beside Z that their ratio is not a number; choose a larger one."
            )
        return kernel_products(rows, W.T, 1.0).T


def _statistic(S: np.ndarray, na: int, nb: int, estimator: MMDEstimator) -> float:
    """Return MMD^2 from the sums of kernel values within and between two groups."""
    if estimator == "biased":
        return max(0.0, float(S[0, 0] / na**2 + S[1, 1] / nb**2 - 2 * S[0, 1] / (na * nb)))
    return float((S[0, 0] - na) / (na * (na - 1)) + (S[1, 1] - nb) / (nb * (nb - 1)) - 2 * S[0, 1] / (na * nb))


def _check(Z: Any, sigma: float, estimator: str) -> np.ndarray:
    check_choice("estimator", estimator, get_args(MMDEstimator))
    check_number("sigma", sigma, low=0, low_open=True)
    return check_rows(Z, "Z")


def pairwise_mmd_squared(
    Z: Any, sensitive_features: Any, sigma: float, *, estimator: MMDEstimator = "biased"
) -> pd.DataFrame:
    """Return MMD^2 between every two groups; one pass over the pairs of rows serves all of them.

    Parameters
    ----------
    Z : array-like of shape (n_samples, k)
        Projected data.
    sensitive_features : array-like of shape (n_samples,)
        Group of each row; at least two groups.
    sigma : float
        Width of the kernel ``exp(-|x - y|^2 / (2 sigma^2))``; see :func:`median_bandwidth`.
    estimator : {"biased", "unbiased"}, default="biased"
        "biased": the V-statistic that Lee et al. (2022) print, never negative, positive on average even for
        equal distributions. "unbiased": the U-statistic, zero on average for equal distributions.

    Returns
    -------
    DataFrame
        Symmetric with zero diagonal, labelled by group. Time grows with n², memory with n.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca.metrics import pairwise_mmd_squared
    >>> Z = np.array([[0.0], [0.1], [2.0], [2.1], [0.0], [0.2]])
    >>> pairwise_mmd_squared(Z, ['a', 'a', 'b', 'b', 'c', 'c'], 1.0).round(3)
    group      a      b      c
    group
    a      0.000  1.722  0.002
    b      1.722  0.000  1.684
    c      0.002  1.684  0.000
    """
    rows = _check(Z, sigma, estimator)
    groups = encode_groups(sensitive_features, len(rows))
    m, counts = len(groups.labels), groups.counts
    if m < 2:
        raise ValueError(f"sensitive_features has a single group ({groups.labels[0]!r}); MMD compares at least two.")
    if estimator == "unbiased" and counts.min() < 2:
        small = groups.labels[int(np.argmin(counts))]
        raise ValueError(f"group {small!r} has one row; the unbiased estimator needs two in every group.")
    members = np.zeros((len(rows), m))
    members[np.arange(len(rows)), groups.codes] = 1.0
    sums = members.T @ _kernel_product(rows, float(sigma), members)
    table = np.zeros((m, m))
    for a in range(m):
        for b in range(a + 1, m):
            pair = np.ix_((a, b), (a, b))
            table[a, b] = table[b, a] = _statistic(sums[pair], int(counts[a]), int(counts[b]), estimator)
    names = pd.Index(list(groups.labels), tupleize_cols=False, name="group")
    return pd.DataFrame(table, index=names, columns=names)


def mmd_squared(Z: Any, sensitive_features: Any, sigma: float, *, estimator: MMDEstimator = "biased") -> float:
    """Return MMD^2 between the groups of projected data, the fairness metric of Lee et al. (2022), Definition 5.

    For more than two groups it is the largest value over all pairs; see :func:`pairwise_mmd_squared`.

    Parameters
    ----------
    Z, sensitive_features, sigma, estimator
        As in :func:`pairwise_mmd_squared`.

    Returns
    -------
    float
        The largest value over pairs of groups; "unbiased" may be negative.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.standard_normal((200, 2))
    >>> groups = np.repeat(['a', 'b'], 100)
    >>> Z[groups == 'b', 0] += 1
    >>> from fairpca.metrics import median_bandwidth, mmd_squared
    >>> round(mmd_squared(Z, groups, median_bandwidth(Z)), 4)
    0.1146
    """
    table = pairwise_mmd_squared(Z, sensitive_features, sigma, estimator=estimator).to_numpy()
    return float(table[np.triu_indices(len(table), 1)].max())


@dataclass(frozen=True)
class MMDTest:
    """MMD^2 beside what it is when groups are assigned at random.

    Attributes
    ----------
    value : float
        MMD^2 of the groups.
    null : ndarray of shape (n_permutations,)
        MMD^2 after random permutations of the group labels, sorted.
    p_value : float
        Share of null values at least as large, the observed labelling counted among them.
    """

    value: float
    null: np.ndarray
    p_value: float

    def quantile(self, level: float = 0.95) -> float:
        """Return a quantile of the null: values below it are no evidence of a difference."""
        return float(np.quantile(self.null, level))


def mmd_permutation_test(
    Z: Any,
    sensitive_features: Any,
    sigma: float,
    *,
    estimator: MMDEstimator = "biased",
    n_permutations: int = 1000,
    random_state: Any = None,
) -> MMDTest:
    """Compare MMD^2 of two groups with its distribution under random group labels.

    Each block of the kernel is computed once and multiplied with many permuted labels together, and the kernel
    matrix is never stored.

    Parameters
    ----------
    Z, sensitive_features, sigma, estimator
        As in :func:`pairwise_mmd_squared`, with exactly two groups.
    n_permutations : int, default=1000
        Number of random labellings.
    random_state : int, Generator, RandomState or None
        Source of the permutations.

    Returns
    -------
    MMDTest

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.standard_normal((200, 2))
    >>> groups = np.repeat(['a', 'b'], 100)
    >>> Z[groups == 'b', 0] += 1
    >>> from fairpca.metrics import mmd_permutation_test
    >>> found = mmd_permutation_test(Z, groups, 1.0, n_permutations=199, random_state=0)
    >>> round(found.value, 4), found.p_value
    (0.1146, 0.005)
    """
    rows = _check(Z, sigma, estimator)
    groups = two_groups(sensitive_features, len(rows), "the permutation test")
    check_number("n_permutations", n_permutations, low=1, integer=True)
    rng = _generator(random_state)
    n, (na, nb) = len(rows), (int(c) for c in groups.counts)
    if estimator == "unbiased" and min(na, nb) < 2:
        raise ValueError("the unbiased estimator needs two rows in every group.")
    observed = (groups.codes == 0).astype(np.float64)
    batch = max(_BATCH_BYTES // (8 * n), 16)
    values = np.empty(n_permutations + 1)
    for start in range(0, n_permutations + 1, batch):
        stop = min(start + batch, n_permutations + 1)
        member = np.empty((n, stop - start))
        for j in range(stop - start):
            member[:, j] = observed if start + j == 0 else rng.permutation(observed)
        product = _kernel_product(rows, float(sigma), np.column_stack((np.ones(n), member)))
        total, product = product[:, :1], product[:, 1:]
        within_a = np.sum(member * product, axis=0)
        between = np.sum((1 - member) * product, axis=0)
        within_b = np.sum((1 - member) * (total - product), axis=0)
        sums = np.array([[within_a, between], [between, within_b]])
        values[start:stop] = [_statistic(sums[:, :, j], na, nb, estimator) for j in range(stop - start)]
    null = np.sort(values[1:])
    # Labellings that only swap equal rows tie with the observed one up to rounding; they count as extreme.
    exceed = int(np.sum(null >= values[0] - 1e-12))
    return MMDTest(float(values[0]), null, (1 + exceed) / (1 + n_permutations))


def _generator(random_state: Any) -> Any:
    if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        return random_state
    return np.random.default_rng(random_state)

"""MBF-PCA of rows that do not fit in memory: moments and a sample guide, the exact kernel on all rows decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from fairpca._moment_sums import MomentSums
from fairpca._moments import GroupMoments
from fairpca._validation import Groups, check_number, sorted_labels
from fairpca.linalg import top_eigenpairs
from fairpca.scale.batches import numbered_rows, project, with_typed_labels
from fairpca.scale.frames import ColumnChoice
from fairpca.solvers import SolverResult
from fairpca.solvers.mbf import ComparedRows, MBFSettings, solve_mbf
from fairpca.solvers.mmd import contrast_weights, kernel_products, mmd2

__all__ = ["GatheredRows", "RowSample", "gather_rows", "solve_in_batches"]

_ROUNDS = 4  # searches, each of which costs an exact value of all rows
_CLOSE = 0.8  # share of tau from which on the exact value is near enough to stop
_LEVEL = 0.05  # probability that the guide is further off than its bound


@dataclass(frozen=True)
class GatheredRows:
    """What one pass over the source leaves: the moments of all rows, and a sample.

    Attributes
    ----------
    source, sensitive, features
        Where the rows are.
    moments : GroupMoments
        Of all rows.
    covariance : ndarray of shape (p, p)
        Of all rows.
    centred : ndarray of shape (sample_size, p)
        The sample, less the mean of all rows.
    groups : Groups
        Of the sample, in the order of `counts`.
    counts : ndarray of shape (n_groups,)
        All rows in each group.
    began : float
        When reading began, in seconds of ``time.perf_counter``.
    """

    source: Any
    sensitive: str | Sequence[str]
    features: Sequence[str] | None
    moments: GroupMoments
    covariance: np.ndarray
    centred: np.ndarray
    groups: Groups
    counts: np.ndarray
    began: float


def gather_rows(
    source: Any,
    sensitive: str | Sequence[str],
    features: Sequence[str] | None,
    sample_size: int,
    seed: int,
    progress: Callable[[str], None] | None,
) -> GatheredRows:
    """Read the source once."""
    check_number("sample_size", sample_size, low=100, integer=True)
    if isinstance(source, Iterator):
        raise TypeError("source is read several times, so it cannot be a generator; give files, a dataset or a list.")
    began = perf_counter()
    sums: MomentSums | None = None
    sample = RowSample(sample_size, seed)
    names: Sequence[str] = ()
    for first, X, groups, given in numbered_rows(source, ColumnChoice.of(sensitive, features, None)):
        names = given
        sums = MomentSums(X.shape[1]) if sums is None else sums
        sums.add(X, groups)
        sample.add(first, X, groups)
    if sums is None or sample.rows is None:
        raise ValueError("there is no row; check the source.")
    moments = GroupMoments.from_sums(sums, names)
    if progress is not None:
        seconds = perf_counter() - began
        progress(f"{seconds:.1f} s: moments of {moments.n_samples:,} rows, sample of {len(sample.keys):,}")
    typed = with_typed_labels(moments, source)
    centred = sample.rows - moments.mean
    return GatheredRows(
        source, sensitive, features, typed, moments.covariance(), centred, sample.groups(), moments.counts, began
    )


def solve_in_batches(
    data: GatheredRows,
    n_components: int,
    tau: float,
    sigma: float,
    settings: MBFSettings,
    *,
    progress: Callable[[str], None] | None = None,
) -> SolverResult:
    """Search on the sample until the exact MMD² of all rows meets `tau`; see :meth:`fairpca.MBFPCA.fit_batches`."""
    comparison = ComparedRows(np.arange(len(data.centred)), data.groups.codes)

    def search(target: float) -> SolverResult:
        return solve_mbf(data.centred, [comparison], n_components, target, sigma, settings, covariance=data.covariance)

    def exact(result: SolverResult) -> float:
        projection = _Projection(result.V, data.moments.mean)
        Z, groups = project(data.source, projection, sensitive=data.sensitive, features=data.features)
        contrasts = contrast_weights(groups.codes, len(groups.labels))
        value = max(mmd2(Z - Z.mean(axis=0), contrasts, sigma, settings.n_threads), 0.0)
        if progress is not None:
            seconds = perf_counter() - data.began
            progress(f"{seconds:.1f} s: exact MMD² {value:.4e}, guide {result.extra['mmd2']:.4e}")
        return value

    top = top_eigenpairs(data.covariance, n_components)[1]
    found = _search(tau, tau + _excess(data.centred @ top, data.groups, data.counts, sigma), search, exact)
    result = _result(found, data, tau)
    bound = _guide_bound(found.value, data.groups.counts, data.counts)
    extra = {**result.extra, "guide_bound": bound, "sample_size": len(data.centred), "sigma": sigma}
    return replace(result, extra=extra)


@dataclass(frozen=True)
class _Projection:
    V: np.ndarray
    mean: np.ndarray

    def transform(self, X: np.ndarray) -> np.ndarray:
        return np.asarray((X - self.mean) @ self.V)


@dataclass(frozen=True)
class _Found:
    """A subspace and the exact MMD² of all rows in it."""

    result: SolverResult
    value: float
    searches: int


def _search(
    tau: float,
    target: float,
    search: Callable[[float], SolverResult],
    exact: Callable[[SolverResult], float],
) -> _Found:
    """Move the target on the sample until the exact value of all rows just meets `tau`, a few rounds at most.

    The best feasible subspace counts, or the fairest one where none is feasible.
    """
    best: _Found | None = None
    highest = np.inf  # targets from which on the exact value was too large
    for number in range(1, _ROUNDS + 1):
        result = search(target)
        value = exact(result)
        better = best is None or (
            value < best.value if best.value > tau else value <= tau and result.objective > best.result.objective
        )
        best = _Found(result, value, number) if better or best is None else replace(best, searches=number)
        best_of_all = result.status == "optimal" and value <= tau
        hopeless = value > tau and result.status in ("not_found", "infeasible")
        if best_of_all or hopeless or _CLOSE * tau <= value <= tau:
            break
        offset = result.extra["mmd2"] - value
        if value > tau:
            highest = min(highest, target)
            # The guide may differ by an offset or by a factor; the larger correction is the safer one.
            target = max(min(0.95 * target * tau / value, target - 1.1 * (value - tau)), 0.05 * target)
        elif number == _ROUNDS - 1:
            break
        else:
            target = min(tau + offset - 0.05 * tau, 0.5 * (target + highest))
    assert best is not None
    return best


def _excess(Z: np.ndarray, groups: Groups, counts: np.ndarray, sigma: float) -> float:
    """Return by how much the biased MMD² of the sample exceeds that of all rows on average, at given projections.

    The diagonal of the kernel counts 1/m in a group of m rows, of which a larger group has less.
    """
    m, n = groups.counts, counts
    members = (groups.codes == np.arange(len(m))[:, None]).astype(float)
    sums = np.sum(members * kernel_products(Z - Z.mean(axis=0), members, sigma), axis=1)
    inside = (sums - m) / np.maximum(m * (m - 1.0), 1.0)
    return float((len(m) - 1) * np.sum((1 / m - 1 / n) * (1 - inside)))


def _result(found: _Found, data: GatheredRows, tau: float) -> SolverResult:
    """Return the solver's result with the values of all rows in the place of those of the sample."""
    inner, V = found.result, found.result.V
    covariance = data.covariance
    variance = float(np.vdot(V, covariance @ V))
    ceiling = max(float(top_eigenpairs(covariance, V.shape[1])[0].sum()), variance)
    status = inner.status
    if found.value > tau:
        status = "infeasible" if V.shape[0] == V.shape[1] else "not_found"
    elif status in ("not_found", "infeasible"):  # the sample was less fair than the rows are
        status = "converged"
    if status == "optimal" and variance < ceiling * (1 - 1e-12):
        status = "converged"
    extra = {
        **inner.extra,
        "mmd2": found.value,
        "mmd2_guide": inner.extra["mmd2"],
        "tau": tau,
        "variance_ratio": variance / float(np.trace(covariance)),
        "n_searches": found.searches,
    }
    extra.pop("message", None)
    if status in ("not_found", "infeasible"):
        fewer = ", choose fewer components" if V.shape[1] > 1 else ""
        larger = ", or a larger sample_size" if status == "not_found" else ""
        extra["message"] = (
            f"no subspace was found whose exact MMD² on all {data.moments.n_samples:,} rows is at most tau={tau:g}; it "
            f"is {found.value:.3e} for the one returned. Raise tau{fewer}{larger}"
        )
    elif "message" in inner.extra:
        extra["message"] = inner.extra["message"]
    return replace(
        inner, status=status, objective=variance, bound=ceiling, seconds=perf_counter() - data.began, extra=extra
    )


def _guide_bound(value: float, sampled: np.ndarray, counts: np.ndarray) -> float:
    """Return how far MMD² of the sample may be from that of all rows, for a subspace that was chosen beforehand.

    Gretton et al. (2012), Theorem 7: |MMD of a sample - MMD| ≤ 2 (√(1/m) + √(1/n)) + ε with probability at least
    1 - 2 exp(-ε² m n / 2(m + n)); summed over the pairs of groups, and turned from MMD to MMD².
    """
    groups = len(counts)
    pairs = [(a, b) for a in range(groups) for b in range(a + 1, groups)]
    total = 0.0
    for a, b in pairs:
        m, n = sampled[a], sampled[b]
        slack = np.sqrt(2 * (m + n) / (m * n) * np.log(2 * len(pairs) / _LEVEL))
        off = 2 * (np.sqrt(1 / m) + np.sqrt(1 / n)) + slack
        total += off * (off + 2 * np.sqrt(max(value, 0.0)))
    return float(total)


_LEAST = 50  # rows of each group, however small its share


class RowSample:
    """The rows with the smallest of random keys: a simple random sample, whatever the batches and their order.

    Every row has a key, drawn from the seed and its number, so samples of parts merge into the sample of all. Of each
    group at least 50 rows are kept, where it has them.

    Parameters
    ----------
    size : int
        Rows to keep.
    seed : int, default=0
        Source of the keys.
    """

    def __init__(self, size: int, seed: int = 0) -> None:
        self.size, self.seed = size, seed
        self.keys = np.empty(0)
        self.codes = np.empty(0, dtype=np.int64)
        self.rows: np.ndarray | None = None
        self._position: dict[Any, int] = {}

    def add(self, first: int, X: np.ndarray, groups: Groups) -> None:
        """Add rows, of which the first has the number `first` in the whole."""
        at = np.array(
            [self._position.setdefault(label, len(self._position)) for label in groups.labels], dtype=np.int64
        )
        self._take(_keys(self.seed, first, len(X)), at[groups.codes], X)

    def merge(self, other: RowSample) -> None:
        """Add the sample of other rows, numbered otherwise, with the same size and seed."""
        if (self.size, self.seed) != (other.size, other.seed):
            raise ValueError("samples merge if their size and seed are the same.")
        if other.rows is not None:
            at = np.array([self._position.setdefault(label, len(self._position)) for label in other._position])
            self._take(other.keys, at[other.codes], other.rows)

    def groups(self) -> Groups:
        """Groups of the rows kept, sorted."""
        labels = sorted_labels(self._position)
        where = np.array([labels.index(label) for label in self._position], dtype=np.int64)
        return Groups(tuple(labels), where[self.codes])

    def _take(self, keys: np.ndarray, codes: np.ndarray, X: np.ndarray) -> None:
        if self.rows is not None and self.keys.size >= self.size:
            # Most rows of a long stream are neither among the smallest keys of all nor among those of their group.
            last = np.partition(self.keys, self.size - 1)[self.size - 1]
            own = np.array([self._last_of(g) for g in range(len(self._position))])
            chosen = (keys <= last) | (keys <= own[codes])
            keys, codes, X = keys[chosen], codes[chosen], X[chosen]
        self.keys, self.codes = np.concatenate((self.keys, keys)), np.concatenate((self.codes, codes))
        self.rows = X.copy() if self.rows is None else np.concatenate((self.rows, X))
        order = np.argsort(self.keys, kind="stable")
        sorted_codes = self.codes[order]
        rank = np.empty(order.size, dtype=np.int64)  # within the group
        by_group = np.argsort(sorted_codes, kind="stable")
        starts = np.searchsorted(sorted_codes[by_group], np.arange(len(self._position)))
        rank[by_group] = np.arange(order.size) - starts[sorted_codes[by_group]]
        kept = order[(np.arange(order.size) < self.size) | (rank < _LEAST)]
        self.keys, self.codes, self.rows = self.keys[kept], self.codes[kept], self.rows[kept]

    def _last_of(self, g: int) -> float:
        """Key above which no row of a group is kept for the group's sake."""
        keys = self.keys[self.codes == g]
        return float(np.partition(keys, _LEAST - 1)[_LEAST - 1]) if keys.size >= _LEAST else np.inf


def _keys(seed: int, first: int, n: int) -> np.ndarray:
    """Return the keys of rows first … first + n - 1: each a function of the seed and its number alone."""
    generator = np.random.Philox(key=seed)
    generator.advance(int(first) // 4)  # four numbers a step
    skip = int(first) % 4
    bits = generator.random_raw(n + skip)[skip:]
    return bits / 2.0**64

"""Intervals for what a fitted method does to *new* rows, from rows that it has not seen.

Rows are cross-fitted: each row is measured by a model that was fitted without it. Given the models, the measured values
of the rows of one group in one part are independent, and their mean estimates without bias what that part's model does
to new rows of the group. So the target is the average over the parts' models of a group's mean on new rows, and the
intervals are those of a mean of independent values (Bayle, Bayle, Janson and Mackey 2020 prove the asymptotic
normality of such cross-validated means for stable methods). What is estimated is the behaviour of models fitted to
all rows but one part, which is what they are for.

Three things go wrong with few rows. Squared errors have rare large values that twenty rows need not contain: the width
and the skewness of a small group's interval are then borrowed from the values of all groups, each divided by its mean.
Nor need they contain the rare rows that keep a large area under a curve from being one, so its variance is never taken
for smaller than that of a model of the ranks, at each area that is asked for (see `_rank_variance`).
And parts are not independent of each other: where a classifier hardly finds the group, its direction follows the very
rows that other parts hold out, which doubles the variance of the area under its curve (see `_dependence`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from fairpca._validation import check_number

__all__ = [
    "Interval",
    "auc_interval",
    "difference_interval",
    "gap_by_chance",
    "gap_interval",
    "mean_interval",
    "placements",
    "rate_gap_interval",
]

SMALLEST = 10  # rows of a group below which no interval is given


@dataclass(frozen=True)
class Interval:
    """An estimate with an interval, NaN where too few rows allow none.

    Attributes
    ----------
    estimate, low, high : float
        The interval holds the true value with the level asked for, approximately.
    n : int
        Rows behind it; of a comparison of groups those of the smaller one.
    """

    estimate: float
    low: float
    high: float
    n: int


def _centred(values: np.ndarray, parts: np.ndarray) -> tuple[float, float, int]:
    """Mean, its standard error and degrees of freedom, from the variation within the parts of the cross-fitting.

    Models differ between parts, and that difference is no noise of the mean of what they do.
    """
    names, where, counts = np.unique(parts, return_inverse=True, return_counts=True)
    means = np.bincount(where, weights=values) / counts
    freedom = max(len(values) - len(names), 1)
    variance = float(np.sum((values - means[where]) ** 2)) / freedom
    return float(values.mean()), float(np.sqrt(variance / len(values))), freedom


def _skewness(values: np.ndarray) -> float:
    spread = values.std()
    return float(np.mean((values - values.mean()) ** 3) / spread**3) if spread > 0 else 0.0


def _quantiles(level: float, freedom: int, skew: float, n: int) -> tuple[float, float]:
    """Quantiles of a studentised mean of skewed values: Hall's (1992) monotone cubic correction of Student's."""
    tail = (1.0 - level) / 2.0
    upper = float(stats.t.ppf(1.0 - tail, freedom))
    a = skew / np.sqrt(n)

    def corrected(t: float) -> float:
        return t if abs(a) < 1e-8 else float(3.0 / a * (np.cbrt(1.0 + a * (t - a / 6.0)) - 1.0))

    return corrected(-upper), corrected(upper)


def _ends(values: np.ndarray, parts: np.ndarray, level: float, others: Sequence[np.ndarray]) -> tuple[float, float]:
    """Distances from a group's mean down and up to the ends of its interval.

    A small group seldom contains its rarest large values, and then its own deviation and skewness are too small. If
    groups differ by scale only, the values of all of them, each divided by its group's mean, show the shape of all. So
    the upper end takes the larger deviation and skewness of the group's own and the common shape, the lower end the
    smaller skewness. With many rows, or alike shapes, both are the same.
    """
    n = len(values)
    mean, error, freedom = _centred(values, parts)
    wide, skews = error, [_skewness(values)]
    known = [v / v.mean() for v in others if len(v) >= SMALLEST and v.mean() > 0]
    if known and mean > 0:
        common = np.concatenate([values / mean, *known])
        skews.append(_skewness(common))
        wide = max(error, mean * float(common.std()) / np.sqrt(n))
    _, high = _quantiles(level, freedom, min(skews), n)
    low, _ = _quantiles(level, freedom, max(skews), n)
    return high * error, -low * wide


def mean_interval(
    values: np.ndarray, parts: np.ndarray, level: float = 0.95, *, others: Sequence[np.ndarray] = ()
) -> Interval:
    """Interval for the mean of a non-negative quantity on new rows of a group, such as the reconstruction error.

    Parameters
    ----------
    values : ndarray of shape (n,)
        What was measured of each row of the group.
    parts : ndarray of shape (n,)
        Part of the cross-fitting that each row was in.
    level : float, default=0.95
        Probability that the interval holds the mean.
    others : sequence of ndarray, optional
        The same of other groups, from which a small group borrows how far and how unevenly values spread.

    Returns
    -------
    Interval
        Squared errors are skewed, so Student's quantiles are corrected for skewness; below ten rows there is none.

    Notes
    -----
    Where columns have rare values far from all others, such as amounts of money, no sample of a few dozen rows knows
    how large errors may become; the interval then holds the mean less often than it says, and mostly ends below it.
    The study ``unseen_rows/coverage`` measures how often.
    """
    check_number("level", level, low=0.5, high=1.0, high_open=True)
    n = len(values)
    if n < SMALLEST or len(np.unique(parts)) == n:  # nothing varies within parts of one row
        return Interval(float(np.mean(values)) if n else float("nan"), float("nan"), float("nan"), n)
    mean = float(values.mean())
    down, up = _ends(values, parts, level, others)
    return Interval(mean, max(mean - down, 0.0), mean + up, n)


def difference_interval(
    first: np.ndarray,
    first_parts: np.ndarray,
    second: np.ndarray,
    second_parts: np.ndarray,
    level: float = 0.95,
    *,
    others: Sequence[np.ndarray] = (),
) -> Interval:
    """Interval for the difference of two groups' means on new rows, with its sign.

    Made from the intervals of the two means: the squares of their distances to the ends add up (Zou and Donner 2008).

    Parameters
    ----------
    first, second : ndarray of shape (n_first,) and (n_second,)
        What was measured of each row of the two groups; the difference is the first mean minus the second.
    first_parts, second_parts : ndarray of shape (n_first,) and (n_second,)
        Part of the cross-fitting that each row was in.
    level : float, default=0.95
        Probability that the interval holds the difference.
    others : sequence of ndarray, optional
        The values of further groups, as in :func:`mean_interval`.

    Returns
    -------
    Interval
        Without ends where a group has fewer than ten rows, without an estimate where one has none.
    """
    check_number("level", level, low=0.5, high=1.0, high_open=True)
    n = min(len(first), len(second))
    estimate = float(np.mean(first) - np.mean(second)) if n else float("nan")
    if n < SMALLEST:
        return Interval(estimate, float("nan"), float("nan"), n)
    down, up = _ends(first, first_parts, level, (second, *others))
    second_down, second_up = _ends(second, second_parts, level, (first, *others))
    return Interval(
        estimate, estimate - float(np.hypot(down, second_up)), estimate + float(np.hypot(up, second_down)), n
    )


def gap_interval(values: list[np.ndarray], parts: list[np.ndarray], level: float = 0.95) -> Interval:
    """Interval for the largest difference between two groups' means on new rows.

    From intervals for the differences of all pairs, each at the level ``1 - (1 - level) / pairs``: the gap is the
    largest absolute difference, so it lies between the largest lower and the largest upper end of their absolute
    values. It holds the gap at least as often as asked for, and more often where the gap is small.

    Parameters
    ----------
    values : list of ndarray of shape (n_rows_of_group,)
        What was measured of each row, a group an array.
    parts : list of ndarray of shape (n_rows_of_group,)
        Part of the cross-fitting that each row was in, in the same order.
    level : float, default=0.95
        Probability that the interval holds the gap, at least.

    Returns
    -------
    Interval
        Never negative. Without ends where a group has fewer than ten rows, and for a single group.
    """
    m = len(values)
    pairs = [(i, j) for i in range(m) for j in range(i)]
    each = 1.0 - (1.0 - level) / max(len(pairs), 1)
    found = []
    for i, j in pairs:
        others = [v for number, v in enumerate(values) if number not in (i, j)]
        found.append(difference_interval(values[i], parts[i], values[j], parts[j], each, others=others))
    known = [interval for interval in found if not np.isnan(interval.low)]
    means = [float(np.mean(v)) for v in values if len(v)]
    estimate = max(means) - min(means) if means else float("nan")
    if not known or len(known) < len(found):
        return Interval(estimate, float("nan"), float("nan"), min((len(v) for v in values), default=0))
    low = max(max(interval.low, -interval.high, 0.0) for interval in known)
    high = max(max(interval.high, -interval.low) for interval in known)
    return Interval(estimate, low, high, min(interval.n for interval in known))


def rate_gap_interval(successes: np.ndarray, totals: np.ndarray, level: float = 0.95) -> Interval:
    """Interval for the largest difference between two groups' rates, such as selection rates.

    Each rate has Wilson's interval; for each pair of groups the squares of the distances to their ends add up
    (Newcombe 1998, method 10). Pairs share ``1 - level`` as in :func:`gap_interval`, so that the interval holds the
    gap at least as often as asked for.

    Parameters
    ----------
    successes, totals : ndarray of int of shape (n_groups,)
        How many rows of each group were selected, of how many.
    level : float, default=0.95
        Probability that the interval holds the gap, at least.

    Returns
    -------
    Interval
        Never negative; `n` counts the rows of the smallest group. NaN for fewer than two groups.
    """
    check_number("level", level, low=0.5, high=1.0, high_open=True)
    if len(totals) < 2:
        return Interval(float("nan"), float("nan"), float("nan"), int(min(totals, default=0)))
    pairs = len(totals) * (len(totals) - 1) / 2
    z = float(stats.norm.ppf(1.0 - (1.0 - level) / (2.0 * pairs)))
    rates = successes / totals
    middle = (rates + z**2 / (2.0 * totals)) / (1.0 + z**2 / totals)
    half = z / (1.0 + z**2 / totals) * np.sqrt(rates * (1.0 - rates) / totals + (z / (2.0 * totals)) ** 2)
    down, up = rates - np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0) - rates
    difference = rates[:, None] - rates
    low = difference - np.hypot(down[:, None], up)
    high = difference + np.hypot(up[:, None], down)
    return Interval(float(np.ptp(rates)), max(float(low.max()), 0.0), float(high.max()), int(totals.min()))


def gap_by_chance(successes: np.ndarray, totals: np.ndarray, seed: int = 0, quantile: float = 0.95) -> float:
    """Return what the largest difference between groups' rates seldom exceeds when groups are drawn at random.

    Parameters
    ----------
    successes, totals : ndarray of int of shape (n_groups,)
        As in :func:`rate_gap_interval`; the same rows are dealt to groups of the same sizes 2000 times.
    seed : int, default=0
        Of the draws.
    quantile : float, default=0.95
        Share of the draws whose gap is at most what is returned.

    Returns
    -------
    float
    """
    if len(totals) < 2:
        return float("nan")
    rng = np.random.default_rng([seed, 6])
    drawn = rng.multivariate_hypergeometric(totals, int(np.sum(successes)), size=2000, method="marginals")
    return float(np.quantile(np.ptp(drawn / totals, axis=1), quantile))


def _dependence(standardised: float, dimensions: int) -> float:
    """Return by how much the variance of a cross-fitted area exceeds that of independent parts.

    The direction of part j's classifier follows the other parts' rows, so that parts j and l, each held out from the
    other's classifier, agree with it by chance together. For Gaussian means in many dimensions, and up to 4 % with five
    parts in one dimension, this doubles the variance where there is nothing to find. With a separation of T standard
    errors the directions only vary across it, which adds (dimensions - 1) / T² or less; 1 / (1 + T² / dimensions)
    joins both.
    """
    # What is seen without a true separation has a squared size of two standard errors.
    return 1.0 + 1.0 / (1.0 + max(standardised**2 - 2.0, 0.0) / dimensions)


def auc_interval(
    scores: np.ndarray, positive: np.ndarray, parts: np.ndarray, level: float = 0.95, *, dimensions: int = 1
) -> Interval:
    """Interval for the AUC on new rows of classifiers that were fitted without the part that they score.

    Rows are compared within their part only, since scores of different classifiers have no common scale. The
    interval holds the areas from which the one that was seen is not too far, in standard errors that belong to *them*:
    those of Hanley and McNeil's (1982) model, as Newcombe (2006) recommends near one, where few rows or none are lost
    and their variation says little. They are widened by what the rows' shares of won comparisons vary more than the
    model says (DeLong, DeLong and Clarke-Pearson 1988), and for the dependence between the parts.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        The higher, the likelier the row is positive.
    positive : ndarray of bool of shape (n,)
        The truth.
    parts : ndarray of shape (n,)
        Part of the cross-fitting of each row.
    level : float, default=0.95
        Probability that the interval holds the AUC.
    dimensions : int, default=1
        Number of features of the classifiers, in which their direction can vary.

    Returns
    -------
    Interval
        `n` counts the rows of the smaller class. Without ends where it has fewer than ten, without an estimate
        where no part holds rows of both classes.
    """
    check_number("level", level, low=0.5, high=1.0, high_open=True)
    wins: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    areas, weights = [], []
    for part in np.unique(parts):
        a, b = scores[(parts == part) & positive], scores[(parts == part) & ~positive]
        if not len(a) or not len(b):
            continue
        areas.append(placements(a, b).mean())
        weights.append(len(a) + len(b))
        wins[0].append(placements(a, b) - areas[-1])
        wins[1].append(1.0 - placements(b, a) - areas[-1])
    n = int(min(positive.sum(), (~positive).sum()))
    if not areas:
        return Interval(float("nan"), float("nan"), float("nan"), n)
    area = float(np.average(areas, weights=weights))
    if n < SMALLEST:
        return Interval(area, float("nan"), float("nan"), n)
    pieces = []
    for side in wins:
        all_of_it = np.concatenate(side)
        free = max(len(all_of_it) - len(side), 1)
        pieces.append((float(np.sum(all_of_it**2)) / free / len(all_of_it), free))
    variance = sum(v for v, _ in pieces)
    freedom = variance**2 / max(sum(v**2 / f for v, f in pieces), 1e-300)
    freedom = max(freedom, min(f for _, f in pieces))
    # What is lost by rare rows is not in every sample: at least the variance that a model of the ranks has.
    sizes = int(positive.sum()), int((~positive).sum())
    modelled = _rank_variance(area, *sizes)
    surplus = max(variance / modelled, 1.0) if modelled > 0 else 1.0
    if len(areas) > 1:
        surplus *= _dependence((area - 0.5) / np.sqrt(max(variance, modelled, 1e-300)), dimensions)
    reach = float(stats.t.ppf(0.5 + level / 2.0, freedom)) * np.sqrt(surplus)

    def beyond(true: float) -> float:
        """Tell by how much a true area is too far from the one that was seen."""
        return abs(area - true) - reach * float(np.sqrt(_rank_variance(true, *sizes)))

    inside = float(np.clip(area, 1e-9, 1.0 - 1e-9))  # at the very ends the model has no variance
    low = 0.0 if area <= 0.0 else optimize.brentq(beyond, 0.0, inside)
    high = 1.0 if area >= 1.0 else optimize.brentq(beyond, inside, 1.0)
    return Interval(area, float(min(low, area)), float(max(high, area)), n)


def _rank_variance(area: float, n_first: int, n_second: int) -> float:
    """Variance of an area under Hanley and McNeil's (1982) model, with Newcombe's (2006) mean of the two sizes."""
    size = (n_first + n_second) / 2.0 - 1.0
    shares = 1.0 + size * (1.0 - area) / (2.0 - area) + size * area / (1.0 + area)
    return max(area * (1.0 - area) * shares / (n_first * n_second), 0.0)


def placements(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Share of `b` that each of `a` exceeds; ties count half."""
    ordered = np.sort(b)
    below, up_to = np.searchsorted(ordered, a, "left"), np.searchsorted(ordered, a, "right")
    return np.asarray((below + up_to) / (2.0 * len(b)))

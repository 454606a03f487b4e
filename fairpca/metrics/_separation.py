"""How well a linear classifier tells the groups apart: Delta F_Lin of Olfat & Aswani, as in Vu et al. (2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, get_args

import numpy as np

from fairpca._options import Protocol
from fairpca._validation import check_choice, check_rows, encode_groups, shown_labels
from fairpca.metrics._checks import two_groups
from fairpca.metrics._linear_svm import linear_svm
from fairpca.solvers.spectral.units import unit_of

__all__ = ["COSTS", "LinearSeparation", "delta_f_lin", "ks_separation"]

COSTS = (1e-4, 1e-2, 1.0, 1e2, 1e4)


def ks_separation(scores: Any, sensitive_features: Any) -> float:
    """Return ``max_t |P(score > t | one group) - P(score > t | other)|``, the Kolmogorov-Smirnov distance.

    This is the supremum over thresholds in Definition 6 and equation (3) of Lee et al. (2022) for one score.

    Parameters
    ----------
    scores : array-like of shape (n_samples,)
        One real number a row; equal scores share a threshold.
    sensitive_features : array-like of shape (n_samples,)
        Group of each row; with more than two groups the largest distance over pairs is returned.

    Returns
    -------
    float
        Between 0 (equal distributions) and 1 (a threshold separates two groups).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.standard_normal((200, 2))
    >>> groups = np.repeat(['a', 'b'], 100)
    >>> Z[groups == 'b', 0] += 1
    >>> from fairpca.metrics import ks_separation
    >>> ks_separation(Z[:, 0], groups)
    0.37
    """
    values = np.asarray(scores, dtype=np.float64).ravel()
    if not np.all(np.isfinite(values)):
        raise ValueError("scores contain NaN or infinite values; clean them first.")
    groups = encode_groups(sensitive_features, values.size)
    if len(groups.labels) < 2:
        raise ValueError(f"sensitive_features has a single group ({groups.labels[0]!r}); give at least two.")
    points, where = np.unique(values, return_inverse=True)
    table = np.zeros((len(groups.labels), points.size))
    np.add.at(table, (groups.codes, where), 1.0)
    cumulative = np.cumsum(table, axis=1) / groups.counts[:, None]
    return float(np.max(cumulative.max(axis=0) - cumulative.min(axis=0)))


@dataclass(frozen=True)
class LinearSeparation:
    """Delta F_Lin with how it came about.

    Attributes
    ----------
    value : float
        Kolmogorov-Smirnov distance of the classifier's scores between the groups.
    degenerate : bool
        True if the exact solution of the chosen classifier is w = 0. Under "printed" the value is then the
        separation along what rounding left of w, which is not a measurable quantity; under "stated" it is 0.
    cost : float
        Chosen weight of the hinge losses.
    weights : ndarray of shape (k,)
        Normal of the classifier, in standardised coordinates.
    cross_validation : ndarray of shape (n_costs,)
        Sum over folds of the held-out separation, for each cost; the largest wins, the first in a tie.
    """

    value: float
    degenerate: bool
    cost: float
    weights: np.ndarray
    cross_validation: np.ndarray


def delta_f_lin(
    Z_test: Any,
    groups_test: Any,
    Z_train: Any = None,
    groups_train: Any = None,
    *,
    protocol: Protocol = "stated",
    balanced: bool = True,
    costs: Sequence[float] = COSTS,
    n_folds: int = 5,
    random_state: Any = None,
) -> LinearSeparation:
    """Return how well a linear support vector machine on projected data tells two groups apart.

    Parameters
    ----------
    Z_test : array-like of shape (n_test, k)
        Projected test part.
    groups_test : array-like of shape (n_test,)
        Its groups, exactly two.
    Z_train, groups_train : array-like
        Projected training part and its groups; needed by "stated".
    protocol : {"stated", "printed"}, default="stated"
        "stated": coordinates standardised, cost chosen and machine fitted on the training part, scored on the
        test part; a machine with w = 0 separates nothing and counts 0. "printed": as the program behind Table 4
        of Vu et al. (2022), everything on the test part itself, and w = 0 scored like any other.
    balanced : bool, default=True
        Whether both groups weigh the same in the loss. Without it an unbalanced pair of groups often makes w = 0
        optimal. "printed" never balances.
    costs : sequence of float
        Weights of the hinge losses to choose from.
    n_folds : int, default=5
        Folds of the cross-validation, by one shuffle of the rows.
    random_state : int, RandomState, Generator or None
        Source of that shuffle. The authors' program draws it from NumPy's global legacy stream: pass a
        ``RandomState`` in the state that the stream would have.

    Returns
    -------
    LinearSeparation

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.standard_normal((200, 2))
    >>> groups = np.repeat(['a', 'b'], 100)
    >>> Z[groups == 'b', 0] += 1
    >>> from fairpca.metrics import delta_f_lin
    >>> test = np.arange(200) % 2 == 0
    >>> found = delta_f_lin(Z[test], groups[test], Z[~test], groups[~test])
    >>> round(found.value, 3)
    0.4
    """
    check_choice("protocol", protocol, get_args(Protocol))
    test = check_rows(Z_test, "Z_test")
    labels = two_groups(groups_test, len(test), "Delta F_Lin")
    if protocol == "printed":
        fit_rows, fit_labels, balanced = test, labels, False
    else:
        if Z_train is None or groups_train is None:
            raise ValueError('protocol="stated" fits on the training part: give Z_train and groups_train.')
        fit_rows = check_rows(Z_train, "Z_train")
        fit_labels = two_groups(groups_train, len(fit_rows), "Delta F_Lin")
        if fit_labels.labels != labels.labels:
            raise ValueError(
                f"training and test groups differ: {shown_labels(fit_labels.labels)} and {shown_labels(labels.labels)}."
            )
    units = np.array([unit_of(column) for column in fit_rows.T])  # squares of extraordinary numbers are none
    fit_rows, test = fit_rows * units, test * units
    mean, scale = fit_rows.mean(axis=0), fit_rows.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    fit_rows, test = (fit_rows - mean) / scale, (test - mean) / scale
    y = fit_labels.codes == 1
    degenerate_counts = protocol == "printed"

    order = np.arange(len(y))
    _stream(random_state).shuffle(order)
    edges = [int(i * len(y) / n_folds) for i in range(n_folds + 1)]
    folds = [order[a:b] for a, b in pairwise(edges)]
    totals = np.zeros(len(costs))
    for c, cost in enumerate(costs):
        for fold in folds:
            rest = np.ones(len(y), dtype=bool)
            rest[fold] = False
            if len(np.unique(y[fold])) < 2 or len(np.unique(y[rest])) < 2:
                continue  # a fold with one group only says nothing about separation
            machine = linear_svm(fit_rows[rest], y[rest], cost, balanced=balanced)
            if degenerate_counts or not machine.degenerate:
                totals[c] += ks_separation(fit_rows[fold] @ machine.weights, y[fold])
    chosen = int(np.argmax(totals))
    machine = linear_svm(fit_rows, y, costs[chosen], balanced=balanced)
    value = 0.0
    if degenerate_counts or not machine.degenerate:
        value = ks_separation(test @ machine.weights, labels.codes)
    return LinearSeparation(value, machine.degenerate, float(costs[chosen]), machine.weights, totals)


def _stream(random_state: Any) -> Any:
    """Return a generator with ``shuffle``; seeds mean the legacy stream, as in the program that is reproduced."""
    if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        return random_state
    return np.random.RandomState(random_state)

"""From moments to what a code must not see: groups, each sensitive column by itself, numbers, positives only."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from fairpca._moments import GroupMoments
from fairpca._validation import Groups, check_rows, check_rows_match, encode_groups, few_groups, shown_labels
from fairpca.solvers.erasure import CrossMoments, Directions, cross_moments, directions_of
from fairpca.wide import WideRows

__all__ = [
    "Columns",
    "Compared",
    "Fairness",
    "Sensitive",
    "coarsened",
    "compared_groups",
    "compared_numbers",
    "compared_wide",
    "distinct_groups",
    "group_shifts",
    "joint_moments",
    "positions_of",
    "regression_on_numbers",
    "with_outcome",
    "without_columns",
]

Fairness = Literal["dp", "eop"]
Columns = Literal["combined", "each"]
Sensitive = Literal["groups", "numeric"]


@dataclass(frozen=True)
class Compared:
    """What must not be seen, and the groups that are compared: for each partition of the rows their new labels."""

    cross: CrossMoments
    groups: GroupMoments | None = None
    partitions: tuple[list[Any], ...] = ()

    def matched(self, ddof: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Covariances (with n - ddof) and shares of the groups of each partition."""
        assert self.groups is not None, "there are no groups to match"
        parts = [coarsened(self.groups, labels) for labels in self.partitions]
        return [(part.covariances(ddof), part.weights) for part in parts]


def with_outcome(sensitive_features: Any, y: Any, n_samples: int) -> Groups:
    """Combine groups and outcome: labels are tuples whose last value is the outcome."""
    groups = few_groups(sensitive_features, n_samples, whole=False)
    if y is None:
        raise ValueError('fairness="eop" compares rows with a positive outcome; pass the outcome as y.')
    check_rows_match("y", len(y), n_samples)
    outcomes = encode_groups(y, n_samples)
    if len(outcomes.labels) > 2:
        raise ValueError(
            f'fairness="eop" needs an outcome with two values; y has {len(outcomes.labels)} '
            f"({shown_labels(outcomes.labels)}). Code it as 0 and 1; the larger counts as positive."
        )
    present, codes = np.unique(groups.codes * 2 + outcomes.codes, return_inverse=True)  # a batch may lack some
    labels = tuple((*_parts(groups.labels[code // 2]), outcomes.labels[code % 2]) for code in present)
    return Groups(labels, codes.astype(np.int64))


def joint_moments(
    X: np.ndarray,
    sensitive: Any,
    y: Any,
    fairness: Fairness,
    *,
    names: Sequence[str] | None = None,
    sample_weight: Any = None,
) -> tuple[GroupMoments, tuple[int, ...]]:
    """Moments of the features with the numeric sensitive columns behind them, whose positions are returned too."""
    try:
        columns = np.asarray(sensitive, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f'sensitive="numeric" needs numbers in sensitive_features: {error}. Use sensitive="groups" for names.'
        ) from None
    columns = check_rows(columns[:, None] if columns.ndim == 1 else columns, "sensitive_features")
    n, p = X.shape
    check_rows_match("sensitive_features", len(columns), n)
    everyone = Groups(("all",), np.zeros(n, dtype=np.int64))
    groups = with_outcome(everyone, y, n) if fairness == "eop" else everyone
    moments = GroupMoments.from_data(np.column_stack((X, columns)), groups, sample_weight=sample_weight)
    if names is not None:
        given = list(getattr(sensitive, "columns", [getattr(sensitive, "name", None)]))
        if len(given) != columns.shape[1] or None in given:
            given = [f"sensitive{j}" for j in range(columns.shape[1])]
        moments = replace(moments, feature_names=(*map(str, names), *map(str, given)))
    return moments, tuple(range(p, p + columns.shape[1]))


def positions_of(moments: GroupMoments, sensitive: Any) -> tuple[int, ...]:
    """Positions of the columns of `moments` that are named, or counted, as sensitive."""
    names = moments.feature_names or ()
    if sensitive is None or isinstance(sensitive, (str, int, np.integer)):
        sensitive = [] if sensitive is None else [sensitive]
    found = []
    for item in sensitive:
        at = names.index(item) if isinstance(item, str) and item in names else item
        if not isinstance(at, (int, np.integer)) or isinstance(at, bool) or not 0 <= at < moments.n_features:
            known = ", ".join(names[:20]) if names else f"0 to {moments.n_features - 1}"
            raise ValueError(f"sensitive_features names {item!r}; the moments have the columns {known}.")
        found.append(int(at))
    if not found or len(set(found)) == moments.n_features:
        raise ValueError(
            'sensitive="numeric" with moments needs to know which of their columns are sensitive, and some that are '
            'not; for instance fit(moments, sensitive_features=["age"]).'
        )
    return tuple(sorted(set(found)))


def distinct_groups(labels: Sequence[Any]) -> tuple[Any, ...]:
    """Group labels without the outcome behind them."""
    found = dict.fromkeys(label[0] if len(label) == 2 else label[:-1] for label in labels)
    return tuple(found)


def compared_groups(moments: GroupMoments, columns: Columns, fairness: Fairness) -> Compared:
    """Say which groups are compared, and the covariances of the features with belonging to them."""
    compared = _positives(moments) if fairness == "eop" else moments
    partitions = tuple(_partitions(compared.labels, columns))
    found = cross_moments(moments.covariance(), *_memberships(compared, partitions), np.abs(moments.means).max(axis=0))
    return Compared(found, compared, partitions)


def compared_wide(rows: WideRows, columns: Columns) -> Directions:
    """As :func:`compared_groups`, for rows of which no moments are known."""
    partitions = _partitions(rows.labels, columns)
    return directions_of(rows.variances, *_memberships(rows, partitions), np.abs(rows.means).max(axis=0))


def _partitions(labels: Sequence[Any], columns: Columns) -> list[list[Any]]:
    """New labels of the groups: those they have, or for each sensitive column its values."""
    width = len(_parts(labels[0]))
    if columns == "combined" or width == 1:
        return [list(labels)]
    return [[label[j] for label in labels] for j in range(width)]


def _memberships(groups: GroupMoments | WideRows, partitions: Sequence[list[Any]]) -> tuple[np.ndarray, np.ndarray]:
    """Covariances of the features with membership in the united groups, and its standard deviations."""
    members = np.hstack([_united(labels)[1] for labels in partitions])
    share = groups.weights @ members
    cross = (groups.means - groups.mean).T @ (members * groups.weights[:, None])
    return cross, np.sqrt(share * (1.0 - share))


def _united(labels: Sequence[Any]) -> tuple[Groups, np.ndarray]:
    """Groups with one label united, and who belongs to which: shape (n_groups, n_united)."""
    united = encode_groups(list(labels))
    return united, np.eye(len(united.labels))[united.codes]


def compared_numbers(moments: GroupMoments, sensitive: Sequence[int], fairness: Fairness) -> Compared:
    """Covariances of the features with numeric columns of the same moments."""
    chosen, rest = _split(moments, sensitive)
    compared = _positives(moments) if fairness == "eop" else moments
    covariance, offset = compared.covariance(), np.abs(moments.means).max(axis=0)
    spread = np.sqrt(np.diagonal(covariance)[chosen])
    spread = np.where(spread > 1e-12 * offset[chosen], spread, 0.0)
    if not spread.any():
        warnings.warn(
            "the sensitive numbers are the same in all rows, so there is nothing to match: the result is ordinary PCA. "
            "Check the column(s).",
            UserWarning,
            stacklevel=2,
        )
    cross = covariance[np.ix_(rest, chosen)]
    return Compared(cross_moments(moments.covariance()[np.ix_(rest, rest)], cross, spread, offset[rest]))


def without_columns(moments: GroupMoments, sensitive: Sequence[int]) -> GroupMoments:
    """Moments of the features, without columns that are sensitive."""
    if not len(sensitive):
        return moments
    rest = _split(moments, sensitive)[1]
    names = None if moments.feature_names is None else tuple(moments.feature_names[j] for j in rest)
    scatters = moments.scatters[:, rest][:, :, rest]
    return replace(moments, means=moments.means[:, rest], scatters=scatters, feature_names=names)


def _split(moments: GroupMoments, sensitive: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    chosen = np.asarray(sensitive, dtype=np.int64)
    return chosen, np.setdiff1d(np.arange(moments.n_features), chosen)


def coarsened(moments: GroupMoments, labels: Sequence[Any]) -> GroupMoments:
    """Unite groups that get the same label."""
    united, members = _united(labels)
    member = members.T
    counts = member @ moments.counts
    means = (member * moments.counts) @ moments.means / counts[:, None]
    shift = moments.means - means[united.codes]
    spread = np.einsum("gk,k,ki,kj->gij", member, moments.counts, shift, shift, optimize=True)
    scatters = np.tensordot(member, moments.scatters, axes=1) + spread
    counts = np.rint(counts).astype(moments.counts.dtype) if moments.counts.dtype.kind == "i" else counts
    return replace(moments, labels=united.labels, counts=counts, means=means, scatters=scatters)


def regression_on_numbers(moments: GroupMoments, sensitive: Sequence[int]) -> np.ndarray:
    """Coefficients of the features in their regression on the sensitive columns, shape (n_sensitive, n_features)."""
    chosen, rest = _split(moments, sensitive)
    covariance = moments.covariance()
    return _regression(covariance[np.ix_(chosen, chosen)], covariance[np.ix_(chosen, rest)])


def _regression(covariance: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """Least-squares coefficients of the features on sensitive variables, which may depend on each other.

    Parameters
    ----------
    covariance : ndarray of shape (q, q)
        Of the sensitive variables.
    cross : ndarray of shape (q, p)
        Of the sensitive variables with the features.
    """
    deviations = np.sqrt(np.clip(np.diagonal(covariance), 0.0, None))
    inverse = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0)
    correlation = inverse[:, None] * covariance * inverse
    return inverse[:, None] * (np.linalg.pinv(correlation, rcond=1e-12, hermitian=True) @ (inverse[:, None] * cross))


def group_shifts(moments: GroupMoments, columns: Columns) -> np.ndarray:
    """What membership says about the mean of each group: the regression of the features on it."""
    members = np.hstack([_united(labels)[1] for labels in _partitions(moments.labels, columns)])
    members = members - moments.weights @ members
    weighted = members.T * moments.weights
    return members @ _regression(weighted @ members, weighted @ (moments.means - moments.mean))


def _parts(label: Any) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)


def _positives(moments: GroupMoments) -> GroupMoments:
    """Moments of the rows whose outcome, the last part of the labels, is the larger of two values."""
    if not all(isinstance(label, tuple) for label in moments.labels):
        raise ValueError(
            'fairness="eop" needs moments of groups and outcome together: make them with the outcome as the last '
            "column of sensitive_features, for instance frame[['sex', 'approved']]."
        )
    outcomes = encode_groups([label[-1] for label in moments.labels]).labels
    if len(outcomes) != 2:
        raise ValueError(
            f'fairness="eop" needs an outcome with two values; the last part of the labels has {len(outcomes)}: '
            f"{shown_labels(outcomes)}."
        )
    chosen = [i for i, label in enumerate(moments.labels) if label[-1] == outcomes[1]]
    labels = tuple(label[0] if len(label) == 2 else label[:-1] for label in (moments.labels[i] for i in chosen))
    everyone = {label[:-1] for label in moments.labels}
    without = everyone - {moments.labels[i][:-1] for i in chosen}
    if without:
        shown = shown_labels(label[0] if len(label) == 1 else label for label in sorted(without, key=repr))
        warnings.warn(
            f"group(s) {shown} have no row with outcome {outcomes[1]!r}, so nothing is matched for them; "
            "merge them with another group or drop them.",
            UserWarning,
            stacklevel=2,
        )
    return replace(
        moments,
        labels=labels,
        counts=moments.counts[chosen],
        means=moments.means[chosen],
        scatters=moments.scatters[chosen],
    )

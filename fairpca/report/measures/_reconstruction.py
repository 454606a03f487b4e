"""What is kept, and what each group loses, on rows that the method has not seen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairpca.report.measures._code import Decoder, LinearCode
from fairpca.report.measures._yardstick import Yardstick

__all__ = ["losses", "optimality_gaps", "reconstruction"]


def _over_groups(name: str, values: np.ndarray, labels: tuple) -> dict[str, float]:
    table = {f"{name}:{label}": float(value) for label, value in zip(labels, values, strict=True)}
    return table | {f"worst_{name}": float(values.max()), f"{name}_gap": float(np.ptp(values))}


def reconstruction(
    yard: Yardstick, Z_train: np.ndarray, Z_test: np.ndarray, own: Callable[[np.ndarray], np.ndarray] | None = None
) -> dict[str, float]:
    """Return the variance that the best linear decoder gives back, and the groups' errors.

    The decoder is learnt from the training rows of all groups, whatever the method's own inverse is: it is what the
    representation tells linearly about the row. The exception is `own`, of a method that codes more dimensions than
    it was asked for. Errors are shares (%) of the training rows' total variance, and differences of means that a
    method removes count as error.
    """
    test, decoder = yard.test, own or Decoder(Z_train, yard.train.X)
    squares = np.sum((test.X - decoder(Z_test)) ** 2, axis=1)
    total = np.sum((test.X - yard.train.X.mean(axis=0)) ** 2)
    errors = 100.0 * (test.indicators.T @ squares) / test.groups.counts / yard.total
    kept = {"variance": float(100.0 * (1.0 - squares.sum() / total))}
    return kept | _over_groups("error", errors, test.groups.labels)


def losses(yard: Yardstick, code: LinearCode | None) -> dict[str, float]:
    """Return the groups' losses: Definition 4.3 of Samadi et al. (2018) over the group size, on held-out rows.

    Rows are centred by their group's mean over the training rows; the group's own best subspace is learnt from its
    training rows too, so that a loss on held-out rows may be a little below zero.
    """
    if code is None:
        return {}
    left = np.eye(len(code.P)) - code.P
    errors = np.einsum("gij,ij->g", yard.test_moments, left.T @ left)
    return _over_groups("loss", 100.0 * (errors - yard.own_errors) / yard.total, yard.test.groups.labels)


def optimality_gaps(yard: Yardstick, code: LinearCode | None) -> dict[str, float]:
    """Return how far a method is from the optimum of each certified objective, in points of the total variance.

    Also what share of the difference of the groups' training means is left in its subspace (``mean_gap``, the largest
    over pairs of groups with the first one).
    """
    if code is None:
        return {}
    found = {
        f"gap:{name}": 100.0 * (criterion.value(code.P) - criterion.bound) / yard.total
        for name, criterion in yard.criteria.items()
    }
    differences = yard.train.moments.means[1:] - yard.train.moments.means[0]
    lengths = np.linalg.norm(differences, axis=1)
    if np.all(lengths > 0):
        found["mean_gap"] = 100.0 * float(np.max(np.linalg.norm(differences @ code.V, axis=1) / lengths))
    return found

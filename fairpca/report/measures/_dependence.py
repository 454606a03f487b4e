"""What a representation still tells about the group, on rows that the method has not seen."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import solve
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from fairpca.report.measures._yardstick import Yardstick

__all__ = ["area_under_curve", "mmd", "recovery", "scaled"]

_WIDTHS = (0.5, 1.0, 2.0)  # of the kernel probe, in medians of the distance
_RIDGE = 1e-3  # of the kernel probe, times the number of rows


def scaled(Z: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and deviation 1, by the rows `like`; constant ones become 0."""
    deviation = like.std(axis=0)
    varies = deviation > 1e-10 * max(float(deviation.max(initial=0.0)), 1e-300)
    return np.where(varies, (Z - like.mean(axis=0)) / np.where(varies, deviation, 1.0), 0.0)


def area_under_curve(scores: np.ndarray, positive: np.ndarray) -> float:
    """Return P(score of a positive > score of another) + half the ties (Mann and Whitney), NaN for one class."""
    n1 = int(positive.sum())
    n0 = len(positive) - n1
    if not n1 or not n0:
        return float("nan")
    ordered, place = np.unique(scores, return_inverse=True)
    counts = np.bincount(place, minlength=len(ordered))
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[place]  # ties share the mean of their ranks
    return float((ranks[positive].sum() - n1 * (n1 + 1) / 2.0) / (n1 * n0))


def mmd(yard: Yardstick, Z: np.ndarray) -> dict[str, float]:
    """Return MMD² between the groups (largest pair) with its distribution under permuted groups.

    The biased estimate with a Gaussian kernel whose width is the representation's own median distance (over all
    groups), so that shrinking a representation is no way to a small MMD². One kernel matrix, of at most
    ``Settings.kernel_rows`` rows, serves all permutations.
    """
    rows = yard.kernel_rows
    K = _kernel(Z[rows])
    values = _largest_mmd(K, yard.test.indicators[rows][:, None, :])[0]
    found = {"mmd2": float(values)}
    if len(yard.permutations):
        members = yard.test.indicators[rows][yard.permutations.T]  # rows × permutations × groups
        null = _largest_mmd(K, members)
        found["mmd2_chance"] = float(np.quantile(null, 0.95))
        found["mmd2_p"] = float((1 + np.sum(null >= values - 1e-12)) / (1 + len(null)))
    return found


def _kernel(Z: np.ndarray) -> np.ndarray:
    squares = cdist(Z, Z, "sqeuclidean")
    median = float(np.median(squares[np.triu_indices(len(Z), 1)]))
    return np.exp(squares / (-2.0 * median if median > 0 else -1.0))


def _largest_mmd(K: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return, for each labelling (rows × labellings × groups), the largest MMD² of two groups."""
    n, labellings, groups = members.shape
    weights = members / np.maximum(members.sum(axis=0), 1.0)
    products = (K @ weights.reshape(n, -1)).reshape(n, labellings, groups)
    inner = np.einsum("nlg,nlh->lgh", weights, products, optimize=True)
    own = np.einsum("lgg->lg", inner)
    distances = own[:, :, None] + own[:, None, :] - 2.0 * inner
    return np.maximum(distances.reshape(labellings, -1).max(axis=1), 0.0)


def recovery(yard: Yardstick, Z: np.ndarray) -> dict[str, float]:
    """Return how well the group can be guessed: AUC of a linear and of a kernel classifier, cross-fitted.

    Both learn from a part of the held-out rows and are judged on the rest, so that what a method has balanced on its
    training rows is not taken for what it balances. With more than two groups each is told from all others, and the
    mean is returned. The kernel classifier is ridge regression on a Gaussian kernel; of three widths
    the largest AUC is returned, which leans to the side of finding the group.
    """
    rows = yard.kernel_rows
    Z, codes = scaled(Z[rows], Z[rows]), yard.test.groups.codes[rows]
    wanted = [g for g in range(len(yard.test.groups.labels)) if np.sum(codes == g) >= 2]
    wanted = wanted[1:] if len(wanted) == 2 else wanted
    targets = np.column_stack([codes == g for g in wanted])
    linear = _linear_scores(Z, targets, yard.folds)
    kernels = _kernel_scores(Z, targets, yard.folds)
    columns = range(len(wanted))
    by_kernel = [np.mean([area_under_curve(s[:, j], targets[:, j]) for j in columns]) for s in kernels]
    return {
        "linear_auc": float(np.mean([area_under_curve(linear[:, j], targets[:, j]) for j in columns])),
        "kernel_auc": float(max(by_kernel)),
    }


def _linear_scores(Z: np.ndarray, targets: np.ndarray, folds: np.ndarray) -> np.ndarray:
    scores = np.zeros(targets.shape)
    for fold in range(folds.max() + 1):
        held = folds == fold
        for j in range(targets.shape[1]):
            known = targets[~held, j]
            if known.all() or not known.any():
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                probe = LogisticRegression(C=1.0, class_weight="balanced", max_iter=200).fit(Z[~held], known)
            scores[held, j] = probe.decision_function(Z[held])
    return scores


def _kernel_scores(Z: np.ndarray, targets: np.ndarray, folds: np.ndarray) -> list[np.ndarray]:
    """Return scores for each width of the kernel."""
    squares = cdist(Z, Z, "sqeuclidean")
    median = float(np.median(squares[np.triu_indices(len(Z), 1)]))
    found = []
    for width in _WIDTHS:
        K = np.exp(squares / (-2.0 * width**2 * (median if median > 0 else 1.0)))
        scores = np.zeros(targets.shape)
        for fold in range(folds.max() + 1):
            held = folds == fold
            learnt = targets[~held].astype(np.float64)
            system = K[np.ix_(~held, ~held)] + _RIDGE * len(learnt) * np.eye(len(learnt))
            coefficients = solve(system, learnt - learnt.mean(axis=0), assume_a="pos", check_finite=False)
            scores[held] = K[np.ix_(held, ~held)] @ coefficients
        found.append(scores)
    return found

"""Soft-margin linear support vector machine in few dimensions by a primal-dual interior point method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpca._validation import check_number, check_rows
from fairpca.solvers.spectral.units import unit_of

_ORDINARY = 2.0**10  # rows whose largest number lies between this and its reciprocal are taken as they are
_LARGEST_UNIT = 2.0**500  # its square is a number
_LEAST_RIDGE = 1e-16  # a smaller one is rounding beside the losses
_NO_RIDGE = 1e-300

__all__ = ["LinearSVM", "linear_svm"]


@dataclass(frozen=True)
class LinearSVM:
    """A fitted linear machine with its certificate.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        Normal of the separating plane.
    intercept : float
        Free intercept.
    objective, lower_bound : float
        Value of the primal problem at the solution, and of a dual feasible point (strong duality bounds). Where rows
        are so large that the norm of the weights is rounding beside the losses, no dual point proves more than 0.
    gap : float
        ``(objective - lower_bound) / objective``.
    degenerate : bool
        True if the exact solution has zero weights, that is if no direction separates better than a constant
        prediction; `weights` then hold rounding only.
    n_iter : int
        Newton steps.
    """

    weights: np.ndarray
    intercept: float
    objective: float
    lower_bound: float
    gap: float
    degenerate: bool
    n_iter: int


def linear_svm(
    Z: Any, y: Any, cost: float = 1.0, *, balanced: bool = False, tol: float = 1e-11, max_iter: int = 100
) -> LinearSVM:
    """Minimise ``|w|^2 / 2 + cost * sum_i c_i max(0, 1 - y_i (w'z_i + b))`` over w and b.

    Mehrotra's predictor-corrector method; a step costs O(n k²), the solution is accurate to `tol` whatever the
    cost, and the intercept is free (a coordinate method with a penalised intercept solves another problem).

    Parameters
    ----------
    Z : array-like of shape (n_samples, k)
        Points.
    y : array-like of shape (n_samples,)
        Classes, 0 and 1 (False and True); both must occur.
    cost : float, default=1.0
        Weight of the hinge losses.
    balanced : bool, default=False
        Whether c_i is n / (2 n_class) instead of 1, so that both classes weigh the same.
    tol : float, default=1e-11
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Limit on the steps; about 20 are usual.

    Returns
    -------
    LinearSVM

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.standard_normal((200, 2))
    >>> groups = np.repeat(['a', 'b'], 100)
    >>> Z[groups == 'b', 0] += 1
    >>> from fairpca.metrics import linear_svm
    >>> machine = linear_svm(Z, groups == 'b')
    >>> machine.weights.round(3).tolist()
    [0.952, -0.224]
    >>> machine.gap < 1e-8
    True
    """
    rows = check_rows(Z, "Z")
    check_number("cost", cost, low=0, low_open=True)
    positive = np.asarray(y).ravel().astype(bool)
    if positive.size != len(rows) or positive.all() or not positive.any():
        raise ValueError("y must give each row one of two classes, 0 and 1, and both must occur.")
    n = len(rows)
    upper = np.full(n, float(cost))
    if balanced:
        upper *= np.where(positive, n / (2.0 * positive.sum()), n / (2.0 * (n - positive.sum())))
    return _interior_point(rows, np.where(positive, 1.0, -1.0), upper, tol, max_iter)


def _interior_point(Z: np.ndarray, sign: np.ndarray, upper: np.ndarray, tol: float, max_iter: int) -> LinearSVM:
    """Solve with slacks s of the margins, hinge losses xi and their multipliers alpha and beta = upper - alpha.

    Extraordinary rows are multiplied by a unit; the squared norm of the weights then counts its square.
    """
    n, k = Z.shape
    ordinary = 1.0 / _ORDINARY <= float(np.abs(Z).max()) <= _ORDINARY
    unit = 1.0 if ordinary else unit_of(Z)
    unit = min(unit, _LARGEST_UNIT)
    Z = Z * unit
    norm_counts = max(unit * unit, _NO_RIDGE)
    solved_with = max(norm_counts, _LEAST_RIDGE)
    A = np.column_stack((Z * sign[:, None], sign))
    ridge = np.diag(np.r_[np.full(k, solved_with), 0.0])
    v = np.zeros(k + 1)
    # Balanced start: multipliers in the middle of their interval and orthogonal to the labels.
    n_positive = int((sign > 0).sum())
    share = np.where(sign > 0, (n - n_positive) / n, n_positive / n)
    alpha = np.clip(share, 0.05, 0.95) * upper
    beta = upper - alpha
    s = np.ones(n)
    xi = np.ones(n)
    best = LinearSVM(v[:k].copy(), 0.0, np.inf, 0.0, np.inf, True, 0)
    for iteration in range(max_iter + 1):
        objective, intercept = _primal(A, v, k, upper, norm_counts)
        bound = max(_dual(A, alpha, upper, sign, k, norm_counts), best.lower_bound)
        gap = (objective - bound) / objective  # both classes occur, so the objective is positive
        degenerate = bool(np.linalg.norm(v[:k] * solved_with) < 1e-6 * min(solved_with, float(upper.sum())))
        best = LinearSVM(v[:k] * unit, intercept, objective, bound, gap, degenerate, iteration)
        if gap <= tol or iteration == max_iter:
            break
        r_v = ridge @ v - A.T @ alpha
        r_c = A @ v - 1.0 + xi - s
        mu = float(s @ alpha + xi @ beta) / (2 * n)
        D = 1.0 / (s / alpha + xi / beta)
        normal = ridge + A.T @ (A * D[:, None])

        def direction(r1: np.ndarray, r2: np.ndarray) -> tuple[np.ndarray, ...]:
            q = r1 / alpha - r2 / beta - r_c  # noqa: B023 - called before the loop moves on
            dv = np.linalg.solve(normal, A.T @ (D * q) - r_v)  # noqa: B023
            da = D * (q - A @ dv)  # noqa: B023
            return dv, da, -da, (r1 - s * da) / alpha, (r2 + xi * da) / beta  # noqa: B023

        try:
            dv, da, db, ds, dx = direction(-s * alpha, -xi * beta)
        except np.linalg.LinAlgError:  # D has underflowed: no more accuracy is to be had, the gap says how much is
            break
        step = min(_longest(s, ds), _longest(xi, dx), _longest(alpha, da), _longest(beta, db))
        ahead = float((s + step * ds) @ (alpha + step * da) + (xi + step * dx) @ (beta + step * db)) / (2 * n)
        centre = (ahead / mu) ** 3 * mu
        dv, da, db, ds, dx = direction(centre - s * alpha - ds * da, centre - xi * beta - dx * db)
        primal = min(1.0, 0.995 * min(_longest(s, ds), _longest(xi, dx)))
        dual = min(1.0, 0.995 * min(_longest(alpha, da), _longest(beta, db)))
        step = min(primal, dual)  # the objective is quadratic, so both sides move together
        v = v + step * dv
        s, xi = s + step * ds, xi + step * dx
        alpha, beta = alpha + step * da, beta + step * db
    return best


def _longest(x: np.ndarray, dx: np.ndarray) -> float:
    """Return the largest step in [0, 1] that keeps ``x + step dx`` non-negative."""
    shrinking = dx < 0
    return min(1.0, float(np.min(-x[shrinking] / dx[shrinking]))) if shrinking.any() else 1.0


def _primal(A: np.ndarray, v: np.ndarray, k: int, upper: np.ndarray, ridge: float) -> tuple[float, float]:
    hinge = np.maximum(0.0, 1.0 - A @ v)
    return float(0.5 * ridge * (v[:k] @ v[:k]) + upper @ hinge), float(v[k])


def _dual(A: np.ndarray, alpha: np.ndarray, upper: np.ndarray, sign: np.ndarray, k: int, ridge: float) -> float:
    """Return the dual value of `alpha` after scaling the heavier class down to feasibility."""
    a = np.clip(alpha, 0.0, upper)
    plus, minus = float(a[sign > 0].sum()), float(a[sign < 0].sum())
    light = min(plus, minus)
    a = a * np.where(sign > 0, light / plus if plus else 0.0, light / minus if minus else 0.0)
    w = A[:, :k].T @ a
    return float(a.sum() - 0.5 * (w @ w) / ridge)

"""Exact small semidefinite programme: the best point of a Fantope for the worst of several linear losses.

The relaxation (4) of Samadi et al. with any number of groups,

    min z   subject to   z >= a_g - <S_g, P> for all g,   0 <= P <= I,   tr P = d,

is solved along the central path of its dual. The dual has one variable for each group, so a Newton step costs one
eigen-decomposition and m rotations of q x q matrices, whatever the q (q + 1) / 2 entries of P.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

import numpy as np
from scipy.linalg import norm

from fairpca.solvers.minmax._central import CentralPath, PathPoint, readings
from fairpca.solvers.minmax._newton_polish import FacePoint, FaceProblem, face_point, polish, reduce_rank

__all__ = ["solve_fantope_minmax"]


_ISOTROPIC = 1e-12  # share of the norm below which a half range is one of rounding and decides nothing
_AGAIN = 2  # rounds in which less than the tolerance is looked for once that is reached
_LEAST = 1e-100  # weight; far below what any group has on the path, and still a number that one can divide by
_FIRST_POLISH, _LAST = 1e-5, 1e-15  # of the barrier's weight; below the last it is rounding of the eigenvalues


def _newton(
    root: np.ndarray, gradient: np.ndarray, weights: np.ndarray, normal: np.ndarray, mu: float
) -> tuple[np.ndarray, float]:
    """Newton step inside ``normal'weights = 1``, and its decrement, in variables scaled by the weights.

    There the barrier's Hessian is mu times the identity. The other part is known by its `root`, and stays so: where
    some directions break ties and others do not, its eigenvalues differ by more than numbers have digits.
    """
    N = np.linalg.svd((normal * weights)[None, :])[2][1:].T  # scaled directions that stay inside
    R = np.linalg.qr((root * weights[:, None]).T @ N, mode="r")
    _, values, axes = np.linalg.svd(R)
    values = np.append(values, np.zeros(len(axes) - len(values))) ** 2 + mu
    T = N @ axes.T
    slope = T.T @ (weights * gradient)
    step = weights * (T @ (slope / values))
    return step, float(norm(slope / np.sqrt(values * mu)))  # scipy's takes no squares that might overflow


def solve_fantope_minmax(
    S: np.ndarray,
    a: np.ndarray,
    d: int,
    *,
    tol: float = 1e-14,
    start: np.ndarray | None = None,
    max_iter: int = 600,
    deadline: float = np.inf,
) -> tuple[FacePoint, int]:
    """Minimise ``max_g a_g - <S_g, P>`` over ``0 <= P <= I, tr P = d``.

    Parameters
    ----------
    S : ndarray of shape (m, q, q)
        Symmetric matrices, ``q > d``.
    a : ndarray of shape (m,)
        Constants.
    d : int
        Trace.
    tol : float
        Gap at which to stop, relative to d times half the spread of eigenvalues, averaged with the final weights.
    start : ndarray of shape (m,), optional
        Weights to begin with; they are moved off the boundary.
    max_iter : int
        Newton steps in all.
    deadline : float
        Time of ``perf_counter`` after which no further step is made.

    Returns
    -------
    (FacePoint, int)
        Primal point and dual weights (on the simplex), of lowest rank, whose values are exact, and the Newton steps
        taken.
    """
    m = len(S)
    # A multiple of the identity only shifts the losses. Without it nearly isotropic matrices are like any others.
    ends = np.linalg.eigvalsh(S)[:, [0, -1]]
    sizes = np.abs(ends).max(axis=1)
    centre = ends.mean(axis=1)
    halves = np.maximum(np.ptp(ends, axis=1) / 2, _ISOTROPIC * sizes)
    halves[halves == 0] = halves.max() or 1.0  # a group of zeros
    S = S - centre[:, None, None] * np.eye(S.shape[1])
    a = a - centre * d
    weights = np.full(m, 1.0 / m) if start is None else 0.9 * start / start.sum() + 0.1 / m
    mu = 1.0 if start is None else 1e-2
    unit = 0.0
    best: FacePoint | None = None
    n_iter = again = 0
    while True:
        # The unit of z follows the groups that decide, however much smaller than the largest they are.
        unit, before = float(weights @ halves), unit
        mu *= before / unit if before else 1.0
        own = np.maximum(halves, unit)
        problem = FaceProblem(S / own[:, None, None], a / own, unit / own, d)
        path = CentralPath(problem.S, d)
        y = weights / problem.c
        for _ in range(50):
            x = path.at(y, mu)
            n_iter += 1
            gradient = problem.a - x.sums + mu / y
            step, decrement = _newton(x.root, gradient, y, problem.c, mu)
            over = n_iter >= max_iter or perf_counter() > deadline
            if decrement < 0.05 or over:
                break
            y = y + (step if decrement < 0.25 else step / (1.0 + decrement))
            y = np.maximum(y / (problem.c @ y), _LEAST)
        weights = problem.c * y
        weights = weights / weights.sum()
        rounding = 1e-15 * float(weights @ sizes) / unit  # of what was given
        wanted, fine = max(tol * d, rounding), max(0.1 * tol * d, rounding)
        if mu <= _FIRST_POLISH or over:
            for point in _candidates(problem, y, x, x.moved(step) if decrement < 1.0 else x.moved(0.0 * step), fine):
                if best is None or point.gap * unit < best.gap:
                    best = _in_units(point, problem, unit, centre)
                if best.gap <= fine * unit:
                    break
        if best is not None:
            again += best.gap <= wanted * unit
            if best.gap <= fine * unit or again > _AGAIN or mu <= _LAST or over:
                return best, n_iter
        mu *= 0.1


def _candidates(
    problem: FaceProblem, weights: np.ndarray, x: PathPoint, guess: np.ndarray, tol: float
) -> Iterator[FacePoint]:
    """Polish each reading of the structure of a point of the central path, with `guess` for P."""
    for n_ones, r in readings(x.occupation, problem.d):
        point = polish(problem, face_point(problem, weights, n_ones, r, guess), tol=tol)
        yield reduce_rank(problem, point, tol=tol)


def _in_units(point: FacePoint, problem: FaceProblem, unit: float, centre: np.ndarray) -> FacePoint:
    """Return the point with weights on the simplex, and losses and spectrum of the matrices that were given."""
    weights = problem.c * point.weights
    weights = weights / weights.sum()
    return replace(
        point,
        weights=weights,
        spectrum=point.spectrum * unit + float(weights @ centre),
        losses=point.losses * unit,
        lower_bound=point.lower_bound * unit,
    )

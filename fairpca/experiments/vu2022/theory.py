"""Instances and searches by which the statements of Vu et al. (2022) in theory are put to the test.

Each function looks for a violation. The verdicts are in the modules ``claims_theory`` and
``claims_algorithm`` beside this one, pictures in the chapters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from fairpca import GroupMoments
from fairpca.solvers.rfpca import ComplementObjective, polar_factor
from fairpca.solvers.rfpca.objective import RFPCAVariant

__all__ = [
    "adversarial_problem",
    "convergence",
    "inequality_slacks",
    "plane_problem",
    "random_moments",
    "random_problem",
    "steepest_secant",
    "supremum_by_sdp",
]

_SECANT = 1e-5  # length of the secant along the steepest direction


def random_moments(rng: np.random.Generator, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return second moments and means of two small samples whose features have different scales."""
    samples = [rng.standard_normal((2 * p, p)) * rng.uniform(0.3, 1.5, p) + rng.uniform(-0.5, 0.5, p) for _ in range(2)]
    moments = GroupMoments.from_data(np.concatenate(samples), np.repeat([0, 1], 2 * p))
    return moments.second_moments("none"), moments.means


def random_problem(rng: np.random.Generator, lam: float, scale: float = 1.0) -> ComplementObjective:
    """Return an instance with 3 to 7 features that satisfies condition (ii) of Theorem 3.2 for every penalty."""
    p = int(rng.integers(3, 8))
    k = int(rng.integers(1, p))
    moments = scale * random_moments(rng, p)[0]
    share = rng.uniform(0.2, 0.8)
    least = np.linalg.eigvalsh(moments)[:, : p - k].sum(axis=1)
    eps = rng.uniform(0.01, 0.3, 2) * least
    return ComplementObjective(moments, np.array([share, 1 - share]), k, lam, eps)


def adversarial_problem(rng: np.random.Generator) -> ComplementObjective:
    """Return an instance that may be singular, tied, ill-conditioned, lopsided, or outside conditions (i) and (ii)."""
    p = int(rng.integers(2, 8))
    k, kind = int(rng.integers(1, p)), int(rng.integers(0, 5))

    def moment() -> np.ndarray:
        R = rng.standard_normal((p, p))
        if kind == 1:
            return np.diag(rng.integers(0, 4, p).astype(float))
        if kind == 2:
            return np.outer(R[0], R[0])
        if kind == 3:
            return np.diag(10.0 ** rng.uniform(-4, 1, p))
        return np.eye(p) + 1e-3 * R @ R.T if kind == 4 else R @ R.T / p

    moments = np.array([moment(), moment()])
    share = rng.uniform(0.02, 0.98)
    mean = np.trace(moments, axis1=1, axis2=2) / p
    eps = rng.uniform(0, 3, 2) * mean * rng.integers(0, 2, 2) * rng.choice([0.01, 1])
    lam = float(rng.choice([0, 0.1, 0.5, 1, 2.5, 20]))
    reading: RFPCAVariant = "printed" if rng.random() < 0.5 else "corrected"
    return ComplementObjective(moments, np.array([share, 1 - share]), k, lam, eps, reading)


def inequality_slacks(rng: np.random.Generator, trials: int) -> pd.DataFrame:
    """Put the inequalities behind Theorem 4.3 to adversarial instances.

    Returns
    -------
    DataFrame
        One row for each inequality: number of instances, and the smallest of (larger side - smaller side) / scale. A
        negative number beyond rounding, which is 1e-8 because of square roots of errors near zero, is a violation.
    """
    slacks: dict[str, list[float]] = {}
    for _ in range(trials):
        problem = adversarial_problem(rng)
        L, rho, shape = problem.lipschitz, problem.weak_convexity, (problem.moments.shape[1], problem.columns)
        kappa, printed = problem.curvature, problem.printed_lipschitz
        if L < 1e-9:
            continue

        def value(U: np.ndarray, F: ComplementObjective = problem) -> float:
            return float(F.values(U).max())

        A, B = (rng.standard_normal(shape) * 10.0 ** rng.uniform(-2, 1) for _ in range(2))
        if rng.random() < 0.3:  # far out, where this piece is active, a step along its most negative curvature
            Q, unit = np.linalg.eigh(problem.quadratic[rng.integers(2)])[1], np.eye(shape[1])[0]
            A = 1e3 * np.outer(Q[:, -1], unit)
            B = A + 30 * np.outer(Q[:, 0], unit)
        gradient = problem.multipliers(A)[problem.values(A).argmax()] @ A
        linear, far = float(np.sum(gradient * (B - A))), float(np.sum((B - A) ** 2))
        size = abs(value(A)) + abs(value(B)) + float(np.abs(gradient * (B - A)).sum()) + rho * far
        size += L * float(np.linalg.norm(A) + np.linalg.norm(B))
        ambient = value(B) - value(A) - linear + rho / 2 * far
        U = polar_factor(A)
        if rng.random() < 0.3:  # eigenvectors: no slope, only curvature
            U = np.linalg.eigh(problem.quadratic[rng.integers(2)])[1][:, rng.permutation(shape[0])[: shape[1]]]
        W = polar_factor(U + 10.0 ** rng.uniform(-3, 1) * B / np.linalg.norm(B))
        slope, near = problem.subgradient(U), float(np.linalg.norm(W - U))
        below = value(U) + float(np.sum(slope * (W - U))) - kappa / 2 * near**2
        moved = polar_factor(U - slope / L)
        results = {
            "weak convexity, modulus ρ": ambient / size,
            "curvature: κ ≤ 2L": 2 - kappa / L,
            "norm of the subgradient ≤ L": 1 - float(np.linalg.norm(slope)) / L,
            "Lipschitz constant L": (L * near - abs(value(W) - value(U))) / L,
            "Riemannian subgradient inequality": (value(W) - below) / L,
            "polar step towards W": float(np.linalg.norm(U - slope / L - W) - np.linalg.norm(moved - W)),
        }
        if rho == 0 and np.isfinite(printed):
            results["C ⪰ 0: κ ≤ 2 · printed L"] = 2 - kappa / printed
            results["C ⪰ 0: norm ≤ printed L"] = 1 - float(np.linalg.norm(slope)) / printed
        for name, slack in results.items():
            slacks.setdefault(name, []).append(slack)
    counts, worst = [len(found) for found in slacks.values()], [min(found) for found in slacks.values()]
    return pd.DataFrame({"inequality": list(slacks), "instances": counts, "smallest slack": worst})


def supremum_by_sdp(
    weights: Sequence[float] | np.ndarray,
    moments: np.ndarray,
    means: np.ndarray,
    eps: Sequence[float] | np.ndarray,
    left_out: np.ndarray,
) -> float:
    """Return sup of sum_a w_a E_Qa |(I - VV')X|^2 over the product of balls, by a semidefinite program.

    A distribution within the divergence of Definition 3.1 is one whose moments admit a coupling with E|X - Xhat|^2 <=
    eps; in the joint second moments of (X, Xhat, 1) that is linear, and so is the objective.

    Parameters
    ----------
    weights, eps : sequence of float
        Weight, of any sign, and radius of each group.
    moments : ndarray of shape (m, p, p)
        Second moments of the groups.
    means : ndarray of shape (m, p)
        Their means.
    left_out : ndarray of shape (p, p)
        I - VV'.
    """
    import cvxpy as cp

    total, constraints = 0, []
    p = len(left_out)
    for weight, M, mean, radius in zip(weights, moments, means, eps, strict=True):
        joint = cp.Variable((2 * p + 1, 2 * p + 1), PSD=True)
        S, K = joint[:p, :p], joint[:p, p : 2 * p]
        constraints += [
            joint[p : 2 * p, p : 2 * p] == M,
            joint[p : 2 * p, 2 * p] == mean,
            joint[2 * p, 2 * p] == 1,
            cp.trace(S) + np.trace(M) - 2 * cp.trace(K) <= radius,
        ]
        total = total + weight * cp.trace(left_out @ S)
    problem = cp.Problem(cp.Maximize(total), constraints)
    return float(problem.solve(solver="CLARABEL"))


def plane_problem(x: np.ndarray, lam: float | None) -> tuple[ComplementObjective, np.ndarray]:
    """Map nine free numbers to two groups in the plane that satisfy condition (ii), and a line."""

    def moment(size: float, spread: float, angle: float) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        return size * (np.eye(2) + spread * np.array([[c, s], [s, -c]]))

    spreads = 0.99 * np.tanh(x[2:4]) ** 2
    moments = np.array([moment(1.0, spreads[0], 0.0), moment(np.exp(3 * np.tanh(x[1])), spreads[1], x[4])])
    eps = np.linalg.eigvalsh(moments)[:, 0] / (1 + np.exp(-np.clip(x[5:7], -12, 12)))
    share = 0.02 + 0.96 / (1 + np.exp(-np.clip(x[7], -12, 12)))
    shares = np.array([share, 1 - share])
    problem = ComplementObjective(moments, shares, 1, shares.min() if lam is None else lam, eps)
    return problem, np.array([[np.cos(x[8])], [np.sin(x[8])]])


def steepest_secant(
    rng: np.random.Generator, lam: float | None, *, tries: int = 12
) -> tuple[float, ComplementObjective, np.ndarray]:
    """Look for a secant of F that is steeper than the constant (9) as printed, on lines in the plane.

    Local searches from random starts make |Riemannian subgradient| / constant large over moments, shares, radii and the
    line; what is returned is measured with the values of F at two points, so it needs no derivative to be right.

    Parameters
    ----------
    rng : Generator
        Source of the starts.
    lam : float, optional
        Penalty; None for the smaller share, the largest for which F is sure to be convex.
    tries : int
        Number of local searches.

    Returns
    -------
    ratio : float
        Slope of the steepest secant over the printed constant.
    problem : ComplementObjective
        The instance.
    U : ndarray of shape (2, 1)
        One end of the secant.
    """

    def steepness(x: np.ndarray) -> float:
        problem, U = plane_problem(x, lam)
        return -float(np.linalg.norm(problem.subgradient(U))) / problem.printed_lipschitz

    options = {"maxiter": 1500, "xatol": 1e-5, "fatol": 1e-7}
    starts = 1.5 * rng.standard_normal((tries, 9))
    found = [minimize(steepness, start, method="Nelder-Mead", options=options) for start in starts]
    problem, U = plane_problem(min(found, key=lambda result: result.fun).x, lam)
    gradient = problem.subgradient(U)
    slopes = []
    for sign in (-1, 1):
        W = polar_factor(U + sign * _SECANT * gradient / np.linalg.norm(gradient))
        rise = abs(problem.values(W).max() - problem.values(U).max())
        slopes.append(float(rise / np.linalg.norm(W - U)))
    return max(slopes) / problem.printed_lipschitz, problem, U


def convergence(
    problem: ComplementObjective, starts: Sequence[np.ndarray], lengths: Sequence[int], *, evaluated: int = 25
) -> pd.DataFrame:
    """Run Algorithm 1 and compare the measure of Theorem 4.3 with its right-hand side.

    The measure is computed at some iterates only, geometrically spaced, the first and the last among them. The smallest
    of these is not below the smallest of all, so an inequality that it satisfies is satisfied.

    Returns
    -------
    DataFrame
        One row for each start, length and constant ("printed", "repaired"): ``measure`` (smallest), ``bound`` as
        printed, ``sharp`` with 2L^3 in the place of 2L^3(L + 1), ``excess`` the share of the iterates at which the norm
        of the subgradient exceeds the measure, ``nearby`` the largest ratio of the norm at the proximal point to the
        measure, and ``gap``, ``margin`` of the worst proximal point (see ProximalPoints).
    """
    rows = []
    for number, start in enumerate(starts):
        for length in lengths:
            iterates = problem.descend(start, length)
            chosen = np.unique(np.append(np.geomspace(1, length + 1, evaluated).astype(int) - 1, length))
            norms = np.linalg.norm(problem.subgradient(iterates[chosen]), axis=(1, 2))
            for name, L in (("printed", problem.printed_lipschitz), ("repaired", problem.lipschitz)):
                if not np.isfinite(L):  # a singular moment: the printed bound says nothing
                    continue
                points = problem.proximal_points(iterates[chosen], 1 / (4 * L))
                # The least value seen stands for the minimum: it can only make the bound smaller.
                fall = points.envelope[0] - min(problem.values(iterates).max(axis=1).min(), points.envelope.min())
                moving = points.measure > 1e-6 * L
                rows.append(
                    {
                        "start": number,
                        "steps": length,
                        "constant": name,
                        "L": L,
                        "measure": points.measure.min(),
                        "bound": 2 * np.sqrt(fall + 2 * L**3 * (L + 1)) / (length + 1) ** 0.25,
                        "sharp": 2 * np.sqrt(fall + 2 * L**3) / (length + 1) ** 0.25,
                        "excess": np.mean(norms > points.measure * (1 + 1e-6)),
                        "nearby": np.max(points.slope[moving] / points.measure[moving], initial=0.0),
                        "gap": points.gap.max(),
                        "margin": points.margin.min(),
                    }
                )
    return pd.DataFrame(rows)

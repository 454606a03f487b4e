"""RFPCA: the exact solver and Algorithm 1 in V against Algorithm 1 as the paper writes it, in U.

The slow method is Algorithm 1 of Vu et al. transcribed from the paper: U is p x (p - k), the projector UU' is formed, F
and the gradient are evaluated with traces of p x p products, and the retraction is a QR of p x (p - k).
Its time is that of a stated number of steps (column `slow_steps`), scaled to 21 starts x 1000 steps (faces: 500, the
paper's number), because at p = 576 the whole takes the better part of an hour.
On 24 x 24 faces the last two rows give the time of an 18-point grid (3 radii x 6 penalties) in units of one full
eigen-decomposition, with and without the proof of optimality.
All times are the best of several runs in one process with one thread; compilation is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
import pandas as pd
from timing import best_of_each

from fairpca._moments import GroupMoments
from fairpca.datasets import DataError, load, standardise
from fairpca.solvers.rfpca import (
    ambiguity_radii,
    pca_start,
    random_starts,
    solve_rfpca,
    solve_rfpca_path,
    solve_rfpca_subgradient,
)

__all__ = ["GRID", "STARTS", "algorithm_1_in_u", "problem", "run"]

# The paper's grid and number of starts.
GRID = {"alpha": (0.05, 0.1, 0.15), "lam": (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)}
STARTS = 21


def algorithm_1_in_u(
    moments: np.ndarray, shares: np.ndarray, lam: float, eps: np.ndarray, U: np.ndarray, max_iter: int, steps: int
) -> np.ndarray:
    """Take the first `steps` of `max_iter` steps of Algorithm 1 of Vu et al. for two groups, in U of (7), with QR.

    Every formula is the paper's (6c), Lemma 4.1, qf retraction; the step size is 1 / sqrt(max_iter + 1).
    """
    p = len(U)
    kappa, theta, vartheta, C = [], [], [], []
    for a in (0, 1):
        b = 1 - a
        kappa.append((shares[a] + lam) * eps[a] + (shares[b] - lam) * eps[b])
        theta.append(2 * abs(shares[a] + lam) * np.sqrt(eps[a]))
        vartheta.append(2 * abs(shares[b] - lam) * np.sqrt(eps[b]))  # the coefficient of the other group's root
        C.append((shares[a] + lam) * moments[a] + (shares[b] - lam) * moments[b])

    def F(a: int) -> float:
        projector = U @ U.T
        own = np.sqrt(np.trace(projector @ moments[a]))
        other = np.sqrt(np.trace(projector @ moments[1 - a]))
        return float(kappa[a] + theta[a] * own + vartheta[a] * other + np.trace(projector @ C[a]))

    for _ in range(steps):
        a = 0 if F(0) >= F(1) else 1
        projector = U @ U.T
        own = np.sqrt(np.trace(projector @ moments[a]))
        other = np.sqrt(np.trace(projector @ moments[1 - a]))
        G = theta[a] / own * moments[a] + vartheta[a] / other * moments[1 - a] + 2 * C[a]
        gradient = (np.eye(p) - projector) @ G @ U
        Q, R = np.linalg.qr(U - gradient / np.sqrt(max_iter + 1))
        U = Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)
    return U


def problem(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return second moments, shares and counts of a data set, prepared as in the paper.

    Tables are standardised; faces (already divided by 255) are only centred.
    """
    data = load(name)
    (X,) = standardise(np.asarray(data.X, dtype=np.float64), scale=name != "lfw_24x24")
    moments = GroupMoments.from_data(X, data.sensitive_features)
    return moments.second_moments("overall"), moments.weights, moments.counts


def _best_of(call: Callable[[], object], repeats: int) -> float:
    return best_of_each(call, repeats=repeats)[0]


def _row(name: str, k: int, lam: float, alpha: float, slow_steps: int, repeats: int) -> dict[str, object]:
    moments, shares, counts = problem(name)
    p = moments.shape[1]
    max_iter = 500 if name == "lfw_24x24" else 1000
    eps = ambiguity_radii(alpha, counts)
    V = pca_start(moments, shares, k)
    U = np.linalg.qr(V, mode="complete")[0][:, k:]
    slow = _best_of(lambda: algorithm_1_in_u(moments, shares, lam, eps, U, max_iter, slow_steps), 2 if p > 100 else 3)
    slow *= STARTS * max_iter / slow_steps
    starts = np.concatenate((V[None], random_starts(p, k, STARTS - 1, 0)))

    def descent() -> object:
        return solve_rfpca_subgradient(
            moments, shares, k, lam, eps, variant="printed", starts=starts, max_iter=max_iter
        )

    def exact(certified: bool) -> object:
        return solve_rfpca(moments, shares, k, lam, eps, variant="printed", certified=certified)

    in_v = _best_of(descent, 1 if p > 100 else 3)
    plain = _best_of(lambda: exact(False), repeats)
    proved = _best_of(lambda: exact(True), repeats)
    result = solve_rfpca(moments, shares, k, lam, eps, variant="printed")
    reached = solve_rfpca_subgradient(
        moments, shares, k, lam, eps, variant="printed", starts=starts, max_iter=max_iter
    ).objective
    return {
        "data": name,
        "p": p,
        "k": k,
        "lam": lam,
        "alpha": alpha,
        "slow_steps": slow_steps,
        "slow_s": slow,
        "v_form_s": in_v,
        "exact_ms": plain * 1e3,
        "certified_ms": proved * 1e3,
        "slow/v_form": slow / in_v,
        "slow/exact": slow / plain,
        "slow/certified": slow / proved,
        "relative_gap": result.relative_gap,
        "v_form_excess": (reached - result.objective) / result.objective,
        "eigs": result.n_iter,
    }


def run(quick: bool = False) -> pd.DataFrame:
    """Return the comparison; ``quick`` leaves out the faces and repeats less."""
    cases = [
        ("default_credit", 3, 0.1, 0.1),
        ("default_credit", 3, 1.0, 0.15),
        ("biodeg", 3, 0.1, 0.1),
        ("biodeg", 3, 2.5, 0.15),
        ("german_credit", 3, 0.5, 0.1),
        ("german_credit", 3, 2.5, 0.15),
    ]
    faces = [("lfw_24x24", 3, 0.1, 0.1), ("lfw_24x24", 3, 2.5, 0.15), ("lfw_24x24", 10, 0.5, 0.1)]
    rows = []
    for name, k, lam, alpha in cases if quick else cases + faces:
        large = name == "lfw_24x24"
        try:
            slow_steps, repeats = (6, 15) if large else (40, 3) if quick else (400, 40)
            rows.append(_row(name, k, lam, alpha, slow_steps, repeats))
        except DataError as error:
            print(f"{name} left out: {error}")
    table = pd.DataFrame(rows)
    if not quick and "lfw_24x24" in set(table["data"]):
        table = pd.concat([table, pd.DataFrame(_grids())], ignore_index=True)
    return table


def _grids() -> list[dict[str, object]]:
    """Time the grids and the full eigen-decomposition in turns, so that a busy machine slows down both."""
    moments, shares, counts = problem("lfw_24x24")
    settings = [(lam, ambiguity_radii(alpha, counts)) for alpha in GRID["alpha"] for lam in GRID["lam"]]
    cases = [(k, certified) for k in (3, 10) for certified in (False, True)]
    best = [np.inf] * len(cases)
    whole = np.inf
    gaps, eigs = [0.0] * len(cases), [0] * len(cases)
    for _ in range(15):
        whole = min(whole, _best_of(lambda: np.linalg.eigh(moments[0]), 1))
        for i, (k, certified) in enumerate(cases):
            start = perf_counter()
            results = solve_rfpca_path(moments, shares, k, settings, certified=certified)
            best[i] = min(best[i], perf_counter() - start)
            gaps[i] = max(result.relative_gap for result in results)
            eigs[i] = sum(result.n_iter for result in results)
    return [
        {
            "data": "lfw_24x24 grid" + (", proved" if certified else ""),
            "p": 576,
            "k": k,
            "certified_ms" if certified else "exact_ms": best[i] * 1e3,
            "grid/eigh": best[i] / whole,
            "relative_gap": gaps[i],
            "eigs": eigs[i],
        }
        for i, (k, certified) in enumerate(cases)
    ]

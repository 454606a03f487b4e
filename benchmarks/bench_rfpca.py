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

from collections.abc import Iterator

import numpy as np
import pandas as pd
from timing import best_of_each

from fairpca import GroupMoments
from fairpca.datasets import DataError, load, standardise
from fairpca.solvers import SolverResult
from fairpca.solvers.rfpca import (
    ambiguity_radii,
    pca_start,
    random_starts,
    solve_rfpca,
    solve_rfpca_path,
    solve_rfpca_subgradient,
)

__all__ = ["algorithm_1_in_u", "problem", "run"]

# The paper's grid and number of starts.
GRID = {"alpha": (0.05, 0.1, 0.15), "lam": (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)}
STARTS = 21
FACES = "lfw_24x24"


def algorithm_1_in_u(
    moments: np.ndarray, shares: np.ndarray, lam: float, eps: np.ndarray, U: np.ndarray, max_iter: int, steps: int
) -> np.ndarray:
    """Take the first `steps` of `max_iter` steps of Algorithm 1 of Vu et al. for two groups, in U of (7), with QR.

    Every formula is the paper's (6c), Lemma 4.1, qf retraction; the step size is 1 / sqrt(max_iter + 1).
    """
    for _ in range(steps):
        projector = U @ U.T
        roots = [np.sqrt(np.trace(projector @ M)) for M in moments]
        F, gradients = [], []
        for a, b in ((0, 1), (1, 0)):
            kappa = (shares[a] + lam) * eps[a] + (shares[b] - lam) * eps[b]
            theta = 2 * abs(shares[a] + lam) * np.sqrt(eps[a])
            vartheta = 2 * abs(shares[b] - lam) * np.sqrt(eps[b])  # the coefficient of the other group's root
            C = (shares[a] + lam) * moments[a] + (shares[b] - lam) * moments[b]
            F.append(kappa + theta * roots[a] + vartheta * roots[b] + np.trace(projector @ C))
            gradients.append(theta / roots[a] * moments[a] + vartheta / roots[b] * moments[b] + 2 * C)
        G = (np.eye(len(U)) - projector) @ gradients[0 if F[0] >= F[1] else 1] @ U
        Q, R = np.linalg.qr(U - G / np.sqrt(max_iter + 1))
        U = Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)
    return U


def problem(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return second moments, shares and counts of a data set, prepared as in the paper.

    Tables are standardised; faces (already divided by 255) are only centred.
    """
    data = load(name)
    (X,) = standardise(np.asarray(data.X, dtype=np.float64), scale=name != FACES)
    moments = GroupMoments.from_data(X, data.sensitive_features)
    return moments.second_moments("overall"), moments.weights, moments.counts


def _row(name: str, k: int, lam: float, alpha: float, slow_steps: int, repeats: int) -> dict[str, object]:
    moments, shares, counts = problem(name)
    p, max_iter, eps = moments.shape[1], 500 if name == FACES else 1000, ambiguity_radii(alpha, counts)
    V = pca_start(moments, shares, k)
    U = np.linalg.qr(V, mode="complete")[0][:, k:]
    starts = np.concatenate((V[None], random_starts(p, k, STARTS - 1, 0)))
    given = moments, shares, k, lam, eps

    def descent() -> SolverResult:
        return solve_rfpca_subgradient(*given, variant="printed", starts=starts, max_iter=max_iter)

    few = 1 if p > 100 else 3
    (slow,) = best_of_each(
        lambda: algorithm_1_in_u(moments, shares, lam, eps, U, max_iter, slow_steps), repeats=max(few, 2)
    )
    slow *= STARTS * max_iter / slow_steps
    (in_v,) = best_of_each(descent, repeats=few)
    plain, proved = best_of_each(
        *(lambda c=c: solve_rfpca(*given, variant="printed", certified=c) for c in (False, True)), repeats=repeats
    )
    result = solve_rfpca(*given, variant="printed")
    return {
        "data": name, "p": p, "k": k, "lam": lam, "alpha": alpha, "slow_steps": slow_steps,
        "slow_s": slow, "v_form_s": in_v, "exact_ms": plain * 1e3, "certified_ms": proved * 1e3,
        "slow/v_form": slow / in_v, "slow/exact": slow / plain, "slow/certified": slow / proved,
        "relative_gap": result.relative_gap, "eigs": result.n_iter,
        "v_form_excess": (descent().objective - result.objective) / result.objective,
    }  # fmt: skip


def run(quick: bool = False) -> pd.DataFrame:
    """Return the comparison; ``quick`` leaves out the faces and repeats less."""
    cases = [
        ("default_credit", 3, 0.1, 0.1), ("default_credit", 3, 1.0, 0.15), ("biodeg", 3, 0.1, 0.1),
        ("biodeg", 3, 2.5, 0.15), ("german_credit", 3, 0.5, 0.1), ("german_credit", 3, 2.5, 0.15),
        *([] if quick else [(FACES, 3, 0.1, 0.1), (FACES, 3, 2.5, 0.15), (FACES, 10, 0.5, 0.1)]),
    ]  # fmt: skip
    rows: list[dict[str, object]] = []
    for case in cases:
        try:
            rows.append(_row(*case, *((6, 15) if case[0] == FACES else (40, 3) if quick else (400, 40))))
        except DataError as error:
            print(f"{case[0]} left out: {error}")
    if any(row["data"] == FACES for row in rows):
        rows += _grids()
    return pd.DataFrame(rows)


def _grids() -> Iterator[dict[str, object]]:
    """Time the grids and the full eigen-decomposition in turns, so that a busy machine slows down both."""
    moments, shares, counts = problem(FACES)
    settings = [(lam, ambiguity_radii(alpha, counts)) for alpha in GRID["alpha"] for lam in GRID["lam"]]
    cases = [(k, certified) for k in (3, 10) for certified in (False, True)]
    calls = [lambda k=k, c=c: solve_rfpca_path(moments, shares, k, settings, certified=c) for k, c in cases]
    whole, *best = best_of_each(lambda: np.linalg.eigh(moments[0]), *calls, repeats=15)
    for (k, certified), call, seconds in zip(cases, calls, best, strict=True):
        row = {"data": f"{FACES} grid{', proved' * certified}", "p": 576, "k": k, "grid/eigh": seconds / whole}
        row["certified_ms" if certified else "exact_ms"] = seconds * 1e3
        results = call()
        yield row | {"relative_gap": max(r.relative_gap for r in results), "eigs": sum(r.n_iter for r in results)}

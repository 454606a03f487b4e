"""From the relaxed solution P to a subspace V, and how well V is determined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpca.linalg import symmetrise
from fairpca.solvers.fpca.mean import solve_mean_only
from fairpca.solvers.fpca.problem import FPCAProblem

__all__ = ["Rounded", "describe", "meet_mean_constraint", "projector", "round_to_subspace"]

_RANK_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Rounded:
    """V (p × d), the spectrum of P (descending), w_d − w_{d+1}, and how many eigenvalues were tied at w_d."""

    V: np.ndarray
    spectrum: np.ndarray
    eigengap: float
    tied: int


def round_to_subspace(P: np.ndarray, S: np.ndarray, n_components: int, *, tie_tol: float = 1e-6) -> Rounded:
    """Return the span of the eigenvectors of `P` with the largest eigenvalues, ties broken by explained variance.

    Eigenvalues within `tie_tol` of the d-th are treated as equal; inside their eigenspace any choice is as good for
    the semidefinite program, so the directions that keep most of `S` are taken.

    Parameters
    ----------
    P, S : ndarray of shape (p, p)
        Relaxed solution and second moment.
    n_components : int
        d.
    tie_tol : float, default=1e-6
        Absolute; the eigenvalues of P lie between 0 and 1.
    """
    w, U = np.linalg.eigh(P)
    w, U = w[::-1], U[:, ::-1]
    d = n_components
    eigengap = float(w[d - 1] - w[d]) if d < len(w) else float("inf")
    above = int(np.sum(w > w[d - 1] + tie_tol))
    end = int(np.sum(w >= w[d - 1] - tie_tol))
    if end > d:
        E = U[:, above:end]
        _, R = np.linalg.eigh(symmetrise(E.T @ S @ E))
        V = np.hstack([U[:, :above], E @ R[:, ::-1][:, : d - above]])
    else:
        V = U[:, :d].copy()
    return Rounded(V, w, eigengap, end - above)


def projector(V: np.ndarray) -> Rounded:
    """Return what :func:`round_to_subspace` does for P = VV', without a decomposition."""
    p, d = V.shape
    return Rounded(V, np.repeat([1.0, 0.0], [d, p - d]), 1.0 if d < p else float("inf"), d)


def meet_mean_constraint(P: np.ndarray, f: np.ndarray, n_components: int, level: float) -> np.ndarray:
    """Return V that maximises <P, VV'> among those with ‖V'f‖² ≤ `level` (the constraint that rounding breaks)."""
    return solve_mean_only(P, f, n_components, level=level).V


def describe(problem: FPCAProblem, P: np.ndarray, rounded: Rounded) -> dict[str, Any]:
    """Return what a reader of the result wants to know about P and V."""
    w, V = rounded.spectrum, rounded.V
    inner = np.linalg.eigvalsh(symmetrise(V.T @ problem.Q @ V))
    if np.all(w[: V.shape[1]] == 1.0) and not np.any(w[V.shape[1] :]):
        # P = VV', and the matrices behind t have the eigenvalues of smaller ones.
        t1, t2 = max(float(inner[-1]) + problem.c1, 0.0), max(problem.c2 - float(inner[0]), 0.0)
    else:
        t1, t2 = problem.slacks(P)
    return {
        "P": P,
        "spectrum": w,
        "rank": int(np.sum(w > _RANK_TOLERANCE * max(w[0], 1e-300))),
        "eigengap": rounded.eigengap,
        "tied": rounded.tied,
        "well_defined": bool(rounded.eigengap >= 1e-3 * w[0] > 0),
        "t": (t1, t2),
        "mean_gap": float(np.linalg.norm(V.T @ problem.f)),
        "covariance_gap": float(np.max(np.abs(inner))),
        "spread": float(inner[-1] - inner[0]),
        "kept": float(np.vdot(V, problem.S @ V)),
        "problem": problem,
    }

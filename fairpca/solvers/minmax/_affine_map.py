"""From a point P of the Fantope to a map: rounding by the paper's linear programme, and its affine projection."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fairpca.linalg import symmetrise

__all__ = ["affine_map", "basis_kind", "eigenvalues_of", "round_by_lp"]


def affine_map(basis: np.ndarray, eigenvalues: np.ndarray) -> np.ndarray:
    r"""Return the map V of the paper's affine projection for ``P = sum_j lambda_j u_j u_j'``.

    The paper shrinks direction j by :math:`\lambda^*_j = 1 - \sqrt{1 - \lambda_j}` (Algorithm 1, step 5) and embeds
    x by the coordinates :math:`\sqrt{\lambda^*_j}\, u_j'x`. The columns of V are
    :math:`\sqrt{\lambda^*_j}\, u_j`, so that ``V'x`` is the embedding, ``VV'`` is :math:`P^*`, and the loss of
    ``x -> VV'x`` is :math:`\alpha_g - \langle C_g, P\rangle`, because :math:`2\lambda^* - \lambda^{*2} = \lambda`.
    Directions with eigenvalue one are kept as they are.
    """
    shrunk = 1.0 - np.sqrt(1.0 - np.clip(eigenvalues, 0.0, 1.0))
    return basis * np.sqrt(shrunk)


def basis_kind(eigenvalues: np.ndarray) -> Literal["orthonormal", "affine"]:
    """Say whether the affine map is a projection, so that its columns may be turned among themselves."""
    return "orthonormal" if np.all(1.0 - eigenvalues <= 1e-16) else "affine"


def eigenvalues_of(P: np.ndarray, tol: float = 1e-12) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues of P above `tol`, descending and at most one, and their eigenvectors."""
    w, U = np.linalg.eigh(symmetrise(P))
    keep = w > tol
    return np.clip(w[keep][::-1], 0.0, 1.0), U[:, keep][:, ::-1]


def round_by_lp(sums: np.ndarray, references: np.ndarray, n_components: int) -> np.ndarray:
    """Solve the linear programme (5)-(9) to an extreme point and return its eigenvalues.

    Parameters
    ----------
    sums : ndarray of shape (m, n)
        ``<C_g, u_j u_j'>`` for each group g and eigenvector j of P.
    references : ndarray of shape (m,)
        Constants of the groups' constraints.
    n_components : int
        Bound of the sum of the eigenvalues.

    Returns
    -------
    ndarray of shape (n,)
        At most m of them lie strictly between 0 and 1, because a vertex has as many tight constraints as variables
        (Theorems 5.1 and 5.2). A simplex method is used: an interior-point method would end inside a face.
    """
    from scipy.optimize import linprog

    m, n = sums.shape
    scale = max(float(np.abs(sums).max()), np.finfo(float).tiny)
    A = np.zeros((m + 1, n + 1))
    A[:m, :n] = -sums / scale
    A[:m, n] = -1.0
    A[m, :n] = 1.0
    b = np.append(-references / scale, float(n_components))
    cost = np.append(np.zeros(n), 1.0)
    bounds = [(0.0, 1.0)] * n + [(None, None)]
    fine = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    # HiGHS gives programmes up whose columns are equal but for rounding; with its own tolerances it solves them.
    for options in (fine, fine | {"presolve": False}, {}, {"presolve": False}):
        answer = linprog(cost, A_ub=A, b_ub=b, bounds=bounds, method="highs-ds", options=options)
        if answer.status == 0:
            break
    else:
        raise RuntimeError(f"the linear programme (5)-(9) was not solved: {answer.message}")
    lam = np.clip(answer.x[:n], 0.0, 1.0)
    lam = np.where(lam > 1.0 - 1e-9, 1.0, np.where(lam < 1e-9, 0.0, lam))
    inner = (lam > 0.0) & (lam < 1.0)
    lam[inner] -= max(lam.sum() - n_components, 0.0) / max(int(inner.sum()), 1)  # what the programme's tolerance allows
    return lam

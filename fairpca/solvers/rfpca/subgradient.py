"""Algorithm 1 of Vu et al. (2022), Riemannian subgradient descent, in terms of V instead of its complement U.

The paper iterates on U (p x (p - d)): U+ = qf(U - g (I - UU')GU) with G = c_0 M_0 + c_1 M_1 symmetric.
The orthogonal complement of col(U - g (I - UU')GU) is col(V + g (I - VV')GV), and QR and polar retraction keep
the column space, so the p x d iteration below visits the complements of the paper's subspaces at every step.
It costs 4 p^2 d operations a step for two groups instead of several times p^3, and half of that in the eigenvectors
of one moment (large p).
Theorem B.2's objective for more groups is a maximum over more pairs and nothing else changes.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from fairpca._compiled import has_numba, warn_without_numba
from fairpca._validation import check_choice
from fairpca.linalg import orthonormal, top_eigenpairs
from fairpca.solvers.result import SolverResult
from fairpca.solvers.rfpca.objective import (
    GroupObjective,
    RFPCAVariant,
    check_problem,
    penalty_used,
    reconstruction_errors,
    sizes,
)
from fairpca.solvers.spectral import in_units, result_in_units, safe_unit

__all__ = ["pca_start", "random_starts", "solve_rfpca_subgradient"]

Retraction = Literal["qr", "polar"]
Keep = Literal["last", "best"]

_COMPILED_UP_TO = 60  # features; above it a matrix product for all starts together is faster
_PIECE = 100  # steps that compiled code makes without a look at signals
_SETTLED = 1e-6  # relative improvement in the last tenth of the steps that counts as none
_TINY = float(np.finfo(float).tiny)  # for groups without any variance: its root is a number that one can divide by
LONGEST = 1e6  # tangent of the largest angle of a step; the Gram matrix of a longer one is singular to rounding
_FLOOR = 1e-15  # share of the trace that stands for an error of zero, where the subgradient is infinite


def pca_start(moments: np.ndarray, shares: np.ndarray, n_components: int) -> np.ndarray:
    """Return the top-d eigenvectors of sum p_b M_b, the published code's first start.

    Parameters
    ----------
    moments : ndarray of shape (m, p, p)
        Second moments of the groups.
    shares : ndarray of shape (m,)
        Share of the rows in each group.
    n_components : int
        Dimension d of the subspace.

    Returns
    -------
    ndarray of shape (p, d)
        Orthonormal.
    """
    return top_eigenpairs(np.tensordot(shares, moments, axes=1), n_components)[1]


def random_starts(p: int, n_components: int, count: int, random_state: Any = None) -> np.ndarray:
    """Return `count` random subspaces as orthonormal bases.

    Each is the complement of the span of ``randn(p, p - d)``, drawn in the order in which the published code
    draws its U: with a ``RandomState`` that is passed from fit to fit, consecutive fits consume its stream as
    that code consumes numpy's global one.

    Parameters
    ----------
    p : int
        Number of features.
    n_components : int
        Dimension of the subspaces, less than p.
    count : int
        How many; 0 is allowed.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    ndarray of shape (count, p, n_components)
    """
    d, rng = n_components, check_random_state(random_state)
    starts = np.empty((count, p, d))
    for i in range(count):
        X = rng.randn(p, p - d)
        if p <= 100:
            starts[i] = np.linalg.qr(X, mode="complete")[0][:, p - d :]
        else:  # [A; I] with A'X_1 + X_2 = 0 is orthogonal to X = [X_1; X_2], at a third of the cost
            A = -np.linalg.solve(X[: p - d].T, X[p - d :].T)
            starts[i] = np.linalg.qr(np.vstack((A, np.eye(d))))[0]
    return starts


def solve_rfpca_subgradient(
    moments: np.ndarray,
    shares: np.ndarray,
    n_components: int,
    lam: float,
    eps: np.ndarray,
    *,
    variant: RFPCAVariant = "corrected",
    n_starts: int = 21,
    starts: np.ndarray | None = None,
    max_iter: int = 1000,
    step: float | None = None,
    retraction: Retraction = "qr",
    keep: Keep = "last",
    random_state: Any = None,
    time_limit: float | None = None,
) -> SolverResult:
    """Run Algorithm 1 of Vu et al. from several starts and return the best outcome.

    Parameters
    ----------
    moments : ndarray of shape (m, p, p)
        Second moments of the groups; with m > 2 the objective is that of Theorem B.2.
    shares, eps : ndarray of shape (m,)
        Group shares and radii.
    n_components : int
        Dimension d of the subspace, 1 <= d < p.
    lam : float
        Penalty, zero or larger.
    variant : {"corrected", "printed", "vu2022_code"}
        As for :func:`~fairpca.solvers.rfpca.solve_rfpca`; "vu2022_code" for two groups only.
    n_starts : int
        The PCA subspace and ``n_starts - 1`` random ones (the published code: 21; the text says 20 random).
    starts : ndarray of shape (n, p, d), optional
        Orthonormal bases to start from instead.
    max_iter : int
        Steps from each start; all are taken.
    step : float, optional
        Constant step size; by default 1 / sqrt(max_iter + 1) as in the paper. No step turns the plane so far that it
        is nearer than 1e-6 to where an infinite step would lead. Moments of extraordinary size (largest trace below
        1e-9 or above 1e21), for which the paper's step is no step, are brought near to one first.
    retraction : {"qr", "polar"}
        Both give the same subspaces; the bases differ by a rotation.
    keep : {"last", "best"}
        Whether a start is represented by its last iterate (paper and published code) or its best one (the iterate
        that Theorem 4.3 speaks about).
    random_state : int, RandomState or None
        Source of the random starts.
    time_limit : float, optional
        Seconds after which no further start begins; the answer is that of the starts made.

    Returns
    -------
    SolverResult
        ``history`` holds ``objective`` (n_starts, max_iter + 1), ``subgradient_norm`` (n_starts, max_iter) and
        ``active`` (the index of the largest J); ``extra`` the chosen ``start``, the ``errors`` of the groups and the
        ``values`` of all J.
        Nothing is certified: the status is "converged" if the best value of the chosen start moved by less than
        1e-6 in the last tenth of the steps, else "max_iter".
    """
    begin = perf_counter()
    moments, shares, eps = check_problem(moments, shares, n_components, lam, eps)
    unit = safe_unit(sizes(moments, eps))
    moments, eps = in_units(moments, unit), in_units(eps, unit)
    d, lam = n_components, penalty_used(variant, moments, shares, eps, n_components, lam)
    check_choice("retraction", retraction, ("qr", "polar"))
    check_choice("keep", keep, ("last", "best"))
    p = moments.shape[1]
    if starts is None:
        first = pca_start(moments, shares, d)[None]
        starts = np.concatenate((first, random_starts(p, d, n_starts - 1, random_state)))
    else:
        starts = np.asarray(starts, dtype=np.float64)
        if starts.ndim != 3 or starts.shape[1:] != (p, d):
            raise ValueError(f"starts has shape {starts.shape}; it must be (n_starts, {p}, {d}).")
    objective = GroupObjective(shares, lam, eps, variant)
    size = 1 / np.sqrt(max_iter + 1) if step is None else float(step) / unit
    traces = np.trace(moments, axis1=1, axis2=2)
    run = _descend_compiled if p <= _COMPILED_UP_TO and has_numba() else _descend_batched
    warn_without_numba()
    polar = retraction == "polar"
    if time_limit is None:
        last, best, values, norms, active = run(starts, moments, traces, objective, max_iter, size, polar)
    else:
        made: list[_Outcome] = []
        for start in starts:
            if made and perf_counter() - begin > time_limit:
                break
            made.append(run(start[None], moments, traces, objective, max_iter, size, polar))
        last, best, values, norms, active = (np.concatenate(parts) for parts in zip(*made, strict=True))
    final = values[:, -1] if keep == "last" else values.min(axis=1)
    chosen = int(np.argmin(final))
    V = orthonormal((last if keep == "last" else best)[chosen])
    errors = reconstruction_errors(moments, V)
    running = np.minimum.accumulate(values[chosen])
    earlier = running[max_iter - max(max_iter // 10, 1)]
    settled = earlier - running[-1] <= _SETTLED * abs(running[-1])
    J = objective.values(errors)
    result = SolverResult(
        V,
        "converged" if settled else "max_iter",
        float(J.max()),
        n_iter=max_iter,
        seconds=perf_counter() - begin,
        history={"objective": values, "subgradient_norm": norms, "active": active},
        extra={"lam": lam, "start": chosen, "errors": errors, "values": J},
    )
    return result_in_units(result, unit)


_Outcome = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _descend_compiled(
    starts: np.ndarray,
    moments: np.ndarray,
    traces: np.ndarray,
    objective: GroupObjective,
    max_iter: int,
    step: float,
    polar: bool,
) -> _Outcome:
    from fairpca.solvers.rfpca._kernel import descend

    last = starts.transpose(0, 2, 1).copy(order="C")
    best, n = last.copy(), len(last)
    values, norms = np.empty((n, max_iter + 1)), np.empty((n, max_iter))
    active = np.empty((n, max_iter + 1), dtype=np.int16)
    least = np.full((n, 1), np.inf)
    moments = np.ascontiguousarray(moments)
    floors = np.maximum(_FLOOR * traces, _TINY)
    for run in range(n):
        for first in range(0, max_iter + 1, _PIECE):  # Ctrl-C is heeded between the pieces
            descend(
                last[run],
                best[run],
                least[run],
                values[run],
                norms[run],
                active[run],
                first,
                min(first + _PIECE, max_iter + 1),
                moments,
                traces,
                objective.radii,
                objective.weights,
                objective.printed,
                step,
                polar,
                floors,
                LONGEST,
            )
    return last.transpose(0, 2, 1), best.transpose(0, 2, 1), values, norms, active


def _descend_batched(
    starts: np.ndarray,
    moments: np.ndarray,
    traces: np.ndarray,
    objective: GroupObjective,
    max_iter: int,
    step: float,
    polar: bool,
) -> _Outcome:
    """Take the same steps for all starts at once; the bases stand in the rows of one (n_starts d) x p matrix.

    The iteration commutes with rotations of the features. In the eigenvectors of the first moment that moment is
    diagonal, so only the others need a matrix product: half of the operations for two groups.
    """
    n, p, d = starts.shape
    m = len(moments)
    diagonal, axes = np.linalg.eigh(moments[0])
    rotated = np.concatenate([axes.T @ M @ axes for M in moments[1:]], axis=1)  # symmetric blocks, side by side
    V = np.ascontiguousarray((axes.T @ starts).transpose(0, 2, 1))
    best = V.copy()
    least = np.full(n, np.inf)
    values = np.empty((n, max_iter + 1))
    norms = np.empty((n, max_iter))
    active = np.empty((n, max_iter + 1), dtype=np.int16)
    products = np.empty((n * d, (m - 1) * p))
    others = products.reshape(n, d, m - 1, p)
    H = np.empty((n, d, p))
    kept = np.empty((m, n))
    floors = np.maximum(_FLOOR * traces, _TINY)
    weights, radii = objective.weights, objective.radii
    for iteration in range(max_iter + 1):
        np.matmul(V.reshape(n * d, p), rotated, out=products)
        np.multiply(V, diagonal, out=H)
        kept[0] = _dots(V, H)
        for b in range(1, m):
            kept[b] = _dots(V, others[:, :, b - 1])
        errors = np.maximum(traces[:, None] - kept, floors[:, None])
        r = np.sqrt(errors)
        down = r - radii[:, None] if objective.printed else np.maximum(r - radii[:, None], 0.0)
        J = np.maximum(weights, 0) @ (r + radii[:, None]) ** 2 + np.minimum(weights, 0) @ down**2
        which = J.argmax(axis=0)
        top = J[which, np.arange(n)]
        values[:, iteration], active[:, iteration] = top, which
        better = top < least
        least[better] = top[better]
        best[better] = V[better]
        if iteration == max_iter:
            break
        ratio = np.where(radii[:, None] > 0, radii[:, None] / r, 0.0)
        lower = 1 - ratio if objective.printed else np.maximum(1 - ratio, 0.0)
        w = weights[which].T
        coefficients = 2 * w * np.where(w < 0, lower, 1 + ratio)
        H *= coefficients[0, :, None, None]
        for b in range(1, m):
            other = others[:, :, b - 1]
            other *= coefficients[b, :, None, None]
            H += other
        H -= (H @ V.transpose(0, 2, 1)) @ V
        norms[:, iteration] = np.sqrt(_dots(H, H))
        H *= np.minimum(step, LONGEST / np.maximum(norms[:, iteration], _TINY))[:, None, None]
        V += H
        V = _retract(V, polar)
    last, best = ((axes @ rows.transpose(0, 2, 1)) for rows in (V, best))
    return last, best, values, norms, active


def _dots(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the inner products of two stacks of matrices."""
    return np.einsum("nkp,nkp->n", A, B)


def _retract(Y: np.ndarray, polar: bool) -> np.ndarray:
    """Return orthonormal bases of the row spaces of a stack of matrices, shape (n, d, p)."""
    for _ in range(3):
        gram = Y @ Y.transpose(0, 2, 1)
        if polar:
            w, E = np.linalg.eigh(gram)
            Y = ((E / np.sqrt(w)[:, None, :]) @ E.transpose(0, 2, 1)) @ Y
        else:
            Y = np.linalg.inv(np.linalg.cholesky(gram)) @ Y
        if np.einsum("nkk->nk", gram).max() < 100.0:  # well conditioned: one pass leaves only rounding
            break
    return Y

"""PCA whose code has no covariance with sensitive variables: orthogonal, oblique, and with covariances matched too."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, Literal, get_args

import numpy as np

from fairpca._validation import check_choice, check_components, check_number
from fairpca.linalg import symmetrise, top_eigenpairs
from fairpca.solvers.erasure.erase import erase_linearly, varying_complement
from fairpca.solvers.erasure.means import CrossMoments
from fairpca.solvers.result import SolverResult, consistent_bound
from fairpca.solvers.spectral import avoiding_eigenpairs

__all__ = ["Projection", "solve_mean_fair"]

Projection = Literal["orthogonal", "oblique"]

_TIED = 64 * float(np.finfo(float).eps)  # of the largest eigenvalue
_EQUAL = 1e-26  # squared relative difference of covariances that is rounding
_TOLERANCE = 1e-9  # of the total variance; more is rounding in ill-conditioned data, and is not called optimal


def solve_mean_fair(
    moments: CrossMoments,
    n_components: int,
    *,
    projection: Projection = "orthogonal",
    matched: Sequence[tuple[np.ndarray, np.ndarray]] | None = None,
    n_candidates: int | float = 0.5,
) -> SolverResult:
    r"""Minimise the reconstruction error of a linear code that has no covariance with the sensitive variables.

    With a code :math:`Ax` of d numbers and its reconstruction :math:`BAx` (x centred), the problem is

    .. math:: \min_{A\in\mathbb R^{d\times p},\,B\in\mathbb R^{p\times d}} E\|x-BAx\|^2
              \quad\text{subject to}\quad A\,C=0,\qquad C=\operatorname{Cov}(x,z).

    ``"orthogonal"``: with :math:`B=A^\top` orthonormal, as Kleindessner et al. (2023): PCA in the complement of C.
    ``"oblique"``: over all A and B. The solution is PCA of the linearly erased rows
    (:func:`~fairpca.solvers.erasure.erase_linearly`): :math:`B` holds the leading eigenvectors of
    :math:`P\Sigma P^\top` and :math:`A=B^\top P`. It is never worse than the orthogonal one.

    Parameters
    ----------
    moments : CrossMoments
        From :func:`~fairpca.solvers.erasure.cross_moments`.
    n_components : int
        d, at most p - r, where r directions are excluded.
    projection : {"orthogonal", "oblique"}
        Which maps are allowed.
    matched : sequence of (ndarray of shape (n_groups, p, p), ndarray of shape (n_groups,)), optional
        Covariances of groups, and the shares of these; several pairs for several partitions of the rows. With them
        (orthogonal only) the code's covariances are brought close to each other too: PCA takes only the `n_candidates`
        directions in which the data vary, in the complement of C, that differ least, that is, the smallest eigenvalues
        of :math:`\sum_g w_gT_g^2`, where :math:`T_g` is the compression of :math:`\Sigma_g-\sum_hw_h\Sigma_h`. For
        two groups these are the eigenvalues of :math:`\Sigma_1-\Sigma_0` of smallest magnitude.
    n_candidates : int or float, default=0.5
        How many such directions (an integer), or which share of them (a number up to 1.0); at least d are taken.

    Returns
    -------
    SolverResult
        ``V`` is A', `objective` the mean squared error, `bound` its lower bound (for matched covariances: among the
        candidates): proven if the maps reach it up to 1e-9 of the variance, else, in ill-conditioned data, an estimate;
        there the orthogonal code is returned if the oblique one is worse.
        `extra`: ``decoder`` (B), ``excluded`` (orthonormal basis of the span of C), ``erasure``
        (oblique: P and the numerical rank of Σ), ``candidates`` (their number, with `matched`).
    """
    start = perf_counter()
    check_choice("projection", projection, get_args(Projection))
    S, p, r = moments.covariance, len(moments.covariance), moments.n_directions
    d = check_components(
        n_components,
        p,
        high=p - r,
        why=f"The code must avoid {r} direction(s) in which the sensitive variables show." if r else "",
    )
    total = float(np.trace(S))
    if matched is not None:
        if projection != "orthogonal":
            raise ValueError('covariances are matched with projection="orthogonal" only; leave one of the two out.')
        return _with_covariances(moments, d, matched, n_candidates, start)
    if projection == "orthogonal":
        values, V = avoiding_eigenpairs(S, moments.basis, d)
        kept = float(np.vdot(V, S @ V))
        return _result(V, kept, values, total, start, {"decoder": V, "excluded": moments.basis})
    erasure = erase_linearly(moments)
    after = erasure.covariance_after(S)
    values, B = avoiding_eigenpairs(after, np.linalg.qr(erasure.predictor)[0], d)
    A = erasure.pull_back(B)
    A -= moments.basis @ (moments.basis.T @ A)
    kept, rounding = _kept(S, A, B, np.float64)
    if rounding > 0.1 * _TOLERANCE * total:
        kept, rounding = _kept(S, A, B, np.longdouble)
    extra = {"decoder": B, "excluded": moments.basis, "erasure": erasure}
    if (
        float(values.sum()) - kept + rounding > _TOLERANCE * total
    ):  # too badly conditioned to be sure of the oblique maps
        V = avoiding_eigenpairs(S, moments.basis, d)[1]
        straight = float(np.vdot(V, S @ V))
        if straight > kept:
            return _result(V, straight, values, total, start, extra | {"decoder": V})
    return _result(A, kept, values, total, start, extra, basis="affine", rounding=rounding)


def _kept(S: np.ndarray, A: np.ndarray, B: np.ndarray, precision: type[np.floating[Any]]) -> tuple[float, float]:
    """Return the variance that the maps keep, and a bound on what rounding adds to it.

    Their error is tr (I - BA) Σ (I - BA)', with B'B = I; A' is called A here. Long rows of A cancel in its sums.
    """
    S, A, B = (M.astype(precision) for M in (S, A, B))
    image = S @ A
    terms = np.vdot(2.0 * np.abs(B) + np.abs(A), np.abs(S) @ np.abs(A))
    kept = 2.0 * np.vdot(B, image) - np.vdot(A, image)
    return float(kept), float(len(S) * np.finfo(precision).eps * terms)


def _with_covariances(
    moments: CrossMoments,
    d: int,
    matched: Sequence[tuple[np.ndarray, np.ndarray]],
    n_candidates: int | float,
    start: float,
) -> SolverResult:
    S, Q = moments.covariance, moments.basis
    complement = varying_complement(moments)
    room = complement.shape[1]
    check_components(d, len(S), high=room, why="The data vary in no more directions that match the means.")
    if isinstance(n_candidates, (bool, np.bool_)) or not isinstance(n_candidates, (int, np.integer)):
        check_number("n_candidates", n_candidates, low=0.0, low_open=True, high=1.0)
        wanted = int(n_candidates * room)
    else:
        check_number("n_candidates", n_candidates, low=1, high=room, integer=True)
        wanted = int(n_candidates)
    count = max(wanted, d)
    spread = np.zeros((room, room))
    size = max(float(np.abs(covariances).max()) for covariances, _ in matched) or 1.0  # T is squared
    for covariances, weights in matched:
        shares = weights / weights.sum()
        T = complement.T @ ((covariances - np.tensordot(shares, covariances, axes=1)) / size) @ complement
        spread += np.einsum("g,gij,gjk->ik", shares, T, T, optimize=True)
    differences, directions = np.linalg.eigh(symmetrise(spread))
    # Among directions that differ by no more than rounding the variance decides.
    tied = differences[count - 1] + max(_TIED * float(differences[-1]), _EQUAL)
    count = int(np.searchsorted(differences, tied, side="right"))
    candidates = complement @ directions[:, :count]
    values, W = top_eigenpairs(symmetrise(candidates.T @ S @ candidates), d)
    V = np.linalg.qr(candidates @ W)[0]
    V = np.linalg.qr(V - Q @ (Q.T @ V))[0]
    extra = {"decoder": V, "excluded": Q, "candidates": count}
    return _result(V, float(np.vdot(V, S @ V)), values, float(np.trace(S)), start, extra)


def _result(
    V: np.ndarray,
    kept: float,
    values: np.ndarray,
    total: float,
    start: float,
    extra: dict[str, Any],
    *,
    basis: Literal["orthonormal", "affine"] = "orthonormal",
    rounding: float = 0.0,
) -> SolverResult:
    """Compare the variance that the maps keep, computed from them up to `rounding`, with the eigenvalues above it."""
    most = float(values.sum())
    proved = abs(most - kept) + rounding <= _TOLERANCE * total
    return SolverResult(
        V,
        "optimal" if proved else "converged",
        total - kept,
        bound=consistent_bound(total - kept, total - most, max(rounding, _TOLERANCE * total), proof=proved),
        certificate="proof" if proved else "estimate",
        basis=basis,
        n_iter=1,
        seconds=perf_counter() - start,
        extra=extra,
    )

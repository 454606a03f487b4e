"""Exact fair PCA for three and more groups: spectral bundle over the simplex of weights, then rank reduction."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from fairpca.solvers.minmax._affine import affine_map, basis_kind
from fairpca.solvers.minmax._fantope import solve_fantope_minmax
from fairpca.solvers.minmax._polish import FacePoint, rank_bound
from fairpca.solvers.minmax._problem import certified_status, whole_dual
from fairpca.solvers.result import SolverResult
from fairpca.solvers.spectral.pencil import Pencil, split_ties

__all__ = ["several_groups"]

_TIE = 1e-9  # eigenvalues closer than this share of the norm are refined together
_SHARE = 0.1  # the rounds stop when this share of the tolerance is reached


def several_groups(pencil: Pencil, d: int, objective: str, tol: float, max_iter: int, started: float) -> SolverResult:
    r"""Solve the relaxation (4) for any number of groups and return a solution of lowest rank (Theorem 5.2, sharper).

    The dual :math:`\phi(w) = w'\alpha - \lambda_1(C_w) - \dots - \lambda_d(C_w)` is concave on the simplex but has
    kinks, and its maximum usually sits on one. The bundle is a basis Q that contains the leading eigenvectors at
    every weight tried: restricted to it the problem is a small semidefinite programme, which is solved exactly and
    proposes the next weights; the true eigenvectors there give a lower bound and enlarge Q. When they add nothing
    the small solution is the solution.

    The primal point then loses rank along null vectors of the tight constraints (Tantipongpipat et al. 2019, after
    Pataki 1998) until at most ``floor(sqrt(2 k + 1/4) - 3/2)`` dimensions more than d remain. With fractional
    eigenvalues left, the map returned is the paper's affine one (:func:`fairpca.solvers.minmax._affine.affine_map`).
    """
    small_before, large_before = pencil.n_small, pencil.n_large
    m, p = pencil.n_matrices, pencil.n_features
    floor = 1e-14 * float(pencil.traces.max())
    share = 1.0
    units = list(np.eye(m))
    uniform = np.full(m, 1.0 / m)
    if not pencil.is_dense:
        pencil.keep = [(unit, d) for unit in units]
        pencil.refine([uniform], d, tol=1e-3)
        pencil.refine(units, d)
        pencil.compress([uniform], d)
        # What a multiple of the identity adds to the norm decides nothing: tolerances are relative to the rest.
        share = _anisotropy(pencil)
        pencil.refine(units, d, share * pencil.tol)
    own = [pencil.top_sum(unit, d) for unit in units]
    best = np.array([total for total, _ in own])
    references = pencil.traces if objective == "error" else best
    weights: np.ndarray | None = None
    uppers: list[float] = []
    duals: list[float] = []
    bound = -np.inf
    while True:
        point, steps = solve_fantope_minmax(pencil.small, references, d, start=weights)
        pencil.n_small += steps
        weights = point.weights
        kept, fractions = _directions(point)
        basis = pencil.lift(kept)
        uppers.append(float(point.losses.max()))
        stop = max(split_ties(point.spectrum, d, _TIE * share * abs(float(point.spectrum[0])))[1], kept.shape[1])
        grew = pencil.refine([weights], min(stop, p), share * pencil.tol)
        total, error = pencil.top_sum(weights, d, stop)
        duals.append(float(weights @ references) - total)
        bound = max(bound, duals[-1] - error)
        if not grew or len(uppers) >= max_iter or uppers[-1] - bound <= _SHARE * tol * abs(uppers[-1]):
            break
    if not pencil.is_dense:  # what was estimated until here is proved; own optima from the basis are too small at most
        bound = float(weights @ references) - pencil.top_sum_bound(weights, d)
        if certified_status(uppers[-1], bound, tol, floor) != "optimal":
            bound = max(bound, whole_dual(pencil, weights, references, d))
    extra_dimensions = kept.shape[1] - d
    assert extra_dimensions <= rank_bound(m), f"rank reduction left {extra_dimensions} extra dimensions for {m} groups"
    value = uppers[-1]
    bound = min(bound, value)
    losses = point.losses - references + best
    extra = {
        "weights": weights,
        "losses": losses,
        "errors": losses - best + pencil.traces,
        "best_sums": best,
        "extra_dimensions": extra_dimensions,
        "rank_bound": rank_bound(m),
        "eigenvalues": fractions,
        "basis": basis,
        "rounds": len(uppers),
        "large_solves": pencil.n_large - large_before,
    }
    return SolverResult(
        affine_map(basis, fractions),
        certified_status(value, bound, tol, floor),
        value,
        bound=bound,
        certificate="proof",
        basis=basis_kind(fractions),
        n_iter=pencil.n_small - small_before,
        seconds=perf_counter() - started,
        history={"upper": np.array(uppers), "dual": np.array(duals)},
        extra=extra,
    )


def _anisotropy(pencil: Pencil) -> float:
    """Share of the largest eigenvalue that exceeds the mean; not so small that residuals drown in rounding."""
    tops = np.linalg.eigvalsh(pencil.small)[:, -1]
    size = float(np.abs(tops).max()) or 1.0
    return float(np.clip((tops - pencil.traces / pencil.n_features).max() / size, 1e-5, 1.0))


def _directions(point: FacePoint) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvectors of P with their eigenvalues: ones first, then the fractional ones, descending."""
    if point.fractional.shape[1] == 0:
        return point.ones, np.ones(point.ones.shape[1])
    p, R = np.linalg.eigh(point.block)
    values = np.concatenate((np.ones(point.ones.shape[1]), p[::-1]))
    return np.concatenate((point.ones, point.fractional @ R[:, ::-1]), axis=1), values

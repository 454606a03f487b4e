"""Exact fair PCA for three and more groups: spectral bundle over the simplex of weights, then rank reduction."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np

from fairpca.solvers.minmax._ascent import ExactDimension, with_exact_dimension
from fairpca.solvers.minmax._criteria import Criterion, GeometricMean, WorstGroup
from fairpca.solvers.minmax._newton_polish import FacePoint, rank_bound
from fairpca.solvers.minmax._problem import affine_map, basis_kind, certified_status, oriented, references
from fairpca.solvers.result import CONTRADICTION, SolverResult, consistent_bound
from fairpca.solvers.spectral.pencil import Pencil, split_ties

__all__ = ["several_groups"]

_TIE = 1e-9  # eigenvalues closer than this share of the norm are refined together
_SHARE = 0.1  # the rounds stop when this share of the tolerance is reached


def several_groups(
    pencil: Pencil,
    d: int,
    objective: str,
    tol: float,
    max_iter: int,
    started: float,
    exact: ExactDimension | None = None,
) -> SolverResult:
    r"""Solve the relaxation (4) for any number of groups and return a solution of lowest rank (Theorem 5.2, sharper).

    The dual :math:`\phi(w) = w'\alpha - \lambda_1(C_w) - \dots - \lambda_d(C_w)` is concave on the simplex but has
    kinks, and its maximum usually sits on one. The bundle is a basis Q that contains the leading eigenvectors at
    every weight tried: restricted to it the problem is a small semidefinite programme, which is solved exactly and
    proposes the next weights; the true eigenvectors there give a lower bound and enlarge Q. When they add nothing
    the small solution is the solution.

    The primal point then loses rank along null vectors of the tight constraints (Tantipongpipat et al. 2019, after
    Pataki 1998) until at most ``floor(sqrt(2 k + 1/4) - 3/2)`` dimensions more than d remain. With fractional
    eigenvalues left, the map returned is the paper's affine one
    (:func:`fairpca.solvers.minmax._problem.affine_map`), or with `exact` the best subspace of d dimensions that
    ascents find.
    """
    small_before, large_before = pencil.n_small, pencil.n_large
    m, p = pencil.n_matrices, pencil.n_features
    share = 1.0
    units = list(np.eye(m))
    if not pencil.is_dense:
        even = 1.0 / pencil.traces if objective == "nash" else np.ones(m)
        even /= even.sum()
        pencil.keep = [(unit, d) for unit in units]
        pencil.refine([even], d, tol=1e-3)
        pencil.refine(units, d)
        pencil.compress([even], d)
        # What a multiple of the identity adds to the norm decides nothing: tolerances are relative to the rest.
        share = _anisotropy(pencil)
        pencil.refine(units, d, share * pencil.tol)
    best = np.array([pencil.top_sum(unit, d)[0] for unit in units])
    criterion: Criterion = (
        GeometricMean() if objective == "nash" else WorstGroup(references(objective, pencil.traces, best))
    )
    weights: np.ndarray | None = None
    uppers: list[float] = []
    duals: list[float] = []
    bound = -np.inf
    while True:
        found = criterion.solve(pencil.small, d, weights, pencil.deadline)
        pencil.n_small += found.steps
        weights, spectrum = found.weights, found.point.spectrum
        kept, fractions = _directions(found.point)
        basis = pencil.lift(kept)
        uppers.append(criterion.cost(found.variances))
        stop = max(split_ties(spectrum, d, _TIE * share * abs(float(spectrum[0])))[1], kept.shape[1])
        grew = pencil.refine([weights], min(stop, p), share * pencil.tol)
        total, error = pencil.top_sum(weights, d, stop)
        duals.append(criterion.dual(weights, total))
        bound = max(bound, criterion.dual(weights, total + error))
        unit = criterion.unit(uppers[-1])
        if not grew or len(uppers) >= max_iter or uppers[-1] - bound <= _SHARE * tol * unit or pencil.late:
            break
    value, floor = uppers[-1], criterion.floor(found.variances, pencil.traces)
    if not pencil.is_dense:  # what was estimated until here is proved; own optima from the basis are too small at most
        bound = criterion.dual(weights, pencil.top_sum_bound(weights, d))
        if certified_status(value, bound, tol, floor, unit) != "optimal":
            bound = max(bound, criterion.dual(weights, pencil.whole_top_sum(weights, d)))
    bound = consistent_bound(value, bound, CONTRADICTION * criterion.size(found.variances, pencil.traces))
    status = certified_status(value, bound, tol, floor, unit)
    extra_dimensions = kept.shape[1] - d
    assert extra_dimensions <= rank_bound(m), f"rank reduction left {extra_dimensions} extra dimensions for {m} groups"
    extra = {
        "weights": weights / weights.sum(),
        "losses": best - found.variances,
        "errors": pencil.traces - found.variances,
        "variances": found.variances,
        "best_sums": best,
        "extra_dimensions": extra_dimensions,
        "rank_bound": rank_bound(m),
        "eigenvalues": fractions,
        "basis": basis,
        "rounds": len(uppers),
        "large_solves": pencil.n_large - large_before,
    }
    relaxed = SolverResult(
        affine_map(basis, fractions),
        status,
        certificate="proof",
        basis=basis_kind(fractions),
        n_iter=pencil.n_small - small_before,
        seconds=perf_counter() - started,
        history={"upper": np.array(uppers), "dual": np.array(duals)},
        extra=extra,
        **oriented(objective, value, bound),
    )
    if exact is None or extra_dimensions == 0:
        return relaxed
    result = with_exact_dimension(pencil, relaxed, d, criterion, objective, exact, tol=tol, max_iter=max_iter)
    return replace(result, seconds=perf_counter() - started)


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

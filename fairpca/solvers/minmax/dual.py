"""Exact fair PCA of Samadi et al. (2018) by its dual: a concave function of the groups' weights."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from fairpca._validation import check_number
from fairpca.solvers.minmax._ascent import ExactDimension
from fairpca.solvers.minmax._line_search import LineOptimum, maximise_on_line
from fairpca.solvers.minmax._problem import (
    ROUNDING,
    Objective,
    certified_status,
    check_problem,
    deadline_of,
    only_varying,
    oriented,
    references,
    solve_for_varying,
    told_of_limit,
    trivial_result,
)
from fairpca.solvers.result import CONTRADICTION, SolverResult, consistent_bound
from fairpca.solvers.spectral.pencil import Pencil
from fairpca.solvers.spectral.units import in_units, result_in_units, safe_unit

__all__ = ["solve_minmax", "solve_minmax_path"]

_Ascending = tuple[np.ndarray, np.ndarray]
_BEHIND = 20  # how far behind the last component the spectrum is looked at
_ROUNDS = 30
_FINE = 1e-2
_BOTH = ((1.0, 0.0), (0.0, 1.0))


def solve_minmax(
    moments: np.ndarray,
    n_components: int,
    *,
    objective: Objective = "loss",
    tol: float = 1e-9,
    max_iter: int = 100,
    time_limit: float | None = None,
    pencil: Pencil | None = None,
    exact: ExactDimension | None = None,
) -> SolverResult:
    r"""Minimise the largest loss of any group, exactly.

    With second moments :math:`C_g` and :math:`\alpha_g` the sum of the d largest eigenvalues of :math:`C_g`, the
    problem (Samadi et al., Definition 4.4 with Lemmas 4.6 and 4.7) is

    .. math:: z^* = \min_{V'V = I_d} \max_g \; \alpha_g - \operatorname{tr} V'C_gV
              = \max_{w \in \Delta} \; w'\alpha - \lambda_1(C_w) - \dots - \lambda_d(C_w),
              \quad C_w = \sum_g w_g C_g,

    where the second equality holds for two groups; for more, the right-hand side is the value of the relaxation (4)
    and is attained in d or a few more dimensions. With `exact` the answer has d dimensions nevertheless: the best
    subspace that ascents find (status "converged"), with the relaxation's value as a proven bound.

    Two groups: the dual has one variable t and slope ``loss_0 - loss_1``. A safeguarded Newton iteration finds its
    maximum; where eigenvalues cross there, the space is turned inside the tied eigenspace until the losses are
    equal, so the answer has exactly rank d (no extra dimension: Tantipongpipat et al. 2019).

    Parameters
    ----------
    moments : ndarray of shape (n_groups, p, p)
        Second moment of each group, averaged over its rows and centred as wanted.
    n_components : int
        d.
    objective : {"loss", "error", "variance", "nash"}
        "loss" is the paper's; "error" drops the groups' own optima and takes :math:`\operatorname{tr} C_g` for
        :math:`\alpha_g`. The errors of two groups need not be equal at the optimum (the weight may be 0 or 1).
        "variance" takes 0 for :math:`\alpha_g`: it maximises the least variance that any group keeps. "nash" maximises
        the geometric mean of the variances (Nash welfare). Both look at the groups that vary at all.
    tol : float
        Relative duality gap for status "optimal". The iteration always goes to rounding level.
    max_iter : int
        Decompositions of the working matrices in one search.
    time_limit : float, optional
        Seconds after which nothing more is tried to close the gap; what there is then is proved and returned.
    pencil : Pencil, optional
        To share its basis between calls on the same moments.
    exact : ExactDimension, optional
        How to look for exactly d dimensions where the relaxed solution has more. None returns the relaxed solution.

    Returns
    -------
    SolverResult
        ``objective`` is the largest loss (error), or the least variance or the geometric mean with ``sense="max"``,
        ``bound`` the dual value, ``n_iter`` the decompositions.
        ``extra``: ``weights`` (dual), ``losses``, ``errors``, ``variances``, ``best_sums`` (:math:`\alpha_g`),
        ``extra_dimensions``, ``large_solves``; ``history``: ``t``, ``dual``, ``slope``. Where ascents were made also
        ``relaxed_dimensions`` and ``values``, what each start ended at, and in the history ``ascent``.
    """
    started = perf_counter()
    moments, d = check_problem(moments, n_components, objective)
    check_number("tol", tol, low=0, low_open=True)
    check_number("max_iter", max_iter, low=1, integer=True)
    deadline = deadline_of(time_limit, started)
    unit = safe_unit(np.trace(moments, axis1=1, axis2=2)) if pencil is None else 1.0
    result = _solve(in_units(moments, unit), d, objective, tol, max_iter, pencil, started, deadline, exact)
    return told_of_limit(result_in_units(result, unit, logarithmic=objective == "nash"), deadline)


def _solve(
    moments: np.ndarray,
    d: int,
    objective: Objective,
    tol: float,
    max_iter: int,
    pencil: Pencil | None,
    started: float,
    deadline: float,
    exact: ExactDimension | None,
) -> SolverResult:
    """Solve for moments of any sane size."""
    if d == moments.shape[1]:
        return trivial_result(moments, objective, perf_counter() - started)
    varying = only_varying(objective, moments)
    if objective == "nash" and not moments.any():
        objective = "variance"  # zero too, whatever is kept
    if varying is not None:

        def solve(some: np.ndarray) -> SolverResult:
            return _solve(some, d, objective, tol, max_iter, None, started, deadline, exact)

        return solve_for_varying(moments, d, varying, solve)
    two = len(moments) == 2 and objective != "nash"
    if pencil is None:
        pencil = Pencil(moments, dense_limit=dense_limit(moments, d)) if two else Pencil(moments)
    pencil.deadline = deadline
    if two:
        return TwoGroups(pencil, objective, max_iter).solve(d, tol, started)
    from fairpca.solvers.minmax._groups import several_groups

    return several_groups(pencil, d, objective, tol, max_iter, started, exact)


def dense_limit(moments: np.ndarray, d: int) -> int:
    """Return up to how many features whole decompositions are faster for two groups than a growing basis.

    The basis has to be larger, and is found in more steps, for more components and the slower the eigenvalues behind
    them fall. The numbers were measured for 1 to 30 components of spectra that fall as 0.85^j and 0.97^j.
    """
    p, least = moments.shape[1], 150 + 11 * d
    if not least < p < 1.9 * least:
        return least
    values = np.linalg.eigvalsh(moments.sum(axis=0))[::-1]
    slow = values[min(d + _BEHIND, p) - 1] / values[d - 1] if values[d - 1] > 0 else 0.0
    return int(least * (1 + 1.5 * slow))


def solve_minmax_path(
    moments: np.ndarray,
    n_components: int,
    *,
    objective: Objective = "loss",
    tol: float = 1e-9,
    max_iter: int = 100,
    time_limit: float | None = None,
    exact: ExactDimension | None = None,
) -> list[SolverResult]:
    """Solve :func:`solve_minmax` for d = 1, …, `n_components` with one shared basis and the groups' own spectra once.

    Parameters
    ----------
    moments : ndarray of shape (n_groups, p, p)
        Second moment of each group, averaged over its rows and centred as wanted.
    n_components : int
        The largest dimension.
    objective, tol, max_iter
        As in :func:`solve_minmax`.
    time_limit : float, optional
        Of each dimension, as in :func:`solve_minmax`.
    exact : ExactDimension, optional
        As in :func:`solve_minmax`.

    Returns
    -------
    list of SolverResult
        Element i has dimension i + 1.
    """
    moments, d_max = check_problem(moments, n_components, objective)
    check_number("tol", tol, low=0, low_open=True)
    check_number("max_iter", max_iter, low=1, integer=True)
    deadline_of(time_limit, 0.0)
    inner = min(d_max, moments.shape[1] - 1)
    unit = safe_unit(np.trace(moments, axis1=1, axis2=2))
    moments = in_units(moments, unit)
    pencil = Pencil(moments)
    if len(moments) > 2 or objective == "nash" or only_varying(objective, moments) is not None:
        limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "time_limit": time_limit, "exact": exact}
        results = [solve_minmax(moments, d, objective=objective, pencil=pencil, **limits) for d in range(1, inner + 1)]
    else:
        started = perf_counter()
        pencil.deadline = deadline_of(time_limit, started)
        problem = TwoGroups(pencil, objective, max_iter)
        guesses: list[float | None] = [None] * inner if pencil.is_dense else problem.prepare_path(inner)
        results = []
        for d in range(1, inner + 1):
            found = problem.solve(d, tol, started, start=guesses[d - 1])
            results.append(told_of_limit(found, pencil.deadline))
            started = perf_counter()
            pencil.deadline = deadline_of(time_limit, started)
    if d_max > inner:
        results.append(trivial_result(moments, objective))
    return [result_in_units(result, unit, logarithmic=objective == "nash") for result in results]


class TwoGroups:
    """The two-group problem in a pencil's working coordinates, with the groups' own spectra kept between calls."""

    def __init__(self, pencil: Pencil, objective: str, max_iter: int) -> None:
        self.pencil, self.objective, self.max_iter = pencil, objective, max_iter
        self._version = -1

    def ends(self) -> tuple[_Ascending, _Ascending]:
        """Eigen-decompositions of the second and the first working matrix (t = 0 and t = 1)."""
        if self._version != self.pencil.version:
            self.pencil.n_small += 2
            S0, S1 = self.pencil.small
            self._ends = np.linalg.eigh(S1), np.linalg.eigh(S0)
            self._version = self.pencil.version
        return self._ends

    def own_sums(self, d: int) -> tuple[float, float]:
        """Sum of the `d` largest eigenvalues of each group's matrix."""
        (w1, _), (w0, _) = self.ends()
        return float(w0[-d:].sum()), float(w1[-d:].sum())

    def references(self, d: int) -> tuple[float, float]:
        """What the groups' sums are compared with."""
        best = np.array(self.own_sums(d) if self.objective == "loss" else (0.0, 0.0))
        a0, a1 = references(self.objective, self.pencil.traces, best)
        return float(a0), float(a1)

    def search(self, d: int, start: float | None) -> LineOptimum:
        """Maximise the dual in the working coordinates."""
        a0, a1 = self.references(d)
        S0, S1 = self.pencil.small
        optimum = maximise_on_line(S0, S1, a0, a1, d, start=start, ends=self.ends(), max_iter=self.max_iter)
        self.pencil.n_small += optimum.n_points
        return optimum

    def start_large(self, d: int) -> None:
        """Begin the basis: the middle weight roughly, then the groups' own leading spaces where losses need them."""
        self.pencil.refine([(0.5, 0.5)], d, tol=1e-3)
        if self.objective == "loss":
            self.pencil.keep = [(w, d) for w in _BOTH]
            self.pencil.refine(_BOTH, d)

    def prepare_path(self, d_max: int) -> list[float | None]:
        """Make the basis good at once for all weights that the dimensions will need; return guesses of them.

        Eigenvectors are smooth functions of t, so spaces computed at three Chebyshev nodes of the range of the
        guesses (and at the ends) represent those in between.
        """
        self.start_large(d_max)
        self.pencil.compress([*_BOTH, (0.5, 0.5)], d_max)
        guesses: list[float] = []
        for d in range(1, d_max + 1):
            guesses.append(self.search(d, guesses[-1] if guesses else None).t)
        middle, half = (min(guesses) + max(guesses)) / 2, (max(guesses) - min(guesses)) / 2
        for node in (-(0.75**0.5), 0.0, 0.75**0.5):
            t = middle + half * node
            self.pencil.refine([(t, 1.0 - t)], d_max)
        return list(guesses)

    def proved(self, d: int, optimum: LineOptimum) -> float:
        """Return a proven lower bound: the dual value at the weight found, with what the basis misses there.

        The groups' own optima from the basis are, if anything, too small, and so is the dual value with them.
        """
        if self.pencil.is_dense:
            return optimum.phi
        (a0, a1), t = self.references(d), optimum.t
        pairs = (optimum.values, optimum.vectors)
        return t * a0 + (1.0 - t) * a1 - self.pencil.top_sum_bound((t, 1.0 - t), d, pairs)

    def optimise(self, d: int, tol: float, start: float | None = None) -> tuple[LineOptimum, float]:
        """Maximise the dual, enlarging the basis until it holds the optimal space; return the maximum and its bound."""
        pencil = self.pencil
        floor = ROUNDING * float(pencil.traces.max())
        for tolerance in (pencil.tol, _FINE * pencil.tol):  # a residual enters squared; the finer one is rarely needed
            for _ in range(_ROUNDS):
                optimum = self.search(d, start)
                if not pencil.refine([(optimum.t, 1.0 - optimum.t)], optimum.stop, tolerance):
                    break
                start = optimum.t
            bound = self.proved(d, optimum)
            if certified_status(optimum.phi, bound, 0.5 * tol, 0.5 * floor) == "optimal" or pencil.late:
                return optimum, bound
        # In the proof from the basis rounding is divided by the gap of the spectrum; a whole decomposition has its
        # errors relative to the data's own size, which is what `floor` allows.
        weights = np.array([optimum.t, 1.0 - optimum.t])
        return optimum, max(bound, float(weights @ self.references(d)) - pencil.whole_top_sum(weights, d))

    def solve(self, d: int, tol: float, started: float, start: float | None = None) -> SolverResult:
        """Solve for dimension `d`."""
        pencil = self.pencil
        small_before, large_before = pencil.n_small, pencil.n_large
        if not pencil.is_dense and pencil.version == 0:
            self.start_large(d)
        floor = ROUNDING * float(pencil.traces.max())
        optimum, bound = self.optimise(d, tol, start)
        V = pencil.lift(optimum.V)
        value = float((np.array(self.references(d)) - optimum.sums).max())
        if self.objective != "loss":  # the losses are only reported, but they should be right
            pencil.refine(_BOTH, d)
        errors = pencil.traces - optimum.sums
        losses = np.array(self.own_sums(d)) - optimum.sums
        if self.objective == "loss":
            value = float(losses.max())
        bound = consistent_bound(value, bound, CONTRADICTION * float(pencil.traces.max()))
        visited = np.array(optimum.visited)
        extra = {
            "weights": np.array([optimum.t, 1.0 - optimum.t]),
            "losses": losses,
            "errors": errors,
            "variances": optimum.sums,
            "best_sums": losses + optimum.sums,
            "extra_dimensions": 0,
            "large_solves": pencil.n_large - large_before,
        }
        return SolverResult(
            V,
            certified_status(value, bound, tol, floor),
            certificate="proof",
            n_iter=pencil.n_small - small_before,
            seconds=perf_counter() - started,
            history={"t": visited[:, 0], "dual": visited[:, 1], "slope": visited[:, 2]},
            extra=extra,
            **oriented(self.objective, value, bound),
        )

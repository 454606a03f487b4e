"""MBF-PCA of Lee et al. (AAAI 2022): largest variance subject to a bound on the groups' MMD², from the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Literal

import numpy as np

from fairpca._compiled import warn_without_numba
from fairpca._options import Options
from fairpca._validation import check_number
from fairpca.linalg import orthonormal
from fairpca.solvers.mbf._problem import STATIONARY, Budget, Evaluation, MBFProblem, Term, row_space
from fairpca.solvers.mbf.continuation import solve_continuation
from fairpca.solvers.mbf.paper import REPMSOptions, solve_repms
from fairpca.solvers.mmd.approx import FourierRows, subsampled
from fairpca.solvers.mmd.kernel import WeightedRows, total_mmd2
from fairpca.solvers.result import CONTRADICTION, SolverResult, Status, consistent_bound

__all__ = ["Approximation", "ComparedRows", "MBFSettings", "MBFSolver", "SearchOptions", "solve_mbf"]

MBFSolver = Literal["continuation", "repms"]
Approximation = Literal["subsample", "fourier"]

_INSIDE = 1.0 - 1e-6  # the search aims this far inside τ, so that rounding cannot carry the answer outside
_NOTHING = 1e-6  # share of the variance below which directions without any are returned instead
_ROUNDS, _CLOSE = 6, 0.8  # when an approximate kernel guides the search: rounds, and the share of τ to come near to
_FOURIER_PAYS = 100  # rows for each frequency from which on a sine and a cosine cost less than the exact kernel
_REACH = 1e30  # largest ratio of distances to σ, or of σ to them, whose powers the search can hold
_SIZES: dict[Approximation, int] = {"subsample": 5000, "fourier": 256}


@dataclass(frozen=True)
class ComparedRows:
    """Rows and groups whose distributions one term of the constraint compares."""

    rows: np.ndarray
    codes: np.ndarray


@dataclass(frozen=True)
class SearchOptions(Options):
    """Switches of the search that the estimator and :func:`solve_mbf` share, see :class:`~fairpca.MBFPCA`."""

    approximation: Approximation | None = None
    approximation_size: int | None = None
    tol: float = 1e-6
    max_iter: int = 50000
    time_limit: float | None = None
    verbose: int = 0

    def check(self) -> None:
        """Raise for values out of range."""
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, low=0, low_open=True)
        if self.approximation_size is not None:
            check_number("approximation_size", self.approximation_size, low=4, integer=True)
        check_number("tol", self.tol, low=0, low_open=True)
        check_number("max_iter", self.max_iter, low=1, integer=True)

    def approximation_for(self, n_rows: int) -> tuple[Approximation, int] | None:
        """Return kind and size of the approximation for so many rows; None where the exact kernel costs less."""
        if self.approximation is None:
            return None
        size = _SIZES[self.approximation] if self.approximation_size is None else self.approximation_size
        pays = n_rows > size * (1 if self.approximation == "subsample" else _FOURIER_PAYS)
        return (self.approximation, size) if pays else None


@dataclass(frozen=True)
class MBFSettings(SearchOptions):
    """Options of :func:`solve_mbf`, see :class:`~fairpca.MBFPCA`."""

    solver: MBFSolver = "continuation"
    repms: REPMSOptions = field(default_factory=REPMSOptions)
    n_starts: int | None = None
    n_threads: int = 1
    random_state: int = 0


@dataclass
class _Reduced:
    """Centred data in working coordinates: basis, spectrum and rank, and how to build a term there.

    Lengths are divided by `unit`, a power of two near the largest standard deviation, so that nothing is rounded and
    no square can overflow.
    """

    X: np.ndarray
    unit: float
    basis: np.ndarray
    spectrum: np.ndarray
    rank: int
    covariance: np.ndarray
    total: float

    @classmethod
    def of(cls, X: np.ndarray, covariance: np.ndarray | None, n_components: int) -> _Reduced:
        if covariance is None:
            X = X - X.mean(axis=0)
            covariance = X.T @ X / len(X)
        unit = float(2.0 ** np.round(np.log2(np.sqrt(np.diagonal(covariance).max()))))
        X, covariance = X / unit, covariance / unit / unit
        basis, spectrum, rank = row_space(covariance, n_components)
        return cls(X, unit, basis, spectrum, rank, covariance, float(np.trace(covariance)))

    def check_bandwidth(self, sigma: float) -> None:
        """Raise where σ and the distances differ by more than can be computed."""
        lengths = np.linalg.norm(self.X, axis=1)
        farthest = int(np.argmax(lengths))
        if not 1 / _REACH < lengths[farthest] / sigma < _REACH:
            raise ValueError(
                f"the bandwidth {sigma * self.unit:.3g} is out of proportion to the data: row {farthest} lies "
                f"{lengths[farthest] * self.unit:.3g} from the mean. Remove rows that are errors, or choose a "
                "bandwidth of the order of the distances."
            )

    def exact(self, comparison: ComparedRows) -> WeightedRows:
        return WeightedRows.from_groups(self.X[comparison.rows], comparison.codes)

    def inside(self, term: WeightedRows) -> WeightedRows:
        """Return a term in working coordinates; coordinates without variance are exactly zero."""
        coordinates = term.X @ self.basis
        coordinates[:, self.rank :] = 0.0
        return WeightedRows(coordinates, term.C)


def _search_terms(
    reduced: _Reduced, comparisons: Sequence[ComparedRows], exact: list[WeightedRows], d: int, settings: MBFSettings
) -> list[Term]:
    approximation = settings.approximation_for(len(reduced.X))
    if approximation is None:
        return [reduced.inside(term) for term in exact]
    kind, size = approximation
    terms: list[Term] = []
    for comparison in comparisons:
        rows = reduced.X[comparison.rows] @ reduced.basis
        rows[:, reduced.rank :] = 0.0
        if kind == "subsample":
            terms.append(subsampled(rows, comparison.codes, size, settings.random_state))
        else:
            terms.append(FourierRows.from_groups(rows, comparison.codes, d, size, settings.random_state))
    return terms


@dataclass
class _Outcome:
    """What a search leaves behind."""

    at: Evaluation
    starts: int
    exhausted: bool
    late: bool = False


def _search(problem: MBFProblem, settings: MBFSettings, reduced: _Reduced, start: np.ndarray | None) -> _Outcome:
    """Run one solver; whatever ends it, the best that was seen is kept, PCA first of all."""
    problem.evaluate(problem.pca())
    starts, exhausted = 0, False
    returned: Evaluation | None = None
    try:
        if settings.solver == "repms":
            V = solve_repms(problem, settings.repms, settings.random_state, reduced.total, reduced.basis)
            returned, starts = problem.evaluate(V), 1
        else:
            returned, starts = solve_continuation(problem, settings.n_starts, settings.random_state, start)
    except Budget:
        exhausted = True
    best = returned or problem.record.feasible or problem.record.fairest
    assert best is not None
    return _Outcome(best, starts, exhausted, exhausted and problem.record.n_iter < settings.max_iter)


def solve_mbf(
    X: np.ndarray,
    comparisons: Sequence[ComparedRows],
    n_components: int,
    tau: float,
    sigma: float,
    settings: MBFSettings | None = None,
    *,
    covariance: np.ndarray | None = None,
) -> SolverResult:
    """Solve ``max tr V'ΣV  subject to  V'V = I,  h(V) <= τ`` (Eq. (8) of Lee et al., tolerance of Definition 8).

    h is the sum over `comparisons` of the squared MMD (biased, Gaussian kernel of width σ) between the projected
    groups. Identical rows are merged, the problem is reduced to the row space plus as many directions without
    variance as a solution can use, and both steps are undone in the answer: they are exact.

    The continuation first asks whether PCA meets τ, and then PCA is the optimum. Directions without variance (of data
    whose rank is less than p) have no MMD and count as feasible: where there are d of them the problem is never
    infeasible, and they are returned if nothing better was found. Algorithm 1 runs as it is published, without either.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Rows; they are not scaled, and centred here unless `covariance` is given.
    comparisons : sequence of ComparedRows
        One for demographic parity and equal opportunity, one for each class for equalised odds.
    n_components : int
        Dimension d.
    tau : float
        Tolerance τ on h.
    sigma : float
        Bandwidth σ.
    settings : MBFSettings, optional
        Solver, starts, budget, approximation.
    covariance : ndarray of shape (p, p), optional
        Population covariance of rows that are centred already, where it is known.

    Returns
    -------
    SolverResult
        ``objective`` is tr V'ΣV, to be maximised (population covariance); ``bound`` is that of PCA, which no subspace
        exceeds. The status is ``"optimal"`` (PCA itself has h <= τ), ``"converged"`` (h <= τ, evaluated exactly on
        all rows, and a relative KKT residual of at most 1e-3), ``"max_iter"`` (h <= τ, but the budget ended the
        search, or the residual is larger), ``"not_found"`` (no point of the search has h <= τ, which does not prove
        that there is none; `V` has the smallest h found) or ``"infeasible"`` (d = p, so that the whole space is the
        only subspace, and its h is larger than τ). ``extra`` has ``mmd2``, ``tau``, ``sigma``, ``variance_ratio``,
        ``n_evaluations``, ``n_starts``, ``rank``, ``kkt_residual`` (norm of the
        Lagrangian's gradient on the Grassmannian, with the least-squares multiplier, over that of the variance), and
        ``mmd2_approximate`` with an approximate kernel; ``history`` the solved subproblems.
    """
    settings = MBFSettings() if settings is None else settings
    began = perf_counter()
    warn_without_numba()
    # Algorithm 1 works in all of the features' space, the continuation where a solution can lie.
    reduced = _Reduced.of(X, covariance, X.shape[1] if settings.solver == "repms" else n_components)
    sigma = sigma / reduced.unit
    reduced.check_bandwidth(sigma)
    exact = [reduced.exact(comparison) for comparison in comparisons]
    terms = _search_terms(reduced, comparisons, exact, n_components, settings)

    def lifted(V: np.ndarray) -> np.ndarray:
        return orthonormal(reduced.basis @ V)

    def exact_mmd2(V: np.ndarray) -> float:
        value = max(total_mmd2(exact, V, sigma, settings.n_threads), 0.0)
        if settings.verbose:
            print(f"[MBFPCA] {perf_counter() - began:7.2f} s  exact kernel on all rows: MMD² {value:9.3e}", flush=True)
        return value

    def problem_at(target: float) -> MBFProblem:
        return MBFProblem(
            reduced.spectrum,
            reduced.rank,
            terms,
            sigma,
            n_components,
            target,
            tol=settings.tol,
            max_iter=settings.max_iter,
            deadline=np.inf if settings.time_limit is None else began + settings.time_limit,
            n_threads=settings.n_threads,
            verbose=settings.verbose,
        )

    problem = problem_at(tau * _INSIDE)
    if settings.verbose:
        size = ", ".join(str(len(term.X)) for term in exact)
        print(
            f"[MBFPCA] {perf_counter() - began:7.2f} s  kernel of {size} different rows, rank {reduced.rank}",
            flush=True,
        )
    optimal = settings.solver == "continuation" and exact_mmd2(lifted(problem.pca())) <= tau
    evaluations = steps = 0
    if optimal:
        outcome = _Outcome(problem.evaluate(problem.pca()), 0, False)
    else:
        outcome = _search(problem, settings, reduced, None)
        evaluations, steps = problem.record.n_evaluations, problem.record.n_iter
    extra: dict[str, Any] = {}
    if settings.approximation_for(len(X)) is not None and not optimal:
        outcome, problem, counts = _guided(problem, outcome, problem_at, settings, reduced, lifted, exact_mmd2, tau)
        extra["mmd2_approximate"] = outcome.at.h
        evaluations, steps = evaluations + counts[0], steps + counts[1]
    V = lifted(outcome.at.V)
    mmd2 = exact_mmd2(V)
    nothing = mmd2 > tau or outcome.at.variance < _NOTHING
    if nothing and settings.solver == "continuation" and problem.size - problem.rank >= n_components:
        null = problem.evaluate(np.eye(problem.size)[:, problem.rank :][:, :n_components])
        outcome, V = replace(outcome, at=null), lifted(null.V)
        mmd2 = exact_mmd2(V)
    variance = float(np.vdot(V, reduced.covariance @ V))
    most = float(reduced.spectrum[:n_components].sum())
    ceiling = -consistent_bound(-variance, -most, CONTRADICTION * float(reduced.total))
    unfinished = outcome.exhausted or outcome.at.kkt_residual > STATIONARY
    status: Status = "max_iter" if unfinished else "converged"
    if mmd2 > tau:
        status = "infeasible" if n_components == X.shape[1] else "not_found"
    if optimal:
        status = "optimal"
    extra |= {
        "mmd2": mmd2,
        "tau": tau,
        "sigma": sigma * reduced.unit,
        "variance_ratio": variance / reduced.total,
        "n_evaluations": evaluations,
        "n_starts": outcome.starts,
        "rank": reduced.rank,
        "kkt_residual": outcome.at.kkt_residual,
    }
    message = _message(status, mmd2, tau, outcome, settings, reduced.rank, n_components)
    if message:
        extra["message"] = message
    return SolverResult(
        V,
        status,
        variance * reduced.unit**2,
        bound=ceiling * reduced.unit**2,
        sense="max",
        certificate="proof",
        n_iter=steps,
        seconds=perf_counter() - began,
        history=problem.summary(),
        extra=extra,
    )


def _guided(
    problem: MBFProblem,
    outcome: _Outcome,
    problem_at: Callable[[float], MBFProblem],
    settings: MBFSettings,
    reduced: _Reduced,
    lifted: Callable[[np.ndarray], np.ndarray],
    exact_mmd2: Callable[[np.ndarray], float],
    tau: float,
) -> tuple[_Outcome, MBFProblem, tuple[int, int]]:
    """Move the target of the approximate kernel until the exact kernel just meets τ, a few rounds at most.

    The first search took all starts; the others go on from where the last one ended.
    """
    starts, evaluations, steps = outcome.starts, 0, 0
    missed, met = np.inf, 0.0  # the smallest target that missed τ, and the largest that met it
    target, worth, best = problem.tau, -np.inf, (outcome, problem)
    once = replace(settings, n_starts=1)
    for number in range(_ROUNDS):
        if number:
            problem = problem_at(target)
            outcome = _search(problem, once, reduced, outcome.at.V)
            evaluations, steps = evaluations + problem.record.n_evaluations, steps + problem.record.n_iter
        value = exact_mmd2(lifted(outcome.at.V))
        found = outcome.at.variance if value <= tau else -value
        if found > worth:
            worth, best = found, (outcome, problem)
        hopeless = value > tau and outcome.at.h > target
        if outcome.exhausted or hopeless or _CLOSE * tau <= value <= tau:
            break
        # An approximation may differ from h by an offset or by a factor; the larger correction is the safer one.
        if value > tau:
            missed = min(missed, target)
            target = max(min(0.95 * target * tau / value, target - 1.1 * (value - tau)), 0.05 * target)
        else:
            met = max(met, target)
            target = min(target * tau / max(value, 1e-300), outcome.at.h + tau - value) - 0.05 * tau
        if not met < target < missed:
            target = float(np.sqrt(met * missed)) if np.isfinite(met * missed) else target
    # Whichever round is returned, the search as a whole ended as its last round did.
    return replace(outcome, at=best[0].at, starts=starts), best[1], (evaluations, steps)


def _message(
    status: str, mmd2: float, tau: float, outcome: _Outcome, settings: MBFSettings, rank: int, d: int
) -> str | None:
    if status in ("optimal", "converged"):
        return None
    if status == "infeasible":
        begin = "no subspace has MMD² <= tau, because all columns are kept and the whole space is the only one"
    elif outcome.exhausted:
        begin = f"stopped at its budget of max_iter={settings.max_iter} steps; raise it"
        if outcome.late:
            begin = "stopped at its time limit; raise time_limit"
    elif mmd2 <= tau:
        begin = f"ended where the variance is not stationary: relative KKT residual {outcome.at.kkt_residual:.1e}"
    elif settings.solver == "repms":
        begin = "Algorithm 1 ended at an iterate that violates its constraint; solver='continuation' may do better"
    else:
        begin = f"no subspace with MMD² <= tau was found from {outcome.starts} starts"
    if mmd2 <= tau:
        return f"{begin} (MMD² {mmd2:.3e} <= tau={tau:g})"
    hints = ["raise tau"]
    if d > 1:
        nearly_all = f" ({d} of them keep nearly all of the {rank} dimensions of the data)" if d >= rank - 1 else ""
        hints.append(f"choose fewer than {d} components{nearly_all}")
    if status == "not_found":
        hints.append("try more n_starts")
    return f"{begin}: the MMD² of the result is {mmd2:.3e} > tau={tau:g}; {', or '.join(hints)}"

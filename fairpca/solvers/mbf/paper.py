"""Algorithm 1 of Lee et al. (REPMS for MBF-PCA): as printed, and with the choices of the published code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from fairpca._options import Options
from fairpca._validation import check_choice, check_number
from fairpca.linalg import subspace_distance
from fairpca.solvers.manifold.rbfgs import stiefel_rbfgs
from fairpca.solvers.mbf._problem import MBFProblem

__all__ = ["REPMSOptions", "REPMSVariant", "solve_repms"]

REPMSVariant = Literal["lee2022_code", "printed"]


@dataclass(frozen=True)
class REPMSOptions(Options):
    """Choices of Algorithm 1; the defaults are those of the published code.

    Attributes
    ----------
    start : {"auxiliary", "pca", "random"}
        V_0: the minimiser of h alone from the random frame of largest variance among eleven (code); PCA, as in the
        runs whose loadings the authors stored for Table 1 (a line that the code has turned off); or random.
    rho_start : float
        ρ_0 times h at the PCA subspace: 1 or 0.1 in the code, depending on the experiment; absent from the paper.
    objective : {"normalised", "covariance"}
        Whether f is divided by tr Σ (code) or not (paper, Eq. (8)).
    rho_limit : {"stop", "clamp"}
        The code stops, improperly, after a subproblem with a penalty beyond ρ_max; the paper keeps ρ_max.
    distance : {"frobenius", "grassmann"}
        The stopping test on successive iterates; f and h depend on the span only, so that the Frobenius distance of
        paper and code can block on a mere rotation.
    keep : {"last", "best"}
        Returned iterate: the last (paper and code), or the best feasible one seen.
    rho_factor, rho_max : float
        θ_ρ and ρ_max.
    epsilon_start, epsilon_min, epsilon_factor : float
        ε_0, ε_min and θ_ε of the tolerances of the subproblems.
    distance_min : float
        d_min.
    max_outer, max_inner : int
        K, and the cap on the steps of a subproblem (the cap is only in the code).
    """

    start: Literal["auxiliary", "pca", "random"] = "auxiliary"
    rho_start: float = 1.0
    objective: Literal["normalised", "covariance"] = "normalised"
    rho_limit: Literal["stop", "clamp"] = "stop"
    distance: Literal["frobenius", "grassmann"] = "frobenius"
    keep: Literal["last", "best"] = "last"
    rho_factor: float = 2.0
    rho_max: float = 1e10
    epsilon_start: float = 1e-1
    epsilon_min: float = 1e-6
    epsilon_factor: float = 0.1
    distance_min: float = 1e-6
    max_outer: int = 100
    max_inner: int = 300

    def check(self) -> None:
        """Raise for values out of range."""
        for name in ("rho_start", "rho_max", "epsilon_start", "epsilon_min", "distance_min"):
            check_number(name, getattr(self, name), low=0, low_open=True)
        check_number("rho_factor", self.rho_factor, low=1, low_open=True)
        check_number("epsilon_factor", self.epsilon_factor, low=0, high=1, low_open=True, high_open=True)
        check_number("max_outer", self.max_outer, low=1, integer=True)
        check_number("max_inner", self.max_inner, low=1, integer=True)

    @classmethod
    def named(cls, variant: REPMSVariant, changes: Mapping[str, Any] | REPMSOptions | None = None) -> REPMSOptions:
        """Return the choices of a variant with some of them changed (all of them, where `changes` is complete)."""
        check_choice("variant", variant, get_args(REPMSVariant))
        if isinstance(changes, Mapping):
            printed = cls(start="pca", objective="covariance", rho_limit="clamp")
            return cls.of(asdict(cls() if variant == "lee2022_code" else printed) | dict(changes))
        return cls.named(variant, {}) if changes is None else cls.of(changes)


_AUXILIARY = {"tolerance": 1e-6, "max_steps": 500, "relative": True}  # ROPTLIB's defaults, which the program leaves


def _start(
    options: REPMSOptions, problem: MBFProblem, rng: np.random.Generator, minimise: Callable[..., np.ndarray]
) -> np.ndarray:
    if options.start == "pca":
        return problem.pca()
    frames = [problem.random(rng) for _ in range(11)]
    if options.start == "random":
        return frames[0]
    widest = max(frames, key=lambda V: float(problem.spectrum @ np.sum(V * V, axis=1)))
    return minimise(widest, weight=0.0, rho=1.0, **_AUXILIARY)


def solve_repms(
    problem: MBFProblem,
    options: REPMSOptions,
    random_state: int,
    total_variance: float,
    basis: np.ndarray | None = None,
) -> np.ndarray:
    """Run Algorithm 1 of Lee et al. on the Stiefel manifold and return the iterate that it returns.

    Parameters
    ----------
    problem : MBFProblem
        The problem, Eq. (8), with its tolerance τ.
    options : REPMSOptions
        The choices that the paper leaves open, or in which paper and code differ.
    random_state : int
        Seed of the random starts.
    total_variance : float
        tr Σ, the factor between the two objectives.
    basis : ndarray of shape (p, p), optional
        The problem's working coordinates. The steps are taken in the coordinates of the features, as in the program:
        how vectors are transported depends on them. Without it the steps are taken in the working coordinates.

    Returns
    -------
    ndarray of shape (q, d)
        Not necessarily feasible: the last iterate, unless ``options.keep`` says otherwise.
    """
    rng = np.random.default_rng(random_state)
    turn = np.eye(problem.size) if basis is None else basis
    weight = 1.0 if options.objective == "normalised" else total_variance
    rho = options.rho_start / max(problem.evaluate(problem.pca()).h, 1e-12)

    def minimise(V: np.ndarray, *, weight: float, rho: float, **stop: Any) -> np.ndarray:
        def cost(V: np.ndarray) -> tuple[float, np.ndarray]:
            e = problem.evaluate(turn.T @ V)
            return rho * e.h - weight * e.variance, turn @ (rho * e.h_slope - weight * e.variance_slope)

        return turn.T @ stiefel_rbfgs(cost, turn @ V, callback=problem.spend, **stop)

    V = _start(options, problem, rng, minimise)
    epsilon = options.epsilon_start
    for _ in range(options.max_outer + 1):
        new = minimise(V, weight=weight, rho=rho, tolerance=epsilon, max_steps=options.max_inner)
        e = problem.evaluate(new)
        problem.log("REPMS", rho, e)
        moved = subspace_distance(new, V) if options.distance == "grassmann" else float(np.linalg.norm(new - V))
        V = new
        if moved <= options.distance_min and epsilon <= options.epsilon_min and e.h <= problem.tau:
            break
        if options.rho_limit == "stop" and rho > options.rho_max:
            break
        epsilon = max(options.epsilon_min, options.epsilon_factor * epsilon)
        if e.h > problem.tau:
            rho *= options.rho_factor
            rho = rho if options.rho_limit == "stop" else min(rho, options.rho_max)
    best = problem.record.feasible
    return best.V if options.keep == "best" and best is not None else V

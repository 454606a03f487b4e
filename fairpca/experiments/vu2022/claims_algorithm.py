"""Verdicts on what Vu et al. (2022) prove about their objective and Algorithm 1, by attempts to find a violation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from fairpca.experiments.engine.verdicts import Verdict, as_records, judge_theorem, register_claims
from fairpca.experiments.vu2022.theory import convergence, plane_problem, random_problem, steepest_secant
from fairpca.linalg import orthonormal
from fairpca.solvers.rfpca import ComplementObjective, polar_factor, solve_rfpca

__all__ = ["run_claims"]

_PENALTIES = (0.5, 1.0, 1.5, 2.0, 2.5)  # the paper's grid without zero


def _start(rng: np.random.Generator, problem: ComplementObjective) -> np.ndarray:
    return orthonormal(rng.standard_normal((problem.moments.shape[1], problem.columns)))


def _printed_subgradient(problem: ComplementObjective, U: np.ndarray) -> tuple[int, np.ndarray]:
    """Lemma 4.1 as printed: the active group and the Riemannian subgradient."""
    a = int(problem.values(U).argmax())
    b = 1 - a
    s, e = problem.errors(U), np.sqrt(problem.eps)
    theta, vartheta = 2 * abs(problem.shares[a] + problem.lam) * e[a], 2 * abs(problem.shares[b] - problem.lam) * e[b]
    G = theta / np.sqrt(s[a]) * problem.moments[a] + vartheta / np.sqrt(s[b]) * problem.moments[b]
    G = G + 2 * problem.quadratic[a]
    return a, G @ U - U @ (U.T @ G @ U)


def _subgradient(rng: np.random.Generator) -> Iterator[Verdict]:
    """Compare the formula with difference quotients of the active piece, and of F itself, along tangents."""
    step, pieces, rises, active = 1e-6, [], [], [0, 0]
    for lam in (0.1, *_PENALTIES):
        for _ in range(20):
            problem = random_problem(rng, lam)
            U = _start(rng, problem)
            a, gradient = _printed_subgradient(problem, U)
            active[a] += 1
            tangent = rng.standard_normal(U.shape)
            tangent -= U @ (U.T @ tangent + tangent.T @ U) / 2
            tangent /= np.linalg.norm(tangent)
            ahead, behind = (problem.values(polar_factor(U + sign * step * tangent)) for sign in (1, -1))
            slope, size = float(np.sum(gradient * tangent)), problem.lipschitz
            pieces.append(abs((ahead[a] - behind[a]) / (2 * step) - slope) / size)
            rises.append((slope - (ahead.max() - problem.values(U).max()) / step) / size)
    wrong = sum(piece >= 1e-6 or rise >= 1e-4 for piece, rise in zip(pieces, rises, strict=True))
    yield judge_theorem(
        "lemma4.1-subgradient",
        f"{len(pieces)} instances ({active[0]} and {active[1]} with F_0 and F_1 active): differences along tangents "
        f"agree to {max(pieces):.0e} of the Lipschitz constant",
        violations=wrong,
        attempts=len(pieces),
        kind="differences along random tangents",
        proof="vu2022/subgradient",
        reason="In some instance the formula is off.",
    )


def _chord_is_below(problem: ComplementObjective) -> bool:
    """Look for a chord of F below F: along eigenvectors of C_a with negative eigenvalue, from short to long."""
    unit = np.zeros((1, problem.columns))
    unit[0, 0] = 1.0
    for C in problem.quadratic:
        w, Q = np.linalg.eigh(C)
        for x in Q.T[w < 0]:
            for length in 10.0 ** np.arange(-2, 5):
                near, far = length * x[:, None] * unit, 3 * length * x[:, None] * unit
                ends = (problem.values(near).max() + problem.values(far).max()) / 2
                if problem.values((near + far) / 2).max() > ends + 1e-9 * abs(ends):
                    return True
    return False


def _convexity(rng: np.random.Generator) -> Iterator[Verdict]:
    trials, found = 20, {}
    for lam in (None, *_PENALTIES):
        problems = [random_problem(rng, 0.0 if lam is None else lam) for _ in range(trials)]
        if lam is None:  # the largest penalty of condition (i)
            problems = [
                ComplementObjective(p.moments, p.shares, p.n_components, float(p.shares.min()), p.eps) for p in problems
            ]
        found["the smaller share" if lam is None else f"{lam:g}"] = sum(_chord_is_below(p) for p in problems)
    text = "instances with a chord below F, by penalty: " + ", ".join(f"{k}: {v} of {trials}" for k, v in found.items())
    note = "Convex where both matrices C_a are positive semidefinite; only weakly convex in general."
    yield judge_theorem(
        "sec4.1-convex",
        text,
        violations=sum(found.values()),
        attempts=trials * len(found),
        kind="chords along eigenvectors of negative curvature, from short to long",
        reason=note if found["the smaller share"] == 0 else "F is not convex.",
    )


def _lipschitz(rng: np.random.Generator) -> Iterator[Verdict]:
    """Search secants that are steeper than the constant (9); the constant with the terms added is put to the same."""
    ratios, repaired = {}, []
    for lam in (None, *_PENALTIES):
        ratio, problem, _ = steepest_secant(rng, lam, tries=8)
        ratios["the smaller share" if lam is None else f"{lam:g}"] = ratio
        repaired.append(ratio * problem.printed_lipschitz / problem.lipschitz)
    for _ in range(500):
        problem = random_problem(rng, float(rng.choice(_PENALTIES)))
        A, B = _start(rng, problem), _start(rng, problem)
        rise = abs(problem.values(A).max() - problem.values(B).max())
        repaired.append(rise / (problem.lipschitz * np.linalg.norm(A - B)))
    steepest = ", ".join(f"{name}: {ratio:.2f}" for name, ratio in ratios.items())
    broken = [name for name, ratio in ratios.items() if ratio > 1 + 1e-6]
    yield judge_theorem(
        "lemma4.2-lipschitz",
        f"steepest secant found over the printed constant, by penalty: {steepest}; "
        f"over the constant with the terms added at most {max(repaired):.2f}",
        violations=len(broken),
        attempts=len(ratios),
        kind="searches for the steepest secant, one a penalty",
        reason=f"For penalties {', '.join(broken)} a secant exceeds the constant: it takes the maximum of terms that "
        "are added. The sum is valid, and needs no positive definite moments.",
    )


_LENGTHS = (10, 100, 1000)


def _rate(rng: np.random.Generator) -> Iterator[Verdict]:
    """Theorem 4.3 is an inequality for every instance, start and number of steps: one run that violates it refutes it.

    Besides runs of all lengths a search makes the measure large against the bound, in the plane with few steps.
    """
    runs: list[Any] = []
    for scale in (0.1, 1.0, 10.0):
        for lam in (0.2, 1.0, 2.5):
            problem = random_problem(rng, lam, scale)
            starts = [_start(rng, problem) for _ in range(3)]
            runs.append(convergence(problem, starts, _LENGTHS).assign(instance=len(runs)))
    table: Any = pd.concat(runs, ignore_index=True)
    if (table["margin"] < 0).any() or (table["gap"] > 1e-6 * table["L"]).any():
        raise RuntimeError("a proximal point was not certified; the measure of Theorem 4.3 is unknown there.")
    share = table["measure"] / table["bound"]
    worst = share.groupby(table["constant"]).max()
    own = table[table["constant"] == "printed"]
    best = own.pivot_table(index=["instance", "start"], columns="steps", values="measure")
    exponents = np.log(best[_LENGTHS[-1]] / best[_LENGTHS[0]]) / np.log((_LENGTHS[-1] + 1) / (_LENGTHS[0] + 1))
    violated = int((share[table["constant"] == "printed"] > 1).sum())
    searched, tried = _largest_share(rng)
    yield judge_theorem(
        "thm4.3-rate",
        f"{len(own)} runs ({len(runs)} instances, 3 starts, {', '.join(map(str, _LENGTHS))} steps): smallest gap at "
        f"most {worst['printed']:.2f} of the bound, {worst['repaired']:.2f} with a valid Lipschitz constant; searched "
        f"in the plane {searched:.2f}; observed exponents {exponents.min():.2f} to {exponents.max():.2f} (bound: "
        "-0.25)",
        violations=violated + int(searched > 1),
        attempts=len(own) + tried,
        kind=f"runs on random instances, and {tried} steps of searches for the largest share of the bound",
        reason="Some run is above the bound with the constant (9).",
        note="Its constant is that of Lemma 4.2, which is refuted: what chapter `vu2022/convergence` proves is the "
        "theorem with a valid one, and, where F is convex, with the printed one.",
    )

    # At a minimiser the gap is zero, whatever mu is; the formula of Lemma 4.1 need not be.
    kinks = []
    for _ in range(10):
        problem = random_problem(rng, 1.0)
        optimum = solve_rfpca(
            problem.moments, problem.shares, problem.n_components, problem.lam, problem.eps, variant="printed"
        )
        U = np.linalg.qr(optimum.V, mode="complete")[0][:, problem.n_components :]
        point = problem.proximal_points(U[None], 1 / (4 * problem.lipschitz))
        kinks.append((float(np.linalg.norm(problem.subgradient(U))), float(point.measure[0])))
    exceeded = sum(norm > 10 * measure + 1e-6 for norm, measure in kinks)
    looked = len(own) + len(kinks)
    yield judge_theorem(
        "sec4.4-gap",
        f"violated at {100 * own['excess'].mean():.0f} % of the iterates looked at and at {exceeded} of {len(kinks)} "
        f"optima; at the proximal point the norm is at most {own['nearby'].max():.3f} of the gap",
        violations=int((own["excess"] > 0).sum()) + exceeded,
        attempts=looked,
        kind="runs of Algorithm 1, optima on the kink",
        reason="The bound is on a subgradient at the proximal point, not at U: the gap is zero at every optimum, the "
        "formula of Lemma 4.1 is not where the optimum lies on the kink.",
    )


_SEARCHES, _SEARCH_STEPS = 3, 40


def _largest_share(rng: np.random.Generator) -> tuple[float, int]:
    """Search lines in the plane for the largest share of the printed bound after ten steps; returns also how many."""
    tried = 0

    def short(x: np.ndarray) -> float:
        nonlocal tried
        tried += 1
        problem, U = plane_problem(x, float(_PENALTIES[-1]))
        table = convergence(problem, [U], _LENGTHS[:1], evaluated=4)
        table = table[table["constant"] == "printed"]
        return -float((table["measure"] / table["bound"]).max()) if len(table) else 0.0

    options = {"maxiter": _SEARCH_STEPS, "maxfev": _SEARCH_STEPS}
    starts = 1.5 * rng.standard_normal((_SEARCHES, 9))
    found = [minimize(short, start, method="Nelder-Mead", options=options).fun for start in starts]
    return -float(min(found)), tried


def _polar(rng: np.random.Generator) -> Iterator[Verdict]:
    """Retraction: orthonormal values, and U + t D + o(t) along a tangent D. Then the formula is iterated."""
    orthonormality, first_order = [], []
    for _ in range(100):
        p = int(rng.integers(2, 8))
        U = orthonormal(rng.standard_normal((p, int(rng.integers(1, p)))))
        tangent = rng.standard_normal(U.shape)
        tangent -= U @ (U.T @ tangent + tangent.T @ U) / 2
        W = _formula_8(U, tangent)
        orthonormality.append(np.linalg.norm(W.T @ W - np.eye(U.shape[1])))
        step = 1e-6
        first_order.append(np.linalg.norm((_formula_8(U, step * tangent) - U) / step - tangent))
    U = orthonormal(rng.standard_normal((5, 3)))
    for _ in range(100):
        tangent = rng.standard_normal(U.shape)
        tangent -= U @ (U.T @ tangent)
        U = _formula_8(U, tangent)
    drift = float(np.linalg.norm(U.T @ U - np.eye(U.shape[1])))
    text = (
        f"100 steps from orthonormal points: orthonormal to {max(orthonormality):.0e}, first order to "
        f"{max(first_order):.0e}; iterated 100 times, floating point loses {drift:.0e}"
    )
    wrong = sum(bool(a >= 1e-12 or b >= 1e-4) for a, b in zip(orthonormality, first_order, strict=True))
    yield judge_theorem(
        "eq8-polar",
        text,
        violations=wrong,
        attempts=len(first_order),
        kind="steps from random frames",
        proof="vu2022/convergence",
        reason="It is not orthonormal, or not of first order.",
    )


def _formula_8(U: np.ndarray, tangent: np.ndarray) -> np.ndarray:
    w, Q = np.linalg.eigh(np.eye(U.shape[1]) + tangent.T @ tangent)
    return (U + tangent) @ (Q / np.sqrt(w)) @ Q.T


def run_claims(*, method: str) -> list[dict[str, Any]]:
    """Judge the statements of Section 4; a reason stands where one is not true."""
    judges = (_subgradient, _convexity, _lipschitz, _rate, _polar)
    # A stream for each, so that a change of one leaves the others alone.
    return as_records(*(judge(np.random.default_rng([2022, number])) for number, judge in enumerate(judges, start=2)))


register_claims("vu2022/claims_algorithm", run_claims, "Verdicts on the objective's properties and on Algorithm 1")

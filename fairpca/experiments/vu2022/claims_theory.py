"""Verdicts on what Vu et al. (2022) prove, and on CFPCA's failure on the faces, by attempts to find a violation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from fairpca import FPCA, MinMaxFairPCA
from fairpca.datasets import load, standardise, where
from fairpca.experiments.engine.verdicts import Verdict, as_records, decide, register_claims
from fairpca.experiments.vu2022.methods import RFPCA_GRID
from fairpca.experiments.vu2022.theory import (
    convergence,
    random_moments,
    random_problem,
    steepest_secant,
    supremum_by_sdp,
)
from fairpca.linalg import orthonormal, subspace_distance, top_eigenpairs
from fairpca.solvers.rfpca import (
    ComplementObjective,
    fair_projection,
    fair_projection_exists,
    polar_factor,
    solve_rfpca,
)

__all__ = ["run_claims"]

_PENALTIES = sorted(set(RFPCA_GRID["lam"]) - {0.0})  # the paper's grid without zero


def _start(rng: np.random.Generator, problem: ComplementObjective) -> np.ndarray:
    return orthonormal(rng.standard_normal((problem.moments.shape[1], problem.columns)))


def _existence(rng: np.random.Generator) -> Iterator[Verdict]:
    """Construct projections and measure their gaps, for differences of rank at most k and of full rank."""
    trials, low_rank, exceeding, scale = 200, 0, 0, 9.0
    for _ in range(trials):
        d, k = int(rng.integers(3, 8)), 2
        basis = orthonormal(rng.standard_normal((d, d)))
        thin = (basis[:, :k] * rng.standard_normal(k)) @ basis[:, :k].T
        w, Q = np.linalg.eigh(thin)
        complement = Q[:, np.argsort(np.abs(w))[: d - k]]
        low_rank += abs(np.sum(complement * (thin @ complement))) < 1e-10
        full = (basis * rng.standard_normal(d)) @ basis.T
        if fair_projection_exists(scale * np.eye(d) + full, scale * np.eye(d), k):
            V = fair_projection(scale * np.eye(d) + full, scale * np.eye(d), k)
            exceeding += np.linalg.matrix_rank(full) > k and abs(np.trace(full) - np.sum(V * (full @ V))) < 1e-10
    yield decide(
        "prop2.2-if",
        low_rank == trials,
        f"the null vectors of the difference give equal errors in {low_rank} of {trials} cases of rank at most k",
        "In the other cases they do not.",
    )
    yield decide(
        "prop2.2-only-if",
        exceeding == 0,
        f"a projection with equal errors was constructed in {exceeding} of {trials} cases of rank above k",
        "Zero only has to lie between the sums of the d - k smallest and largest eigenvalues.",
    )


def _printed_supremum(weight: float, error: float, eps: float) -> float:
    """Proposition 3.3 as printed, its three cases."""
    if weight >= 0:
        return weight * (np.sqrt(error) + np.sqrt(eps)) ** 2
    return weight * (np.sqrt(error) - np.sqrt(eps)) ** 2 if error >= eps else 0.0


def _suprema(rng: np.random.Generator) -> Iterator[Verdict]:
    """Solve the suprema over distributions as semidefinite programs and compare with the printed formulas."""
    one, both = [], []
    for _ in range(6):
        p = int(rng.integers(3, 5))
        moments, means = random_moments(rng, p)
        U = orthonormal(rng.standard_normal((p, int(rng.integers(1, p)))))
        left_out = U @ U.T
        error = float(np.sum(U * (moments[0] @ U)))
        for weight, eps in ((rng.uniform(0, 2), rng.uniform(0, 3)), (-1.3, 0.4), (-0.7, 2.5)):
            found = supremum_by_sdp([weight], moments[:1], means[:1], [eps * error], left_out)
            one.append(abs(found - _printed_supremum(weight, error, eps * error)) / error)
        p_0 = rng.uniform(0.2, 0.8)
        shares, least = np.array([p_0, 1 - p_0]), np.linalg.eigvalsh(moments)[:, : U.shape[1]].sum(axis=1)
        # Condition (i) with radii of any size, then condition (ii) with penalties of any size.
        for lam, radii in (
            (0.9 * shares.min(), least * rng.uniform(0.5, 3, 2)),
            (rng.uniform(0.8, 2.5), least * rng.uniform(0.1, 1, 2)),
        ):
            formula = ComplementObjective(moments, shares, p - U.shape[1], lam, radii).values(U).max()
            supremum = max(
                supremum_by_sdp(shares + lam * np.array(sign), moments, means, radii, left_out)
                for sign in ((1, -1), (-1, 1))
            )
            both.append(abs(supremum - formula) / formula)
    text = f"formula and semidefinite program differ by at most {max(both):.0e} in {len(both)} instances"
    yield decide("thm3.2-reformulation", max(both) < 1e-5, text, "In some instance they differ by more.")
    text = (
        f"formula and semidefinite program differ by at most {max(one):.0e} in {len(one)} instances of the three cases"
    )
    yield decide("prop3.3-supremum", max(one) < 1e-5, text, "In some instance they differ by more.")


def _recovery() -> Iterator[Verdict]:
    """Ask of the methods that the paper compares with whether some setting returns ordinary PCA."""
    data, k = load("german_credit"), 3
    X = standardise(np.asarray(data.X, dtype=np.float64))[0]
    plain = top_eigenpairs(X.T @ X / len(X), k)[1]
    far = float(np.linalg.norm(X, axis=0).max())  # more than any distance of group means
    mean_only = FPCA(k, constraints="mean", delta=far).fit(X, sensitive_features=data.group_code)
    losses = MinMaxFairPCA(k).fit(X, sensitive_features=data.group_code)
    sines = [subspace_distance(plain, model.components_.T) for model in (losses, mean_only)]
    recovered = [sine < 1e-6 for sine in sines]
    yield decide(
        "rem3.4-others",
        not any(recovered),
        "German Credit, sine of the angle to PCA: "
        f"Samadi et al. {sines[0]:.2f}, Olfat & Aswani with a loose mean constraint {sines[1]:.0e}",
        "A tolerance above the distance of the means, without the covariance constraint, leaves ordinary PCA."
        if recovered[1]
        else "Samadi et al. return it on this data set.",
        "fails" if all(recovered) else "holds in part",
    )


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
    good = max(pieces) < 1e-6 and max(rises) < 1e-4
    text = (
        f"{len(pieces)} instances ({active[0]} and {active[1]} with F_0 and F_1 active): differences along tangents "
        f"agree to {max(pieces):.0e} of the Lipschitz constant"
    )
    yield decide("lemma4.1-subgradient", good, text, "In some instance the formula is off.")


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
    small = found["the smaller share"]
    yield decide(
        "sec4.1-convex",
        not any(found.values()),
        text,
        "Convex where both matrices C_a are positive semidefinite, as for penalties up to the smaller share; only "
        "weakly convex in general."
        if small == 0
        else "F is not convex.",
        "holds in part" if small == 0 else "fails",
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
    yield decide(
        "lemma4.2-lipschitz",
        not broken,
        f"steepest secant found over the printed constant, by penalty: {steepest}; "
        f"over the constant with the terms added at most {max(repaired):.2f}",
        f"For penalties {', '.join(broken)} a secant exceeds the constant: it takes the maximum of terms that are "
        "added. The sum is valid, and needs no positive definite moments.",
    )


_LENGTHS = (10, 100, 1000)


def _rate(rng: np.random.Generator) -> Iterator[Verdict]:
    """Theorem 4.3 is an inequality for every instance, start and number of steps: it holds if no run violates it.

    "In part" if runs violate it with the constant (9) but none with a valid Lipschitz constant.
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
    yield decide(
        "thm4.3-rate",
        violated == 0,
        f"{len(own)} runs ({len(runs)} instances, 3 starts, {', '.join(map(str, _LENGTHS))} steps): smallest gap at "
        f"most {worst['printed']:.2f} of the bound, {worst['repaired']:.2f} with a valid Lipschitz constant; "
        f"observed exponents {exponents.min():.2f} to {exponents.max():.2f} (bound: -0.25)",
        f"{violated} runs are above the bound with the constant (9).",
        "holds in part" if worst["repaired"] <= 1 else "fails",
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
    yield decide(
        "sec4.4-gap",
        own["excess"].max() == 0 and exceeded == 0,
        f"violated at {100 * own['excess'].mean():.0f} % of the iterates looked at and at {exceeded} of {len(kinks)} "
        f"optima; at the proximal point the norm is at most {own['nearby'].max():.3f} of the gap",
        "The bound is on a subgradient at the proximal point, not at U: the gap is zero at every optimum, the formula "
        "of Lemma 4.1 is not where the optimum lies on the kink.",
    )


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
    good = bool(max(orthonormality) < 1e-12 and max(first_order) < 1e-4)
    yield decide("eq8-polar", good, text, "It is not orthonormal, or not of first order.")


def _formula_8(U: np.ndarray, tangent: np.ndarray) -> np.ndarray:
    w, Q = np.linalg.eigh(np.eye(U.shape[1]) + tangent.T @ tangent)
    return (U + tangent) @ (Q / np.sqrt(w)) @ Q.T


def _faces() -> Iterator[Verdict]:
    if where("lfw_24x24") == "missing":
        return
    data = load("lfw_24x24", random_state=0)
    X = data.X - data.X.mean(axis=0)
    model = FPCA(3, constraints="mean", variant="vu2022_code", delta=0.0).fit(X, sensitive_features=data.group_code)
    yield decide(
        "cfpca-lfw",
        model.result_.status != "optimal",
        f"CFPCA-Mean on 576 features: {model.result_.status}, relative gap {model.result_.relative_gap:.0e}",
        "The published solver gave up; the one of this package finishes with a certificate.",
    )


def run_claims(*, method: str) -> list[dict[str, Any]]:
    """Judge the statements; a reason stands where the verdict is not "holds"."""
    judges = (_existence, _suprema, _subgradient, _convexity, _lipschitz, _rate, _polar)
    # A stream for each, so that a change of one leaves the others alone.
    parts = [judge(np.random.default_rng([2022, number])) for number, judge in enumerate(judges)]
    parts += [_recovery(), _faces()]
    return as_records(*parts)


register_claims("vu2022/claims_theory", run_claims, "Verdicts on propositions, lemmas and theorems")

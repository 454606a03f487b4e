"""Verdicts on Lemma A.1 and Theorem B.2 of Vu et al. (2022), by attempts to violate them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np

from fairpca.experiments.engine.verdicts import Verdict, as_records, judge_theorem, register_claims
from fairpca.linalg import orthonormal

__all__ = ["lemma_a1_ratios", "printed_b2", "run_claims"]


def lemma_a1_ratios(rng: np.random.Generator) -> tuple[float, float]:
    """Return both sides' ratios of (10) and (11) for a definite matrix and two frames; above 1 is a violation.

    The second frame is the first one after a step along the steepest direction of either left side, or a random one.
    """
    p = int(rng.integers(2, 8))
    columns = int(rng.integers(1, p + 1))
    R = rng.standard_normal((p, p))
    spread = 10.0 ** rng.uniform(-6, 0)
    Q = orthonormal(R)
    M = (Q * np.exp(rng.uniform(np.log(spread), 0, p))) @ Q.T if rng.random() < 0.7 else R @ R.T + spread * np.eye(p)
    w = np.linalg.eigvalsh(M)
    U = orthonormal(rng.standard_normal((p, columns)))
    step = 10.0 ** rng.uniform(-6, 1)
    W = orthonormal(U + step * (M @ U if rng.random() < 0.7 else rng.standard_normal(U.shape)))
    W = W * np.where(np.sum(W * U, axis=0) < 0, -1.0, 1.0)  # nearer to U, which is the harder case
    apart = float(np.linalg.norm(U - W))
    if apart < 1e-12:
        return 0.0, 0.0
    a, b = (float(np.sum(F * (M @ F))) for F in (U, W))
    quadratic = abs(a - b) / (2 * np.sqrt(columns) * w[-1] * apart)
    root = abs(np.sqrt(a) - np.sqrt(b)) / (w[-1] / np.sqrt(w[0]) * apart)
    return quadratic, float(root)


def printed_b2(shares: np.ndarray, lam: float, eps: np.ndarray, s: np.ndarray) -> float:
    """Evaluate the objective of Theorem B.2 as printed, for the groups' errors `s`."""
    values = []
    for a, other in permutations(range(len(s)), 2):
        c = shares.copy()
        c[a], c[other] = shares[a] + lam, abs(shares[other] - lam)
        values.append(2 * c @ np.sqrt(eps * s) + lam * (s[a] - s[other]) + lam * (eps[a] - eps[other]))
    return float(max(values))


def _appendix(rng: np.random.Generator) -> Iterator[Verdict]:
    ratios = np.array([lemma_a1_ratios(rng) for _ in range(4000)])
    yield judge_theorem(
        "lemmaA.1",
        f"the left sides reach {ratios[:, 0].max():.3f} of the bound (10) and {ratios[:, 1].max():.3f} of (11)",
        violations=int(np.sum(ratios > 1 + 1e-7)),
        attempts=len(ratios),
        kind="definite matrices, pairs of frames along the steepest direction",
        proof="vu2022/subgradient",
        reason="An inequality is violated.",
        note="M is d × d, not (d - k) × (d - k) as printed; the chapter proves more, without definiteness.",
    )
    # Equivalent problems have the same minimisers: without penalty and radius (12) is ordinary PCA.
    wrong, trials = 0, 50
    for _ in range(trials):
        m, p = int(rng.integers(3, 6)), int(rng.integers(2, 6))
        shares = rng.dirichlet(np.ones(m))
        factors = rng.standard_normal((m, p, p))
        moments = factors @ factors.transpose(0, 2, 1)
        frames = [orthonormal(rng.standard_normal((p, p - 1))) for _ in range(20)]
        errors = [np.einsum("ic,gij,jc->g", U, moments, U) for U in frames]
        printed = [printed_b2(shares, 0.0, np.zeros(m), s) for s in errors]
        wrong += bool(np.ptp([shares @ s for s in errors]) > 1e-6 > np.ptp(printed))
    yield judge_theorem(
        "thmB.2",
        f"without penalty and radius the printed objective is constant in {wrong} of {trials} instances, (12) is not",
        violations=wrong,
        attempts=trials,
        kind="three to five groups, no penalty and no radius",
        reason="The sum of the groups' own terms is missing; with it the theorem is proved in chapter `vu2022/robust`.",
    )


def run_claims(*, method: str) -> list[dict[str, Any]]:
    """Judge the lemma and the theorem of the appendix."""
    return as_records(_appendix(np.random.default_rng(0)))


register_claims("vu2022/claims_appendix", run_claims, "Verdicts on Lemma A.1 and Theorem B.2")

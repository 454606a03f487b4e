"""RFPCA: against all support points of a fine grid of weights, a grid of directions, and random planes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from families_finding import Family, Finding
from families_problems import kept, planes
from hostile_spectra import hostile_moments

from fairpca.solvers.rfpca import solve_rfpca, solve_rfpca_groups, solve_rfpca_subgradient
from fairpca.solvers.rfpca._boundary import PencilBoundary
from fairpca.solvers.rfpca.objective import RFPCAVariant
from fairpca.solvers.rfpca.subgradient import Retraction

__all__ = ["FAMILIES"]


def _worst_case(errors: np.ndarray, shares: np.ndarray, lam: float, eps: np.ndarray, printed: bool) -> float:
    """The largest J over ordered pairs of groups, term by term (Theorem B.2)."""
    r, e = np.sqrt(np.maximum(errors, 0.0)), np.sqrt(eps)
    largest = -np.inf
    for a in range(len(errors)):
        for b in range(len(errors)):
            if a == b:
                continue
            weights = shares.copy()
            weights[a] += lam
            weights[b] -= lam
            below = r - e if printed else np.maximum(r - e, 0.0)
            largest = max(largest, float(weights @ np.where(weights < 0, below, r + e) ** 2))
    return largest


def _problem(
    rng: np.random.Generator, m: int, p: int | None = None
) -> tuple[np.ndarray, np.ndarray, int, float, np.ndarray]:
    while True:
        M, d, _ = hostile_moments(int(rng.integers(2**40)))
        if len(M) >= m and M[:m].any() and (p is None or M.shape[1] == p):
            break
    M = M[:m]
    if rng.integers(4):
        M = M / np.where(M.any(axis=(1, 2)), np.trace(M, axis1=1, axis2=2), 1.0)[:, None, None]
    shares = rng.dirichlet(np.full(m, 3.0))
    lam = float(rng.choice([0.0, 0.1, 0.5, 2.0, 20.0]))
    eps = rng.uniform(0, 1, m) * float(rng.choice([0.0, 0.01, 1.0])) * np.trace(M, axis1=1, axis2=2)
    return M, shares, d, lam, eps


def exact(rng: np.random.Generator) -> Iterator[Finding]:
    """Two groups: every optimum is a top space of some weight, so a fine grid of weights is a referee."""
    M, shares, d, lam, eps = _problem(rng, 2)
    printed = bool(rng.integers(2))
    for boundary in (None, PencilBoundary(M, d)):  # as a small problem, and by a basis as a large one
        yield from _exact(rng, M, shares, d, lam, eps, printed, boundary)


def _exact(
    rng: np.random.Generator,
    M: np.ndarray,
    shares: np.ndarray,
    d: int,
    lam: float,
    eps: np.ndarray,
    printed: bool,
    boundary: PencilBoundary | None,
) -> Iterator[Finding]:
    variant: RFPCAVariant = "printed" if printed else "corrected"
    result = solve_rfpca(M, shares, d, lam, eps, variant=variant, boundary=boundary)
    traces = np.trace(M, axis1=1, axis2=2)

    def value(V: np.ndarray) -> float:
        return _worst_case(traces - kept(M, V), shares, lam, eps, printed)

    size = value(np.zeros_like(result.V))
    size = max(size, float(traces.max()))
    yield Finding("orthonormal basis", float(np.abs(result.V.T @ result.V - np.eye(d)).max()), 1e-10)
    # Errors near zero come from residuals there and from a difference here; roots of them make that visible.
    yield Finding("objective as defined", abs(value(result.V) - result.objective) / size, 1e-7)
    low, high = min(0.0, float(shares[0]) - lam), max(1.0, float(shares[0]) + lam)
    rivals = [np.linalg.eigh(t * M[0] + (1 - t) * M[1])[1][:, -d:] for t in np.linspace(low, high, 60)]
    for V in (*rivals, *planes(rng, result.V, 12)):
        rival = value(V)
        yield Finding("beaten by a plane", max(result.objective - rival, 0.0) / size, 1e-7)
        yield Finding("bound beyond a plane", max(result.bound - rival, 0.0) / size, 1e-7)
    if result.status == "optimal":
        yield Finding("gap", result.gap / size, 1e-9)


def descent(rng: np.random.Generator) -> Iterator[Finding]:
    """Three and more groups: the bound against planes and a grid of directions; how far the descent falls short."""
    M, shares, _, lam, eps = _problem(rng, int(rng.integers(3, 5)), p=3)
    d = int(rng.integers(1, 3))
    result = solve_rfpca_groups(M, shares, d, lam, eps, max_iter=200)
    traces = np.trace(M, axis1=1, axis2=2)
    size = max(_worst_case(traces, shares, lam, eps, False), float(traces.max()))
    z = np.linspace(-1, 1, 1500)  # directions on a spiral around the sphere; for planes, their normals
    angle = np.arange(len(z)) * np.pi * (3 - 5**0.5)
    U = np.column_stack((np.sqrt(1 - z * z) * np.cos(angle), np.sqrt(1 - z * z) * np.sin(angle), z))
    along = np.einsum("ni,gij,nj->ng", U, M, U)
    errors = traces - along if d == 1 else along
    best = min(_worst_case(s, shares, lam, eps, False) for s in errors)
    yield Finding("orthonormal basis", float(np.abs(result.V.T @ result.V - np.eye(d)).max()), 1e-10)
    yield Finding("bound beyond a plane", max(result.bound - best, 0.0) / size, 1e-8)
    short = max(result.objective - best, 0.0) / size
    yield Finding("beaten by a direction", short, 1e-7 if result.status == "optimal" else np.inf)


def subgradient(rng: np.random.Generator) -> Iterator[Finding]:
    """The paper's subgradient method is never better than what is proved."""
    M, shares, d, lam, eps = _problem(rng, 2)
    M, eps = M / (np.trace(M, axis1=1, axis2=2).max() or 1.0), eps / (np.trace(M, axis1=1, axis2=2).max() or 1.0)
    proved = solve_rfpca(M, shares, d, lam, eps)
    retraction: Retraction = "qr" if rng.integers(2) else "polar"
    local = solve_rfpca_subgradient(
        M, shares, d, lam, eps, n_starts=3, max_iter=60, keep="best", retraction=retraction, random_state=0
    )
    size = max(proved.objective, 1.0)
    yield Finding("orthonormal basis", float(np.abs(local.V.T @ local.V - np.eye(d)).max()), 1e-9)
    yield Finding("bound beyond its plane", max(proved.bound - local.objective, 0.0) / size, 1e-7)


FAMILIES: dict[str, Family] = {
    "RFPCA, exact": exact,
    "RFPCA, several groups": descent,
    "RFPCA, subgradient": subgradient,
}

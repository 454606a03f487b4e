"""Adversarial instances of the two-group problem, and every plane of p = 2 as the reference."""

import numpy as np
from minmax_cases import moments

from fairpca.solvers.rfpca import ComplementObjective

KINDS = ("wishart", "integer_diagonal", "low_rank", "proportional", "identity", "equal", "mirrored", "ill_conditioned")


def random_instance(rng, p, kind):
    """Return (moments, shares, lam, eps), with moments of the named kind."""
    M = moments(kind, 2, p, rng)
    share = float(rng.choice([rng.uniform(0.01, 0.99), 0.5]))
    lam = float(rng.choice([0.0, rng.uniform(0, 1), rng.uniform(0, 3), rng.uniform(3, 20), share, 1 - share]))
    size = np.trace(M, axis1=1, axis2=2) / p
    eps = size * rng.uniform(0, 3, 2) * rng.choice([0.0, 0.01, 1.0, 1.0], 2)
    return M, np.array([share, 1 - share]), lam, eps


def root(M):
    """L with M = LL', so that errors near zero keep their accuracy: |L'w| instead of sqrt(w'Mw)."""
    w, U = np.linalg.eigh(M)
    return U * np.sqrt(np.where(w > 1e-15 * max(w[-1], 0), w, 0))


def objective_on_grid(moments, shares, lam, eps, angles, printed):
    """max(J_0, J_1) of every plane of p = 2, written out term by term."""
    left = np.stack((-np.sin(angles), np.cos(angles)))  # what the plane (cos, sin) leaves out
    r = [np.linalg.norm(root(M).T @ left, axis=0) for M in moments]
    e = np.sqrt(eps)
    J = []
    for a, b in ((0, 1), (1, 0)):
        weight = shares[b] - lam
        if weight >= 0:
            other = (r[b] + e[b]) ** 2
        elif printed:
            other = (r[b] - e[b]) ** 2
        else:
            other = np.maximum(r[b] - e[b], 0) ** 2
        J.append((shares[a] + lam) * (r[a] + e[a]) ** 2 + weight * other)
    return np.maximum(*J)


def brute_force(moments, shares, lam, eps, printed):
    """Least objective over all planes of p = 2: a fine grid, then three refinements around its best points."""
    angles = np.linspace(0, np.pi, 2001)
    F = objective_on_grid(moments, shares, lam, eps, angles, printed)
    best = np.inf
    for centre in angles[np.argsort(F)[:3]]:
        width = angles[1]
        for _ in range(4):
            local = np.linspace(centre - width, centre + width, 201)
            values = objective_on_grid(moments, shares, lam, eps, local, printed)
            centre, width = local[np.argmin(values)], width / 80
            best = min(best, values.min())
    return best


def adversarial_problem(rng):
    """Return an instance that may be singular, tied, ill-conditioned, lopsided, or outside conditions (i) and (ii)."""
    p = int(rng.integers(2, 8))
    k, kind = int(rng.integers(1, p)), int(rng.integers(0, 5))

    def moment():
        R = rng.standard_normal((p, p))
        if kind == 1:
            return np.diag(rng.integers(0, 4, p).astype(float))
        if kind == 2:
            return np.outer(R[0], R[0])
        if kind == 3:
            return np.diag(10.0 ** rng.uniform(-4, 1, p))
        return np.eye(p) + 1e-3 * R @ R.T if kind == 4 else R @ R.T / p

    moments = np.array([moment(), moment()])
    share = rng.uniform(0.02, 0.98)
    mean = np.trace(moments, axis1=1, axis2=2) / p
    eps = rng.uniform(0, 3, 2) * mean * rng.integers(0, 2, 2) * rng.choice([0.01, 1])
    lam = float(rng.choice([0, 0.1, 0.5, 1, 2.5, 20]))
    reading = "printed" if rng.random() < 0.5 else "corrected"
    return ComplementObjective(moments, np.array([share, 1 - share]), k, lam, eps, reading)

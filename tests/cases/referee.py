"""Recompute certificates from primal and dual solutions with NumPy alone; nothing is shared with the solvers."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

STRICT = 1e-12  # of the size of the problem; what the sums of eigenvalues may be off by


class Recomputed(NamedTuple):
    """Value of the primal solution, what the dual solution proves, and by how much constraints are violated.

    No valid bound is better than `limit`: for a given dual solution that is what it proves, else the best value of
    anything feasible that the referee has met.
    """

    value: float
    bound: float
    limit: float
    size: float
    violations: dict[str, float]


def faults(kind, result, *problem, rounding=STRICT, tol=1e-8, **options):
    """Return what is wrong with a result; the one function that every path of every solver is judged by."""
    found = {"minmax": _minmax, "nested": _nested, "rfpca": _rfpca, "fpca": _fpca, "means": _means}[kind](
        result, *problem, **options
    )
    sign = -1.0 if result.sense == "max" else 1.0
    allowed = rounding * found.size
    checks = {
        "the objective is not the value of V": abs(result.objective - found.value) - allowed,
        "the bound beats what the dual solution proves": sign * (result.bound - found.limit) - allowed,
        "the bound beats the objective": sign * (result.bound - result.objective),
        "the dual solution beats the value": sign * (found.bound - found.value) - allowed,
        **{what: by - 1e-9 for what, by in found.violations.items()},
    }
    if result.status == "optimal":
        checks["optimal, and the dual solution does not prove it"] = (
            sign * (found.value - found.bound) - tol * found.size
        )
        checks["optimal, and the bound does not show it"] = result.gap - tol * found.size
    wrong = [f"{what}: {by:.2g}" for what, by in checks.items() if not by <= 0]
    return wrong + ([] if result.certificate in ("proof", "estimate") else ["nothing is certified"])


def _sums(M, P):
    return np.array([np.vdot(C, P) for C in M])


def _top(A, d):
    return float(np.linalg.eigvalsh(A)[len(A) - d :].sum())


def _value(objective, references, kept):
    if objective == "nash":
        return float(np.exp(np.log(kept).mean()))
    return float(kept.min() if objective == "variance" else (references - kept).max())


def _dual(objective, M, references, d, w):
    """Weak duality: no group's value is beyond the weighted mean, and that is linear in the projection."""
    w = np.maximum(w, 0.0) / np.maximum(w, 0.0).sum()
    total = _top(sum(a * C for a, C in zip(w, M, strict=True)), d)
    if objective == "nash":  # geometric mean of w_g v_g at most their arithmetic mean
        return total / len(w) / float(np.exp(np.log(w).mean()))
    return total if objective == "variance" else float(w @ references) - total


def _references(objective, M, d):
    return np.array([_top(C, d) if objective == "loss" else np.trace(C) for C in M])


def _unit(objective, M, value):
    return abs(value) if objective == "nash" else max(np.trace(C) for C in M)


def _projection(result, d):
    """Return P with what it violates; an affine map is I - sqrt(I - P)."""
    U = result.extra.get("basis", result.V)
    lam = result.extra.get("eigenvalues", np.ones(U.shape[1]))
    P, rest = (U * lam) @ U.T, np.eye(len(U)) - result.V @ result.V.T
    return P, {
        "the basis is not orthonormal": float(np.abs(U.T @ U - np.eye(U.shape[1])).max()),
        "eigenvalues of P are not between 0 and 1": float(max(lam.max() - 1.0, -lam.min())),
        "the trace of P exceeds d": float(lam.sum() - d),
        "V does not realise P": float(np.abs(rest @ rest - (np.eye(len(U)) - P)).max()),
    }


def _minmax(result, M, d, objective):
    """Min-max fair PCA: value of the map and what the groups' weights prove, the best of all that were tried."""
    P, violations = _projection(result, d)
    tried = np.atleast_2d(result.history.get("weights", result.extra["weights"]))
    if objective in ("variance", "nash"):  # what does not vary decides nothing
        traces = np.trace(M, axis1=1, axis2=2)
        varies = traces > 1e-27 * traces.max()
        M, tried = M[varies], tried[:, varies]
    references = _references(objective, M, d)
    value = _value(objective, references, _sums(M, P))
    duals = [_dual(objective, M, references, d, w) for w in tried]
    bound = min(duals) if result.sense == "max" else max(duals)
    return Recomputed(value, bound, bound, _unit(objective, M, value), violations)


def _nested(result, M, d, objective):
    """The last of d directions: the same problem with one dimension in the complement of the others."""
    P, violations = _projection(result, d)
    before = result.V[:, : d - 1]
    N = np.linalg.qr(before, mode="complete")[0][:, d - 1 :]
    kept = _sums(M, before @ before.T)
    A = np.array([N.T @ C @ N + k * np.eye(N.shape[1]) for C, k in zip(M, kept, strict=True)])
    references = _references(objective, M, d)
    value = _value(objective, references, _sums(M, P))
    bound = _dual(objective, A, references, 1, result.extra["weights"])
    return Recomputed(value, bound, bound, _unit(objective, M, value), violations)


def worst_case(s, shares, lam, eps, printed=False):
    """Largest J over ordered pairs of groups (Theorem B.2), for errors s of shape (…, groups); and all of them."""
    r, e = np.sqrt(np.maximum(s, 0.0)), np.sqrt(eps)
    below = r - e if printed else np.maximum(r - e, 0.0)
    J = []
    for a in range(len(shares)):
        for b in set(range(len(shares))) - {a}:
            w = shares + lam * (np.eye(len(shares))[a] - np.eye(len(shares))[b])
            J.append((w * np.where(w < 0, below, r + e) ** 2).sum(axis=-1))
    return np.max(J, axis=0), np.array(J)


def _rfpca(result, M, shares, d, lam, eps, printed=False, cells=4000):
    """RFPCA. One column more than d: all planes by their normals. Else, two groups: triangles under support lines.

    The errors of all planes have the convex hull K. Between two support points K's boundary is in the triangle of the
    chord and the two tangents; both J are concave, so mixtures of them have their minimum there at a corner.
    """
    V, traces = result.V, np.trace(M, axis1=1, axis2=2)
    violations = {"the basis is not orthonormal": float(np.abs(V.T @ V - np.eye(d)).max())}
    value = float(worst_case(traces - _sums(M, V @ V.T), shares, lam, eps, printed)[0])
    size = (1 + 2 * lam) * float(((np.sqrt(traces) + np.sqrt(eps)) ** 2).sum())
    if len(V) == 2:
        angles = np.linspace(0, np.pi, 20001)
        normals = np.stack((np.cos(angles), np.sin(angles)))
        least = float(worst_case(np.einsum("in,gij,jn->ng", normals, M, normals), shares, lam, eps, printed)[0].min())
        return Recomputed(value, least - 1e-5 * size, least, size, violations)
    assert len(M) == 2
    least = value

    def support(t):
        nonlocal least
        U = np.linalg.eigh(t * M[0] + (1 - t) * M[1])[1][:, -d:]
        s = traces - _sums(M, U @ U.T)
        least = min(least, float(worst_case(s, shares, lam, eps, printed)[0]))
        return t, s

    def cell(left, right):
        (t, a), (u, b) = left, right
        corner = np.linalg.solve([[t, 1 - t], [u, 1 - u]], [t * a[0] + (1 - t) * a[1], u * b[0] + (1 - u) * b[1]])
        J = worst_case(np.stack((a, np.maximum(corner, 0.0), b)), shares, lam, eps, printed)[1]
        mu = np.linspace(0.0, 1.0, 1001)[:, None]
        return float((mu * J[0] + (1 - mu) * J[1]).min(axis=1).max()), left, right

    weights = np.unique([min(0.0, shares[0] - lam), 0.0, 0.5, 1.0, max(1.0, shares[0] + lam)])
    points = [support(t) for t in weights]
    open_cells = [cell(a, b) for a, b in pairwise(points)]
    for _ in range(cells):
        lowest = min(range(len(open_cells)), key=lambda i: open_cells[i][0])
        bound, left, right = open_cells[lowest]
        if bound >= value - 1e-7 * size or right[0] - left[0] < 1e-9:
            break
        middle = support(0.5 * (left[0] + right[0]))
        open_cells[lowest : lowest + 1] = [cell(left, middle), cell(middle, right)]
    return Recomputed(value, min(one[0] for one in open_cells), least, size, violations)


def _fpca(result, problem, dual):
    """The program of FPCA at the relaxed solution, and what two matrices, a number and a vector prove about it."""
    S, Q, f, d, mu, P = problem.S, problem.Q, problem.f, problem.n_components, problem.mu, result.extra["P"]
    (Z1, Z2, nu, y), p = dual, len(f)
    w, length = np.linalg.eigvalsh(P), float(np.linalg.norm(f))
    shifted = [Q + problem.c1 * np.eye(p), problem.c2 * np.eye(p) - Q]
    slacks = [max(float(np.linalg.eigvalsh(P @ A @ P)[-1]), 0.0) for A in shifted]
    value = float(np.vdot(S, P)) - mu * (max(slacks) if problem.penalty == "max" else sum(slacks))
    quadratic = problem.mean_form == "quadratic"
    excess = (f @ P @ f if quadratic else length * np.linalg.norm(P @ f)) - problem.mean_level
    violations = {
        "eigenvalues of P are not between 0 and 1": float(max(w[-1] - 1.0, -w[0])),
        "the trace of P is not d": float(abs(w.sum() - d) if problem.trace == "equal" else w.sum() - d),
        "the means differ by too much": float(excess),
    }
    N, level = np.eye(p), problem.mean_level / length**2 if length else 0.0
    if length and level == 0.0:
        N = np.linalg.qr(f[:, None], mode="complete")[0][:, 1:]
    A = S - 0.0
    for B, Z in zip(shifted, (Z1, Z2), strict=True):
        e, U = np.linalg.eigh(N.T @ B @ N)
        G = (U * np.sqrt(np.maximum(e, 0.0))) @ U.T @ (N.T @ Z @ N)
        A = A - N @ (G + G.T) @ N.T / 2
    nuclear = [float(np.linalg.norm(N.T @ Z @ N, "nuc")) for Z in (Z1, Z2)]
    bound = 0.0
    if mu > 0:
        bound = (sum(nuclear) ** 2 if problem.penalty == "max" else sum(n**2 for n in nuclear)) / (4 * mu)
    if level > 0 and quadratic:
        A, bound = A - nu * np.outer(f, f) / length**2, bound + nu * level
    elif level > 0:
        A, bound = A - (np.outer(y, f) + np.outer(f, y)) / (2 * length), bound + level * float(np.linalg.norm(y))
    top = np.linalg.eigvalsh(N.T @ A @ N)[-d:]
    bound += float(top.sum() if problem.trace == "equal" else np.maximum(top, 0.0).sum())
    size = float(np.trace(S)) + mu * (problem.c1 + problem.c2)
    return Recomputed(value, bound, bound, size, violations)


def _means(result, S, C, d, projection="orthogonal"):
    """Mean matching: the error of the maps, and the most that d directions can keep of what avoids C.

    An oblique code A'x has no covariance with what C stands for when S^(1/2) A is orthogonal to S^(-1/2) C; its best
    decoder keeps the trace of S on that plane.
    """
    A, B = result.V, result.extra["decoder"]
    rest = np.eye(len(S)) - B @ A.T
    value, total = float(np.trace(rest @ S @ rest.T)), float(np.trace(S))
    avoided = C
    if projection == "oblique":
        e, U = np.linalg.eigh(S)
        avoided = (U / np.sqrt(e)) @ U.T @ C
    Q = np.linalg.qr(avoided)[0]
    apart = np.eye(len(S)) - Q @ Q.T
    bound = total - _top(apart @ S @ apart, d)
    violations = {"the code sees C": float(np.abs(A.T @ C).max() / np.linalg.norm(A) / np.linalg.norm(C))}
    return Recomputed(value, bound, bound, total, violations)

"""Second-moment matrices that are hard for eigenvalue optimisation; a judge and a second solver for min-max."""

import math

import numpy as np
from hypothesis import strategies as st
from referee import STRICT, faults

KINDS = ["wishart", "integer_diagonal", "low_rank", "proportional", "identity", "equal", "near_crossing", "zero_group"]


def moments(kind, m, p, seed):
    """Return m positive semidefinite p x p matrices."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, p, p)) * 0.8 ** np.arange(p)
    M = A @ A.transpose(0, 2, 1)
    if kind == "integer_diagonal":
        M = np.stack([np.diag(rng.integers(0, 5, p).astype(float)) for _ in range(m)])
    elif kind == "low_rank":
        A = A[:, :, : max(1, p // 3)]
        M = A @ A.transpose(0, 2, 1)
    elif kind == "proportional":
        M = np.stack([M[0] * (g + 1) for g in range(m)])
    elif kind == "identity":
        M[0] = np.eye(p)
    elif kind == "equal":
        M[1] = M[0]
    elif kind == "near_crossing":
        M = np.stack([np.diag(rng.random(p)) for _ in range(m)]) + 1e-6 * M
    elif kind == "zero_group":
        M[0] = 0.0
    elif kind == "mirrored":
        w, Q = np.sort(rng.integers(1, 6, p).astype(float)), np.linalg.qr(A[0])[0]
        M[:2] = (Q * w) @ Q.T, (Q * w[::-1]) @ Q.T
    elif kind == "ill_conditioned":
        Q = np.linalg.qr(A)[0]
        M = Q * 10.0 ** rng.uniform(-6, 1, (m, 1, p)) @ Q.transpose(0, 2, 1)
    return (M + M.transpose(0, 2, 1)) / 2


def problems(groups, p):
    """A strategy: moments of so many groups and dimensions, and a dimension d < p."""
    drawn = st.tuples(st.sampled_from(KINDS), groups, p, st.integers(0, 10_000), st.floats(0, 1))
    return drawn.map(lambda c: (moments(*c[:4]), 1 + int(c[4] * (c[2] - 1.001))))


def own_sums(M, d):
    return np.linalg.eigvalsh(M)[:, ::-1][:, :d].sum(axis=1)


def criterion(objective, M, kept, d):
    """The value of a criterion by its definition, from variances that the groups keep, of shape (..., groups)."""
    traces = np.trace(M, axis1=1, axis2=2)
    if objective == "nash":
        return np.prod(kept ** (1 / len(M)), axis=-1)
    references = {"loss": own_sums(M, d), "error": traces}
    return kept.min(axis=-1) if objective == "variance" else (references[objective] - kept).max(axis=-1)


def certify(M, d, result, objective="loss", tol=1e-9):
    """Assert what a solution must satisfy, recomputed from basis, eigenvalues and weights; return the losses."""
    assert not faults("minmax", result, M, d, objective, rounding=1e-9 if objective == "nash" else STRICT)
    U, lam = result.extra.get("basis", result.V), result.extra.get("eigenvalues", np.ones(d))
    kept = np.einsum("ij,gik,kj,j->g", U, M, U, lam)
    traces, best = np.trace(M, axis1=1, axis2=2), own_sums(M, d)
    losses, scale = best - kept, traces.max()
    for name, values in {"variances": kept, "errors": traces - kept, "losses": losses}.items():
        np.testing.assert_allclose(result.extra[name], values, rtol=1e-9, atol=1e-11 * scale, err_msg=name)
    assert len(lam) - d == result.extra["extra_dimensions"] <= (math.isqrt(8 * len(M) + 1) - 3) // 2
    varies = traces > (1e-27 * scale if objective in ("variance", "nash") else -1.0)
    M, traces, best, kept, w = (a[varies] for a in (M, traces, best, kept, result.extra["weights"]))
    total = np.linalg.eigvalsh(np.tensordot(w, M, 1))[-d:].sum()
    if objective == "nash":
        gap = total / len(w) / np.prod(w ** (1 / len(w))) / criterion("nash", M, kept, d) - 1
        assert -1e-13 <= gap <= 1e-8
    else:
        references = {"loss": best, "error": traces, "variance": 0 * traces}[objective]
        cost = (references - kept).max()
        deciding = traces[references - kept + 1e-14 * traces >= cost].max()
        assert -1e-13 * scale <= cost - (w @ references - total) <= tol * abs(cost) + 2e-14 * deciding
    assert result.status == "optimal"
    return losses


def relaxation_value(objective, M, d):
    """Value of the relaxation (4) by CVXPY, written out independently of the package."""
    import cvxpy as cp

    p, scale = M.shape[1], np.trace(M, axis1=1, axis2=2).max()
    P = cp.Variable((p, p), PSD=True)
    kept = cp.hstack([cp.trace((C / scale) @ P) for C in M])
    references = own_sums(M, d) if objective == "loss" else np.trace(M, axis1=1, axis2=2)
    goal = {
        "variance": cp.min(kept), "nash": cp.sum(cp.log(kept)) / len(M),
    }.get(objective, -cp.max(references / scale - kept))  # fmt: skip
    problem = cp.Problem(cp.Maximize(goal), [np.eye(p) >> P, cp.trace(P) == d])
    problem.solve(solver=cp.CLARABEL)
    return scale * {"variance": problem.value, "nash": np.exp(problem.value)}.get(objective, -problem.value)

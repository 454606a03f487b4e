"""Second-moment matrices that are hard for eigenvalue optimisation, and a second solver to compare with."""

import numpy as np

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
    return M


def own_sums(M, d):
    return np.linalg.eigvalsh(M)[:, ::-1][:, :d].sum(axis=1)


def losses(M, V):
    """Losses of the map V (Lemma 4.7 for orthonormal V, and their definition for an affine one)."""
    P = V @ V.T
    error = [np.trace((np.eye(len(P)) - P) @ C @ (np.eye(len(P)) - P)) for C in M]
    best = np.trace(M, axis1=1, axis2=2) - own_sums(M, V.shape[1] if V.ndim == 2 else 1)
    return np.array(error) - best


def relaxation_value(M, references, d):
    """Value of the relaxation (4) by CVXPY, written out independently of the package."""
    import cvxpy as cp

    p, scale = M.shape[1], np.trace(M, axis1=1, axis2=2).max()
    P = cp.Variable((p, p), PSD=True)
    worst = cp.max(cp.hstack([a / scale - cp.trace((C / scale) @ P) for C, a in zip(M, references, strict=True)]))
    problem = cp.Problem(cp.Minimize(worst), [np.eye(p) >> P, cp.trace(P) == d])
    problem.solve(solver=cp.CLARABEL)
    return problem.value * scale

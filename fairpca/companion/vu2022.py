"""The methods that Vu et al. (2022) compare, and how they are judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import islice, product
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from fairpca import FPCA, PCA, RFPCA, GroupMoments, MinMaxFairPCA
from fairpca.datasets import load, standardise
from fairpca.linalg import orthonormal, top_eigenpairs
from fairpca.metrics import delta_f_lin
from fairpca.solvers.rfpca import ComplementObjective

__all__ = [
    "ETAS",
    "choose",
    "compared",
    "errors_of_lines",
    "fits",
    "judge",
    "means",
    "one_split",
    "random_frame",
    "random_problem",
    "random_starts",
    "randomised_port",
    "randomised_svd",
    "rescaled",
    "separations",
    "split_groups",
    "standardised_moments",
]

ETAS = (*(0.25 * i for i in range(1, 18)), 0.1)


def errors_of_lines(M: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """Return the error of each group on each line, a unit vector in a column."""
    kept = np.einsum("in,gij,jn->gn", lines, M, lines)
    return np.trace(M, axis1=1, axis2=2)[:, None] - kept


def standardised_moments(name: str) -> GroupMoments:
    """Return the moments of the groups, features standardised over all rows."""
    data = load(name)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    return GroupMoments.from_data(X, data.sensitive_features)


def random_problem(
    rng: np.random.Generator, lam: float, scale: float = 1.0
) -> ComplementObjective:
    """Draw two groups with 3 to 7 features, and radii that meet condition (ii)."""
    d = int(rng.integers(3, 8))
    k, share = int(rng.integers(1, d)), rng.uniform(0.2, 0.8)
    roots = rng.standard_normal((2, d, 2 * d)) * rng.uniform(0.3, 1.5, (2, d, 1))
    M = scale * roots @ roots.transpose(0, 2, 1) / (2 * d)
    least = np.linalg.eigvalsh(M)[:, : d - k].sum(axis=1)
    eps = rng.uniform(0.01, 0.3, 2) * least
    return ComplementObjective(M, np.array([share, 1 - share]), k, lam, eps)


def random_frame(
    rng: np.random.Generator, problem: ComplementObjective
) -> np.ndarray:
    """Draw the orthonormal basis of a complement."""
    shape = len(problem.moments[0]), problem.columns
    return orthonormal(rng.standard_normal(shape))


def compared(
    method: str, protocol: str, stream: Any, k: int = 3
) -> Iterator[tuple[str, Any]]:
    """Yield every setting of a method with its estimator, in the program's order."""
    printed = protocol == "printed"
    if method == "rfpca":
        model = RFPCA(k, centering="none")
        if printed:  # Algorithm 1 from 20 random starts and from PCA
            model.set_params(solver="subgradient", variant="vu2022_code")
            model.set_params(max_iter=1000, options={"n_starts": 21})
            model.set_params(random_state=stream)
        for alpha, lam in product((0.05, 0.1, 0.15), (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)):
            model.set_params(alpha=alpha, lam=lam)
            yield f"alpha={alpha:g}, lam={lam:g}", model
    elif method == "fairpca" and printed:  # multiplicative weights
        model = MinMaxFairPCA(k, solver="mw", variant="vu2022_code", max_iter=1000)
        for eta in ETAS:
            yield f"eta={eta:g}", model.set_params(options={"eta": eta})
    elif method == "fairpca":
        yield "", MinMaxFairPCA(k)
    elif method == "cfpca_mean":
        model = FPCA(k, constraints="mean", tol=1e-9, options={"standardise": False})
        if printed:  # its constraint is practically Pf = 0 for every delta
            model.set_params(variant="vu2022_code")
        for delta in (0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9):
            yield f"delta={delta:g}", model.set_params(delta=delta)
    elif method == "cfpca_both":
        model = FPCA(k, variant="vu2022_code", options={"standardise": False})
        model.set_params(tol=1e-5 if protocol == "rough" else 1e-7)
        mus: tuple[float, ...] = (0.0001, 0.001, 0.01, 0.05, 0.5)
        if protocol != "stated":  # mu is lost on its way, and near ties are ignored
            model.set_params(options={"standardise": False, "tie_tol": 0.0})
            mus = (1.0,)
        for mu in mus:
            yield f"mu={mu:g}", model.set_params(mu=mu)
    else:
        yield "", PCA(k)


def judge(
    model: Any,
    X: np.ndarray,
    group: np.ndarray,
    rows: np.ndarray | None = None,
    centres: np.ndarray | None = None,
) -> dict[str, float]:
    """Return the error of all rows X about zero, and of each group about a centre.

    By default a group's error is that of its rows in X about their mean.
    """
    rows = X if rows is None else rows
    centres = means(rows, group) if centres is None else centres
    P = model.components_.T @ model.components_  # printed FairPCA: no projection

    def error(points: np.ndarray) -> float:
        return float(np.mean(np.sum((points - points @ P) ** 2, axis=1)))

    own = [error(rows[group == g] - centres[g]) for g in (0, 1)]
    return {
        "are": error(X), "abdiff": abs(own[0] - own[1]),
        "error_0": own[0], "error_1": own[1],
    }


def means(X: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the mean of each group."""
    return np.array([X[group == g].mean(axis=0) for g in (0, 1)])


def split_groups(
    group: np.ndarray, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a share of each group for training, in the authors' order."""
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(np.flatnonzero(group == g)) for g in (0, 1)]
    cut = [int(share * len(own)) for own in rows]
    train = np.concatenate([own[:n] for own, n in zip(rows, cut, strict=True)])
    test = np.concatenate([own[n:] for own, n in zip(rows, cut, strict=True)])
    return rng.permutation(train), rng.permutation(test)


def rescaled(X: np.ndarray) -> np.ndarray:
    """Standardise a second time, as the authors' routine for CFPCA does.

    The first standardisation leaves a constant feature as one tiny number in every
    row. The routine centres with the n × n matrix I - 11'/n. Its rounding turns the
    tiny number into noise, which is then scaled to unit variance. E. Coli has such a
    feature in the tables, so the rounding is repeated here.
    """
    n = len(X)
    constant = np.ptp(X, axis=0) == 0
    if np.any(constant & (X[0] != 0)):
        centred = (np.eye(n) - np.ones((n, n)) / n) @ X
    else:
        centred = X - X.mean(axis=0)
        centred[:, constant] = 0.0
    deviation = centred.std(axis=0)
    return centred / np.where(deviation > 0, deviation, 1.0)


def randomised_svd(
    C: np.ndarray, k: int, start: np.ndarray | None, n_rows: int
) -> np.ndarray:
    """Return the top k vectors of rows with second moment C, as in scikit-learn 1.0.

    Its randomised SVD of centred rows X depends on X'X only, because every step
    normalises a basis and keeps its span. Without a random start the SVD is exact,
    and so it is with a start that spans everything.
    """
    p = C.shape[-1]
    if start is None or start.shape[-1] >= p:
        return np.linalg.eigh(C)[1][..., ::-1][..., :k]
    W = start
    for _ in range(7 if k < 0.1 * min(n_rows, p) else 4):
        W = np.linalg.qr(C @ W)[0]
    CW = C @ W
    L = np.linalg.cholesky(W.swapaxes(-1, -2) @ CW)
    half = np.linalg.solve(L, CW.swapaxes(-1, -2))
    right = np.linalg.svd(half, full_matrices=False)[2]
    return right[..., :k, :].swapaxes(-1, -2)


def random_starts(
    stream: Any, sizes: list[int], p: int, k: int, steps: int
) -> list[np.ndarray | None]:
    """Draw the starts of a fit: of the groups' own SVDs, and of every step."""
    return [
        stream.normal(size=(times, p, k + 10))
        if max(n, p) > 500 and k < 0.8 * min(n, p) else None  # else it is exact
        for n, times in zip(sizes, (1, 1, steps), strict=True)
    ]


def randomised_port(
    moments: GroupMoments, k: int, etas: Sequence[float], stream: Any,
    steps: int = 1000,
) -> Iterator[tuple[str, Any]]:
    """Yield the port of FairPCA with the SVD of 2021, for all step sizes at once."""
    C, m = moments.second_moments("group"), len(etas)
    p, sizes = C.shape[1], [*moments.counts.astype(int), int(moments.counts.sum())]
    drawn = [random_starts(stream, sizes, p, k, steps) for _ in etas]
    parts: Any = list(zip(*drawn, strict=True))
    starts: Any = [
        None if part[0] is None else np.stack(part, axis=1) for part in parts
    ]

    def leading(A: np.ndarray, part: int, step: int = 0) -> np.ndarray:
        start = None if starts[part] is None else starts[part][step]
        return randomised_svd(A, k, start, sizes[part])

    best, logs, total = np.zeros((m, 2)), np.zeros((m, 2)), np.zeros((m, p, p))
    for g in (0, 1):
        V = leading(np.stack([C[g]] * m), g)
        best[:, g] = np.einsum("mij,il,mlj->m", V, C[g], V)
    for step in range(steps):
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        V = leading(np.tensordot(weights, C, 1), 2, step)
        last = V @ V.swapaxes(1, 2)
        total += last
        kept = np.einsum("gij,mij->mg", C, last)
        logs = logs + np.asarray(etas)[:, None] * (best - kept)
    for eta, P, own, V_last in zip(etas, total / steps, best, V, strict=True):
        # It adds the entries of a matrix product, where the inner product is meant.
        sums = C.sum(axis=1)
        of_average = (own - sums @ P.sum(axis=0)).max()
        of_last = (own - sums @ (V_last @ V_last.T).sum(axis=0)).max()
        w, U = np.linalg.eigh(P)
        average = U * np.sqrt(1 - np.sqrt(np.clip(1 - w, 0, 1)))  # I - sqrt(I - P)
        rows = (average if of_average < of_last else V_last).T
        yield f"eta={eta:g}", SimpleNamespace(components_=rows)


def fits(
    method: str,
    protocol: str,
    stream: Any,
    k: int,
    rows: np.ndarray,
    group: np.ndarray,
    faces: bool = False,
    only: int | None = None,
) -> Iterator[tuple[str, Any]]:
    """Yield each setting, or the one at a position, with its fitted estimator."""
    seen = rescaled(rows) if method.startswith("cfpca") else rows
    moments = GroupMoments.from_data(seen, group)
    if method == "fairpca_svd":
        etas = ETAS if only is None else ETAS[only:][:1]
        yield from randomised_port(moments, k, etas, stream)
        return
    settings: Iterator[tuple[str, Any]] = compared(method, protocol, stream, k)
    if faces and method == "cfpca_both":  # a larger mu takes minutes there
        settings = islice(settings, 2)
    for i, (setting, model) in enumerate(settings):
        if only in (None, i):
            model.fit(moments)
            if protocol == "stated" and method in ("rfpca", "fairpca"):
                assert model.result_.status == "optimal"
            yield setting or "none", model


def choose(
    method: str,
    protocol: str,
    stream: Any,
    k: int,
    A: np.ndarray,
    a: np.ndarray,
    split: int,
    faces: bool = False,
    n_folds: int = 3,
) -> int:
    """Return the position of the setting with the smallest error plus gap."""
    scores: Any = 0.0
    folds = KFold(n_folds, shuffle=True, random_state=split)
    for inner, outer in folds.split(A):
        centres = means(A[inner], a[inner])
        new, everyone = standardise(A[inner], A[outer], scale=not faces)
        rows = A[inner] if method.startswith("fairpca") else new
        judged = [
            judge(model, everyone, a[outer], A[outer], centres)
            for _, model in fits(method, protocol, stream, k, rows, a[inner], faces)
        ]
        scores += np.array([found["are"] + found["abdiff"] for found in judged])
    return int(np.argmin(scores))  # the first minimum


def one_split(
    X: np.ndarray,
    group: np.ndarray,
    method: str,
    protocol: str,
    split: int,
    k: int = 3,
    faces: bool = False,
) -> dict[str, Any]:
    """Split, standardise, choose a setting, fit and judge."""
    train, test = split_groups(group, 0.3, split)
    A, B = standardise(X[train], X[test], scale=not faces)
    a, b = group[train], group[test]
    stream, best = np.random.RandomState(split), 0
    settings = [name for name, _ in compared(method, protocol, stream, k)]
    if len(settings) > 1 or method == "fairpca_svd":
        n_folds = 2 if faces else 3
        best = choose(method, protocol, stream, k, A, a, split, faces, n_folds)
    found = fits(method, protocol, stream, k, A, a, faces, only=best)
    setting, model = next(found)
    return {
        "setting": setting, "model": model,
        "inside": judge(model, A, a),
        "outside": judge(model, B, b, centres=means(A, a)),
        "train": (A, a), "test": (B, b),
        "stream": stream,  # as the fits left it
    }


def separations(
    found: dict[str, Any], k: int, protocol: str, stream: Any, split: int
) -> Iterator[tuple[str, float]]:
    """Yield Delta F_Lin, and whether the classifier is zero."""
    model, (A, a), (B, b) = found["model"], found["train"], found["test"]
    V = model.components_.T
    if model.result_.basis == "affine":  # a matrix of larger rank than k
        V = top_eigenpairs(V @ V.T, k)[1]
    if protocol == "stated":
        for name, balanced in (("", True), ("_plain", False)):
            rule: dict[str, Any] = {"balanced": balanced, "random_state": split}
            line = delta_f_lin(B @ V, b, A @ V, a, **rule)
            yield f"delta_f_lin{name}", line.value
            yield f"zero_classifier{name}", float(line.degenerate)
        return
    again = deepcopy(stream)
    line = delta_f_lin(B @ V, b, protocol="printed", random_state=stream)
    yield "delta_f_lin", line.value
    yield "zero_classifier", float(line.degenerate)
    if split < 3:  # once more, with rows moved by no more than rounding
        draw = np.random.default_rng(split).standard_normal(B.shape)
        moved = (B * (1 + 1e-15 * draw)) @ V
        line = delta_f_lin(moved, b, protocol="printed", random_state=again)
        yield "again:delta_f_lin", line.value

"""Data in any unit, and data in which hardly anything varies: the same answer, the trivial one, or a clear error."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

import numpy as np
from families_finding import Family, Finding
from families_problems import hostile_rows

from fairpca import FPCA, MBFPCA, PCA, RFPCA, LinearEraser, MeanFairPCA, MinMaxFairPCA

__all__ = ["FAMILIES"]

_CENTRES = ("group", "overall", "none")
_KINDS = (
    *("zeros", "constant", "constant group", "one row a group", "a group of one row", "one column"),
    *("identical groups", "one direction", "constant column", "repeated row", "huge outlier", "nearly constant"),
)


def _scalable(rng: np.random.Generator, d: int) -> tuple[str, object]:
    """A method whose answer has no unit."""
    objective = ("loss", "error", "variance", "nash")[int(rng.integers(4))]
    centering = _CENTRES[int(rng.integers(2))]
    choices = (
        ("PCA", PCA(d)),
        ("MinMaxFairPCA", MinMaxFairPCA(d, objective=objective, centering=centering)),  # type: ignore[arg-type]
        ("MinMaxFairPCA, nested", MinMaxFairPCA(d, objective="error", nested=True)),
        ("MinMaxFairPCA, mw", MinMaxFairPCA(d, solver="mw", max_iter=20)),
        ("RFPCA", RFPCA(d, alpha=0.0, lam=float(rng.uniform(0, 3)))),
        ("MeanFairPCA", MeanFairPCA(d)),
        ("MeanFairPCA, covariances", MeanFairPCA(d, match="mean+covariance")),
        ("FPCA", FPCA(d)),
        ("FPCA, means", FPCA(d, constraints="mean")),
        ("LinearEraser", LinearEraser()),
    )
    return choices[int(rng.integers(len(choices)))]


def units(rng: np.random.Generator) -> Iterator[Finding]:
    """Rows times a power of two between 1e-150 and 1e150."""
    n, p = int(rng.integers(12, 40)), int(rng.integers(3, 6))
    X = rng.standard_normal((n, p)) * rng.uniform(0.3, 1.0) ** np.arange(p)
    groups = np.arange(n) % 2
    name, model = _scalable(rng, int(rng.integers(1, p - 1)))
    scale = 2.0 ** int(rng.integers(-498, 499))
    if name == "LinearEraser":
        here = model.fit(X, sensitive_features=groups).transform(X)  # type: ignore[attr-defined]
        there = model.fit(X * scale, sensitive_features=groups).transform(X * scale) / scale  # type: ignore[attr-defined]
        yield Finding(f"{name}: rows", float(np.abs(here - there).max()), 1e-9)
        return
    here, status = _space(model, X, groups)
    there, other = _space(model, X * scale, groups)
    yield Finding(f"{name} times {scale:.3g}: subspace", float(np.abs(here - there).max()), 1e-6)
    yield Finding(f"{name} times {scale:.3g}: {status} became {other}", float(status != other), 0.0)


def _space(model: object, X: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, str]:
    V = model.fit(X, sensitive_features=groups).components_.T  # type: ignore[attr-defined]
    return V @ V.T, model.result_.status  # type: ignore[attr-defined]


def _degenerate(rng: np.random.Generator) -> tuple[str, np.ndarray, np.ndarray]:
    """Rows in which something is missing."""
    kind = _KINDS[int(rng.integers(len(_KINDS)))]
    X, groups = hostile_rows(rng, n_groups=int(rng.integers(2, 4)), p=1 if kind == "one column" else None)
    last = groups == groups.max()
    match kind:
        case "zeros":
            X = np.zeros_like(X)
        case "constant":
            X = np.full_like(X, 3.0)
        case "constant group":
            X[last] = X[last][0]
        case "one row a group":
            X, groups = X[:2], np.array([0, 1])
        case "a group of one row":
            groups[last] = 0
            groups[0] = 1
        case "identical groups":
            X, groups = np.concatenate((X, X)), np.repeat([0, 1], len(X))
        case "one direction":
            X = X[:, :1] * rng.standard_normal(X.shape[1])
        case "constant column":
            X[:, 0] = 1.0
        case "repeated row":
            X[:] = X[0]
            X[0] += 1.0
        case "huge outlier":
            X[0] *= 1e12
        case "nearly constant":
            X = 1.0 + 1e-13 * X
    return kind, X, groups


def _any_method(rng: np.random.Generator, d: int) -> object:
    centering = _CENTRES[int(rng.integers(3))]
    objective = ("loss", "error", "variance", "nash")[int(rng.integers(4))]
    plain = ("loss", "error", "variance")[int(rng.integers(3))]
    choices = (
        PCA(d),
        MinMaxFairPCA(d, objective=objective, centering=centering),  # type: ignore[arg-type]
        MinMaxFairPCA(d, objective=objective, nested=True, centering=centering),  # type: ignore[arg-type]
        MinMaxFairPCA(d, objective=plain, solver="mw", max_iter=20, centering=centering),  # type: ignore[arg-type]
        RFPCA(d, centering=centering, lam=float(rng.uniform(0, 3))),  # type: ignore[arg-type]
        RFPCA(d, centering=centering, solver="mm", max_iter=50),  # type: ignore[arg-type]
        RFPCA(d, centering=centering, solver="subgradient", max_iter=30, random_state=0, options={"n_starts": 2}),  # type: ignore[arg-type]
        MeanFairPCA(d),
        MeanFairPCA(d, projection="oblique"),
        FPCA(d, delta=float(rng.choice([0.0, 0.3]))),
        FPCA(d, constraints="mean"),
        MBFPCA(d, tau=0.01, n_starts=1, random_state=0),
        LinearEraser(),
    )
    return choices[int(rng.integers(len(choices)))]


def degenerate(rng: np.random.Generator) -> Iterator[Finding]:
    """Data in which something is missing, for every method."""
    kind, X, groups = _degenerate(rng)
    model = _any_method(rng, int(rng.integers(1, X.shape[1] + 1)))
    name = f"{model!r}, {kind}".replace("\n", " ")
    try:
        out = model.fit(X, sensitive_features=groups).transform(X)  # type: ignore[attr-defined]
    except (ValueError, TypeError) as error:
        place = traceback.extract_tb(error.__traceback__)[-1].filename.replace("\\", "/")
        ours = "/fairpca/" in place or place.endswith("sklearn/utils/validation.py")
        yield Finding(f"{name}: {type(error).__name__} of somebody else: {str(error)[:120]}", float(not ours), 0.0)
        return
    yield Finding(f"{name}: finite", float(not np.isfinite(out).all()), 0.0)
    if not hasattr(model, "components_"):
        return
    result = model.result_  # type: ignore[attr-defined]
    yield Finding(f"{name}: objective is a number", float(not np.isfinite(result.objective)), 0.0)
    V = model.components_.T
    yield Finding(f"{name}: components", float(V.shape[1] == 0), 0.0)
    if result.basis != "affine" and not hasattr(model, "decoder_"):
        yield Finding(f"{name}: orthonormal", float(np.abs(V.T @ V - np.eye(V.shape[1])).max()), 1e-8)


FAMILIES: dict[str, Family] = {"any unit": units, "degenerate data": degenerate}

"""What in Algorithm 1 of Lee et al. moves what: python scripts/lee_algorithm1.py switches

``switches`` runs MBF-PCA with tau = 1e-6 on German credit (d = 10) and COMPAS (d = 2), ten splits each. It begins with
limited memory and a stall test, frames in the row space, a start solved to an absolute gradient of 1e-6, and no
subproblem beyond rho_max; each of these is replaced by what the authors' program does, alone and together.

``stored FOLDER`` reads the loadings that the authors stored (the folder ``uci`` of nick-jhlee/fair-manifold-pca). At a
stationary point of -f + rho h the two gradients give rho: it is 1/h(PCA) times a power of two, the doublings of that
run. Beside it stand the doublings of a run of ours from PCA and of one from the auxiliary start, and how far their
planes are from the stored one.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pymanopt
from sklearn.exceptions import ConvergenceWarning

from fairpca import MBFPCA
from fairpca.companion.lee2022 import bandwidth
from fairpca.datasets import load
from fairpca.linalg import orthonormal
from fairpca.solvers.manifold.bfgs import limited_rbfgs
from fairpca.solvers.manifold.rbfgs import stiefel_rbfgs
from fairpca.solvers.mbf import MBFProblem
from fairpca.solvers.mbf.solve import _Reduced
from fairpca.solvers.mmd.kernel import WeightedRows

ALL = frozenset({"full", "frames", "auxiliary", "last"})
VARIANTS = {
    "as it was": frozenset(),
    "(a) full BFGS with Armijo search, no stall test": frozenset({"full"}),
    "(a) to (d): the published program": ALL,
    "(a) to (d) from PCA": ALL | {"pca"},
    "(b) random frames in R^p": frozenset({"frames"}),
    "(c) auxiliary start: relative gradient 1e-6, 500 steps": frozenset({"auxiliary"}),
    "(d) the subproblem beyond rho_max is solved": frozenset({"last"}),
    "(e) at least one step (not the program's)": frozenset({"step"}),
}
CASES = (("compas", 2), ("german", 10))
TAU = 1e-6
FOLDERS = {
    ("compas", 2, 1e-3): "COMPAS/2_stfpca_3",
    ("german", 2, 1e-3): "German/2_mbfpca_3",
    ("german", 2, 1e-6): "German/2_mbfpca_6",
    ("german", 10, 1e-3): "German/10_mbfpca_3",
    ("adult", 2, 1e-3): "Adult/2_stfpca_3",
    ("adult", 2, 1e-6): "Adult/2_stfpca_6",
}


def problem_of(dataset: str, split: int, d: int, whole: bool) -> tuple[MBFProblem, np.ndarray]:
    """Return the problem in working coordinates, of the features' space or of the row space, and their basis."""
    train, _ = load(dataset, split=split)
    reduced = _Reduced.of(train.X, None, train.X.shape[1] if whole else d)
    term = reduced.inside(WeightedRows.from_groups(reduced.X, train.group_code))
    sigma = bandwidth(train, d, "printed") / reduced.unit
    return MBFProblem(reduced.spectrum, reduced.rank, [term], sigma, d, TAU, max_iter=10**9), reduced.basis


class Stiefel(pymanopt.manifolds.Stiefel):
    """The operations of pymanopt for one frame at a time, which cost less."""

    def projection(self, point, vector):
        inner = point.T @ vector
        return vector - point @ ((inner + inner.T) / 2)

    def retraction(self, point, tangent_vector):
        return orthonormal(point + tangent_vector)

    def transport_rows(self, point, rows):
        m, p, n = rows.shape
        flat = rows.reshape(m * p, n)
        inner = (flat @ point).reshape(m, p, p)
        flat -= ((inner + inner.transpose(0, 2, 1)) / 2).reshape(m * p, p) @ point.T


def limited(function, V, tolerance, max_steps, at_least_one=False):
    """Minimise with limited memory and a stall test, as before."""
    manifold, V = Stiefel(*V.shape), np.array(V)
    if at_least_one:
        V = limited_rbfgs(function, manifold, V, 1e-300, 1)
    return limited_rbfgs(function, manifold, V, tolerance, max_steps)


def algorithm1(dataset: str, split: int, d: int, switches: frozenset[str]) -> tuple[MBFProblem, np.ndarray]:
    """Run Algorithm 1 with the chosen parts of the authors' program."""
    problem, basis = problem_of(dataset, split, d, "frames" in switches)
    turn = basis if "frames" in switches else np.eye(problem.size)

    def minimise(V, weight, rho, tolerance, max_steps, relative=False):
        def function(point):
            e = problem.evaluate(turn.T @ point)
            return rho * e.h - weight * e.variance, turn @ (rho * e.h_slope - weight * e.variance_slope)

        if "full" in switches:
            return turn.T @ stiefel_rbfgs(function, turn @ V, tolerance, max_steps, relative=relative)
        if relative:
            point = turn @ V
            slope = function(point)[1]
            inner = point.T @ slope
            tolerance *= np.linalg.norm(slope - point @ ((inner + inner.T) / 2))
        return turn.T @ limited(function, turn @ V, tolerance, max_steps, "step" in switches)

    rng = np.random.default_rng(0)
    rho, epsilon = 1.0 / problem.evaluate(problem.pca()).h, 1e-1
    V = problem.pca()
    if "pca" not in switches:
        frames = [problem.random(rng) for _ in range(11)]
        V = max(frames, key=lambda V: float(problem.spectrum @ np.sum(V * V, axis=1)))
        stop = {"max_steps": 500, "relative": True} if "auxiliary" in switches else {"max_steps": 300}
        V = minimise(V, 0.0, 1.0, 1e-6, **stop)
    for _ in range(101):
        new = minimise(V, 1.0, rho, epsilon, 300)
        h, moved = problem.evaluate(new).h, np.linalg.norm(new - V)
        V = new
        if (moved <= 1e-6 and epsilon <= 1e-6 and h <= TAU) or rho > 1e10:
            break
        epsilon = max(1e-6, 0.1 * epsilon)
        if h > TAU:
            if rho > 5e9 and "last" not in switches:
                break
            rho *= 2
    return problem, V


def switches(datasets: list[str]) -> None:
    for dataset, d in CASES:
        if datasets and dataset not in datasets:
            continue
        for name in VARIANTS:
            ends = [
                problem.evaluate(V) for problem, V in (algorithm1(dataset, s, d, VARIANTS[name]) for s in range(10))
            ]
            variances, values = (np.array([getattr(e, field) for e in ends]) for field in ("variance", "h"))
            print(
                f"{dataset:7s} d={d:<3d}{name:58s}{np.sum(values <= TAU):3d} of 10   "
                f"variance {100 * variances.mean():6.2f}   MMD² {values.mean():.1e}",
                flush=True,
            )


def stored(folder: Path) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for (dataset, d, tau), name in FOLDERS.items():
        for split in range(10):
            problem, basis = problem_of(dataset, split, d, whole=True)
            W = np.loadtxt(folder / name / f"STFPCA_V_{split}.csv", delimiter=",")
            e = problem.evaluate(basis.T @ W)
            rho = e.multiplier * problem.evaluate(problem.pca()).h
            row = {"dataset": dataset, "d": d, "tau": tau, "split": split, "doublings": np.log2(rho)}
            train = load(dataset, split=split)[0]
            for start in ("pca", "auxiliary"):
                options = {"repms": {"start": start}}
                model = MBFPCA(d, tau=tau, solver="repms", variant="lee2022_code", options=options, random_state=0)
                V = model.fit(train.X, sensitive_features=train.sensitive_features).components_.T
                penalties = np.asarray(model.result_.history["rho"])
                row[f"{start}: doublings"] = round(np.log2(penalties[-1] / penalties[0]))
                row[f"{start}: distance"] = float(np.linalg.norm(W - V @ (V.T @ W)))
            rows.append(row)
            print(row, flush=True)
    table = pd.DataFrame(rows)
    print(table.drop(columns="split").groupby(["dataset", "d", "tau"]).agg(["median", "max"]).to_string())


if __name__ == "__main__":
    stored(Path(sys.argv[2])) if sys.argv[1] == "stored" else switches(sys.argv[2:])

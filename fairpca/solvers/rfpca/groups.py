"""RFPCA for any number of groups (Theorem B.2 of Vu et al. 2022) by majorise-minimise, with a lower bound.

With three groups or more the boundary of conv{s(V)} need not consist of planes, so unlike for two groups the plane
found is in general not certified; the bound says how far from optimal it can be at most.

*Bound.* Every J is a sum of concave functions of one s_b each, so on the box of possible errors it lies above its
chords; min over the Fantope of the largest chord is a convex problem in the errors alone, solved in its dual by
Kelley's method (each step is one eigen-decomposition and proves a bound).  A known plane then shrinks the box: errors
at which a chord exceeds its value cannot be optimal, and on a smaller box the chords are closer to the J.
*Descent.* Around V every J is replaced by its linearisation on the Grassmannian plus a quadratic; minimising the
largest of these majorants is a small quadratic programme over the simplex, whose step is accepted when the
objective falls.  The objective never increases.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter

import numpy as np
from scipy.optimize import linprog, nnls

from fairpca.linalg import orthonormal, top_eigenpairs
from fairpca.solvers._result import SolverResult, Status
from fairpca.solvers.rfpca._boundary import reconstruction_errors
from fairpca.solvers.rfpca.objective import GroupObjective, RobustValue, check_problem

__all__ = ["ChordRelaxation", "solve_rfpca_groups"]

_ROUNDS = 6  # of shrinking the box of errors and bounding again
_DROP = 1e-12  # relative size of a step below which the descent has arrived


def solve_rfpca_groups(
    moments: np.ndarray,
    shares: np.ndarray,
    k: int,
    lam: float,
    eps: np.ndarray,
    *,
    robust_value: RobustValue = "exact",
    tol: float = 1e-9,
    max_iter: int = 1000,
    starts: Iterable[np.ndarray] = (),
) -> SolverResult:
    """Minimise Theorem B.2's objective over k-dimensional subspaces, locally, by majorise-minimise.

    Parameters
    ----------
    moments : ndarray of shape (m, p, p)
        Second moments of m >= 2 groups.
    shares, eps : ndarray of shape (m,)
        Group shares and radii.
    k : int
        Dimension of the subspace, 1 <= k < p.
    lam : float
        Penalty on the largest gap, zero or larger.
    robust_value : {"exact", "printed"}
        The true worst case for every lam, or the paper's formula.
    tol : float
        The descent stops when five steps in a row lower the objective by less than a hundredth of `tol` (relative).
    max_iter : int
        Steps of each descent.
    starts : iterable of ndarray of shape (p, k)
        Further planes to start from, besides ordinary PCA, the groups' own PCA and the planes met while
        bounding.

    Returns
    -------
    SolverResult
        ``bound`` is proven; the status is "optimal" if it reaches the objective up to `tol`, else "converged"
        or "max_iter" and nothing is certified beyond `gap`. ``history["objective"]`` belongs to the best start;
        ``extra`` has the ``errors`` of the groups and the ``values`` of all J.
    """
    begin = perf_counter()
    moments, shares, eps = check_problem(moments, shares, k, lam, eps)
    objective = GroupObjective(shares, lam, eps, robust_value)
    relaxation = ChordRelaxation(moments, k, objective)
    relaxation.solve()
    candidates = [top_eigenpairs(np.tensordot(shares, moments, axes=1), k)[1], *relaxation.planes, *starts]
    scores = [float(objective.values(reconstruction_errors(moments, V)).max()) for V in candidates]
    best: tuple[float, np.ndarray, list[float], bool] | None = None
    # The best few only: many candidates lie in one basin.
    for index in np.argsort(scores, kind="stable")[:4]:
        V, history, arrived = _descend(moments, objective, candidates[index], tol, max_iter)
        if best is None or history[-1] < best[0]:
            best = (history[-1], V, history, arrived)
    assert best is not None
    value, V, history, arrived = best
    for _ in range(_ROUNDS):
        if value - relaxation.bound <= tol * abs(value) or not relaxation.tighten(value):
            break
        relaxation.planes.append(V)  # so that some mixture of planes lies in the box
        relaxation.solve()
    bound = relaxation.bound
    errors = reconstruction_errors(moments, V)
    gap = max(value - bound, 0.0)
    status: Status = "optimal" if gap <= tol * abs(value) else "converged" if arrived else "max_iter"
    return SolverResult(
        V,
        status,
        value,
        bound=min(bound, value),
        certificate="proof",
        n_iter=len(history) - 1,
        seconds=perf_counter() - begin,
        history={"objective": np.array(history)},
        extra={"errors": errors, "values": objective.values(errors)},
    )


class ChordRelaxation:
    """Lower bounds from chords of the concave J over a box of errors, minimised over conv{s(V)}.

    Parameters
    ----------
    moments : ndarray of shape (m, p, p)
        Second moments.
    k : int
        Dimension of the subspace.
    objective : GroupObjective
        The J of all pairs.

    Attributes
    ----------
    low, high : ndarray of shape (m,)
        Box that contains the errors of every optimal plane.
    planes : list of ndarray
        Planes met so far.
    bound : float
        Best bound proven so far.
    """

    def __init__(self, moments: np.ndarray, k: int, objective: GroupObjective) -> None:
        self.moments, self.k, self.objective = moments, k, objective
        self.traces = np.trace(moments, axis1=1, axis2=2)
        self.planes: list[np.ndarray] = []
        self.bound = -np.inf
        m = len(moments)
        self.low, self.high = np.empty(m), np.empty(m)
        for b, M in enumerate(moments):
            w, U = np.linalg.eigh(M)
            self.low[b], self.high[b] = max(w[: len(w) - k].sum(), 0.0), w[k:].sum()
            self.planes.append(U[:, len(w) - k :])
        self._normals = np.empty((0, m))
        self._offsets = np.empty(0)
        self._errors: list[np.ndarray] = []

    def chords(self) -> tuple[np.ndarray, np.ndarray]:
        """Return constants and slopes of the affine functions that lie below every J on the box."""
        base = self.objective.values(self.low)
        slopes = np.zeros((len(base), len(self.low)))
        for b, width in enumerate(self.high - self.low):
            if width > 0:
                corner = self.low.copy()
                corner[b] = self.high[b]
                slopes[:, b] = (self.objective.values(corner) - base) / width
        return base - slopes @ self.low, slopes

    def solve(self, *, tol: float = 1e-9, max_cuts: int = 60) -> float:
        """Minimise the largest chord over conv{s(V)} within the box; raise and return `bound`.

        The dual in the weights of the chords is maximised by Kelley's method: planes found so far span an inner
        approximation of conv{s(V)}, whose multipliers are the next weights, whose top eigenspace is the next plane.
        """
        constants, slopes = self.chords()
        m, pairs = len(self.low), len(constants)
        centre, reach = np.array([]), -np.inf  # multipliers of the best bound in this box
        for _ in range(max_cuts):
            S = self._all_errors()
            n = len(S)
            rows = np.vstack(
                (
                    np.hstack((slopes @ S.T, -np.ones((pairs, 1)))),
                    np.hstack((S.T, np.zeros((m, 1)))),
                    np.hstack((-S.T, np.zeros((m, 1)))),
                )
            )
            limits = np.concatenate((-constants, self.high, -self.low))
            solution = linprog(
                np.append(np.zeros(n), 1.0),
                A_ub=rows,
                b_ub=limits,
                A_eq=np.append(np.ones(n), 0.0)[None, :],
                b_eq=np.ones(1),
                bounds=[(0, None)] * n + [(None, None)],
                method="highs",
            )
            if solution.status != 0 or solution.x[-1] - reach <= tol * abs(solution.x[-1]):
                break
            multipliers = np.maximum(-solution.ineqlin.marginals, 0.0)
            if multipliers[:pairs].sum() <= 0:
                break
            multipliers /= multipliers[:pairs].sum()
            # Halfway back to the best multipliers so far: Kelley's method jumps about without it.
            for share in (0.5, 1.0) if centre.size else (1.0,):
                trial = multipliers if share == 1 else share * multipliers + (1 - share) * centre
                w, above, below = trial[:pairs], trial[pairs : pairs + m], trial[pairs + m :]
                # Weak duality: any such multipliers prove a bound, whatever the linear programme's accuracy.
                value = float(w @ constants - above @ self.high + below @ self.low)
                value += self._cut(w @ slopes + above - below)
                if value > reach:
                    centre, reach = trial, value
                    break
            self.bound = max(self.bound, reach)
        return self.bound

    def _all_errors(self) -> np.ndarray:
        """Return s(V) of every plane met, shape (n_planes, m)."""
        for V in self.planes[len(self._errors) :]:
            self._errors.append(reconstruction_errors(self.moments, V))
        return np.array(self._errors)

    def _cut(self, normal: np.ndarray) -> float:
        """Add the supporting half-space with this normal; return the least <normal, s> over all planes."""
        w, U = np.linalg.eigh(np.tensordot(normal, self.moments, axes=1))
        support = float(normal @ self.traces - w[len(w) - self.k :].sum())
        self.planes.append(U[:, len(w) - self.k :])
        self._normals = np.vstack((self._normals, normal))
        self._offsets = np.append(self._offsets, support)
        return support

    def tighten(self, upper: float) -> bool:
        """Shrink the box to the errors at which no chord exceeds `upper`; return whether it shrank notably."""
        constants, slopes = self.chords()
        m = len(self.low)
        rows = np.vstack((slopes, -self._normals))
        limits = np.concatenate((upper - constants, -self._offsets))
        before = self.high - self.low
        margin = 1e-9 * self.traces  # room for the linear programmes' tolerance
        low, high = self.low.copy(), self.high.copy()
        box = list(zip(self.low, self.high, strict=True))
        for b in range(m):
            for sign in (1.0, -1.0):
                solution = linprog(sign * np.eye(m)[b], A_ub=rows, b_ub=limits, bounds=box, method="highs")
                if solution.status != 0:
                    continue
                if sign > 0:
                    low[b] = max(low[b], solution.x[b] - margin[b])
                else:
                    high[b] = min(high[b], solution.x[b] + margin[b])
        self.low, self.high = low, np.maximum(high, low)
        return bool(np.any(self.high - self.low < 0.9 * before))


def _descend(
    moments: np.ndarray, objective: GroupObjective, V: np.ndarray, tol: float, max_iter: int
) -> tuple[np.ndarray, list[float], bool]:
    """Run the majorise-minimise descent from V; return the plane, the objective's values and whether it arrived."""
    traces = np.trace(moments, axis1=1, axis2=2)
    floor = 1e-14 * traces
    errors = reconstruction_errors(moments, V)
    history = [float(objective.values(errors).max())]
    curvature = float(np.max(np.abs(objective.weights) @ np.linalg.norm(moments, axis=(1, 2))))
    small = 0
    for _ in range(max_iter):
        J = objective.values(errors)
        slopes = objective.slopes(errors, floor.max())
        images = moments @ V
        tangents = images - V @ (V.T @ images)  # descent directions of each s_b, up to the factor 2
        near = np.flatnonzero(J.max() - J <= 0.5 * abs(J.max()))
        G = 2 * np.tensordot(slopes[near], tangents, axes=1).reshape(len(near), -1)
        accepted = False
        while curvature < 1e30:
            weights = _simplex_qp(G @ G.T / curvature, J[near] - J.max())
            step = (weights @ G).reshape(V.shape) / curvature
            if np.linalg.norm(step) <= _DROP:
                return V, history, True
            trial = orthonormal(V + step)
            trial_errors = reconstruction_errors(moments, trial)
            value = float(objective.values(trial_errors).max())
            if value < history[-1]:
                accepted = True
                break
            curvature *= 2
        if not accepted:
            return V, history, True
        small = small + 1 if history[-1] - value <= 0.01 * tol * abs(value) else 0
        V, errors = trial, trial_errors
        history.append(value)
        curvature *= 0.6
        if small >= 5:
            return V, history, True
    return V, history, False


def _simplex_qp(Q: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Minimise w'Qw / 2 - f'w over the simplex, by non-negative least squares with the sum as a heavy row."""
    n = len(f)
    if n == 1:
        return np.ones(1)
    scale = max(float(np.trace(Q)) / n, float(np.abs(f).max()), 1e-300)
    root = np.linalg.cholesky(Q / scale + 1e-12 * np.eye(n)).T
    target = np.linalg.solve(root.T, f / scale)
    heavy = 1e4
    w, _ = nnls(np.vstack((root, heavy * np.ones(n))), np.append(target, heavy))
    return w / w.sum() if w.sum() > 0 else np.full(n, 1 / n)

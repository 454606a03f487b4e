r"""Exactly d components for three and more groups: ascents on subspaces, below the bound of the relaxation.

The relaxation is solved to optimality, but its answer may have more than d dimensions. Over subspaces of dimension d
the problem is hard in general (Song et al., NeurIPS 2024). What is found here is a local optimum, the best of several
starts; the relaxation bounds what any other subspace could gain.

Let V be an orthonormal basis with complement N, and ``V + N B`` the subspaces near it. To first order the variance that
group g keeps changes by :math:`2\langle N'S_gV, B\rangle`. For multipliers w of the groups the curvature of the
Lagrangian is diagonal in the eigenvectors of :math:`V'S_wV` and :math:`N'S_wN`: it is
:math:`-\sum_{ij} (\nu_j - \mu_i) B_{ij}^2` for their eigenvalues :math:`\nu` and :math:`\mu`. So a step is a small
problem in as many unknowns as there are groups (sequential quadratic programming), and no step makes the value worse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from fairpca.linalg import orthonormal
from fairpca.solvers.minmax._criteria import Criterion
from fairpca.solvers.minmax._problem import certified_status, oriented
from fairpca.solvers.result import CONTRADICTION, SolverResult, consistent_bound
from fairpca.solvers.spectral.pencil import Pencil

__all__ = ["Ascent", "ExactDimension", "ascend", "with_exact_dimension"]

_AGREE, _NEAR = 10, 1e-8  # by so many more starts have to reach the best value than miss it, and how near that is
_STATIONARY = 1e-12  # gain of the model, in units of the criterion, at which an ascent ends
_SAME = 1e-4  # sum of the squared sines of the angles to the best subspace below which a start has reached it
_FLAT, _SADDLE = 1e-8, 1e-10  # least curvatures, of steps that go uphill and of Newton's
_NEWTON = 1e-2  # gain of the model below which Newton's step is tried
_ENTRIES = 10_000_000  # of matrices that are tried for a start: the best of many random subspaces of small problems
_ROUNDS = 10  # of ascents in a basis that grows


class ExactDimension(NamedTuple):
    """Search for the best subspace of exactly d dimensions, where the relaxed solution has more.

    Attributes
    ----------
    n_starts : int
        Ascents at most; fewer where by far the most end at the best value.
    random_state : int
        Seed of the starts after the first.
    """

    n_starts: int = 60
    random_state: int = 0


class Ascent(NamedTuple):
    """Where an ascent ended, the costs on its way, the multipliers there, and whether it was stationary."""

    V: np.ndarray
    costs: list[float]
    weights: np.ndarray
    stationary: bool


class _Move(NamedTuple):
    """A new subspace: its cost, what groups keep there, the weights behind it, what the gradients promised."""

    cost: float
    V: np.ndarray
    variances: np.ndarray
    weights: np.ndarray
    expected: np.ndarray


def with_exact_dimension(
    pencil: Pencil,
    relaxed: SolverResult,
    d: int,
    criterion: Criterion,
    objective: str,
    search: ExactDimension,
    *,
    tol: float,
    max_iter: int,
) -> SolverResult:
    """Return d orthonormal components in the place of a relaxed solution that has more.

    The first start is the leading part of the relaxed solution. The others are random subspaces near its range, and
    leading eigenvectors of random mixtures of the groups, until by far the most have reached the best value.
    """
    Q, known = pencil.basis, relaxed.extra
    root = known["basis"] * np.sqrt(known["eigenvalues"])
    starts = _starts(
        pencil.small, root if Q is None else Q.T @ root, d, criterion, np.random.default_rng(search.random_state)
    )
    best = ascend(pencil, criterion, next(starts), known["weights"], max_iter)
    ends = [best.costs[-1]]
    for start in islice(starts, search.n_starts - 1):
        found = ascend(pencil, criterion, start, known["weights"], max_iter, best)
        ends.append(found.costs[-1])
        best = min(best, found, key=lambda ascent: ascent.costs[-1])
        near = best.costs[-1] + _NEAR * criterion.unit(best.costs[-1])
        if pencil.late or sum(1 if end <= near else -1 for end in ends) == _AGREE:
            break
    if not best.stationary:  # of many short searches only the best is worth a second one
        found = ascend(pencil, criterion, best.V, best.weights, max_iter)
        best = found._replace(costs=best.costs + found.costs[1:])
    V = pencil.lift(best.V)
    variances = _kept(pencil.small, best.V)
    for _ in range(_ROUNDS):
        # V consists of eigenvectors of the multipliers' matrix: where the basis has those, nothing is gained outside.
        A = pencil.combine(best.weights)
        last = np.linalg.eigvalsh(best.V.T @ A @ best.V)[0]
        stop = min(int((np.linalg.eigvalsh(A) >= last).sum()) + 1, pencil.n_features)
        if pencil.late or not pencil.refine([best.weights], stop):
            break
        assert pencil.basis is not None  # a whole matrix has nothing to refine
        found = ascend(pencil, criterion, orthonormal(pencil.basis.T @ V), best.weights, max_iter)
        if found.costs[-1] >= best.costs[-1]:
            break
        best = found._replace(costs=best.costs + found.costs[1:])
        V, variances = pencil.lift(best.V), _kept(pencil.small, best.V)
    cost, unit = best.costs[-1], criterion.unit(best.costs[-1])
    bound = float({"variance": -relaxed.bound, "nash": -np.log(relaxed.bound)}.get(objective, relaxed.bound))
    bound = consistent_bound(cost, bound, CONTRADICTION * criterion.size(variances, pencil.traces))
    status = certified_status(cost, bound, tol, criterion.floor(variances, pencil.traces), unit)
    if status != "optimal" and best.stationary and relaxed.status == "optimal" and not pencil.late:
        status = "converged"
    own = {"losses": known["best_sums"] - variances, "errors": pencil.traces - variances, "variances": variances}
    ended = [oriented(objective, end, end)["objective"] for end in ends]
    more = {"extra_dimensions": 0, "relaxed_dimensions": root.shape[1], "values": np.array(ended)}
    kept = {name: value for name, value in known.items() if name not in ("eigenvalues", "basis")}
    return replace(
        relaxed,
        V=V,
        status=status,
        basis="orthonormal",
        history={**relaxed.history, "ascent": np.array(best.costs)},
        extra={**kept, **own, **more},
        **oriented(objective, cost, bound),
    )


def ascend(
    pencil: Pencil, criterion: Criterion, V: np.ndarray, weights: np.ndarray, max_iter: int, best: Ascent | None = None
) -> Ascent:
    """Lower the cost from an orthonormal V until the model promises nothing.

    Leave when the cost of `best` is out of reach, and return `best` itself once its subspace is reached.
    """
    S, d = pencil.small, V.shape[1]
    m, damping = len(S), 1e-2
    variances = _kept(S, V)
    costs = [criterion.cost(variances)]
    for _ in range(max_iter if np.isfinite(costs[0]) else 0):
        if pencil.late:
            break
        weights = criterion.multipliers(variances, weights)
        A = pencil.combine(weights)
        N = np.linalg.qr(V, mode="complete")[0][:, d:]
        (nu, R), (mu, T) = np.linalg.eigh(V.T @ A @ V), np.linalg.eigh(N.T @ A @ N)
        V, N = V @ R, N @ T
        size = float(max(np.abs(nu).max(), np.abs(mu).max(initial=0.0))) or 1.0
        curvature, unit = nu - mu[:, None], criterion.scale(size)
        G = N.T @ (S @ V)
        flat = G.reshape(m, -1)

        def moved(w: np.ndarray, D: np.ndarray, V: np.ndarray = V, N: np.ndarray = N, G: np.ndarray = G) -> _Move:
            B = np.tensordot(w, G, 1) / D
            new = orthonormal(V + N @ B)
            kept = _kept(S, new)
            return _Move(criterion.cost(kept), new, kept, w, 2.0 * np.tensordot(G, B, 2))

        while True:
            D = np.maximum(np.abs(curvature), _FLAT * size) + damping * size
            K = (flat / D.ravel()) @ flat.T
            w, promised = criterion.step(variances, K, weights)
            if promised <= _STATIONARY * unit:
                return Ascent(V, costs, weights, True)
            move = moved(w, D)
            if costs[-1] - move.cost < 0.1 * promised and criterion.kinked:  # what the groups' own curvatures change
                move = min(move, moved(criterion.step(move.variances - move.expected, K, w)[0], D), key=itemgetter(0))
            if promised < _NEWTON * unit:
                D = np.where(np.abs(curvature) < _SADDLE * size, _SADDLE * size, curvature)
                found, held = criterion.newton(variances, (flat / D.ravel()) @ flat.T, w)
                if found is not None and held == np.count_nonzero(D < 0):  # else it may lead to a saddle
                    move = min(move, moved(found, D), key=itemgetter(0))
            gain = costs[-1] - move.cost
            if gain > 0.05 * promised or (gain > 0 and promised < 1e-9 * unit):
                break
            if damping > 1e6:
                return Ascent(V, costs, weights, True)  # rounding: no step is short enough
            damping = max(6.0 * damping, 1e-3)
        V, variances, weights, damping = move.V, move.variances, move.weights, 0.15 * damping
        costs.append(move.cost)
        if best is not None and d - np.linalg.norm(best.V.T @ V) ** 2 < _SAME:
            return best
        if best is not None and len(costs) > 5 and move.cost - 30.0 * max(promised, gain) > best.costs[-1]:
            break
    return Ascent(V, costs, criterion.multipliers(variances, weights), False)


def _kept(S: np.ndarray, V: np.ndarray) -> np.ndarray:
    return np.einsum("pk,gpk->g", V, S @ V)


def _starts(
    S: np.ndarray, root: np.ndarray, d: int, criterion: Criterion, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield the leading part of P = root root', then the best of random subspaces, and tops of random mixtures."""
    yield orthonormal(root[:, :d])
    (q, r), size = root.shape, float(np.linalg.norm(root)) / root.shape[1] ** 0.5
    drawn = int(np.clip(_ENTRIES // S.size, 4, 200))
    for number in count():
        if number % 3 == 2:
            yield np.linalg.eigh(np.tensordot(rng.dirichlet(np.ones(len(S))), S, 1))[1][:, -d:]
            continue
        noise = size * rng.random((drawn, 1, 1)) * rng.standard_normal((drawn, q, d))
        V = np.linalg.qr(root @ rng.standard_normal((drawn, r, d)) + noise)[0]
        kept = (V @ V.transpose(0, 2, 1)).reshape(drawn, -1) @ S.reshape(len(S), -1).T
        yield V[int(np.argmin([criterion.cost(some) for some in kept]))]

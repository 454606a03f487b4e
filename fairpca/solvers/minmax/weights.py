"""Algorithms 2 and 3 of Samadi et al. (2018): multiplicative weights, as printed and as in the published codes."""

from __future__ import annotations

from time import perf_counter
from typing import Literal, NamedTuple, get_args

import numpy as np

from fairpca._validation import check_choice, check_number
from fairpca.linalg import symmetrise, top_eigenpairs
from fairpca.solvers.minmax._problem import (
    ROUNDING,
    Objective,
    affine_map,
    basis_kind,
    certified_status,
    check_problem,
    eigenvalues_of,
    has_variance,
    oriented,
    references,
    refuse_nash,
    round_by_lp,
    trivial_result,
)
from fairpca.solvers.minmax.sdp import SDPRounding
from fairpca.solvers.result import CONTRADICTION, SolverResult, consistent_bound
from fairpca.solvers.spectral.pencil import Pencil
from fairpca.solvers.spectral.units import in_units, result_in_units, safe_unit

__all__ = ["solve_minmax_weights"]

WeightsVariant = Literal["printed", "samadi2018_code", "vu2022_code"]
_MOST = 10**6  # whose weights and losses are kept


class _Recentring(NamedTuple):
    """What the published code's PCA calls subtract when the rows are not centred."""

    means: np.ndarray
    counts: np.ndarray

    def own(self, moments: np.ndarray) -> np.ndarray:
        return moments - self.means[:, :, None] * self.means[:, None, :]

    def stacked(self, combined: np.ndarray, weights: np.ndarray) -> np.ndarray:
        n = self.counts.sum()
        shift = (np.sqrt(weights * self.counts)[:, None] * self.means).sum(axis=0)
        return combined - np.multiply.outer(shift, shift) / n


def solve_minmax_weights(
    moments: np.ndarray,
    n_components: int,
    *,
    objective: Objective = "loss",
    variant: WeightsVariant = "printed",
    eta: float | None = None,
    n_iter: int = 100,
    rounding: SDPRounding = "lp",
    tol: float = 1e-9,
    recentred: tuple[np.ndarray, np.ndarray] | None = None,
    time_limit: float | None = None,
) -> SolverResult:
    r"""Approximate the relaxation (26)-(28) by multiplicative weights.

    From equal weights, T times: take the top d eigenvectors of :math:`\sum_g w_g C_g` (Algorithm 2), and multiply
    :math:`w_g` by :math:`e^{\eta l_g}` with the group's loss there (Algorithm 3). The weights are kept as
    logarithms, so no step size overflows.

    Parameters
    ----------
    moments : ndarray of shape (n_groups, p, p)
        Second moment of each group.
    n_components : int
        d.
    objective : {"loss", "error", "variance"}
        As in :func:`fairpca.solvers.minmax.solve_minmax`.
    variant : {"printed", "samadi2018_code", "vu2022_code"}
        * "printed": the average of the projections, as printed, then `rounding`.
        * "samadi2018_code": average or last projection, whichever has the smaller largest loss; no rounding; the
          affine map :math:`I - \sqrt{I - P}`, as in the authors' MATLAB scripts.
        * "vu2022_code": the same with the selection of the Python port by Vu et al., which sums all entries of the
          matrix product :math:`C_g P` where the inner product is meant, so that the choice is arbitrary.
    eta : float, optional
        Step size :math:`\eta`. By default :math:`4 / (\rho \sqrt{T})` with the largest loss rho of the first
        iterate, which makes the iteration independent of the data's unit and lets the average's error fall like
        :math:`1 / \sqrt{T}`. The published scripts use 1 (credit) and 20 / d (faces).
    n_iter : int
        T, a million at most; the published scripts use 10 and 5.
    rounding : {"lp", "none"}
        For "printed": the linear programme (5)-(9) in the eigenbasis of the average, or the average itself.
    tol : float
        Relative gap for status "optimal"; all T iterations are made in any case.
    recentred : (means, counts), optional
        Means (n_groups × p) and counts of the groups' rows, for moments of rows that are not centred: makes every
        PCA inside the algorithm subtract the mean of its input, as the published code's calls do. There is no
        certificate then.
    time_limit : float, optional
        Seconds after which no further iteration begins; the answer is that of the iterations made.

    Returns
    -------
    SolverResult
        ``bound`` is the best dual value met. ``history``: ``weights`` and ``losses`` (T × n_groups),
        ``average_losses``. ``extra``: ``chosen`` ("average" or "last"), ``eta``, ``eigenvalues`` and ``basis`` of P,
        ``leading`` (its top d eigenvectors), ``average_loss``, ``last_loss``, ``extra_dimensions``, ``losses``, …
    """
    started = perf_counter()
    moments, d = check_problem(moments, n_components, objective)
    refuse_nash(objective, "mw")
    check_choice("variant", variant, get_args(WeightsVariant))
    check_choice("rounding", rounding, get_args(SDPRounding))
    check_number("n_iter", n_iter, low=1, integer=True)
    if n_iter > _MOST:
        raise ValueError(
            f"{n_iter} iterations (n_iter, or max_iter of the estimator) are too many: solver='mw' makes all of them "
            f"and keeps their history; take {_MOST} at most, or solver='dual', which needs a few dozen steps."
        )
    check_number("tol", tol, low=0, low_open=True)
    if eta is not None:
        check_number("eta", eta, low=0, low_open=True)
    m, p = moments.shape[:2]
    if d == p:
        return trivial_result(moments, objective, perf_counter() - started)
    unit = safe_unit(np.trace(moments, axis1=1, axis2=2))
    moments = in_units(moments, unit)
    if recentred is not None:
        recentred = in_units(recentred[0], unit**0.5), recentred[1]
    eta = None if eta is None else eta / unit
    traces = np.trace(moments, axis1=1, axis2=2)
    pencil = Pencil(moments)
    recentring = None if recentred is None else _Recentring(*map(np.asarray, recentred))
    best = _own_sums(pencil, moments, d, recentring)
    compared = references(objective, traces, best)
    ones = moments.sum(axis=2)  # C_g 1, for the port's selection rule
    # The least variance is that of groups that vary; the others keep the weight zero.
    counted = has_variance(traces) if objective == "variance" and traces.any() else np.ones(m, dtype=bool)

    logs = np.where(counted, 0.0, -np.inf)
    weights_seen, sums_seen, port_seen = (np.empty((n_iter, m)) for _ in range(3))
    average = _Average(p, d, n_iter)
    # The weights often settle or alternate, bit for bit; one more period then stands for all that would follow.
    first_seen: dict[bytes, int] = {}
    period = end = n_iter
    step = 0
    limited = False
    deadline = np.inf if time_limit is None else started + time_limit
    while step < end:
        if period == n_iter and step and perf_counter() > deadline:
            n_iter = period = end = step
            weights_seen, sums_seen, port_seen = weights_seen[:step], sums_seen[:step], port_seen[:step]
            limited = True
            break
        if pencil.is_dense and end == n_iter and (before := first_seen.setdefault(logs.tobytes(), step)) < step:
            period, end = step - before, min(n_iter, 2 * step - before)
        rounds = slice(step, None, period)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        if recentring is None:
            V = pencil.top(weights, d)[1]
        else:
            V = top_eigenpairs(recentring.stacked(np.tensordot(weights, moments, 1), weights), d)[1]
        weights_seen[rounds] = weights
        sums_seen[rounds] = [np.einsum("ij,ij->", V, C @ V) for C in moments]
        port_seen[rounds] = ones @ (V @ V.sum(axis=0))
        average.add(V, len(weights_seen[rounds]))
        if period == n_iter or (n_iter - 1 - step) % period == 0:
            last = V
        losses = compared - sums_seen[step]
        if eta is None:
            size = float(np.abs(losses[counted]).max())  # variances stand here with the opposite sign
            eta = 4.0 / (size * n_iter**0.5) if size > 0 else 1.0
        logs = logs + eta * losses
        logs -= logs.max()
        step += 1

    losses_seen = compared - sums_seen
    average_losses = compared - np.cumsum(sums_seen, axis=0) / np.arange(1, n_iter + 1)[:, None]
    average_loss, last_loss = float(average_losses[-1, counted].max()), float(losses_seen[-1, counted].max())
    if variant == "printed":
        chosen = "average"
    elif variant == "samadi2018_code":
        chosen = "average" if average_loss < last_loss else "last"
    else:
        port_average, port_last = compared - port_seen.mean(axis=0), compared - port_seen[-1]
        chosen = "average" if port_average[counted].max() < port_last[counted].max() else "last"
    lam, U = average.spectrum() if chosen == "average" else (np.ones(d), last)
    leading = U[:, :d]
    if variant == "printed" and rounding == "lp":
        lam, U = _rounded(moments[counted], compared[counted], d, U)
    total = np.einsum("ij,gik,kj,j->g", U, moments, U, lam, optimize=True)
    value = float((compared - total)[counted].max())
    duals = (weights_seen * losses_seen).sum(axis=1)
    bound = float("nan")
    if recentring is None:
        bound = float(duals.max())
        if not pencil.is_dense:
            shown = weights_seen[int(duals.argmax())]
            bound = float(shown @ compared) - pencil.top_sum_bound(shown, d)
        bound = consistent_bound(value, bound, CONTRADICTION * float(traces.max()))
    extra = {
        "weights": weights_seen[-1],
        "losses": best - total,
        "errors": traces - total,
        "variances": total,
        "best_sums": best,
        "eigenvalues": lam,
        "basis": U,
        "leading": leading,
        "extra_dimensions": len(lam) - d,
        "chosen": chosen,
        "eta": float(eta * unit),  # type: ignore[operator]
        "average_loss": average_loss,
        "last_loss": last_loss,
    }
    if limited:
        extra["message"] = f"stopped at its time limit after {n_iter} iterations; raise time_limit"
    result = SolverResult(
        affine_map(U, lam),
        "max_iter" if recentring else certified_status(value, bound, tol, ROUNDING * float(traces.max())),
        certificate="proof",
        basis=basis_kind(lam),
        n_iter=n_iter,
        seconds=perf_counter() - started,
        history={"weights": weights_seen, "losses": losses_seen, "average_losses": average_losses},
        extra=extra,
        **oriented(objective, value, bound),
    )
    return result_in_units(result, unit)


def _own_sums(pencil: Pencil, moments: np.ndarray, d: int, recentring: _Recentring | None) -> np.ndarray:
    """Largest variance that d dimensions can keep of each group (as the published code finds it, if recentred)."""
    if recentring is None:
        return np.array([pencil.top(unit, d)[0].sum() for unit in np.eye(len(moments))])
    sums = []
    for C, own in zip(moments, recentring.own(moments), strict=True):
        V = top_eigenpairs(own, d)[1]
        sums.append(np.einsum("ij,ij->", V, C @ V))
    return np.array(sums)


def _rounded(moments: np.ndarray, references: np.ndarray, d: int, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sums = np.einsum("ij,gik,kj->gj", U, moments, U, optimize=True)
    lam = round_by_lp(sums, references, d)
    # Where nothing is to be lost the programme may leave directions out; keeping them costs nothing.
    missing = d - int(np.sum(lam > 0))
    if missing > 0:
        lam[np.flatnonzero(lam == 0)[:missing]] = 1.0
    order = np.argsort(-lam, kind="stable")
    order = order[lam[order] > 0]
    return lam[order], U[:, order]


class _Average:
    """Mean of projections, kept as their stacked bases while these have fewer columns than the space."""

    def __init__(self, p: int, d: int, n_iter: int) -> None:
        self.count, self.n_iter = 0, n_iter
        self.bases: list[np.ndarray] | None = [] if d * n_iter < p else None
        self.total = None if self.bases is not None else np.zeros((p, p))

    def add(self, V: np.ndarray, times: int) -> None:
        if self.bases is not None:
            self.bases.append(V * times**0.5)
        else:
            self.total += times * (V @ V.T)
        self.count += times

    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        if self.bases is None:
            assert self.total is not None
            return eigenvalues_of(symmetrise(self.total) / self.count)
        U, s, _ = np.linalg.svd(np.concatenate(self.bases, axis=1), full_matrices=False)
        lam = np.minimum(s * s / self.count, 1.0)
        keep = lam > 1e-12
        return lam[keep], U[:, keep]

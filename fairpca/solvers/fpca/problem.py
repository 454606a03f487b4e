"""The convex problem of FPCA (Olfat & Aswani 2019) in its three published versions, and its reduction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from fairpca._validation import check_choice, check_components, check_number
from fairpca.linalg import clip_to_trace, symmetrise, top_eigenpairs
from fairpca.solvers.spectral import unit_of

__all__ = [
    "Constraints",
    "FPCAProblem",
    "FPCAVariant",
    "Mu",
    "Reduction",
    "Scale",
    "Shift",
    "Trace",
    "fpca_problem",
    "variant_defaults",
]

FPCAVariant = Literal["printed", "lee2022_code", "vu2022_code"]
Constraints = Literal["both", "mean"]
Mu = float | Literal["auto"]
Scale = Literal["sum", "mean", "norm"]
Penalty = Literal["max", "sum"]
Shift = Literal["norm", "extremes", "padded", "tight"]
Trace = Literal["at_most", "equal"]
MeanForm = Literal["quadratic", "operator"]

_LARGEST_KAPPA = 1e100  # squares of what the solvers multiply must not overflow

# What the paper prints in (14), what the code behind Lee et al. solves, what the code of Olfat & Aswani and of
# Vu et al. solves.
_VARIANTS: dict[FPCAVariant, dict[str, Any]] = {
    "printed": {
        "penalty": "max",
        "shift": "norm",
        "trace": "at_most",
        "mean_form": "quadratic",
        "scale": "sum",
        "standardise": False,
    },
    "lee2022_code": {
        "penalty": "sum",
        "shift": "extremes",
        "trace": "equal",
        "mean_form": "quadratic",
        "scale": "norm",
        "standardise": True,
    },
    "vu2022_code": {
        "penalty": "max",
        "shift": "padded",
        "trace": "equal",
        "mean_form": "operator",
        "scale": "norm",
        "standardise": True,
    },
}


def variant_defaults(variant: FPCAVariant) -> dict[str, Any]:
    """Return what a published version means.

    Parameters
    ----------
    variant : {"printed", "lee2022_code", "vu2022_code"}
        The version.

    Returns
    -------
    dict
        Its penalty, shift, trace, mean_form, scale and standardise.
    """
    check_choice("variant", variant, get_args(FPCAVariant))
    return dict(_VARIANTS[variant])


@dataclass(frozen=True)
class FPCAProblem:
    r"""One instance of the semidefinite program of FPCA, after its slack variables are eliminated.

    Maximise :math:`\langle S,P\rangle-\mu\,\mathrm{pen}(t_1,t_2)` over symmetric P with
    :math:`0\preceq P\preceq I` and :math:`\operatorname{tr}P=d` (or at most d), where

    .. math:: t_i=\|M_iP\|_2^2=\lambda_{\max}\bigl(P(\pm Q+c_iI)P\bigr),\qquad
              \mathrm{pen}=\max(t_1,t_2)\ \text{or}\ t_1+t_2,

    subject to :math:`f^\top Pf\le` `mean_level` (``mean_form="quadratic"``) or
    :math:`\|f\|\,\|Pf\|\le` `mean_level` (``"operator"``); level 0 means :math:`Pf=0` in both.
    This is (14) of Lee et al. (2022) with t eliminated by the Schur complement.

    Attributes
    ----------
    S, Q : ndarray of shape (p, p)
        Second moment (positive semidefinite) and difference of the groups' covariances.
    f : ndarray of shape (p,)
        Difference of the groups' means.
    n_components : int
        d.
    mu : float
        Weight of the covariance penalty; 0 leaves the mean constraint alone.
    c1, c2 : float
        Shifts that make Q + c1·I and c2·I − Q positive semidefinite.
    penalty : {"max", "sum"}
        One slack variable for both matrix inequalities, or one each.
    trace : {"at_most", "equal"}
        Whether tr P ≤ d or tr P = d.
    mean_form : {"quadratic", "operator"}
    mean_level : float
        Right side of the mean constraint.
    """

    S: np.ndarray
    f: np.ndarray
    Q: np.ndarray
    n_components: int
    mu: float
    c1: float
    c2: float
    penalty: Penalty = "max"
    trace: Trace = "equal"
    mean_form: MeanForm = "quadratic"
    mean_level: float = 0.0

    @property
    def n_features(self) -> int:
        """Number of features p."""
        return len(self.f)

    @property
    def constrains_mean(self) -> bool:
        """Whether the means differ at all."""
        return bool(np.any(self.f))

    @property
    def eliminates_mean(self) -> bool:
        """Whether the mean constraint is Pf = 0, so that f can be eliminated."""
        return self.constrains_mean and self.mean_bound < 1e-24

    @property
    def kappa(self) -> float:
        """κ = μ(c1 + c2)/λ_max(S on the complement of f): the penalty's strength without a unit."""
        weight = self.mu * (self.c1 + self.c2)
        return weight / self._scale(self.eliminated_basis()) if weight > 0 else 0.0

    @property
    def elimination_error(self) -> float:
        """How much more than the eliminated problem a P with 0 < f̂'Pf̂ ≤ `mean_bound` can reach at most.

        Such a P has ‖Pf̂‖ ≤ r (r the root of the bound, or the bound in the operator form), so that it differs
        from its compression to the complement of f by 2‖Sf̂‖r + ‖S‖r² in <S, P>, and by 2(c1 + c2 + ‖Q‖)r for each
        slack variable.
        """
        if not self.eliminates_mean or self.mean_level == 0:
            return 0.0
        r = self.mean_bound if self.mean_form == "operator" else float(np.sqrt(self.mean_bound))
        unit = unit_of(self.S)  # squares of extraordinary numbers are none
        Sf = (self.S * unit) @ (self.f / np.linalg.norm(self.f))
        slacks = 2.0 * self.mu * (2.0 if self.penalty == "sum" else 1.0)
        size = self.c1 + self.c2 + float(np.linalg.norm(self.Q, 2))
        return r * (2.0 * float(np.linalg.norm(Sf)) / unit + r * float(np.linalg.norm(self.S, 2)) + slacks * size)

    @property
    def mean_bound(self) -> float:
        """The level for the unit vector f/‖f‖: f̂'Pf̂ ≤ b or ‖Pf̂‖ ≤ b."""
        return float(self.mean_level / (self.f @ self.f)) if self.constrains_mean else float("inf")

    def slacks(self, P: np.ndarray) -> tuple[float, float]:
        """Return the smallest t1, t2 that the two matrix inequalities allow at `P`."""
        PQP, PP = symmetrise(P @ self.Q @ P), symmetrise(P @ P)
        first = np.linalg.eigvalsh(PQP + self.c1 * PP)[-1]
        second = np.linalg.eigvalsh(self.c2 * PP - PQP)[-1]
        return max(float(first), 0.0), max(float(second), 0.0)

    def objective(self, P: np.ndarray) -> float:
        """Return the value that is maximised, at `P`."""
        value = float(np.vdot(self.S, P))
        if self.mu == 0:
            return value
        t1, t2 = self.slacks(P)
        return value - self.mu * (max(t1, t2) if self.penalty == "max" else t1 + t2)

    def eliminated_basis(self) -> np.ndarray:
        """Return an orthonormal basis of the space that P lives in: the complement of f when Pf = 0, else all."""
        return _complement(self.f) if self.eliminates_mean else np.eye(self.n_features)

    def _scale(self, basis: np.ndarray) -> float:
        scale = float(np.linalg.eigvalsh(symmetrise(basis.T @ self.S @ basis))[-1])
        return scale if scale > 0 else 1.0

    def reduce(self) -> Reduction:
        """Eliminate f when the constraint is Pf = 0, rotate to the eigenbasis of Q, and normalise (Theorem F1)."""
        basis = self.eliminated_basis()
        ell, R = np.linalg.eigh(symmetrise(basis.T @ self.Q @ basis))
        B = basis @ R
        S = symmetrise(B.T @ self.S @ B)
        scale = self._scale(B)
        c = self.c1 + self.c2
        if self.mu * c <= 1e-14 * scale:
            D1, D2, kappa = np.zeros(len(ell)), np.zeros(len(ell)), 0.0
        else:
            D1 = np.sqrt(np.clip((ell + self.c1) / c, 0.0, 1.0))
            D2 = np.sqrt(np.clip((self.c2 - ell) / c, 0.0, 1.0))
            kappa = self.mu * c / scale
        fh = None
        if self.constrains_mean and not self.eliminates_mean:
            fh = B.T @ self.f / np.linalg.norm(self.f)
        return Reduction(S / scale, D1, D2, kappa, fh, self.mean_bound, B, scale)


@dataclass(frozen=True)
class Reduction:
    """The same problem for X with P = B X B', objective divided by `scale`.

    Maximise <S, X> − κ·pen(‖D1 X‖², ‖D2 X‖²). Because D1² + D2² = I, the map X → (D1 X, D2 X) is an isometry,
    which is why a first-order splitting needs only tens of iterations.
    """

    S: np.ndarray
    D1: np.ndarray
    D2: np.ndarray
    kappa: float
    fh: np.ndarray | None
    bound: float
    B: np.ndarray
    scale: float

    def restore(self, X: np.ndarray) -> np.ndarray:
        """Return P = B X B'."""
        return symmetrise(self.B @ X @ self.B.T)

    def best_projector(self, d: int) -> np.ndarray:
        """Return the projector of rank `d` (orthogonal to f where there is room) that keeps most of S."""
        if self.fh is None or d == len(self.fh):
            V = top_eigenpairs(self.S, d)[1]
        else:
            N = _complement(self.fh)
            V = N @ top_eigenpairs(symmetrise(N.T @ self.S @ N), d)[1]
        return V @ V.T

    def meet_mean(self, X: np.ndarray, d: int, mean_form: MeanForm) -> np.ndarray:
        """Mix `X`, a point of the Fantope, with its projection on f-perp until the mean constraint holds."""
        if self.fh is None:
            return X
        Xf = X @ self.fh
        value = float(self.fh @ Xf) if mean_form == "quadratic" else float(np.linalg.norm(Xf))
        if value <= self.bound:
            return X
        N = _complement(self.fh)
        inner = symmetrise(N.T @ X @ N)
        w, U = np.linalg.eigh(inner)
        trace = min(float(np.trace(X)), d, len(w))
        W = N @ U
        orthogonal = (W * clip_to_trace(w, trace)) @ W.T
        share = 1.0 - self.bound / value
        return (1.0 - share) * X + share * orthogonal


def fpca_problem(
    S: np.ndarray,
    f: np.ndarray,
    Q: np.ndarray,
    n_components: int,
    *,
    delta: float = 0.0,
    mu: Mu = "auto",
    variant: FPCAVariant = "printed",
    constraints: Constraints = "both",
    shift: Shift | None = None,
    trace: Trace | None = None,
    data_norm: float = 1.0,
) -> FPCAProblem:
    """Build the problem of a published version from the moments.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Second moment that is to be explained, in the scale of the version.
    f : ndarray of shape (p,)
        Difference of the groups' means.
    Q : ndarray of shape (p, p)
        Difference of the groups' covariances.
    n_components : int
        Dimension d.
    delta : float, default=0.0
        Tolerance of the mean constraint.
    mu : float or "auto", default="auto"
        Weight of the covariance penalty. "auto" is the weight for which κ = 1 (:attr:`FPCAProblem.kappa`).
    variant : {"printed", "lee2022_code", "vu2022_code"}, default="printed"
        Sets the penalty, the shift, the trace constraint and the form of the mean constraint.
    constraints : {"both", "mean"}
        ``"mean"`` leaves the covariances alone.
    shift : {"norm", "extremes", "padded", "tight"}, optional
        c1 and c2: ‖Q‖ for both; −λ_min and λ_max of Q where positive; ‖Q‖ + ½ for both; as "extremes" but of
        Q restricted to the complement of f (only where f is eliminated).
    trace : {"at_most", "equal"}, optional
        tr P ≤ d or tr P = d.
    data_norm : float, default=1.0
        ‖X‖_F, by whose square ``vu2022_code`` divides δ².

    Returns
    -------
    FPCAProblem
    """
    chosen = variant_defaults(variant)
    check_choice("constraints", constraints, get_args(Constraints))
    check_number("delta", delta, low=0.0)
    if mu != "auto":
        check_number("mu", mu, low=0.0)
    shift = chosen["shift"] if shift is None else shift
    trace = chosen["trace"] if trace is None else trace
    check_choice("shift", shift, get_args(Shift))
    check_choice("trace", trace, get_args(Trace))
    S, f, Q = (np.asarray(a, dtype=np.float64) for a in (S, f, Q))
    p = f.size
    if S.shape != (p, p) or Q.shape != (p, p) or f.ndim != 1:
        raise ValueError(
            f"S has shape {S.shape}, f {f.shape}, Q {Q.shape}; they must be (p, p), (p,) and (p, p) with one p."
        )
    for name, array in (("S", S), ("f", f), ("Q", Q)):
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{name} contains NaN or infinite values; clean the data first.")
    d = check_components(n_components, p)
    # f'Pf never exceeds ‖f‖², so larger levels are all alike, and this one cannot overflow.
    level = delta * (delta / float(data_norm) ** 2 if chosen["mean_form"] == "operator" else delta)
    level = min(level, 2.0 * float(f @ f))
    problem = FPCAProblem(
        symmetrise(S),
        f,
        symmetrise(Q),
        d,
        1.0 if mu == "auto" else float(mu),
        0.0,
        0.0,
        chosen["penalty"],
        trace,
        chosen["mean_form"],
        level,
    )
    _check_room(problem, delta)
    if constraints == "mean":
        return replace(problem, mu=0.0)
    c1, c2 = _shifts(problem, shift)
    problem = replace(problem, c1=c1, c2=c2)
    kappa = problem.kappa
    if mu == "auto":
        return replace(problem, mu=1.0 / kappa if kappa > 0 else 0.0)
    if not kappa < _LARGEST_KAPPA:
        raise ValueError(
            f"mu={mu:g} makes the covariance penalty {kappa:.1g} times as heavy as the variance, more than can be "
            'computed; choose a smaller mu, or mu="auto".'
        )
    return problem


def _complement(f: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the vectors orthogonal to `f`."""
    return np.linalg.qr(f[:, None], mode="complete")[0][:, 1:]


def _check_room(problem: FPCAProblem, delta: float) -> None:
    """Raise when no subspace of the wanted dimension can meet the mean constraint."""
    p, d = problem.n_features, problem.n_components
    if d < p or not problem.constrains_mean or problem.mean_bound >= 1.0:
        return
    raise ValueError(
        f"n_components={d} with n_features={p} and delta={delta:g} has no solution: the whole space contains the "
        f"difference of the group means (length {np.linalg.norm(problem.f):.3g}). n_components must lie between 1 and "
        f"{p - 1}; choose a smaller n_components or a larger delta."
    )


def _shifts(problem: FPCAProblem, shift: Shift) -> tuple[float, float]:
    Q = problem.Q
    if shift == "tight" and problem.eliminates_mean:
        N = _complement(problem.f)
        Q = symmetrise(N.T @ Q @ N)
    ell = np.linalg.eigvalsh(Q)
    low, high = max(0.0, -float(ell[0])), max(0.0, float(ell[-1]))
    if shift in ("extremes", "tight"):
        return low, high
    both = max(low, high) + (0.5 if shift == "padded" else 0.0)
    return both, both

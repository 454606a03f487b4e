"""The estimator FPCA: match the groups' means and covariances after projection (Olfat & Aswani 2019)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairpca._base import BaseFairPCA
from fairpca._moments import GroupMoments
from fairpca._options import Options
from fairpca._validation import check_components, check_number, shown_labels
from fairpca.solvers import SolverResult
from fairpca.solvers.fpca import FPCAProblem, fpca_problem, solve_fpca
from fairpca.solvers.fpca.cvxpy import Backend, Form
from fairpca.solvers.fpca.problem import Constraints, FPCAVariant, Mu, Scale, Shift, Trace, variant_defaults
from fairpca.solvers.fpca.solve import FPCARounding, FPCASolver

__all__ = ["FPCA", "FPCAOptions"]

_EQUAL = 1e-12  # relative difference of the groups' means, or covariances, that is rounding
_WEAK = 1e-2  # κ below which the covariance penalty moves ‖V'QV‖ by a few percent at most


@dataclass(frozen=True)
class FPCAOptions(Options):
    """Rare switches of :class:`FPCA`. Where the default is None, it is that of the variant.

    Attributes
    ----------
    standardise : bool, optional
        Divide each column by its population standard deviation first; constant columns stay as they are. `transform`
        then divides too. Default: False for "printed", True for both codes.
    scale : {"sum", "mean", "norm"}, optional
        S is X'X as printed in (14), X'X/n, or X'X/(n‖X‖_F) as in both codes. Default: "sum" for "printed", "norm" for
        both codes. With a fixed mu only "mean" gives one answer for any number of rows: "sum" grows with n and "norm"
        falls with √n (‖X‖_F = √(n p) after standardisation), so that giving every row twice weakens or strengthens
        the penalty. That is how (14) and the published programs are; mu="auto" is free of it.
    shift : {"norm", "extremes", "padded", "tight"}, optional
        Shifts of Q: ‖Q‖; its own extreme eigenvalues, one for each inequality; ‖Q‖ + ½; the extremes of Q restricted
        to the complement of f. Default: that of the variant ("norm", "extremes", "padded"). The ½ of "padded" is not
        in the units of the data.
    trace : {"at_most", "equal"}, optional
        tr P ≤ d ("printed") or tr P = d (both codes).
    rounding : {"plain", "fair"}, default="plain"
        ``"plain"``: leading eigenvectors of P, as published; for δ > 0 they may exceed δ. ``"fair"``: the subspace
        that keeps most of P among those with ‖V'f‖ ≤ δ.
    tie_tol : float, default=1e-6
        Eigenvalues of P this close to the d-th count as tied; ties go to the directions of most variance.
    backend : {"clarabel", "scs"}, default="clarabel"
        Solver behind CVXPY.
    form : {"printed", "rotated"}, default="rotated"
        Form of the program handed to CVXPY.
    time_limit : float or None
        For "splitting": seconds after which no further iterations begin; the model is the best one seen, with its
        proven bound.
    """

    standardise: bool | None = None
    scale: Scale | None = None
    shift: Shift | None = None
    trace: Trace | None = None
    rounding: FPCARounding = "plain"
    tie_tol: float = 1e-6
    backend: Backend = "clarabel"
    form: Form = "rotated"
    time_limit: float | None = None

    def check(self) -> None:
        """Raise for values out of range."""
        check_number("tie_tol", self.tie_tol, low=0.0)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, low=0.0, low_open=True)


class FPCA(BaseFairPCA):
    r"""Fair PCA that matches the first two moments of two groups, by a certified semidefinite relaxation.

    With f the difference of the groups' means and Q that of their covariances, it maximises

    .. math:: \langle S,P\rangle-\mu\,t\quad\text{subject to}\quad 0\preceq P\preceq I,\
              \operatorname{tr}P\le d,\ f^\top Pf\le\delta^2,\ \|(\varphi I\pm Q)^{1/2}P\|_2^2\le t,

    which is (14) of Lee et al. (2022), and returns the span of the d leading eigenvectors of P. The default solver
    stops when the gap between a feasible P and a proven bound is at most `tol`.

    Parameters
    ----------
    n_components : int, default=2
        Dimension d of the subspace.
    delta : float, default=0.0
        Tolerance δ of the mean constraint; 0 makes the means of the projections equal.
    mu : {"auto"} or float, default="auto"
        Weight μ of the covariance penalty. What a number means depends on `scale`, the units and the groups; what
        counts is κ = μ(c₁ + c₂)/λ_max, the penalty's largest coefficient over the largest variance that can be kept
        (``result_.extra["kappa"]``). "auto" is the μ with κ = 1, whatever the scale: a difference of the covariances
        weighs as much as the variance however small it is, unless it is rounding. Below κ = 0.01 the penalty hardly
        acts, and a ``UserWarning`` says so; well above 10 hardly anything but the penalty counts. The paper prints
        (14) without a value; all numbers of Lee et al. belong to mu=0.01 with variant="lee2022_code".
    constraints : {"both", "mean"}, default="both"
        ``"mean"`` drops the covariance penalty; that problem has a closed form or a one-dimensional dual.
    solver : {"splitting", "cvxpy"}, default="splitting"
        The package's solver, or the program handed to CVXPY as a referee.
    variant : {"printed", "lee2022_code", "vu2022_code"}, default="printed"
        Which published version is solved. ``"printed"``: (14) as it stands, one slack variable and one shift φ = ‖Q‖.
        ``"lee2022_code"``: what stands behind the numbers of Lee et al.: two slack variables that both cost μ, unequal
        shifts, tr P = d. ``"vu2022_code"``: what stands behind those of Vu et al. and in the code of Olfat & Aswani:
        φ = ‖Q‖ + ½, and ‖f‖‖Pf‖ ≤ δ²/‖X‖² for the means (their tables have mu=1 whatever their grid says).
    centering : {"overall", "none"}, default="overall"
        Whether S is taken about the mean of all rows or about zero; `transform` subtracts the same. f and Q do not
        depend on it.
    tol : float, default=1e-7
        Relative certified gap.
    max_iter : int, default=5000
        Iterations of the splitting. With ``constraints="mean"`` there is no splitting, and no limit: its dual problem
        has one variable.
    options : FPCAOptions or mapping, optional
        Rare switches: standardisation, scale, shift, trace, rounding, ties, referee.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows, by decreasing explained variance of the (standardised) data.
    mean_ : ndarray of shape (n_features,)
        What ``transform`` subtracts: the mean of all rows, or zeros with ``centering="none"``.
    scale_ : ndarray of shape (n_features,)
        What each column is then divided by; only with standardisation.
    groups_ : tuple
        The two group labels.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Of the (standardised) data.
    result_ : SolverResult
        `objective` and `bound` (from above) belong to the relaxed P; `extra` has P, its spectrum, rank
        and eigengap w_d − w_{d+1}, t, ‖V'f‖ (``mean_gap``), ‖V'QV‖ (``covariance_gap``), its spread, κ.
        Where the rows are fewer than the features, P is in the coordinates of the columns of ``extra["coordinates"]``.

    Notes
    -----
    The problem is defined for two groups. The subspace is only as well determined as the eigengap says; a
    ``UserWarning`` tells when it is not.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca import FPCA
    >>> X = np.array([[3.0, 1.0, 0.0], [1.0, -1.0, 0.0], [-1.0, 1.0, 0.5], [-3.0, -1.0, -0.5]])
    >>> model = FPCA(n_components=1, constraints="mean").fit(X, sensitive_features=[1, 1, 0, 0])
    >>> float(np.round(abs(model.components_[0, 0]), 12))
    0.0
    """

    _options_class = FPCAOptions

    def __init__(
        self,
        n_components: int = 2,
        *,
        delta: float = 0.0,
        mu: Mu = "auto",
        constraints: Constraints = "both",
        solver: FPCASolver = "splitting",
        variant: FPCAVariant = "printed",
        centering: Literal["overall", "none"] = "overall",
        tol: float = 1e-7,
        max_iter: int = 5000,
        options: FPCAOptions | Mapping[str, Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.delta = delta
        self.mu = mu
        self.constraints = constraints
        self.solver = solver
        self.variant = variant
        self.centering = centering
        self.tol = tol
        self.max_iter = max_iter
        self.options = options

    def _check_parameters(self) -> None:
        check_number("delta", self.delta, low=0.0)
        if not isinstance(self.mu, str):
            check_number("mu", self.mu, low=0.0)
        check_number("tol", self.tol, low=0.0, low_open=True)
        check_number("max_iter", self.max_iter, low=1, integer=True)

    def _check_dimension(self, moments: GroupMoments) -> int:
        d = check_components(self.n_components, moments.n_features)
        if moments.n_groups > 2:
            raise ValueError(
                f"FPCA got {moments.n_groups} groups ({shown_labels(moments.labels)}); its mean difference f and "
                "covariance difference Q are defined for exactly two. Merge groups, compare one group with all "
                "others, or use MinMaxFairPCA, which takes any number."
            )
        return d

    def _standardises(self) -> bool:
        given = self._options.standardise
        return bool(variant_defaults(self.variant)["standardise"] if given is None else given)

    def _column_scale(self, moments: GroupMoments) -> np.ndarray | None:
        if not self._standardises():
            return None
        deviation = np.sqrt(np.diagonal(moments.covariance()))
        # A constant column has no more than the rounding of its own mean.
        varies = deviation > 1e-12 * np.maximum(np.abs(moments.mean), 1e-150)
        return np.where(varies, deviation, 1.0)

    def problem(self, moments: GroupMoments) -> FPCAProblem:
        """Return the semidefinite program for group moments of the data, with this estimator's parameters."""
        self._check_all_parameters()
        if moments.n_groups < 2:
            raise ValueError(f"FPCA needs two groups; got {moments.n_groups}.")
        return self._problem(self._scaled(moments), self._check_dimension(moments))

    def _problem(self, moments: GroupMoments, n_components: int) -> FPCAProblem:
        """Return the program for moments of the scaled columns."""
        n, options = moments.n_samples, self._options
        second = moments.covariance()
        if self.centering == "none":
            second = second + np.multiply.outer(moments.mean, moments.mean)
        data_norm = float(np.sqrt(n * np.trace(second)))
        data_norm = data_norm if data_norm > 0 else 1.0
        scale = options.scale or variant_defaults(self.variant)["scale"]
        covariances = moments.covariances()
        f, Q = moments.means[1] - moments.means[0], covariances[1] - covariances[0]
        if np.linalg.norm(f) <= _EQUAL * max(np.sqrt(np.trace(second)), np.abs(moments.means).max()):
            f = np.zeros_like(f)
        if np.abs(Q).max() <= _EQUAL * np.abs(covariances).max():
            Q = np.zeros_like(Q)
        return fpca_problem(
            second * {"sum": float(n), "mean": 1.0, "norm": 1.0 / data_norm}[scale],
            f,
            Q,
            n_components,
            delta=self.delta,
            mu=self.mu,
            variant=self.variant,
            constraints=self.constraints,
            shift=options.shift,
            trace=options.trace,
            data_norm=data_norm,
        )

    def _rotates(self) -> bool:
        return self.solver == "splitting" and not self._standardises()

    def _solve_moments(self, moments: GroupMoments, n_components: int) -> SolverResult:
        options = self._options
        result = solve_fpca(
            self._problem(moments, n_components),
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            time_limit=options.time_limit,
            tie_tol=options.tie_tol,
            rounding=options.rounding,
            backend=options.backend,
            form=options.form,
        )
        if not result.extra["well_defined"]:
            self._warn_undetermined(result)
        problem = result.extra["problem"]
        if problem.mu > 0 and 0 < result.extra["kappa"] < _WEAK:
            warnings.warn(
                f"FPCA's covariance penalty hardly acts: mu={self.mu:g} means kappa={result.extra['kappa']:.1e} here, "
                f'and about {problem.mu / result.extra["kappa"]:.2g} would be kappa=1, which mu="auto" takes. Raise '
                'mu, or say constraints="mean" if the means are all that matters.',
                UserWarning,
                stacklevel=4,
            )
        return result

    def _warn_undetermined(self, result: SolverResult) -> None:
        w, d = result.extra["spectrum"], result.V.shape[1]
        warnings.warn(
            f"FPCA's subspace is hardly determined: eigenvalues {d} and {d + 1} of the optimal P are {w[d - 1]:.6g} "
            f"and {w[d]:.6g}. The program's value is certified, but subspaces far apart are nearly as good; compare "
            "objectives, not components, and consider another n_components or a smaller mu.",
            UserWarning,
            stacklevel=4,
        )

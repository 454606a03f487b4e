"""The estimator FPCA: match the groups' means and covariances after projection (Olfat & Aswani 2019)."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from fairpca._base import BaseFairPCA
from fairpca._moments import GroupMoments
from fairpca._validation import check_choice, check_components, check_number
from fairpca.solvers._result import SolverResult
from fairpca.solvers.fpca.problem import SHIFTS, TRACES, FPCAProblem, fpca_problem, variant_defaults
from fairpca.solvers.fpca.solve import solve_fpca

__all__ = ["FPCA"]

_SCALES = ("sum", "mean", "norm")


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
    mu : float, default=0.01
        Weight μ of the covariance penalty. Its strength depends on `scale`: ``result_.extra["kappa"]`` is the
        number without a unit that counts (below about 0.1 the penalty hardly acts).
    constraints : {"both", "mean"}, default="both"
        ``"mean"`` drops the covariance penalty; that problem has a closed form or a one-dimensional dual.
    variant : {"paper", "lee2022_code", "vu2022_code"}, default="paper"
        Which published version is solved. ``"paper"``: (14) as printed, one slack variable and one shift φ = ‖Q‖.
        ``"lee2022_code"``: what stands behind the numbers of Lee et al.: two slack variables that both cost μ, unequal
        shifts, tr P = d. ``"vu2022_code"``: what stands behind those of Vu et al. and in the code of Olfat & Aswani:
        φ = ‖Q‖ + ½, and ‖f‖‖Pf‖ ≤ δ²/‖X‖² for the means (their tables have mu=1 whatever their grid says).
    solver : {"splitting", "cvxpy"}, default="splitting"
        The package's solver, or the program handed to CVXPY as a referee.
    standardise : bool, optional
        Divide each column by its population standard deviation first; constant columns stay as they are. `transform`
        then divides too. Default: False for the paper, True for both codes.
    center : bool, default=True
        Whether S is taken about the mean of all rows or about zero. f and Q do not depend on it.
    scale : {"sum", "mean", "norm"}, optional
        S is X'X as printed in (14), X'X/n, or X'X/(n‖X‖_F) as in both codes. Default: "sum" for the paper, "norm" for
        both codes.
    shift : {"norm", "extremes", "padded", "tight"}, optional
        Shifts of Q: ‖Q‖; its own extreme eigenvalues, one for each inequality; ‖Q‖ + ½; the extremes of Q restricted
        to the complement of f. Default: that of the variant ("norm", "extremes", "padded").
    trace : {"at_most", "equal"}, optional
        tr P ≤ d (the paper) or tr P = d (both codes).
    rounding : {"plain", "fair"}, default="plain"
        ``"plain"``: leading eigenvectors of P, as published; for δ > 0 they may exceed δ. ``"fair"``: the subspace
        that keeps most of P among those with ‖V'f‖ ≤ δ.
    tie_tol : float, default=1e-6
        Eigenvalues of P this close to the d-th count as tied; ties go to the directions of most variance.
    backend : {"clarabel", "scs"}, default="clarabel"
        Solver behind CVXPY.
    form : {"printed", "rotated"}, default="rotated"
        Form of the program handed to CVXPY.
    tol : float, default=1e-7
        Relative certified gap.
    max_iter : int, default=5000
        Iterations of the splitting.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows, by decreasing explained variance of the (standardised) data.
    mean_ : ndarray of shape (n_features,)
        Mean of all rows.
    scale_ : ndarray of shape (n_features,)
        What each centred column is divided by before it is projected; ones without standardisation.
    groups_ : tuple
        The two group labels.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Of the (standardised) data.
    result_ : SolverResult
        `objective` and `bound` (an upper bound here) belong to the relaxed P; `extra` has P, its spectrum, rank
        and eigengap w_d − w_{d+1}, t, ‖V'f‖ (``mean_gap``), ‖V'QV‖ (``covariance_gap``), its spread, κ.

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

    def __init__(
        self,
        n_components: int = 2,
        *,
        delta: float = 0.0,
        mu: float = 0.01,
        constraints: Literal["both", "mean"] = "both",
        variant: Literal["paper", "lee2022_code", "vu2022_code"] = "paper",
        solver: Literal["splitting", "cvxpy"] = "splitting",
        standardise: bool | None = None,
        center: bool = True,
        scale: Literal["sum", "mean", "norm"] | None = None,
        shift: Literal["norm", "extremes", "padded", "tight"] | None = None,
        trace: Literal["at_most", "equal"] | None = None,
        rounding: Literal["plain", "fair"] = "plain",
        tie_tol: float = 1e-6,
        backend: Literal["clarabel", "scs"] = "clarabel",
        form: Literal["printed", "rotated"] = "rotated",
        tol: float = 1e-7,
        max_iter: int = 5000,
    ) -> None:
        self.n_components = n_components
        self.delta = delta
        self.mu = mu
        self.constraints = constraints
        self.variant = variant
        self.solver = solver
        self.standardise = standardise
        self.center = center
        self.scale = scale
        self.shift = shift
        self.trace = trace
        self.rounding = rounding
        self.tie_tol = tie_tol
        self.backend = backend
        self.form = form
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        check_number("delta", self.delta, low=0.0)
        check_number("mu", self.mu, low=0.0)
        check_number("tol", self.tol, low=0.0, low_open=True)
        check_number("tie_tol", self.tie_tol, low=0.0)
        check_number("max_iter", self.max_iter, low=1, integer=True)
        check_choice("constraints", self.constraints, ("both", "mean"))
        check_choice("variant", self.variant, ("paper", "lee2022_code", "vu2022_code"))
        check_choice("solver", self.solver, ("splitting", "cvxpy"))
        check_choice("rounding", self.rounding, ("plain", "fair"))
        check_choice("backend", self.backend, ("clarabel", "scs"))
        check_choice("form", self.form, ("printed", "rotated"))
        for name, value, allowed in (
            ("scale", self.scale, _SCALES),
            ("shift", self.shift, SHIFTS),
            ("trace", self.trace, TRACES),
        ):
            if value is not None:
                check_choice(name, value, allowed)

    def _check_dimension(self, moments: GroupMoments) -> int:
        d = check_components(self.n_components, moments.n_features)
        if moments.n_groups > 2:
            shown = ", ".join(map(repr, moments.labels[:6])) + (", …" if moments.n_groups > 6 else "")
            raise ValueError(
                f"FPCA got {moments.n_groups} groups ({shown}); its mean difference f and covariance difference Q are "
                "defined for exactly two. Merge groups, compare one group with all others, or use MinMaxFairPCA, "
                "which takes any number."
            )
        return d

    def _column_scale(self, moments: GroupMoments) -> np.ndarray:
        wanted = variant_defaults(self.variant)["standardise"] if self.standardise is None else self.standardise
        if not wanted:
            return np.ones(moments.n_features)
        deviation = np.sqrt(np.diagonal(moments.covariance()))
        # A constant column has no more than the rounding of its own mean.
        varies = deviation > 1e-12 * np.maximum(np.abs(moments.mean), 1e-150)
        return np.where(varies, deviation, 1.0)

    def problem(self, moments: GroupMoments) -> FPCAProblem:
        """Return the semidefinite program for group moments of the data, with this estimator's parameters."""
        self._check_parameters()
        d = self._check_dimension(moments)
        if moments.n_groups != 2:
            raise ValueError(f"FPCA needs two groups; got {moments.n_groups}.")
        moments = moments.transformed(self._column_scale(moments))
        n = moments.n_samples
        second = moments.covariance()
        if not self.center:
            second = second + np.multiply.outer(moments.mean, moments.mean)
        data_norm = float(np.sqrt(n * np.trace(second)))
        scale = variant_defaults(self.variant)["scale"] if self.scale is None else self.scale
        factor = {"sum": float(n), "mean": 1.0, "norm": 1.0 / data_norm if data_norm > 0 else 1.0}[scale]
        covariances = moments.covariances()
        return fpca_problem(
            second * factor,
            moments.means[1] - moments.means[0],
            covariances[1] - covariances[0],
            d,
            delta=self.delta,
            mu=self.mu,
            variant=self.variant,
            constraints=self.constraints,
            shift=self.shift,
            trace=self.trace,
            data_norm=data_norm if data_norm > 0 else 1.0,
        )

    def _solve_moments(self, moments: GroupMoments, n_components: int) -> SolverResult:
        result = solve_fpca(
            self.problem(moments),
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            tie_tol=self.tie_tol,
            rounding=self.rounding,
            backend=self.backend,
            form=self.form,
        )
        if not result.extra["well_defined"]:
            self._warn_undetermined(result)
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

    def _fit_ordinary(self, moments: GroupMoments) -> Self:
        scale = self._column_scale(moments)
        super()._fit_ordinary(moments.transformed(scale))
        self.mean_, self.scale_ = moments.mean, scale
        return self

    def _store(self, result: SolverResult, moments: GroupMoments) -> Self:
        scale = self._column_scale(moments)
        super()._store(result, moments.transformed(scale))
        self.mean_, self.scale_ = moments.mean, scale
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Project: ``((X - mean_) / scale_) @ components_.T``, shape (n_samples, n_components)."""
        check_is_fitted(self, "components_")
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        return ((X - self.mean_) / self.scale_) @ self.components_.T

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Map projections back: ``(X @ components_) * scale_ + mean_``, shape (n_samples, n_features)."""
        return (super().inverse_transform(X) - self.mean_) * self.scale_ + self.mean_

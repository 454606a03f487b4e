"""Fair PCA of Samadi et al. (NeurIPS 2018): no group loses more than it must."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from fairpca._base import BaseFairPCA, FrontierMixin
from fairpca._moments import Centering, GroupMoments
from fairpca._options import Options
from fairpca._validation import check_number
from fairpca.solvers import SolverResult
from fairpca.solvers.minmax import (
    ExactDimension,
    Objective,
    SDPRounding,
    WeightsVariant,
    solve_minmax,
    solve_minmax_nested,
    solve_minmax_path,
    solve_minmax_sdp,
    solve_minmax_weights,
    solve_minmax_wide,
)
from fairpca.wide import WideRows

__all__ = ["MinMaxFairPCA", "MinMaxOptions"]


@dataclass(frozen=True)
class MinMaxOptions(Options):
    """Rare switches of :class:`MinMaxFairPCA`, for the paper's own algorithms.

    Attributes
    ----------
    rounding : {"lp", "none"}
        For "sdp" and "mw" (variant "printed"): reduce the rank by the linear programme (5)-(9), or not at all.
    eta : float or None
        For "mw": step size; by default four over the first iterate's largest loss and the root of ``max_iter``.
    time_limit : float or None
        For "dual" and "mw": seconds after which no further iteration begins. The model is that of the iterations made,
        with the bound that they prove; ``path`` gives each dimension so long.
    n_starts : int
        For "dual" and three or more groups, where the relaxed solution has extra dimensions: ascents at most. There are
        fewer where by far the most end at the best value.
    random_state : int
        Seed of the starts of these ascents. The first, from the relaxed solution, is not random.
    """

    rounding: SDPRounding = "lp"
    eta: float | None = None
    time_limit: float | None = None
    n_starts: int = 60
    random_state: int = 0

    def check(self) -> None:
        """Raise for numbers out of range."""
        if self.eta is not None:
            check_number("eta", self.eta, low=0, low_open=True)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, low=0, low_open=True)
        check_number("n_starts", self.n_starts, low=1, integer=True)
        check_number("random_state", self.random_state, low=0, integer=True)


class MinMaxFairPCA(FrontierMixin, BaseFairPCA):
    """Subspace that minimises the largest reconstruction loss of any group.

    The loss of a group is its reconstruction error, averaged over its rows, less the error that its own PCA of the
    same dimension leaves (Definitions 4.2-4.4). Any number of groups. For two groups the solution is optimal, and the
    losses are equal (Theorem 4.5). For k groups the relaxation of the literature is solved to optimality; its answer
    may have up to ``floor(sqrt(2 k + 1/4) - 3/2)`` components more. Where it does, the model is the best subspace of
    ``n_components`` dimensions that ascents from several starts find, and the relaxation bounds what any other could
    gain (see Notes).

    Parameters
    ----------
    n_components : int, default=2
        Dimension d of the subspace.
    objective : {"loss", "error", "variance", "nash"}, default="loss"
        "error" minimises the largest reconstruction error instead, which the paper argues against (Figure 2).
        "variance" maximises the least variance that any group keeps; "nash" the geometric mean of the variances that
        the groups keep, which no change of a group's unit moves (Tantipongpipat et al. 2019).
    solver : {"dual", "sdp", "mw"}, default="dual"
        "dual" is exact, with a certificate, and by far the fastest. "sdp" is the paper's Algorithm 1 (needs CVXPY
        and Clarabel). "mw" is the paper's multiplicative weights (Algorithms 2 and 3), an approximation. The objective
        "nash" is for "dual" only.
    variant : {"printed", "samadi2018_code", "vu2022_code"}, default="printed"
        For "mw": which of the published versions to follow (:func:`fairpca.solvers.minmax.solve_minmax_weights`).
        With "samadi2018_code" every PCA inside the algorithm subtracts the mean of its input, as the program's calls
        do; where groups are not centred by their own means there is then no certificate.
    nested : bool, default=False
        Choose one direction at a time, each the best addition to those before it: leaving out the last components
        leaves a solution, and every axis means something by itself (after Matakos et al. 2025). "dual" only.
    extra_dimensions : bool, default=False
        Return the solution of the relaxation also where it has more than ``n_components`` components. "sdp" and "mw"
        are the paper's algorithms, whose answers may always have more.
    centering : {"group", "overall", "none"}, default="group"
        What is subtracted before second moments are taken. The paper centres each group by its own mean.
        ``transform`` subtracts the overall mean (nothing for "none"), because it knows no groups.
    tol : float, default=1e-9
        Relative duality gap for status "optimal" (for "sdp" at least 1e-6).
    max_iter : int, default=100
        Decompositions, and steps of each ascent ("dual"), interior-point iterations ("sdp"), or T, all of which are
        made ("mw", a million at most).
    options : MinMaxOptions or mapping, optional
        Rare switches by name: ``rounding``, ``eta``, ``time_limit``, ``n_starts``, ``random_state``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_out, n_features)
        Orthonormal rows, by decreasing explained variance (``nested=True``: in the order of choice). With
        ``extra_dimensions=True``, "sdp" and "mw" there may be more than ``n_components``; they are then orthogonal,
        and some are shorter than one (see Notes).
    mean_ : ndarray of shape (n_features,)
        What ``transform`` subtracts.
    groups_ : tuple
        Group labels.
    losses_, errors_, variances_ : ndarray of shape (n_groups,)
        Loss, reconstruction error and variance kept of each group, with the chosen centring. For fractional
        solutions error and variance add up to the group's own variance as for projections.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_out,)
        Sample variance of the transformed data in each coordinate, and its share of the total.
    result_ : SolverResult
        Status, objective, certified gap, dual weights, history.

    Notes
    -----
    ``result_.status`` is "optimal" where the gap to the bound is at most ``tol``: always for two groups, and for more
    wherever the relaxed solution has ``n_components`` dimensions. Otherwise it is "converged": no small change of the
    subspace is better, and ``bound`` is proved. The gap then has two parts that are not known apart: what the search
    may have missed, and what the relaxation promises too much. With exactly d dimensions even an approximation within
    a constant factor takes exponential time in general, under common hypotheses (Song et al. 2024).
    ``result_.extra["values"]`` has the value at which each start ended.

    When a solver returns a matrix P with fractional eigenvalues, ``transform`` is the paper's affine map: coordinate
    j is ``sqrt(1 - sqrt(1 - lambda_j)) u_j'(x - mean)``, and ``inverse_transform`` of it is the paper's affine
    projection ``P* (x - mean) + mean``, whose losses are ``losses_``.

    References
    ----------
    S. Samadi, U. Tantipongpipat, J. Morgenstern, M. Singh, S. Vempala: The Price of Fair PCA: One Extra Dimension.
    NeurIPS 2018. U. Tantipongpipat, S. Samadi, M. Singh, J. Morgenstern, S. Vempala: Multi-Criteria Dimensionality
    Reduction with Applications to Fairness. NeurIPS 2019. Z. Song, A. Vakilian, D. P. Woodruff, S. Zhou: On Socially
    Fair Low-Rank Approximation and Column Subset Selection. NeurIPS 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca import MinMaxFairPCA
    >>> X = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    >>> model = MinMaxFairPCA(n_components=1).fit(X, sensitive_features=["a", "a", "b", "b"])
    >>> np.round(model.losses_, 6).tolist()
    [2.769231, 2.769231]
    """

    _options_class: ClassVar[type[Options]] = MinMaxOptions

    def __init__(
        self,
        n_components: int = 2,
        *,
        objective: Objective = "loss",
        solver: Literal["dual", "sdp", "mw"] = "dual",
        variant: WeightsVariant = "printed",
        nested: bool = False,
        extra_dimensions: bool = False,
        centering: Centering = "group",
        tol: float = 1e-9,
        max_iter: int = 100,
        options: MinMaxOptions | Mapping[str, Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.objective = objective
        self.solver = solver
        self.variant = variant
        self.nested = nested
        self.extra_dimensions = extra_dimensions
        self.centering = centering
        self.tol = tol
        self.max_iter = max_iter
        self.options = options

    def _check_parameters(self) -> None:
        check_number("tol", self.tol, low=0, low_open=True)
        check_number("max_iter", self.max_iter, low=1, integer=True)
        if self.objective == "nash" and self.solver != "dual":
            raise ValueError(f"objective='nash' is solved by solver='dual' only; got solver={self.solver!r}.")
        for name in ("nested", "extra_dimensions"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise TypeError(f"{name} must be True or False; got {getattr(self, name)!r}.")
        if self.nested and self.solver != "dual":
            raise ValueError(f"nested=True is for solver='dual' only; got solver={self.solver!r}.")
        if self.nested and self.extra_dimensions:
            raise ValueError("nested=True chooses n_components directions; leave extra_dimensions=True out.")

    @property
    def _exact(self) -> ExactDimension | None:
        """How exactly n_components dimensions are looked for, unless more are wanted."""
        return None if self.extra_dimensions else ExactDimension(self._options.n_starts, self._options.random_state)

    def _solve_wide(self, rows: WideRows, n_components: int) -> SolverResult:
        if self.solver != "dual":
            raise ValueError(f'MinMaxFairPCA takes WideRows with solver="dual" only; got solver={self.solver!r}.')
        if self.nested:
            raise ValueError("nested=True needs the groups' second moments; WideRows give products only.")
        return solve_minmax_wide(
            rows,
            n_components,
            objective=self.objective,
            centering=self.centering,
            tol=self.tol,
            max_iter=self.max_iter,
            time_limit=self._options.time_limit,
            exact=self._exact,
        )

    def _takes_products(self) -> bool:
        return self.solver == "dual" and not self.nested

    def _rotates(self) -> bool:
        return self.solver == "dual"

    def _solve_moments(self, moments: GroupMoments, n_components: int) -> SolverResult:
        matrices = moments.second_moments(self.centering)
        if self.nested:
            return solve_minmax_nested(
                matrices, n_components, objective=self.objective, tol=self.tol, time_limit=self._options.time_limit
            )
        if self.solver == "dual":
            return solve_minmax(
                matrices,
                n_components,
                objective=self.objective,
                tol=self.tol,
                max_iter=self.max_iter,
                time_limit=self._options.time_limit,
                exact=self._exact,
            )
        if self.solver == "sdp":
            return solve_minmax_sdp(
                matrices,
                n_components,
                objective=self.objective,
                rounding=self._options.rounding,
                tol=self.tol,
                max_iter=self.max_iter,
            )
        recentred = None
        if self.variant == "samadi2018_code" and self.centering != "group":
            recentred = moments.means - self._centre(moments), moments.counts
        return solve_minmax_weights(
            matrices,
            n_components,
            objective=self.objective,
            variant=self.variant,
            eta=self._options.eta,
            n_iter=self.max_iter,
            rounding=self._options.rounding,
            tol=self.tol,
            recentred=recentred,
            time_limit=self._options.time_limit,
        )

    def _store(
        self, result: SolverResult, moments: GroupMoments | WideRows, covariance: np.ndarray | None = None
    ) -> Self:
        super()._store(result, moments, covariance)
        if "losses" in result.extra:
            self.losses_, self.errors_ = result.extra["losses"], result.extra["errors"]
            self.variances_ = result.extra["variances"]
        elif isinstance(moments, GroupMoments):  # a single group: ordinary PCA, which loses nothing
            (M,) = moments.second_moments(self.centering)
            self.losses_ = np.zeros(1)
            self.variances_ = np.array([np.vdot(self.components_, self.components_ @ M)])
            self.errors_ = np.trace(M) - self.variances_
        return self

    def _solve_path(self, models: Sequence[Self], moments: GroupMoments) -> Iterable[SolverResult]:
        dimensions = [model._check_dimension(moments) for model in models]
        others = [{**model.get_params(), "n_components": 0} for model in models]
        if models[0].solver != "dual" or models[0].nested or any(other != others[0] for other in others):
            return super()._solve_path(models, moments)
        first = models[0]
        results = solve_minmax_path(
            moments.second_moments(first.centering),
            max(dimensions),
            objective=first.objective,
            tol=first.tol,
            max_iter=first.max_iter,
            time_limit=first._options.time_limit,
            exact=first._exact,
        )
        return [results[d - 1] for d in dimensions]

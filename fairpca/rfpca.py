"""Distributionally robust fair PCA of Vu, Tran, Yue & Nguyen (ICLR 2022)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils import check_random_state

from fairpca._base import BaseFairPCA, FrontierMixin
from fairpca._moments import Centering, GroupMoments
from fairpca._options import Options
from fairpca._validation import check_components, check_number, shown_labels
from fairpca.solvers import SolverResult
from fairpca.solvers.rfpca import (
    ambiguity_radii,
    solve_rfpca,
    solve_rfpca_groups,
    solve_rfpca_path,
    solve_rfpca_subgradient,
)
from fairpca.solvers.rfpca.objective import RFPCAVariant
from fairpca.solvers.rfpca.subgradient import Keep, Retraction

__all__ = ["RFPCA", "RFPCAOptions"]


@dataclass(frozen=True)
class RFPCAOptions(Options):
    """Rare switches of :class:`RFPCA`.

    Attributes
    ----------
    n_starts : int
        Starts of "subgradient": ordinary PCA and ``n_starts - 1`` random ones.
    retraction : {"qr", "polar"}
        Retraction of "subgradient"; the subspaces are the same.
    keep : {"last", "best"}
        Iterate by which "subgradient" represents a start.
    tol : float
        Relative gap at which "exact" stops and calls the result optimal, and accuracy of "mm".
    time_limit : float or None
        Seconds after which "subgradient" begins no further start and "mm" no further descent.
    """

    n_starts: int = 21
    retraction: Retraction = "qr"
    keep: Keep = "last"
    tol: float = 1e-9
    time_limit: float | None = None

    def check(self) -> None:
        """Raise for numbers out of range."""
        check_number("n_starts", self.n_starts, low=1, integer=True)
        check_number("tol", self.tol, low=0)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, low=0, low_open=True)


class RFPCA(FrontierMixin, BaseFairPCA):
    """PCA that mitigates the gap between the groups' reconstruction errors, robustly.

    It minimises over d-dimensional subspaces the worst case, over all distributions whose groups lie within given
    radii of the observed ones, of

        reconstruction error + lam * |error of group 0 - error of group 1|,

    which is Vu et al.'s problem (4), reformulated as (6a); with more than two groups the gap is the largest over
    pairs (their Definition B.1 and Theorem B.2).  With ``lam=0`` and ``alpha=0`` it is ordinary PCA.

    Parameters
    ----------
    n_components : int, default=2
        Dimension d of the subspace, smaller than the number of features.
    lam : float, default=0.5
        Penalty on the gap, zero or larger.
    alpha : float, default=0.15
        The radius of group a is ``alpha / sqrt(N_a)``, as in Section 5 of the paper, with N_a its number of rows or
        the sum of their weights.
    eps : sequence of float or mapping, optional
        The radii themselves, one for each group in the order of ``groups_`` or by group label; then `alpha` is
        not used.
    solver : {"exact", "subgradient", "mm"}, default="exact"
        "exact" (two groups) finds the global minimum and proves it.
        "subgradient" is the paper's Algorithm 1; nothing is certified.
        "mm" is majorise-minimise for any number of groups, with a lower bound but no certificate.
    variant : {"corrected", "printed", "vu2022_code"}, default="corrected"
        For lam above a group's share the worst case is (r - e)_+^2 ("corrected"); formula (6c) has (r - e)^2
        ("printed"), which is the same only where the paper's condition (ii) holds. "vu2022_code" is the printed
        formula with the penalty of the published code, which lowers lam to the smaller group share where its version
        of the conditions fails (two groups only); ``result_.extra["lam"]`` is what was used.
    centering : {"group", "overall", "none"}, default="overall"
        Centre of the second moments. The paper takes uncentred moments of data that were standardised with the mean
        of all rows, which is "overall" for raw data.
    max_iter : int, default=1000
        Steps of "subgradient" from each start, or the limit for "exact" (eigen-decompositions) and "mm" (steps).
        "exact" makes the few eigen-decompositions with which it begins in any case; ``result_.n_iter`` of "mm" counts
        the steps of its last descent.
    random_state : int, RandomState or None, default=None
        Random starts of "subgradient". A ``RandomState`` passed from fit to fit is consumed as the published code
        consumes numpy's global stream.
    options : RFPCAOptions or mapping, optional
        Rare switches by name: ``n_starts``, ``retraction``, ``keep``, ``tol``, ``time_limit``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows, by decreasing explained variance, largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
        Mean of all rows.
    groups_ : tuple
        Group labels.
    eps_ : ndarray of shape (n_groups,)
        Radii that were used.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Sample variance along each component, and its share of the total.
    result_ : SolverResult
        Objective, bound, gap; ``extra["errors"]`` are the groups' reconstruction errors, ``extra["lam"]`` the penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca import RFPCA
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> model = RFPCA(n_components=1, lam=0.5, alpha=0.0).fit(X, sensitive_features=[0, 0, 1, 1])
    >>> model.result_.status
    'optimal'
    """

    _options_class: ClassVar[type[Options]] = RFPCAOptions

    def __init__(
        self,
        n_components: int = 2,
        *,
        lam: float = 0.5,
        alpha: float = 0.15,
        eps: Sequence[float] | Mapping[Any, float] | None = None,
        solver: Literal["exact", "subgradient", "mm"] = "exact",
        variant: RFPCAVariant = "corrected",
        centering: Centering = "overall",
        max_iter: int = 1000,
        random_state: Any = None,
        options: RFPCAOptions | Mapping[str, Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.lam = lam
        self.alpha = alpha
        self.eps = eps
        self.solver = solver
        self.variant = variant
        self.centering = centering
        self.max_iter = max_iter
        self.random_state = random_state
        self.options = options

    def _check_parameters(self) -> None:
        check_number("lam", self.lam, low=0)
        check_number("alpha", self.alpha, low=0)
        check_number("max_iter", self.max_iter, low=1, integer=True)

    def _check_dimension(self, moments: GroupMoments) -> int:
        p = moments.n_features
        return check_components(
            self.n_components, p, high=p - 1, why="The whole space has no reconstruction error to balance."
        )

    def _radii(self, moments: GroupMoments) -> np.ndarray:
        """Return the radius of each group, from `eps` or from `alpha`."""
        if self.eps is None:
            return ambiguity_radii(self.alpha, moments.counts)
        if isinstance(self.eps, Mapping):
            missing = [label for label in moments.labels if label not in self.eps]
            if missing or len(self.eps) != moments.n_groups:
                raise ValueError(
                    f"eps names the groups {shown_labels(self.eps)}, the data have {shown_labels(moments.labels)}; "
                    "give one radius for each group of the data."
                )
            given: Any = [self.eps[label] for label in moments.labels]
        else:
            given = self.eps
        try:
            eps = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"eps must hold numbers, one for each group; got {self.eps!r}.") from error
        if eps.shape != (moments.n_groups,):
            raise ValueError(
                f"eps has {eps.size} value(s) but there are {moments.n_groups} groups "
                f"({shown_labels(moments.labels)}); give "
                "one radius for each, or use alpha."
            )
        if not np.all(np.isfinite(eps)) or np.any(eps < 0):
            raise ValueError(f"eps={eps.tolist()} must be finite and not negative.")
        return eps

    def _rotates(self) -> bool:
        return self.solver != "subgradient"

    def _solve_moments(self, moments: GroupMoments, n_components: int) -> SolverResult:
        return self._solve_one(moments, n_components, self.random_state)

    def _solve_one(self, moments: GroupMoments, n_components: int, random_state: Any) -> SolverResult:
        self._check_groups(moments.n_groups)
        self.eps_ = self._radii(moments)
        problem = (moments.second_moments(self.centering), moments.weights, n_components, float(self.lam), self.eps_)
        options = self._options
        if self.solver == "exact":
            return solve_rfpca(*problem, variant=self.variant, tol=options.tol, max_iter=self.max_iter)
        if self.solver == "mm":
            return solve_rfpca_groups(
                *problem,
                variant=self.variant,
                tol=options.tol,
                max_iter=self.max_iter,
                time_limit=options.time_limit,
            )
        return solve_rfpca_subgradient(
            *problem,
            variant=self.variant,
            n_starts=options.n_starts,
            max_iter=self.max_iter,
            retraction=options.retraction,
            keep=options.keep,
            random_state=random_state,
            time_limit=options.time_limit,
        )

    def _check_groups(self, n_groups: int) -> None:
        if n_groups != 2 and self.solver == "exact":
            raise ValueError(
                f"solver='exact' is for two groups and the data have {n_groups}; choose solver='mm' (with a lower "
                "bound) or solver='subgradient'."
            )

    def _solve_path(self, models: Sequence[Self], moments: GroupMoments) -> Iterable[SolverResult]:
        """Solve a grid: settings of "exact" share one curve of support points, others one random stream.

        A grid of penalties and radii costs "exact" little more than its hardest setting.
        """
        if self.eps is not None and any(model.eps is not None and model.alpha != self.alpha for model in models):
            raise ValueError("alpha and eps both set the radii; leave one of them out.")
        dimensions = [model._check_dimension(moments) for model in models]
        results: list[SolverResult | None] = [None] * len(models)
        stream = check_random_state(self.random_state)
        curves: dict[str, list[int]] = {}
        for i, model in enumerate(models):
            if model.solver == "exact":
                others = {**model.get_params(), "lam": None, "alpha": None, "eps": None, "random_state": None}
                curves.setdefault(repr(others), []).append(i)
            else:
                given = stream if model.random_state is self.random_state else model.random_state
                results[i] = model._solve_one(moments, dimensions[i], given)
        for members in curves.values():
            for i, result in zip(members, self._solve_curve([models[i] for i in members], moments), strict=True):
                results[i] = result
        return [result for result in results if result is not None]

    def _solve_curve(self, models: Sequence[Self], moments: GroupMoments) -> list[SolverResult]:
        """Solve "exact" for models that differ in penalty and radii only."""
        first = models[0]
        first._check_groups(moments.n_groups)
        for model in models:
            model.eps_ = model._radii(moments)
        return solve_rfpca_path(
            moments.second_moments(first.centering),
            moments.weights,
            first._check_dimension(moments),
            [(float(model.lam), model.eps_) for model in models],
            variant=first.variant,
            tol=first._options.tol,
            max_iter=first.max_iter,
        )

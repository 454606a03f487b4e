"""Distributionally robust fair PCA of Vu, Tran, Yue & Nguyen (ICLR 2022)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from fairpca._base import BaseFairPCA
from fairpca._moments import Centering, GroupMoments
from fairpca._validation import check_choice, check_components, check_number
from fairpca.solvers._result import SolverResult
from fairpca.solvers.rfpca.exact import solve_rfpca, solve_rfpca_path
from fairpca.solvers.rfpca.groups import solve_rfpca_groups
from fairpca.solvers.rfpca.objective import RobustValue, ambiguity_radii, published_lam
from fairpca.solvers.rfpca.subgradient import Keep, Retraction, solve_rfpca_subgradient

__all__ = ["RFPCA"]


class RFPCA(BaseFairPCA):
    """PCA that mitigates the gap between the groups' reconstruction errors, robustly.

    It minimises over k-dimensional subspaces the worst case, over all distributions whose groups lie within given
    radii of the observed ones, of

        reconstruction error + lam * |error of group 0 - error of group 1|,

    which is Vu et al.'s problem (4), reformulated as (6a); with more than two groups the gap is the largest over
    pairs (their Definition B.1 and Theorem B.2).  With ``lam=0`` and ``alpha=0`` it is ordinary PCA.

    Parameters
    ----------
    n_components : int, default=2
        Dimension k of the subspace, smaller than the number of features.
    lam : float, default=0.5
        Penalty on the gap, zero or larger.
    alpha : float, default=0.15
        The radius of group a is ``alpha / sqrt(N_a)``, as in Section 5 of the paper.
    eps : sequence of float or mapping, optional
        The radii themselves, one for each group in the order of ``groups_`` or by group label; then `alpha` is
        not used.
    solver : {"exact", "subgradient", "mm"}, default="exact"
        "exact" (two groups) finds the global minimum and proves it.
        "subgradient" is the paper's Algorithm 1; nothing is certified.
        "mm" is majorise-minimise for any number of groups, with a lower bound but no certificate.
    n_starts : int, default=21
        Starts of "subgradient": ordinary PCA and ``n_starts - 1`` random ones.
    max_iter : int, default=1000
        Steps of "subgradient" from each start, or the limit for "exact" (eigen-decompositions) and "mm" (steps).
    centering : {"overall", "group", "none"}, default="overall"
        Centre of the second moments. The paper takes uncentred moments of data that were standardised with the mean
        of all rows, which is "overall" for raw data.
    robust_value : {"exact", "printed"}, default="exact"
        For lam above a group's share the worst case is (r - e)_+^2 ("exact"); formula (6c) has (r - e)^2
        ("printed"), which is the same only where the paper's condition (ii) holds.
    reset_lam : bool, default=False
        Repeat the published code, which lowers lam to the smaller group share where its version of the
        conditions fails (two groups and ``robust_value="printed"`` only). ``result_.extra["lam"]`` is what was used.
    retraction : {"qr", "polar"}, default="qr"
        Retraction of "subgradient"; the subspaces are the same.
    keep : {"last", "best"}, default="last"
        Iterate by which "subgradient" represents a start.
    tol : float, default=1e-9
        Relative gap at which "exact" stops and calls the result optimal, and accuracy of "mm".
    random_state : int, RandomState or None, default=None
        Random starts of "subgradient". A ``RandomState`` passed from fit to fit is consumed as the published code
        consumes numpy's global stream.

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
        Objective, proven lower bound, gap; ``extra["errors"]`` are the groups' reconstruction errors.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca import RFPCA
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> model = RFPCA(n_components=1, lam=0.5, alpha=0.0).fit(X, sensitive_features=[0, 0, 1, 1])
    >>> model.result_.status
    'optimal'
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        lam: float = 0.5,
        alpha: float = 0.15,
        eps: Sequence[float] | Mapping[Any, float] | None = None,
        solver: Literal["exact", "subgradient", "mm"] = "exact",
        n_starts: int = 21,
        max_iter: int = 1000,
        centering: Centering = "overall",
        robust_value: RobustValue = "exact",
        reset_lam: bool = False,
        retraction: Retraction = "qr",
        keep: Keep = "last",
        tol: float = 1e-9,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.lam = lam
        self.alpha = alpha
        self.eps = eps
        self.solver = solver
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.centering = centering
        self.robust_value = robust_value
        self.reset_lam = reset_lam
        self.retraction = retraction
        self.keep = keep
        self.tol = tol
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_number("lam", self.lam, low=0)
        check_number("alpha", self.alpha, low=0)
        check_number("tol", self.tol, low=0)
        check_number("n_starts", self.n_starts, low=1, integer=True)
        check_number("max_iter", self.max_iter, low=1, integer=True)
        check_choice("solver", self.solver, ("exact", "subgradient", "mm"))
        check_choice("centering", self.centering, ("overall", "group", "none"))
        check_choice("robust_value", self.robust_value, ("exact", "printed"))
        check_choice("retraction", self.retraction, ("qr", "polar"))
        check_choice("keep", self.keep, ("last", "best"))
        if self.reset_lam and self.robust_value != "printed":
            raise ValueError(
                "reset_lam=True repeats the published code and needs robust_value='printed'; the exact robust value "
                "holds for every lam, so nothing has to be reset."
            )

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
                    f"eps names the groups {list(self.eps)!r}, the data have {list(moments.labels)!r}; give one radius "
                    "for each group of the data."
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
                f"eps has {eps.size} value(s) but there are {moments.n_groups} groups {list(moments.labels)!r}; give "
                "one radius for each, or use alpha."
            )
        if not np.all(np.isfinite(eps)) or np.any(eps < 0):
            raise ValueError(f"eps={eps.tolist()} must be finite and not negative.")
        return eps

    def _check_groups(self, n_groups: int) -> None:
        if n_groups == 2:
            return
        if self.solver == "exact":
            raise ValueError(
                f"solver='exact' is for two groups and the data have {n_groups}; choose solver='mm' (with a lower "
                "bound) or solver='subgradient'."
            )
        if self.reset_lam:
            raise ValueError(f"reset_lam=True is defined for two groups and the data have {n_groups}.")

    def _solve_moments(self, moments: GroupMoments, n_components: int) -> SolverResult:
        self._check_groups(moments.n_groups)
        eps = self._radii(moments)
        second, shares = moments.second_moments(self.centering), moments.weights
        lam = float(self.lam)
        if self.reset_lam:
            lam = published_lam(second, shares, eps, n_components, lam)
        if self.solver == "exact":
            result = solve_rfpca(
                second,
                shares,
                n_components,
                lam,
                eps,
                robust_value=self.robust_value,
                tol=self.tol,
                max_iter=self.max_iter,
            )
        elif self.solver == "mm":
            result = solve_rfpca_groups(
                second,
                shares,
                n_components,
                lam,
                eps,
                robust_value=self.robust_value,
                tol=self.tol,
                max_iter=self.max_iter,
            )
        else:
            result = solve_rfpca_subgradient(
                second,
                shares,
                n_components,
                lam,
                eps,
                robust_value=self.robust_value,
                n_starts=self.n_starts,
                max_iter=self.max_iter,
                retraction=self.retraction,
                keep=self.keep,
                random_state=self.random_state,
            )
        return self._noted(result, lam, eps)

    def _noted(self, result: SolverResult, lam: float, eps: np.ndarray) -> SolverResult:
        self.eps_ = eps
        return replace(result, extra={**result.extra, "lam": lam})

    def path(
        self,
        X: Any,
        sensitive_features: Any = None,
        *,
        lams: Iterable[float],
        alphas: Iterable[float] | None = None,
    ) -> list[RFPCA]:
        """Fit the whole grid of penalties and radii at once.

        With ``solver="exact"`` all settings share one curve of support points, so a grid costs little more than
        its hardest setting. With the other solvers the settings are fitted one after the other; a random
        stream runs on from each to the next.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), DataFrame or GroupMoments
            The data, or their group moments.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
            Group of each row; left out with GroupMoments.
        lams : iterable of float
            Penalties.
        alphas : iterable of float, optional
            Values of alpha; by default only that of this estimator. Not together with `eps`.

        Returns
        -------
        list of RFPCA
            Fitted copies of this estimator, for each alpha (outer) and each penalty (inner), the paper's order.
        """
        if alphas is not None and self.eps is not None:
            raise ValueError("alphas and eps both set the radii; leave one of them out.")
        grid = list(product([self.alpha] if alphas is None else list(alphas), list(lams)))
        if not isinstance(X, GroupMoments) and sensitive_features is None:
            raise ValueError("path needs sensitive_features, the group of each row.")
        stream = check_random_state(self.random_state)
        models = [clone(self).set_params(alpha=alpha, lam=lam) for alpha, lam in grid]
        moments = None
        for model in models:
            model._check_parameters()
            if moments is None:
                moments = X if isinstance(X, GroupMoments) else GroupMoments.from_data(X, sensitive_features)
            model._accept_moments(moments, sensitive_features if isinstance(X, GroupMoments) else None)
        if moments is None:
            return []
        if moments.n_groups < 2:
            raise ValueError(f"path needs two groups or more; the data have one, {moments.labels[0]!r}.")
        dimension = self._check_dimension(moments)
        self._check_groups(moments.n_groups)
        if self.solver != "exact" or self.reset_lam:
            for model in models:
                given, model.random_state = model.random_state, stream
                model._store(model._solve_moments(moments, dimension), moments)
                model.random_state = given
            return models
        radii = [model._radii(moments) for model in models]
        results = solve_rfpca_path(
            moments.second_moments(self.centering),
            moments.weights,
            dimension,
            [(float(model.lam), eps) for model, eps in zip(models, radii, strict=True)],
            robust_value=self.robust_value,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        for model, eps, result in zip(models, radii, results, strict=True):
            model._store(model._noted(result, float(model.lam), eps), moments)
        return models

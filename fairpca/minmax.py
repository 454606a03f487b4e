"""Fair PCA of Samadi et al. (NeurIPS 2018): no group loses more than it must."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone

from fairpca._base import BaseFairPCA
from fairpca._moments import Centering, GroupMoments
from fairpca._validation import check_choice, check_components, check_number
from fairpca.solvers._result import SolverResult

__all__ = ["MinMaxFairPCA"]


class MinMaxFairPCA(BaseFairPCA):
    """Subspace that minimises the largest reconstruction loss of any group.

    The loss of a group is its reconstruction error, averaged over its rows, less the error that its own PCA of the
    same dimension leaves (Definitions 4.2-4.4). Any number of groups. For two groups the exact solution has
    ``n_components`` dimensions and equal losses (Theorem 4.5); for k groups it may need up to
    ``floor(sqrt(2 k + 1/4) - 3/2)`` more.

    Parameters
    ----------
    n_components : int, default=2
        Dimension d of the subspace.
    solver : {"dual", "sdp", "mw"}, default="dual"
        "dual" is exact, with a certificate, and by far the fastest. "sdp" is the paper's Algorithm 1 (needs CVXPY
        and Clarabel). "mw" is the paper's multiplicative weights (Algorithms 2 and 3), an approximation.
    objective : {"loss", "error"}, default="loss"
        "error" minimises the largest reconstruction error instead, which the paper argues against (Figure 2).
    centering : {"group", "overall", "none"}, default="group"
        What is subtracted before second moments are taken. The paper centres each group by its own mean.
        ``transform`` subtracts the overall mean (nothing for "none"), because it knows no groups.
    rounding : {"lp", "none"}, default="lp"
        For "sdp" and "mw" (variant "paper"): reduce the rank by the linear programme (5)-(9), or not at all.
    variant : {"paper", "samadi2018_code", "vu2022_code"}, default="paper"
        For "mw": which of the published versions to follow
        (:func:`fairpca.solvers.minmax_weights.minmax_weights`).
    eta : float, optional
        For "mw": step size; by default four over the first iterate's largest loss and the root of `max_iter`.
    tol : float, default=1e-9
        Relative duality gap for status "optimal" (for "sdp" at least 1e-6).
    max_iter : int, default=100
        Decompositions ("dual"), interior-point iterations ("sdp"), or T, all of which are made ("mw").

    Attributes
    ----------
    components_ : ndarray of shape (n_components_out, n_features)
        Orthonormal rows, by decreasing explained variance. Where the solution has fractional eigenvalues (see Notes)
        they are n_components plus a few, orthogonal, and shorter than one.
    mean_ : ndarray of shape (n_features,)
        What ``transform`` subtracts.
    groups_ : tuple
        Group labels.
    losses_, errors_ : ndarray of shape (n_groups,)
        Loss and reconstruction error of each group, with the chosen centring.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_out,)
        Sample variance of the transformed data in each coordinate, and its share of the total.
    result_ : SolverResult
        Status, objective, certified gap, dual weights, history.

    Notes
    -----
    When a solver returns a matrix P with fractional eigenvalues, ``transform`` is the paper's affine map: coordinate
    j is ``sqrt(1 - sqrt(1 - lambda_j)) u_j'(x - mean)``, and ``inverse_transform`` of it is the paper's affine
    projection ``P* (x - mean) + mean``, whose losses are ``losses_``.

    References
    ----------
    S. Samadi, U. Tantipongpipat, J. Morgenstern, M. Singh, S. Vempala: The Price of Fair PCA: One Extra Dimension.
    NeurIPS 2018. U. Tantipongpipat, S. Samadi, M. Singh, J. Morgenstern, S. Vempala: Multi-Criteria Dimensionality
    Reduction with Applications to Fairness. NeurIPS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca import MinMaxFairPCA
    >>> X = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    >>> model = MinMaxFairPCA(n_components=1).fit(X, sensitive_features=["a", "a", "b", "b"])
    >>> np.round(model.losses_, 6).tolist()
    [2.769231, 2.769231]
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: Literal["dual", "sdp", "mw"] = "dual",
        objective: Literal["loss", "error"] = "loss",
        centering: Centering = "group",
        rounding: Literal["lp", "none"] = "lp",
        variant: Literal["paper", "samadi2018_code", "vu2022_code"] = "paper",
        eta: float | None = None,
        tol: float = 1e-9,
        max_iter: int = 100,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.objective = objective
        self.centering = centering
        self.rounding = rounding
        self.variant = variant
        self.eta = eta
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        check_choice("solver", self.solver, ("dual", "sdp", "mw"))
        check_choice("objective", self.objective, ("loss", "error"))
        check_choice("centering", self.centering, ("group", "overall", "none"))
        check_choice("rounding", self.rounding, ("lp", "none"))
        check_choice("variant", self.variant, ("paper", "samadi2018_code", "vu2022_code"))
        if self.eta is not None:
            check_number("eta", self.eta, low=0, low_open=True)
        check_number("tol", self.tol, low=0, low_open=True)
        check_number("max_iter", self.max_iter, low=1, integer=True)

    def _solve_moments(self, moments: GroupMoments, n_components: int) -> SolverResult:
        matrices = moments.second_moments(self.centering)
        if self.solver == "dual":
            from fairpca.solvers.minmax_dual import minmax_dual

            return minmax_dual(matrices, n_components, objective=self.objective, tol=self.tol, max_iter=self.max_iter)
        if self.solver == "sdp":
            from fairpca.solvers.minmax_sdp import minmax_sdp

            return minmax_sdp(
                matrices,
                n_components,
                objective=self.objective,
                rounding=self.rounding,
                tol=self.tol,
                max_iter=self.max_iter,
            )
        from fairpca.solvers.minmax_weights import minmax_weights

        return minmax_weights(
            matrices,
            n_components,
            objective=self.objective,
            variant=self.variant,
            eta=self.eta,
            n_iter=self.max_iter,
            rounding=self.rounding,
            tol=self.tol,
        )

    def _covariance_of_all(self, moments: GroupMoments) -> np.ndarray:
        known = getattr(self, "_known_covariance", None)
        return super()._covariance_of_all(moments) if known is None else known

    def _store(self, result: SolverResult, moments: GroupMoments) -> Self:
        covariance = self._known_covariance = self._covariance_of_all(moments)
        # Columns of an affine map keep their directions; only their order is free.
        order = np.argsort(-np.einsum("ij,ij->j", result.V, covariance @ result.V), kind="stable")
        super()._store(replace(result, V=result.V[:, order]), moments)
        del self._known_covariance  # it was only to be computed once
        self.result_ = result
        if self.centering == "none":
            self.mean_ = np.zeros_like(self.mean_)
        if "losses" in result.extra:
            self.losses_, self.errors_ = result.extra["losses"], result.extra["errors"]
        else:  # a single group: ordinary PCA, which loses nothing
            self.losses_, self.errors_ = np.zeros(1), np.array([result.objective])
        return self

    def path(self, X: Any, d_max: int, *, sensitive_features: Any = None) -> list[Self]:
        """Fit d = 1, …, `d_max` at once, with one shared basis of eigenvectors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), DataFrame or GroupMoments
            As in :meth:`fit`.
        d_max : int
            Largest dimension.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            Group of each row; not for GroupMoments, which know theirs.

        Returns
        -------
        list of MinMaxFairPCA
            Fitted estimators with this one's parameters and ``n_components`` = 1, …, `d_max`.
        """
        from fairpca.solvers.minmax_dual import minmax_dual_path

        self._check_parameters()
        if self.solver != "dual":
            raise ValueError(f"path needs solver='dual'; got {self.solver!r}. Fit each dimension by itself instead.")
        if not isinstance(X, GroupMoments):
            X = GroupMoments.from_data(X, sensitive_features)
        elif sensitive_features is not None:
            raise ValueError("GroupMoments already know their groups; leave sensitive_features out.")
        if X.n_groups < 2:
            raise ValueError(f"path needs two groups or more; sensitive_features has only {X.labels[0]!r}.")
        self._warn_tiny_groups(X.labels, X.counts)
        d_max = check_components(d_max, X.n_features)
        matrices, covariance = X.second_moments(self.centering), X.covariance(ddof=1)
        results = minmax_dual_path(matrices, d_max, objective=self.objective, tol=self.tol, max_iter=self.max_iter)
        models = []
        for d, result in enumerate(results, start=1):
            model = clone(self).set_params(n_components=d)
            model._accept_moments(X, None)
            model._known_covariance = covariance
            models.append(model._store(result, X))
        return models

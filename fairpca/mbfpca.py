"""MBF-PCA: principal components whose projected groups have the same distribution up to a tolerance."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from fairpca._base import BaseFairPCA
from fairpca._validation import Groups, check_choice, check_number, check_rows_match
from fairpca.linalg import top_eigenpairs
from fairpca.solvers._result import SolverResult

__all__ = ["MBFPCA"]


class MBFPCA(BaseFairPCA):
    """Largest explained variance such that the maximum mean discrepancy between the projected groups is small.

    Solves Eq. (8) of Lee et al. (AAAI 2022) with the tolerance of their Definition 8::

        maximise  tr V'ΣV   subject to   V'V = I,   MMD²(projected groups) <= tau

    with the biased estimate of MMD² and a Gaussian kernel. The problem is not convex: the result is a local
    optimum, the best one seen from ``n_starts`` starts, and it is feasible or said not to be. The data are
    centred and otherwise taken as given: standardise them first if their units differ.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the subspace.
    tau : float, default=1e-3
        Largest MMD² (not MMD) allowed on the training data, positive.
    fairness : {"dp", "eop", "eod"}, default="dp"
        What is compared (Remark 1 of the paper). "dp": the groups. "eop": the groups among the rows of the
        positive class of `y`. "eod": the groups within each class of `y`; the constraint bounds the *sum* of the
        MMD² over the classes, hence each of them. With more than two groups (an extension), the sum over all pairs.
    bandwidth : {"code", "median"} or float, default="code"
        Kernel width σ. From the training data projected by PCA: "code" is the square root of half the median
        squared distance (the published code, and the published numbers), "median" the median distance (the
        paper's text); or a number.
    schedule : {"continuation", "paper"}, default="continuation"
        "continuation": penalty and rank continuation with a preconditioned Riemannian L-BFGS on the Grassmannian.
        "paper": Algorithm 1 (REPMS).
    n_starts : int, default=1
        Feasible runs of the continuation schedule of which the best is kept. Small tau and many components
        have many local optima.
    positive_label : object, optional
        Class that "eop" compares on; by default the larger one of two.
    paper_variant : {"code", "printed"}, default="code"
        Choices of Algorithm 1 that the paper leaves open: the published code's, or the printed algorithm's.
    paper_options : dict, optional
        Changes to them, see :class:`~fairpca.solvers.mbf.paper.REPMSOptions`.
    approximation : {None, "subsample", "fourier"}, default=None
        None: the exact kernel, O(n²) time and O(n) memory. Otherwise a stratified subsample of
        ``approximation_size`` rows, or that many random Fourier features, guide the search; the answer's MMD² is
        then evaluated once with the exact kernel on all rows, the search is tightened until that meets tau, and
        ``result_.extra`` shows both values.
    approximation_size : int, default=5000
        Rows of the subsample or number of features.
    memory_limit : int, default=1_000_000_000
        Bytes that the exact kernel may take before fit warns.
    tol : float, default=1e-6
        Tolerance on the gradient of the subproblems.
    max_iter : int, default=50000
        Budget of inner iterations, over all subproblems and starts.
    n_jobs : int, optional
        Threads of the kernel (1 by default); the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the random starts and of the approximations; None means seed 0, so that fits are repeatable.
    verbose : int, default=0
        1 prints each subproblem.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows, by decreasing explained variance, largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
        Mean of all rows.
    groups_ : tuple
        Group labels seen in fit.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Sample variance along each component, and its share of the total.
    mmd2_ : float
        MMD² of the training data after projection (exact kernel); only when groups were given.
    bandwidth_ : float
        The kernel width σ in use; only when groups were given.
    result_ : SolverResult
        Status (``"converged"``; ``"infeasible"`` with the smallest MMD² found, and a ``ConvergenceWarning``;
        ``"max_iter"``; ``"interrupted"`` with the best iterate after Ctrl-C, and that warning), history and counts.

    References
    ----------
    Lee, Kim, Olfat, Hasegawa-Johnson, Yoo: Fast and efficient MMD-based fair PCA via optimization over Stiefel
    manifold, AAAI 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca import MBFPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 5)) * [3, 2, 1, 1, 1]
    >>> sex = np.repeat([0, 1], 200)
    >>> X[sex == 1, 0] += 2.0
    >>> model = MBFPCA(n_components=2, tau=0.02).fit(X, sensitive_features=sex)
    >>> bool(model.mmd2_ <= 0.02), model.result_.status
    (True, 'converged')
    """

    _needs_rows = True

    def __init__(
        self,
        n_components: int = 2,
        *,
        tau: float = 1e-3,
        fairness: Literal["dp", "eop", "eod"] = "dp",
        bandwidth: Literal["code", "median"] | float = "code",
        schedule: Literal["continuation", "paper"] = "continuation",
        n_starts: int = 1,
        positive_label: Any = None,
        paper_variant: Literal["code", "printed"] = "code",
        paper_options: Mapping[str, Any] | None = None,
        approximation: Literal["subsample", "fourier"] | None = None,
        approximation_size: int = 5000,
        memory_limit: int = 1_000_000_000,
        tol: float = 1e-6,
        max_iter: int = 50000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.tau = tau
        self.fairness = fairness
        self.bandwidth = bandwidth
        self.schedule = schedule
        self.n_starts = n_starts
        self.positive_label = positive_label
        self.paper_variant = paper_variant
        self.paper_options = paper_options
        self.approximation = approximation
        self.approximation_size = approximation_size
        self.memory_limit = memory_limit
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_number("tau", self.tau, low=0, low_open=True)
        check_choice("fairness", self.fairness, ("dp", "eop", "eod"))
        if isinstance(self.bandwidth, str):
            check_choice("bandwidth", self.bandwidth, ("code", "median"))
        else:
            check_number("bandwidth", self.bandwidth, low=0, low_open=True)
        check_choice("schedule", self.schedule, ("continuation", "paper"))
        check_choice("paper_variant", self.paper_variant, ("code", "printed"))
        if self.approximation is not None:
            check_choice("approximation", self.approximation, ("subsample", "fourier"))
        check_number("approximation_size", self.approximation_size, low=4, integer=True)
        check_number("n_starts", self.n_starts, low=1, integer=True)
        check_number("memory_limit", self.memory_limit, low=0)
        check_number("tol", self.tol, low=0, low_open=True)
        check_number("max_iter", self.max_iter, low=1, integer=True)
        if self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, low=-1, integer=True)

    def _solve_rows(self, X: np.ndarray, groups: Groups, y: Any, n_components: int) -> SolverResult:
        from fairpca.solvers.mbf.paper import REPMSOptions
        from fairpca.solvers.mbf.solve import MBFSettings, solve_mbf

        options = REPMSOptions.named(self.paper_variant, dict(self.paper_options or {}))
        self._warn_tiny_groups(groups.labels, groups.counts)
        comparisons = self._comparisons(groups, y)
        centred = X - X.mean(axis=0)
        if not np.any(centred.std(axis=0) > 1e-12 * np.maximum(np.abs(X).max(axis=0), 1e-300)):
            raise ValueError("X is constant: there is no variance to explain. Check the columns that were selected.")
        self._warn_large(len(X), n_components)
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        self.bandwidth_ = self._bandwidth(centred, n_components, seed)
        settings = MBFSettings(
            schedule=self.schedule,
            paper=options,
            n_starts=self.n_starts,
            approximation=self.approximation,
            approximation_size=self.approximation_size,
            tol=self.tol,
            max_iter=self.max_iter,
            n_threads=self._threads(),
            random_state=seed,
            verbose=self.verbose,
        )
        result = solve_mbf(X, comparisons, n_components, float(self.tau), self.bandwidth_, settings)
        self.mmd2_ = float(result.extra["mmd2"])
        return result

    def _threads(self) -> int:
        from joblib import effective_n_jobs

        return 1 if self.n_jobs is None else int(effective_n_jobs(self.n_jobs))

    def _comparisons(self, groups: Groups, y: Any) -> list[Any]:
        """Return the rows and groups that each term of the constraint compares."""
        from fairpca.solvers.mbf.solve import Comparison

        n = groups.codes.size
        if self.fairness == "dp":
            return [Comparison(np.arange(n), groups.codes)]
        if y is None:
            raise ValueError(
                f"fairness={self.fairness!r} compares the groups within classes and needs y; give the class of each "
                'row, or use fairness="dp".'
            )
        labels = np.asarray(y)
        check_rows_match("y", len(labels), n)
        if labels.ndim != 1 or pd.isna(labels).any():
            raise ValueError("y must be one column of classes without missing values.")
        classes = np.unique(labels)
        if self.fairness == "eop":
            classes = classes[classes == self._positive(classes)]
        terms = []
        for label in classes:
            rows = np.flatnonzero(labels == label)
            present = np.bincount(groups.codes[rows], minlength=len(groups.labels))
            absent = [groups.labels[g] for g in np.flatnonzero(present == 0)]
            if absent:
                raise ValueError(
                    f"group(s) {absent!r} have no row of class {label}, so that fairness={self.fairness!r} has "
                    'nothing to compare there; merge groups or classes, or use fairness="dp".'
                )
            terms.append(Comparison(rows, groups.codes[rows]))
        return terms

    def _positive(self, classes: np.ndarray) -> Any:
        if self.positive_label is not None:
            if self.positive_label not in classes.tolist():
                raise ValueError(
                    f"positive_label={self.positive_label!r} is not a class of y; choose one of {classes.tolist()!r}."
                )
            return self.positive_label
        if classes.size != 2:
            raise ValueError(
                f"y has {classes.size} class(es); name the positive one of {classes.tolist()!r} as positive_label."
            )
        return classes[1]

    def _bandwidth(self, centred: np.ndarray, n_components: int, seed: int) -> float:
        if not isinstance(self.bandwidth, str):
            return float(self.bandwidth)
        from fairpca.metrics import median_bandwidth

        _, V = top_eigenpairs(centred.T @ centred, n_components)
        Z = centred @ V
        if self.approximation is not None and len(Z) > self.approximation_size:
            Z = Z[np.random.default_rng(seed).choice(len(Z), self.approximation_size, replace=False)]
        return median_bandwidth(Z, self.bandwidth)

    def _warn_large(self, n: int, n_components: int) -> None:
        from fairpca.solvers.mmd.kernel import kernel_bytes

        needed = kernel_bytes(n, n_components)
        if self.approximation is None and needed > self.memory_limit:
            warnings.warn(
                f"the exact kernel takes about {needed / 1e6:.0f} MB for {n} rows, more than memory_limit="
                f'{self.memory_limit / 1e6:.0f} MB; set approximation="subsample" or "fourier", or raise memory_limit.',
                UserWarning,
                stacklevel=4,
            )

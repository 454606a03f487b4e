"""MBF-PCA: principal components whose projected groups have the same distribution up to a tolerance."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from fairpca._base import BaseFairPCA
from fairpca._moments import GroupMoments
from fairpca._validation import Groups, check_number, check_rows_match, shown_labels
from fairpca.linalg import top_eigenpairs
from fairpca.solvers import SolverResult
from fairpca.solvers.mbf import ComparedRows, MBFSettings, REPMSOptions, solve_mbf
from fairpca.solvers.mbf.paper import REPMSVariant
from fairpca.solvers.mbf.solve import MBFSolver, SearchOptions
from fairpca.solvers.mmd import kernel_bytes

__all__ = ["MBFPCA", "MBFOptions"]

_NO_VARIANCE = 1e-9  # share of the variance that counts as none
_BANDWIDTH_ROWS = 5000  # of which the median distance is taken when the kernel is approximated


@dataclass(frozen=True)
class MBFOptions(SearchOptions):
    """Rare switches of :class:`MBFPCA`.

    Attributes
    ----------
    approximation : {None, "subsample", "fourier"}, default=None
        None: the exact kernel, O(n²) time and O(n) memory. Otherwise a stratified subsample of
        ``approximation_size`` rows, or that many random Fourier features, guide the search; the answer's MMD² is
        then evaluated with the exact kernel on all rows, the target of the search is moved until that just meets tau,
        and ``result_.extra`` shows both values. Where the exact kernel costs less (no more rows than the subsample, or
        than a hundred for each feature) it is used instead. An exact value of a million rows takes minutes.
    approximation_size : int, optional
        Rows of the subsample (5000) or number of features (256).
    tol : float, default=1e-6
        Tolerance on the gradient of the subproblems.
    max_iter : int, default=50000
        Budget of inner iterations, over all subproblems and starts.
    time_limit : float or None
        Seconds after which the search ends with the best subspace seen; an exact value of MMD² may still be computed.
    verbose : int, default=0
        1 prints each subproblem and each pass of the exact kernel.
    positive_label : object, optional
        Class that fairness="eop" compares on; by default the larger one of two.
    repms : REPMSOptions or mapping, optional
        Changes to the choices of Algorithm 1 that `variant` makes, see
        :class:`~fairpca.solvers.mbf.paper.REPMSOptions`.
    memory_limit : int, default=1_000_000_000
        Bytes that the exact kernel may take before fit warns.
    """

    positive_label: Any = None
    repms: REPMSOptions | Mapping[str, Any] | None = None
    memory_limit: int = 1_000_000_000

    def check(self) -> None:
        """Raise for values out of range."""
        super().check()
        check_number("memory_limit", self.memory_limit, low=0)
        REPMSOptions.of(self.repms)


class MBFPCA(BaseFairPCA):
    """Largest explained variance such that the maximum mean discrepancy between the projected groups is small.

    Solves Eq. (8) of Lee et al. (AAAI 2022) with the tolerance of their Definition 8::

        maximise  tr V'ΣV   subject to   V'V = I,   MMD²(projected groups) <= tau

    with the biased estimate of MMD² and a Gaussian kernel. The problem is not convex: the result is a local
    optimum, the best one seen from ``n_starts`` starts, and the status says whether it meets the constraint. The data
    are centred and otherwise taken as given: standardise them first if their units differ.

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
        paper's text); or a number. The median is over pairs of rows: rows that are given twice add pairs at distance
        zero and lower it a little, as they do in the published code.
    solver : {"continuation", "repms"}, default="continuation"
        "continuation": from several starts a penalty path, then a climb along the constraint, with a preconditioned
        Riemannian L-BFGS on the Grassmannian.
        "repms": Algorithm 1 of the paper. Its dense inverse Hessian needs 8 p² d² bytes (p features, d components).
    variant : {"lee2022_code", "printed"}, default="lee2022_code"
        For "repms": choices of Algorithm 1 that the paper leaves open, the published code's or the printed
        algorithm's.
    n_starts : int or None, default=None
        Starts of the continuation of which the best is kept; small tau and many components have many local optima.
        None: until the best optimum has been reached twice, six or eight starts at least and twelve at most. On small
        tables (some 350 rows, and 100 unknowns in the basis) hundreds of cheap descents come first; starts then begin
        where the best of them ended.
    n_jobs : int, optional
        Threads of the kernel (1 by default); the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Source of the random starts and of the approximations; an int makes fits repeatable.
    options : MBFOptions or mapping, optional
        Rare switches: approximations, budget and tolerance, progress, details of Algorithm 1.

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
        Status (``"optimal"`` where PCA itself meets tau; ``"converged"``; ``"not_found"`` with the smallest MMD² found,
        where the search met no subspace that is fair enough, although there may be one; ``"infeasible"`` where there
        is none, because all columns are kept; ``"max_iter"``), history and counts. After all but the first two,
        ``fit`` warns. `bound` is the variance that PCA keeps.

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

    _options_class = MBFOptions

    def __init__(
        self,
        n_components: int = 2,
        *,
        tau: float = 1e-3,
        fairness: Literal["dp", "eop", "eod"] = "dp",
        bandwidth: Literal["code", "median"] | float = "code",
        solver: MBFSolver = "continuation",
        variant: REPMSVariant = "lee2022_code",
        n_starts: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        options: MBFOptions | Mapping[str, Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.tau = tau
        self.fairness = fairness
        self.bandwidth = bandwidth
        self.solver = solver
        self.variant = variant
        self.n_starts = n_starts
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.options = options

    def _check_parameters(self) -> None:
        check_number("tau", self.tau, low=0, low_open=True)
        if not isinstance(self.bandwidth, str):
            check_number("bandwidth", self.bandwidth, low=0, low_open=True)
        if self.n_starts is not None:
            check_number("n_starts", self.n_starts, low=1, integer=True)
        if self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, low=-1, integer=True)

    def _rotates(self) -> bool:
        return self.solver == "continuation"

    def _solve_rows(self, X: np.ndarray, groups: Groups, y: Any, moments: GroupMoments) -> SolverResult:
        n_components = self._check_dimension(moments)
        self._warn_tiny_groups(groups.labels, groups.counts)
        comparisons = self._comparisons(groups, y)
        covariance = moments.covariance()
        if not np.any(np.sqrt(np.diagonal(covariance)) > 1e-12 * np.maximum(np.abs(X).max(axis=0), 1e-300)):
            raise ValueError("X is constant: there is no variance to explain. Check the columns that were selected.")
        self._warn_large(len(X), n_components)
        centred = X - moments.mean
        settings = self._settings()
        self.bandwidth_ = self._bandwidth(centred, covariance, n_components, settings.random_state)
        result = solve_mbf(
            centred, comparisons, n_components, float(self.tau), self.bandwidth_, settings, covariance=covariance
        )
        self.mmd2_ = float(result.extra["mmd2"])
        if result.status == "converged" and result.extra["variance_ratio"] < _NO_VARIANCE:
            warnings.warn(
                f"MBFPCA found nothing but {n_components} directions without variance that meet tau={self.tau:g}: the "
                f"data have rank {result.extra['rank']} in {self.n_features_in_} columns. Raise tau or choose fewer "
                "components.",
                UserWarning,
                stacklevel=4,
            )
        return result

    def _settings(self) -> MBFSettings:
        """Return the solver's settings, with a seed drawn from the random state."""
        options = self._options
        return MBFSettings(
            **{field.name: getattr(options, field.name) for field in fields(SearchOptions)},
            solver=self.solver,
            repms=REPMSOptions.named(self.variant, options.repms),
            n_starts=self.n_starts,
            n_threads=self._threads(),
            random_state=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )

    def _threads(self) -> int:
        from joblib import effective_n_jobs

        return 1 if self.n_jobs is None else int(effective_n_jobs(self.n_jobs))

    def _comparisons(self, groups: Groups, y: Any) -> list[ComparedRows]:
        """Return the rows and groups that each term of the constraint compares."""
        n = groups.codes.size
        if self.fairness == "dp":
            return [ComparedRows(np.arange(n), groups.codes)]
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
                    f"group(s) {shown_labels(absent)} have no row of class {label}, so that "
                    f"fairness={self.fairness!r} has "
                    'nothing to compare there; merge groups or classes, or use fairness="dp".'
                )
            terms.append(ComparedRows(rows, groups.codes[rows]))
        return terms

    def _positive(self, classes: np.ndarray) -> Any:
        wanted = self._options.positive_label
        if wanted is not None:
            if wanted not in classes.tolist():
                raise ValueError(
                    f"positive_label={wanted!r} is not a class of y; choose one of {classes[:10].tolist()!r}"
                    f"{'' if classes.size <= 10 else ' and so on'}."
                )
            return wanted
        if classes.size != 2:
            raise ValueError(
                f"y has {classes.size} class(es); name the positive one of {classes[:10].tolist()!r}"
                f"{'' if classes.size <= 10 else ' and so on'} as positive_label."
            )
        return classes[1]

    def _bandwidth(self, centred: np.ndarray, covariance: np.ndarray, n_components: int, seed: int) -> float:
        if not isinstance(self.bandwidth, str):
            return float(self.bandwidth)
        from fairpca.metrics import median_bandwidth

        Z = centred @ top_eigenpairs(covariance, n_components)[1]
        if self._options.approximation_for(len(Z)) is not None and len(Z) > _BANDWIDTH_ROWS:
            Z = Z[np.random.default_rng(seed).choice(len(Z), _BANDWIDTH_ROWS, replace=False)]
        if self._options.verbose:
            print(f"[MBFPCA] median distance of {len(Z)} rows", flush=True)
        return median_bandwidth(Z, self.bandwidth)

    def _warn_large(self, n: int, n_components: int) -> None:
        needed, limit = kernel_bytes(n, n_components), self._options.memory_limit
        if self._options.approximation_for(n) is None and needed > limit:
            warnings.warn(
                f"the exact kernel takes about {needed / 1e6:.0f} MB for {n} rows, more than memory_limit="
                f'{limit / 1e6:.0f} MB; set the option approximation to "subsample" or "fourier", or raise '
                "memory_limit.",
                UserWarning,
                stacklevel=4,
            )

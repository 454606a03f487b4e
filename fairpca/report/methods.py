"""The table of methods that are compared, and what fits them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np

from fairpca._moments import GroupMoments
from fairpca._validation import Groups, check_rows, check_rows_match, encode_groups
from fairpca.eraser import LinearEraser
from fairpca.fpca import FPCA
from fairpca.mbfpca import MBFPCA
from fairpca.meanfair import MeanFairPCA
from fairpca.minmax import MinMaxFairPCA
from fairpca.pca import PCA
from fairpca.rfpca import RFPCA

__all__ = ["ChangeThenReduce", "Fitted", "Method", "Rows", "Skipped", "fit_method", "get_method", "known_methods"]

_ENOUGH = 0.02  # accuracy of INLP's classifiers above that of naming the largest group


class Skipped(Exception):
    """A method cannot be used here; the text is a sentence that says why."""


class Rows:
    """Rows of a table with their groups and, where there is one, their label.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numbers, already scaled as they should be.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), or Groups
        Group of each row.
    y : array-like of shape (n_samples,), optional
        What classifiers predict.
    seed : int, default=0
        Of everything random in a method.
    """

    def __init__(self, X: Any, sensitive_features: Any, y: Any = None, seed: int = 0) -> None:
        self.X = check_rows(X)
        self.groups: Groups = encode_groups(sensitive_features, len(self.X))
        self.y = None if y is None else np.asarray(y)
        if self.y is not None:
            check_rows_match("y", len(self.y), len(self.X))
        self.seed = seed

    @cached_property
    def moments(self) -> GroupMoments:
        """Counts, means and second moments of the groups; methods share them."""
        return GroupMoments.from_data(self.X, self.groups)

    @cached_property
    def indicators(self) -> np.ndarray:
        """One column of 0 and 1 for each group, shape (n_samples, n_groups)."""
        return (self.groups.codes[:, None] == np.arange(len(self.groups.labels))).astype(np.float64)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.X)


class ChangeThenReduce:
    """First change the rows, then reduce them: what methods that prepare rows for PCA return.

    Parameters
    ----------
    change : callable
        ``change(X)`` returns changed rows; ``change(X, groups)`` if the method needs groups at prediction.
    reduce : object
        With ``transform(X)``, fitted on changed rows.
    """

    def __init__(self, change: Callable[..., np.ndarray], reduce: Any) -> None:
        self.change, self.reduce = change, reduce

    def transform(self, X: np.ndarray, sensitive_features: Groups | None = None) -> np.ndarray:
        """Change and reduce rows."""
        changed = self.change(X) if sensitive_features is None else self.change(X, sensitive_features)
        return np.asarray(self.reduce.transform(changed))


@dataclass(frozen=True)
class Method:
    """A method that maps rows to fewer numbers.

    Attributes
    ----------
    name : str
        Short, for tables and files: letters, digits and underscores.
    title : str
        As readers call it.
    cite : str
        Key in the book's bibliography.
    about : str
        One sentence: what it optimises.
    fit : callable
        ``fit(rows, n_components)`` returns an object with ``transform(X)``, or raises :class:`Skipped`.
    groups_at_prediction : bool
        Whether ``transform`` takes ``sensitive_features=`` of new rows as well.
    max_groups : int or None
        The largest number of groups that it is defined for.
    requires : tuple of str
        Packages that have to be installed besides this one.
    by_column : bool
        Whether the result depends on which columns describe the rows, and not on their distances only.
    """

    name: str
    title: str
    cite: str
    about: str
    fit: Callable[[Rows, int], Any]
    groups_at_prediction: bool = False
    max_groups: int | None = None
    requires: tuple[str, ...] = ()
    by_column: bool = False


@dataclass(frozen=True)
class Fitted:
    """A fitted method.

    Attributes
    ----------
    method : Method
        What was fitted.
    model : object
        With ``transform``.
    seconds : float
        Processor time of the fit.
    notes : tuple of str
        What it warned about.
    """

    method: Method
    model: Any
    seconds: float
    notes: tuple[str, ...] = ()

    def encode(self, X: np.ndarray, groups: Groups) -> np.ndarray:
        """Return the representation of rows; groups are handed on only to a method that needs them."""
        extra = {"sensitive_features": groups} if self.method.groups_at_prediction else {}
        return np.asarray(self.model.transform(X, **extra), dtype=np.float64)


def fit_method(method: Method, rows: Rows, n_components: int) -> Fitted:
    """Fit a method, or raise :class:`Skipped` with the reason.

    Parameters
    ----------
    method : Method
        What to fit.
    rows : Rows
        Training rows.
    n_components : int
        Dimension of the representation.

    Returns
    -------
    Fitted
        With the processor time; warnings are kept as notes.
    """
    missing = [package for package in method.requires if find_spec(package) is None]
    if missing:
        raise Skipped(f"{method.title} needs {', '.join(missing)}, which is not installed.")
    n_groups = len(rows.groups.labels)
    if method.max_groups is not None and n_groups > method.max_groups:
        raise Skipped(f"{method.title} is defined for {method.max_groups} groups; the data have {n_groups}.")
    if n_components > rows.X.shape[1]:
        raise Skipped(f"{n_components} components of {rows.X.shape[1]} features are not a reduction.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = process_time()
        model = method.fit(rows, n_components)
        seconds = process_time() - start
    return Fitted(method, model, seconds, tuple(dict.fromkeys(str(warning.message) for warning in caught)))


# --------------------------------------------------------------------------------------------------------------------
# What fits them


def _from_moments(rows: Rows, n_components: int, *, kind: Any, **parameters: Any) -> Any:
    """Solve from moments."""
    return kind(n_components, **parameters).fit(rows.moments)


def _rfpca(rows: Rows, n_components: int) -> Any:
    """Solve exactly for two groups, by majorise-minimise for more."""
    if n_components >= rows.X.shape[1]:
        raise Skipped("RFPCA needs fewer components than features.")
    model = RFPCA(n_components, lam=0.5, alpha=0.15)
    return (model if rows.moments.n_groups == 2 else model.set_params(solver="mm")).fit(rows.moments)


def _mbfpca(rows: Rows, n_components: int, *, tau: float) -> Any:
    """Search from four starts; the tolerance is met on the training rows or a note says not."""
    model = MBFPCA(n_components, tau=tau, n_starts=4, random_state=rows.seed)
    return model.fit(rows.X, sensitive_features=rows.groups)


def _mean(rows: Rows, n_components: int, **parameters: Any) -> Any:
    """Solve in closed form, from moments."""
    if n_components > rows.X.shape[1] - len(rows.groups.labels) + 1:
        raise Skipped("Matching the means leaves fewer directions than components.")
    return MeanFairPCA(n_components, **parameters).fit(rows.moments)


def _inlp(rows: Rows, n_components: int) -> Any:
    """Project out classifiers' directions until none does better than naming the largest group, then fit PCA."""
    from sklearn.linear_model import LogisticRegression

    p, chance = rows.X.shape[1], rows.moments.weights.max()
    centred = rows.X - rows.X.mean(axis=0)
    removed = np.zeros((p, 0))
    while True:
        keep = np.eye(p) - removed @ removed.T
        classifier = LogisticRegression(tol=1e-3, max_iter=200).fit(centred @ keep, rows.groups.codes)
        if classifier.score(centred @ keep, rows.groups.codes) <= chance + _ENOUGH:
            break
        directions = np.linalg.svd(np.column_stack((removed, classifier.coef_.T)), full_matrices=False)
        removed = directions[0][:, directions[1] > 1e-8 * directions[1][0]]
        if p - removed.shape[1] < n_components:
            raise Skipped("INLP leaves fewer directions than components.")
    changed = Rows(centred @ keep, rows.groups)
    return ChangeThenReduce(lambda X: X @ keep, PCA(n_components).fit(changed.moments))


def _leace(rows: Rows, n_components: int) -> Any:
    """Erase the groups with the least change of rows, then fit PCA of the erased rows."""
    eraser = LinearEraser().fit(rows.X, sensitive_features=rows.groups)
    erased = Rows(eraser.transform(rows.X), rows.groups)
    return ChangeThenReduce(eraser.transform, PCA(n_components).fit(erased.moments))


def _by_group(rows: Rows, n_components: int, change: Callable[[np.ndarray, Groups], np.ndarray]) -> Any:
    """Change rows by their group, then fit PCA of what is left."""
    left = Rows(change(rows.X, rows.groups), rows.groups)
    return ChangeThenReduce(change, PCA(n_components).fit(left.moments))


def _correlation_remover(rows: Rows, n_components: int) -> Any:
    """Take the regression on the groups off the features, then fit PCA of what is left."""
    from fairlearn.preprocessing import CorrelationRemover

    def with_indicators(X: np.ndarray, groups: Groups) -> np.ndarray:
        members = groups.codes[:, None] == np.arange(1, len(groups.labels))
        return np.column_stack((X, members.astype(np.float64)))

    together = with_indicators(rows.X, rows.groups)
    remover = CorrelationRemover(sensitive_feature_ids=range(rows.X.shape[1], together.shape[1])).fit(together)
    return _by_group(rows, n_components, lambda X, groups: np.asarray(remover.transform(with_indicators(X, groups))))


def _power(A: np.ndarray, exponent: float) -> np.ndarray:
    """Return a power of a positive definite matrix."""
    w, U = np.linalg.eigh(A)
    return (U * np.maximum(w, 1e-12) ** exponent) @ U.T


def _gaussian_repair(rows: Rows, n_components: int) -> Any:
    """Map means and covariances of the groups to those of their Wasserstein barycentre, then fit PCA."""
    means, shares, p = rows.moments.means, rows.moments.weights, rows.X.shape[1]
    covariances = rows.moments.covariances() + 1e-3 * np.trace(rows.moments.covariance()) / p * np.eye(p)
    middle = np.tensordot(shares, covariances, 1)
    for _ in range(20):  # Knott and Smith's fixed point, by the step of Alvarez-Esteban et al. (2016)
        root, inverse = _power(middle, 0.5), _power(middle, -0.5)
        inner = sum(w * _power(root @ C @ root, 0.5) for w, C in zip(shares, covariances, strict=True))
        middle = inverse @ inner @ inner @ inverse
    maps = [
        _power(C, -0.5) @ _power(_power(C, 0.5) @ middle @ _power(C, 0.5), 0.5) @ _power(C, -0.5) for C in covariances
    ]

    def change(X: np.ndarray, groups: Groups) -> np.ndarray:
        moved = np.einsum("npq,nq->np", np.array(maps)[groups.codes], X - means[groups.codes])
        return moved + shares @ means

    return _by_group(rows, n_components, change)


def _group_standardised(rows: Rows, n_components: int) -> Any:
    """Give every column mean 0 and its overall deviation in every group, then fit PCA."""
    means = rows.moments.means
    deviations = np.sqrt(np.diagonal(rows.moments.covariances(), axis1=1, axis2=2))
    overall = np.sqrt(np.diagonal(rows.moments.covariance()))
    factors = np.where(deviations > 1e-9 * overall, overall / np.maximum(deviations, 1e-300), 0.0)
    return _by_group(rows, n_components, lambda X, groups: (X - means[groups.codes]) * factors[groups.codes])


# --------------------------------------------------------------------------------------------------------------------
# The table: the baseline first


def _minmax(objective: str) -> Callable[[Rows, int], Any]:
    return partial(_from_moments, kind=MinMaxFairPCA, objective=objective)


_METHODS = (
    Method("pca", "PCA", "pearson1901", "Keeps the most variance; knows no groups.", partial(_from_moments, kind=PCA)),
    Method("minmax_loss", "Min-max loss", "samadi2018",
           "Smallest largest loss of a group against its own PCA.", _minmax("loss")),
    Method("minmax_error", "Min-max error", "samadi2018",
           "Smallest largest reconstruction error of a group.", _minmax("error")),
    Method("minmax_variance", "Max-min variance", "tantipongpipat2019",
           "Largest least variance that any group keeps.", _minmax("variance")),
    Method("minmax_nash", "Nash welfare", "tantipongpipat2019",
           "Largest geometric mean of the variances that the groups keep.", _minmax("nash")),
    Method("rfpca", "RFPCA, λ = 0.5", "vu2022",
           "Smallest worst-case error plus half the gap between the groups' errors.", _rfpca),
    Method("fpca_mean", "FPCA, mean", "olfat2019",
           "Most variance with the groups' means equal after projection.",
           partial(_from_moments, kind=FPCA, constraints="mean"), max_groups=2),
    Method("fpca_both", "FPCA, mean and covariance", "olfat2019",
           "Most variance with equal means and a penalty on the difference of covariances.",
           partial(_from_moments, kind=FPCA, constraints="both"), max_groups=2),
    Method("mbfpca_1e2", "MBF-PCA, τ = 1e-2", "lee2022",
           "Most variance with MMD² between the projected groups at most 1e-2.", partial(_mbfpca, tau=1e-2)),
    Method("mbfpca_1e3", "MBF-PCA, τ = 1e-3", "lee2022",
           "Most variance with MMD² between the projected groups at most 1e-3.", partial(_mbfpca, tau=1e-3)),
    Method("mean_orthogonal", "MeanFairPCA, orthogonal", "kleindessner2023",
           "Most variance in a subspace in which all groups have the same mean.", _mean),
    Method("mean_oblique", "MeanFairPCA, oblique", "belrose2023",
           "Best linear code, orthogonal or not, that carries no linear information on the group.",
           partial(_mean, projection="oblique")),
    Method("mean_covariance", "MeanFairPCA, mean and covariance", "kleindessner2023",
           "Most variance among the directions in which means agree and covariances differ least.",
           partial(_mean, match="mean+covariance", n_candidates=0.85)),
    Method("inlp", "INLP + PCA", "ravfogel2020",
           "Projects out directions of linear classifiers of the group until none succeeds, then keeps the most.",
           _inlp),
    Method("leace", "LEACE + PCA", "belrose2023",
           "Changes rows as little as possible so that no linear function separates groups, then keeps the most.",
           _leace),
    Method("correlation_remover", "CorrelationRemover + PCA", "weerts2023",
           "Takes off what the group of a row says linearly about it, then keeps the most variance.",
           _correlation_remover, groups_at_prediction=True, requires=("fairlearn",)),
    Method("gaussian_repair", "Gaussian repair + PCA", "gordaliza2019",
           "Moves means and covariances of the groups to a common middle, then keeps the most variance.",
           _gaussian_repair, groups_at_prediction=True, by_column=True),
    Method("group_standardised", "standardised by group + PCA", "feldman2015",
           "Gives every column the same mean and variance in every group, then keeps the most variance.",
           _group_standardised, groups_at_prediction=True, by_column=True),
)  # fmt: skip


def known_methods() -> dict[str, Method]:
    """Return all methods by name, the baseline first.

    Returns
    -------
    dict of str to Method
        Also those whose packages are not installed.
    """
    return {method.name: method for method in _METHODS}


def get_method(name: str) -> Method:
    """Return the method of that name; an unknown one is an error that lists what there is.

    Parameters
    ----------
    name : str
        One of the keys of :func:`known_methods`.

    Returns
    -------
    Method
    """
    table = known_methods()
    if name not in table:
        raise ValueError(f"method={name!r} is not known; choose one of {', '.join(map(repr, table))}.")
    return table[name]

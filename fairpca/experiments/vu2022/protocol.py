"""How Vu et al. (2022) split, standardise, choose hyper-parameters and evaluate, as their code does it.

* A share of each group is drawn for training (``numpy.random.default_rng(seed)``: group 0, then group 1), then both
  parts are shuffled; the order of the training rows matters, because the folds are cut from it.
* Both parts are standardised with the training part's mean and population standard deviation.
* A method is judged by the average reconstruction error of all rows (ARE) and by the absolute difference of the
  groups' errors (ABDiff) *after each group was centred with its training mean*, which is not the gap in the objective.
* Hyper-parameters: 3 folds, score ARE + ABDiff on the left-out fold, first minimum. In a fold the rows are
  standardised anew for ARE, whereas the groups' rows for ABDiff are only centred anew: their scale stays that of the
  whole training part.
* In a fold FairPCA is fitted to those groups' rows, the other methods to the rows that are standardised anew.
* The random starts of consecutive fits come from one stream, ``RandomState(seed)``: folds outer, grid inner, then
  the final fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from fairpca import GroupMoments
from fairpca.datasets import standardise
from fairpca.metrics import ab_difference, average_reconstruction_error, reconstruction_errors

__all__ = ["Method", "Outcome", "Rows", "Setting", "choose_setting", "errors", "run_split", "split_rows", "words"]

Setting = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """Rows and the code (0 or 1) of each row's group.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Features.
    groups : ndarray of int of shape (n,)
        Group codes.
    """

    X: np.ndarray
    groups: np.ndarray

    @property
    def moments(self) -> GroupMoments:
        """Moments of both groups."""
        return GroupMoments.from_data(self.X, self.groups)


@dataclass(frozen=True)
class Method:
    """An estimator, the settings to choose from, and the rows that it is fitted to.

    Attributes
    ----------
    estimator : estimator of this package
        Everything but the number of components, the random stream and the setting.
    grid : mapping of str to sequence
        Values of its parameters. The last name changes fastest, which decides ties and the use of the random stream.
    rescaled_in_fold : bool
        Whether the rows of a fold are standardised anew before they are fitted.
    prepare : callable, optional
        What the method's program does with the rows that it gets.
    certified : bool
        Whether a fit without proof of optimality is an error.
    """

    estimator: Any
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    rescaled_in_fold: bool = True
    prepare: Callable[[np.ndarray], np.ndarray] | None = None
    certified: bool = False

    @property
    def settings(self) -> list[Setting]:
        """The grid, one setting after the other; without a grid the estimator as it is."""
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]

    def fit(self, rows: Rows, k: int, stream: np.random.RandomState, setting: Setting | None = None) -> list[Any]:
        """Return the estimator fitted to `rows` with one setting, or with each of its grid."""
        model = clone(self.estimator).set_params(n_components=k)
        if "random_state" in model.get_params():
            model.set_params(random_state=stream)
        moments = rows.moments if self.prepare is None else Rows(self.prepare(rows.X), rows.groups).moments
        with warnings.catch_warnings():
            # The programs go on with what they have, settled and well determined or not.
            warnings.simplefilter("ignore", UserWarning)
            if setting is None and self.grid:
                models = model.path(moments, **self.grid)
            else:
                models = [model.set_params(**setting or {}).fit(moments)]
        unproved = [model for model in models if self.certified and model.result_.status != "optimal"]
        if unproved:
            raise RuntimeError(f"no proof of optimality for {unproved}; raise max_iter.")
        return models


def words(setting: Setting) -> str:
    """Return a setting as text, with the names inside an options object."""
    flat = {name: value for key, given in setting.items() for name, value in _named(key, given)}
    return ", ".join(f"{name}={value:g}" for name, value in flat.items())


def _named(key: str, given: Any) -> list[tuple[str, Any]]:
    return list(given.items()) if isinstance(given, Mapping) else [(key, given)]


def split_rows(groups: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return row numbers of the training and the test part; with ``share=1`` all rows in their order and none.

    Parameters
    ----------
    groups : ndarray of int of shape (n,)
        Group codes.
    share : float
        Share of each group in the training part (rounded down).
    seed : int
        Seed of the split.
    """
    if share == 1:
        return np.arange(len(groups)), np.empty(0, dtype=np.int64)
    rng = np.random.default_rng(seed)
    train, test = [], []
    for a in (0, 1):
        rows = np.flatnonzero(groups == a)
        rng.shuffle(rows)
        cut = int(share * len(rows))
        train.append(rows[:cut])
        test.append(rows[cut:])
    train_rows, test_rows = np.concatenate(train), np.concatenate(test)
    rng.shuffle(train_rows)
    rng.shuffle(test_rows)
    return train_rows, test_rows


def errors(model: Any, everyone: GroupMoments, groups: GroupMoments, centers: np.ndarray) -> dict[str, float]:
    """Judge a fitted estimator.

    Parameters
    ----------
    model : fitted estimator
        Its rows may be those of an affine map, whose matrix is no projection.
    everyone : GroupMoments
        Of the rows whose average error is taken, about zero.
    groups : GroupMoments
        Of the rows by which the groups are compared.
    centers : ndarray of shape (2, p)
        What is subtracted from the groups' rows.

    Returns
    -------
    dict
        ``are``, ``abdiff`` and each group's error, ``error_0`` and ``error_1``.
    """
    if model.result_.basis == "orthonormal":
        what = {"V": model.components_.T}
    else:
        what = {"projection": model.components_.T @ model.components_}
    by_group = reconstruction_errors(groups, centers=centers, **what)
    found = {"are": average_reconstruction_error(everyone, **what), "abdiff": ab_difference(by_group)}
    return found | {f"error_{label}": float(error) for label, error in by_group.items()}


def choose_setting(
    train: Rows,
    k: int,
    method: Method,
    stream: np.random.RandomState,
    *,
    seed: int,
    n_folds: int = 3,
    scale: bool = True,
) -> tuple[int, np.ndarray]:
    """Cross-validate; return the position of the best setting and the mean score of each."""
    scores = np.zeros(len(method.settings))
    folds = KFold(n_folds, shuffle=True, random_state=seed)
    for inner, outer in folds.split(train.X):
        own, left_out = Rows(train.X[inner], train.groups[inner]), Rows(train.X[outer], train.groups[outer])
        rescaled, everyone = standardise(own.X, left_out.X, scale=scale)
        judge = Rows(everyone, left_out.groups).moments, left_out.moments, own.moments.means
        fitted = Rows(rescaled, own.groups) if method.rescaled_in_fold else own
        for i, model in enumerate(method.fit(fitted, k, stream)):
            found = errors(model, *judge)
            scores[i] += found["are"] + found["abdiff"]
    return int(np.argmin(scores)), scores / n_folds


@dataclass(frozen=True)
class Outcome:
    """One method on one split.

    Attributes
    ----------
    setting : dict
        The chosen hyper-parameters.
    scores : ndarray
        Cross-validated score of every setting of the grid.
    model : estimator
        Fitted to the training part with the chosen setting.
    train, test : Rows
        The standardised parts (an empty test part with ``share=1``).
    inside, outside : dict
        ``are``, ``abdiff``, ``error_0``, ``error_1`` on the training and the test part.
    stream : RandomState
        The random stream as the method left it; the authors' classifier goes on with it.
    """

    setting: Setting
    scores: np.ndarray
    model: Any
    train: Rows
    test: Rows
    inside: dict[str, float]
    outside: dict[str, float]
    stream: np.random.RandomState


def run_split(
    X: np.ndarray,
    groups: np.ndarray,
    method: Method,
    *,
    k: int = 3,
    seed: int,
    share: float = 0.3,
    n_folds: int = 3,
    scale: bool = True,
) -> Outcome:
    """Split, choose hyper-parameters, fit and evaluate one method (Tables 1 and 3 for k = 3, seeds 0 … 9).

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Features as published.
    groups : ndarray of int of shape (n,)
        Group codes 0 and 1.
    method : Method
        What is fitted; a grid of one setting is not cross-validated.
    k : int
        Dimension of the subspace.
    seed : int
        Seed of the split, of the folds and of the random starts.
    share : float
        Share of the rows for training.
    n_folds : int
        Folds of the cross-validation.
    scale : bool
        Whether features are divided by their standard deviation (not those of the faces).
    """
    train_rows, test_rows = split_rows(groups, share, seed)
    train_X, test_X = standardise(X[train_rows], X[test_rows], scale=scale)
    train, test = Rows(train_X, groups[train_rows]), Rows(test_X, groups[test_rows])
    stream = np.random.RandomState(seed)
    settings, best, scores = method.settings, 0, np.empty(0)
    if len(settings) > 1:
        best, scores = choose_setting(train, k, method, stream, seed=seed, n_folds=n_folds, scale=scale)
    (model,) = method.fit(train, k, stream, settings[best])
    inside, means = train.moments, train.moments.means
    judged = errors(model, inside, inside, means)
    outside = errors(model, test.moments, test.moments, means) if len(test.X) else {}
    return Outcome(settings[best], scores, model, train, test, judged, outside, stream)

"""How Vu et al. (2022) split, standardise, choose hyper-parameters and evaluate, as their code does it.

* A share of each group is drawn for training (``numpy.random.default_rng(seed)``: group 0, then group 1), then both
  parts are shuffled; the order of the training rows matters, because the folds are cut from it.
* Both parts are standardised with the training part's mean and population standard deviation.
* A method sees second moments of these rows without further centring.
* It is judged by the average reconstruction error of all rows (ARE) and by the absolute difference of the groups'
  errors (ABDiff) *after each group was centred with its training mean*, which is not the gap in the objective.
* Hyper-parameters: 3 folds, score ARE + ABDiff on the left-out fold, first minimum.  In a fold the rows are
  standardised anew for the fit and for ARE, whereas the group rows for ABDiff are only centred anew.
* The random starts of consecutive fits come from one stream, ``RandomState(seed)``: folds outer, grid inner, then
  the final fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from sklearn.model_selection import KFold

from fairpca.linalg import top_eigenpairs
from fairpca.solvers.rfpca import ambiguity_radii, published_lam, solve_rfpca_path, solve_rfpca_subgradient

__all__ = [
    "RFPCA_GRID",
    "Evaluation",
    "Fit",
    "Outcome",
    "Rows",
    "Setting",
    "choose_setting",
    "fit_pca",
    "fit_rfpca_exact",
    "fit_rfpca_printed",
    "run_split",
    "split_rows",
    "standardise",
]

Setting = dict[str, float]

# alpha outer, penalty inner: the order decides ties and the use of the random stream.
RFPCA_GRID: tuple[Setting, ...] = tuple(
    {"alpha": alpha, "lam": lam} for alpha, lam in product((0.05, 0.1, 0.15), (0.0, 0.5, 1.0, 1.5, 2.0, 2.5))
)


@dataclass(frozen=True)
class Rows:
    """Rows and the code (0 or 1) of each row's group.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Standardised features.
    groups : ndarray of int of shape (n,)
        Group codes.
    """

    X: np.ndarray
    groups: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """Rows in each group."""
        return np.bincount(self.groups, minlength=2)

    @property
    def second_moments(self) -> np.ndarray:
        """Uncentred second moment of each group, shape (2, p, p)."""
        return np.array([_moment(self.X[self.groups == a]) for a in (0, 1)])


# A method: the rows, k, the settings to fit, the random stream -> for each setting a p x k basis or a p x p matrix P.
Fit = Callable[[Rows, int, Sequence[Setting], np.random.RandomState], list[np.ndarray]]


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


def standardise(train: np.ndarray, *others: np.ndarray, scale: bool = True) -> list[np.ndarray]:
    """Standardise with the mean and population standard deviation of `train` (1 where a column is constant).

    A constant column is recognised by its range: its standard deviation is zero only up to rounding, which depends
    on the order of summation, and dividing by what rounding leaves would blow up the other part.
    With ``scale=False`` only the mean is removed, as for the faces.
    """
    mean, std = train.mean(axis=0), train.std(axis=0)
    std[(np.ptp(train, axis=0) == 0) | (not scale)] = 1.0
    return [(X - mean) / std for X in (train, *others)]


def _moment(X: np.ndarray) -> np.ndarray:
    return X.T @ X / len(X)


@dataclass(frozen=True)
class Evaluation:
    """Second moments by which any projection is judged, so that judging it costs nothing.

    Attributes
    ----------
    everyone : ndarray of shape (p, p)
        Of all rows.
    groups : ndarray of shape (2, p, p)
        Of each group about its training mean.
    """

    everyone: np.ndarray
    groups: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, group_rows: Rows, group_means: np.ndarray) -> Evaluation:
        """Return the moments of `rows`, and of each group of `group_rows` about `group_means`."""
        parts = [_moment(group_rows.X[group_rows.groups == a] - group_means[a]) for a in (0, 1)]
        return cls(_moment(rows), np.array(parts))

    def errors(self, P: np.ndarray) -> dict[str, float]:
        """Return ``are``, ``abdiff`` and each group's error for a basis (p x k) or any matrix P (p x p)."""
        p = len(self.everyone)
        rest = np.eye(p) - (P if P.shape == (p, p) else P @ P.T)
        everyone, first, second = (
            float(np.vdot(rest, M @ rest)) for M in (self.everyone, self.groups[0], self.groups[1])
        )
        return {"are": everyone, "abdiff": abs(first - second), "error_0": first, "error_1": second}


def group_means(rows: Rows) -> np.ndarray:
    """Return the mean of each group, shape (2, p)."""
    return np.array([rows.X[rows.groups == a].mean(axis=0) for a in (0, 1)])


def choose_setting(
    train: Rows,
    k: int,
    grid: Sequence[Setting],
    fit: Fit,
    stream: np.random.RandomState,
    *,
    seed: int,
    n_folds: int = 3,
    scale: bool = True,
) -> tuple[int, np.ndarray]:
    """Cross-validate; return the position of the best setting and the mean score of each."""
    scores = np.zeros(len(grid))
    folds = KFold(n_folds, shuffle=True, random_state=seed)
    for inner, outer in folds.split(train.X):
        own, left_out = Rows(train.X[inner], train.groups[inner]), Rows(train.X[outer], train.groups[outer])
        fold_train, fold_test = standardise(own.X, left_out.X, scale=scale)
        judge = Evaluation.of(fold_test, left_out, group_means(own))
        for i, P in enumerate(fit(Rows(fold_train, own.groups), k, grid, stream)):
            errors = judge.errors(P)
            scores[i] += errors["are"] + errors["abdiff"]
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
    projection : ndarray
        What the method returned for the chosen setting.
    train, test : Rows
        The standardised parts (an empty test part with ``share=1``).
    inside, outside : dict
        ``are``, ``abdiff``, ``error_0``, ``error_1`` on the training and the test part.
    stream : RandomState
        The random stream as the method left it; the authors' classifier goes on with it.
    """

    setting: Setting
    scores: np.ndarray
    projection: np.ndarray
    train: Rows
    test: Rows
    inside: dict[str, float]
    outside: dict[str, float]
    stream: np.random.RandomState


def run_split(
    X: np.ndarray,
    groups: np.ndarray,
    fit: Fit,
    grid: Sequence[Setting],
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
    fit : callable
        The method.
    grid : sequence of dict
        Its hyper-parameters; a grid of one setting is not cross-validated.
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
    best, scores = 0, np.empty(0)
    if len(grid) > 1:
        best, scores = choose_setting(train, k, grid, fit, stream, seed=seed, n_folds=n_folds, scale=scale)
    (projection,) = fit(train, k, [grid[best]], stream)
    means = group_means(train)
    inside = Evaluation.of(train.X, train, means).errors(projection)
    outside = Evaluation.of(test.X, test, means).errors(projection) if len(test.X) else {}
    return Outcome(dict(grid[best]), scores, projection, train, test, inside, outside, stream)


def fit_pca(rows: Rows, k: int, settings: Sequence[Setting], stream: np.random.RandomState) -> list[np.ndarray]:
    """Ordinary PCA of all rows, the column that the paper leaves out."""
    V = top_eigenpairs(_moment(rows.X), k)[1]
    return [V for _ in settings]


def fit_rfpca_printed(
    rows: Rows,
    k: int,
    settings: Sequence[Setting],
    stream: np.random.RandomState,
    *,
    max_iter: int = 1000,
    n_starts: int = 21,
) -> list[np.ndarray]:
    """RFPCA as the published code runs it: Algorithm 1, last iterates, formula (6c), its reset of the penalty."""
    moments, counts = rows.second_moments, rows.counts
    shares = counts / counts.sum()
    planes = []
    for setting in settings:
        eps = ambiguity_radii(setting["alpha"], counts)
        lam = published_lam(moments, shares, eps, k, setting["lam"])
        result = solve_rfpca_subgradient(
            moments,
            shares,
            k,
            lam,
            eps,
            variant="printed",
            n_starts=n_starts,
            max_iter=max_iter,
            random_state=stream,
        )
        planes.append(result.V)
    return planes


def fit_rfpca_exact(rows: Rows, k: int, settings: Sequence[Setting], stream: np.random.RandomState) -> list[np.ndarray]:
    """RFPCA solved exactly, with the true robust value, the whole grid on one curve."""
    counts = rows.counts
    problems = [(setting["lam"], ambiguity_radii(setting["alpha"], counts)) for setting in settings]
    results = solve_rfpca_path(rows.second_moments, counts / counts.sum(), k, problems)
    unproved = [setting for setting, result in zip(settings, results, strict=True) if result.status != "optimal"]
    if unproved:
        raise RuntimeError(f"the exact solver did not prove optimality for {unproved}; raise its max_iter.")
    return [result.V for result in results]

"""What is measured about a fitted method, on rows that it has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from scipy.linalg import solve
from scipy.spatial.distance import cdist
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from fairpca._moments import GroupMoments
from fairpca._validation import shown_labels
from fairpca.linalg import top_eigenpairs
from fairpca.report.intervals import placements
from fairpca.report.methods import Fitted, Rows
from fairpca.solvers.minmax import Objective, criterion_value, solve_minmax
from fairpca.solvers.rfpca import GroupObjective, ambiguity_radii, solve_rfpca

__all__ = [
    "MEASURES",
    "Measure",
    "Settings",
    "Split",
    "code_dimensions",
    "evaluate",
    "get_measure",
    "measure",
    "own_decoder",
]

# --------------------------------------------------------------------------------------------------------------------
# Names, units and directions


@dataclass(frozen=True)
class Measure:
    """One number about a fitted method.

    Attributes
    ----------
    name : str
        Key of the result. Measures of one group have the group's label behind a colon, ``error:women``.
    title : str
        Heading of a column.
    better : {"low", "high", ""}
        Which direction is wanted; empty where none is.
    unit : str
        ``"%"`` or empty.
    about : str
        One sentence.
    """

    name: str
    title: str
    better: Literal["low", "high", ""]
    unit: str
    about: str


_CRITERION = "on the training rows, distance to the certified optimum, in points of the total variance"
MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("variance", "variance", "high", "%", "held-out variance that the best linear decoder gives back"),
        Measure("error", "error", "low", "%", "of one group: held-out variance that the decoder does not give back"),
        Measure("worst_error", "worst error", "low", "%", "largest error of a group"),
        Measure("error_gap", "error gap", "low", "%", "largest difference between two groups' errors"),
        Measure("loss", "loss", "low", "%", "of one group: held-out error less that of the group's own PCA"),
        Measure("worst_loss", "worst loss", "low", "%", "largest loss of a group"),
        Measure("loss_gap", "loss gap", "low", "%", "largest difference between two groups' losses"),
        Measure("mmd2", "MMD²", "low", "", "held-out distance of the groups' distributions (largest pair)"),
        Measure("mmd2_chance", "MMD² by chance", "", "", "95 % quantile of MMD² after permuting the groups"),
        Measure("mmd2_p", "p", "", "", "share of permutations with an MMD² as large"),
        Measure("linear_auc", "linear recovery", "low", "", "AUC of a logistic classifier of the group, cross-fitted"),
        Measure("kernel_auc", "kernel recovery", "low", "", "AUC of a kernel classifier of the group, cross-fitted"),
        *(
            measure
            for kind, tail in (("logistic", ""), ("trees", ", trees"))
            for measure in (
                Measure(f"accuracy:{kind}", f"accuracy at 0.5{tail}", "high", "%",
                        "share of right decisions when probabilities from 0.5 on are selected"),
                Measure(f"auc:{kind}", f"AUC{tail}", "high", "", "of a classifier of the label, held out"),
                Measure(f"base_selection_gap:{kind}", f"selection gap{tail}", "low", "",
                        "largest difference of selection rates when as many are selected as are positive"),
                Measure(f"base_tpr_gap:{kind}", f"TPR gap{tail}", "low", "",
                        "largest difference of true-positive rates when as many are selected as are positive"),
                Measure(f"selection_gap:{kind}", f"selection gap at 0.5{tail}", "low", "",
                        "largest difference of selection rates when probabilities from 0.5 on are selected"),
                Measure(f"tpr_gap:{kind}", f"TPR gap at 0.5{tail}", "low", "",
                        "largest difference of true-positive rates when probabilities from 0.5 on are selected"),
            )
        ),
        Measure("gap:variance", "variance", "low", "%", f"of PCA's objective: {_CRITERION}"),
        Measure("gap:loss", "worst loss", "low", "%", f"of the largest loss: {_CRITERION}"),
        Measure("gap:error", "worst error", "low", "%", f"of the largest error: {_CRITERION}"),
        Measure("gap:least_variance", "least variance", "low", "%", f"of the least variance kept: {_CRITERION}"),
        Measure("gap:nash", "Nash welfare", "low", "%", f"of the geometric mean of variances kept: {_CRITERION}"),
        Measure("gap:rfpca", "robust, balanced", "low", "%", f"of Vu et al.'s objective: {_CRITERION}"),
        Measure("mean_gap", "means left", "low", "%", "share of the training means' difference left in the subspace"),
        Measure("seconds", "seconds", "low", "s", "processor time of the fit"),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """How much work an evaluation may do; what is capped is drawn at random once for all methods.

    Attributes
    ----------
    kernel_rows : int
        Rows of which MMD² and the recovery of the group are computed, at most; no n × n matrix is larger.
    permutations : int
        Random labellings behind the band of MMD²; 0 leaves it out.
    folds : int
        Parts of the cross-fitting.
    tree_rounds : int
        Rounds of boosting; 0 leaves the second classifier out.
    classifier_rows : int
        Training rows from which classifiers of the label learn, at most.
    """

    kernel_rows: int = 800
    permutations: int = 200
    folds: int = 4
    tree_rounds: int = 40
    classifier_rows: int = 20_000


def get_measure(name: str) -> Measure:
    """Return what is known of a key of a result, also of one with a group behind a colon."""
    return MEASURES[name] if name in MEASURES else MEASURES[name.partition(":")[0]]


# --------------------------------------------------------------------------------------------------------------------
# Objectives with certified optima


LAM, ALPHA = 0.5, 0.15  # of Vu et al.'s objective, the estimator's defaults


# A function of a projection that is to be minimised, in the units of variance, and the proven bound of its minimum.
Certified = tuple[Callable[[np.ndarray], float], float]


def certified_criteria(moments: GroupMoments, n_components: int) -> dict[str, Certified]:
    """Return the objectives that the package solves with a proof, for rows with these moments."""
    d = n_components
    within, about_mean, whole = moments.second_moments("group"), moments.second_moments("overall"), moments.covariance()
    largest = float(np.trace(whole) - top_eigenpairs(whole, d)[0].sum())
    found: dict[str, Certified] = {"variance": (lambda P: float(_left(whole[None], P)[0]), largest)}
    traces = np.trace(within, axis1=1, axis2=2)
    best = np.array([top_eigenpairs(M, d)[0].sum() for M in within])
    for objective in get_args(Objective):
        result = solve_minmax(within, d, objective=objective)
        if result.certificate == "proof":
            sign = 1.0 if result.sense == "min" else -1.0

            def value(P: np.ndarray, objective: Objective = objective, sign: float = sign) -> float:
                return sign * criterion_value(objective, traces - _left(within, P), best, traces)

            found[objective if objective != "variance" else "least_variance"] = (value, sign * result.bound)
    if moments.n_groups == 2 and d < moments.n_features:
        eps = ambiguity_radii(ALPHA, moments.counts)
        robust = solve_rfpca(about_mean, moments.weights, d, LAM, eps)
        objective_of = GroupObjective(moments.weights, LAM, eps)
        if robust.certificate == "proof":
            found["rfpca"] = (lambda P: float(objective_of.values(_left(about_mean, P)).max()), robust.bound)
    return found


def _left(moments: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Return tr (I - P) M (I - P)' of each matrix."""
    left = np.eye(len(P)) - P
    return np.einsum("gij,ij->g", moments, left.T @ left)


# --------------------------------------------------------------------------------------------------------------------
# What all methods of one split share


class Split:
    """What all methods of one split and one dimension are measured against; computed once, on first use.

    Parameters
    ----------
    train, test : Rows
        Rows to learn from and held-out rows, of the same columns and groups.
    n_components : int
        Dimension of the representations.
    settings : Settings, optional
        How much work an evaluation may do.
    seed : int, default=0
        Of the rows that are drawn, the permutations and the folds: the same for all methods.
    """

    def __init__(
        self, train: Rows, test: Rows, n_components: int, settings: Settings | None = None, seed: int = 0
    ) -> None:
        if train.groups.labels != test.groups.labels:
            labels = [shown_labels(rows.groups.labels) for rows in (train, test)]
            raise ValueError(f"training and test groups differ: {labels[0]} and {labels[1]}.")
        absent = [train.groups.labels[g] for g in np.flatnonzero((train.groups.counts < 2) | (test.groups.counts < 2))]
        if absent:
            raise ValueError(
                f"group(s) {shown_labels(absent)} have fewer than two rows in the training or the test part; merge "
                "them with another group, or split so that every group is in both parts."
            )
        self.train, self.test, self.n_components = train, test, n_components
        self.settings, self.seed = settings or Settings(), seed
        self.total = float(np.trace(train.moments.covariance()))
        if self.total <= 0:
            raise ValueError("all training rows are equal, so there is no variance to explain; give data that vary.")

    @cached_property
    def kernel_rows(self) -> np.ndarray:
        """Held-out rows of which kernels are computed; every group keeps its share, and two rows at least."""
        n, limit = len(self.test), self.settings.kernel_rows
        if n <= limit:
            return np.arange(n)
        rng = np.random.default_rng([self.seed, 1])
        groups = [rng.permutation(self.test.groups.rows(g)) for g in range(len(self.test.groups.labels))]
        return np.sort(np.concatenate([rows[: max(2, round(limit * len(rows) / n))] for rows in groups]))

    @cached_property
    def permutations(self) -> np.ndarray:
        """Orders of `kernel_rows` that give away their groups, shape (n_permutations, n_rows)."""
        rng = np.random.default_rng([self.seed, 2])
        orders = [rng.permutation(len(self.kernel_rows)) for _ in range(self.settings.permutations)]
        return np.array(orders, dtype=np.int64).reshape(len(orders), len(self.kernel_rows))

    @cached_property
    def folds(self) -> np.ndarray:
        """Part of the cross-fitting of each of `kernel_rows`; every group is spread over the parts."""
        rng = np.random.default_rng([self.seed, 3])
        folds = np.empty(len(self.kernel_rows), dtype=np.int64)
        start = 0
        codes = self.test.groups.codes[self.kernel_rows]
        for g in range(len(self.test.groups.labels)):
            rows = rng.permutation(np.flatnonzero(codes == g))
            folds[rows] = (start + np.arange(len(rows))) % self.settings.folds
            start += len(rows)
        return folds

    @cached_property
    def positive(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Whether a training row, and a test row, is of the later one of two classes; None without such a label."""
        if self.train.y is None or self.test.y is None:
            return None
        classes = np.unique(self.train.y)
        if len(classes) != 2:
            return None
        return self.train.y == classes[1], self.test.y == classes[1]

    @cached_property
    def classifier_rows(self) -> np.ndarray:
        """Training rows from which classifiers of the label learn; every class keeps its share."""
        n, limit = len(self.train), self.settings.classifier_rows
        if n <= limit or self.positive is None:
            return np.arange(n)
        rng = np.random.default_rng([self.seed, 4])
        classes = [rng.permutation(np.flatnonzero(self.positive[0] == c)) for c in (False, True)]
        return np.sort(np.concatenate([rows[: max(10, round(limit * len(rows) / n))] for rows in classes]))

    @cached_property
    def test_moments(self) -> np.ndarray:
        """Second moments of the test rows of each group about the group's mean over the training rows."""
        moments = self.test.moments
        shift = moments.means - self.train.moments.means
        return moments.covariances() + shift[:, :, None] * shift[:, None, :]

    @cached_property
    def own_errors(self) -> np.ndarray:
        """Error of each group on its test rows in the best subspace for its training rows."""
        best = [top_eigenpairs(M, self.n_components)[1] for M in self.train.moments.covariances()]
        kept = [np.vdot(V, M @ V) for V, M in zip(best, self.test_moments, strict=True)]
        return np.trace(self.test_moments, axis1=1, axis2=2) - np.array(kept)

    @cached_property
    def criteria(self) -> dict[str, Certified]:
        """Objectives with certified optima on the training rows."""
        return certified_criteria(self.train.moments, self.n_components)


# --------------------------------------------------------------------------------------------------------------------
# The linear map behind a representation


_RANK = 1e-10
_DECODER_ROWS = 100_000


def linear_code(fitted: Fitted, train: Rows, n_components: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return what the linear map of a method amounts to; None where it is not linear, or changes with the group.

    First the projection P that criteria are about: ``A'A`` where the rows of the map A are orthonormal. Otherwise A and
    its best linear decoder on the training rows, which is what an oblique code is for; where a method codes more
    dimensions than it was asked for (the affine projections of Samadi et al.), A and its own decoder. Then an
    orthonormal basis of the rows of A: what the method looks at.
    """
    if fitted.method.groups_at_prediction:
        return None
    centre = train.X.mean(axis=0)
    p = len(centre)
    origin = fitted.model.transform(centre[None, :])
    A = (fitted.model.transform(centre + np.eye(p)) - origin).T
    probe = train.X[: min(len(train), 50)]
    expected = origin + (probe - centre) @ A.T
    found = np.asarray(fitted.model.transform(probe))
    if not np.allclose(found, expected, rtol=1e-6, atol=1e-6 * max(float(np.abs(expected).max()), 1e-300)):
        return None
    _, singular, Vt = np.linalg.svd(A, full_matrices=False)
    V = Vt[singular > _RANK * max(float(singular.max(initial=0.0)), 1e-300)].T
    if np.allclose(A @ A.T, np.eye(len(A)), atol=1e-9):
        return A.T @ A, V
    Z = train.X @ A.T
    if code_dimensions(Z, n_components) <= n_components:
        return Decoder(Z, train.X).B.T @ A, V
    inverse: Any = getattr(fitted.model, "inverse_transform", None)
    if inverse is None:
        return None
    return (np.asarray(inverse(origin + A.T)) - np.asarray(inverse(origin))).T, V


def code_dimensions(Z: np.ndarray, n_components: int) -> int:
    """Return how many dimensions a code of training rows has: its columns, or its rank where there are too many."""
    if Z.shape[1] <= n_components:
        return Z.shape[1]
    return int(np.linalg.matrix_rank(Z - Z.mean(axis=0), rtol=_RANK))


def own_decoder(fitted: Fitted, Z: np.ndarray, n_components: int) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return the method's own way back where it codes more dimensions than it was asked for, or None.

    A decoder that is learnt from all of them would be compared with decoders of fewer dimensions. What such a method
    promises is the loss of its own map, so variance and errors are of that map too. None: the decoder is learnt.
    """
    if code_dimensions(Z, n_components) <= n_components:
        return None
    return getattr(fitted.model, "inverse_transform", None)


class Decoder:
    """The best linear reconstruction from a representation, by least squares on training rows (100 000 at most)."""

    def __init__(self, Z: np.ndarray, X: np.ndarray) -> None:
        every = slice(None, None, 1 + (len(Z) - 1) // _DECODER_ROWS)
        Z, X = Z[every], X[every]
        self.z, self.x = Z.mean(axis=0), X.mean(axis=0)
        self.B = np.linalg.lstsq(Z - self.z, X - self.x, rcond=1e-10)[0]

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        """Reconstruct rows."""
        return self.x + (Z - self.z) @ self.B


# --------------------------------------------------------------------------------------------------------------------
# What is kept, and what each group loses


def _over_groups(name: str, values: np.ndarray, labels: tuple) -> dict[str, float]:
    table = {f"{name}:{label}": float(value) for label, value in zip(labels, values, strict=True)}
    return table | {f"worst_{name}": float(values.max()), f"{name}_gap": float(np.ptp(values))}


def row_errors(
    split: Split, Z_train: np.ndarray, Z_test: np.ndarray, own: Callable[[np.ndarray], np.ndarray] | None = None
) -> np.ndarray:
    """Return the squared error of each held-out row, decoded by least squares on the training rows.

    The decoder is learnt from the training rows of all groups, whatever the method's own inverse is: it is what the
    representation tells linearly about the row. The exception is `own`, of a method that codes more dimensions than
    it was asked for.
    """
    decoder = own or Decoder(Z_train, split.train.X)
    return np.asarray(np.sum((split.test.X - decoder(Z_test)) ** 2, axis=1))


def reconstruction(split: Split, squares: np.ndarray) -> dict[str, float]:
    """Return the variance that is kept, and the groups' errors.

    Errors are shares (%) of the training rows' total variance, and differences of means that a method removes count
    as error.
    """
    test = split.test
    total = np.sum((test.X - split.train.X.mean(axis=0)) ** 2)
    errors = 100.0 * (test.indicators.T @ squares) / test.groups.counts / split.total
    kept = {"variance": float(100.0 * (1.0 - squares.sum() / total))}
    return kept | _over_groups("error", errors, test.groups.labels)


def losses(split: Split, P: np.ndarray | None) -> dict[str, float]:
    """Return the groups' losses: Definition 4.3 of Samadi et al. (2018) over the group size, on held-out rows.

    Rows are centred by their group's mean over the training rows; the group's own best subspace is learnt from its
    training rows too, so that a loss on held-out rows may be a little below zero.
    """
    if P is None:
        return {}
    left = np.eye(len(P)) - P
    errors = np.einsum("gij,ij->g", split.test_moments, left.T @ left)
    return _over_groups("loss", 100.0 * (errors - split.own_errors) / split.total, split.test.groups.labels)


def optimality_gaps(split: Split, code: tuple[np.ndarray, np.ndarray] | None) -> dict[str, float]:
    """Return how far a method is from the optimum of each certified objective, in points of the total variance.

    Also what share of the difference of the groups' training means is left in its subspace (``mean_gap``, the largest
    over pairs of groups with the first one).
    """
    if code is None:
        return {}
    P, V = code
    found = {f"gap:{name}": 100.0 * (value(P) - bound) / split.total for name, (value, bound) in split.criteria.items()}
    differences = split.train.moments.means[1:] - split.train.moments.means[0]
    lengths = np.linalg.norm(differences, axis=1)
    if np.all(lengths > 0):
        found["mean_gap"] = 100.0 * float(np.max(np.linalg.norm(differences @ V, axis=1) / lengths))
    return found


# --------------------------------------------------------------------------------------------------------------------
# What a representation still tells about the group


_WIDTHS = (0.5, 1.0, 2.0)  # of the kernel probe, in medians of the distance
_RIDGE = 1e-3  # of the kernel probe, times the number of rows


def scaled(Z: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and deviation 1, by the rows `like`; constant ones become 0."""
    deviation = like.std(axis=0)
    varies = deviation > 1e-10 * max(float(deviation.max(initial=0.0)), 1e-300)
    return np.where(varies, (Z - like.mean(axis=0)) / np.where(varies, deviation, 1.0), 0.0)


def area_under_curve(scores: np.ndarray, positive: np.ndarray) -> float:
    """Return P(score of a positive > score of another) + half the ties (Mann and Whitney), NaN for one class."""
    if positive.all() or not positive.any():
        return float("nan")
    return float(placements(scores[positive], scores[~positive]).mean())


def mmd(split: Split, Z: np.ndarray) -> dict[str, float]:
    """Return MMD² between the groups (largest pair) with its distribution under permuted groups.

    The biased estimate with a Gaussian kernel whose width is the representation's own median distance (over all
    groups), so that shrinking a representation is no way to a small MMD². One kernel matrix, of at most
    ``Settings.kernel_rows`` rows, serves all permutations.
    """
    rows = split.kernel_rows
    K = _kernel(Z[rows])
    values = _largest_mmd(K, split.test.indicators[rows][:, None, :])[0]
    found = {"mmd2": float(values)}
    if len(split.permutations):
        members = split.test.indicators[rows][split.permutations.T]  # rows × permutations × groups
        null = _largest_mmd(K, members)
        found["mmd2_chance"] = float(np.quantile(null, 0.95))
        found["mmd2_p"] = float((1 + np.sum(null >= values - 1e-12)) / (1 + len(null)))
    return found


def _kernel(Z: np.ndarray) -> np.ndarray:
    squares = cdist(Z, Z, "sqeuclidean")
    median = float(np.median(squares[np.triu_indices(len(Z), 1)]))
    return np.exp(squares / (-2.0 * median if median > 0 else -1.0))


def _largest_mmd(K: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return, for each labelling (rows × labellings × groups), the largest MMD² of two groups."""
    n, labellings, groups = members.shape
    weights = members / np.maximum(members.sum(axis=0), 1.0)
    products = (K @ weights.reshape(n, -1)).reshape(n, labellings, groups)
    inner = np.einsum("nlg,nlh->lgh", weights, products, optimize=True)
    own = np.einsum("lgg->lg", inner)
    distances = own[:, :, None] + own[:, None, :] - 2.0 * inner
    return np.maximum(distances.reshape(labellings, -1).max(axis=1), 0.0)


@dataclass(frozen=True)
class Recovery:
    """How well the group of held-out rows can be guessed: scores of classifiers that learnt from other held-out rows.

    Both classifiers learn from a part of the held-out rows and score the rest, so that what a method has balanced on
    its training rows is not taken for what it balances. With more than two groups each is compared with all others.
    The kernel classifier is ridge regression on a Gaussian kernel; of three widths the one with the largest AUC is
    kept, which leans to the side of finding the group.

    Attributes
    ----------
    targets : ndarray of shape (n, n_targets)
        Whether a row is in the group that is looked for; one column for two groups.
    folds : ndarray of shape (n,)
        Part of the cross-fitting.
    linear, kernel : ndarray of shape (n, n_targets)
        Scores.
    """

    targets: np.ndarray
    folds: np.ndarray
    linear: np.ndarray
    kernel: np.ndarray

    def areas(self) -> dict[str, float]:
        """Return the AUC of both classifiers, the mean over the groups that are looked for."""
        return {
            "linear_auc": _mean_area(self.linear, self.targets),
            "kernel_auc": _mean_area(self.kernel, self.targets),
        }


def _mean_area(scores: np.ndarray, targets: np.ndarray) -> float:
    return float(np.mean([area_under_curve(s, t) for s, t in zip(scores.T, targets.T, strict=True)]))


def recovery(split: Split, Z: np.ndarray) -> Recovery:
    """Guess the group of held-out rows from their representation."""
    rows = split.kernel_rows
    Z, codes = scaled(Z[rows], Z[rows]), split.test.groups.codes[rows]
    wanted = [g for g in range(len(split.test.groups.labels)) if np.sum(codes == g) >= 2]
    wanted = wanted[1:] if len(wanted) == 2 else wanted
    targets = np.column_stack([codes == g for g in wanted])
    kernel = max(_kernel_scores(Z, targets, split.folds), key=lambda scores: _mean_area(scores, targets))
    return Recovery(targets, split.folds, _linear_scores(Z, targets, split.folds), kernel)


def _linear_scores(Z: np.ndarray, targets: np.ndarray, folds: np.ndarray) -> np.ndarray:
    scores = np.zeros(targets.shape)
    for fold in range(folds.max() + 1):
        held = folds == fold
        for j in range(targets.shape[1]):
            known = targets[~held, j]
            if known.all() or not known.any():
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                probe = LogisticRegression(C=1.0, class_weight="balanced", max_iter=200).fit(Z[~held], known)
            scores[held, j] = probe.decision_function(Z[held])
    return scores


def _kernel_scores(Z: np.ndarray, targets: np.ndarray, folds: np.ndarray) -> list[np.ndarray]:
    """Return scores for each width of the kernel."""
    squares = cdist(Z, Z, "sqeuclidean")
    median = float(np.median(squares[np.triu_indices(len(Z), 1)]))
    found = []
    for width in _WIDTHS:
        K = np.exp(squares / (-2.0 * width**2 * (median if median > 0 else 1.0)))
        scores = np.zeros(targets.shape)
        for fold in range(folds.max() + 1):
            held = folds == fold
            learnt = targets[~held].astype(np.float64)
            system = K[np.ix_(~held, ~held)] + _RIDGE * len(learnt) * np.eye(len(learnt))
            coefficients = solve(system, learnt - learnt.mean(axis=0), assume_a="pos", check_finite=False)
            scores[held] = K[np.ix_(held, ~held)] @ coefficients
        found.append(scores)
    return found


# --------------------------------------------------------------------------------------------------------------------
# What classifiers on a representation do to groups


_ENOUGH = 5  # positives that a group must have for a true-positive rate


def probabilities(split: Split, Z_train: np.ndarray, Z_test: np.ndarray) -> dict[str, np.ndarray]:
    """Return the probability that each held-out row is positive, by two classifiers; empty without such a label.

    Both learn from the training rows' representations: logistic regression on standardised coordinates, and boosted
    trees.
    """
    if split.positive is None:
        return {}
    y_train, _ = split.positive
    Z_test, Z_train = scaled(Z_test, Z_train), scaled(Z_train, Z_train)
    learnt = split.classifier_rows
    classifiers: dict[str, Any] = {"logistic": LogisticRegression(max_iter=300)}
    if split.settings.tree_rounds:
        classifiers["trees"] = HistGradientBoostingClassifier(
            max_iter=split.settings.tree_rounds, max_leaf_nodes=8, min_samples_leaf=10, early_stopping=False
        )
    found = {}
    for name, classifier in classifiers.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            classifier.fit(Z_train[learnt], y_train[learnt])
        found[name] = np.asarray(classifier.predict_proba(Z_test)[:, 1])
    return found


def decisions(split: Split, scores: dict[str, np.ndarray]) -> dict[str, float]:
    """Return accuracy and AUC, and the groups' differences in selection and true-positive rates at one half."""
    found: dict[str, float] = {}
    for name, values in scores.items():
        found |= {f"{key}:{name}": value for key, value in _scores(split, values).items()}
    return found


def _scores(split: Split, scores: np.ndarray) -> dict[str, float]:
    assert split.positive is not None
    y = split.positive[1]
    chosen, members = scores >= 0.5, split.test.indicators > 0
    selection = [chosen[rows].mean() for rows in members.T if rows.any()]
    hits = [chosen[rows & y].mean() for rows in members.T if np.sum(rows & y) >= _ENOUGH]
    found = {
        "accuracy": 100.0 * float(np.mean(chosen == y)),
        "auc": area_under_curve(scores, y),
        "selection_gap": float(np.ptp(selection)),
    }
    return found | ({"tpr_gap": float(np.ptp(hits))} if len(hits) > 1 else {})


# --------------------------------------------------------------------------------------------------------------------
# All of it


@dataclass(frozen=True)
class Measured:
    """What was measured about a fitted method: numbers, and what intervals need of each held-out row.

    Attributes
    ----------
    numbers : dict of str to float
        As :func:`evaluate` returns them.
    errors : ndarray of shape (n_test,)
        Squared error of each row, in % of the training rows' variance.
    recovery : Recovery
        Of the kernel rows.
    probabilities : dict of str to ndarray of shape (n_test,)
        That a row is positive, by classifier; empty without a label of two classes.
    components : int
        That the method has, which may be more than it was asked for.
    """

    numbers: dict[str, float]
    errors: np.ndarray
    recovery: Recovery
    probabilities: dict[str, np.ndarray]
    components: int


def measure(fitted: Fitted, split: Split) -> Measured:
    """Measure a fitted method; rows are transformed once."""
    Z_train = fitted.encode(split.train.X, split.train.groups)
    Z_test = fitted.encode(split.test.X, split.test.groups)
    code = linear_code(fitted, split.train, split.n_components)
    squares = row_errors(split, Z_train, Z_test, own_decoder(fitted, Z_train, split.n_components))
    guessed, scores = recovery(split, Z_test), probabilities(split, Z_train, Z_test)
    values = {
        **reconstruction(split, squares),
        **losses(split, None if code is None else code[0]),
        **mmd(split, Z_test),
        **guessed.areas(),
        **decisions(split, scores),
        **optimality_gaps(split, code),
        "seconds": fitted.seconds,
    }
    components = code_dimensions(Z_train, split.n_components)
    return Measured(values, 100.0 * squares / split.total, guessed, scores, components)


def evaluate(fitted: Fitted, split: Split) -> dict[str, float]:
    """Measure a fitted method; :data:`MEASURES` describes the names of the result.

    Parameters
    ----------
    fitted : Fitted
        Fitted on ``split.train``.
    split : Split
        Training rows and held-out rows.

    Returns
    -------
    dict of str to float
        What does not apply is left out: decisions without a label, losses and gaps where the method is not a linear
        map or changes with the group of the row. A measure of one group has its label behind a colon.
    """
    return measure(fitted, split).numbers

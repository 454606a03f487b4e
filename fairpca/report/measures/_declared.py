"""Names, units and directions of all measures: one list for tables, pictures and pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["MEASURES", "Measure", "Settings", "declared"]


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
        Measure("accuracy:logistic", "accuracy", "high", "%", "of a logistic classifier of the label, held out"),
        Measure("auc:logistic", "AUC", "high", "", "of a logistic classifier of the label, held out"),
        Measure("selection_gap:logistic", "selection gap", "low", "", "largest difference of shares of positives"),
        Measure("tpr_gap:logistic", "TPR gap", "low", "", "largest difference of true-positive rates"),
        Measure("accuracy:trees", "accuracy, trees", "high", "%", "of boosted trees, held out"),
        Measure("auc:trees", "AUC, trees", "high", "", "of boosted trees, held out"),
        Measure("selection_gap:trees", "selection gap, trees", "low", "", "largest difference of shares of positives"),
        Measure("tpr_gap:trees", "TPR gap, trees", "low", "", "largest difference of true-positive rates"),
        Measure("gap:variance", "variance", "low", "%", f"of PCA's objective: {_CRITERION}"),
        Measure("gap:loss", "worst loss", "low", "%", f"of the largest loss: {_CRITERION}"),
        Measure("gap:error", "worst error", "low", "%", f"of the largest error: {_CRITERION}"),
        Measure("gap:least_variance", "least variance", "low", "%", f"of the least variance kept: {_CRITERION}"),
        Measure("gap:nash", "Nash welfare", "low", "%", f"of the geometric mean of variances kept: {_CRITERION}"),
        Measure("gap:rfpca", "robust, balanced", "low", "%", f"of Vu et al.'s objective: {_CRITERION}"),
        Measure("mean_gap", "means left", "low", "%", "share of the training means' difference left in the subspace"),
        Measure("seconds", "seconds", "low", "s", "processor time of the fit"),
    )
}


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
    """

    kernel_rows: int = 800
    permutations: int = 200
    folds: int = 4
    tree_rounds: int = 40


def declared(name: str) -> Measure:
    """Return what is known of a key of a result, also of one with a group behind a colon."""
    return MEASURES[name] if name in MEASURES else MEASURES[name.partition(":")[0]]

"""What a method's balance is on its training rows and on new ones, computed again by hand."""

import numpy as np
import pytest

from fairpca.experiments import get
from fairpca.experiments.unseen_rows import lasting
from fairpca.experiments.unseen_rows.population import population, prepared, sample

WHERE = {"dataset": "wine_quality", "setting": "n=30", "split": 0}


def test_gaps_are_those_of_the_training_rows_and_of_rows_that_were_not_drawn():
    found = get("unseen_rows/lasting").functions["pca"](**WHERE, method="pca")
    assert set(found) == {f"{name}_{rows}" for name in lasting._WANTED for rows in ("training", "new")}
    X, groups = population("wine_quality")
    rng = np.random.default_rng([0, 30, len(X)])
    rows = sample(groups, (30, 90), rng)
    new = rng.permutation([i for i in range(len(X)) if i not in set(rows)])[:1000]
    train, other = prepared(X[rows], X[new])
    V = np.linalg.svd(train, full_matrices=False)[2][:2].T
    for name, Y, index in (("training", train, rows), ("new", other, new)):
        squares = np.sum((Y - Y @ V @ V.T) ** 2, axis=1)
        one, two = (squares[groups.codes[index] == g].mean() for g in (0, 1))
        assert found[f"error_gap_{name}"] == pytest.approx(100 * abs(one - two) / train.var(axis=0).sum(), rel=1e-4)


def test_what_does_not_apply_to_a_method_is_left_out():
    """Rows that are moved by their group are no linear map of the data, which has losses."""
    found = get("unseen_rows/lasting").functions["group_standardised"](**WHERE, method="group_standardised")
    kept = ("error_gap", "mmd2", "linear_auc")
    assert set(found) == {f"{name}_{rows}" for name in kept for rows in ("training", "new")}

"""The study: its tables, its cells, and that a method's cells are its own."""

import numpy as np
import pytest

from fairpca.experiments import get
from fairpca.experiments.comparison.methods import SPLITS
from fairpca.experiments.comparison.tables import DIMENSIONS, LARGEST, TABLES, dimensions, split_rows, whole
from fairpca.experiments.engine.codehash import code_hash
from fairpca.report import known_methods


@pytest.mark.parametrize("name", TABLES)
def test_tables_and_splits(name):
    X, groups, y = whole(name)
    train, test = split_rows(name, 3)
    n = len(train) + len(test)
    assert n == min(len(X), LARGEST) and len(test) == pytest.approx(n / 3, abs=2)
    assert y is None or len(np.unique(y)) == 2
    shares = [np.mean(groups == label) for label in train.groups.labels]
    for part in (train, test):
        assert part.groups.labels == test.groups.labels
        np.testing.assert_allclose(part.groups.counts / len(part), shares, atol=0.06)
    np.testing.assert_allclose(train.X.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(train.X.std(axis=0), 1)
    rank = np.linalg.matrix_rank(train.X, tol=1e-8 * np.linalg.norm(train.X, 2))
    assert dimensions(name) == [d for d in DIMENSIONS if d < rank]
    assert not np.array_equal(split_rows(name, 4)[0].X[:5], train.X[:5])


def test_the_study_is_as_large_as_it_says():
    grid = get("comparison/methods").grid("paper")
    assert len({cell["dataset"] for cell in grid}) == 12
    assert {cell["method"] for cell in grid} == set(known_methods()) and len(known_methods()) >= 14
    assert {cell["d"] for cell in grid} == {2, 5, 10} and {cell["split"] for cell in grid} == set(range(SPLITS))


def test_a_cell_gives_numbers_or_a_reason():
    run = get("comparison/methods").functions
    found = run["pca"](dataset="wine_quality", split=0, d=2, method="pca")
    assert found == run["pca"](dataset="wine_quality", split=0, d=2, method="pca") | {"seconds": found["seconds"]}
    assert found["gap:variance"] == pytest.approx(0, abs=1e-9) and 0.9 < found["linear_auc"] <= 1
    assert "4" in run["fpca_mean"](dataset="diabetes", split=0, d=2, method="fpca_mean")["skipped"]


def test_methods_have_hashes_of_their_own():
    functions = get("comparison/methods").functions
    assert code_hash(functions["pca"]) != code_hash(functions["leace"])

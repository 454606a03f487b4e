"""A user's program with all its types, as mypy --strict wants them; a test checks and runs it."""

from pathlib import Path

import numpy as np
import pandas as pd

from fairpca import PCA, MeanFairPCA, MinMaxFairPCA
from fairpca.report import Comparison, Interval, Settings, compare, mean_interval
from fairpca.tables import Prepared, Rules, SavedModel, Table, load_model, prepare, read_table


def projected(table: pd.DataFrame, groups: pd.Series) -> np.ndarray:
    """Project with three methods, side by side."""
    models: list[PCA | MeanFairPCA | MinMaxFairPCA] = [
        PCA(n_components=1),
        MeanFairPCA(n_components=1),
        MinMaxFairPCA(n_components=1),
    ]
    parts: list[np.ndarray] = [np.asarray(m.fit(table, sensitive_features=groups).transform(table)) for m in models]
    return np.hstack(parts)


def read(path: Path) -> Prepared:
    """Read a table and decide about its columns."""
    table: Table = read_table(path)
    return prepare(table, ["sex"], rules=Rules(drop=("word",)))


def compared(prepared: Prepared) -> tuple[pd.DataFrame, Interval]:
    """Compare, and give an interval by hand."""
    settings = Settings(kernel_rows=50, permutations=5, folds=2, tree_rounds=0)
    found: Comparison = compare(
        prepared.frame,
        prepared.labels.to_numpy(),
        methods=["pca"],
        preparation=prepared.transformer(),
        n_parts=2,
        settings=settings,
    )
    interval: Interval = mean_interval(np.arange(20.0), np.arange(20) % 2)
    return found.table(), interval


def restored(path: Path) -> SavedModel:
    """Read a model from its file."""
    return load_model(path)

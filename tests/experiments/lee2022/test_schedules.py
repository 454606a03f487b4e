"""Schedules of the penalty and numbers of starts: what is asked for, and which rounds end a start."""

from types import SimpleNamespace

import numpy as np

from fairpca.experiments.engine.runner import load_results
from fairpca.experiments.lee2022 import schedules


def test_twelve_starts_are_twelve(monkeypatch):
    asked = []
    history = {
        "rho": np.array([1.0, np.nan, 2.0, 4.0, np.nan]),
        "variance": np.array([0.9, 0.8, 0.9, 0.85, 0.7]),
        "mmd2": np.array([1e-2, 1e-3, 1e-2, 5e-3, 2e-3]),
        "evaluations": np.array([3, 5, 8, 9, 12]),
    }

    def fit(*case, **options):
        asked.append(options)
        return SimpleNamespace(result_=SimpleNamespace(history=history))

    monkeypatch.setattr(schedules, "_fit", fit)
    key = {"dataset": "german", "d": 2, "split": 0, "method": schedules.TWELVE}
    first, second = schedules.run_starts(tau=1e-3, **key)
    assert asked == [{"n_starts": 12}]
    assert [first[name] for name in ("starts", "train_mmd2", "feasible", "evaluations")] == [1, 1e-3, 1.0, 5]
    assert [second[name] for name in ("starts", "train_mmd2", "feasible", "evaluations")] == [2, 2e-3, 0.0, 12]
    cells = load_results("lee2022/schedules").cells
    for _, rows in cells[cells["method"] == schedules.TWELVE].groupby("cell"):
        assert rows["starts"].tolist() == list(range(1, 13))

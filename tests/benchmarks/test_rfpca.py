"""The RFPCA benchmark runs and compares methods that solve the same problem; nothing is timed here."""

import bench_rfpca as rfpca
import numpy as np
import pytest

from fairpca.datasets import DataError, load, where


def load_without_network(name):
    if where(name) == "missing":
        raise DataError(f"{name} is not on this machine")
    return load(name)


@pytest.mark.mirror
def test_quick_run_compares_like_with_like(monkeypatch):
    monkeypatch.setattr(rfpca, "_best_of", lambda call, repeats: (call(), 1.0)[1])
    monkeypatch.setattr(rfpca, "load", load_without_network)
    table = rfpca.run(quick=True)
    here = {name for name in ("default_credit", "biodeg", "german_credit") if where(name) != "missing"}
    assert set(table["data"]) == here and len(here) >= 2  # two are bundled
    assert table["relative_gap"].max() <= 1e-9
    assert table["v_form_excess"].min() >= -1e-9  # Algorithm 1 is never below the exact optimum
    assert table["eigs"].max() <= 20
    np.testing.assert_allclose(table["slow/v_form"], 21 * 1000 / table["slow_steps"])

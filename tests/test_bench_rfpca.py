"""The RFPCA benchmark runs and compares methods that solve the same problem; nothing is timed here."""

import numpy as np

from fairpca.bench import rfpca


def test_quick_run_compares_like_with_like(monkeypatch):
    monkeypatch.setattr(rfpca, "_best_of", lambda call, repeats: (call(), 1.0)[1])
    table = rfpca.run(quick=True)
    assert set(table["data"]) == {"default_credit", "biodeg", "german_credit"}
    assert table["relative_gap"].max() <= 1e-9
    assert table["v_form_excess"].min() >= -1e-9  # Algorithm 1 is never below the exact optimum
    assert table["eigs"].max() <= 20
    np.testing.assert_allclose(table["slow/v_form"], 21 * 1000 / table["slow_steps"])

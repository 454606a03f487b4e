"""The moments benchmark runs and reports what it measured."""

import bench_moments as moments
import numpy as np

from fairpca import GroupMoments


def test_quick_run_reports_ratios(capsys, monkeypatch):
    real = np.random.default_rng(0).standard_normal
    monkeypatch.setattr(moments, "_REPEATS", {True: 1, False: 1})
    monkeypatch.setattr(moments, "_ROWS", {True: 2000, False: 2000})
    table = moments.run(quick=True)
    assert list(table["rows"]) == [2000] * 4 and (table["products_seconds"] > 0).all()
    np.testing.assert_allclose(table["ratio"], table["moments_seconds"] / table["products_seconds"])
    assert capsys.readouterr().out.count("ratio") == 4
    X, groups = real((30, 3)), np.arange(30) % 2
    for product, uncentred in zip(
        moments._bare_products(X, groups, 2), GroupMoments.from_data(X, groups).second_moments("none"), strict=True
    ):
        np.testing.assert_allclose(product / 15, uncentred)

"""The tables on which the methods meet, their samples, and the intervals that ours are compared with."""

import numpy as np
import pandas as pd
import pytest
from pages import functions
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairpca._validation import encode_groups
from fairpca.companion.beyond import (
    FAMILY,
    differences,
    paired_differences,
    population,
    prices,
    split_rows,
    table_rows,
)
from fairpca.datasets import load
from fairpca.report import known_methods
from fairpca.tables import Winsorizer

COMPARED, UNSEEN = functions("beyond/all_methods"), functions("beyond/unseen_rows")
TAKEN = functions("beyond/what_to_take")
# Critical values for 2 to 10 methods at 5 %, as printed in Table 5(a) of Demšar (2006).
NEMENYI = (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)


def test_every_method_has_a_family():
    assert list(FAMILY) == list(dict.fromkeys(FAMILY)) and set(FAMILY) == set(known_methods())


@pytest.mark.parametrize("name", COMPARED["TABLES"])
def test_tables_and_splits(name):
    X, groups, y = table_rows(name)
    train, test = split_rows(name, 3)
    n = len(train) + len(test)
    assert n == min(len(X), 1500) and len(test) == pytest.approx(n / 3, abs=2)
    assert y is None or len(np.unique(y)) == 2
    shares = [np.mean(groups == label) for label in train.groups.labels]
    for part in (train, test):
        assert part.groups.labels == test.groups.labels
        np.testing.assert_allclose(part.groups.counts / len(part), shares, atol=0.06)
    np.testing.assert_allclose(train.X.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(train.X.std(axis=0), 1)
    rank = np.linalg.matrix_rank(train.X, tol=1e-8 * np.linalg.norm(train.X, 2))
    assert (name in COMPARED["SMALL"]) == (rank <= 10)
    assert not np.array_equal(split_rows(name, 4)[0].X[:5], train.X[:5])


@pytest.fixture
def cells():
    """`good` keeps as much as PCA and reveals less, `bad` keeps less and reveals more, `lucky` is PCA and noise."""
    rng = np.random.default_rng(0)
    rows = []
    for dataset in ("s", "t"):
        for split in range(6):
            base = {"variance": rng.normal(70, 3), "kernel_auc": rng.normal(0.8, 0.01)}
            for method, (kept, told) in {"pca": (0, 0), "good": (0, -0.1), "bad": (-9, 0.1), "lucky": (0, 0)}.items():
                noise = rng.normal(0, 0.01, 2) if method == "lucky" else (0, 0)
                values = {
                    "variance": base["variance"] + kept + noise[0],
                    "kernel_auc": base["kernel_auc"] + told + noise[1],
                }
                rows.append({"dataset": dataset, "split": split, "d": 2, "method": method, **values})
    return pd.DataFrame(rows)


def test_prices(cells):
    found = prices(cells, ["variance", "kernel_auc"])
    assert found["difference"].loc["bad"].to_dict() == pytest.approx({"kernel_auc": 0.1, "variance": -9})
    assert (found["settings"] == 2).all()
    assert found.loc["good", "better"].to_dict() == {"kernel_auc": 2, "variance": 0}
    assert found.loc["bad", "worse"].to_dict() == {"kernel_auc": 2, "variance": 2}
    assert not found.loc["good", "worse"].any() and not found.loc["bad", "better"].any()
    assert not found.loc["lucky", ["better", "worse"]].to_numpy().any()
    assert len(differences(cells, ["variance"])) == 3 * 2


@pytest.mark.parametrize("scale", ["standardise", "min-max", "none"])
def test_new_rows_are_prepared_as_the_training_rows_say(scale):
    rng = np.random.default_rng(1)
    train, new = rng.normal(5, 2, (200, 3)), rng.normal(5, 2, (50, 3))
    train[:, 2] = 7.0
    known, other = UNSEEN["prepared"](train, new, scale=scale)
    np.testing.assert_allclose(known.mean(axis=0), 0, atol=1e-12)
    spread = {"standardise": known.std(axis=0), "min-max": np.ptp(known, axis=0), "none": train.std(axis=0)}[scale]
    np.testing.assert_allclose(spread[:2], train.std(axis=0)[:2] if scale == "none" else 1.0)
    np.testing.assert_allclose(known[:, 2], 0)
    slope = (known[0, 0] - known[1, 0]) / (train[0, 0] - train[1, 0])
    inside = (new[:, 0] > train[:, 0].min()) & (new[:, 0] < train[:, 0].max())
    np.testing.assert_allclose(other[inside, 0], known[0, 0] + slope * (new[inside, 0] - train[0, 0]))


@pytest.mark.parametrize("name", UNSEEN["TABLES"])
def test_populations(name):
    """Two groups, every column that varies, however little, and rows prepared as the commands do it."""
    X, group = population(name, 300)
    assert X.shape[0] == 300 and set(group) == {0, 1} and np.ptp(X, axis=0).min() > 0
    table = load(name)
    whole, codes = population(name, len(table.X))
    columns = np.asarray(table.X, dtype=float)[:, np.asarray(table.X, dtype=float).std(axis=0) > 0]
    np.testing.assert_array_equal(np.sort(whole, axis=0), np.sort(columns, axis=0))
    assert sorted(np.bincount(codes)) == sorted(encode_groups(np.asarray(table.sensitive_features)).counts)
    train, new = whole[:1000:2], whole[1:1000:2].copy()
    new[0] *= 1e3
    steps = make_pipeline(Winsorizer(), StandardScaler())
    expected = steps.fit_transform(train), steps.transform(new)
    for ours, theirs in zip(UNSEEN["prepared"](train, new), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def test_the_discriminant_is_that_of_scikit_learn():
    rng = np.random.default_rng(5)
    group = np.repeat([0, 1], 60)
    Z = rng.normal(size=(120, 2)) + 0.7 * group[:, None]
    theirs = LinearDiscriminantAnalysis(priors=[0.5, 0.5]).fit(Z, group).decision_function(Z)
    assert np.corrcoef(UNSEEN["discriminant"](Z, group, Z), theirs)[0, 1] == pytest.approx(1, abs=1e-5)
    assert np.all(UNSEEN["discriminant"](np.zeros((120, 2)), group, Z) == 0), "constant columns say nothing"


def test_usual_intervals_are_what_their_names_say():
    values = np.random.default_rng(2).gamma(0.5, size=40)
    found = UNSEEN["rivals"](values, np.random.default_rng(3))
    assert tuple(found) == UNSEEN["RIVALS"]
    n, mean, error = 40, values.mean(), values.std(ddof=1) / np.sqrt(40)
    np.testing.assert_allclose(found["student"], stats.t.interval(0.95, n - 1, mean, error))
    # The others by a slow loop with many resamples.
    rng, means, ratios = np.random.default_rng(4), [], []
    for _ in range(20_000):
        again = rng.choice(values, n)
        means.append(again.mean())
        ratios.append((again.mean() - mean) / (again.std(ddof=1) / np.sqrt(n)))
    low, high = np.quantile(ratios, (0.025, 0.975))
    allowed = 0.25 * error  # of 999 resamples
    np.testing.assert_allclose(found["percentile"], np.quantile(means, (0.025, 0.975)), atol=allowed)
    np.testing.assert_allclose(found["bootstrap-t"], (mean - high * error, mean - low * error), atol=3 * allowed)
    assert found["bca"][1] > found["percentile"][1], "skewed to the right"


def test_truth_and_estimates_of_a_sample():
    """The truth is the parts' mean error on all rows, weighted by the group's rows in each part."""
    X, group = population("wine_quality", 1000)
    rng = np.random.default_rng(0)
    rows = UNSEEN["sample"](group, (20, 80), rng)
    codes, parts, errors, scores, truth, area = UNSEEN["cross_fit"](X, group, rows, "pca", "none", rng)
    np.testing.assert_array_equal(codes, group[rows])
    assert {(g, part): np.sum(parts[codes == g] == part) for g in (0, 1) for part in range(5)} == {
        (g, part): np.sum(codes == g) // 5 for g in (0, 1) for part in range(5)
    }
    expected = []
    for part in range(5):
        train, every = UNSEEN["prepared"](X[rows[parts != part]], X, scale="none")
        V = np.linalg.svd(train, full_matrices=False)[2][:2].T
        squares = 100 * np.sum((every - every @ V @ V.T) ** 2, axis=1) / train.var(axis=0).sum()
        np.testing.assert_allclose(errors[parts == part], squares[rows[parts == part]], rtol=1e-6)
        expected.append([squares[group == g].mean() for g in (0, 1)])
    np.testing.assert_allclose(truth, np.mean(expected, axis=0), rtol=1e-6)
    assert 0.5 < area <= 1 and len(scores) == 100
    found, values = UNSEEN["intervals"](codes, parts, errors, scores, truth, area)
    assert {name: len(part) for name, part in values.items()} == {"small": 20, "large": 80}
    for name, part in values.items():
        assert found[name][0].estimate == pytest.approx(part.mean())
    assert found["difference"][1] == found["small"][1] - found["large"][1]
    assert found["gap"][1] == abs(found["difference"][1])


def test_gaps_are_those_of_the_training_rows_and_of_rows_that_were_not_drawn():
    where = {"dataset": "wine_quality", "setting": "n=30", "split": 0}
    found = UNSEEN["balance"](**where, method="pca")
    X, group = population("wine_quality")
    rng = np.random.default_rng([0, 30, len(X)])
    rows = UNSEEN["sample"](group, (30, 90), rng)
    new = rng.permutation([i for i in range(len(X)) if i not in set(rows)])[:1000]
    train, other = UNSEEN["prepared"](X[rows], X[new])
    V = np.linalg.svd(train, full_matrices=False)[2][:2].T
    for name, Y, index in (("training", train, rows), ("new", other, new)):
        squares = np.sum((Y - Y @ V @ V.T) ** 2, axis=1)
        one, two = (squares[group[index] == g].mean() for g in (0, 1))
        assert found[f"error_gap_{name}"] == pytest.approx(100 * abs(one - two) / train.var(axis=0).sum(), rel=1e-4)
    # Rows that are moved by their group are not a linear map of the data, which has losses.
    found = UNSEEN["balance"](**where, method="group_standardised")
    assert set(found) == {f"{m}_{rows}" for m in ("error_gap", "mmd2", "linear_auc") for rows in ("training", "new")}


# --- intervals over splits, ranks over tables, dominance


def table_of(values):
    """values: data sets × splits × methods."""
    index = [(f"t{i}", s, 2, "abcdefghijkl"[m]) for i, s, m in np.ndindex(values.shape)]
    return pd.DataFrame(index, columns=["dataset", "split", "d", "method"]).assign(x=values.ravel())


def half_width(difference):
    n = len(difference)
    return stats.t.ppf(0.975, n - 1) * np.sqrt((1 / n + 1 / 2) * difference.var(ddof=1))


def test_paired_differences_by_a_loop():
    values = np.random.default_rng(0).standard_normal((2, 7, 3)) + [0, 1, 5]
    frame = table_of(values)
    found = paired_differences(frame[~((frame["split"] == 3) & (frame["method"] == "c"))], "x", against="b")
    assert list(found["dataset"] + found["method"]) == ["t0a", "t0c", "t1a", "t1c"]
    for _, row in found.iterrows():
        table, method = int(row["dataset"][1]), "abc".index(row["method"])
        difference = values[table, :, method] - values[table, :, 1]
        difference = np.delete(difference, 3) if method == 2 else difference
        ends = difference.mean() + np.array([-1, 1]) * half_width(difference)
        assert [row["difference"], row["n"]] == pytest.approx([difference.mean(), len(difference)])
        assert [row["low"], row["high"]] == pytest.approx(ends)


@pytest.mark.parametrize("k", [3, 7, 10])
def test_ranks_have_the_published_critical_differences(k):
    values = np.arange(k) + 1e-3 * np.random.default_rng(k).standard_normal((12, 2, k))
    frame = table_of(values)
    frame.loc[(frame["dataset"] == "t1") & (frame["method"] == "c"), "x"] = np.nan
    for better, first in (("low", "a"), ("high", "abcdefghijkl"[k - 1])):
        found = TAKEN["ranked"](frame, "x", better)
        needed = NEMENYI[k - 2] * np.sqrt(k * (k + 1) / (6 * 11))
        assert found["critical difference"] == pytest.approx(needed, rel=4e-4)
        assert found["first"] == first and found["tables"] == 11 and found["p (Friedman)"] < 1e-3
        assert found["not distinguishable from it"] == int(needed)  # ranks are 1, 2, 3, …


@pytest.mark.parametrize("seed", range(8))
def test_dominance_by_definition(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 3, (2, 1, 1, 4)) + 0.2 * rng.standard_normal((2, 1, 6, 4))
    found = TAKEN["dominated"](table_of(x).assign(y=y.ravel()), {"x": "low", "y": "high"})
    pairs = set(zip(found["method"], found["by_whom"], strict=True))
    for a, b in np.ndindex(4, 4):
        dx, dy = x[0, :, a] - x[0, :, b], y[0, :, a] - y[0, :, b]
        clearly = a != b and (dx.mean() > half_width(dx) or dy.mean() < -half_width(dy))
        assert (("abcd"[a], "abcd"[b]) in pairs) == (clearly and dx.mean() >= 0 and dy.mean() <= 0)

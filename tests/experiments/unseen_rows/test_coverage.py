"""What stands for new rows, and the intervals that ours are compared with."""

import numpy as np
import pytest
from scipy import stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairpca._validation import encode_groups
from fairpca.datasets import load
from fairpca.experiments import get
from fairpca.experiments.unseen_rows import coverage
from fairpca.experiments.unseen_rows.coverage import RIVALS, run_block
from fairpca.experiments.unseen_rows.population import TABLES, population, prepared, sample
from fairpca.tables import Winsorizer


def test_samples_are_of_the_groups_and_sizes_asked_for():
    groups = encode_groups(np.repeat(["rare", "common"], [30, 70]))
    rows = sample(groups, (5, 20), np.random.default_rng(0))
    assert np.sum(groups.codes[rows] == groups.labels.index("rare")) == 5 and len(rows) == 25
    assert len(np.unique(sample(groups, (400, 400), np.random.default_rng(0)))) == 100, "with replacement, of all rows"


@pytest.mark.parametrize("scale", ["standardise", "min-max", "none"])
def test_new_rows_are_prepared_as_the_training_rows_say(scale):
    rng = np.random.default_rng(1)
    train, new = rng.normal(5, 2, (200, 3)), rng.normal(5, 2, (50, 3))
    train[:, 2] = 7.0
    known, other = prepared(train, new, scale=scale)
    np.testing.assert_allclose(known.mean(axis=0), 0, atol=1e-12)
    spread = {"standardise": known.std(axis=0), "min-max": np.ptp(known, axis=0), "none": train.std(axis=0)}[scale]
    np.testing.assert_allclose(spread[:2], train.std(axis=0)[:2] if scale == "none" else 1.0)
    np.testing.assert_allclose(known[:, 2], 0)
    slope = (known[0, 0] - known[1, 0]) / (train[0, 0] - train[1, 0])
    inside = (new[:, 0] > train[:, 0].min()) & (new[:, 0] < train[:, 0].max())
    np.testing.assert_allclose(other[inside, 0], known[0, 0] + slope * (new[inside, 0] - train[0, 0]))


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_prepared_as_the_commands_prepare_them(name):
    X, _ = population(name)
    train, new = X[::2], X[1::2].copy()
    new[0] *= 1e3
    steps = make_pipeline(Winsorizer(), StandardScaler())
    expected = steps.fit_transform(train), steps.transform(new)
    for ours, theirs in zip(prepared(train, new), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", TABLES)
def test_a_population_has_two_groups_and_no_constant_column(name):
    X, groups = population(name, 300)
    assert X.shape[0] == 300 and len(groups.labels) == 2 and np.ptp(X, axis=0).min() > 0
    np.testing.assert_array_equal(X, population(name, 300)[0])


@pytest.mark.parametrize("name", TABLES)
def test_a_population_has_every_column_that_varies_however_little(name):
    """The small numbers of a table, such as shares and densities, are in it as well."""
    table = np.asarray(load(name).X, dtype=float)
    X, groups = population(name, len(table))
    columns = np.flatnonzero(table.std(axis=0) > 0)
    assert len(X) == len(groups.codes) == len(table)
    np.testing.assert_array_equal(np.sort(X, axis=0), np.sort(table[:, columns], axis=0))


@pytest.mark.parametrize(("name", "size"), [("e_coli", 20), ("skillcraft", 2)])
def test_columns_that_are_constant_in_a_population_are_left_out_of_it(name, size):
    """Few rows, in which some columns do not vary: all the others are there, in their order."""
    X, _ = population(name, size)
    table = load(name).X
    rows = np.random.default_rng(len(table)).permutation(len(table))[:size]
    varying = [column for column in np.asarray(table, dtype=float)[rows].T if len(set(column)) > 1]
    assert 0 < len(varying) < table.shape[1]
    np.testing.assert_array_equal(X, np.transpose(varying))


def test_usual_intervals_are_what_their_names_say():
    values = np.random.default_rng(2).gamma(0.5, size=40)
    found = coverage._usual_intervals(values, np.random.default_rng(3))
    assert tuple(found) == RIVALS
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
    assert mean - found["bootstrap-t"][0] < found["bootstrap-t"][1] - mean


def test_shares_count_the_intervals_that_hold_the_truth(monkeypatch):
    """One block again by hand: the same samples, each interval asked for itself."""
    monkeypatch.setattr(coverage, "BLOCK", 6)
    where = {"dataset": "wine_quality", "method": "pca", "setting": "n=20", "split": 3}
    kept = []
    original = coverage._intervals
    monkeypatch.setattr(coverage, "_intervals", lambda *given: kept.append(original(*given)) or kept[-1])
    block = run_block(**where)
    assert len(kept) == 6
    for name in ("small", "large", "difference", "gap", "recovery"):
        intervals = [found[name] for found, _ in kept]
        held = [i.low <= truth <= i.high for i, truth in intervals]
        below = [i.high < truth for i, truth in intervals]
        assert block[f"coverage_{name}"] == pytest.approx(100 * np.mean(held))
        assert block[f"below_{name}"] == pytest.approx(100 * np.mean(below))
        assert block[f"width_{name}"] == pytest.approx(np.median([i.high - i.low for i, _ in intervals]), rel=1e-4)
    for found, values in kept:
        assert {name: len(v) for name, v in values.items()} == {"small": 20, "large": 80}
        for name, v in values.items():
            assert found[name][0].estimate == pytest.approx(v.mean())
            assert found[name][1] == pytest.approx(v.mean(), rel=0.9), "the truth is of the size of what was measured"
    student = [
        abs(v["small"].mean() - found["small"][1]) <= stats.t.ppf(0.975, 19) * stats.sem(v["small"])
        for found, v in kept
    ]
    assert block["coverage_small:student"] == pytest.approx(100 * np.mean(student))


def test_the_study_has_a_thousand_samples_of_each_table_and_size():
    grid = get("unseen_rows/coverage").grid("paper")
    for size in ("n=20", "n=50", "n=200"):
        for table in TABLES:
            blocks = [c for c in grid if (c["dataset"], c["method"], c["setting"]) == (table, "pca", size)]
            assert len(blocks) * coverage.BLOCK == 1000


def test_area_is_the_share_of_pairs_in_their_order_with_ties_for_half():
    a, b = np.array([1.0, 2.0, 2.0, 5.0, 0.0]), np.array([2.0, 1.0, 3.0])
    pairs = [1.0 if x > y else 0.5 if x == y else 0.0 for x in a for y in b]
    assert coverage._area(a, b) == pytest.approx(np.mean(pairs))
    assert coverage._area(b, a) == pytest.approx(1 - np.mean(pairs))

"""Samples of a stream; MBF-PCA in batches against itself in memory."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from fairpca import MBFPCA, PCA, GroupMoments, metrics, scale
from fairpca._validation import encode_groups
from fairpca.scale.mbf import RowSample, _excess

# --------------------------------------------------------------------------------------------------------------------
# Samples


@settings(max_examples=25)
@given(st.lists(st.integers(1, 200), min_size=1, max_size=6), st.integers(0, 5), st.sampled_from([60, 150]))
def test_samples_of_parts_merge_into_the_sample_of_all(sizes, seed, size):
    n = sum(sizes)
    rng = np.random.default_rng(seed)
    X = np.column_stack((np.arange(n), rng.standard_normal(n)))
    labels = rng.choice(["a", "b", "rare"], n, p=[0.6, 0.37, 0.03])

    def sampled(edges):
        sample = RowSample(size, seed)
        for start, stop in edges:
            sample.add(start, X[start:stop], encode_groups(labels[start:stop]))
        return sample

    ends = np.cumsum(sizes)
    edges = list(zip(ends - sizes, ends, strict=True))
    whole, parts = sampled([(0, n)]), sampled(edges)
    backwards = RowSample(size, seed)
    for edge in edges[::-1]:
        backwards.merge(sampled([edge]))
    for other in (parts, backwards):
        order = [np.argsort(sample.keys) for sample in (whole, other)]
        np.testing.assert_array_equal(whole.rows[order[0]], other.rows[order[1]])
        for sample, at in zip((whole, other), order, strict=True):
            groups = sample.groups()
            assert [groups.labels[code] for code in groups.codes[at]] == list(labels[sample.rows[at, 0].astype(int)])
    counts = {label: int((labels == label).sum()) for label in set(labels)}
    kept = whole.groups()
    for label, count in counts.items():
        assert kept.counts[kept.labels.index(label)] >= min(count, 50)
    assert min(n, size) <= len(whole.keys) <= min(n, size) + 100


def test_samples_are_random_and_uniform():
    X = np.arange(20_000.0)[:, None]
    groups = encode_groups(np.zeros(20_000))
    means = []
    for seed in range(30):
        sample = RowSample(500, seed)
        for start in range(0, 20_000, 6000):
            sample.add(start, X[start : start + 6000], encode_groups(np.zeros(len(X[start : start + 6000]))))
        assert len(sample.keys) == 500 and groups.labels == sample.groups().labels
        means.append(sample.rows.mean())
    # Standard error of a mean of 500 of 20 000 numbers, over 30 seeds.
    assert abs(np.mean(means) - 9999.5) < 4 * 20_000 / np.sqrt(12 * 500 * 30)
    assert 0.5 < np.std(means) / (20_000 / np.sqrt(12 * 500)) < 1.5
    with pytest.raises(ValueError, match="size and seed"):
        RowSample(5).merge(RowSample(6))


# --------------------------------------------------------------------------------------------------------------------
# MBF-PCA


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    n = 1200
    frame = pd.DataFrame(rng.standard_normal((n, 5)) * [3, 2, 1, 1, 1], columns=list("abcde"))
    frame["sex"] = rng.choice(["f", "m"], n, p=[0.4, 0.6])
    frame.loc[frame["sex"] == "m", ["a", "c"]] += [2.0, 0.5]
    return frame


@pytest.fixture
def batches(people):
    return [people.iloc[start : start + 160] for start in range(0, len(people), 160)]


def test_a_sample_guides_and_all_rows_decide(people, batches):
    X, sex = people[list("abcde")], people["sex"]
    lines = []
    model = MBFPCA(2, tau=0.05, n_starts=1, random_state=0)
    model.fit_batches(batches, sensitive="sex", sample_size=700, progress=lines.append)
    extra = model.result_.extra
    assert model.result_.status == "converged" and model.mmd2_ <= 0.05
    Z = model.transform(X)
    np.testing.assert_allclose(model.mmd2_, metrics.mmd_squared(Z, sex, model.bandwidth_), atol=1e-14)
    covariance = GroupMoments.from_data(X, sex).covariance()
    variance = np.trace(model.components_ @ covariance @ model.components_.T)
    np.testing.assert_allclose(model.result_.objective, variance)
    assert abs(extra["mmd2_guide"] - extra["mmd2"]) < extra["guide_bound"]
    assert len(lines) == 1 + extra["n_searches"] and "1,200 rows" in lines[0]
    in_memory = MBFPCA(2, tau=0.05, n_starts=1, random_state=0, bandwidth=model.bandwidth_).fit(
        X, sensitive_features=sex
    )
    # Another local optimum, or a constraint that is not quite met, may cost a little.
    assert 0.9 * in_memory.result_.objective < variance <= model.result_.bound
    assert list(model.feature_names_in_) == list("abcde") and model.groups_ == ("f", "m")


def test_projections_are_those_of_transform_and_bring_their_groups(people, batches):
    model = PCA(2).fit(people[list("abcde")], sensitive_features=people["sex"])
    Z, groups = scale.project(batches, model, sensitive="sex")
    np.testing.assert_allclose(Z, model.transform(people[list("abcde")]))
    assert [groups.labels[code] for code in groups.codes] == people["sex"].tolist()


def test_pca_that_is_fair_already_is_optimal(people, batches):
    model = MBFPCA(2, tau=0.9, random_state=0).fit_batches(batches, sensitive="sex", sample_size=300)
    pca = PCA(2).fit(people[list("abcde")], sensitive_features=people["sex"])
    assert model.result_.status == "optimal"
    np.testing.assert_allclose(model.result_.objective, model.result_.bound)
    np.testing.assert_allclose(model.components_, pca.components_, atol=1e-9)


def test_what_no_subspace_meets_is_said(batches, people):
    with pytest.warns(ConvergenceWarning, match=r"exact MMD² on all 1,200 rows is at most tau=1e-09"):
        model = MBFPCA(4, tau=1e-9, n_starts=1, random_state=0).fit_batches(batches, sensitive="sex", sample_size=200)
    assert model.result_.status == "not_found"
    Z = model.transform(people[list("abcde")])
    np.testing.assert_allclose(model.mmd2_, metrics.mmd_squared(Z, people["sex"], model.bandwidth_), rtol=1e-9)


def test_the_excess_of_a_sample_is_what_samples_show():
    """Mean over many samples of three groups, their shares as in all rows."""
    rng = np.random.default_rng(0)
    Z, codes = rng.standard_normal((240, 2)), np.repeat([0, 1, 2], [60, 80, 100])
    Z[codes == 1, 0] += 1.0

    def total(rows):
        return sum(metrics.pairwise_mmd_squared(Z[rows], codes[rows], 0.5).to_numpy()[np.triu_indices(3, 1)])

    sizes = (15, 20, 25)
    samples = [
        np.concatenate([rng.choice(np.flatnonzero(codes == g), sizes[g], False) for g in range(3)]) for _ in range(200)
    ]
    found = [_excess(Z[rows], encode_groups(codes[rows]), np.array([60, 80, 100]), 0.5) for rows in samples]
    shown = np.mean([total(rows) for rows in samples]) - total(np.arange(240))
    assert np.mean(found) == pytest.approx(shown, rel=0.1)


def test_an_exact_value_above_tau_sends_the_search_back():
    """Against a made-up guide that is too kind by a factor."""
    from types import SimpleNamespace

    from fairpca.scale import mbf

    targets = []

    def search(target):
        targets.append(target)
        return SimpleNamespace(status="converged", extra={"mmd2": target}, objective=target)

    found = mbf._search(1e-3, 1.5e-3, search, lambda result: 1.7 * result.extra["mmd2"])
    assert 6e-4 <= found.value <= 1e-3 and len(targets) == found.searches <= 4
    targets.clear()
    found = mbf._search(1e-3, 1e-3, search, lambda result: 1e-2 + result.extra["mmd2"])
    assert found.value > 1e-3 and len(targets) == 4 and np.all(np.diff(targets) < 0)
    assert found.value == 1e-2 + min(targets)
    targets.clear()  # too strict by an offset
    found = mbf._search(1e-3, 1e-3, search, lambda result: result.extra["mmd2"] - 9e-4)
    assert 8e-4 <= found.value <= 1e-3 and len(targets) == 2


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("cannot be a generator", lambda batches: MBFPCA().fit_batches(iter(batches), sensitive="sex")),
        ("fairness='eop'", lambda batches: MBFPCA(fairness="eop").fit_batches(batches, sensitive="sex")),
        ("sample_size=3", lambda batches: MBFPCA().fit_batches(batches, sensitive="sex", sample_size=3)),
    ],
)
def test_what_is_refused_is_explained(batches, message, call):
    with pytest.raises((ValueError, TypeError), match=message):
        call(batches)


def test_batches_of_a_single_group_are_announced(batches):
    with pytest.warns(UserWarning, match="single group"):
        MBFPCA().fit_batches([batch[batch["sex"] == "f"] for batch in batches], sensitive="sex")

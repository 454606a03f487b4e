"""The port of FairPCA with a randomised SVD: against scikit-learn's, and against the solver with an exact one."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from fairpca import GroupMoments, MinMaxFairPCA
from fairpca.companion import stored
from fairpca.companion.vu2022 import random_starts, randomised_port, randomised_svd, split_groups
from fairpca.datasets import load, where


def rows_of(seed, n, p, spread):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(1, spread, p)
    return X - X.mean(axis=0)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from([300, 501, 900]), st.integers(4, 45), st.integers(1, 5), st.floats(1.5, 10)
)
def test_it_is_the_svd_that_scikit_learn_chose(seed, n, p, k, spread):
    """The same numbers from the same stream, and as many of them, from second moments as from rows."""
    X = rows_of(seed, n, p, spread)
    k = min(k, p - 1)
    randomised = max(n, p) > 500 and k < 0.8 * min(n, p)
    ours, theirs = np.random.RandomState(seed), np.random.RandomState(seed)
    start = random_starts(ours, [n, 1, 1], p, k, 1)[0]
    V = randomised_svd(X.T @ X / n, k, None if start is None else start[0], n)
    reference = PCA(k, svd_solver="randomized" if randomised else "full", random_state=theirs).fit(X).components_
    np.testing.assert_allclose(V @ V.T, reference.T @ reference, atol=1e-9)
    assert ours.uniform() == theirs.uniform()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("eta", [0.1, 1.0])
def test_with_an_exact_svd_it_is_the_port(eta):
    """Below 501 rows nothing is random."""
    kinds = set()
    for seed in range(6):
        X = rows_of(seed, 200, 6, 2.0) * np.where(np.arange(200)[:, None] < 80, np.linspace(2, 1, 6), 1.0)
        moments = GroupMoments.from_data(X, (np.arange(200) >= 80).astype(int))
        port = MinMaxFairPCA(2, solver="mw", variant="vu2022_code", max_iter=50, options={"eta": eta}).fit(moments)
        ((_, found),) = randomised_port(moments, 2, [eta], np.random.RandomState(0), steps=50)
        P, Q = (model.components_.T @ model.components_ for model in (port, found))
        np.testing.assert_allclose(Q, P, atol=1e-9)
        kinds.add(port.result_.basis)
    assert eta == 0.1 or len(kinds) == 2  # average and last iterate


def test_step_sizes_share_one_stream():
    moments, stream = GroupMoments.from_data(rows_of(1, 1400, 20, 2.0), np.arange(1400) % 2), np.random.RandomState(3)
    for _, model in randomised_port(moments, 3, [0.5, 0.5], np.random.RandomState(3), steps=3):
        ((_, alone),) = randomised_port(moments, 3, [0.5], stream, steps=3)
        np.testing.assert_allclose(model.components_, alone.components_, atol=1e-12)


def test_the_sets_are_those_on_which_the_svd_is_random():
    text = (Path(__file__).resolve().parents[3] / "chapters/vu2022/conclusions.md").read_text(encoding="utf8")
    named = re.findall(r'"(\w+)"', re.search(r"^large_sets = \((.*?)\)", text, re.DOTALL | re.MULTILINE)[1])
    for name in stored("vu2022/table2").cells["dataset"]:
        if name == "lfw_24x24" or where(name) == "missing":
            continue
        data = load(name)
        training = len(split_groups(data.group_code, 0.3, 0)[0])
        assert (training > 500 and data.X.shape[1] > 13) == (name in named), name

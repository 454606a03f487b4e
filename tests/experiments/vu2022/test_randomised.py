"""The port of FairPCA with a randomised SVD: against scikit-learn's, and against the solver with an exact one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from fairpca.datasets import load, where
from fairpca.experiments.vu2022 import methods
from fairpca.experiments.vu2022.protocol import Rows, split_rows
from fairpca.experiments.vu2022.randomised import RandomisedPort, is_randomised, leading
from fairpca.experiments.vu2022.rounding import RANDOMISED
from fairpca.experiments.vu2022.tables import DATASETS


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
    start = ours.normal(size=(p, k + 10)) if is_randomised(n, p, k) else None
    V = leading(X.T @ X / n, k, start, n)
    reference = PCA(k, svd_solver="randomized" if randomised else "full", random_state=theirs).fit(X).components_
    np.testing.assert_allclose(V @ V.T, reference.T @ reference, atol=1e-9)
    assert ours.uniform() == theirs.uniform()


@pytest.mark.parametrize("eta", [0.1, 1.0])
def test_with_an_exact_svd_it_is_the_port(eta):
    """Below 501 rows nothing is random."""
    for seed in range(6):
        X = rows_of(seed, 200, 6, 2.0) * np.where(np.arange(200)[:, None] < 80, np.linspace(2, 1, 6), 1.0)
        rows, port = Rows(X, (np.arange(200) >= 80).astype(int)), methods.fairpca("printed")
        port.estimator.set_params(max_iter=50)
        (expected,) = port.fit(rows, 2, np.random.RandomState(0), {"options": {"eta": eta}})
        found = RandomisedPort(2, eta, max_iter=50, random_state=np.random.RandomState(0)).fit(rows.moments)
        np.testing.assert_allclose(
            found.components_.T @ found.components_, expected.components_.T @ expected.components_, atol=1e-9
        )
        assert found.result_.basis == expected.result_.basis


def test_step_sizes_share_one_stream():
    X = rows_of(1, 700, 20, 2.0)
    moments, stream = Rows(X, np.arange(700) % 2).moments, np.random.RandomState(3)
    path = RandomisedPort(3, max_iter=3, random_state=np.random.RandomState(3)).path(moments, eta=[0.5, 0.5])
    for model in path:
        alone = RandomisedPort(3, 0.5, max_iter=3, random_state=stream).fit(moments)
        np.testing.assert_array_equal(model.components_, alone.components_)


def test_the_sets_are_those_on_which_the_svd_is_random():
    for name in DATASETS:
        if where(name) == "missing":
            continue
        data = load(name)
        training = len(split_rows(data.group_code, 0.3, 0)[0])
        assert (training > 500 and data.X.shape[1] > 13) == (name in RANDOMISED), name

"""BLAS has one thread while a small problem is solved, and what it had before afterwards."""

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import fairpca._base
from fairpca import PCA, GroupMoments, MinMaxFairPCA
from fairpca._threads import one_blas_thread


@pytest.fixture
def threads():
    """Give every BLAS two threads, and return a function that counts them."""
    libraries = ThreadpoolController().select(user_api="blas")
    with libraries.limit(limits=2):
        # Other packages, such as cvxpy's solvers, bring libraries of their own, which no fit calls.
        ours = [library["filepath"] for library in libraries.info() if "numpy" in library["filepath"]]
        ours += [library["filepath"] for library in libraries.info() if "scipy" in library["filepath"]]
        assert ours
        yield lambda: {library["num_threads"] for library in libraries.info() if library["filepath"] in ours}


@pytest.mark.parametrize("p, expected", [(5, 1), (399, 1), (400, 2)])
def test_small_fits_have_one_thread(threads, monkeypatch, p, expected):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(410, p)), np.arange(410) % 2
    seen, solve = [], fairpca._base.leading_subspace

    def watched(*arguments):
        seen.append(threads())
        return solve(*arguments)

    monkeypatch.setattr("fairpca.pca.leading_subspace", watched)
    PCA().fit(X, sensitive_features=groups)
    PCA().fit(GroupMoments.from_data(X, groups))
    PCA().partial_fit(X, sensitive_features=groups).components_  # noqa: B018
    PCA().path(X, sensitive_features=groups, n_components=[1, 2])
    assert seen == [{expected}] * 5
    assert threads() == {2}


def test_wide_tables_are_small(threads):
    """Fewer rows than features: the matrices are as small as the number of rows."""
    with one_blas_thread(np.zeros((20, 1000))):
        assert threads() == {1}


def test_errors_and_nested_fits_restore_the_threads(threads):
    X = np.zeros((3, 4))
    with pytest.raises(ValueError, match="NaN"):
        MinMaxFairPCA().fit(X * np.nan, sensitive_features=[0, 1, 1])
    assert threads() == {2}
    with one_blas_thread(X):
        with one_blas_thread(X):
            pass
        assert threads() == {1}
    assert threads() == {2}

"""scikit-learn's own tests of its PCA, where the parameters agree, pass with the one of this package."""

import pytest

from fairpca import PCA

theirs = pytest.importorskip("sklearn.decomposition.tests.test_pca")


class WithTheirParameters(PCA):
    """Takes the names of the algorithms for which scikit-learn has parameters, and has one algorithm."""

    def __init__(self, n_components=None, *, svd_solver="auto", copy=True, whiten=False, tol=0.0, random_state=None):
        super().__init__(n_components)
        self.svd_solver, self.copy, self.whiten = svd_solver, copy, whiten
        self.tol, self.random_state = tol, random_state


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("test_pca", ("full", 2)),
        ("test_no_empty_slice_warning", ()),
        ("test_pca_explained_variance_empirical", (theirs.iris.data, "full")),
        ("test_pca_singular_values", ("full",)),
        ("test_pca_check_projection", ("full",)),
        ("test_pca_check_projection_list", ("full",)),
        ("test_pca_inverse", ("full", False)),
        ("test_n_components_none", (theirs.iris.data, "full", 4)),
        ("test_n_components_none", (theirs.iris.data.T, "full", 4)),
        ("test_infer_dim_1", ()),
        ("test_infer_dim_2", ()),
        ("test_infer_dim_3", ()),
        ("test_pca_score", ("full",)),
        ("test_pca_sanity_noise_variance", ("full",)),
        ("test_pca_zero_noise_variance_edge_cases", ("full",)),
        ("test_pca_deterministic_output", ("full",)),
        ("test_pca_n_components_mostly_explained_variance_ratio", ()),
        ("test_variance_correctness", (True,)),
    ],
)
@pytest.mark.filterwarnings("ignore:An ill-conditioned matrix")
def test_theirs(monkeypatch, name, given):
    monkeypatch.setattr(theirs, "PCA", WithTheirParameters)
    getattr(theirs, name)(*given)

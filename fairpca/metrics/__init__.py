"""Every number that the tables and figures of the three papers print.

A subspace is given by `V`, an orthonormal basis as columns (n_features × k), as solvers return it; for a fitted
estimator pass ``components_.T``. Groups are given as ``sensitive_features`` of any dtype.
"""

from fairpca.linalg import principal_angles, subspace_distance
from fairpca.metrics._classification import (
    SVMReport,
    delta_dp,
    delta_eod,
    delta_eop,
    rbf_svm_predictions,
    rbf_svm_report,
)
from fairpca.metrics._linear_svm import LinearSVM, linear_svm
from fairpca.metrics._mmd import (
    MMDTest,
    median_bandwidth,
    mmd_permutation_test,
    mmd_squared,
    pairwise_mmd_squared,
)
from fairpca.metrics._reconstruction import (
    ab_difference,
    average_reconstruction_error,
    communality,
    explained_variance_percent,
    max_reconstruction_loss,
    reconstruction_errors,
    reconstruction_losses,
)
from fairpca.metrics._separation import LinearSeparation, delta_f_lin, ks_separation

__all__ = [
    "LinearSVM",
    "LinearSeparation",
    "MMDTest",
    "SVMReport",
    "ab_difference",
    "average_reconstruction_error",
    "communality",
    "delta_dp",
    "delta_eod",
    "delta_eop",
    "delta_f_lin",
    "explained_variance_percent",
    "ks_separation",
    "linear_svm",
    "max_reconstruction_loss",
    "median_bandwidth",
    "mmd_permutation_test",
    "mmd_squared",
    "pairwise_mmd_squared",
    "principal_angles",
    "rbf_svm_predictions",
    "rbf_svm_report",
    "reconstruction_errors",
    "reconstruction_losses",
    "subspace_distance",
]

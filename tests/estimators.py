"""Every estimator and every option of it that must honour scikit-learn's contract."""

from fairpca import PCA

CONFIGURED = [
    PCA(),
]

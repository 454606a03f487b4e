"""Every estimator and every option of it that must honour scikit-learn's contract."""

from fairpca import FPCA, PCA

CONFIGURED = [
    PCA(),
    FPCA(),
    FPCA(delta=0.1, scale="mean", rounding="fair"),
    FPCA(constraints="mean", delta=0.2),
    FPCA(variant="lee2022_code", standardise=False),
    FPCA(variant="vu2022_code", standardise=False, delta=0.5),
    FPCA(variant="lee2022_code", standardise=False, solver="cvxpy"),
]

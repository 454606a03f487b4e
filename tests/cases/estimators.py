"""Every estimator and every option of it that must honour scikit-learn's contract."""

import fairpca
from fairpca import FPCA, MBFPCA, PCA, RFPCA, LinearEraser, MeanFairPCA, MinMaxFairPCA

CONFIGURED = [
    PCA(),
    FPCA(),
    FPCA(delta=0.1, options={"scale": "mean", "rounding": "fair"}),
    FPCA(constraints="mean", delta=0.2),
    FPCA(variant="lee2022_code", options={"standardise": False}),
    FPCA(variant="vu2022_code", delta=0.5, options={"standardise": False}),
    FPCA(solver="cvxpy", variant="lee2022_code", options={"standardise": False}),
    MinMaxFairPCA(),
    MinMaxFairPCA(objective="error"),
    MinMaxFairPCA(objective="variance"),
    MinMaxFairPCA(objective="nash"),
    MinMaxFairPCA(nested=True),
    MinMaxFairPCA(centering="overall"),
    MinMaxFairPCA(solver="sdp"),
    # A wide tolerance: T steps are made whatever the gap, and a gap left over would be a warning.
    MinMaxFairPCA(solver="mw", variant="samadi2018_code", tol=0.5),
    MinMaxFairPCA(solver="mw", variant="vu2022_code", tol=0.5),
    MeanFairPCA(),
    MeanFairPCA(projection="oblique"),
    MeanFairPCA(match="mean+covariance"),
    RFPCA(),
    RFPCA(lam=2.0, variant="vu2022_code", centering="group"),
    RFPCA(solver="subgradient", random_state=0, options={"n_starts": 3}),
    RFPCA(
        solver="subgradient", lam=0.1, random_state=0, options={"n_starts": 2, "retraction": "polar", "keep": "best"}
    ),
    RFPCA(solver="mm", eps=[0.1, 0.1], centering="none"),
    MBFPCA(tau=0.05),
    MBFPCA(tau=0.05, bandwidth="median", n_starts=2, random_state=0),
    MBFPCA(tau=0.05, bandwidth=2.0, solver="repms", variant="printed"),
    MBFPCA(tau=0.05, solver="repms", random_state=0, options={"repms": {"keep": "best", "distance": "grassmann"}}),
    MBFPCA(tau=0.05, random_state=0, options={"approximation": "subsample", "approximation_size": 60}),
    MBFPCA(tau=0.05, random_state=0, options={"approximation": "fourier", "approximation_size": 256}),
]
# What scikit-learn's checks take as well, beside the projections that fit without y and numbers.
MORE = [
    MeanFairPCA(fairness="eop"),
    MeanFairPCA(sensitive="numeric", columns="each", projection="oblique"),
    LinearEraser(),
    LinearEraser(method="oracle"),
    LinearEraser(sensitive="numeric"),
]

# Nobody is forgotten: who has no line above is tested as it comes.
PUBLIC = [getattr(fairpca, name) for name in fairpca.__all__ if name not in ("BaseFairPCA", "__version__")]
CONFIGURED += [
    kind()
    for kind in PUBLIC
    if issubclass(kind, fairpca.BaseFairPCA) and not any(isinstance(known, kind) for known in CONFIGURED)
]

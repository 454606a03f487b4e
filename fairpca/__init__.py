"""Fair principal component analysis: the solvers behind the fair PCA companion."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from fairpca._base import BaseFairPCA
    from fairpca._moments import GroupMoments
    from fairpca.eraser import LinearEraser
    from fairpca.fpca import FPCA
    from fairpca.mbfpca import MBFPCA
    from fairpca.meanfair import MeanFairPCA
    from fairpca.minmax import MinMaxFairPCA
    from fairpca.pca import PCA
    from fairpca.rfpca import RFPCA
    from fairpca.solvers import SolverResult
    from fairpca.wide import WideRows

# Names are resolved on first use, so that `import fairpca` costs neither scikit-learn nor numba.
_HOME = {
    "BaseFairPCA": "fairpca._base",
    "FPCA": "fairpca.fpca",
    "GroupMoments": "fairpca._moments",
    "LinearEraser": "fairpca.eraser",
    "MeanFairPCA": "fairpca.meanfair",
    "MinMaxFairPCA": "fairpca.minmax",
    "MBFPCA": "fairpca.mbfpca",
    "PCA": "fairpca.pca",
    "RFPCA": "fairpca.rfpca",
    "SolverResult": "fairpca.solvers",
    "WideRows": "fairpca.wide",
}

__all__ = [
    "FPCA",
    "MBFPCA",
    "PCA",
    "RFPCA",
    "BaseFairPCA",
    "GroupMoments",
    "LinearEraser",
    "MeanFairPCA",
    "MinMaxFairPCA",
    "SolverResult",
    "WideRows",
    "__version__",
]


_MODULES = (
    "cli",
    "companion",
    "datasets",
    "linalg",
    "metrics",
    "plotting",
    "report",
    "scale",
    "solvers",
    "synthetic",
    "tables",
)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"fairpca.{name}")
    raise AttributeError(f"module 'fairpca' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])

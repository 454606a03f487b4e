"""Whether numba is there: what is compiled with it has a slower form in NumPy."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.util import find_spec

__all__ = ["has_numba", "warn_without_numba"]


@cache
def has_numba() -> bool:
    """Return whether numba is installed."""
    return find_spec("numba") is not None


@cache
def warn_without_numba() -> None:
    """Warn where numba is missing, once."""
    if not has_numba():
        warnings.warn(
            "numba is not installed, so MBFPCA and RFPCA(solver='subgradient') run with NumPy alone, several times "
            "slower; pip install 'fairpca[fast]' brings it.",
            UserWarning,
            stacklevel=2,
        )

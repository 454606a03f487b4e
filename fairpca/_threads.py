"""One BLAS thread for small problems."""

from __future__ import annotations

import contextlib
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]

_MANY = 400  # features (and rows) from which on a second thread pays


def one_blas_thread(X: Any) -> contextlib.AbstractContextManager[Any]:
    """Limit BLAS to one thread, in the whole process, if `X` (rows, moments or products) leads to small matrices.

    Threads of BLAS wait for each other by spinning, which costs more than it saves where matrices are small, and many
    times more where another process runs.
    """
    if getattr(X, "n_features", min(getattr(X, "shape", ()), default=0)) >= _MANY:
        return contextlib.nullcontext()
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (has a BLAS of its own, which must be loaded to be found)

    return ThreadpoolController()  # looking for libraries takes milliseconds, a limit takes microseconds

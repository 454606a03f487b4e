"""The loops over a Gaussian kernel matrix: compiled where numba is installed, else by NumPy."""

from __future__ import annotations

from fairpca._compiled import has_numba

if has_numba():
    from fairpca.solvers.mmd._compiled import (
        run_pairs,
        slopes_of,
        values_and_gradients,
        weighted_coordinates,
    )
else:
    from fairpca.solvers.mmd._plain import (  # type: ignore[assignment]
        run_pairs,
        slopes_of,
        values_and_gradients,
        weighted_coordinates,
    )

__all__ = ["run_pairs", "slopes_of", "values_and_gradients", "weighted_coordinates"]

"""Pictures in one style: colour-blind safe, groups told apart by marker and colour, readable on light and dark pages.

Every function takes ``ax=None`` and returns the Axes. Matplotlib is imported on first use; it comes with the
extra ``plot``.
"""

from fairpca.plotting._curves import plot_group_curves
from fairpca.plotting._points import plot_biplot, plot_projection
from fairpca.plotting._style import (
    METHOD_STYLE,
    PALETTE,
    GroupStyle,
    group_style,
    live_data,
    method_style,
    new_axes,
    use_style,
)

__all__ = [
    "METHOD_STYLE",
    "PALETTE",
    "GroupStyle",
    "group_style",
    "live_data",
    "method_style",
    "new_axes",
    "plot_biplot",
    "plot_group_curves",
    "plot_projection",
    "use_style",
]

"""What Lee et al. (2022) state about the settings of their experiments, beside what their programs and files have.

The defaults of Algorithm 1 in this package are those of the published program. What a file can tell is measured in it.
"""

from __future__ import annotations

import inspect

from fairpca.experiments.engine.statements import Setting, register_settings
from fairpca.experiments.lee2022.communality import drawn_features, table1_cells

__all__ = ["SETTINGS"]


def _splits(statement: str, value: float) -> tuple[str, bool, str]:
    cells = table1_cells()
    counts = {int(n) for n in cells.groupby(["dataset", "d", "method", "setting"])["split"].nunique()}
    return f"{', '.join(map(str, sorted(counts)))} splits of every data set", counts == {int(value)}, "Another number."


def _arrows(statement: str, value: float) -> tuple[str, bool, str]:
    used = inspect.signature(drawn_features).parameters["n"].default
    return f"{used}, by their communality, and the protected attribute", used == value, "Another number."


SETTINGS: dict[str, Setting] = {
    "communality-splits": _splits,
    "biplot-features": _arrows,
}


register_settings(
    "lee2022",
    SETTINGS,
    "What the paper says about its settings, beside those of its programs and files",
    inputs=(
        "lee2022/planes",
        "lee2022/table1",
        *(f"published/lee2022/{stem}" for stem in ("fig2_fig3_stored", "table1")),
    ),
)

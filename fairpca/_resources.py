"""Where data files are: in the source tree or in the installed wheel."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

__all__ = ["data_path", "read_table"]

KINDS = ("raw", "published", "results")
_PACKAGE = Path(__file__).resolve().parent


def data_path(kind: str) -> Path:
    """Return the folder of bundled data of one kind.

    Parameters
    ----------
    kind : {"raw", "published", "results"}
        The data sets, the papers' printed numbers, or our stored results.

    Returns
    -------
    pathlib.Path
        ``fairpca/_data/<kind>`` of an installed wheel, else ``data/<kind>`` beside the package in the source tree.

    Raises
    ------
    ValueError
        If `kind` is not one of the three.
    FileNotFoundError
        If neither folder exists.
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not known; choose one of {', '.join(map(repr, KINDS))}.")
    places = (_PACKAGE / "_data" / kind, _PACKAGE.parent / "data" / kind)
    for place in places:
        if place.is_dir():
            return place
    raise FileNotFoundError(
        f"The folder with the package's {kind} data is in neither place where it belongs: "
        f"{' nor '.join(map(str, places))}. Install the package from its wheel, or run from a complete source tree."
    )


# Columns of words: an empty cell is the empty word, also where the whole column is empty.
TEXT = ("dataset", "method", "setting", "metric", "protocol", "text", "label", "exhibit", "statement", "unit")


def read_table(path: Path | io.BytesIO, text: Sequence[str] = ()) -> pd.DataFrame:
    """Read a CSV table exactly; empty text stays empty text in columns of words (`text` names further ones)."""
    table = pd.read_csv(path, float_precision="round_trip")
    for name in (*TEXT, *text):
        if name in table.columns:
            table[name] = table[name].astype(object).where(table[name].notna(), "").astype(str)
    return table

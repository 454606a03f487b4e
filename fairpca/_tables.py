"""Tables of published numbers and of results, read alike."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

__all__ = ["read_table"]

# Columns of words: an empty cell is the empty word, also where the whole column is empty.
TEXT = ("dataset", "method", "setting", "metric", "protocol", "text", "label", "exhibit", "statement", "unit")


def read_table(path: Path | io.BytesIO, text: Sequence[str] = ()) -> pd.DataFrame:
    """Read a CSV table exactly; empty text stays empty text in columns of words (`text` names further ones)."""
    table = pd.read_csv(path, float_precision="round_trip")
    for name in (*TEXT, *text):
        if name in table.columns:
            table[name] = table[name].astype(object).where(table[name].notna(), "").astype(str)
    return table

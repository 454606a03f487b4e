"""How much the tolerances would notice: accepted numbers that would also be accepted if ours were wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairpca.companion.published.board import NUMBER_VERDICTS

__all__ = ["FACTORS", "power"]

FACTORS = (1.05, 1.1)
# What is exchanged: data sets, or the dimensions of synthetic data where there is one set.
_EXCHANGED = ("dataset", "p")


def power(board: pd.DataFrame) -> pd.DataFrame:
    """Count the accepted numbers of each exhibit, and those that wrong numbers in their places would leave accepted.

    Parameters
    ----------
    board : DataFrame
        Rows of `fairpca.companion.published.scoreboard`.

    Returns
    -------
    DataFrame
        One row an exhibit: ``paper, exhibit, accepted`` (equal or close), ``x1.05, x1.1`` (accepted with ours
        multiplied), and ``permuted`` (expected number with the data sets of ours permuted at random; with one data set,
        its dimensions). Numbers of which both are zero survive any factor.
    """
    judged = board[board["kind"].isin(["number", "stored"]) & board["verdict"].isin(NUMBER_VERDICTS)]
    judged = judged[judged["printed"].notna()]
    digits = judged["printed_text"].astype(str).str.replace(r"^[^.]*\.?", "", regex=True).str.len()
    allowed = np.maximum(judged["tolerance"].astype(float), 0.5 * 10.0**-digits) * (1 + 1e-9)
    judged = judged.assign(allowed=allowed, accepted=judged["verdict"] != "differs")
    rows = []
    for (paper, exhibit), part in judged.groupby(["paper", "exhibit"], sort=False):
        ours, printed = (part[name].to_numpy(dtype=float) for name in ("ours", "printed"))
        accepted = part["accepted"].to_numpy()
        row = {"paper": paper, "exhibit": exhibit, "accepted": int(accepted.sum())}
        for factor in FACTORS:
            near = np.abs(factor * ours - printed) <= part["allowed"].to_numpy()
            row[f"x{factor:g}"] = int(np.sum(accepted & near))
        rows.append(row | {"permuted": _permuted(part)})
    return pd.DataFrame(rows)


def _permuted(part: pd.DataFrame) -> float:
    """Expected number of accepted rows whose own number is replaced by that of another data set."""
    several = [name for name in _EXCHANGED if name in part and len(part[name].drop_duplicates()) > 1]
    exchanged = several[0] if several else "dataset"
    keys = ["method", "setting", "d", "p", "metric", "statistic"]
    keys = [name for name in keys if name in part and name != exchanged]
    total = 0.0
    for _, same in part.groupby(keys, dropna=False):
        ours, printed, allowed = (same[name].to_numpy(dtype=float) for name in ("ours", "printed", "allowed"))
        near = np.abs(ours[None, :] - printed[:, None]) <= allowed[:, None]
        np.fill_diagonal(near, False)
        if len(same) > 1:
            total += float(np.sum(near.sum(axis=1)[same["accepted"].to_numpy()] / (len(same) - 1)))
    return total

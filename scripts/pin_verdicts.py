"""Pin how many verdicts of each kind every paper has: python scripts/pin_verdicts.py, after looking at what changed.

The counts are in tests/companion/published/verdicts/<paper>.csv, and with them `allowed`, the sum of the tolerances of
an exhibit's numbers, so that a wider tolerance shows even where it changes no verdict. A test compares both with the
scoreboard.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fairpca.companion.published import VERDICTS, papers, scoreboard

ROOT = Path(__file__).resolve().parents[1]


def pinned_path(paper: str, root: Path = ROOT) -> Path:
    return root / "tests" / "companion" / "published" / "verdicts" / f"{paper}.csv"


def counts(board: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Count verdicts: one row a combination of the columns, one column a verdict."""
    table = board.assign(rows=1).pivot_table(
        index=by, columns="verdict", values="rows", aggfunc="sum", fill_value=0, sort=False
    )
    return table.reindex(columns=list(VERDICTS), fill_value=0).rename_axis(columns=None)


def verdict_counts(paper: str, board: pd.DataFrame) -> pd.DataFrame:
    rows = board[board["paper"] == paper]
    by = ["exhibit", "kind"]
    allowed = rows.groupby(by)["tolerance"].sum().round(6).rename("allowed")
    return counts(rows, by).join(allowed).reset_index()


def main(root: Path = ROOT) -> None:
    board = scoreboard()
    for paper in papers():
        if (board["paper"] == paper.name).any():
            path = pinned_path(paper.name, root)
            path.parent.mkdir(parents=True, exist_ok=True)
            verdict_counts(paper.name, board).to_csv(path, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()

"""Pin how many verdicts of each kind every paper has: python scripts/pin_verdicts.py, after looking at what changed.

The counts stand in tests/experiments/<paper>/verdict_counts.csv; a test compares them with the scoreboard.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fairpca.published import counts, papers, scoreboard

ROOT = Path(__file__).resolve().parents[1]


def pinned_path(paper: str, root: Path = ROOT) -> Path:
    return root / "tests" / "experiments" / paper / "verdict_counts.csv"


def verdict_counts(paper: str, board: pd.DataFrame) -> pd.DataFrame:
    rows = board[board["paper"] == paper]
    return counts(rows, ["exhibit", "kind"]).drop(columns="total").reset_index()


def main(root: Path = ROOT) -> None:
    board = scoreboard()
    for paper in papers():
        if (board["paper"] == paper.name).any():
            path = pinned_path(paper.name, root)
            path.parent.mkdir(parents=True, exist_ok=True)
            verdict_counts(paper.name, board).to_csv(path, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()

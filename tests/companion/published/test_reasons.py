"""Reasons are guarded by data: none names a cause that our own measurements refute."""

import pytest

from fairpca.companion import stored
from fairpca.companion.published.comparison import SUPPORT
from fairpca.companion.published.pages import UNKNOWN

# What a reason says where repetition, rounding, accuracy or another start is the cause.
REPEATED = r"\btimes (?:what|the standard deviation)|[Rr]ounding|accuracy|\bstart|local optim"


@pytest.fixture(scope="module")
def differing(board):
    return board[(board["verdict"] == "differs") & ~board["reason"].str.contains(UNKNOWN)]


def test_what_is_said_to_move_a_number_does_so(differing):
    said = differing[differing["reason"].str.contains(REPEATED)]
    refuted = said[~(said["noise"] >= SUPPORT * said["difference"].abs())]
    shown = refuted[["paper", "exhibit", "dataset", "method", "metric", "statistic", "difference", "noise", "reason"]]
    assert len(said) and refuted.empty, f"the measured noise refutes these reasons:\n{shown.to_string()}"


def test_a_zero_classifier_is_one_by_our_count(differing):
    table = stored("vu2022/tables").table
    zero = table[(table["metric"] == "zero_classifier") & (table["protocol"] == "printed")]
    share = zero.set_index(["dataset", "method"])["mean"]
    said = differing[differing["reason"].str.contains("w = 0", regex=False)]
    refuted = [row for row in said[["dataset", "method"]].itertuples(index=False) if not share[tuple(row)] > 0]
    assert len(said) and not refuted, f"no classifier is w = 0 here: {refuted}"


def test_ties_are_exact_on_some_split(differing):
    cells = stored("lee2022/table1").cells
    smallest = cells.groupby(["dataset", "method", "setting", "d"])["eigengap"].min()
    said = differing[differing["reason"].str.startswith("Exact ties")]
    keys = said[["dataset", "method", "setting", "d"]].drop_duplicates().itertuples(index=False)
    assert len(said) and all(smallest[row.dataset, row.method, row.setting, int(row.d)] < 1e-9 for row in keys)

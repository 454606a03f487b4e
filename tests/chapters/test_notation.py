"""The notation chapter names only things that exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import fairpca

TEXT = (Path(__file__).resolve().parents[2] / "chapters/appendix/notation.md").read_text(encoding="utf8")
TABLE = TEXT[TEXT.index("```{list-table}") :]
ROWS = [row.split("\n  - ") for row in re.split(r"\n\* - ", TABLE.split("\n```", 1)[0])[1:]]
NAMES = sorted({name for row in ROWS for name in re.findall(r"`([\w.]+)`", row[-1])} - {"fairpca"})


def test_rows_have_a_cell_for_each_column():
    assert len(ROWS) > 25 and {len(row) for row in ROWS} == {len(ROWS[0])}
    assert ROWS[0][0] == "What" and ROWS[0][-1] == "In `fairpca`"


@pytest.mark.parametrize("name", NAMES)
def test_name_exists(name):
    if name in ("n_samples", "n_features", "n_components", "sensitive_features", "X", "delta", "mu"):
        signature = fairpca.FPCA.__doc__ + fairpca.FPCA.fit.__doc__
        assert name in signature
        return
    head, *rest = name.split(".")
    thing = import_module(f"fairpca.{head}") if head == "metrics" else getattr(fairpca, head)
    documented = (thing.__doc__ or "") + str(getattr(thing, "__dataclass_fields__", ""))
    for part in rest:
        assert hasattr(thing, part) or part in documented, name

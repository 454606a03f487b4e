"""Every stored result was computed by today's code, and its table is what its cells give."""

import pandas as pd
import pytest

from fairpca.experiments.engine.results import read_table, table_text
from fairpca.experiments.engine.runner import get, load_results, stored_names


def frame(text, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text)
    return read_table(path)


def test_stored_results_are_current():
    stale = {name: load_results(name).stale_reasons for name in stored_names() if load_results(name).stale}
    assert not stale, f"run these again with --profile paper --save: {stale}"


def test_stored_tables_are_what_their_cells_give(tmp_path):
    for name in stored_names():
        results = load_results(name)
        assert results.provenance["profile"] == "paper", name
        assert results.cells["cell"].nunique() == results.provenance["cells"], name
        # Through text, as the stored table went; the last digits of means may differ between versions of NumPy.
        expected = frame(table_text(get(name).tabulate(results.cells)), tmp_path)
        pd.testing.assert_frame_equal(results.table, expected, rtol=1e-12, atol=0, obj=name)


@pytest.mark.parametrize("forbidden", ["/root", "/home/", "/work/", "/Users/", "/tmp/"])
def test_stored_files_name_no_paths(forbidden):
    for name in stored_names():
        results = load_results(name)
        assert forbidden not in str(dict(results.provenance)), name

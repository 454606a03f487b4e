"""The table of every stored result is what its cells give; for a release, today's code has computed all of them.

Between releases a change of a solver does not force a run of everything: pages say that the code has changed since, and
the slice that they compute must agree.
"""

import pandas as pd
import pytest

from fairpca.experiments.engine.codehash import code_pieces
from fairpca.experiments.engine.provenance import is_ancestor
from fairpca.experiments.engine.results import read_table, table_text
from fairpca.experiments.engine.runner import get, load_results, names, stored_names


@pytest.fixture(scope="module")
def everything():
    return {name: load_results(name) for name in stored_names()}


@pytest.fixture(scope="module")
def stored(everything):
    """Without those that a chapter computes; tests/companion is about these."""
    return {name: found for name, found in everything.items() if name in names()}


def frame(text, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text)
    return read_table(path)


@pytest.mark.release
def test_stored_results_are_current(stored):
    stale = {name: results.stale_reasons for name, results in stored.items() if results.stale}
    assert not stale, f"run these again with --profile paper --save: {stale}"


def test_stored_cells_are_those_of_the_grid(stored):
    """Apart from the code's hash: splits, settings and sizes are the ones that were computed."""
    for name, results in stored.items():
        assert {cell.json for cell in get(name).grid("paper")} == set(results.cells["cell"]), name


def test_a_smoke_run_is_a_small_part():
    for name in names():
        smoke, paper = (get(name).grid(profile) for profile in ("smoke", "paper"))
        assert len(smoke) <= min(len(paper), 60), name


def test_stored_tables_are_what_their_cells_give(stored, tmp_path):
    for name, results in stored.items():
        assert results.provenance["profile"] == "paper", name
        assert results.cells["cell"].nunique() == results.provenance["cells"], name
        # Through text, as the stored table went; the last digits of means may differ between versions of NumPy.
        table = get(name).table(results.cells)
        assert table.index.is_unique, f"{name}: a row that is chosen by its label is one row"
        expected = frame(table_text(table), tmp_path)
        pd.testing.assert_frame_equal(results.table, expected, rtol=1e-12, atol=0, obj=name)


def test_stored_files_name_no_paths(everything):
    for name, results in everything.items():
        told = str(dict(results.provenance))
        assert not [folder for folder in ("/root", "/home/", "/work/", "/Users/", "/tmp/") if folder in told], name


def test_named_commits_are_in_the_history(everything):
    for name, results in everything.items():
        told = results.provenance
        named = {told["commit"], *(kind["commit"] for kind in told["computed_by"])} - {None}
        assert told["commit"], f"{name} names no commit; save it again from a clean tree"
        for commit in named:
            known = is_ancestor(commit)
            if known is None:
                pytest.skip("the history is not here (no repository, or a shallow clone), so nobody can say")
            assert known, f"{name} names the commit {commit}, which the history does not have"


def test_who_reads_results_says_which():
    """Without running anything: code that loads stored results belongs to an experiment with inputs."""
    reader = "fairpca.experiments.engine.results:load_results:0"
    for name in names():
        experiment = get(name)
        reads = any(reader in code_pieces(function) for function in experiment.functions.values())
        assert not reads or experiment.inputs, name

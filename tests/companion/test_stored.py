"""Stored results: they name commits of the history and no paths; for a release, today's code has computed all of them.

Between releases a change of a solver does not force a run of everything: pages say that the code has changed since, and
the slice that they compute must agree.
"""

import subprocess

import notebooks
import pytest

from fairpca.companion import records, stored

PAGES = [path for path in notebooks.executable_chapters() if "fairpca.companion import" in path.read_text("utf8")]


def git(*arguments):
    return subprocess.run(["git", "-C", notebooks.ROOT, *arguments], capture_output=True, text=True)


@pytest.mark.release
@pytest.mark.parametrize("source", PAGES, ids=notebooks.title)
def test_stored_results_are_current(source):
    executed = notebooks.execute(source).path.read_text("utf8")
    assert "the code has changed since" not in executed, f"compute it again: run_notebooks.py --profile paper {source}"


def test_tables_and_records_belong_together():
    for name, record in records().items():
        found = stored(name)  # which checks the digests of the files
        assert record["profile"] == "paper" and found.cells["cell"].nunique() == record["cells"], name
        assert len(found.table), name


def test_stored_files_name_no_paths():
    for name, record in records().items():
        places = ("/root", "/home/", "/work/", "/Users/", "/tmp/")
        assert not [folder for folder in places if folder in str(record)], name


def test_named_commits_are_in_the_history():
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("the history is not here (no repository, or a shallow clone)")
    for name, record in records().items():
        named = {record["commit"], *(entry["commit"] for entry in record["computed_by"])} - {None}
        assert record["commit"], f"{name} names no commit; compute it again from a clean tree"
        for commit in named:
            assert git("merge-base", "--is-ancestor", commit, "HEAD").returncode == 0, (name, commit)

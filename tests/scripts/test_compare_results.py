"""What the comparison of result tables with a commit sees, and what it lets pass."""

import subprocess

import compare_results
import pandas as pd
import pytest

TABLE = "paper/table"


@pytest.fixture
def checkout(tmp_path):
    """A repository with one table of twelve rows."""
    rows = [
        {"dataset": dataset, "d": d, "metric": metric, "mean": 10.0 + d if metric == "are" else 0.0, "sd": None, "n": 5}
        for dataset in ("one", "two")
        for d in (1, 2)
        for metric in ("are", "gap", "seconds")
    ]
    path = tmp_path / "data" / "results" / f"{TABLE}.csv"
    path.parent.mkdir(parents=True)
    pd.DataFrame(rows).assign(reason="a sentence").to_csv(path, index=False)
    name = ("-c", "user.name=A", "-c", "user.email=a@b.c")
    for arguments in (("init", "--quiet"), ("add", "."), (*name, "commit", "--quiet", "-m", "tables")):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    return tmp_path


def changed(checkout, change, *arguments):
    path = checkout / "data" / "results" / f"{TABLE}.csv"
    table = change(pd.read_csv(path))
    path.unlink() if table is None else table.to_csv(path, index=False)
    return compare_results.main(["--base", "HEAD", *arguments], checkout)


def put(row, column, value):
    return lambda table: table.assign(**{column: table[column].where(table.index != row, value)})


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table,
        lambda table: table.iloc[::-1],
        lambda table: table.assign(reason="another sentence", d=table["d"].astype(float)),
        put(0, "mean", 11.0 * (1 + 9e-6)),
        put(1, "mean", 9e-12),  # zero, up to rounding
        put(2, "mean", 1e3),  # seconds
    ],
)
def test_what_may_differ(checkout, change, capsys):
    assert changed(checkout, change) == 0
    assert "1 tables compared" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "said", "column"),
    [
        (put(0, "mean", 11.0 * (1 + 2e-5)), "dataset=one, d=1, metric=are: 11 -> 11.00022", "mean"),
        (put(1, "mean", 2e-11), "1 of 12 moved", "mean"),
        (put(4, "mean", None), "metric=gap: 0 -> nan", "mean"),
        (put(2, "n", 4), "metric=seconds: 5 -> 4", "n"),
        (lambda table: table.drop(3), "1 rows are lost: dataset=one, d=2, metric=are", ""),
        (lambda table: table.replace("two", "three"), "6 rows are lost", ""),
        (lambda table: pd.concat([table, table.head(1)]), "1 rows have the key of another one", ""),
        (lambda table: table.drop(columns="sd"), "columns were", ""),
        (lambda table: None, "the table is lost", ""),
    ],
)
def test_what_may_not(checkout, change, said, column, capsys):
    assert changed(checkout, change) == 1
    assert said in capsys.readouterr().out
    for moved, code in ((TABLE, 0), (f"{TABLE}:{column}", 0), (f"{TABLE}:reason", 1), ("paper/other", 1)):
        assert compare_results.main(["--base", "HEAD", "--moved", moved], checkout) == code


def test_only_some_numbers_are_shown_and_all_are_counted(checkout, capsys):
    changed(checkout, lambda table: table.assign(n=4), "--most", "2")
    out = capsys.readouterr().out
    assert "12 of 12 moved" in out and out.count("5 -> 4") == 2 and "and 10 more" in out


def test_the_baseline_must_be_a_commit(checkout):
    with pytest.raises(SystemExit, match="nowhere: git ls-tree failed"):
        compare_results.main(["--base", "nowhere"], checkout)

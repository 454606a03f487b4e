"""Tables of users: one field a column in every row, or an error that names the line."""

import re

import pandas as pd
import pytest

from fairpca import cli
from fairpca.tables import read_table

GOOD = "a,b,sex\n" + "".join(f"{i}.5,{i * i % 7},{'fm'[i % 2]}\n" for i in range(12))


def table(tmp_path, text, separator=",", encoding="utf-8"):
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode(encoding))
    return read_table(path, separator=separator).rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("f\n", "f,\n").replace("m\n", "m,\n"), "line 2 has 4 fields, .*12 of 12 .*Every row .* comma"),
        (GOOD.replace("4.5,2,f", "4.5,2,f,"), "line 6 has 4 fields.*1 of 12 .*Each of these rows .*trailing comma"),
        (re.sub(r"(?m)^(?=\d)", "r,", GOOD), "line 2 has 4 fields.*write.table"),
        (
            GOOD.replace("sex", "sex,"),
            "line 2 has 3 fields, but the header .line 1. has 4.*header ends with a trailing",
        ),
        (GOOD.replace("4.5,2,f", "4.5,2"), "line 6 has 2 fields.*1 of 12 rows .lines 6"),
        (GOOD.replace("4.5,2,f", "4"), "line 6 has 1 field,"),
        (GOOD.replace("4.5,2,f", "4,5,2,f"), "line 6 has 4 fields.*into quotation marks"),
        (GOOD.replace("1.5,1,m", '1.5,1,"m\n\n,x"').replace("4.5,2,f", "4.5,2"), "line 8 has 2 fields"),
        (GOOD.replace("1.5,1,m", "\n\n1.5,1,m\n  ").replace("4.5,2,f", "4.5,2"), "line 9 has 2 fields"),
        (GOOD.replace("1.5,1,m", '1.5,1,5" m').replace("4.5,2,f", "4.5,2"), "line 6 has 2 fields"),
        (GOOD.replace("1.5,1,m", '1.5,1,"m'), "line 3; look for a quotation mark"),
        (GOOD.replace("a,b,sex", "a;b;sex"), "line 2 has 3 fields.*--separator"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_wrong_rows_are_refused_by_line(tmp_path, capsys, text, message, end):
    path, out = tmp_path / "people.csv", tmp_path / "out.csv"
    path.write_bytes(text.replace("\n", end).encode())
    assert cli.main(["fit", "pca", str(path), "--sensitive", "sex", "--out", str(out)]) == 1
    assert re.search(message, capsys.readouterr().err)
    assert not out.exists()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", [True, False])
def test_good_files_give_their_rows_and_lines(tmp_path, end, mark, last):
    text = GOOD.replace("1.5,1,m\n", '"1.5",1,"m ""x"",\n"\n\n')
    text = text if last else text.rstrip("\n")
    found = table(tmp_path, mark + text.replace("\n", end))
    assert list(found.columns) == ["a", "b", "sex"] and len(found) == 12
    assert found.index.tolist() == [2, 3, *range(6, 16)]
    assert found["sex"].iloc[1].replace("\r", "\n").replace("\n\n", "\n") == 'm "x",'


def test_a_separator_at_the_end_of_every_line_is_no_column(tmp_path):
    found = table(tmp_path, GOOD.replace("\n", ",\n"))
    pd.testing.assert_frame_equal(found, table(tmp_path, GOOD))


def test_rows_that_repeat_are_written_once_each(tmp_path):
    path, out = tmp_path / "people.csv", tmp_path / "out.csv"
    path.write_text(GOOD)
    assert cli.main(["fit", "pca", str(path), "--sensitive", "sex,sex", "--out", str(out)]) == 0
    assert pd.read_csv(out)["sex"].tolist() == list("fm") * 6

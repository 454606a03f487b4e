"""One reader: whatever the container, the same table; what was recognised is said, what is unclear is refused."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairpca.tables import as_table, read_table
from fairpca.tables import reading as reading_module
from fairpca.tables.encoding import _guessed

ROWS = 12
FRAME = pd.DataFrame(
    {
        "height": [i + 0.5 if i != 3 else np.nan for i in range(ROWS)],
        "count": [i * i % 7 for i in range(ROWS)],
        "member": [i % 3 == 0 for i in range(ROWS)],
        "day": pd.date_range("2020-01-30", periods=ROWS, freq="D"),
        "place": ["Köln", "Bonn", None, "Köln"] * 3,
    }
)


def same(found, expected=FRAME):
    assert list(found.rows.columns) == list(expected.columns)
    for name in expected.columns:
        left, right = found.rows[name], expected[name]
        if right.dtype.kind == "M":
            np.testing.assert_array_equal(left.to_numpy("M8[s]"), right.to_numpy("M8[s]"))
        elif right.dtype.kind in "biuf":
            np.testing.assert_array_equal(left.to_numpy(float), right.to_numpy(float))
        else:
            assert [None if pd.isna(v) else v for v in left] == [None if pd.isna(v) else v for v in right]


def write(folder, name, frame=FRAME):
    path = folder / name
    text = {"date_format": "%Y-%m-%d", "index": False}
    if name.endswith(".csv") or name.endswith((".gz", ".bz2", ".xz", ".zip")):
        frame.to_csv(path, **text)
    elif name.endswith(".parquet"):
        frame.to_parquet(path)
    elif name.endswith(".feather"):
        frame.to_feather(path)
    else:
        frame.to_excel(path, index=False)
    return path


@pytest.mark.parametrize(
    "name", ["t.csv", "t.csv.gz", "t.bz2", "t.csv.xz", "t.zip", "t.parquet", "t.feather", "t.xlsx"]
)
def test_every_container_gives_the_same_table(tmp_path, name):
    same(read_table(write(tmp_path, name)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_encodings_and_separators_are_found_and_said(tmp_path, encoding, separator):
    path = tmp_path / "t.csv"
    path.write_bytes(FRAME.to_csv(index=False, sep=separator, date_format="%Y-%m-%d").encode(encoding))
    found = read_table(path)
    same(found)
    assert any("separator" in note for note in found.notes) == (separator != ",")
    assert any("encoding" in note for note in found.notes) == (not encoding.startswith("utf-8"))
    same(read_table(path, separator=separator, encoding=encoding))


def test_zeros_at_every_other_place_are_utf_16():
    assert _guessed("ab".encode("utf-16-le")) == "utf-16-le" and _guessed("ab".encode("utf-16-be")) == "utf-16-be"
    assert _guessed(b"abcdefg\0\0\0" * 5) == "utf-8"


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas(tmp_path, separator):
    path = tmp_path / "t.csv"
    FRAME.to_csv(path, index=False, sep=separator, decimal=",", date_format="%d.%m.%Y")
    found = read_table(path, date_format="%d.%m.%Y")
    same(found)
    assert "height: decimal comma" in found.notes and "day: dates" in found.notes


def test_thousands_and_what_cannot_be_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,sex\n"1,234.5",f\n12,m\n')
    assert read_table(path).rows["a"].tolist() == [1234.5, 12.0]
    path.write_text("a;sex\n1.234,5;f\n12;m\n")
    assert read_table(path).rows["a"].tolist() == [1234.5, 12.0]
    path.write_text('a,sex\n"1,234",f\n12,m\n')
    with pytest.raises(ValueError, match=r"'a' has numbers such as '1,234', .* 1234 or 1\.234; say --decimal"):
        read_table(path)
    assert read_table(path, decimal=".").rows["a"].tolist() == [1234.0, 12.0]
    assert read_table(path, decimal=",").rows["a"].tolist() == [1.234, 12.0]


def test_marks_of_missing_values(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n1,?,x\n?,red,-\n-,blue,y\n4,,z\n")
    found = read_table(path)
    np.testing.assert_array_equal(found.rows["a"], [1, np.nan, np.nan, 4])
    assert found.rows["b"].tolist() == [None, "red", "blue", None]
    assert found.rows["c"].tolist() == ["x", "-", "y", "z"], "a dash among words may be a word"
    assert "a: '?', '-' is taken as missing" in found.notes


def test_dates_in_a_form_of_their_own_need_it_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n01/02/2020,25/12/2020\n03/04/2020,24/12/2020\n")
    found = read_table(path)
    assert found.rows["a"].dtype == object and found.rows["b"].dtype == object
    found = read_table(path, date_format="%d/%m/%Y")
    assert found.rows["a"].dt.month.tolist() == [2, 4] and found.rows["b"].dt.day.tolist() == [25, 24]


def test_times_of_several_zones_are_one_scale(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n2026-03-01T12:00:00+01:00,1\n2026-07-01T12:00:00+02:00,2\n")
    first, second = read_table(path).rows["a"]
    assert (first.hour, second.hour) == (11, 10)


def test_a_file_without_header_is_refused_or_taken_as_such(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("5.1,3.5,red\n4.9,3.0,blue\n4.7,3.2,red\n")
    with pytest.raises(ValueError, match=r"looks like data, not like names .*--header no"):
        read_table(path)
    assert list(read_table(path, header="no").rows.columns) == ["column1", "column2", "column3"]
    assert len(read_table(path, header="no").rows) == 3 and read_table(path, header="no").rows.index[0] == 1
    assert len(read_table(path, header="yes").rows) == 2


def test_years_and_words_are_names(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("2001,2002,2003\n1,2,3\n4,5,6\n")
    assert list(read_table(path).rows.columns) == ["2001", "2002", "2003"]
    path.write_text("a,1,b\n1,2,x\n4,5,y\n")
    assert list(read_table(path).rows.columns) == ["a", "1", "b"]


def test_names_that_repeat_or_are_absent_are_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",a,a,b\n1,2,3,4\n5,6,7,8\n")
    found = read_table(path)
    assert list(found.rows.columns) == ["column1", "a", "a (2)", "b"]
    assert found.rows["a (2)"].tolist() == [3, 7]
    assert len(found.notes) == 2


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.xlsx", "t.csv.gz", "t.xz", "t.zip"])
@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04" + b"\0" * 50])
def test_damaged_files(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises((ValueError, OSError), match=r"cannot be|no table|not a table|empty|is not text"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.json", b"[]", "is JSON, .* as CSV"),
        ("t.csv", b'{"a": 1}', "holds JSON"),
        ("t.csv", b"<!DOCTYPE html>", "HTML"),
        ("t.csv", b"", "it is empty"),
        ("t.csv", b"a,b\n", "header but no rows"),
        ("t.csv", b"a,b\n\0\0\0,1\n", "zero bytes"),
        ("t.csv", bytes(range(256)) * 4, "zero bytes|is not text"),
        ("t.dta", b"", "Stata"),
    ],
)
def test_what_is_no_table(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_table(path)


def test_names_that_are_no_files(tmp_path):
    for name, message in (
        ("https://example.org/t.csv", "is an address; download"),
        (str(tmp_path), "is a folder"),
        (str(tmp_path / "t.csv"), "There is no file"),
        ("x" * 5000, "cannot be read"),
        ("a\0b", "cannot be read"),
    ):
        with pytest.raises((ValueError, OSError), match=message):
            read_table(name)
    path = write(tmp_path, "t.csv")
    with pytest.raises(ValueError, match="encoding 'klingon'"):
        read_table(path, encoding="klingon")
    with pytest.raises(ValueError, match="there is no sheet 'x', the sheets are Sheet1"):
        read_table(write(tmp_path, "t.xlsx"), sheet="x")


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a;b\n1;2\n")))
    assert read_table("-").rows.to_numpy().tolist() == [[1, 2]]


def test_archives_with_several_files(tmp_path):
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "a,b\n")
        archive.writestr("b", "a,b\n")
    with pytest.raises(ValueError, match="holds 2 files"):
        read_table(path)
    for opener in (gzip, bz2, lzma):
        assert opener.decompress(opener.compress(b"x")) == b"x"


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "array", "categorical", "nullable"])
def test_frames_of_others(kind):
    plain = FRAME.drop(columns=["day"])
    frame = FRAME.drop(columns=["day"])
    if kind == "polars":
        frame = pytest.importorskip("polars").from_pandas(frame)
    elif kind == "pyarrow":
        frame = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    elif kind == "categorical":
        frame = frame.assign(place=frame["place"].astype("category"), count=frame["count"].astype("category"))
    elif kind == "nullable":
        frame = frame.convert_dtypes()
    elif kind == "array":
        assert list(as_table(frame[["height", "count"]].to_numpy()).rows.columns) == ["column1", "column2"]
        return
    same(as_table(frame), plain)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-1e6, 1e6), st.sampled_from(["a", "b c", 'q"x', "1;2", "", "ü"])), min_size=2, max_size=8
    )
)
def test_what_pandas_writes_is_read_back(rows):
    frame = pd.DataFrame(rows, columns=["number", "word"]).assign(end="e")
    text = frame.to_csv(index=False).encode()
    content, _ = reading_module.as_utf8(text, "t.csv")
    found, separator = reading_module.read_text(content, "t.csv", ",")
    table = reading_module._table(found, [], "t.csv", "line", "", "auto")
    np.testing.assert_allclose(table.rows["number"].to_numpy(float), frame["number"])
    words = [word if word else None for word in frame["word"]]
    assert [None if pd.isna(word) else word for word in table.rows["word"]] == words


@pytest.mark.parametrize(
    "written",
    [
        ["70 kg", "80 kg"], ["(1.23)", "4.5"], ["123'456", "1'000.5"],
        ["70 kg", "80 lb"], ["70 kg", "80"], ["$5", "€5"], ["$5", "5"], ["5%", "5"], ["12A", "13A"], ["70kg", "80kg"],
        ["(1)", "(2)"], ["007 B", "008 B"], ["A12", "B13"], ["555-1234", "555-1235"], ["12 May", "13 May"],
        ["10 AM", "11 AM"], ["1 234", "5 678"], ["5 Main St", "6 Main St"], ["12'34", "1'000"], ["1.2.3", "1.2.4"],
        ["$-5", "-$-5"], ["$5", "$6"], ["5%", "6 %"], ["22.437,04 €", "1,5 €"], ["$5 kg", "$6 kg"], ["14:05", "15:10"],
    ],
)  # fmt: skip
def test_codes_and_mixtures_stay_words(tmp_path, written):
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": written, "sex": "f"}).to_csv(path, index=False)
    found = read_table(path)
    assert found.rows["a"].tolist() == written and not found.notes


def test_what_the_parser_decides_silently_is_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,code,c,d\n1,None,00123,NA,x\nNA,red,00007,null,\nN/A,blue,10000,5,y\n")
    found = read_table(path)
    assert found.rows["code"].tolist() == [123, 7, 10000] and found.rows["b"].tolist() == [None, "red", "blue"]
    assert "a: 'N/A', 'NA' is taken as missing" in found.notes
    assert "b: 'None' is taken as missing" in found.notes and "c: 'NA', 'null' is taken as missing" in found.notes
    (zeros,) = [note for note in found.notes if "zeros" in note]
    assert zeros.startswith("code: leading zeros are lost, '00123' is the number 123; --category")
    path.write_text("a,b,code\n1,NA,0\nNA,NA,10\n")
    assert read_table(path).notes == ("a, b: 'NA' is taken as missing",)
    path.write_text("a;b\n1;NAME\n;0.5\n")
    assert read_table(path, separator=";").notes == ()


def test_words_that_blanks_told_apart_are_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("sex,town,x\nMale, Bonn,1\nMale ,Ulm,2\nMale, Bonn,3\n")
    found = read_table(path)
    assert found.rows["sex"].tolist() == ["Male"] * 3
    assert found.notes == ("sex: blanks around words are taken off, so that 'Male' and 'Male ' are one value",)

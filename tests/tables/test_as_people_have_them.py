"""Tables as people have them: title lines, empty lines, words that look like missing, codes, small groups, bombs."""

import gzip
import io
import shlex
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairpca
from fairpca import cli
from fairpca.report import analyse
from fairpca.tables import Rules, as_table, encoding, prepare, read_table, reading

N = 120


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(N, 3)).round(3), columns=list("abc")).assign(
        symptom=rng.choice(["None", "Mild", "Severe"], N), sex=np.where(np.arange(N) % 2, "f", "m")
    )


def roles(prepared):
    return {d.column: d.role for d in prepared.decisions}


def test_words_that_mean_something_are_kept(people, tmp_path, capsys):
    path = tmp_path / "t.csv"
    people.to_csv(path, index=False)
    none = (people["symptom"] == "None").sum()
    assert read_table(path).rows["symptom"].isna().sum() == none
    for marks in ([], ["?", "-"]):
        assert (read_table(path, missing_marks=marks).rows["symptom"] == people["symptom"].to_numpy()).all()
    people.replace("Mild", "unknown").to_csv(path, index=False)
    assert (
        read_table(path, missing_marks=["unknown"]).rows["symptom"].isna().sum() == (people["symptom"] == "Mild").sum()
    )
    command = ["fit", "pca", str(path), "--sensitive", "symptom", "--report"]
    assert cli.main(command) == 1
    assert "'None' is taken as missing, and --missing-marks '' keeps" in capsys.readouterr().err
    assert cli.main([*command, "--missing-marks", ""]) == 0, "and --report needs no output file"
    assert "None" in capsys.readouterr().out and sorted(p.name for p in tmp_path.iterdir()) == ["t.csv"]


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx"])
def test_a_title_line_and_empty_rows(people, tmp_path, name, capsys):
    path = tmp_path / name
    rows = [["Survey of wages", *[None] * 4], [None] * 5, list(people.columns), *people.to_numpy().tolist()]
    frame = pd.DataFrame([*rows, [None] * 5, [None] * 5])
    if name.endswith("csv"):
        frame.to_csv(path, index=False, header=False)
    else:
        frame.to_excel(path, index=False, header=False)
    assert cli.main(["fit", "pca", str(path), "--sensitive", "sex", "--report"]) == 1
    assert "--header-row 3" in capsys.readouterr().err
    table = read_table(path, header_row=3)
    assert list(table.rows.columns) == list(people.columns) and len(table.rows) == N
    assert table.rows.index[0] == 4
    np.testing.assert_allclose(table.rows["a"].to_numpy(dtype=float), people["a"])
    assert cli.main(["fit", "pca", str(path), "--sensitive", "sex", "--header-row", "3", "--report"]) == 0


def test_codes_for_missing_values_and_single_rows_are_pointed_out(people):
    age = np.random.default_rng(1).normal(40, 10, N)
    table = people.assign(age=np.where(np.arange(N) % 7 == 0, -999, age), pay=np.r_[5000.0, age[1:]])
    found = prepare(as_table(table), ["sex"], rules=Rules(outliers="keep")).warnings
    (code,) = [w for w in found if "--missing-marks -999" in w]
    assert f"'age' is -999 in {(N + 6) // 7} rows" in code
    assert not list(prepare(as_table(people), ["sex"]).warnings)
    many = pd.DataFrame({f"x{i}": np.where(np.arange(N) < 5, -999, age) for i in range(9)}).assign(sex=people["sex"])
    assert prepare(as_table(many), ["sex"]).warnings[-1] == "such codes and rows are in 4 more columns."
    shifted = people.assign(a=people["a"] + 1000.0)
    far = shifted.assign(a=np.r_[1300.0, shifted["a"][1:]])
    far = pd.concat([far, *[shifted] * 3], ignore_index=True)
    assert "'a' has a value " in prepare(as_table(far), ["sex"]).warnings[0]


def test_identifiers_and_nearly_unique_words_are_left_out(people):
    rng = np.random.default_rng(0)
    table = people.assign(
        account=rng.permutation(10**6)[:N],
        job_ad_id=rng.permutation(5000)[:N],
        phone=rng.permutation(10**6)[:N],
        tail=[f"T{i // 3}" for i in range(N)],
    )
    found = prepare(as_table(table), ["sex"])
    names = ("account", "job_ad_id", "phone", "tail")
    assert {name: roles(found)[name] for name in names} == dict.fromkeys(names, "left out")
    assert any("--keep takes it" in line for line in found.summary() if "tail" in line)
    kept = prepare(as_table(table), ["sex"], rules=Rules(keep=("account", "tail")))
    assert roles(kept)["account"] == "number" and roles(kept)["tail"] == "category"


@pytest.mark.parametrize("words", [("no", "yes"), ("No", "Yes"), ("n", "y"), ("false", "true")])
@pytest.mark.parametrize("share", [0.2, 0.8])
def test_yes_is_one_also_where_it_is_frequent(people, words, share):
    answers = np.where(np.random.default_rng(0).random(N) < share, *reversed(words))
    found = prepare(as_table(people[["a", "sex"]].assign(answer=answers)), ["sex"])
    assert f"1 for {words[1]!r}" in next(d.why for d in found.decisions if d.column == "answer").replace("True", "true")
    assert np.corrcoef(found.features()["answer"], answers == words[1])[0, 1] > 0.99


def test_small_groups_are_merged_and_their_price_is_said(people, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6)) * [3, 2, 1, 1, 1, 1]
    zone = np.r_[["tiny"] * 6, ["R"] * 200, ["C"] * 194]
    X[:6] = rng.normal(size=(6, 6)) * [0.1, 0.1, 0.1, 0.1, 8, 8]
    table = pd.DataFrame(X, columns=list("abcdef")).assign(zone=zone)
    settings = {"methods": ["pca"], "parts": 2, "components": [2], "rules": {"scale": "none"}}
    text = analyse(table, ["zone"], **settings).remarks()
    rest, kept = X[6:] - X[6:].mean(axis=0), []
    for rows in (slice(6, None), slice(None)):
        V = fairpca.MinMaxFairPCA(2).fit(X[rows], sensitive_features=zone[rows]).components_
        kept.append(100 * np.sum((rest @ V.T) ** 2) / np.sum(rest**2))
    said = (
        "without &#x27;tiny&#x27; (6 rows), min-max with 2 components keeps {:.0f} % of the variance of the other rows"
    )
    assert (said + " instead of {:.0f} %").format(*kept) in text
    merged = prepare(as_table(table), ["zone"], merge_below=195)
    assert merged.labels.value_counts().to_dict() == {"R": 200, "(other)": 200}
    assert "Small groups decide" not in analyse(table, ["zone"], merge_below=195, **settings).remarks()


# --------------------------------------------------------------------------------------------------------------------
# Files that are larger than they look


def test_compressed_tables_are_bounded(people, tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "SMALLEST_LIMIT", 10**6)
    for name in ("t.csv.gz", "t.zip"):
        path = tmp_path / name
        bomb = b"a,b\n" + b"1,2\n" * (5 * 10**6)
        if name.endswith("gz"):
            path.write_bytes(gzip.compress(bomb, 9))
        else:
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("t.csv", bomb)
        with pytest.raises(ValueError, match="inflates to more than"):
            read_table(path)
        people.to_csv(path, index=False)
        assert len(read_table(path).rows) == N


def test_workbooks_are_bounded(people, tmp_path, monkeypatch):
    import openpyxl

    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["a", "sex"])
    book.active.append([1, "f"])
    book.active["XFD1048576"] = 1
    for row in range(3, 400):
        book.active.cell(row, 1, row)
    book.save(path)
    with pytest.raises(ValueError, match="nearly all empty"):
        read_table(path)
    monkeypatch.setattr(reading, "LARGEST", 10**5)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", b" " * 10**8)
    path.write_bytes(content.getvalue())
    with pytest.raises(ValueError, match=r"inflates to 95 MB"):
        read_table(path)


def test_a_terminal_without_utf8_gets_its_output(people, tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    people.assign(name="ÅÄÖ…").to_csv(path, index=False)
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert cli.main(["fit", "pca", str(path), "--sensitive", "sex", "--report"]) == 0
    stream.flush()
    assert b"\\xc5" in stream.buffer.getvalue()


def test_the_first_commands_of_the_readme_run_in_an_empty_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    block = (Path(__file__).parents[2] / "README.md").read_text().partition("## On the command line")[2].split("```")[1]
    words = [shlex.split(line, comments=True)[1:] for line in block.strip().splitlines()[:6]]
    assert [line[0] for line in words] == ["data", "report", "compare", "fit", "inspect", "apply"]
    for line in words:
        if line[0] in ("report", "compare"):  # these take longer; that their options are right is seen without
            assert (tmp_path / cli._parser(line[0]).parse_args(line).data).exists()
        else:
            assert cli.main(line) == 0, capsys.readouterr().err
    assert cli.main(["fit", "pca", "people.csv", "--sensitive", "sex", "--report"]) == 1
    assert f"in {tmp_path}; a table to try: fairpca data export german_credit" in capsys.readouterr().err


def test_features_that_a_spreadsheet_takes_for_formulas_are_said(people, tmp_path, capsys):
    path, out = tmp_path / "t.csv", str(tmp_path / "o.csv")
    people.rename(columns={"a": "=cmd|calc!A0"}).to_csv(path, index=False)
    command = ["fit", "pca", str(path), "--sensitive", "sex"]
    assert cli.main([*command, "--components-out", out]) == 0
    assert "would be taken for a formula" in capsys.readouterr().err
    assert cli.main([*command, "--out", out]) == 0 and "formula" not in capsys.readouterr().err

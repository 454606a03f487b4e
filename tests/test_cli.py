"""The command `fairpca`: what it prints, writes and returns."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import toy_experiment  # noqa: F401  (registers the toy)

import fairpca
from fairpca import cli

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRPCA_STORE", str(tmp_path / "store.sqlite"))


def shell(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "fairpca", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


def test_help_and_version_load_nothing_heavy(capsys):
    code = (
        "import sys; from fairpca.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'pandas', 'sklearn', 'numba', 'scipy'} & set(sys.modules)))"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert finished.stdout.splitlines()[-1] == "[]"
    assert all(
        command in finished.stdout for command in ("run", "list", "status", "bench", "data", "scoreboard", "fit")
    )
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"fairpca {fairpca.__version__}\n"


def test_module_and_usage_errors():
    assert shell().returncode == 0
    assert shell("--version").stdout.startswith("fairpca ")
    wrong = shell("nonsense")
    assert wrong.returncode == 2 and "scoreboard" in wrong.stderr


def test_run_list_status(capsys, tmp_path):
    assert cli.main(["list"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("toy/table"))
    assert line.split() == ["toy/table", "4", "12", "A", "toy"]

    assert cli.main(["run", "toy/table"]) == 0
    assert "score" in capsys.readouterr().out
    assert cli.main(["status", "toy", "--profile", "paper"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["toy/table", "12", "4", "0", "none"]

    out = tmp_path / "results"
    command = ["run", "toy/table", "toy", "--profile", "paper", "--jobs", "2", "--save", "--out", str(out), "--quiet"]
    assert cli.main(command) == 0
    assert capsys.readouterr().out.count("wrote") == 3
    assert {path.name for path in (out / "toy").iterdir()} == {"table.csv", "table.json", "table.cells.csv.gz"}


def test_store_option(tmp_path):
    assert cli.main(["run", "toy/table", "--quiet", "--store", str(tmp_path / "deep" / "other.sqlite")]) == 0
    assert (tmp_path / "deep" / "other.sqlite").exists()
    assert not (tmp_path / "store.sqlite").exists()


def test_failing_cells_give_exit_code_one(capsys, monkeypatch):
    monkeypatch.setenv("TOY_FAIL", "1")
    assert cli.main(["run", "toy/table"]) == 1
    errors = capsys.readouterr().err
    assert "2 of 4 cells" in errors and "Traceback" in errors and "split 1 is cursed" in errors
    assert errors.count("failed: Cell(") == 2
    monkeypatch.setenv("TOY_FAIL", "")
    assert cli.main(["run", "toy/table"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "toy/nothing"], "Unknown experiment 'toy/nothing'; known are"),
        (["run", "nothing"], "Unknown experiment or paper 'nothing'; papers are"),
        (["run", "toy/table", "--profile", "huge"], "Unknown profile 'huge'; allowed are 'smoke', 'paper'"),
        (["run", "toy/table", "--save"], "give --out FOLDER"),
        (["bench", "nothing"], "Unknown benchmark 'nothing'; known are"),
        (["scoreboard", "--paper", "nobody2000"], "Unknown paper 'nobody2000'; known are "),
        (["scoreboard", "--verdict", "fine"], "Unknown verdict 'fine'; known are"),
    ],
)
def test_errors_say_what_is_known(capsys, arguments, message):
    assert cli.main(arguments) == 1
    output = capsys.readouterr()
    assert output.err.startswith("fairpca: error: ") and message in output.err
    assert "Traceback" not in output.err


def test_damaged_store(capsys, tmp_path):
    path = tmp_path / "store.sqlite"
    path.write_bytes(b"nonsense" * 1000)
    assert cli.main(["run", "toy/table"]) == 1
    assert "damaged or not an SQLite file" in capsys.readouterr().err


def test_benchmarks(capsys, tmp_path, monkeypatch):
    import fairpca.bench

    (tmp_path / "toybench.py").write_text(
        '"""Counts to a number.\n\nMore words."""\n'
        "import os, pandas as pd\n"
        "def run(quick=False):\n"
        "    return pd.DataFrame({'quick': [quick], 'threads': [os.environ['OMP_NUM_THREADS']]})\n"
    )
    monkeypatch.setattr(fairpca.bench, "__path__", [*fairpca.bench.__path__, str(tmp_path)])
    assert cli._benchmarks()["toybench"] == "Counts to a number."
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    assert cli.main(["bench", "toybench", "--quick", "--csv", str(tmp_path / "t.csv")]) == 0
    assert "True" in capsys.readouterr().out
    table = pd.read_csv(tmp_path / "t.csv")
    assert table["quick"].tolist() == [True] and table["threads"].tolist() == [1]
    assert cli.main(["bench"]) == 0
    assert "Counts to a number." in capsys.readouterr().out


def test_benchmarks_start_anew_with_one_thread(monkeypatch):
    started = []
    monkeypatch.setattr(cli.os, "execve", lambda *arguments: started.append(arguments))
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    cli._pin_threads()
    program, command, environment = started[0]
    assert program == sys.executable and command[1:3] == ["-m", "fairpca"]
    assert {environment[name] for name in cli._THREADS} == {"1"}


def test_closed_pipe():
    with subprocess.Popen(
        [sys.executable, "-m", "fairpca", "scoreboard", "--verdict", "differs"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_run_that_lacks_data_says_what_to_do_without_a_traceback():
    from fairpca.experiments.engine.registry import Cell
    from fairpca.experiments.engine.runner import RunFailed

    missing = "Traceback …\nrequests.ConnectionError: no network\n\nfairpca.datasets._files.DataError: Fetch it.\n"
    cells = [Cell(dataset=name) for name in ("lfw", "steel")]
    text = cli._explained(RunFailed("toy/first", dict.fromkeys(cells, missing), 3))
    assert text.startswith("2 of 3 cells of 'toy/first' failed") and text.endswith("\nFetch it.")
    assert "Traceback" not in text and text.count("Fetch it.") == 1
    mixed = RunFailed("toy/first", {cells[0]: missing, cells[1]: "Traceback …\nZeroDivisionError: zero\n"}, 3)
    assert cli._explained(mixed) == str(mixed)


# Own data ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)), columns=list("abcd"))
    table["sex"] = np.where(rng.random(60) < 0.5, "f", "m")
    table["old"] = rng.random(60) < 0.5
    path = tmp_path / "people.csv"
    table.to_csv(path, index=False)
    return path, table


def test_fit(people, tmp_path, capsys):
    path, table = people
    out, loadings = tmp_path / "projected.csv", tmp_path / "loadings.csv"
    command = ["fit", "pca", str(path), "--sensitive", "sex", "--drop", "old", "--components", "3", "--out", str(out)]
    assert cli.main([*command, "--report", "--components-out", str(loadings)]) == 0
    projected = pd.read_csv(out, float_precision="round_trip")
    model = fairpca.PCA(n_components=3).fit(table[list("abcd")], sensitive_features=table["sex"])
    np.testing.assert_allclose(projected.iloc[:, 1:], model.transform(table[list("abcd")]), atol=1e-12)
    assert projected["sex"].tolist() == table["sex"].tolist()
    np.testing.assert_allclose(pd.read_csv(loadings)[list("abcd")], model.components_, atol=1e-12)
    report = capsys.readouterr().out
    X = table[list("abcd")].to_numpy()
    errors = ((X - model.inverse_transform(model.transform(table[list("abcd")]))) ** 2).sum(axis=1)
    for group in ("f", "m"):
        assert f"{errors[table['sex'] == group].mean():.5f}"[:6] in report
    assert f"variance explained: {100 * model.explained_variance_ratio_.sum():.2f} %" in report


def test_interrupted_fit_writes_nothing(people, tmp_path, monkeypatch, capsys):
    path, _ = people
    out = tmp_path / "projected.csv"
    original = fairpca.MBFPCA.fit

    def fit(self, X, y=None, **more):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return original(self, X, y, **more)

    monkeypatch.setattr(fairpca.MBFPCA, "fit", fit)
    command = ["fit", "mbfpca", str(path), "--sensitive", "sex", "--drop", "old", "--set", "tau=0.5", "--out", str(out)]
    assert cli.main(command) == 130
    assert not out.exists() and "Stopped" in capsys.readouterr().err


def test_fit_standardises_and_combines_groups(people, tmp_path):
    path, table = people
    out = tmp_path / "projected.csv"
    command = ["fit", "pca", str(path), "--sensitive", "sex,old", "--standardise", "--out", str(out)]
    assert cli.main(command) == 0
    projected = pd.read_csv(out)
    assert list(projected.columns[:2]) == ["sex", "old"]
    scaled = (table[list("abcd")] - table[list("abcd")].mean()) / table[list("abcd")].std(ddof=0)
    spectrum = np.linalg.eigvalsh(np.cov(scaled.T))[::-1]
    np.testing.assert_allclose(projected.iloc[:, 2:].var(), spectrum[:2])


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, ["--sensitive", "gender"], "has no column 'gender'; its columns are a, b, c, d, sex, old"),
        ({}, ["--sensitive", "old"], "Columns 'sex' are not numbers.*--drop sex"),
        ({"a": np.nan}, ["--sensitive", "sex"], r"column 'a' has no value in 60 rows \(lines 2, 3, 4, 5, 6, …"),
        (
            {"sex": [None] + ["f"] * 59},
            ["--sensitive", "sex"],
            r"sensitive column 'sex' has no value in 1 rows \(lines 2 ",
        ),
        ({"a": 1.0}, ["--sensitive", "sex", "--standardise"], "'a' are constant"),
        ({}, ["--sensitive", "sex", "--components", "9"], "n_components"),
        ({}, ["--sensitive", "sex", "--set", "spin=3"], "Parameters are "),
        ({}, ["--sensitive", "sex", "--drop", "a,b,c,d,old"], "No columns are left"),
        ({"b": [np.inf] + [0.0] * 59}, ["--sensitive", "sex"], r"column 'b' is infinite in 1 rows \(first in line 2 "),
        ({"b": ["0.5", "?"] + ["1"] * 58}, ["--sensitive", "sex"], r"'b' are not numbers \(line 3 has '\?'\)"),
        ({"x, y": "z"}, ["--sensitive", "sex"], """--drop '"x, y"'"""),
        ({}, ["--sensitive", "sex", "--separator", "; "], "not a single character"),
        ({}, ["--sensitive", "sex", "--separator", ";"], "its columns are a,b,c,d,sex,old. If the file has more"),
        ({"pca0": "g"}, ["--sensitive", "pca0", "--drop", "sex"], "called pca0, pca1, as is the sensitive column"),
    ],
)
def test_fit_errors(people, tmp_path, capsys, change, arguments, message):
    import re

    path, table = people
    table.assign(**change).to_csv(path, index=False)
    out = tmp_path / "projected.csv"
    assert cli.main(["fit", "pca", str(path), "--out", str(out), *arguments]) == 1
    assert re.search(message, capsys.readouterr().err)
    assert not out.exists()


def test_fit_leaves_the_data_alone_and_refuses_folders(people, tmp_path, capsys):
    path, _ = people
    before = path.read_bytes()
    common = ["fit", "pca", str(path), "--sensitive", "sex"]
    out = str(tmp_path / "o.csv")
    for options, message in (
        (["--out", str(path)], "is the file with the data"),
        (["--out", str(tmp_path)], "is a folder"),
        (["--out", out, "--components-out", str(path)], "is the file with the data"),
        (["--out", out, "--components-out", out], "give two names"),
    ):
        assert cli.main([*common, *options]) == 1
        assert message in capsys.readouterr().err
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_fit_takes_quoted_names_and_other_separators(people, tmp_path):
    path, table = people
    table.rename(columns={"old": "old, yes"}).to_csv(path, index=False, sep=";")
    out = tmp_path / "projected.csv"
    command = ["fit", "pca", str(path), "--separator", ";", "--sensitive", "sex", "--drop", '"old, yes"']
    assert cli.main([*command, "--out", str(out)]) == 0
    assert pd.read_csv(out).columns.tolist() == ["sex", "pca0", "pca1"]


@pytest.mark.filterwarnings("default")
def test_fit_warns_without_a_place_in_the_source(people, tmp_path, capsys):
    path, table = people
    table.assign(sex="f").to_csv(path, index=False)
    command = ["fit", "minmax", str(path), "--sensitive", "sex", "--out", str(tmp_path / "o.csv")]
    assert cli.main(command) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("fairpca: warning: sensitive_features has a single group ('f')")


def test_fit_wrong_file_and_method(tmp_path, capsys):
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    header = tmp_path / "header.csv"
    header.write_text("a,b\n")
    other_encoding = tmp_path / "wide.csv"
    other_encoding.write_text("a,b\n1,2\n", encoding="utf-16")
    for method, file, message in (
        ("pca", tmp_path / "absent.csv", "There is no file"),
        ("pca", tmp_path, "is a folder"),
        ("pca", other_encoding, "is not text in UTF-8"),
        ("pca", empty, "cannot be read as a CSV file"),
        ("pca", header, "has a header but no rows"),
        ("tsne", header, "Unknown method 'tsne'; known are pca"),
    ):
        assert cli.main(["fit", method, str(file), "--sensitive", "a", "--out", str(tmp_path / "o.csv")]) == 1
        assert message in capsys.readouterr().err


def test_data_command_is_reached(capsys):
    assert cli.main(["data", "list"]) == 0
    assert "compas" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["data"])

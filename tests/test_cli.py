"""The command `fairpca`: what it prints, writes and returns."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import toy_experiment  # noqa: F401  (registers the toy)

import fairpca
from fairpca import _experiment_commands, cli

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
    assert all(command in finished.stdout for command in ("run", "list", "status", "data", "scoreboard", "fit"))
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
        (["scoreboard", "--paper", "nobody2000"], "Unknown paper 'nobody2000'; known are "),
        (["scoreboard", "--verdict", "fine"], "Unknown verdict 'fine'; known are"),
    ],
)
def test_errors_say_what_is_known(capsys, arguments, message):
    assert cli.main(arguments) == 1
    output = capsys.readouterr()
    assert output.err.startswith("fairpca: error: ") and message in output.err
    assert "Traceback" not in output.err


def test_fit_knows_every_estimator():
    from fairpca.cli import methods

    public = {name: getattr(fairpca, name) for name in fairpca.__all__ if name != "BaseFairPCA"}
    fitted = {
        name for name, thing in public.items() if isinstance(thing, type) and issubclass(thing, fairpca.BaseFairPCA)
    }
    assert set(methods().values()) == fitted


def test_damaged_store(capsys, tmp_path):
    path = tmp_path / "store.sqlite"
    path.write_bytes(b"nonsense" * 1000)
    assert cli.main(["run", "toy/table"]) == 1
    assert "damaged or not an SQLite file" in capsys.readouterr().err


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

    missing = "Traceback …\nrequests.ConnectionError: no network\n\nfairpca.datasets._download.DataError: Fetch it.\n"
    cells = [Cell(dataset=name) for name in ("lfw", "steel")]
    text = _experiment_commands._explained(RunFailed("toy/first", dict.fromkeys(cells, missing), 3))
    assert text.startswith("2 of 3 cells of 'toy/first' failed") and text.endswith("\nFetch it.")
    assert "Traceback" not in text and text.count("Fetch it.") == 1
    mixed = RunFailed("toy/first", {cells[0]: missing, cells[1]: "Traceback …\nZeroDivisionError: zero\n"}, 3)
    assert _experiment_commands._explained(mixed) == str(mixed)


def test_data_command_is_reached(capsys):
    assert cli.main(["data", "list"]) == 0
    assert "compas" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["data"])

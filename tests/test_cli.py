"""The command `fairpca`: what it prints, writes and returns."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fairpca
from fairpca import cli

ROOT = Path(__file__).resolve().parents[1]


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
        command in finished.stdout
        for command in ("fit", "apply", "inspect", "compare", "report", "moments", "choose", "data")
    )
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"fairpca {fairpca.__version__}\n"


def test_module_and_usage_errors():
    assert shell().returncode == 0
    assert shell("--version").stdout.startswith("fairpca ")
    wrong = shell("nonsense")
    assert wrong.returncode == 2 and "invalid choice" in wrong.stderr


def test_fit_knows_every_estimator():
    from fairpca.cli import methods

    public = {name: getattr(fairpca, name) for name in fairpca.__all__ if name != "BaseFairPCA"}
    fitted = {
        name for name, thing in public.items() if isinstance(thing, type) and issubclass(thing, fairpca.BaseFairPCA)
    }
    assert set(methods().values()) == fitted


def test_closed_pipe():
    with subprocess.Popen(
        [sys.executable, "-m", "fairpca", "data", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_data_command_is_reached(capsys):
    assert cli.main(["data", "list"]) == 0
    assert "compas" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["data"])

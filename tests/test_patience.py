"""A fit that lasts says so, and how to stop it."""

import time

import numpy as np
import pytest

import fairpca
from fairpca import _patience
from fairpca.cli import main


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(_patience, "FIRST_SECONDS", 0.1)


def table(path):
    rows = np.random.default_rng(0).normal(size=(30, 3))
    lines = [f"{a},{b},{c},{'fm'[i % 2]}" for i, (a, b, c) in enumerate(rows)]
    path.write_text("\n".join(["x,y,z,sex", *lines]) + "\n")
    return str(path)


def slowed(monkeypatch, kind):
    fit = kind.fit

    def slow(self, *arguments, **named):
        time.sleep(0.6)
        return fit(self, *arguments, **named)

    monkeypatch.setattr(kind, "fit", slow)


def test_lines_come_at_doubled_times(impatient, capsys):
    with _patience.Patience("still there", "Wait."):
        time.sleep(1.0)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "fairpca: still there, 0 seconds so far. Wait."
    assert 2 <= len(lines) <= 4  # after .1, .2, .4, .8 seconds, if the machine has time
    assert all(line.endswith("so far.") for line in lines[1:])
    time.sleep(0.3)
    assert capsys.readouterr().err == ""


def test_what_is_quick_says_nothing(capsys):
    with pytest.raises(ValueError), _patience.Patience("still there"):
        raise ValueError
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("method", "kind", "way", "easy"),
    [("mbfpca", "MBFPCA", "verbose", "tau=10"), ("minmax", "MinMaxFairPCA", "time_limit", "tol=1e-6")],
)
def test_fit_says_that_it_lasts(impatient, monkeypatch, capsys, tmp_path, method, kind, way, easy):
    slowed(monkeypatch, getattr(fairpca, kind))
    out = tmp_path / "out.csv"
    assert (
        main(
            [
                "fit",
                method,
                table(tmp_path / "people.csv"),
                "--sensitive",
                "sex",
                "--out",
                str(out),
                "--set",
                easy,
            ]
        )
        == 0
    )
    told = capsys.readouterr()
    assert f"fairpca: still fitting {method} to 30 rows, " in told.err
    assert f"Ctrl-C stops it, and nothing is written. --set \"options={{'{way}': " in told.err
    assert "still" not in told.out + out.read_text()


def test_fit_to_moments_says_that_it_lasts(impatient, monkeypatch, capsys, tmp_path):
    file = str(tmp_path / "people.moments.npz")
    assert main(["moments", table(tmp_path / "people.csv"), "--sensitive", "sex", "--out", file, "--quiet"]) == 0
    slowed(monkeypatch, fairpca.MinMaxFairPCA)
    assert main(["fit", "minmax", file, "--model", str(tmp_path / "model.npz")]) == 0
    assert "still fitting minmax to moments" in capsys.readouterr().err

"""A fit that lasts says so, and how to stop it."""

import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import fairpca
import fairpca._cli_table
from fairpca import FPCA, MBFPCA, RFPCA, MinMaxFairPCA, _patience
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


def test_compare_and_report_say_that_they_last(impatient, monkeypatch, capsys, tmp_path):
    import fairpca.report
    import fairpca.report.build

    def slow(*arguments, **named):
        time.sleep(0.5)
        raise ValueError("enough")

    monkeypatch.setattr(fairpca.report, "compare", slow)
    monkeypatch.setattr(fairpca.report.build, "built_report", slow)
    data = [table(tmp_path / "people.csv"), "--sensitive", "sex"]
    assert main(["compare", *data]) == 1
    told = capsys.readouterr().err
    assert "still comparing on 30 rows" in told and "Ctrl-C stops it, and nothing is written." in told
    assert main(["report", *data, "--out", str(tmp_path / "r.html")]) == 1
    assert "still building the report on 30 rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["compare"], "nothing was written"),
        (["report", "--out", "r.html"], "nothing was written"),
        (["fit", "pca", "--out", "z.csv"], "nothing was written"),
        (["moments", "--out", "m.npz"], "nothing was written"),
        (["moments", "--out", "m.npz", "--store", "s.sqlite"], "what was finished is kept"),
    ],
)
def test_an_interrupt_says_what_is_left(monkeypatch, capsys, tmp_path, arguments, sentence):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    table(tmp_path / "t.csv")
    monkeypatch.setattr(fairpca._cli_table, "prepare", interrupted)
    monkeypatch.setattr(fairpca.GroupMoments, "from_batches", interrupted)
    command, *rest = arguments
    words = [command, *rest[:1], "t.csv", *rest[1:]] if command == "fit" else [command, "t.csv", *rest]
    assert main([*words, "--sensitive", "sex"]) == 130
    assert capsys.readouterr().err == f"\nfairpca: Stopped; {sentence}.\n"


def _slow_problem():
    """Nearly equal columns in great number: nothing of this is done in a hundredth of a second."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 260)) + rng.standard_normal((600, 1))
    return X, rng.integers(0, 4, 600)


@pytest.mark.parametrize(
    ("model", "groups"),
    [
        (MinMaxFairPCA(12, options={"time_limit": 0.01}), 4),
        (MinMaxFairPCA(12, objective="nash", options={"time_limit": 0.01}), 4),
        (MinMaxFairPCA(12, nested=True, objective="variance", options={"time_limit": 0.01}), 4),
        (MinMaxFairPCA(12, options={"time_limit": 0.01}), 2),
        (FPCA(12, options={"time_limit": 0.01}), 2),
        (MBFPCA(2, tau=1e-4, options={"time_limit": 0.01}), 2),
        (MBFPCA(2, tau=1e-4, solver="repms", options={"time_limit": 0.01}), 2),
    ],
    ids=str,
)
def test_a_limit_of_time_ends_every_search_with_a_valid_answer(model, groups):
    X, codes = _slow_problem()
    with pytest.warns(ConvergenceWarning, match="stopped at its time limit; raise time_limit"):
        model.fit(X, sensitive_features=codes % groups)
    result = model.result_
    assert result.status != "optimal"
    if result.certificate == "proof" and not getattr(model, "nested", False):  # where it is of the last direction
        free = clone(model).set_params(options=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            free.fit(X, sensitive_features=codes % groups)
        sign = -1.0 if result.sense == "max" else 1.0
        assert sign * (free.result_.objective - result.bound) >= -1e-9 * abs(result.bound), "the bound holds"
    V = model.components_.T
    np.testing.assert_allclose(V.T @ V, np.diag(np.diagonal(V.T @ V)), atol=1e-9)


@pytest.mark.parametrize("model", [MinMaxFairPCA, FPCA, MBFPCA, RFPCA])
def test_a_limit_of_time_is_a_positive_number(model):
    X, codes = _slow_problem()
    with pytest.raises(ValueError, match="time_limit"):
        model(1, options={"time_limit": 0}).fit(X, sensitive_features=codes % 2)

"""`fairpca fit`: from somebody's table to files, or to an error that says what to do."""

import re
import signal

import numpy as np
import pandas as pd
import pytest
from extra_dimensions import three_axes

import fairpca
from fairpca import cli
from fairpca.metrics import reconstruction_losses


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
    command += ["--scale", "none"]
    assert cli.main([*command, "--report", "--components-out", str(loadings)]) == 0
    projected = pd.read_csv(out, float_precision="round_trip")
    model = fairpca.PCA(n_components=3).fit(table[list("abcd")], sensitive_features=table["sex"])
    np.testing.assert_allclose(projected.iloc[:, 1:], model.transform(table[list("abcd")]), atol=1e-12)
    assert projected["sex"].tolist() == table["sex"].tolist()
    np.testing.assert_allclose(pd.read_csv(loadings)[list("abcd")], model.components_, atol=1e-12)
    report = capsys.readouterr().out
    X, sex = table[list("abcd")].to_numpy(), table["sex"].to_numpy()
    for group in ("f", "m"):  # about the group's own mean, by the slow way
        rows = X[sex == group] - X[sex == group].mean(axis=0)
        error = ((rows - rows @ model.components_.T @ model.components_) ** 2).sum(axis=1).mean()
        line = next(line for line in report.splitlines() if line.split()[:1] == [group])
        assert float(line.split()[2]) == pytest.approx(error, abs=1e-5)
    assert f"{100 * model.explained_variance_ratio_.sum():.2f} % (PCA)" in report


def test_interrupted_fit_writes_nothing(people, tmp_path, monkeypatch, capsys):
    path, _ = people
    out = tmp_path / "projected.csv"

    def fit(self, X, y=None, **more):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(fairpca.MBFPCA, "fit", fit)
    command = ["fit", "mbfpca", str(path), "--sensitive", "sex", "--drop", "old", "--set", "tau=0.5", "--out", str(out)]
    assert cli.main(command) == 130
    assert not out.exists() and "Stopped" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, ["--sensitive", "gender"], "has no column 'gender'; its columns are a, b, c, d, sex, old"),
        ({"a": np.nan}, ["--sensitive", "sex", "--keep", "a", "--drop", "b,c,d,old"], "a: has no value at all"),
        ({"a": [np.nan] * 6 + [1, 2] * 27}, ["--sensitive", "sex", "--missing", "error"], r"6 rows \(lines 2, 3, 4"),
        ({"sex": [None] + ["f"] * 59}, ["--sensitive", "sex"], r"'sex' has no value in 1 of 60 rows \(lines 2\).*own"),
        ({}, ["--sensitive", "sex", "--components", "9"], "n_components"),
        ({}, ["--sensitive", "sex", "--set", "spin=3"], "Parameters are "),
        ({}, ["--sensitive", "sex", "--set", "tol=" + "-" * 50000], "NAME=VALUE"),
        ({}, ["--sensitive", "sex", "--drop", "a,b,c,d,old"], "No column is left"),
        ({"b": [np.inf] + [0.0] * 59}, ["--sensitive", "sex"], r"column 'b' is infinite in 1 rows \(lines 2\)"),
        ({"b": [1e200] + [0.0] * 59}, ["--sensitive", "sex"], "squares overflow"),
        ({"b": ["0.5", "x"] + ["1"] * 58}, ["--sensitive", "sex", "--number", "b"], "not a column of numbers"),
        ({}, ["--sensitive", "sex", "--separator", "; "], "not a single character"),
        ({}, ["--sensitive", "sex", "--separator", ";"], "its columns are a,b,c,d,sex,old. If the file has more"),
        ({"pca0": "g"}, ["--sensitive", "pca0", "--drop", "sex"], "called pca0, pca1, as is the sensitive column"),
        ({}, ["--sensitive", "sex\nold"], "cannot be split into names"),
        ({}, ["--sensitive", 'a"'], "has no column"),
        ({}, ["--sensitive", "a"], "60 different numbers.*--cut a="),
        ({}, ["--sensitive", "sex", "--cut", "sex=3"], "not a sensitive column of numbers"),
        ({}, ["--sensitive", "sex", "--cut", "age"], "not COLUMN=EDGE"),
        ({}, ["--sensitive", "sex", "--target", "sex"], "both sensitive and target"),
        ({}, ["--sensitive", "sex", "--max-levels", "1"], "max_levels=1 is out of range"),
    ],
)
def test_fit_errors(people, tmp_path, capsys, change, arguments, message):
    path, table = people
    table.assign(**change).to_csv(path, index=False)
    out = tmp_path / "projected.csv"
    assert cli.main(["fit", "pca", str(path), "--out", str(out), *arguments]) == 1
    assert re.search(message, capsys.readouterr().err)
    assert not out.exists()


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
    assert len(lines) == 2 and all(line.startswith("fairpca: warning: ") for line in lines)
    assert "single group, 'f'" in lines[0] and "sensitive_features has a single group ('f')" in lines[1]


def test_fit_wrong_file_and_method(tmp_path, capsys):
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    header = tmp_path / "header.csv"
    header.write_text("a,b\n")
    for method, file, message in (
        ("pca", tmp_path / "absent.csv", "There is no file"),
        ("pca", tmp_path, "--out cannot be had for moments, or for files that are read in batches"),
        ("pca", empty, "cannot be read as a CSV file"),
        ("pca", header, "has a header but no rows"),
        ("tsne", header, "Unknown method 'tsne'; known are pca"),
    ):
        assert cli.main(["fit", method, str(file), "--sensitive", "a", "--out", str(tmp_path / "o.csv")]) == 1
        assert message in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
def test_infeasible_is_an_error_and_writes_nothing(people, tmp_path, capsys):
    path, _ = people
    out = tmp_path / "o.csv"
    settings = {"tau": 1e-9, "n_starts": 1, "random_state": 0, "options": {"max_iter": 50}}
    table = pd.read_csv(path)
    X = table[list("abcd")].assign(old=table["old"].astype(float))
    model = fairpca.MBFPCA(n_components=4, **settings)
    with pytest.warns(Warning, match="max_iter=50"):
        model.fit((X - X.mean()) / X.std(ddof=0), sensitive_features=table["sex"])
    assert model.result_.status in ("not_found", "infeasible")
    command = ["fit", "mbfpca", str(path), "--sensitive", "sex", "--components", "4", "--out", str(out)]
    command += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    assert cli.main(command) == 1
    assert "--allow-infeasible" in capsys.readouterr().err and not out.exists()
    assert cli.main([*command, "--allow-infeasible"]) == 0
    assert out.exists()


def test_what_steers_a_terminal_is_shown(people, tmp_path, capsys):
    path, table = people
    table.assign(sex=np.where(table["sex"] == "f", "\x1b[31mred", "=cmd|x")).to_csv(path, index=False)
    assert cli.main(["fit", "pca", str(path), "--sensitive", "sex", "--out", str(tmp_path / "o.csv"), "--report"]) == 0
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err and "\\x1b[31mred" in printed.out
    assert "formula" in printed.err


def test_rows_left_out_are_named_by_their_lines(people, tmp_path):
    path, table = people
    sex = table["sex"].astype(object).where(table.index != 4, None)
    table.assign(sex=sex).to_csv(path, index=False)
    out = tmp_path / "o.csv"
    assert cli.main(["fit", "pca", str(path), "--sensitive", "sex", "--missing-groups", "drop", "--out", str(out)]) == 0
    assert pd.read_csv(out)["line"].tolist() == [*range(2, 6), *range(7, 62)]
    assert cli.main(["fit", "pca", str(path), "--sensitive", "sex", "--missing-groups", "own", "--out", str(out)]) == 0
    assert "(missing)" in set(pd.read_csv(out)["sex"])


def test_help_lists_the_parameters(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["fairpca", "fit", "--help"])
    with pytest.raises(SystemExit):
        cli.main()
    assert "rfpca" in capsys.readouterr().out.partition("parameters for --set")[2]


def test_report_of_mbfpca_has_the_quantity_that_it_bounds(people, tmp_path, capsys):
    path, table = people
    command = ["fit", "mbfpca", str(path), "--sensitive", "sex", "--drop", "old", "--scale", "none", "--report"]
    assert cli.main([*command, "--set", "tau=5", "--out", str(tmp_path / "o.csv")]) == 0
    model = fairpca.MBFPCA(2, tau=5).fit(table[list("abcd")], sensitive_features=table["sex"])
    assert f"MMD² between the groups: {model.mmd2_:.4g} (PCA), {model.mmd2_:.4g} (MBFPCA)" in capsys.readouterr().out
    assert cli.main([*command[:1], "minmax", *command[2:], "--out", str(tmp_path / "o.csv")]) == 0
    assert "MMD²" not in capsys.readouterr().out


def _columns(report):
    """Numbers of the report by column, a list of groups each."""
    lines = report.splitlines()
    head = next(number for number, line in enumerate(lines) if line.split()[:2] == ["group", "rows"])
    names = re.split(r"\s+(?=rows|error|loss)", lines[head].strip())
    rows = [line.split() for line in lines[head + 1 :] if len(line.split()) == len(names)]
    return {name: [float(row[j]) for row in rows] for j, name in enumerate(names) if j}


def test_report_of_extra_dimensions_is_of_the_map(tmp_path, capsys):
    """Two components, which shrink, beside PCA of the one asked for."""
    path = tmp_path / "axes.csv"
    table, group = three_axes()
    X = table.to_numpy()
    table.assign(group=group).to_csv(path, index=False)
    command = ["fit", "minmax", str(path), "--sensitive", "group", "--scale", "none", "--outliers", "keep", "--report"]
    command += ["--components", "1", "--set", "centering=group", "--set", "extra_dimensions=True"]
    assert cli.main([*command, "--out", str(tmp_path / "o.csv")]) == 0
    told = capsys.readouterr()
    report = told.out
    assert "2 components instead of 1: the solver's answer has more." in told.err
    model = fairpca.MinMaxFairPCA(1, centering="group", extra_dimensions=True).fit(table, sensitive_features=group)
    assert len(model.components_) == 2 and "MinMaxFairPCA has 2 components and PCA 1" in report
    found = _columns(report)
    assert found["error MinMaxFairPCA"] == pytest.approx(model.errors_.tolist(), abs=1e-5)
    assert found["loss MinMaxFairPCA"] == pytest.approx(model.losses_.tolist(), abs=1e-5)
    left = table.to_numpy() - model.inverse_transform(model.transform(table))
    slow = [np.sum(left[group == name].var(axis=0)) for name in "abc"]
    assert found["error MinMaxFairPCA"] == pytest.approx(slow, abs=1e-5)
    assert f"{100 * (1 - left.var(axis=0).sum() / X.var(axis=0).sum()):.2f} % (MinMaxFairPCA)" in report
    plain = reconstruction_losses(X, fairpca.PCA(1).fit(X, sensitive_features=group).components_.T, group)
    assert found["loss PCA"] == pytest.approx(plain.tolist(), abs=1e-5)


@pytest.mark.parametrize(
    ("method", "sign"), [("mean", "projection=oblique"), ("fpca", "options={'standardise': True}")]
)
def test_report_is_of_what_comes_back(people, tmp_path, capsys, method, sign):
    """An oblique code has a decoder of its own, and FPCA its scale; a projection on the span knows neither."""
    path, table = people
    command = ["fit", method, str(path), "--sensitive", "sex", "--drop", "old", "--scale", "none", "--outliers", "keep"]
    assert cli.main([*command, "--set", sign, "--report", "--out", str(tmp_path / "o.csv")]) == 0
    report = capsys.readouterr().out
    X, sex = table[list("abcd")], table["sex"].to_numpy()
    model = cli.estimator_of(method, 2, [sign]).fit(X, sensitive_features=sex)
    left = X.to_numpy() - model.inverse_transform(model.transform(X))
    name = type(model).__name__
    slow = [np.sum(left[sex == group].var(axis=0)) for group in ("f", "m")]
    assert _columns(report)[f"error {name}"] == pytest.approx(slow, abs=1e-5)
    assert f"{100 * (1 - left.var(axis=0).sum() / X.var(axis=0, ddof=0).sum()):.2f} % ({name})" in report

"""The commands on moments and on several files, against those on one table in memory."""

import json

import numpy as np
import pandas as pd
import pytest

from fairpca import GroupMoments
from fairpca.cli import main

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((600, 4)) * [5, 2, 1, 1] + 100, columns=list("abcd"))
    frame["sex"] = rng.choice(["f", "m"], 600)
    frame["id"] = range(600)
    frame["w"] = rng.integers(1, 3, 600)
    frame.loc[frame["sex"] == "m", "a"] += 1
    frame.iloc[:250].to_parquet(folder / "part1.parquet")
    frame.iloc[250:].to_parquet(folder / "part2.parquet")
    frame.to_csv(folder / "all.csv", index=False)
    return folder


def test_moments_then_fit_is_fit(folder, tmp_path, capsys):
    moments, common = tmp_path / "people.npz", ["--sensitive", "sex", "--drop", "id,w"]
    assert main(["moments", str(folder / "part*.parquet"), *common, "--out", str(moments)]) == 0
    assert "600 rows, 4 features, 2 groups: f (" in capsys.readouterr().out
    rows = pd.read_csv(folder / "all.csv")
    expected = GroupMoments.from_data(rows[list("abcd")], rows["sex"])
    np.testing.assert_allclose(GroupMoments.load(moments).scatters, expected.scatters, rtol=1e-10, atol=1e-9)
    loadings, models = [tmp_path / f"c{i}.csv" for i in range(3)], [tmp_path / f"m{i}.npz" for i in range(3)]
    given = ([str(moments)], [*map(str, sorted(folder.glob("*.parquet"))), *common], [str(folder / "all.csv"), *common])
    for data, csv, model in zip(given, loadings, models, strict=True):
        assert main(["fit", "minmax", *data, "--components-out", str(csv), "--model", str(model)]) == 0
    tables = [pd.read_csv(path).iloc[:, 1:].to_numpy() for path in loadings]
    np.testing.assert_allclose(tables[1], tables[0], atol=1e-10)
    np.testing.assert_allclose(tables[2], tables[0], atol=1e-10)
    projected = []
    for number, model in enumerate(models):
        assert main(["apply", str(model), str(folder / "all.csv"), "--out", str(tmp_path / f"z{number}.csv")]) == 0
        projected.append(pd.read_csv(tmp_path / f"z{number}.csv").to_numpy())
    np.testing.assert_allclose(projected[1], projected[0], atol=1e-9)
    np.testing.assert_allclose(projected[2], projected[0], atol=1e-9)
    capsys.readouterr()
    assert main(["inspect", str(models[0]), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["rows"] == 600 and set(facts["groups"]) == {"f", "m"} and len(facts["data_sha256"]) == 64


def test_weights_and_features(folder, tmp_path, capsys):
    rows = pd.read_csv(folder / "all.csv")
    expected = GroupMoments.from_data(rows[["a", "c"]], rows["sex"], sample_weight=rows["w"])
    arguments = ["moments", str(folder), "--sensitive", "sex", "--features", "a,c", "--weight", "w"]
    (folder / "all.csv").rename(tmp_path / "all.csv")
    try:
        assert main([*arguments, "--out", str(tmp_path / "m.npz"), "--quiet"]) == 0
    finally:
        (tmp_path / "all.csv").rename(folder / "all.csv")
    found = GroupMoments.load(tmp_path / "m.npz")
    np.testing.assert_allclose(found.scatters, expected.scatters, rtol=1e-10, atol=1e-9)
    assert found.feature_names == ("a", "c")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["fit", "minmax", "m.npz", "--out", "x.csv"], "--out cannot be had for moments"),
        (["fit", "minmax", "m.npz", "--model", "x.npz", "--sensitive", "sex"], "moments know their groups"),
        (["fit", "mbfpca", "m.npz", "--model", "x.npz"], "mbfpca compares whole distributions"),
        (["fit", "minmax", "m.npz"], "Nothing would be written"),
        (["fit", "minmax", "p1.parquet", "p2.parquet", "--model", "x.npz"], "--sensitive COLUMN"),
        (["fit", "minmax", "p1.parquet", "p2.parquet", "--model", "x", "--sensitive", "sex"], "hold no numbers"),
        (["fit", "minmax", "p1.parquet", "--out", "x.csv"], "--sensitive COLUMN"),
        (["moments", "p?.parquet", "--sensitive", "sex", "--drop", "q", "--out", "x.npz"], "--drop names 'q'"),
        (["moments", "nothing.parquet", "--sensitive", "sex", "--out", "x.npz"], "There is no file"),
    ],
)
def test_what_does_not_go_together_is_said_and_nothing_is_written(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4], "t": list("abcd"), "sex": ["f", "m", "f", "m"]})
    for name in ("p1.parquet", "p2.parquet"):
        frame.to_parquet(name)
    GroupMoments.from_data(frame[["a"]], frame["sex"]).save("m.npz")
    before = sorted(path.name for path in tmp_path.iterdir())
    assert main(arguments) == 1
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_csv_files_with_words_beside_the_features(tmp_path, monkeypatch, capsys):
    """A column of words is dropped, or named with a remedy, also where it begins with numbers."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"a": np.arange(8) % 5, "c": list("abcdefgh"), "b": np.arange(8) % 3, "g": list("fm") * 4})
    for name in ("p1.csv", "p2.csv"):
        frame.to_csv(name, index=False)
    common = ["--sensitive", "g"]
    assert main(["moments", "p1.csv", *common, "--drop", "c", "--out", "m.npz"]) == 0
    assert GroupMoments.load("m.npz").feature_names == ("a", "b")
    assert main(["fit", "pca", "p1.csv", "p2.csv", *common, "--drop", "c", "--model", "model.npz"]) == 0
    capsys.readouterr()
    assert main(["moments", "p1.csv", *common, "--drop", "q", "--out", "x.npz"]) == 1
    assert "--drop names 'q'" in capsys.readouterr().err
    assert main(["moments", "p1.csv", *common, "--out", "x.npz"]) == 1
    told = capsys.readouterr().err
    assert "column(s) 'c' hold no numbers (text)" in told and "--drop" in told and "--features" in told
    late = pd.DataFrame({"a": np.arange(400_000), "b": 1.5, "g": "f"}).astype({"b": object})
    late.loc[390_000, "b"] = "much"  # far behind the block that tells the types
    late.to_csv("late.csv", index=False)
    assert main(["moments", "late.csv", *common, "--out", "x.npz"]) == 1
    told = capsys.readouterr().err
    assert "column 'b' holds numbers, but 'much' in row 390002" in told and "--drop" in told


@pytest.mark.parametrize(
    "arguments",
    [
        "moments one.csv two.csv --sensitive sex --drop id,w --out two.csv",
        "moments *.csv --sensitive sex --drop id,w --out linked.npz",
        "fit pca one.csv two.csv --sensitive sex --drop id,w --model one.csv",
        "fit pca one.csv two.csv --sensitive sex --drop id,w --components-out two.csv",
        "fit pca people.npz --model people.npz",
        "fit pca one.csv --sensitive sex --out one.csv",
        "apply model.npz one.csv --out model.npz",
        "apply model.npz one.csv --out one.csv",
        "compare one.csv --sensitive sex --json one.csv",
        "report one.csv --sensitive sex --out one.csv",
    ],
)
def test_no_command_writes_over_what_it_reads(arguments, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = pd.read_csv(folder / "all.csv")
    frame[:300].to_csv("one.csv", index=False)
    frame[300:].to_csv("two.csv", index=False)
    assert main(["moments", "one.csv", "--sensitive", "sex", "--drop", "id,w", "--out", "people.npz"]) == 0
    assert main(["fit", "pca", "one.csv", "--sensitive", "sex", "--drop", "id,w", "--model", "model.npz"]) == 0
    (tmp_path / "linked.npz").symlink_to("two.csv")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    capsys.readouterr()
    assert main(arguments.split()) != 0
    assert "is read by this command, and would be lost" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before

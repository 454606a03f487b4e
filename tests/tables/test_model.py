"""Model files: what is applied is what was fitted; what is damaged, newer or does not fit is refused."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from extra_dimensions import three_axes

import fairpca
from fairpca import cli
from fairpca.tables import Rules, SavedModel, as_table, load_model, prepare, read_table
from fairpca.tables.writing import plain, provenance

N = 80


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    town = rng.choice(["a", "b", "c", "d"], N, p=[0.5, 0.3, 0.1, 0.1])
    return pd.DataFrame(
        {
            "x": rng.normal(size=N),
            "y": np.where(rng.random(N) < 0.1, np.nan, rng.normal(5, 3, N)),
            "z": rng.normal(size=N) + (town == "a"),
            "seen": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 400, N), unit="D"),
            "smoker": rng.choice(["yes", "no"], N),
            "town": town,
            "sex": np.where(np.arange(N) % 2, "f", "m"),
        }
    )


def saved(people, estimator, **rules):
    prepared = prepare(as_table(people), ["sex"], rules=Rules(max_levels=3, **rules))
    transformer = prepared.transformer().set_output(transform="pandas")
    X = transformer.fit_transform(prepared.frame)
    estimator.fit(X, sensitive_features=prepared.groups)
    facts = provenance(prepared, estimator, "test")
    return SavedModel.of(transformer, estimator, prepared.decisions, facts), transformer, prepared, X


@pytest.mark.parametrize("rules", [{}, {"scale": "none"}])
@pytest.mark.parametrize(
    "estimator", [fairpca.PCA(3), fairpca.MinMaxFairPCA(2), fairpca.FPCA(2), fairpca.RFPCA(2, centering="none")]
)
def test_applied_is_what_scikit_learn_computes(people, estimator, rules):
    made, transformer, prepared, X = saved(people, estimator, **rules)
    model = SavedModel.from_bytes(made.to_bytes(), "m.npz")
    new = people.sample(frac=1, random_state=0)[["town", "seen", "z", "y", "smoker", "x"]].iloc[:30]
    found, _ = model.prepare(as_table(new))
    expected = transformer.transform(as_table(new).rows)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert list(model.feature_names) == list(expected.columns) == list(X.columns)
    np.testing.assert_allclose(model.transform(found), estimator.transform(expected), atol=1e-10)
    Z = model.transform(found)
    np.testing.assert_allclose(model.inverse_transform(Z), estimator.inverse_transform(Z), atol=1e-10)


def test_nothing_in_the_file_is_an_object(people):
    made = saved(people, fairpca.PCA(2))[0]
    with np.load(io.BytesIO(made.to_bytes()), allow_pickle=False) as archive:
        assert {archive[name].dtype.kind for name in archive.files} == {"u", "f"}
    assert made.provenance["groups"] == {"f": 40, "m": 40} and made.provenance["versions"]["fairpca"]
    json.dumps(made.provenance)


@pytest.fixture
def files(people, tmp_path):
    data, model = tmp_path / "people.csv", tmp_path / "m.npz"
    people.to_csv(data, index=False)
    command = [
        "fit",
        "minmax",
        str(data),
        "--sensitive",
        "sex",
        "--model",
        str(model),
        "--out",
        str(tmp_path / "o.csv"),
    ]
    assert cli.main(command) == 0
    return data, model


def test_apply_repeats_fit(files, tmp_path, capsys):
    data, model = files
    again = tmp_path / "again.csv"
    assert cli.main(["apply", str(model), str(data), "--out", str(again), "--with", "sex,smoker"]) == 0
    first, second = pd.read_csv(tmp_path / "o.csv"), pd.read_csv(again)
    assert list(second.columns) == ["sex", "smoker", *first.columns[1:]]
    np.testing.assert_allclose(first.iloc[:, 1:], second.iloc[:, 2:], atol=1e-10)
    assert "get the median of the training rows" in capsys.readouterr().out


def test_inspect(files, capsys):
    assert cli.main(["inspect", str(files[1])]) == 0
    text = capsys.readouterr().out
    for word in ("MinMaxFairPCA", "optimal", "proof", "f (40), m (40)", "SHA-256", "numpy", "median"):
        assert word in text
    assert cli.main(["inspect", str(files[1]), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == N


@pytest.mark.parametrize("scale", ["none", "standardise"])
def test_inspect_of_extra_dimensions_is_of_the_map(tmp_path, capsys, scale):
    """Scores of shrunken directions have less variance than the map gives back."""
    table, group = three_axes(shift=1e5)
    data, model = tmp_path / "axes.csv", tmp_path / "m.npz"
    table.assign(group=group).to_csv(data, index=False)
    command = ["fit", "minmax", str(data), "--sensitive", "group", "--scale", scale, "--components", "1"]
    command += ["--set", "extra_dimensions=True"]
    assert cli.main([*command, "--model", str(model)]) == 0
    saved_model = load_model(model)
    rows, _ = saved_model.prepare(read_table(data))
    back = saved_model.inverse_transform(saved_model.transform(rows))
    kept = 1 - (rows - back).var(axis=0).sum() / rows.var(axis=0).sum()
    capsys.readouterr()
    assert cli.main(["inspect", str(model)]) == 0
    assert f"components  2 (1 asked for) of 4 features, {100 * kept:.2f} % of the variance" in capsys.readouterr().out
    assert cli.main(["inspect", str(model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["variance_kept"] == pytest.approx(kept)


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (lambda f: f.drop(columns=["x", "town"]), [], "no column 'x', 'town', which the model"),
        (lambda f: f.assign(town="e"), [], "levels that the training rows did not have: 'e' .lines 2, 3"),
        (lambda f: f.assign(smoker="maybe"), [], "'smoker' has levels"),
        (lambda f: f.assign(x="tall"), [], "'x' held numbers .* 'tall'"),
        (lambda f: f.assign(x=np.inf), [], "infinite in 80 rows"),
        (lambda f: f, ["--with", "shoe"], "no column 'shoe'"),
    ],
)
def test_rows_that_do_not_fit(files, people, tmp_path, capsys, change, arguments, message):
    import re

    data, model = files
    out = tmp_path / "new.csv"
    change(people).to_csv(data, index=False)
    assert cli.main(["apply", str(model), str(data), "--out", str(out), *arguments]) == 1
    assert re.search(message, capsys.readouterr().err)
    assert not out.exists()


def test_unknown_levels_may_have_no_indicator(files, people, tmp_path, capsys):
    data, model = files
    people.assign(town="e", smoker=None).to_csv(data, index=False)
    out = tmp_path / "new.csv"
    assert cli.main(["apply", str(model), str(data), "--out", str(out), "--unknown-levels", "none"]) == 0
    told = capsys.readouterr().out
    assert "town: 80 missing or unknown values are taken for no level" in told
    assert "smoker: 80 missing or unknown values are taken for 'no'" in told


def test_other_order_is_by_name_and_refused_where_names_are_places(files, people, tmp_path, capsys):
    data, model = files
    people[people.columns[::-1]].to_csv(data, index=False)
    out = tmp_path / "new.csv"
    assert cli.main(["apply", str(model), str(data), "--out", str(out)]) == 0
    assert "matched by name" in capsys.readouterr().out
    np.testing.assert_allclose(pd.read_csv(out), pd.read_csv(tmp_path / "o.csv").iloc[:, 1:], atol=1e-10)
    twice = people.rename(columns={"y": "x"})
    twice.to_csv(data, index=False)
    common = ["fit", "pca", str(data), "--sensitive", "sex", "--model", str(model)]
    assert cli.main(common) == 0
    twice[twice.columns[::-1]].to_csv(data, index=False)
    # Both columns are called x: by their names alone nobody can tell which is which.
    twice.iloc[:, [2, 0, 1, 3, 4, 5, 6]].to_csv(data, index=False)
    assert cli.main(["apply", str(model), str(data), "--out", str(out)]) == 1
    assert "known by their place only" in capsys.readouterr().err


def rewritten(path, change):
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays.pop("header").tobytes())
    change(header, arrays)
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header, arrays: header.update(version=99), "another version of fairpca .format 99"),
        (lambda header, arrays: header.update(kind="moments"), "holds 'moments', not 'model'"),
        (lambda header, arrays: header.pop("kind"), "holds no model"),
        (lambda header, arrays: arrays["matrix"].__setitem__((0, 0), 7.0), "checksum"),
        (lambda header, arrays: header["columns"].pop(), "checksum"),
        (lambda header, arrays: arrays.pop("fill"), "holds no model"),
        (lambda header, arrays: header.pop("checksum"), "holds no model"),
    ],
)
def test_changed_models_are_refused(files, capsys, change, message):
    import re

    rewritten(files[1], change)
    assert cli.main(["inspect", str(files[1])]) == 1
    assert re.search(message, capsys.readouterr().err)


def test_values_become_those_of_json():
    given = {1: (np.float64(1.5), np.int64(2), True, None), "x": np.array([np.nan, 2.0]), "y": complex(0, 1)}
    assert plain(given) == {"1": [1.5, 2, True, None], "x": [None, 2.0], "y": "1j"}


def test_pickles_and_other_files_are_not_opened(tmp_path):
    path = tmp_path / "m.npz"
    np.savez(path, header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="holds no model"):
        load_model(str(path))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", "x")
    with pytest.raises(ValueError, match="holds no model"):
        load_model(str(path))


def test_levels_with_a_unit_are_known_though_numbers_are_read_without(people):
    """The training rows had a word among them, so these levels were words; new rows alone are numbers."""
    people = people.assign(term=["36 months", "60 months", "unknown", "36 months"] * (N // 4))
    model, *_ = saved(people, fairpca.PCA(2))
    names = [f"term_{level}" for level in ("36 months", "60 months")]
    new = people[people["term"] != "unknown"]
    X, _ = model.prepare(as_table(new))
    at = [model.feature_names.index(name) for name in names]
    np.testing.assert_array_equal(X[:, at], [[t == "36 months", t == "60 months"] for t in new["term"]])


# --------------------------------------------------------------------------------------------------------------------
# What a file tells about people


def test_nothing_is_in_the_file_that_only_few_rows_have(tmp_path, capsys):
    rng = np.random.default_rng(0)
    n = 300
    job = rng.choice(["clerk", "nurse", "driver"], n).astype(object)
    rare = [f"secretjob{i}" for i in range(12)]
    job[:12], job[12:16], job[16:21] = rare, "secretfour", "fiveofthem"
    group = np.where(np.arange(n) % 2, "f", "m").astype(object)
    group[40:43] = "secretgroup"
    table = pd.DataFrame({
        "job": job, "pay": [f"{x:,.2f}" for x in np.r_[64058.57, rng.integers(1, 900, n - 1) * 100.0]],
        "pair": np.where(np.arange(n) < 3, "secretpair", "usual"), "x": rng.normal(size=n),
        "name": [f"secretname{i}" for i in range(n)], "sex": group,
    })  # fmt: skip
    data, model = tmp_path / "secretfolder" / "people.csv", tmp_path / "m.npz"
    data.parent.mkdir()
    table.to_csv(data, index=False)
    command = ["fit", "pca", str(data), "--sensitive", "sex", "--model", str(model), "--max-levels", "9"]
    assert cli.main([*command, "--min-different", "1"]) == 0
    content = zipfile.ZipFile(model).read("header.npy")
    assert b"secret" not in content and b"64,058" not in content and b"64058" not in content
    assert b"fiveofthem" in content and load_model(model).provenance["groups"] == {
        "f": 149, "m": 148, "(groups of fewer than 5 rows)": 3,
    }  # fmt: skip
    capsys.readouterr()
    assert cli.main(["inspect", str(model)]) == 0
    shown = capsys.readouterr().out
    for level in load_model(model).columns[-1].levels:
        assert level in shown
    assert "holds " in shown and "fewer than five rows" in shown and "secret" not in shown
    out = tmp_path / "o.csv"
    assert cli.main(["apply", str(model), str(data), "--out", str(out)]) == 0
    assert "job: 16 rare or new values have no indicator" in capsys.readouterr().out


def test_rare_levels_that_are_asked_for_are_said(people):
    kept = prepare(as_table(people.assign(town=[f"t{i}" for i in range(N)])), ["sex"], rules=Rules(keep=("town",)))
    (why,) = [d.why for d in kept.decisions if d.column == "town"]
    assert "a model file holds them" in why


def _npy(shape, content=b""):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


@pytest.mark.parametrize("shape", [(99999999, 99999999), (3, 3), (0, 10**18), (-1, 4)])
def test_declared_shapes_are_compared_with_what_is_there(files, shape, capsys):
    """Also with the right checksum: whoever writes the file computes it too."""
    from fairpca import _archive

    with zipfile.ZipFile(files[1]) as archive:
        parts = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
    header = json.loads(bytes(_archive._array(parts.pop("header"))))
    header.pop("checksum")
    parts["matrix"] = _npy(shape, b"\0" * 32)
    header["checksum"] = _archive._checksum(header, parts)
    parts["header"] = _archive._npy(np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
    with zipfile.ZipFile(files[1], "w") as archive:
        for name, content in parts.items():
            archive.writestr(f"{name}.npy", content)
    assert cli.main(["inspect", str(files[1])]) == 1
    assert "holds no model, or is damaged" in capsys.readouterr().err


def test_archives_that_inflate_are_not_read(files, capsys):
    from fairpca import _archive

    with zipfile.ZipFile(files[1]) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(files[1], "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content + b"\0" * (_archive.LARGEST if name == "fill.npy" else 0))
    assert files[1].stat().st_size < 2_000_000
    assert cli.main(["inspect", str(files[1])]) == 1
    assert "holds no model, or is damaged" in capsys.readouterr().err

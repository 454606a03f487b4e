"""The data sets: sizes, groups, and every value against the authors' files when the mirror is there."""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairpca._validation import encode_groups
from fairpca.datasets import DataError, describe, load, names, where
from fairpca.datasets._catalog import CATALOG
from fairpca.datasets._tables import SYNTHETIC2_WIDTHS

pytestmark = pytest.mark.mirror
MIRROR = Path(os.environ.get("FAIRPCA_MIRROR") or "/nowhere")
FAIRML = MIRROR / "upstream/molfat66__FairML"
RFPCA = MIRROR / "upstream/hieuvt29__distributionally_robust_fair_pca/data"
LEE = MIRROR / "upstream/nick-jhlee__fair-manifold-pca"
SAMADI = MIRROR / "upstream/mhli971__Fair-PCA/data/credit/default_degree.csv"

LEE_FOLDERS = {"compas": "COMPAS", "german": "German", "adult": "Adult"}
SPLIT_CHECKSUMS = json.loads(Path(__file__).with_name("lee_split_checksums.json").read_text())

BUNDLED = [name for name in names() if CATALOG[name].bundled]
FETCHED = [name for name in names() if not CATALOG[name].bundled]

# N, d and the sizes of groups 0 and 1: the papers' tables and the authors' files.
SIZES = {
    "default_credit": (30000, 22, 24629, 5371),
    "biodeg": (1055, 40, 699, 356),
    "e_coli": (333, 7, 193, 140),
    "energy": (768, 8, 384, 384),
    "german_credit": (1000, 48, 299, 701),
    "image": (660, 18, 330, 330),
    "letter": (20000, 16, 15336, 4664),
    "magic": (19020, 10, 6688, 12332),
    "parkinsons": (5875, 20, 4008, 1867),
    "skillcraft": (3337, 17, 1496, 1841),
    "statlog": (3071, 36, 1999, 1072),
    "steel": (1941, 24, 1268, 673),
    "taiwan_credit": (29623, 22, 11743, 17880),
    "wine_quality": (6497, 11, 1599, 4898),
    "lfw_24x24": (4000, 576, 2000, 2000),
    "compas": (2468, 11, 1641, 827),
    "german": (1000, 57, 149, 851),
    "adult": (2261, 97, 750, 1511),
    "synthetic1": (10000, 3, 5000, 5000),
    "synthetic2": (480, 100, 240, 240),
    "credit": (30000, 21, 24615, 5385),
    "lfw": (13232, 1764, 2962, 10270),
    "crime": (1993, 90, 1023, 970),
}
VU_FILES = {
    "default_credit": RFPCA / "default_credit.csv",
    "biodeg": FAIRML / "Biodeg_Data.csv",
    "e_coli": FAIRML / "Ecoli_Data.csv",
    "energy": FAIRML / "Energy_Data.csv",
    "german_credit": FAIRML / "German_Credit_Data.csv",
    "image": FAIRML / "Image_Seg_Data.csv",
    "letter": FAIRML / "Letter_Rec_Data.csv",
    "magic": FAIRML / "Magic_Data.csv",
    "parkinsons": FAIRML / "Parkinsons_Data.csv",
    "skillcraft": RFPCA / "SkillCraft_Data.csv",
    "statlog": FAIRML / "Statlog_Data.csv",
    "steel": FAIRML / "Steel_Data.csv",
    "taiwan_credit": FAIRML / "Taiwanese_Credit_Data.csv",
    "wine_quality": FAIRML / "Wine_Quality_Data.csv",
}


@pytest.fixture
def no_network(monkeypatch, tmp_path):
    """An empty cache and addresses that refuse connections; the mirror stays if there is one."""
    monkeypatch.setenv("FAIRPCA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("fairpca.datasets._download.RAW_HOST", "http://127.0.0.1:9")
    monkeypatch.setattr("fairpca.datasets._lfw.ARCHIVE_HOST", "http://127.0.0.1:9")


def load_or_expect_error(name, **options):
    """Load, or check that the error for a data set that nobody has here says what to do, and return None."""
    if where(name) != "missing":
        return load(name, **options)
    with pytest.raises(DataError, match=rf"fairpca data fetch lfw|fairpca data fetch {name}"):
        load(name, **options)
    return None


def needs_mirror(path: Path):
    if not path.exists():
        pytest.skip(f"{path.name}: the authors' file is not bundled; set FAIRPCA_MIRROR to a folder with the data")


def test_every_set_has_its_sizes_here():
    assert sorted(names()) == sorted(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_sizes_and_groups(name, no_network):
    entry = CATALOG[name]
    assert (entry.n_samples, entry.n_features, *entry.group_sizes) == SIZES[name]
    data = load_or_expect_error(name)
    if data is None:
        assert name in FETCHED
        return
    assert (*data.X.shape, *np.bincount(data.group_code)) == SIZES[name]
    assert np.isfinite(data.X).all() and data.X.flags.c_contiguous and data.X.flags.writeable
    assert len(data.feature_names) == len(set(data.feature_names)) == data.X.shape[1]
    assert (data.y is None) == (entry.label is None)
    assert data.y is None or data.y.shape == (len(data.X),)
    assert data.X.std(axis=0).min() > 0 or name == "adult"
    # The words sort as the codes do, so that the estimators see the authors' order of groups.
    groups = encode_groups(data.sensitive_features)
    assert groups.labels == data.group_names == entry.group_names
    np.testing.assert_array_equal(groups.codes, data.group_code)
    assert data.name == name and data.description == describe(name)


@pytest.mark.parametrize("name", BUNDLED)
def test_frames_hold_the_same_numbers(name):
    plain, frame = load(name), load(name, as_frame=True)
    assert isinstance(frame.X, pd.DataFrame) and tuple(frame.X.columns) == plain.feature_names
    np.testing.assert_array_equal(frame.X.to_numpy(), plain.X)
    assert list(frame.sensitive_features.cat.categories) == list(plain.group_names)
    np.testing.assert_array_equal(frame.sensitive_features.cat.codes, plain.group_code)
    assert list(frame.sensitive_features) == list(plain.sensitive_features)
    if plain.y is None:
        assert frame.y is None
    else:
        np.testing.assert_array_equal(frame.y, plain.y)


def test_a_caller_cannot_spoil_the_next_one():
    first = load("energy")
    first.X[:] = 0
    first.y[:] = 7
    again = load("energy")
    assert again.X.min() >= 0 and again.X.max() > 100 and set(again.y) == {0, 1}


@pytest.mark.parametrize(
    ("name", "rank"), [("energy", 7), ("german_credit", 47), ("compas", 9), ("german", 45), ("adult", 84)]
)
def test_ranks(name, rank):
    X = load(name).X
    singular = np.linalg.svd((X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1), compute_uv=False)
    assert int((singular > 1e-9 * singular[0]).sum()) == rank == CATALOG[name].rank
    assert f"rank {rank}" in describe(name)


# --- against the authors' files


@pytest.mark.parametrize("name", VU_FILES)
def test_vu_values_equal_the_authors_file(name, no_network):
    path = VU_FILES[name]
    needs_mirror(path)
    published = pd.read_csv(path, skipinitialspace=True, float_precision="round_trip")
    features = published.iloc[:, :-2]
    features = features.loc[:, features.std() != 0].drop(columns=["perimX", "perimY"], errors="ignore")
    data = load(name)
    np.testing.assert_array_equal(data.X, features.to_numpy(float))
    np.testing.assert_array_equal(data.group_code, published.iloc[:, -1])
    assert [c.strip('"') for c in features.columns] == list(data.feature_names)
    if published.columns[-2] == "DummyMain":
        assert data.y is None
    else:
        np.testing.assert_array_equal(data.y, published.iloc[:, -2])


def test_samadi_credit_equals_the_authors_file():
    needs_mirror(SAMADI)
    published = pd.read_csv(SAMADI, header=1)
    data = load("credit", keep_pay_amt6=True)
    assert list(published.columns[2:]) == list(data.feature_names)
    np.testing.assert_array_equal(data.X, published.iloc[:, 2:])
    np.testing.assert_array_equal(data.sensitive_features == "high", published["EDUCATION"].isin([1, 2]))
    default = load("credit")
    assert default.feature_names == data.feature_names[:-1] and data.feature_names[-1] == "PAY_AMT6"
    np.testing.assert_array_equal(default.X, data.X[:, :-1])


@pytest.mark.parametrize("name", LEE_FOLDERS)
def test_lee_tables_equal_full_csv(name):
    path = LEE / "datasets" / LEE_FOLDERS[name] / "full.csv"
    if name == "adult":
        assert load(name).X.shape == (2261, 97)  # the authors' table is not public; its rows are in the splits
        return
    needs_mirror(path)
    published = np.loadtxt(path, delimiter=",")
    data = load(name)
    np.testing.assert_array_equal(np.column_stack([data.X, data.y, data.group_code]), published)


@pytest.mark.parametrize("split", range(10))
@pytest.mark.parametrize("name", LEE_FOLDERS)
def test_lee_split_files_byte_for_byte(name, split):
    """All sixty, against the checksums of the authors' files; and against the files when the mirror is there."""
    for part in ("train", "test"):
        data, buffer = load(name, split=split)[part == "test"], io.BytesIO()
        np.savetxt(buffer, np.column_stack([data.X, data.y, data.group_code]), delimiter=",")
        text = buffer.getvalue()
        assert hashlib.sha256(text).hexdigest() == SPLIT_CHECKSUMS[f"{name}/{part}_{split}"]
        path = LEE / "datasets" / LEE_FOLDERS[name] / f"{part}_{split}.csv"
        assert not path.exists() or path.read_bytes() == text


@pytest.mark.parametrize("name", LEE_FOLDERS)
def test_lee_splits_are_the_table_rearranged_and_standardised(name):
    whole = load(name)
    train, test = load(name, split=3)
    assert len(train.X) == CATALOG[name].train_rows and len(train.X) + len(test.X) == len(whole.X)
    spread = train.X.std(axis=0)
    assert np.abs(train.X.mean(axis=0)).max() < 1e-12
    assert np.all((np.abs(spread - 1) < 1e-12) | (spread == 0))
    # Rows that are equal in the table are equal after scaling and no others: the same patterns, equally often.
    before = np.column_stack([whole.X, whole.y, whole.group_code])
    after = np.vstack([np.column_stack([part.X, part.y, part.group_code]) for part in (train, test)])
    counts = [np.unique(rows.round(9), axis=0, return_counts=True)[1] for rows in (before, after)]
    assert sorted(counts[0]) == sorted(counts[1]) and counts[0].sum() == len(whole.X)


@pytest.mark.parametrize("p", SYNTHETIC2_WIDTHS)
def test_synthetic2(p, no_network):
    whole = load_or_expect_error("synthetic2", p=p)
    if whole is None:
        return
    assert whole.X.shape == (480, p)
    train, test = load("synthetic2", p=p, split=0)
    published = [np.loadtxt(LEE / f"synthetic2/{p}/{part}_1.csv", delimiter=",") for part in ("train", "test")]
    for ours, theirs in zip((train, test), published, strict=True):
        np.testing.assert_array_equal(np.column_stack([ours.X, ours.y, ours.group_code]), theirs)
    train, test = load("synthetic2", p=p, split=7)
    assert not np.array_equal(train.X, published[0][:, :-2])
    rows = np.vstack([train.X, test.X])
    np.testing.assert_array_equal(rows[np.lexsort(rows.T)], whole.X[np.lexsort(whole.X.T)])


def test_synthetic1(no_network):
    data = load_or_expect_error("synthetic1")
    if data is not None:
        published = np.loadtxt(LEE / "synthetic1/synthetic1.csv", delimiter=",")
        np.testing.assert_array_equal(np.column_stack([data.X, data.y, data.group_code]), published)


# --- arguments


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("name='iris' is not known; choose one of 'default_credit', .*'lfw'", lambda: load("iris")),
        ("'energy' has no published splits; only adult, compas, german, synth", lambda: load("energy", split=0)),
        (r"split=10 is out of range; it must lie in \[0, 9\]", lambda: load("compas", split=10)),
        ("split must be an integer", lambda: load("compas", split=1.5)),
        ("p=25 was not published; choose one of 20, 30", lambda: load("synthetic2", p=25)),
        ("keep_pay_amt6", lambda: load("energy", keep_pay_amt6=True)),
    ],
)
def test_unknown_names_and_options(message, call):
    with pytest.raises((ValueError, TypeError), match=message):
        call()

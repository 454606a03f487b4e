"""Compare the numbers in ``data/results`` with those of a commit, key by key.

    python scripts/compare_results.py                                  against the baseline commit
    python scripts/compare_results.py --moved paper/table1 paper/table2:sd
    python scripts/compare_results.py @moved.txt                       arguments from a file, one a line

A number has moved if it differs by more than 1e-5 of max(|value|, 1e-6) and by more than what ABSOLUTE allows for its
metric.  Columns of text are prose and are not compared, and neither are cells and provenance.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "data/results"
BASELINE = "8e40e7a"
RELATIVE, FLOOR = 1e-5, 1e-6
# Costs of one run on one machine, and gaps between a bound and a value that a solver was asked to bring below 1e-7.
COSTS = (
    "seconds eighs generating_seconds seconds_1 seconds_2 speed_up microseconds_a_row nanoseconds_a_pair "
    "resident_megabytes"
)
ABSOLUTE = dict.fromkeys(COSTS.split(), np.inf) | {"relative_gap": 1e-7}
KEYS = (
    *("exhibit", "id", "dataset", "p", "method", "setting", "d", "tau", "alpha", "m", "partitions", "offset"),
    *("sample_size", "index", "draw", "split", "part", "fault", "engine", "statistic", "metric", "protocol"),
)


def tables_of(commit: str, root: Path) -> dict[str, pd.DataFrame]:
    """Return the tables of a commit by name."""

    def git(*arguments: str) -> bytes:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)
        if done.returncode:
            raise SystemExit(f"{commit}: git {arguments[0]} failed, and the baseline must be a commit of this clone.\n"
                             f"{done.stderr.decode().strip()}")  # fmt: skip
        return done.stdout

    paths = git("ls-tree", "-r", "--name-only", commit, f"{FOLDER}/").decode().splitlines()
    return {
        path.removeprefix(f"{FOLDER}/").removesuffix(".csv"): read(io.BytesIO(git("show", f"{commit}:{path}")))
        for path in paths
        if path.endswith(".csv")
    }


def read(source: io.BytesIO | Path) -> pd.DataFrame:
    return pd.read_csv(source, dtype=str, keep_default_na=False)


def plain(key: str) -> str:
    """Write 20.0 as 20, so that the type of a column of keys does not matter."""
    return key.removesuffix(".0") if key.removesuffix(".0").isdigit() else key


def numbers(column: pd.Series) -> np.ndarray:
    return pd.to_numeric(column, errors="coerce").to_numpy(float)


def differ(old: np.ndarray, new: np.ndarray, absolute: np.ndarray) -> np.ndarray:
    """Tell which numbers have moved; missing on both sides is equal, missing on one is not."""
    with np.errstate(invalid="ignore"):
        near = np.abs(old - new) <= np.maximum(RELATIVE * np.maximum(np.abs(old), FLOOR), absolute)
    return ~(near | (old == new) | (np.isnan(old) & np.isnan(new)))


def compare(old: pd.DataFrame, new: pd.DataFrame, most: int = 5) -> dict[str, list[str]]:
    """Return what has moved in a table, by column; what is wrong with its shape is under the empty name."""
    if list(old) != list(new):
        return {"": [f"columns were {', '.join(old)} and are {', '.join(new)}"]}
    keys = [name for name in old if name in KEYS]
    if old.duplicated(keys).any():  # the same measurement at several sizes
        keys += [name for name in ("n", "starts") if name in old]
    before, after = (table.set_index(pd.MultiIndex.from_frame(table[keys].map(plain))) for table in (old, new))
    if after.index.has_duplicates:
        return {"": [f"{after.index.duplicated().sum()} rows have the key of another one ({', '.join(keys)})"]}
    found: dict[str, list[str]] = {}
    for rows, word in ((before.index.difference(after.index), "lost"), (after.index.difference(before.index), "new")):
        if len(rows):
            named = [
                ", ".join(f"{k}={v}" for k, v in zip(keys, row if len(keys) > 1 else [row], strict=True) if v)
                for row in rows
            ]
            found.setdefault("", []).append(f"{len(rows)} rows are {word}: " + shown(named, most, "; "))
    common = before.index.intersection(after.index, sort=False)
    before, after = before.loc[common], after.loc[common]
    metric = before["metric"] if "metric" in before else pd.Series("", before.index)
    for column in [name for name in old if name not in keys]:
        x, y = numbers(before[column]), numbers(after[column])
        if np.isnan(x).all() or column in ("ours", "reason"):
            continue  # prose
        allowed = metric.map(lambda name: ABSOLUTE.get(name, 0.0)).to_numpy(float)
        moved = differ(x, y, allowed if column != "n" else np.zeros(len(x)))
        if moved.any():
            lines = [
                ", ".join(f"{k}={v}" for k, v in zip(keys, row, strict=True) if v) + f": {a:.8g} -> {b:.8g}"
                for row, a, b in zip(common[moved], x[moved], y[moved], strict=True)
            ]
            found[column] = [f"{moved.sum()} of {len(x)} moved", *shown(lines, most, "\n").split("\n")]
    return found


def shown(lines: list[str], most: int, separator: str) -> str:
    rest = [f"and {len(lines) - most} more"] if len(lines) > most else []
    return separator.join([*lines[:most], *rest])


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, fromfile_prefix_chars="@"
    )
    parser.add_argument("--base", default=BASELINE, metavar="COMMIT", help="the baseline (default: %(default)s)")
    parser.add_argument(
        "--moved", nargs="+", action="extend", default=[], metavar="TABLE[:COLUMN]", help="what may differ"
    )
    parser.add_argument("--most", type=int, default=5, metavar="N", help="numbers that are shown for a column")
    options = parser.parse_args(arguments)
    expectations, wrong = set(options.moved), 0
    tables = tables_of(options.base, root)
    if not tables:
        raise SystemExit(f"{options.base} has no tables in {FOLDER}; name a commit that has some with --base COMMIT.")
    for name, old in tables.items():
        path = root / FOLDER / f"{name}.csv"
        found = compare(old, read(path), options.most) if path.is_file() else {"": ["the table is lost"]}
        for column, lines in found.items():
            expected = bool({name, f"{name}:{column}"} & expectations)
            wrong += not expected
            print(f"{name}{':' if column else ''}{column}{' (expected)' if expected else ''}: " + "\n    ".join(lines))
    print(f"{len(tables)} tables compared with {options.base}; {wrong or 'no'} unexpected differences")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

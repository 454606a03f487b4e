"""Run one benchmark with one thread and print its table: python benchmarks/run.py minmax [--quick] [--csv FILE]."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

import pandas as pd

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
NAMES = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--csv", metavar="FILE", help="write the table to a file")
    options = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREADS):  # libraries read these when they are loaded
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | dict.fromkeys(THREADS, "1"))
    table = import_module(f"bench_{options.name}").run(quick=options.quick)
    with pd.option_context("display.width", None, "display.max_rows", None, "display.max_columns", None):
        print(table.to_string(index=False))
    if options.csv:
        table.to_csv(options.csv, index=False)


if __name__ == "__main__":
    main()

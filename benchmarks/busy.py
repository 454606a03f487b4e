"""Time the fits beside a busy process, with the default number of threads against one BLAS thread.

    python benchmarks/busy.py                     all estimators, p = 10, 50, 250, 600
    python benchmarks/busy.py --only RFPCA --runs 15

A second process multiplies matrices all the time.  The two settings take turns; printed is the ratio of their summed
wall times.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from contextlib import nullcontext

from speed import FITS, sample
from threadpoolctl import threadpool_limits

import fairpca

BUSY = "import numpy as np\nA = np.ones((600, 600))\nwhile True: A @ A"


def seconds(name: str, p: int, m: int, limit: int | None) -> float:
    """Return the wall time of one fit with at most `limit` BLAS threads."""
    estimator, _, parameters = FITS[name]
    X, s = sample(p, m, 300 if estimator == "MBFPCA" else max(1500, 3 * p))
    model = getattr(fairpca, estimator)(3, **parameters)
    with threadpool_limits(limit) if limit else nullcontext():
        start = time.perf_counter()
        model.fit(X, sensitive_features=s)
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="only fits with this text in their name")
    parser.add_argument("--runs", type=int, default=9, help="of each setting (default: %(default)s)")
    parser.add_argument("--widths", type=int, nargs="+", default=[10, 50, 250, 600], help="numbers of features")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    busy = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        for p in options.widths:
            for name, m in ((name, m) for name, (_, groups, _) in FITS.items() for m in groups[:2]):
                if options.only not in name:
                    continue
                runs = options.runs if seconds(name, p, m, 1) < 3 else 2
                turns = [(seconds(name, p, m, 1), seconds(name, p, m, None)) for _ in range(runs)]
                one, default = (sum(times) for times in zip(*turns, strict=True))
                case = f"p = {p:3}, {name}, {m} groups"
                print(f"{case}: {default / one:.2f}  ({1e3 * one / runs:.1f} ms with one thread)", flush=True)
    finally:
        busy.kill()


if __name__ == "__main__":
    main()

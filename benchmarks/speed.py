"""Time the fits of two versions of the package against each other, and flag those that have become slower.

    python benchmarks/speed.py --old ../base --new .
    python benchmarks/speed.py --old ../base --new . --only RFPCA --runs 15

Each version runs in a process of its own with one thread, and the two take turns.  The number of a version is the
least processor time of its runs.  A ratio above 1.15 is flagged after twice as many runs.  Fits of less than a
millisecond are not judged, and fits of more than --most seconds are not measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

FLAG, LEAST = 1.15, 1e-3
WIDTHS = (10, 50, 100, 150, 250, 600)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
TWO, ALL = (2,), (2, 3, 6)
# An estimator, the numbers of groups that it can do, and its parameters.
FITS: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "PCA": ("PCA", ALL, {}),
    "MinMaxFairPCA": ("MinMaxFairPCA", ALL, {}),
    "MinMaxFairPCA variance": ("MinMaxFairPCA", ALL, {"objective": "variance"}),
    "FPCA": ("FPCA", TWO, {}),
    "FPCA mean": ("FPCA", TWO, {"constraints": "mean"}),
    "RFPCA": ("RFPCA", TWO, {}),
    "RFPCA mm": ("RFPCA", ALL, {"solver": "mm", "max_iter": 10}),
    "RFPCA subgradient": ("RFPCA", ALL, {"solver": "subgradient", "max_iter": 100, "random_state": 0}),
    "MeanFairPCA": ("MeanFairPCA", ALL, {}),
    "MeanFairPCA covariance": ("MeanFairPCA", ALL, {"match": "mean+covariance"}),
    "MBFPCA": ("MBFPCA", TWO, {"tau": 0.01, "n_starts": 1, "random_state": 0}),
}


@cache
def sample(p: int, m: int, n: int) -> tuple[Any, Any]:
    """Return rows of groups with their own means and covariances."""
    import numpy as np

    random = np.random.default_rng([p, m])
    groups = np.arange(n) % m
    shared = random.normal(size=(p, p)) * 0.97 ** np.arange(p)
    mixes = [shared + 0.4 * random.normal(size=(p, p)) * 0.97 ** np.arange(p) for _ in range(m)]
    X = random.normal(size=(n, p))
    for group, mix in enumerate(mixes):
        X[groups == group] = X[groups == group] @ mix.T + 0.3 * random.normal(size=p)
    return X, groups


def work() -> None:
    """Answer each name of a case with the seconds of one fit, or with why there are none."""
    import fairpca

    answers, sys.stdout = sys.stdout, sys.stderr
    print(Path(fairpca.__file__).resolve().parents[1], file=answers, flush=True)
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        name, p, m = line.strip().split(", ")
        estimator, _, parameters = FITS[name]
        X, s = sample(int(p), int(m), 300 if estimator == "MBFPCA" else max(1500, 3 * int(p)))
        try:
            model = getattr(fairpca, estimator)(3, **parameters)
            start = time.process_time()
            model.fit(X, sensitive_features=s)
            print(time.process_time() - start, file=answers, flush=True)
        except Exception as error:  # an estimator or a parameter that this version does not have
            print(f"{type(error).__name__}: {error}".replace("\n", " "), file=answers, flush=True)


def begin(folder: Path) -> subprocess.Popen[str]:
    """Start a process that fits with the package of one folder."""
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": str(folder)}
    process = subprocess.Popen(
        [sys.executable, __file__, "--work"], env=environment, stdin=-1, stdout=-1, text=True, bufsize=1
    )
    if (found := process.stdout.readline().strip()) != str(folder):
        raise SystemExit(f"{folder} holds no fairpca: the one of {found} was imported. Name a checkout.")
    return process


def fit(process: subprocess.Popen[str], case: str) -> float:
    """Return the seconds of one fit; what a version cannot fit is a LookupError."""
    print(case, file=process.stdin)
    found = process.stdout.readline().strip()
    try:
        return float(found)
    except ValueError:
        raise LookupError(found or "its process has ended; the last words are above") from None


def measure(versions: list[subprocess.Popen[str]], case: str, runs: int) -> list[float]:
    """Return the least seconds of both versions, which take turns; twice as many runs where the new one is slower."""
    least = [float("inf")] * 2
    for run in range(2 * runs):
        if run == runs and least[1] <= FLAG * least[0]:
            break
        for which in (0, 1) if run % 2 else (1, 0):
            least[which] = min(least[which], fit(versions[which], case))
    return least


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, metavar="PATH", help="a checkout")
    parser.add_argument("--new", type=Path, metavar="PATH", help="another one")
    parser.add_argument("--runs", type=int, default=7, help="of each version (default: %(default)s)")
    parser.add_argument("--most", type=float, default=1, metavar="SECONDS", help="of one fit (default: %(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only fits with this text in their name")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
        return 0
    versions, wrong = [begin(folder.resolve()) for folder in (options.old, options.new)], 0
    print(f"{'fit, columns, groups':32} {'old':>12} {'new':>12}  ratio")
    for name, m in ((name, m) for name, (_, groups, _) in FITS.items() if options.only in name for m in groups):
        for case in (f"{name}, {p}, {m}" for p in WIDTHS):
            try:  # the first fit compiles and fills caches
                if max(min(fit(version, case) for _ in range(2)) for version in versions) > options.most:
                    print(f"{case:32} this and wider ones take longer than --most and are not measured", flush=True)
                    break
                old, new = measure(versions, case, options.runs)
            except LookupError as error:
                print(f"{case:32} {error}", flush=True)
                wrong += 1
                break
            word = "below a millisecond" if max(old, new) < LEAST else "SLOWER" if new > FLAG * old else ""
            wrong += word == "SLOWER"
            print(f"{case:32} {1e3 * old:9.2f} ms {1e3 * new:9.2f} ms  {new / old:5.2f}  {word}".rstrip(), flush=True)
    print(f"{wrong} of these fits are slower than {FLAG} times the old version, or fail")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

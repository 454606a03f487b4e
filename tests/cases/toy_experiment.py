"""A toy experiment for the tests of the runner; also a script that can be killed.

Environment: TOY_TRACE names a file that gets a line for each cell computed, TOY_SLEEP the seconds that a cell takes,
TOY_FAIL the splits that raise.
"""

import os
import sys
import time

import numpy as np

from fairpca.experiments.engine.runner import Cell, register, run, tidy

SPLITS = 6


def cells(profile):
    splits = range(SPLITS) if profile == "paper" else range(2)
    return [Cell(dataset="toy", split=split, method=method, d=2) for split in splits for method in ("one", "two")]


def run_cell(*, dataset, split, method, d, cell_seed):
    trace = os.environ.get("TOY_TRACE")
    if trace:
        with open(trace, "a") as file:
            file.write(f"{split} {method}\n")
    time.sleep(float(os.environ.get("TOY_SLEEP", "0")))
    if str(split) in os.environ.get("TOY_FAIL", "").split(","):
        raise RuntimeError(f"split {split} is cursed")
    draws = np.random.default_rng(cell_seed).normal(size=(50, 3))
    spectrum = np.linalg.eigvalsh(draws.T @ draws)
    return {"score": spectrum[-1] / 3.0, "spectrum": spectrum, "rank": 3, "label": f"{dataset}/{split}", "none": None}


def tabulate(frame):
    return tidy(frame, ["score", "rank"])


register("toy/table", cells=cells, run_cell=run_cell, tabulate=tabulate, title="A toy")


if __name__ == "__main__":
    store, jobs = sys.argv[1:]
    print(run("toy/table", "paper", store=store, jobs=int(jobs), verbose=0).to_csv(index=False))

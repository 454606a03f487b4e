"""Interrupts (Ctrl-C) in ``fit`` of each estimator: the fit ends, and nothing half done passes for a solution."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from fairpca.experiments.faults.processes import Try, environment

__all__ = ["FITS", "interrupted_fits"]

Random = np.random.Generator
# Text, because what is attacked is named, not part of the attack.
FITS = {
    "PCA": "PCA(3)",
    "FPCA": "FPCA(3)",
    "MBFPCA": "MBFPCA(3, random_state=0)",
    "MBFPCA, Algorithm 1": "MBFPCA(3, solver='repms', random_state=0)",
    "MinMaxFairPCA": "MinMaxFairPCA(3)",
    "MinMaxFairPCA, weights": "MinMaxFairPCA(3, solver='mw')",
    "MinMaxFairPCA, nested": "MinMaxFairPCA(3, nested=True)",
    "RFPCA": "RFPCA(3)",
    "RFPCA, subgradient": "RFPCA(3, solver='subgradient', random_state=0)",
    "RFPCA, three groups": "RFPCA(3, solver='mm', random_state=0)",
    "MeanFairPCA": "MeanFairPCA(3)",
    "LinearEraser": "LinearEraser()",
    "WideRows": "PCA(3)",
}
_CHILD = """
import sys, warnings
import numpy as np
import fairpca
from fairpca import *
warnings.simplefilter("ignore")
kind, text, tries = sys.argv[1], sys.argv[2], int(sys.argv[3])
random = np.random.default_rng(0)
n, p, groups = 240, 12, 3 if "three" in kind else 2
group = np.arange(n) % groups
X = random.normal(size=(n, p)) @ random.normal(size=(p, p)) + 0.5 * group[:, None]
rows = fairpca.wide.WideRows(X, group) if kind == "WideRows" else None
def fit():
    model = eval(text)
    if rows is not None:
        return model.fit(rows)
    return model.fit(X, sensitive_features=group)
for _ in range(2):
    fit()
def one_try():
    while True:
        model = fit()
        if getattr(getattr(model, "result_", None), "status", "") == "interrupted":
            return "interrupted"
for _ in range(tries):
    try:
        print("go", flush=True)
        how = one_try()
    except KeyboardInterrupt:
        how = "stopped"
    except BaseException as error:
        how = "another error: " + type(error).__name__
    print(how, flush=True)
"""


def interrupted_fits(folder: Path, tries: int, random: Random, *, kind: str) -> list[Try]:
    """Fit again and again, and interrupt at random moments: the fit must end so that the caller knows."""
    folder.mkdir(parents=True, exist_ok=True)
    errors = folder / "errors"
    command = [sys.executable, "-c", _CHILD, kind, FITS[kind], str(tries)]
    with (
        errors.open("wb") as file,
        subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=file) as child,
    ):
        found = _interrupted(child, errors, tries, random)
        child.kill()
    return [*found, *[Try(False, "not tried any more")] * (tries - len(found))]


def _interrupted(child: subprocess.Popen[bytes], errors: Path, tries: int, random: Random) -> list[Try]:
    found: list[Try] = []
    for _ in range(tries):
        word = _line(child, 120.0)
        if word != "go":
            problem = f"it ended: {word} {errors.read_text(errors='replace')[-300:]}"
            return [*found, *[Try(False, problem)] * (tries - len(found))]
        time.sleep(float(random.uniform(0.0, 0.5)))
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGINT)
        word = _line(child, 30.0)
        well = word in ("stopped", "interrupted")
        found.append(Try(True, "" if well else f"it did not end as stopped, but with {word or 'nothing'}"))
        if not word:
            break
    return found


def _line(child: subprocess.Popen[bytes], seconds: float) -> str:
    """The next line that the child prints; empty if there is none in time."""
    assert child.stdout is not None
    text, deadline = b"", time.monotonic() + seconds
    while not text.endswith(b"\n"):
        ready, _, _ = select.select([child.stdout], [], [], max(0.0, deadline - time.monotonic()))
        byte = os.read(child.stdout.fileno(), 1) if ready else b""
        if not byte:
            return ""
        text += byte
    return text.decode().strip()

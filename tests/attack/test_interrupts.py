"""Two hundred interrupts at random moments of a fit, over all estimators and up to 600 features."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FITS = {
    "PCA": "PCA(5)",
    "min-max": "MinMaxFairPCA(5)",
    "min-max, nested": "MinMaxFairPCA(5, nested=True)",
    "min-max, nash": "MinMaxFairPCA(5, objective='nash')",
    "min-max, weights": "MinMaxFairPCA(5, solver='mw')",
    "FPCA": "FPCA(5)",
    "FPCA, means": "FPCA(5, constraints='mean', delta=0.1)",
    "MBFPCA": "MBFPCA(5, random_state=0)",
    "MBFPCA, threads": "MBFPCA(5, random_state=0, n_jobs=2)",
    "MBFPCA, Algorithm 1": "MBFPCA(5, solver='repms', random_state=0)",
    "RFPCA": "RFPCA(5)",
    "RFPCA, subgradient": "RFPCA(5, solver='subgradient', max_iter=12000, random_state=0)",
    "RFPCA, polar": "RFPCA(5, solver='subgradient', max_iter=12000, random_state=0, options={'retraction': 'polar'})",
    "RFPCA, groups": "RFPCA(5, solver='mm', random_state=0)",
    "MeanFairPCA": "MeanFairPCA(5)",
    "MeanFairPCA, covariance": "MeanFairPCA(5, match='mean+covariance')",
    "LinearEraser": "LinearEraser()",
}
# The moment is drawn from the time that one fit takes, two seconds at most. A fit that ends before its interrupt is
# begun again, so that every interrupt meets a fit.
CHILD = """
import os, signal, sys, threading, time, warnings
import numpy as np
from fairpca import *
warnings.simplefilter("ignore")
text, tries, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random = np.random.default_rng(seed)
def table(p):
    n = 3500 if "n_jobs" in text else max(400, 2 * p)
    groups = np.arange(n) % (3 if "mm" in text else 2)
    return random.normal(size=(n, p)) * np.linspace(3, 0.3, p) + 0.5 * groups[:, None], groups
X, groups = table(20)
small = eval(text.replace("12000", "2")).fit(X, sensitive_features=groups)
complete = {name for name in vars(small) if name[-1] == "_"}
def signal_after(wait, sent):
    time.sleep(wait)
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
for number in range(tries):
    p = (20, 60, 250, 600)[number % 4]
    X, groups = table(p)
    sent, model, wait = [], eval(text), 2 * random.random() ** 3
    try:
        threading.Thread(target=signal_after, args=(wait, sent), daemon=True).start()
        while True:
            model = eval(text)
            model.fit(X, sensitive_features=groups)
    except KeyboardInterrupt:
        late = time.perf_counter() - sent[0]
    names = {name for name in vars(model) if name[-1] == "_"}
    print(f"p {p} after {wait:.3f} s: ended {late:.2f} s later, {'fitted' if names else 'not fitted'}")
    assert names in (set(), complete), names
    assert late < 2, late
print("done")
"""


@pytest.mark.attack
@pytest.mark.parametrize("kind", FITS)
def test_interrupts_at_random_moments(kind):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, FITS[kind], "12", "0"], capture_output=True, text=True, env=environment
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("done\n")

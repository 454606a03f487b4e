"""Ctrl-C in a fit: it ends as KeyboardInterrupt, and leaves the estimator as it was."""

import signal
import subprocess
import sys

import numpy as np
import pytest

from fairpca import MBFPCA, RFPCA, LinearEraser, MeanFairPCA

LONG = """
import os, signal, threading, time
import numpy as np
from fairpca import RFPCA
rng = np.random.default_rng(0)
X, groups = rng.normal(size=(400, 60)) * np.linspace(3, 0.3, 60), np.arange(400) % 2
options = {"retraction": "RETRACTION"}
make = lambda steps: RFPCA(5, solver="subgradient", max_iter=steps, random_state=0, options=options)
make(2).fit(X, sensitive_features=groups)  # compiled from here on
threading.Thread(target=lambda: (time.sleep(0.5), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()
model = make(10_000_000)
begun = time.perf_counter()
try:
    model.fit(X, sensitive_features=groups)
except KeyboardInterrupt:
    print("KeyboardInterrupt", [name for name in vars(model) if name.endswith("_")], flush=True)
"""


@pytest.mark.parametrize("retraction", ["qr", "polar"])
def test_a_long_compiled_descent_is_interrupted(retraction):
    """Without the interrupt it would take an hour."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LONG.replace("RETRACTION", retraction)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, "KeyboardInterrupt []\n"), done.stderr


def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 5)), np.arange(60) % 2


@pytest.mark.parametrize("model", [RFPCA(), MBFPCA(tau=0.1), MeanFairPCA(sensitive="numeric"), LinearEraser()])
@pytest.mark.parametrize("fitted", [False, True])
def test_a_fit_that_is_interrupted_changes_nothing(model, fitted, monkeypatch):
    X, groups = table()
    model = type(model)(**model.get_params())
    if fitted:
        model.fit(X[:, :4], sensitive_features=groups)
    before = dict(vars(model))

    def interrupted(*arguments, **more):
        signal.raise_signal(signal.SIGINT)

    for name in ("fairpca.eraser.erase_linearly", "fairpca._base.fix_signs"):  # the last steps of all fits
        monkeypatch.setattr(name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, sensitive_features=groups)
    assert vars(model) == before
    if fitted:
        assert np.isfinite(model.transform(X[:, :4])).all()


def test_an_interrupted_batch_is_not_counted(monkeypatch):
    X, groups = table()
    model = RFPCA().partial_fit(X, sensitive_features=groups)
    before = dict(vars(model))

    def interrupted(*arguments, **more):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("fairpca._moments.GroupMoments.merge", interrupted)
        model.partial_fit(X + 1, sensitive_features=groups)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("fairpca._base.fix_signs", interrupted)
        model.partial_fit(X + 1, sensitive_features=groups)
    assert vars(model) == before
    assert np.allclose(model.components_, RFPCA().fit(X, sensitive_features=groups).components_)
